/* The words of a line: where they end and what they may be. Used by line*.c, the client library and
 * the command. */
#ifndef REDLOCKD_PROTO_LINE_PIECE_H
#define REDLOCKD_PROTO_LINE_PIECE_H

#include <stddef.h>

#include "proto/message.h"

/* A part of a line, or another text. No function may read text[len], which need not be a NUL. */
struct piece {
    const char *text;
    size_t len;
};

/* Returns the next word between *at and end and moves *at behind it; len 0: there is no more word. */
struct piece piece_next(const char **at, const char *end);

bool piece_is(struct piece piece, const char *text);
bool piece_is_ignoring_case(struct piece piece, const char *text); /* in ASCII, whatever the locale */
bool piece_is_digits(struct piece piece);                          /* at least one */
/* A whole number of at most so many digits, of which 18 have room; -1: the piece is none. */
int64_t piece_number(struct piece piece, size_t digits);
/* A name, a note or a client word, which differ only in their limit. */
bool piece_is_word(struct piece piece, size_t limit);

/* What data= may be. */
bool piece_is_data(struct piece piece);

/* name,name,... with at least one comma. */
bool piece_is_names(struct piece piece);

/* These read the whole piece, or return false and change nothing. */
bool piece_tag(struct piece piece, struct tag *tag);
bool piece_token(struct piece piece, struct token *token);

#endif
