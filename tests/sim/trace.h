/* The trace: events as small records in a ring, which become text only when they are printed. Its hash
 * tells whether two runs were the same. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A report prints the last 60; a longer ring would drive all else from the cache. */
enum { TRACE_LINES = 1 << 6 };

enum trace_kind {
    TRACE_SEND,      /* daemon a to masters b (mask): verb c, tok d, number e (a group's from), to f */
    TRACE_RUN,       /* master b runs for daemon a: verb c, tok d, number e, vote f, name or bucket g */
    TRACE_VOTE,      /* daemon a hears from master b: verb c, tok d, number e, vote f */
    TRACE_CONNECTED, /* daemon a, master b, number c, client id d */
    TRACE_LOST,      /* daemon a, master b, number c, client id d */
    TRACE_CLOSE,     /* daemon a closes its connection to master b, why c */
    TRACE_REQUEST,   /* daemon a: session b, request c, verb d, name e, tok f, wait g */
    TRACE_REPLY,     /* daemon a: session b, request c, code d, tok e, fence f, until g */
    TRACE_NOTICE,    /* daemon a: session b, kind c, reason d, tok e, until f */
    TRACE_SESSION,   /* daemon a: session b, what c (enum event_kind) */
    TRACE_ENDED,     /* daemon a: session b */
    TRACE_FAULT,     /* fault id a, kind b, target c, other d, for e, arg f */
    TRACE_HOLD,      /* client a believes in tok b of name c until d */
    TRACE_GIVES,     /* client a gives tok b up */
    TRACE_MASTER,    /* master a starts: epoch b, kept c */
    TRACE_DAEMON,    /* daemon a: incarnation b starts (c = 1) or stops (0) */
    TRACE_HEAL,
    TRACE_EAR,    /* daemon a, on its listening connection to master b: c (enum event_kind) of name d */
    TRACE_BEHIND, /* daemon a finds that it stood still for b ms, c all in all */
    TRACE_STEP, /* daemon a is at step b; c: enum group_state; the voters, how many are needed, enum group_why */
};

struct sim_trace_line {
    int64_t at_us;
    uint32_t kind;
    uint32_t a;
    uint64_t v[6]; /* b .. g */
};

struct sim_trace {
    struct sim_trace_line *line; /* ring */
    uint64_t lines, hash;
    bool print;
};

struct sim_world;
void trace_add(struct sim_world *w, enum trace_kind kind, uint32_t a, uint64_t b, uint64_t c, uint64_t d,
               uint64_t e, uint64_t f, uint64_t g);
void trace_print_last(const struct sim_world *w, FILE *file, unsigned lines);

#endif
