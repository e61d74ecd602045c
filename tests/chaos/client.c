#include "tests/chaos/client.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A bound far beyond the longest wait and the longest pause of a daemon. */
enum { ANSWER_US = 25000000, MS = 1000 };

uint64_t client_draw(struct client *c, uint64_t below)
{
    return draw(c->shared->seed, c->who, ++c->draws, 0) % below;
}

static bool one_in(struct client *c, uint64_t many)
{
    return client_draw(c, many) == 0;
}

static void client_nap(struct client *c, int64_t us)
{
    links_listen(c, now_us() + us, NULL);
}

/* ---- what lines mean ---- */

/* A later deadline counts only while the old deadline is ahead. After the old deadline, only a daemon that
 * has renewed all the while can tell a later deadline: for a session lock, its own daemon. */
static void hold_until(struct client *c, const struct link *link, const char *line)
{
    int64_t until_us = line_number(line, "until=") * MS;
    bool unbroken = client_believes(c) || (!c->hold.lease && link == &c->own);
    if (!c->hold.granted || c->hold.given_up || !unbroken || until_us <= c->hold.until_us)
        return;
    c->hold.until_us = until_us;
    client_record(c, RECORD_UNTIL, 0, "");
}

static bool is_about_hold(const struct client *c, const char *line)
{
    const char *token = strstr(line, " token=");
    return c->hold.granted && token != NULL && strncmp(token + 7, c->hold.token, 40) == 0;
}

void client_notice(struct client *c, struct link *link, const char *line)
{
    char reason[RECORD_TEXT] = "";
    const char *found = strstr(line, " reason=");
    if (strncmp(line, "!DRAIN", 6) == 0)
        link->draining = true;
    if (strncmp(line, "!RENEWED ", 9) == 0 && is_about_hold(c, line))
        hold_until(c, link, line);
    if (strncmp(line, "!LOST ", 6) != 0 || found == NULL)
        return;
    sscanf(found + 8, "%27s", reason);
    struct hold hold = c->hold;
    if (!is_about_hold(c, line))
        c->hold = (struct hold){
            .daemon =
                (uint8_t)link->daemon}; /* for an earlier lock, which was given up on another connection */
    client_record(c, RECORD_LOST, 0, reason);
    if (is_about_hold(c, line))
        hold.given_up = true;
    c->hold = hold;
}

/* A lock that was resumed keeps its slot. */
static void slot_learn(struct client *c, const char *line)
{
    struct hold *hold = &c->hold;
    int64_t slot = line_number(line, "slot=");
    if (slot < 0 || slot >= SLOTS || (hold->names > 0 && slot != hold->name[0] - FIRST_SLOT)) {
        client_wrong(c, "no slot, or a wrong one");
        return;
    }
    hold->names = 1;
    hold->name[0] = (uint8_t)(FIRST_SLOT + slot);
}

static void hold_begin(struct client *c, const char *line)
{
    struct hold *hold = &c->hold;
    const char *token = strstr(line, " token=");
    hold->fence = (uint64_t)line_number(line, "fence=");
    hold->until_us = line_number(line, "until=") * MS;
    if (hold->slot)
        slot_learn(c, line);
    if (token == NULL || hold->until_us <= 0 || sscanf(token, " token=%40s", hold->token) != 1)
        client_wrong(c, "a +LOCKED without token, until");
    hold->granted = true;
    client_record(c, RECORD_GRANT, hold->fence, hold->token);
}

void client_answer(struct client *c, struct link *link, struct request *request)
{
    char code[RECORD_TEXT];
    const char *line = request->line;
    if (request->locks && strncmp(line, "+LOCKED ", 8) == 0) {
        hold_begin(c, line);
    } else if (request->locks) {
        sscanf(line, "%27s", code);
        if (strcmp(code, "-MODE") == 0)
            client_wrong(c, "a name is used in two ways");
        client_record(c, RECORD_REFUSED, 0, code);
    } else if (strncmp(line, "+EXTENDED ", 10) == 0 || strncmp(line, "+HELD ", 6) == 0) {
        hold_until(c, link, line);
    }
}

/* ---- steps ---- */

/* False: the connection broke first. */
static bool await(struct client *c, struct request *request)
{
    if (request == NULL)
        return false;
    links_listen(c, now_us() + ANSWER_US, request);
    if (request->state == REQUEST_ASKED) {
        client_wrong(c, "no answer for 25 s");
        link_reset(&c->own);
        link_reset(&c->other);
    }
    bool answered = request->state == REQUEST_ANSWERED;
    request->state = REQUEST_FREE;
    return answered;
}

static bool own_open(struct client *c)
{
    if (c->own.fd >= 0 && !c->own.draining)
        return true;
    link_finish(c, &c->own);
    if (!link_open(c, &c->own, (unsigned)client_draw(c, DAEMONS), one_in(c, 2))) {
        client_nap(c, 10 * MS + (int64_t)client_draw(c, 40 * MS));
        return false;
    }
    c->left = false;
    return one_in(c, 2) || await(c, link_ask(c, &c->own, "HELLO 1 events=renewed"));
}

static struct link *other_open(struct client *c)
{
    if (c->other.fd >= 0 && !c->other.draining && !one_in(c, 20))
        return &c->other;
    link_finish(c, &c->other);
    unsigned daemon = (c->own.daemon + 1 + (unsigned)client_draw(c, DAEMONS - 1)) % DAEMONS;
    link_open(c, &c->other, daemon, one_in(c, 2));
    return &c->other;
}

/* A reset of a TCP connection releases nothing: deadlines that were told still count, for the client
 * that broke it. */
static void own_leave(struct client *c)
{
    static const char *const ways[] = {"FIN", "QUIT", "RST"};
    uint64_t way = client_draw(c, 3);
    if (way != 2 || !c->own.tcp) {
        client_record(c, RECORD_END, 0, way == 2 ? "closes" : ways[way]);
        c->hold.given_up = true;
    }
    if (way == 1)
        link_ask(c, &c->own, "QUIT");
    if (way == 2)
        link_reset(&c->own);
    else
        link_finish(c, &c->own);
}

/* True: the lock was granted, and the connection may be broken since. */
static bool lock_await(struct client *c, struct request *request)
{
    if (request != NULL && one_in(c, 16)) {
        links_listen(c, now_us() + (int64_t)client_draw(c, 100 * MS), request);
        if (request->state == REQUEST_ASKED && one_in(c, 2))
            await(c, link_ask(c, &c->own, "CANCEL %" PRIu32, request->tag));
        else if (request->state == REQUEST_ASKED)
            own_leave(c);
    }
    await(c, request);
    return c->hold.granted && !c->hold.given_up;
}

/* The order of the names differs each time: it does not matter to a daemon. */
static const char *hold_text(struct client *c, char text[NAMES_TEXT])
{
    const struct hold *hold = &c->hold;
    if (hold->slot)
        snprintf(text, NAMES_TEXT, "n%d", FIRST_SLOT);
    if (hold->slot)
        return text;
    unsigned first = hold->names > 1 ? (unsigned)client_draw(c, hold->names) : 0;
    int len = 0;
    for (unsigned i = 0; i < hold->names; i++)
        len += snprintf(text + len, NAMES_TEXT - (size_t)len, "%sn%u", i > 0 ? "," : "",
                        hold->name[(first + i) % hold->names]);
    return text;
}

/* The number of accounts is a prime: each step from account to account meets all of them. */
static void hold_choose(struct client *c, struct hold *hold)
{
    uint64_t kind = client_draw(c, 5);
    unsigned first = (unsigned)client_draw(c, ACCOUNTS), step = 1 + (unsigned)client_draw(c, ACCOUNTS - 1);
    hold->slot = kind == 4;
    hold->names = !hold->slot;
    if (kind < 2) {
        hold->name[0] = (uint8_t)client_draw(c, PLAIN_NAMES);
    } else if (kind == 2) {
        hold->name[0] = (uint8_t)(PLAIN_NAMES + client_draw(c, PAGES));
        hold->shared = !one_in(c, 4);
    } else if (kind == 3) {
        if (!one_in(c, 3))
            hold->names = (uint8_t)(2 + client_draw(c, LIST_NAMES - 1));
        for (unsigned i = 0; i < hold->names; i++)
            hold->name[i] = (uint8_t)(PLAIN_NAMES + PAGES + (first + i * step) % ACCOUNTS);
        hold->shared = hold->names == 1 && one_in(c, 4);
    }
}

static bool lock_take(struct client *c)
{
    static const char *const kinds[] = {"session", "lease"};
    char names[NAMES_TEXT], slots[16];
    snprintf(slots, sizeof slots, " slots=%d", SLOTS);
    bool lease = one_in(c, 4);
    unsigned ttl_ms = 200 + (unsigned)(one_in(c, 2) ? client_draw(c, 400) : client_draw(c, 1801));
    unsigned wait_ms = one_in(c, 3) ? 0 : 50 + (unsigned)client_draw(c, 2950);
    c->hold = (struct hold){.ask = atomic_fetch_add(&c->shared->history.asks, 1) + 1,
                            .daemon = (uint8_t)c->own.daemon,
                            .asked_us = now_us(),
                            .lease = lease};
    hold_choose(c, &c->hold);
    client_record(c, RECORD_ASK, wait_ms, "");
    const char *mode = c->hold.slot ? slots : c->hold.shared ? " mode=shared" : "";
    return lock_await(c, link_ask(c, &c->own, "LOCK %s ttl=%u wait=%u hold=%s%s", hold_text(c, names), ttl_ms,
                                  wait_ms, kinds[lease], mode));
}

/* Extends or checks the lock, on one of the client's two connections. */
static void lock_touch(struct client *c)
{
    char names[NAMES_TEXT];
    struct link *link = one_in(c, 2) ? &c->own : other_open(c);
    hold_text(c, names);
    if (one_in(c, 2))
        await(c, link_ask(c, link, "EXTEND %s token=%s ttl=%u", names, c->hold.token,
                          200 + (unsigned)client_draw(c, 1801)));
    else
        await(c, link_ask(c, link, "CHECK %s token=%s", names, c->hold.token));
}

/* False: no daemon said that the lock is gone. */
static bool unlocked(struct client *c, struct request *request)
{
    return await(c, request) && strncmp(request->line, "-NOQUORUM", 9) != 0;
}

static bool lock_release(struct client *c, struct link *link)
{
    char names[NAMES_TEXT];
    if (link->fd < 0)
        return false;
    client_record(c, RECORD_END, link->daemon, link == &c->own ? "UNLOCK" : "UNLOCK elsewhere");
    c->hold.given_up = true;
    hold_text(c, names);
    struct request *request = link == &c->own && !c->left && one_in(c, 2)
                                  ? link_ask(c, link, "UNLOCK %s", names)
                                  : link_ask(c, link, "UNLOCK %s token=%s", names, c->hold.token);
    return unlocked(c, request);
}

/* ---- to another connection ---- */

/* Where RESUME is sent: on the other connection, to another daemon or to the same daemon, or on the
 * connection that the lock is bound to. */
static struct link *resume_link(struct client *c)
{
    if (c->own.fd >= 0 && one_in(c, 8))
        return &c->own;
    if (!one_in(c, 3))
        return other_open(c);
    link_finish(c, &c->other);
    link_open(c, &c->other, c->own.daemon, one_in(c, 2));
    return &c->other;
}

/* The lock is bound to the former other connection. The former own connection may stay, be closed or
 * break: the lock does not depend on it any more. */
static void resume_swap(struct client *c)
{
    struct link before = c->own;
    uint64_t way = client_draw(c, 3);
    c->own = c->other;
    c->other = before;
    if (way == 1)
        link_finish(c, &c->other);
    if (way == 2)
        link_reset(&c->other);
}

/* A new token makes another lock in the history: the old lock ends when RESUME is asked. */
static void lock_resume(struct client *c)
{
    struct hold before = c->hold;
    char names[NAMES_TEXT];
    hold_text(c, names);
    if (c->own.fd >= 0 && c->own.tcp && one_in(c, 4))
        link_reset(&c->own); /* as if its daemon had died */
    struct link *link = resume_link(c);
    if (link->fd < 0)
        return;
    client_record(c, RECORD_END, link->daemon, "RESUME");
    c->hold = (struct hold){.ask = atomic_fetch_add(&c->shared->history.asks, 1) + 1,
                            .names = before.names,
                            .shared = before.shared,
                            .slot = before.slot,
                            .asked_us = before.asked_us,
                            .daemon = (uint8_t)link->daemon};
    memcpy(c->hold.name, before.name, sizeof before.name);
    client_record(c, RECORD_ASK, before.ask, "RESUME");
    struct request *request = link_ask(c, link, "RESUME %s token=%s ttl=%u", names, before.token,
                                       200 + (unsigned)client_draw(c, 1801));
    if (request != NULL)
        request->locks = true;
    await(c, request);
    if (c->hold.granted && !c->hold.given_up && link == &c->other) {
        resume_swap(c);
    } else if (!c->hold.granted) { /* the old lock may still be there, but the client does not rely on it */
        c->hold = before;
        c->hold.given_up = true;
        bool released = unlocked(c, link_ask(c, link, "UNLOCK %s token=%s", names, before.token));
        if (!before.lease && !released && c->own.fd >= 0)
            own_leave(c);
        c->hold.granted = false;
    }
}

static void lock_leave(struct client *c)
{
    uint64_t way = client_draw(c, 100);
    if (c->hold.lease && way < 10)
        link_reset(&c->own); /* a lease outlives its connection */
    if (c->hold.lease && way >= 97) {
        c->left = true;
        return; /* the lock runs out */
    }
    bool released = false;
    if (c->own.fd >= 0 && way < (c->hold.lease ? 60 : 84))
        released = lock_release(c, &c->own);
    else if (c->own.fd < 0 || c->hold.lease || way < 90)
        released = lock_release(c, other_open(c));
    /* The daemon of a session lock may renew it for as long as the connection lives. */
    if (!c->hold.lease && !released && c->own.fd >= 0)
        own_leave(c);
}

static void client_turn(struct client *c)
{
    if (!lock_take(c)) {
        client_nap(c, (int64_t)client_draw(c, 10 * MS)); /* the daemon may drain, or masters be away */
        return;
    }
    int64_t sleep_us = (int64_t)client_draw(c, 50 * MS);
    bool wanted = c->hold.name[0] >= PLAIN_NAMES; /* by many, or in a list */
    if (c->shared->long_holds && one_in(c, 8))
        sleep_us += (int64_t)client_draw(c, wanted ? 3000 * MS : 10000 * MS); /* over restarts of masters */
    else if (one_in(c, wanted ? 30 : 100))
        sleep_us += (int64_t)client_draw(c, 2500 * MS); /* the lock lives on renewals */
    client_work(c, sleep_us);
    if (one_in(c, 8)) {
        lock_touch(c);
        client_work(c, (int64_t)client_draw(c, 10 * MS));
    }
    if (one_in(c, 8) || (c->own.fd < 0 && one_in(c, 2))) {
        lock_resume(c);
        client_work(c, (int64_t)client_draw(c, 10 * MS));
    }
    if (c->hold.granted)
        lock_leave(c);
}

_Noreturn void client_run(struct shared *shared, uint32_t who)
{
    static struct client client;
    struct client *c = &client;
    *c = (struct client){.shared = shared, .who = who, .own = {.fd = -1}, .other = {.fd = -1}};
    c->counter = redisConnectUnix(shared->counter_path);
    if (c->counter == NULL || c->counter->err) {
        fprintf(stderr, "client %" PRIu32 ": no connection to the counter's redis\n", who);
        _exit(1);
    }
    while (!atomic_load(&shared->stop) && !history_full(&shared->history)) {
        if (own_open(c))
            client_turn(c);
        c->hold = (struct hold){0};
        if (one_in(c, 50))
            link_finish(c, &c->own); /* the next connection may lead to another daemon */
    }
    link_finish(c, &c->own);
    link_finish(c, &c->other);
    _exit(0);
}
