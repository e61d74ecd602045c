/* Server lines -> values: replies, rows and events as proto/protocol.txt has them.
 *
 * Pure: no allocation, no state, no I/O. The server is not trusted: what is said of a line here is
 * what it has, whatever else it contains. */
#ifndef REDLOCK_LIB_ANSWER_H
#define REDLOCK_LIB_ANSWER_H

#include <stddef.h>

#include "proto/line_piece.h"

enum answer_code {
    ANSWER_LOCKED, /* + */
    ANSWER_UNLOCKED,
    ANSWER_EXTENDED,
    ANSWER_HELD,
    ANSWER_OK,
    ANSWER_HELLO,
    ANSWER_PONG,
    ANSWER_BYE,
    ANSWER_END,
    ANSWER_REFUSED,  /* -, why is in .refusal */
    ANSWER_ROW,      /* * */
    ANSWER_EXPIRING, /* ! */
    ANSWER_LOST,
    ANSWER_RENEWED,
    ANSWER_DRAIN,
    ANSWER_CLOCK,
    ANSWER_OTHER, /* an event of a later version: to be ignored */
};

struct answer {
    enum answer_code code;
    enum reply_code refusal; /* REFUSED; REPLY_BADARG for a code that is not known here */
    struct tag tag;          /* len 0: none */
    struct piece name;       /* the lock's; len 0: none */
    struct piece rest;       /* the line without its tag, of a row without "* " */
    struct piece server;     /* HELLO; len 0: not said */
    struct piece reason;     /* LOST; len 0: not said */
    struct piece limit;      /* REFUSED; len 0: not said */
    struct token token;
    bool has_token;
    uint64_t fence; /* each of these: 0 where it was not said */
    int64_t proto;
    int64_t until_ms; /* -1 where it was not said, these as well */
    int64_t now_ms;
    int64_t behind_ms; /* HELLO, CLOCK */
    int64_t retry_ms;
};

/* One line without its end. False: no line of this protocol, or one that lacks what its code must
 * have (token, fence and until= of +LOCKED, and so on). */
bool answer_parse(const char *line, size_t len, struct answer *answer);

#endif
