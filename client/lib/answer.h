/* Reads the server's lines: replies, rows and events as proto/protocol.txt has them.
 * Pure: no allocation, no state, no I/O. The server is not trusted: a line may contain anything, and only
 * what struct answer says of it is relied on. */
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
    ANSWER_BROKEN,
    ANSWER_DATA,
    ANSWER_WATCHING,
    ANSWER_BYE,
    ANSWER_END,
    ANSWER_REFUSED,  /* -; .refusal has the code */
    ANSWER_ROW,      /* * */
    ANSWER_EXPIRING, /* ! */
    ANSWER_LOST,
    ANSWER_RENEWED,
    ANSWER_DRAIN,
    ANSWER_CLOCK,
    ANSWER_NOW,
    ANSWER_OTHER, /* an event of a later version, to be ignored */
};

struct answer {
    enum answer_code code;
    enum reply_code refusal; /* REFUSED; REPLY_BADARG for an unknown code */
    struct tag tag;          /* len 0: none */
    struct piece name;       /* the lock's; len 0: none */
    struct piece rest;       /* the line without its tag; a row without "* " too */
    struct piece server;     /* HELLO; len 0: not said */
    struct piece reason;     /* LOST; len 0: not said */
    struct piece limit;      /* REFUSED; len 0: not said */
    struct token token;
    bool has_token;
    uint64_t fence;    /* 0: not said */
    int64_t proto;     /* 0: not said */
    int64_t until_ms;  /* -1: not said */
    int64_t now_ms;    /* -1: not said */
    bool takes_losses; /* HELLO: UNLOCK takes lost= ... */
    bool takes_keeps;  /* ... and keep= */
    bool repeats;      /* HELLO: RESUME, and LOCK mode=shared token=, take wait= */
    int64_t behind_ms; /* HELLO, CLOCK; -1: not said */
    int64_t retry_ms;  /* -1: not said */
    int64_t slot;      /* -1: not said */
    int64_t ready;     /* PONG: 0: no lock is granted now; -1: not said */
    bool shared;       /* LOCKED: it is a reader's; WATCHING, NOW: readers have the name */
    /* WATCHING, NOW; len 0: not said */
    struct piece state;
    struct piece host;
    struct piece data;
};

/* Reads one line without its end. Returns false if it is no line of this protocol, or lacks a part that
 * its code must have, as +LOCKED its token, fence and until=. */
bool answer_parse(const char *line, size_t len, struct answer *answer);

#endif
