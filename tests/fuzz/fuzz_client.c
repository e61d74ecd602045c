/* A hostile server, a clock and a restless program against the client library's core.
 *
 * Each byte of the input is an event, see happen(). The harness asserts that each request has exactly one
 * result, no event names a lock that was let go of, no deadline is absurdly late, a lock that was told LOST
 * stays lost, a program that was told that it reads never writes again, and the core's own tables are right. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"
#include "tests/fuzz/fuzz.h"

enum { LOCKS = 24, WATCHES = 8, REQUESTS = 256, EVENTS = 4096, TOKENS = 5, LINES = 64 };

struct known {
    struct redlock_lock *lock;
    bool asked; /* ON_LOCK is to come */
    bool lost;
    bool reader;     /* a downgrade was done, or may have been */
    uint64_t unlock; /* ON_UNLOCK is to come */
};

struct world {
    struct core *core;
    struct bytes in;
    int64_t now_ms;
    struct known locks[LOCKS];              /* .lock NULL: free */
    struct redlock_watch *watches[WATCHES]; /* NULL: none */
    uint64_t requests[REQUESTS];            /* EXTEND, CHECK, SHOW without result; 0: free */
    char lines[LINES][LINE_BYTES];          /* the last lines that the client wrote */
    unsigned said;
};

static const char *const names[] = {"a", "b", "job"};

/* ---- the core's own tables ---- */

static void check_asks(const struct core *core, const struct ask_list *list, enum ask_state state,
                       unsigned *short_sent, unsigned *waits_sent, unsigned *cancels)
{
    const struct ask *ask;

    TAILQ_FOREACH(ask, list, link)
    {
        assert(ask->state == state);
        assert(core->slots[ask->slot] == ask);
        assert(!ask->lock || ask->lock->core == core);
        assert(ask->lock || ask->watch || ask->verb == ASK_SHOW || state == ASK_DONE);
        *short_sent += ask->counted == &core->short_sent;
        *waits_sent += ask->counted == &core->waits_sent;
        *cancels += ask->cancel;
    }
}

static void check_watches(const struct core *core)
{
    const struct redlock_watch *watch;
    unsigned count = 0;

    TAILQ_FOREACH(watch, &core->watches, link)
    {
        count++;
        assert(!watch->orphan || watch->own.state != ASK_IDLE);
        assert(!watch->orphan || !watch->news);
        assert(watch->state != WATCH_ASKED || watch->own.state != ASK_IDLE);
        assert(watch->state != WATCH_ON || (core->state == CORE_UP));
        assert(watch->orphan || watch->state == WATCH_ASKED || watch->own.state == ASK_IDLE);
    }
    assert(count == core->watches_count);
}

static void check(const struct world *w)
{
    const struct core *core = w->core;
    unsigned shorts = 0, waits = 0, cancels = 0, locks = 0, sessions = 0, believed = 0, used = 0;
    const struct redlock_lock *lock;

    check_asks(core, &core->queued, ASK_QUEUED, &shorts, &waits, &cancels);
    check_asks(core, &core->sent, ASK_SENT, &shorts, &waits, &cancels);
    check_asks(core, &core->done, ASK_DONE, &shorts, &waits, &cancels);
    assert(shorts == core->short_sent && shorts <= CORE_WINDOW);
    assert(waits == core->waits_sent && waits <= CORE_WAITS);
    assert(cancels == core->cancels);
    TAILQ_FOREACH(lock, &core->locks, link)
    {
        int64_t deadline_ms = atomic_load(&lock->deadline_ms);
        locks++;
        sessions += lock->listed;
        believed += deadline_ms > 0;
        assert(deadline_ms >= 0 && deadline_ms <= w->now_ms + DURATION_MAX_MS);
        bool held = lock->state == LOCK_HELD || lock->state == LOCK_DETACHED || lock->state == LOCK_RESUMING;
        assert(held || deadline_ms == 0);
        assert(!lock->listed || held);
        assert(!lock->orphan || lock->own.state != ASK_IDLE);
        assert(lock->state != LOCK_RESUMING || lock->own.state == ASK_SENT);
        assert(lock->state != LOCK_GIVING || lock->own.state != ASK_IDLE);
        assert(core->state == CORE_UP || lock->own.state != ASK_SENT);
        assert(lock->downgrade.state == ASK_IDLE ||
               (lock->downgrade.state == ASK_SENT && core->state == CORE_UP));
        assert(!lock->downgrading || lock->hold == REDLOCK_SESSION);
    }
    assert(locks == core->locks_count && sessions == core->sessions && believed == core->believed);
    check_watches(core);
    for (uint32_t i = 0; i < core->slots_size; i++)
        used += core->slots[i] != NULL;
    assert(used == core->slots_used);
    assert(core_deadline_ms(core) >= 0);
    assert(!core_has_output(core) || core->state >= CORE_GREETING);
    (void)core_binds(core, core->connection);
}

/* ---- what is told ---- */

static struct known *known_of(struct world *w, const struct redlock_lock *lock)
{
    for (unsigned i = 0; lock && i < LOCKS; i++)
        if (w->locks[i].lock == lock)
            return &w->locks[i];
    return NULL;
}

static void ended(struct world *w, uint64_t request)
{
    for (unsigned i = 0; i < REQUESTS; i++)
        if (w->requests[i] == request) {
            w->requests[i] = 0;
            return;
        }
    assert(0 && "a result that was told before, or of no request");
}

static bool is_reader(enum redlock_error error)
{
    return error == REDLOCK_OK || error == REDLOCK_NOQUORUM || error == REDLOCK_NOANSWER ||
           error == REDLOCK_CONNECT || error == REDLOCK_DRAINING;
}

/* An ended watch is told once, and only what the program has not let go of is told. */
static void told_now(struct world *w, const struct redlock_event *event)
{
    for (unsigned i = 0; i < WATCHES; i++)
        if (event->watch && event->watch == w->watches[i]) {
            assert(!event->watch->orphan && event->error == event->watch->error);
            if (event->error) {
                core_unwatch(w->core, event->watch);
                w->watches[i] = NULL;
            }
            return;
        }
    assert(0 && "a watch that was let go of");
}

static void told(struct world *w, const struct redlock_event *event)
{
    struct known *known = known_of(w, event->lock);

    assert(event->text && strlen(event->text) < SERVER_LINE_BYTES);
    assert(!event->lock || known);
    switch (event->kind) {
    case REDLOCK_ON_LOCK:
        assert(known->asked);
        known->asked = false;
        if (event->error)
            *known = (struct known){0};
        break;
    case REDLOCK_ON_UNLOCK:
        assert(known->unlock && known->unlock == event->request);
        *known = (struct known){0};
        break;
    case REDLOCK_ON_NOW: told_now(w, event); break;
    case REDLOCK_ON_EXTEND:
    case REDLOCK_ON_CHECK:
    case REDLOCK_ON_TELL:
    case REDLOCK_ON_SHOW: ended(w, event->request); break;
    case REDLOCK_ON_DOWNGRADE:
        ended(w, event->request);
        if (known)
            known->reader |= is_reader(event->error);
        break;
    case REDLOCK_ON_LOST:
        assert(!known->lost && !known->asked);
        known->lost = true;
        break;
    case REDLOCK_ON_RENEWED:
    case REDLOCK_ON_RESUMED:
    case REDLOCK_ON_EXPIRING: assert(!known->lost && !known->asked); break;
    case REDLOCK_ON_ROW:
    case REDLOCK_ON_UP:
    case REDLOCK_ON_DOWN:
    case REDLOCK_ON_DRAIN: break;
    }
}

static void tell_all(struct world *w)
{
    struct redlock_event event;

    for (unsigned i = 0; i < EVENTS && core_next(w->core, w->now_ms, &event); i++)
        told(w, &event);
    for (unsigned i = 0; i < LOCKS; i++)
        if (w->locks[i].lost)
            assert(atomic_load(&w->locks[i].lock->deadline_ms) == 0);
    for (unsigned i = 0; i < LOCKS; i++)
        if (w->locks[i].reader)
            assert(w->locks[i].lock->shared || w->locks[i].lock->downgrading);
}

/* ---- what the program does ---- */

static void token_text(uint8_t number, char out[TOKEN_HEX + 1])
{
    memset(out, 'a' + number % TOKENS, TOKEN_HEX);
    out[TOKEN_HEX] = '\0';
}

static void new_lock(struct world *w, unsigned kind)
{
    static const int64_t waits[] = {0, 500, 20000, REDLOCK_WAIT_LONGEST};
    enum redlock_error error = REDLOCK_OK;
    uint8_t shape = bytes_next(&w->in);
    struct redlock_lock_options options = {
        .ttl_ms = shape & 1 ? 900 : 0,
        .max_ms = shape & 2 ? 5000 : 0,
        .wait_ms = waits[shape >> 2 & 3],
        .hold = kind == 1 ? REDLOCK_LEASE : REDLOCK_SESSION,
        .note = shape & 16 ? "note" : NULL,
    };
    const char *name = names[(shape >> 5) % 3];
    char token[TOKEN_HEX + 1];
    struct known *free_one = NULL;

    for (unsigned i = 0; i < LOCKS; i++)
        if (!w->locks[i].lock)
            free_one = &w->locks[i];
    if (!free_one)
        return;
    token_text(shape, token);
    if (kind == 3)
        free_one->lock = core_attach(w->core, name, token, &error);
    else
        free_one->lock = core_lock(w->core, w->now_ms, name, kind == 2 ? token : NULL, &options, &error);
    assert(free_one->lock);
    free_one->asked = kind != 3;
}

static void remember(struct world *w, uint64_t request)
{
    for (unsigned i = 0; i < REQUESTS; i++)
        if (!w->requests[i]) {
            w->requests[i] = request;
            return;
        }
    abort();
}

static bool has_room(const struct world *w)
{
    for (unsigned i = 0; i < REQUESTS; i++)
        if (!w->requests[i])
            return true;
    return false;
}

static void use_lock(struct world *w, unsigned how)
{
    struct known *known = &w->locks[bytes_next(&w->in) % LOCKS];
    enum redlock_error error = REDLOCK_OK;

    if (!known->lock)
        return;
    if (how == 0) {
        uint64_t request = core_ask(w->core, w->now_ms, known->lock, ASK_UNLOCK, 0, &error);
        assert(!request || (!known->unlock && !known->asked));
        known->unlock = request ? request : known->unlock;
    } else if (how == 1 || how == 2) {
        enum ask_verb verb = how == 1                               ? ASK_EXTEND
                             : known->lock->hold == REDLOCK_SESSION ? ASK_DOWNGRADE
                                                                    : ASK_CHECK;
        uint64_t request = has_room(w) ? core_ask(w->core, w->now_ms, known->lock, verb, 700, &error) : 0;
        if (request)
            remember(w, request);
    } else if (how == 3) {
        core_cancel(w->core, w->now_ms, known->lock);
    } else if (!known->unlock) { /* otherwise the library frees it */
        core_forget(w->core, w->now_ms, known->lock);
        *known = (struct known){0};
    }
}

static void watch(struct world *w)
{
    enum redlock_error error = REDLOCK_OK;
    uint8_t which = bytes_next(&w->in);
    struct redlock_watch **watch = &w->watches[which % WATCHES];

    if (*watch)
        core_unwatch(w->core, *watch);
    *watch = which >= 128 ? core_watch(w->core, w->now_ms, names[which % 3], &error) : NULL;
}

static void tell(struct world *w)
{
    enum redlock_error error = REDLOCK_OK;
    const struct known *known = &w->locks[bytes_next(&w->in) % LOCKS];

    if (!known->lock || !has_room(w))
        return;
    uint64_t request = core_tell(w->core, w->now_ms, known->lock, "data", &error);
    if (request)
        remember(w, request);
}

static void show(struct world *w)
{
    enum redlock_error error = REDLOCK_OK;

    if (has_room(w))
        remember(w, core_show(w->core, w->now_ms, "LOCKS", &error));
}

/* ---- what the server does ---- */

static void come(struct world *w, const char *bytes, size_t len)
{
    size_t room;
    char *space = core_space(w->core, &room);

    if (len > room || w->core->state < CORE_GREETING)
        return;
    memcpy(space, bytes, len);
    core_got(w->core, len, w->now_ms);
}

/* An answer to a line that the client wrote, as an honest server may write it or not. */
static void answer(struct world *w)
{
    static const char *const codes[] = {
        /* formats that take a name, a token, an instant and a number, in this order */
        "+LOCKED %s token=%s valid=1 until=%lld fence=%d",
        "+LOCKED %s token=%s mode=shared valid=1 until=%lld fence=%d",
        "+UNLOCKED %s confirmed=2/3",
        "+EXTENDED %s%.0s valid=1 until=%lld",
        "+HELD %s%.0s valid=1 until=%lld",
        "+OK",
        "* name=%s",
        "+END 1",
        "-BUSY %s retry=9",
        "-NOTHELD %s",
        "-NOQUORUM %s votes=1/3 nodes=+!!",
        "-DRAINING %s",
        "-CANCELLED %s",
        "-BADARG %s : text",
        "-LIMIT %s",
        "!LOST %s token=%s reason=gone",
        "!LOST %s token=%s reason=drain",
        "!RENEWED %s token=%s valid=1 until=%lld",
        "!EXPIRING %s token=%s valid=1",
        "!DRAIN",
        "+HELLO%.0s%.0s proto=1 server=x now=%lld",
        "+HELLO%.0s%.0s proto=1 server=x now=%lld behind=%d",
        "!CLOCK%.0s%.0s behind=%lld",
        "+PONG",
        "+DATA %s confirmed=2/3",
        "+WATCHING %s%.0s state=held fence=%lld host=h data=d",
        "+WATCHING %s state=free",
        "!NOW %s%.0s state=held fence=%lld mode=shared",
        "!NOW %s state=kept",
        "-BADVERB : no",
    };
    char line[SERVER_LINE_BYTES], body[SERVER_LINE_BYTES], name[REDLOCK_NAME_BYTES + 1] = "a",
                                                                                     token[TOKEN_HEX + 1];
    const char *said = w->lines[bytes_next(&w->in) % LINES];
    unsigned code = bytes_next(&w->in) % (sizeof codes / sizeof codes[0]);
    uint8_t number = bytes_next(&w->in);
    int64_t until_ms = w->now_ms + (int64_t)(int8_t)number * 64;

    (void)sscanf(said, "%*s %*s %200s", name);
    token_text(number, token);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(body, sizeof body - 64, codes[code], name, token, (long long)until_ms, number);
#pragma GCC diagnostic pop
    bool event = codes[code][0] == '!';
    int len = snprintf(line, sizeof line, "%.*s%s%s\n", event ? 0 : (int)strcspn(said, " "), said,
                       event ? "" : " ", body);
    come(w, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
}

static void raw(struct world *w)
{
    char bytes[256];
    size_t len = bytes_next(&w->in);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)bytes_next(&w->in);
    come(w, bytes, len);
}

/* The kernel takes a part of the client's output; the harness remembers its lines. */
static void take_output(struct world *w, size_t most)
{
    size_t len;
    const char *bytes = core_output(w->core, w->now_ms, &len);
    size_t part = len < most ? len : most;

    for (size_t at = 0; at < part;) {
        const char *lf = memchr(bytes + at, '\n', part - at);
        if (!lf) {
            part = at; /* whole lines are enough here */
            break;
        }
        size_t line_len = (size_t)(lf - bytes) - at;
        assert(line_len < LINE_BYTES);
        char *line = w->lines[w->said++ % LINES];
        memcpy(line, bytes + at, line_len);
        line[line_len] = '\0';
        at += line_len + 1;
    }
    core_wrote(w->core, part);
}

/* ---- what happens ---- */

static void grant_wish(struct world *w, uint8_t how)
{
    switch (core_action(w->core)) {
    case ACTION_NOTHING: return;
    case ACTION_CONNECT:
        core_connecting(w->core, w->now_ms);
        if (how & 1)
            core_connected(w->core, w->now_ms, how & 2);
        return;
    case ACTION_CLOSE:
    case ACTION_PARK: core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "closed"); return;
    }
}

/* Brings the connection up: connects if there is none, and answers HELLO. */
static void come_up(struct world *w)
{
    char line[128];

    if (w->core->state == CORE_DOWN) {
        w->now_ms = core_deadline_ms(w->core) > w->now_ms ? core_deadline_ms(w->core) : w->now_ms;
        core_tick(w->core, w->now_ms);
        tell_all(w);
        grant_wish(w, 3);
    }
    if (w->core->state == CORE_CONNECTING)
        core_connected(w->core, w->now_ms, true);
    take_output(w, SIZE_MAX);
    int len = snprintf(line, sizeof line, "#h +HELLO proto=1 server=x now=%lld\n", (long long)w->now_ms);
    come(w, line, (size_t)len);
}

static void happen(struct world *w)
{
    uint8_t what = bytes_next(&w->in);

    switch (what % 20) {
    case 0:
    case 1:
    case 2:
    case 3: new_lock(w, what % 4); break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: use_lock(w, what % 20 - 4u); break;
    case 9:
        if (what < 100)
            show(w);
        else if (what < 180)
            tell(w);
        else
            watch(w);
        break;
    case 10: w->now_ms += bytes_next(&w->in); break;
    case 11: w->now_ms += 100 * (int64_t)bytes_next(&w->in); break;
    case 12: grant_wish(w, what >> 5); break;
    case 13:
        if (core_action(w->core) != ACTION_CONNECT)
            core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "it happened");
        break;
    case 14: come_up(w); break;
    case 15:
    case 16: answer(w); break;
    case 17: raw(w); break;
    case 18: take_output(w, what >= 128 ? SIZE_MAX : 100); break;
    default: core_tick(w->core, w->now_ms); break;
    }
}

static void close_all(struct world *w)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        if (w->locks[i].lock)
            core_forget(w->core, w->now_ms, w->locks[i].lock);
        w->locks[i] = (struct known){0};
    }
}

/* Whatever happened before: when time goes on, everything ends. */
static void end(struct world *w)
{
    for (unsigned i = 0; i < 3; i++) {
        w->now_ms += DURATION_MAX_MS + 1;
        core_tick(w->core, w->now_ms);
        tell_all(w);
        core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "the end");
        tell_all(w);
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        assert(!w->requests[i]);
    for (unsigned i = 0; i < LOCKS; i++)
        assert(!w->locks[i].asked && !w->locks[i].unlock);
    close_all(w);
    tell_all(w);
    check(w);
}

int HARNESS(fuzz_client)(const uint8_t *data, size_t size)
{
    static struct world w;

    w = (struct world){.in = {data, data + size}, .now_ms = 1000000};
    w.core = core_new("fuzz", 10000, bytes_next(&w.in));
    assert(w.core);
    while (w.in.at < w.in.end) {
        happen(&w);
        tell_all(&w);
        check(&w);
    }
    end(&w);
    core_free(w.core);
    return 0;
}
