#include "tests/sim/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

static const char *const VERBS[] = {
#define COMMAND(name, script, vote, words) [COMMAND_##name] = #name,
#define NATIVE(name, form, vote, words)    [COMMAND_##name##_##form] = #name "_" #form,
#include "proto/command.def"
};
static const char *const REQUESTS[] = {"LOCK",  "UNLOCK", "EXTEND", "CHECK", "RESUME", "CANCEL",
                                       "HELLO", "AUTH",   "PING",   "HELP",  "QUIT",   "SHOW",
                                       "WHO",   "BREAK",  "DATA",   "WATCH", "UNWATCH"};
static const char *const REPLIES[] = {"LOCKED",   "UNLOCKED", "KEPT",     "EXTENDED",   "HELD",      "DATA",
                                      "WATCHING", "OK",       "HELLO",    "PONG",       "BROKEN",    "BYE",
                                      "BUSY",     "TIMEOUT",  "NOQUORUM", "NOTHELD",    "CANCELLED", "MODE",
                                      "LIMIT",    "DRAINING", "DENIED",   "AUTH",       "BADVERB",   "BADARG",
                                      "BADLINE",  "BADTAG",   "TOOLONG",  "UNSUPPORTED"};
static const char *const VOTES[] = {"YES",  "NO",   "NUMBER", "INFO",  "GROUP",   "UNREADABLE", "TOKEN",
                                    "DATA", "SEEN", "LOOKED", "HEARD", "UNHEARD", "NOT_RUN",    "ERROR"};
_Static_assert(sizeof(REQUESTS) / sizeof(REQUESTS[0]) == VERB_UNWATCH + 1, "each request has its word");
_Static_assert(sizeof(REPLIES) / sizeof(REPLIES[0]) == REPLY_CODES, "each reply has its word");
_Static_assert(sizeof(VOTES) / sizeof(VOTES[0]) == VOTE_ERROR + 1, "each kind of vote has its word");
static const char *const NOTICES[] = {"EXPIRING", "LOST", "RENEWED", "DRAIN", "CLOCK"};
static const char *const LOST[] = {"expired", "max",   "gone",   "released", "moved",
                                   "closed",  "drain", "denied", "clock"};
_Static_assert(sizeof(LOST) / sizeof(LOST[0]) == LOST_REASONS, "each reason has its word");
static const char *const EVENTS[] = {"timer",       "request", "finish",    "release", "drop", "deny",
                                     "undelivered", "denied",  "connected", "vote",    "lost", "backlog",
                                     "listens",     "deaf",    "woke",      "late",    "told", "letter"};

#define WORD(table, i) ((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : "?")

static void trace_print(const struct sim_trace_line *line, FILE *f)
{
    const uint64_t *v = line->v;
    uint32_t a = line->a;
    fprintf(f, "%11.6f ", (double)line->at_us / 1e6);
    switch ((enum trace_kind)line->kind) {
    case TRACE_SEND: {
        fprintf(f, "d%" PRIu32 " -> ", a);
        for (unsigned i = 0; i < SIM_MASTERS; i++) {
            if (v[0] >> i & 1)
                fprintf(f, "m%u", i);
        }
        fprintf(f, " %s T%" PRIu64 " %" PRIu64, WORD(VERBS, v[1]), v[2], v[3]);
        if (v[1] == COMMAND_MOVE || v[1] == COMMAND_SETTLE || v[1] == COMMAND_DOWN)
            fprintf(f, " to T%" PRIu64, v[4]);
        fputc('\n', f);
        break;
    }
    case TRACE_RUN:
        fprintf(f, "    m%" PRIu64 " runs for d%" PRIu32 " %s T%" PRIu64 " %" PRIu64 ": %s n%" PRIu64 "\n",
                v[0], a, WORD(VERBS, v[1]), v[2], v[3], WORD(VOTES, v[4]), v[5]);
        break;
    case TRACE_VOTE:
        fprintf(f, "d%" PRIu32 " <- m%" PRIu64 " %s T%" PRIu64 ": %s %" PRIu64 "\n", a, v[0],
                WORD(VERBS, v[1]), v[2], WORD(VOTES, v[4]), v[3]);
        break;
    case TRACE_CONNECTED:
        fprintf(f, "d%" PRIu32 " connected to m%" PRIu64 " #%" PRIu64 " (client %" PRIu64 ")\n", a, v[0],
                v[1], v[2]);
        break;
    case TRACE_LOST:
        fprintf(f, "d%" PRIu32 " lost m%" PRIu64 " #%" PRIu64 " (client %" PRIu64 ")\n", a, v[0], v[1], v[2]);
        break;
    case TRACE_CLOSE: fprintf(f, "d%" PRIu32 " closes m%" PRIu64 " why=%" PRIu64 "\n", a, v[0], v[1]); break;
    case TRACE_REQUEST:
        fprintf(f, "d%" PRIu32 " s%" PRIu64 " r%" PRIu64 " %s n%" PRIu64 " T%" PRIu64 " wait=%" PRId64 "\n",
                a, v[0], v[1], WORD(REQUESTS, v[2]), v[3], v[4], (int64_t)v[5]);
        break;
    case TRACE_REPLY:
        fprintf(f,
                "d%" PRIu32 " s%" PRIu64 " r%" PRIu64 " = %s T%" PRIu64 " fence=%" PRIu64 " valid=%" PRId64
                "\n",
                a, v[0], v[1], WORD(REPLIES, v[2]), v[3], v[4], (int64_t)v[5]);
        break;
    case TRACE_NOTICE:
        fprintf(f, "d%" PRIu32 " s%" PRIu64 " !%s %s T%" PRIu64 " valid=%" PRId64 "\n", a, v[0],
                WORD(NOTICES, v[1]), v[1] == NOTICE_LOST ? WORD(LOST, v[2]) : "", v[3], (int64_t)v[4]);
        break;
    case TRACE_SESSION:
        fprintf(f, "d%" PRIu32 " s%" PRIu64 " %s r%" PRIu64 "\n", a, v[0], WORD(EVENTS, v[1]), v[2]);
        break;
    case TRACE_ENDED: fprintf(f, "d%" PRIu32 " s%" PRIu64 " ended\n", a, v[0]); break;
    case TRACE_FAULT:
        fprintf(f, "*** fault %" PRIu32 " %s target=%" PRId64 " other=%" PRId64 " for=%.3f arg=%" PRId64 "\n",
                a, fault_kind_name((int64_t)v[0]), (int64_t)v[1], (int64_t)v[2], (double)(int64_t)v[3] / 1e6,
                (int64_t)v[4]);
        break;
    case TRACE_HOLD:
        fprintf(f, "        c%" PRIu32 " holds n%" PRIu64 " by T%" PRIu64 " until %.6f\n", a, v[1], v[0],
                (double)(int64_t)v[2] / 1e6);
        break;
    case TRACE_GIVES: fprintf(f, "        c%" PRIu32 " gives T%" PRIu64 " up\n", a, v[0]); break;
    case TRACE_MASTER:
        fprintf(f, "*** m%" PRIu32 " starts, epoch %" PRIu64 "%s\n", a, v[0],
                v[1] ? ", memory kept" : ", empty or old");
        break;
    case TRACE_DAEMON:
        fprintf(f, "*** d%" PRIu32 " incarnation %" PRIu64 " %s\n", a, v[0], v[1] ? "starts" : "stops");
        break;
    case TRACE_BEHIND:
        fprintf(f, "d%" PRIu32 " stood still for %" PRIu64 " ms, %" PRIu64 " in all\n", a, v[0], v[1]);
        break;
    case TRACE_EAR:
        fprintf(f, "d%" PRIu32 " <- m%" PRIu64 " %s n%" PRIu64 "\n", a, v[0], WORD(EVENTS, v[1]), v[2]);
        break;
    case TRACE_STEP:
        fprintf(f,
                "d%" PRIu32 " is at step %" PRIu64 ", state %" PRIu64 ": %" PRIu64 " of %#" PRIx64
                " (why %" PRIu64 ")\n",
                a, v[0], v[1], v[3], v[2], v[4]);
        break;
    case TRACE_HEAL: fprintf(f, "*** all faults are over\n"); break;
    }
}

void trace_add(struct sim_world *w, enum trace_kind kind, uint32_t a, uint64_t b, uint64_t c, uint64_t d,
               uint64_t e, uint64_t f, uint64_t g)
{
    struct sim_trace *t = &w->trace;
    if (t->line == NULL) {
        t->line = malloc(TRACE_LINES * sizeof(*t->line));
        assert(t->line != NULL);
    }
    struct sim_trace_line *line = &t->line[t->lines++ % TRACE_LINES];
    *line = (struct sim_trace_line){.at_us = w->now_us, .kind = kind, .a = a, .v = {b, c, d, e, f, g}};
    /* Each value has a factor of its own, so that the products do not wait for each other. */
    uint64_t h = (uint64_t)w->now_us ^ ((uint64_t)kind << 56) ^ ((uint64_t)a << 40);
    for (unsigned i = 0; i < 6; i++)
        h += (line->v[i] + 1) * (UINT64_C(0x9e3779b97f4a7c15) << i | 1);
    h = (h ^ t->hash) * UINT64_C(0xbf58476d1ce4e5b9);
    t->hash = h ^ h >> 29;
    if (t->print)
        trace_print(line, stdout);
}

void trace_print_last(const struct sim_world *w, FILE *file, unsigned lines)
{
    const struct sim_trace *t = &w->trace;
    uint64_t first = t->lines > lines ? t->lines - lines : 0;
    if (t->lines - first > TRACE_LINES)
        first = t->lines - TRACE_LINES;
    for (uint64_t i = first; i < t->lines; i++)
        trace_print(&t->line[i % TRACE_LINES], file);
}
