/* The requests of clients and the answers to them, counted where the answers are written. */
#ifndef REDLOCKD_COUNTS_H
#define REDLOCKD_COUNTS_H

#include "daemon/histogram.h"
#include "proto/message.h"

enum { COUNTS_TIMED = VERB_CANCEL + 1 /* up to this one; DATA and WATCH are not timed */ };

struct counts {
    uint64_t answers[VERB_COUNT][REPLY_CODES]; /* a list that was written to its end counts as REPLY_OK */
    uint64_t refused[REPLY_CODES];             /* lines that are no request */
    struct histogram seconds[COUNTS_TIMED];    /* from the start of a request to its answer */
    struct histogram waited;                   /* the same, of each LOCK that was granted */
};

#endif
