/* A step of a trace, for the trace's own files: an event goes in, its actions come out and are checked. */
#ifndef REDLOCKD_TESTS_TRACE_STEPS_H
#define REDLOCKD_TESTS_TRACE_STEPS_H

#include "tests/unit/trace_text.h"

enum { PENDING = 256, REQUESTS = 1024, SESSIONS = 2048 };

/* A master's connection: what was sent on it and not answered yet. */
struct trace_link {
    uint32_t connection;
    bool connected;
    unsigned first, count;
    struct command pending[PENDING];
};
extern struct trace_link links[MASTERS];

extern uint64_t last_request;

void steps_reset(void);

/* The answer of a master that keeps the group's key as it should. */
struct vote marker_vote(unsigned master, const struct command *command);
struct command link_take(struct trace_link *link); /* takes the oldest unanswered command */
void step(struct coordinator_event *event);
void step_master(enum event_kind kind, unsigned master);
void step_session(enum event_kind kind, uint64_t session, uint64_t request);

#endif
