/* The words of a client's line: where they end and what they may be. Private to line*.c. */
#ifndef REDLOCKD_PROTO_LINE_PIECE_H
#define REDLOCKD_PROTO_LINE_PIECE_H

#include <stddef.h>

#include "proto/message.h"

/* A part of the line, never terminated by NUL. */
struct piece {
    const char *text;
    size_t len;
};

/* The next word of what lies between *at and end, and *at moves behind it; len 0: there is none. */
struct piece piece_next(const char **at, const char *end);

bool piece_is(struct piece piece, const char *text);
bool piece_is_ignoring_case(struct piece piece, const char *text); /* in ASCII, whatever the locale */
bool piece_is_digits(struct piece piece);                          /* one at least */
/* A name, a note or a client word: all that differs is the limit. */
bool piece_is_word(struct piece piece, size_t limit);
/* name,name,... with at least one comma, each name allowed. */
bool piece_is_names(struct piece piece);

/* Each reads the whole piece, or says false and leaves *tag alone. */
bool piece_tag(struct piece piece, struct tag *tag);
bool piece_token(struct piece piece, struct token *token);

#endif
