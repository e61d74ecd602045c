/* An operator that breaks a lock. Whoever asked for the name before a BREAK is over may be its old holder, or may be
 * handed the broken lock from the memory of the old holder's redlockd: the protocol promises nothing to these but
 * their fences. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/chaos/client.h"

/* A daemon that is stopped may read the BREAK long after its connection was closed. */
enum { ANSWER_US = 5000000, OVER_US = 10000000, TRIES = 6 };

static void breaker_record(struct shared *shared, unsigned name, enum record_kind kind, const char *text)
{
    struct record record = {.at_us = now_us(), .names = 1u << name};
    snprintf(record.text, sizeof record.text, "%s", text);
    history_add(&shared->history, &record, kind);
}

static const char *effect(const struct request *request)
{
    if (request == NULL || request->state != REQUEST_ANSWERED)
        return BROKEN_SOME;
    if (strncmp(request->line, "-NOTHELD", 8) == 0)
        return BROKEN_NONE;
    return strncmp(request->line, "+BROKEN ", 8) == 0 && strstr(request->line, " confirmed=5/5") != NULL
               ? BROKEN_ALL
               : BROKEN_SOME;
}

/* Returns what the BREAK did. */
static const char *break_one(struct client *c, unsigned name)
{
    struct shared *shared = c->shared;
    int64_t start_us = now_us(), before_us = atomic_load(&shared->broken_us[name]);
    atomic_store(&shared->broken_us[name], INT64_MAX);
    breaker_record(shared, name, RECORD_BREAK, "");
    struct request *request = name < FIRST_SLOT
                                  ? link_ask(c, &c->own, "BREAK n%u", name)
                                  : link_ask(c, &c->own, "BREAK n%d slot=%u", FIRST_SLOT, name - FIRST_SLOT);
    if (request != NULL)
        links_listen(c, start_us + ANSWER_US, request);
    const char *did = effect(request);
    bool answered = request != NULL && request->state == REQUEST_ANSWERED;
    while (request != NULL && !answered && now_us() < start_us + OVER_US)
        poll(NULL, 0, 100);
    breaker_record(shared, name, RECORD_BROKEN, did);
    bool none = strcmp(did, BROKEN_NONE) == 0;
    atomic_store(&shared->broken_us[name], none ? before_us : now_us() + BREAK_AFTER_US);
    if (request != NULL)
        request->state = REQUEST_FREE;
    return did;
}

/* From this name on the first that is held. */
_Noreturn void breaker_run(struct shared *shared, unsigned name, unsigned daemon)
{
    static struct client client;
    struct client *c = &client;
    *c = (struct client){.shared = shared, .own = {.fd = -1}, .other = {.fd = -1}};
    const char *did = BROKEN_NONE;
    if (link_open(c, &c->own, daemon, false))
        for (unsigned i = 0; i < TRIES && strcmp(did, BROKEN_NONE) == 0; i++)
            did = break_one(c, (name + i) % CHAOS_NAMES);
    _exit(0);
}
