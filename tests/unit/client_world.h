/* The client's core, a server whose lines the test writes, and a clock that the test sets. No call here
 * waits. */
#ifndef REDLOCKD_TESTS_CLIENT_WORLD_H
#define REDLOCKD_TESTS_CLIENT_WORLD_H

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core.h"
#include "client/lib/core_private.h"
#include "tests/unit/suite.h"

#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define TOKEN_C "cccccccccccccccccccccccccccccccccccccccc"

enum { START_MS = 1000, TTL_MS = 9000 };

struct world {
    struct core *core;
    int64_t now_ms;
    struct redlock_event event; /* the last event that the program was told */
    char line[SERVER_LINE_BYTES];
    char text[SERVER_LINE_BYTES + 256];
};

struct world *world_new(void);

/* ---- what the server says ---- */

void bytes_come(struct world *w, const char *bytes, size_t len);
void says(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- what the client says ---- */

/* The next line, without its end; "" when there is none. */
const char *line_of(struct world *w);

#define expect_line(w, pattern) \
    ck_assert_msg(fnmatch(pattern, line_of(w), 0) == 0, "\"%s\" is not \"%s\"", (w)->line, pattern)

/* The tag of the last line, with its #. */
const char *tag(const struct world *w);

/* ---- what the program is told ---- */

/* The next event, as "lock job ok", "show ok", "down connect : why"; "" when there is none. */
const char *world_told(struct world *w);

#define expect_told(w, pattern)                                                                 \
    do {                                                                                        \
        const char *told_ = world_told(w);                                                      \
        ck_assert_msg(fnmatch(pattern, told_, 0) == 0, "\"%s\" is not \"%s\"", told_, pattern); \
    } while (0)
#define expect_nothing(w) expect_told(w, "")
#define expect_silence(w) expect_line(w, "")

/* ---- time and connections ---- */

void time_is(struct world *w, int64_t now_ms);
void passes(struct world *w, int64_t ms);
/* Connects over a Unix socket (both sides then read one clock) or TCP, up to HELLO. */
void dial(struct world *w, bool local);
void comes_up(struct world *w);
void goes_down(struct world *w);

/* ---- what the program asks ---- */

struct redlock_lock *ask_lock(struct world *w, const char *name, int64_t wait_ms);
struct redlock_lock *ask_lease(struct world *w, const char *name);
uint64_t ask(struct world *w, struct redlock_lock *lock, enum ask_verb verb);
void grants(struct world *w, const char *name, const char *token, int fence);
/* A lock that is held until TTL_MS from now. */
struct redlock_lock *has_lock(struct world *w, const char *name, const char *token);
int64_t deadline(const struct redlock_lock *lock);

#endif
