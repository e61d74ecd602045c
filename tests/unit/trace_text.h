/* Traces as text, for the trace's own files: the lines so far, and words for tokens, masters and commands. */
#ifndef REDLOCKD_TESTS_TRACE_TEXT_H
#define REDLOCKD_TESTS_TRACE_TEXT_H

#include "proto/line.h"
#include "tests/unit/trace.h"

enum { LINES = 8192, LINE = 320, TOKENS = 512 };

extern unsigned trace_lines;
extern char trace_action[LINES][LINE]; /* since the last EXPECT */
extern unsigned trace_actions;

/* Forgets lines, actions and tokens. From now on a failed assertion prints the trace. */
void text_reset(void);

void trace_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_action(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned token_number(const struct token *token);
const struct token *token_of(const char *word); /* the word is Tn, X or Y */
const char *masters_word(masters_t set, char word[64]);
masters_t masters_of(const char *word);
const char *verb_word(enum command_verb verb);
/* RELEASE ... ASK also asks whether another daemon waits. */
void command_text(char *out, const struct command *command);
/* A line of the protocol without its LF, in which Tn replaces the 40 digits of a token. */
void shorten(char *out, const char *line, size_t len);

#endif
