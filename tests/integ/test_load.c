/* Many clients of two daemons count together under one lock, while a master hangs: no update is lost,
 * no two clients are inside at once, and every fence is higher than the one before. */
#include "tests/integ/harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A phase lasts for PHASE_MS, and until it had SECTIONS: far less time is enough with or without a
 * master that hangs. A daemon does not know of the hang at first: if each section waited for the master as
 * long as node_timeout, there would be a few sections before it is found slow, not SECTIONS_BEFORE_SLOW. */
enum { CLIENTS = 64, PHASE_MS = 1000, SECTIONS = 200, SECTIONS_BEFORE_SLOW = 20, INSIDE_MS = 2 };

enum step { ASKING, INSIDE, GIVING_BACK, DONE };

struct worker {
    struct client client;
    enum step step;
    int64_t leave_ms; /* INSIDE: the deadline */
    int64_t until_ms; /* INSIDE: the promised validity */
    long read;        /* INSIDE: the counter as it was */
    unsigned sections;
};

static struct cluster masters;
static struct daemon redlockd[2];
static struct worker workers[CLIENTS];
static struct client watchers[2]; /* ask each daemon for the state of a master */

/* The data that the lock protects: written as read + 1 only when the section ends. */
static long counter, sections;
static int64_t last_fence;
static const struct worker *inside;

static void worker_ask(struct worker *worker, const char *name)
{
    client_send(&worker->client, "LOCK %s ttl=60s wait=40s", name);
    worker->step = ASKING;
}

static void worker_enter(struct worker *worker, const char *line)
{
    struct grant grant = grant_of(line);
    ck_assert_msg(!inside, "two clients are inside: %s", line);
    ck_assert_msg(grant.fence > last_fence, "the fence fell from %lld: %s", (long long)last_fence, line);
    last_fence = grant.fence;
    inside = worker;
    worker->read = counter;
    worker->until_ms = grant.until_ms;
    worker->leave_ms = now_ms() + rand() % (INSIDE_MS + 1);
    worker->step = INSIDE;
}

static void worker_leave(struct worker *worker, const char *name)
{
    ck_assert_int_lt(now_ms(), worker->until_ms);
    ck_assert_int_eq(counter, worker->read);
    counter = worker->read + 1;
    sections++;
    worker->sections++;
    inside = NULL;
    client_send(&worker->client, "UNLOCK %s", name);
    worker->step = GIVING_BACK;
}

static void worker_hears(struct worker *worker, const char *name, bool more)
{
    const char *line = next_line(&worker->client);
    ck_assert_ptr_nonnull(line);
    if (worker->step == ASKING) {
        worker_enter(worker, line);
        return;
    }
    ck_assert_msg(worker->step == GIVING_BACK && strncmp(line, "+UNLOCKED ", 10) == 0, "%s", line);
    if (more)
        worker_ask(worker, name);
    else
        worker->step = DONE;
}

static unsigned turn(const char *name, bool more)
{
    struct pollfd waiting[CLIENTS];
    unsigned busy = 0;
    for (unsigned i = 0; i < CLIENTS; i++)
        waiting[i] = (struct pollfd){.fd = workers[i].client.fd, .events = POLLIN};
    poll(waiting, CLIENTS, inside ? 1 : 100);
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct worker *worker = &workers[i];
        if (worker->step == INSIDE && now_ms() >= worker->leave_ms)
            worker_leave(worker, name);
        if (waiting[i].revents)
            worker_hears(worker, name, more);
        busy += worker->step != DONE;
    }
    return busy;
}

/* Returns the number of sections. */
static long phase(const char *name)
{
    long before = sections;
    int64_t start_ms = now_ms();
    while (now_ms() - start_ms < PHASE_MS || sections - before < SECTIONS) {
        ck_assert_msg(now_ms() - start_ms < WAIT_MS, "%ld sections, then %ld", before, sections - before);
        turn(name, true);
    }
    return sections - before;
}

static bool is_up_for_both(const struct server *server)
{
    return strcmp(node_state(&watchers[0], server), "up") == 0 &&
           strcmp(node_state(&watchers[1], server), "up") == 0;
}

static void turn_until(bool up, const struct server *server)
{
    int64_t end_ms = now_ms() + WAIT_MS;
    while (is_up_for_both(server) != up) {
        ck_assert_msg(now_ms() < end_ms, "it is not %s", up ? "up" : "slow");
        turn("counter", true);
    }
}

/* Returns the number of sections before the first daemon reports the master as slow. */
static long hang(struct server *server)
{
    turn_until(true, server);
    long before = sections;
    server_stop(server);
    turn_until(false, server);
    return sections - before;
}

/* Where this machine stands still at once, the daemon finds the master slow at once. */
static long hang_unnoticed(struct server *server)
{
    long had = hang(server);
    for (unsigned tries = 1; had < SECTIONS_BEFORE_SLOW; tries++) {
        ck_assert_msg(tries < 5, "%ld sections before it is slow", had);
        server_cont(server);
        had = hang(server);
    }
    return had;
}

T(nothing_is_lost)
{
    cluster_start(&masters, 5, UNIX);
    for (unsigned i = 0; i < 2; i++)
        daemon_start(&redlockd[i], &masters, "node_timeout: 3s\nmin_ttl: 6s\n");
    for (unsigned i = 0; i < 2; i++)
        client_open(&watchers[i], &redlockd[i]);
    for (unsigned i = 0; i < CLIENTS; i++) {
        (i % 4 < 2 ? client_open : client_open_tcp)(&workers[i].client, &redlockd[i % 2]);
        worker_ask(&workers[i], "counter");
    }
    long before = phase("counter");
    long unnoticed = hang_unnoticed(&masters.server[1]);
    long during = phase("counter");
    server_cont(&masters.server[1]);
    phase("counter");
    int64_t end_ms = now_ms() + WAIT_MS;
    while (turn("counter", false) > 0)
        ck_assert_msg(now_ms() < end_ms, "clients were never served");

    ck_assert_int_eq(counter, sections);
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_msg(workers[i].sections > 0, "client %u was never inside in %ld sections", i, sections);
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:counter") == 5);
    if (getenv("VERBOSE"))
        printf("%ld sections: %ld in the first phase, %ld and %ld while a master hung\n", sections, before,
               unnoticed, during);
}
