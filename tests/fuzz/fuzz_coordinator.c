/* Bytes become events for the coordinator: requests, votes of masters that mostly tell the truth,
 * lies, losses, timers, ends of sessions. After each step the coordinator's own data is checked, and from
 * outside:
 *
 *     one answer to each request, at most one if its session has ended, and none to another
 *     commands only to masters that are connected
 *     a bounded amount of work at any one time
 *     all quiet once everything is healed and everybody has gone
 *     and, as long as no master lied: one holder of a name, or of each of its slots, at a time, and fences that
 *     grow */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"
#include "proto/line_names.h"
#include "tests/fuzz/world.h"

enum {
    SPIN = 4000,  /* more timers due at one time are a loop without end */
    HEAL = 50000, /* steps until all is quiet */
    HEAL_MS = 5000,
    QUIET_MS = 60000,
};

/* ---- events ---- */

static void step(struct world *w, enum event_kind kind)
{
    struct coordinator_event *event = &w->event;
    if (w->actions.random_used)
        for (unsigned i = 0; i < sizeof event->random; i++) {
            w->random = w->random * 6364136223846793005u + 1442695040888963407u;
            event->random[i] = (uint8_t)(w->random >> 56);
        }
    event->kind = kind;
    event->now_ms = w->now_ms;
    event->wall_us = 1700000000000000 + w->now_ms * 1000 + w->wall_ahead_us;
    coordinator_step(w->c, event, &w->actions);
    for (unsigned i = 0; i < w->actions.count; i++)
        world_carry_out(w, &w->actions.list[i]);
    coordinator_check(w->c);
}

static void master_step(struct world *w, enum event_kind kind, const struct fake_master *m)
{
    w->event.master = m->index;
    w->event.connection = m->connection;
    step(w, kind);
}

static void run_timers(struct world *w, unsigned most)
{
    for (unsigned i = 0; i < most && coordinator_deadline(w->c) <= w->now_ms; i++) {
        assert(i + 1 < SPIN);
        step(w, EVENT_TIMER);
    }
}

/* Answers the oldest command: truly, or as replace changes the vote. */
static void vote(struct world *w, struct fake_master *m, void (*replace)(struct world *, const struct sent *))
{
    if (!m->connected || m->count == 0)
        return;
    struct sent sent = master_next(m);
    w->event.verb = sent.verb;
    w->event.ref = sent.ref;
    master_run(m, &sent, w->now_ms, &w->event.vote);
    if (replace != NULL)
        replace(w, &sent);
    master_step(w, EVENT_MASTER_VOTE, m);
}

/* Votes for another command of that verb, as after an answer too many. */
static void misdirect(struct world *w, const struct sent *sent)
{
    w->lied = true;
    if (sent->verb >= COMMAND_SET)
        w->event.ref = sent->ref ^ bytes_number(&w->in, 1 + bytes_next(&w->in) % 4);
}

static void lose(struct world *w, struct fake_master *m, unsigned ran)
{
    if (!m->connected)
        return;
    master_lose(m, ran, w->now_ms);
    master_step(w, EVENT_MASTER_LOST, m);
}

static void connect_master(struct world *w, struct fake_master *m)
{
    if (m->connected)
        return;
    master_connect(m);
    master_step(w, EVENT_MASTER_CONNECTED, m);
}

/* ---- clients ---- */

static struct client *client_of(struct world *w, uint8_t which)
{
    struct client *client = &w->clients[which % CLIENTS];
    if (client->session == 0)
        client->session = ++w->last_session;
    return client;
}

static struct token token_of(struct world *w, uint8_t which)
{
    struct token none = {{which}};
    return which % 16 < TOKENS ? w->tokens[which % TOKENS] : none;
}

static int64_t duration_of(struct world *w)
{
    static const int64_t ms[] = {
        -1, 0, 99, 100, 101, 200, 500, 1000, 2999, 3000, 3001, 5000, DURATION_MAX_MS};
    return ms[bytes_next(&w->in) % (sizeof ms / sizeof ms[0])];
}

/* A list of 2 to 16 names: at least two of the first three, so that lists and single names meet, and maybe some of the
 * others. It is written forwards or backwards. */
static void ask_list(struct world *w, struct request *what)
{
    static const char *const firsts[] = {"ab", "ac", "bc", "abc"};
    uint8_t which = bytes_next(&w->in);
    unsigned more = which / 4 % 16 > NAMES - SINGLE_NAMES ? 0 : which / 4 % 16, count = 0;
    char names[NAMES], text[2 * NAMES];
    for (const char *first = firsts[which % 4]; *first != '\0'; first++)
        names[count++] = *first;
    for (unsigned i = 0; i < more; i++)
        names[count++] = (char)('a' + SINGLE_NAMES + i);
    for (unsigned i = 0; i < count; i++) {
        text[2 * i] = names[which & 128 ? count - 1 - i : i];
        text[2 * i + 1] = ',';
    }
    enum names_fault fault = names_read((struct piece){text, 2 * count - 1}, &what->name, &what->order);
    assert(fault == NAMES_GOOD);
    (void)fault;
}

/* How many slots the name is to have; 0: none. */
static uint16_t slots_of(uint8_t who, uint8_t how)
{
    static const uint16_t counts[] = {SLOTS_MAX, 1, 2, 3, 4, 65};
    return who >= 128 && who < 192 && how & 128 ? counts[who / 12 - 10] : 0;
}

/* LOCK without a token */
static void ask_lock(struct world *w, uint8_t who, uint8_t how, struct request *what)
{
    what->hold = how & 4 ? HOLD_LEASE : HOLD_SESSION;
    what->wait_ms = how & 8 ? duration_of(w) : 0;
    what->max_ms = how & 16 ? duration_of(w) : -1;
    what->wait_ms = what->wait_ms < 0 ? 0 : what->wait_ms;
    what->slots = slots_of(who, how);
    bool alone = what->hold == HOLD_SESSION && what->slots == 0 && what->name.more == 0;
    what->data.len = (how & 3) == 1 && (how & 64) == 0 && alone;
}

static void ask_what(struct world *w, enum verb verb, uint8_t who, uint8_t how)
{
    struct request *what = &w->event.what;
    bool list = who >= 192 && verb != VERB_CANCEL;
    bool needs_token = verb == VERB_EXTEND || verb == VERB_CHECK || verb == VERB_RESUME;
    memset(what, 0, sizeof *what);
    what->verb = verb;
    what->name.len = 1;
    what->name.text[0] = (char)('a' + who / 4 % SINGLE_NAMES);
    if (list)
        ask_list(w, what);
    what->ttl_ms = what->max_ms = -1;
    what->has_token = needs_token || (verb != VERB_CANCEL && (how & 3) == 3);
    what->token = token_of(w, how >> 2);
    if (verb == VERB_LOCK && !what->has_token)
        ask_lock(w, who, how, what);
    what->shared = verb == VERB_LOCK && how & 64 && !list && what->slots == 0;
    if (verb == VERB_DATA) {
        what->has_token = false;
        what->data.len = 1 + how;
    }
    if (verb == VERB_RESUME)
        what->max_ms = how & 16 ? duration_of(w) : -1;
    if (verb == VERB_UNLOCK && how & 128)
        what->keep_ms = 1 + duration_of(w);
    if (verb == VERB_EXTEND || verb == VERB_RESUME || (verb == VERB_LOCK && !what->has_token))
        what->ttl_ms = how & 32 ? duration_of(w) : -1;
}

/* Notes the request, and what its client believes from now on. */
static void ask_note(struct world *w, struct asked *asked)
{
    const struct request *what = &w->event.what;
    uint16_t names = master_names(&what->name);
    *asked = (struct asked){
        .session = w->event.session,
        .request = w->event.request,
        .verb = what->verb,
        .token = what->token,
        .has_token = what->has_token,
        .down = what->verb == VERB_LOCK && what->has_token && what->shared,
        .slots = what->slots,
    };
    bool unlocks = what->verb == VERB_UNLOCK;
    if (unlocks && what->has_token && !world_leaves(w, &what->token, asked->session))
        world_forget(w, names, &what->token, 0, 0);
    else if (unlocks && !what->has_token)
        asked->slot = world_give_back(w, names, asked->session, what->keep_ms != 0);
    if (asked->down)
        world_downgrade(w, &what->token, true);
}

static void ask(struct world *w, enum verb verb)
{
    uint8_t who = bytes_next(&w->in), how = bytes_next(&w->in);
    struct client *client = client_of(w, who);
    unsigned place = 0;
    while (place < ASKED && w->asked[place].session != 0)
        place++;
    if (client->closed || place == ASKED)
        return;
    ask_what(w, verb, who, how);
    const struct asked *target = &w->asked[how % ASKED];
    bool mine = target->session == client->session && target->verb == VERB_LOCK;
    w->event.target = verb == VERB_CANCEL && mine ? target->request : 0;
    w->event.session = client->session;
    w->event.request = ++w->last_request;
    ask_note(w, &w->asked[place]);
    step(w, EVENT_REQUEST);
}

static void finish(struct world *w, struct client *client)
{
    if (client->finished || client->closed)
        return;
    client->finished = true;
    world_forget(w, 0, NULL, client->session, 0);
    w->event.session = client->session;
    step(w, EVENT_SESSION_FINISH);
}

static void close_session(struct world *w, struct client *client, bool released)
{
    uint64_t session = client->session;
    if (client->closed || (released && (!client->finished || world_asked(w, session) > 0)))
        return;
    client->closed = true;
    for (unsigned i = 0; i < ASKED; i++)
        w->asked[i].optional |= w->asked[i].session == session;
    w->event.session = session;
    step(w, released ? EVENT_SESSION_RELEASE : session % 4 == 0 ? EVENT_SESSION_DENY : EVENT_SESSION_DROP);
}

/* No byte of the client's last grant was written, then its connection ended. */
static void undelivered(struct world *w, struct client *client)
{
    const struct belief *last = &w->holds[(w->next_hold + HOLDS - 1) % HOLDS];
    if (client->closed || last->session != client->session)
        return;
    w->event.session = client->session;
    w->event.request = last->request;
    world_forget(w, 0, NULL, client->session, last->request);
    step(w, EVENT_UNDELIVERED);
    close_session(w, client, world_asked(w, client->session) == 0 && client->finished);
}

static void end_client(struct world *w)
{
    uint8_t how = bytes_next(&w->in);
    struct client *client = client_of(w, how);
    switch (how / CLIENTS % 4) {
    case 0: finish(w, client); break;
    case 1: close_session(w, client, true); break;
    case 2: close_session(w, client, false); break;
    default: undelivered(w, client); break;
    }
}

/* ---- a run ---- */

static void pass_time(struct world *w)
{
    static const int64_t ms[] = {1, 2, 5, 10, 20, 49, 50, 51, 100, 333, 500, 999, 1000, 1001, 3000, 10000};
    uint8_t how = bytes_next(&w->in);
    int64_t deadline_ms = coordinator_deadline(w->c);
    if (how & 64 && deadline_ms != INT64_MAX && deadline_ms > w->now_ms)
        w->now_ms = deadline_ms;
    else
        w->now_ms += ms[how % 16];
    if (how & 128)
        run_timers(w, 1u + (how >> 4 & 3u) * 8);
}

static void show(const struct world *w)
{
    struct cursor locks = {0}, waits = {0};
    struct coordinator_stats stats;
    struct lock_row lock;
    struct waiter_row wait;
    struct master_row master;
    unsigned lock_rows = 0, wait_rows = 0;
    for (; coordinator_lock_row(w->c, w->now_ms, &locks, &lock); lock_rows++)
        assert(lock.slot == token_slot(&lock.token) + 1);
    while (coordinator_waiter_row(w->c, w->now_ms, &waits, &wait))
        wait_rows++;
    for (unsigned i = 0; i < w->config.masters; i++)
        coordinator_master_row(w->c, w->now_ms, i, &master);
    coordinator_stats(w->c, &stats);
    assert(lock_rows == stats.locks && wait_rows == stats.waiters);
}

/* A subscriber hears a message: true or not, it is a hint, and lies must do no harm. */
static void hear(struct world *w, struct fake_master *m)
{
    static const enum event_kind kinds[] = {EVENT_MASTER_LISTENS, EVENT_MASTER_WOKE, EVENT_MASTER_WOKE_LATE,
                                            EVENT_MASTER_TOLD, EVENT_MASTER_DEAF};
    uint8_t how = bytes_next(&w->in);
    memset(&w->event.what, 0, sizeof w->event.what);
    w->event.what.name.len = 1;
    w->event.what.name.text[0] = (char)('a' + how / 8 % SINGLE_NAMES);
    master_step(w, kinds[how % (sizeof kinds / sizeof kinds[0])], m);
}

/* Another daemon sets the key of a slot or a name on a master, or waits there. Returns whether it set the key. */
static bool take_one(struct world *w, struct fake_master *m, const struct sent *set)
{
    struct sent wait = *set;
    struct vote vote;
    wait.verb = wait.what.verb = COMMAND_ENQUEUE;
    wait.what.slot = 0;
    master_run(m, set, w->now_ms, &vote);
    if (vote.kind == VOTE_YES)
        return true;
    master_run(m, &wait, w->now_ms, &vote);
    return false;
}

/* Another daemon may so have got a slot, or a name. */
static void take_elsewhere(struct world *w)
{
    uint8_t which = bytes_next(&w->in), masters = bytes_next(&w->in);
    int64_t ttl_ms = duration_of(w);
    unsigned set = 0;
    struct token token = {{0xee, which}};
    struct sent sent = {.verb = COMMAND_SET,
                        .what = {.verb = COMMAND_SET,
                                 .name = which % SINGLE_NAMES,
                                 .slot = which < 128 ? which / SINGLE_NAMES % 5 + 1 : 0,
                                 .tok = token_number(&token),
                                 .maker = store_id(&token),
                                 .self = store_id(&token),
                                 .number = ttl_ms < w->config.min_ttl_ms   ? (uint64_t)w->config.min_ttl_ms
                                           : ttl_ms > w->config.max_ttl_ms ? (uint64_t)w->config.max_ttl_ms
                                                                           : (uint64_t)ttl_ms}};
    for (unsigned i = 0; i < w->config.masters; i++)
        set += masters & 1u << i % 8 && take_one(w, &w->masters[i], &sent);
    if (set >= quorum_of(w->config.masters) && !w->forgot)
        world_taken(w, sent.what.name, sent.what.slot, quorum_until_ms(w->now_ms, (int64_t)sent.what.number));
}

static void rare(struct world *w, struct fake_master *m)
{
    uint8_t which = bytes_next(&w->in);
    if (which >= 248) {
        take_elsewhere(w);
        return;
    }
    switch (which % 10) {
    case 0:
        if (m->connected)
            master_step(w, EVENT_MASTER_BACKLOG, m);
        break;
    case 1: /* an event of a connection before the present one */
        w->event.verb = (enum command_verb)(bytes_next(&w->in) % COMMAND_VERBS);
        w->event.ref = bytes_number(&w->in, 4);
        w->event.vote.kind = VOTE_NUMBER;
        w->event.master = m->index;
        w->event.connection = m->connection - 1;
        step(w, (enum event_kind)(EVENT_MASTER_VOTE + bytes_next(&w->in) % 3));
        break;
    case 2: master_run_ghosts(m, w->now_ms); break;
    case 3: w->wall_ahead_us = (int64_t)bytes_number(&w->in, 7) - (1LL << 54); break;
    case 4:
        w->draining |= bytes_next(&w->in) == 0xdd;
        if (w->draining)
            step(w, EVENT_DRAIN);
        break;
    case 5: show(w); break;
    case 6:
        lose(w, m, bytes_next(&w->in));
        master_restart(m, w->now_ms);
        w->forgot = true;
        break;
    case 7: step(w, EVENT_TIMER); break; /* maybe earlier than the deadline */
    default: hear(w, m); break;
    }
}

static void answer_all(struct world *w, unsigned rounds)
{
    for (unsigned n = 0; n < rounds; n++)
        for (unsigned i = 0; i < w->config.masters; i++)
            vote(w, &w->masters[i], NULL);
}

static void happen(struct world *w, uint8_t what)
{
    struct fake_master *m = &w->masters[(what >> 4) % w->config.masters];
    switch (what & 15) {
    case 0:
    case 1: ask(w, VERB_LOCK); break;
    case 2: ask(w, VERB_UNLOCK); break;
    case 3: ask(w, what & 16 ? VERB_DATA : VERB_EXTEND); break;
    case 4: ask(w, what & 16 ? VERB_RESUME : VERB_CHECK); break;
    case 5: ask(w, VERB_CANCEL); break;
    case 6: vote(w, m, NULL); break;
    case 7: answer_all(w, 1 + (what >> 4)); break;
    case 8: vote(w, m, world_lie); break;
    case 9: vote(w, m, misdirect); break;
    case 10: connect_master(w, m); break;
    case 11: lose(w, m, bytes_next(&w->in)); break;
    case 12: pass_time(w); break;
    case 13: run_timers(w, 1 + (what >> 4)); break;
    case 14: end_client(w); break;
    default: rare(w, m); break;
    }
    for (unsigned i = 0; i < w->config.masters; i++)
        if (w->masters[i].connected && w->masters[i].full)
            master_step(w, EVENT_MASTER_BACKLOG, &w->masters[i]);
}

/* Every master answers truly, and time passes as the coordinator wants. false: no work is left before
 * end_ms. */
static bool heal_some(struct world *w, int64_t end_ms)
{
    bool answered = false;
    for (unsigned i = 0; i < w->config.masters; i++) {
        connect_master(w, &w->masters[i]);
        answered |= w->masters[i].count > 0;
        vote(w, &w->masters[i], NULL);
    }
    run_timers(w, SPIN);
    if (answered)
        return true;
    int64_t deadline_ms = coordinator_deadline(w->c);
    if (deadline_ms >= end_ms)
        return false;
    w->now_ms = deadline_ms > w->now_ms ? deadline_ms : w->now_ms + 1;
    return true;
}

/* Heals for for_ms; with `answered` only until no client waits for an answer. */
static void heal(struct world *w, int64_t for_ms, bool answered)
{
    int64_t end_ms = w->now_ms + for_ms;
    for (unsigned i = 0; w->now_ms < end_ms && heal_some(w, end_ms); i++) {
        assert(i < HEAL);
        if (answered && world_asked(w, 0) == 0)
            return;
    }
}

static void wind_up(struct world *w)
{
    struct coordinator_stats stats;
    w->in.at = w->in.end;
    w->wall_ahead_us = 0;
    for (unsigned i = 0; i < w->config.masters; i++)
        lose(w, &w->masters[i], 0);
    heal(w, HEAL_MS, false);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (w->clients[i].session != 0)
            finish(w, &w->clients[i]);
    heal(w, QUIET_MS, true);
    assert(world_asked(w, 0) == 0);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (w->clients[i].session != 0)
            close_session(w, &w->clients[i], true);
    heal(w, HEAL_MS, false);
    w->now_ms += QUIET_MS;
    heal(w, HEAL_MS, false);
    for (unsigned i = 0; i < CLIENTS; i++)
        assert(w->clients[i].session == 0);
    coordinator_stats(w->c, &stats);
    assert(stats.locks == 0 && stats.waiters == 0 && stats.sessions == 0 && stats.names == 0);
    assert(stats.rounds_under_way == 0 && stats.releases_under_way == 0);
    assert(!w->draining || coordinator_drained(w->c));
}

static void world_start(struct world *w, const uint8_t *data, size_t size)
{
    memset(w, 0, offsetof(struct world, masters));
    token_numbers_clear();
    w->in = (struct bytes){data, data + size};
    uint8_t masters = bytes_next(&w->in), flags = bytes_next(&w->in);
    w->config = (struct coordinator_config){
        .masters = masters < 64    ? 3
                   : masters < 128 ? 5
                                   : 1 + masters % MASTERS,
        .default_ttl_ms = 1000,
        .min_ttl_ms = 100,
        .max_ttl_ms = 3000,
        .node_timeout_ms = 50,
        .min_validity_ms = 1,
        .retry_min_ms = 20,
        .retry_max_ms = 100,
        .drain_timeout_ms = 2000,
        .restart_guard = !(flags & 1),
        .fanout_quorum = masters & 32,
        .max_sessions = CLIENTS,
        .max_locks = flags & 2 ? 1 : 8,
        .max_waiters = flags & 4 ? 2 : 64,
        .join_from = 1,
        .max_undo = flags & 8 ? 2 : 64,
        .max_locks_per_client = flags & 16 ? 1 : 8,
        .max_waits_per_client = flags & 32 ? 1 : 32,
        .self = {{1}},
        .hash_seed = 1,
    };
    w->now_ms = 1000000;
    w->actions.random_used = true;
    w->c = coordinator_new(&w->config);
    assert(w->c != NULL);
    for (unsigned i = 0; i < w->config.masters; i++) {
        master_start(&w->masters[i], i, flags & 128 ? w->now_ms : 0);
        if (!(flags & 64))
            connect_master(w, &w->masters[i]);
    }
    if (!(flags & 64))
        heal(w, 1, false); /* all masters come into service */
}

int HARNESS(fuzz_coordinator)(const uint8_t *data, size_t size)
{
    static struct world world;
    struct world *w = &world;
    world_start(w, data, size);
    while (w->in.at < w->in.end)
        happen(w, bytes_next(&w->in));
    wind_up(w);
    coordinator_free(w->c);
    return 0;
}
