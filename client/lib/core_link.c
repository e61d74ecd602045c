/* The connection's life: when it is made, whether it is alive, and what its end means for requests and
 * locks. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client/lib/core_private.h"

static void core_enter(struct core *core, enum core_state to, int64_t now_ms)
{
    assert(to == CORE_DOWN || (unsigned)to == (unsigned)core->state + 1);
    core->state = to;
    core->since_ms = now_ms;
    core->fresh = true;
}

/* ---- its beginning ---- */

void core_connecting(struct core *core, int64_t now_ms)
{
    core->action = ACTION_NOTHING;
    core->connection++;
    core_enter(core, CORE_CONNECTING, now_ms);
}

void core_connected(struct core *core, int64_t now_ms, bool local)
{
    core_enter(core, CORE_GREETING, now_ms);
    core->local = local;
    core->heard_ms = now_ms;
    core->pinged_ms = 0;
    core->greet = true;
    core->greetings = 1;
    core->refuted = false;
    core->auth = core->secret[0] != '\0';
    core->auth_sent = false;
}

static bool is_in_a_line(const char *text)
{
    while (*text > 0x20 && *text < 0x7f)
        text++;
    return *text == '\0';
}

bool core_credentials(struct core *core, const char *user, const char *secret)
{
    size_t user_len = strlen(user), secret_len = strlen(secret);

    if (!user_len || user_len >= sizeof core->user || !is_in_a_line(user))
        return false;
    if (!secret_len || secret_len >= sizeof core->secret || !is_in_a_line(secret))
        return false;
    memcpy(core->user, user, user_len + 1);
    memcpy(core->secret, secret, secret_len + 1);
    return true;
}

/* HELLO waits for this answer, so that a refusal's second does not count as time of its round trip. */
void core_authenticated(struct core *core, const struct answer *answer)
{
    if (!core->auth_sent)
        return;
    core->auth_sent = false;
    core->fresh = true;
    if (answer->code == ANSWER_OK)
        return;
    if (answer->code != ANSWER_REFUSED)
        core_break(core, REDLOCK_PROTOCOL, "what answers AUTH is no redlockd of protocol 1");
    else if (answer->refusal == REPLY_LIMIT || answer->refusal == REPLY_DRAINING)
        core_break(core, REDLOCK_CONNECT, answer->rest.text);
    else
        core_break(core, REDLOCK_AUTH, answer->rest.text);
}

static bool is_told_by_daemon(const struct redlock_lock *lock)
{
    return lock->until_of == lock->core->daemon && atomic_load(&lock->deadline_ms) > 0;
}

void core_is_behind(struct core *core, int64_t behind_ms)
{
    struct redlock_lock *lock;

    if (behind_ms <= core->behind_ms)
        return;
    int64_t grown_ms = behind_ms - core->behind_ms;
    core->behind_ms = behind_ms;
    core->hello_soon = true;
    TAILQ_FOREACH(lock, &core->locks, link)
    if (is_told_by_daemon(lock))
        lock_shift(lock, grown_ms);
}

/* The answer to the first HELLO of a connection. If another daemon answers, its behind= says nothing about
 * the deadlines that the daemon before has told, and is already part of all that it tells itself. */
static void meet_daemon(struct core *core, const struct answer *answer, int64_t sent_ms, int64_t now_ms)
{
    int64_t behind_ms = answer->behind_ms < 0 ? 0 : answer->behind_ms;
    int64_t grown_ms = behind_ms - core->behind_ms;

    if (grown_ms >= 0 && sample_goes_on(&core->before, sent_ms, answer->now_ms, now_ms, grown_ms))
        return;
    core->daemon++;
    core->behind_ms = behind_ms;
    core->before = (struct sample){0};
}

/* Whether the connection's clock is known by now. A HELLO that was slow to be answered is repeated, and the core's
 * sample becomes that of the shortest round trip. */
static bool clock_is_told(struct core *core, int64_t round_trip_ms)
{
    if (core->greetings && core->greetings <= HELLO_REPEATS && round_trip_ms > HELLO_SLOW_MS) {
        core->greetings++;
        core->greet = core->fresh = true;
        return false;
    }
    core->greetings = 0;
    core->before = (struct sample){0};
    return true;
}

/* Deadlines change only where HELLO proves that a clock stood still. Until the connection's clock is known, they move
 * by what is proved, from the moment when the answer was there; then by the core's sample. */
static void take_hello(struct core *core, const struct answer *answer, int64_t now_ms)
{
    int64_t sent_ms = core->hello_sent_ms;
    struct redlock_lock *lock;

    core->hello_sent_ms = 0;
    if (core->state == CORE_GREETING)
        meet_daemon(core, answer, sent_ms, now_ms);
    core_is_behind(core, answer->behind_ms);
    core->refuted |= sample_is_refuted(&core->sample, answer->now_ms, now_ms) ||
                     sample_is_refuted(&core->before, answer->now_ms, now_ms);
    (void)sample_take(&core->sample, sent_ms, answer->now_ms, now_ms, core->local);
    bool told = clock_is_told(core, now_ms - sent_ms);
    if (!core->refuted)
        return;
    const struct sample proved = {.any = true, .sent_ms = now_ms, .now_ms = answer->now_ms};
    TAILQ_FOREACH(lock, &core->locks, link)
    if (is_told_by_daemon(lock))
        lock_recount(lock, told ? &core->sample : &proved, now_ms);
    core->refuted = !told;
}

void core_greeted(struct core *core, const struct answer *answer, int64_t now_ms)
{
    if (answer->code == ANSWER_REFUSED) {
        core_break(core, REDLOCK_PROTOCOL, answer->rest.text);
        return;
    }
    if (answer->code != ANSWER_HELLO || answer->proto != 1 || !core->hello_sent_ms) {
        core_break(core, REDLOCK_PROTOCOL, "what answers HELLO is no redlockd of protocol 1");
        return;
    }
    core->takes_losses = answer->takes_losses;
    core->takes_keeps = answer->takes_keeps;
    core->repeats = answer->repeats;
    take_hello(core, answer, now_ms);
    if (core->state == CORE_UP)
        return;
    size_t len = answer->server.len < WORD_BYTES ? answer->server.len : WORD_BYTES;
    memcpy(core->server, answer->server.text ? answer->server.text : "", len);
    core->server[len] = '\0';
    core_enter(core, CORE_UP, now_ms);
    core->ever_up = core->news_up = true;
}

/* ---- its end ---- */

static void ask_unanswered(struct core *core, struct ask *ask, int64_t now_ms)
{
    if (ask->watch)
        ask_requeue(core, ask);
    else if (ask->verb == ASK_DOWNGRADE)
        ask_idle(core, ask); /* the RESUME tells what became of it */
    else if (ask_is_own(ask))
        lock_unanswered(ask->lock, now_ms);
    else if (ask->told_rows)
        ask_done(core, ask, REDLOCK_NOANSWER, "the connection ended between two rows");
    else if (ask->verb == ASK_BREAK) /* a second one might break the next holder's lock */
        ask_done(core, ask, REDLOCK_NOANSWER, "the connection ended, and whether it was broken is not known");
    else
        ask_requeue(core, ask);
}

/* Ends all requests: redlockd has never answered, or refuses the secret, and waiting would only hide that. */
static void fail_all(struct core *core)
{
    struct ask *next;

    for (struct ask *ask = TAILQ_FIRST(&core->queued); ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (ask->watch)
            watch_unreachable(ask->watch);
        else if (!ask_is_own(ask))
            ask_done(core, ask, core_why(core), core->why);
        else
            lock_unreachable(ask->lock);
    }
}

/* The pause before the next attempt to connect: a random time between half of a bound and the bound, which
 * doubles each time. While locks wait to be resumed, the bound is at most a quarter of the shortest time that
 * such a lock has left, but never below BACKOFF_FIRST_MS. */
static int64_t backoff_ms(struct core *core, int64_t now_ms)
{
    int64_t most_ms = BACKOFF_FIRST_MS;
    struct redlock_lock *lock;

    for (unsigned i = 1; i < core->failures && most_ms < BACKOFF_MOST_MS; i++)
        most_ms *= 2;
    most_ms = earlier_ms(most_ms, BACKOFF_MOST_MS);
    TAILQ_FOREACH(lock, &core->locks, link)
    {
        if (lock->state != LOCK_DETACHED)
            continue;
        int64_t left_ms = atomic_load(&lock->deadline_ms) - now_ms;
        most_ms = earlier_ms(most_ms, left_ms / 4 > BACKOFF_FIRST_MS ? left_ms / 4 : BACKOFF_FIRST_MS);
    }
    return most_ms / 2 + core_jitter_ms(core, most_ms / 2 + 1);
}

void core_disconnected(struct core *core, int64_t now_ms, enum redlock_error error, const char *why)
{
    bool was_up = core->state == CORE_UP;
    struct redlock_lock *lock;
    struct ask *ask, *previous;

    if (core->state == CORE_DOWN)
        return;
    if (core->action == ACTION_NOTHING) { /* else core_break() has said why */
        core->why_error = error;
        (void)snprintf(core->why, sizeof core->why, "%s", why);
    }
    core->action = ACTION_NOTHING;
    core->failures = was_up && now_ms - core->since_ms >= STABLE_MS ? 1 : core->failures + 1;
    core_enter(core, CORE_DOWN, now_ms);
    core->move = MOVE_NO;
    core->server[0] = '\0';
    if (core->sample.any)
        core->before = core->sample;
    core->sample = (struct sample){0};
    core->in_len = core->in_used = core->out_len = core->out_used = 0;
    core->greet = core->ping = core->auth = core->auth_sent = false;
    explicit_bzero(core->secret, sizeof core->secret);
    core->hello_sent_ms = core->pinged_ms = 0;
    core->news_down = was_up || core->failures == 1;
    core->news_up = core->news_drain = false;
    for (ask = TAILQ_LAST(&core->sent, ask_list); ask; ask = previous) {
        previous = TAILQ_PREV(ask, ask_list, link);
        ask_unanswered(core, ask, now_ms);
    }
    watches_detach(core);
    TAILQ_FOREACH(lock, &core->locks, link)
    if (lock->state == LOCK_HELD && lock->hold == REDLOCK_SESSION)
        lock_detach(lock);
    if (!core->ever_up || core->why_error == REDLOCK_AUTH || core->why_error == REDLOCK_MISUSE)
        fail_all(core);
    core->retry_ms = now_ms + backoff_ms(core, now_ms);
}

bool core_binds(const struct core *core, uint64_t connection)
{
    const struct redlock_lock *lock;

    TAILQ_FOREACH(lock, &core->locks, link)
    if ((lock->state == LOCK_DETACHED || lock->state == LOCK_RESUMING) && lock->bound == connection)
        return true;
    return false;
}

/* ---- time ---- */

static int64_t patience_ms(const struct core *core)
{
    int64_t patience_ms = earlier_ms(PATIENCE_MS, core->shortest_ms / 3);

    return patience_ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : patience_ms;
}

static bool expects_something(const struct core *core)
{
    return core->sessions > 0 || core->watches_count > 0 || !TAILQ_EMPTY(&core->sent);
}

/* Whether a line has begun to come, and no other is to be worked on first. */
static bool has_half_a_line(const struct core *core)
{
    return core->in_len > core->in_used && !core_has_line(core);
}

static int64_t stalled_ms(const struct core *core)
{
    if (!has_half_a_line(core))
        return INT64_MAX;
    return core->heard_ms + earlier_ms(STALL_MS, patience_ms(core));
}

static int64_t hello_due_ms(const struct core *core)
{
    if (core->sample.same || core->locks_count == 0 || core->hello_sent_ms || core->greet)
        return INT64_MAX;
    if (core->believed == 0)
        return core->hello_last_ms + HELLO_AGAIN_MS;
    return core->hello_last_ms + (core->hello_soon ? HELLO_SOON_MS : HELLO_HELD_MS);
}

/* When tick_link() has something to do. */
static int64_t link_deadline_ms(const struct core *core)
{
    switch (core->state) {
    case CORE_DOWN: return core->retry_ms;
    case CORE_CONNECTING:
    case CORE_GREETING: return core->since_ms + CONNECT_MS;
    case CORE_UP: break;
    }
    int64_t at_ms = INT64_MAX;
    if (core->pinged_ms)
        at_ms = core->pinged_ms + patience_ms(core);
    else if (expects_something(core))
        at_ms = core->heard_ms + patience_ms(core);
    if (core->move != MOVE_NO)
        at_ms = earlier_ms(at_ms, core->move_ms);
    at_ms = earlier_ms(at_ms, stalled_ms(core));
    return earlier_ms(at_ms, hello_due_ms(core));
}

static void tick_up(struct core *core, int64_t now_ms)
{
    if (core->pinged_ms && now_ms - core->pinged_ms >= patience_ms(core)) {
        core_break(core, REDLOCK_CONNECT, "redlockd is silent: it does not answer PING");
        return;
    }
    if (now_ms >= stalled_ms(core)) {
        core_break(core, REDLOCK_CONNECT, "redlockd fell silent within an answer");
        return;
    }
    if (!core->pinged_ms && expects_something(core) && now_ms - core->heard_ms >= patience_ms(core)) {
        core->ping = core->fresh = true;
        core->pinged_ms = now_ms;
    }
    if (now_ms >= hello_due_ms(core))
        core->greet = core->fresh = true;
}

static void tick_link(struct core *core, int64_t now_ms)
{
    if (now_ms < link_deadline_ms(core))
        return;
    switch (core->state) {
    case CORE_DOWN: core->action = ACTION_CONNECT; break;
    case CORE_CONNECTING: core_break(core, REDLOCK_CONNECT, "connecting takes too long"); break;
    case CORE_GREETING:
        core_break(core, REDLOCK_CONNECT,
                   core->auth_sent ? "connected, but AUTH is not answered"
                                   : "connected, but HELLO is not answered");
        break;
    case CORE_UP: tick_up(core, now_ms); break;
    }
}

static void tick_ask(struct core *core, struct ask *ask, int64_t now_ms)
{
    if (ask_is_own(ask))
        return;
    if (ask->lock && ask->lock->state == LOCK_LOST && ask->state == ASK_QUEUED)
        ask_done(core, ask, REDLOCK_LOST, "the lock was lost before");
    else if (ask->give_up_ms <= now_ms)
        ask_done(core, ask, core_why(core), core_why_text(core));
    else
        core_wants_at(core, ask->give_up_ms);
}

static void tick_asks(struct core *core, struct ask_list *list, int64_t now_ms)
{
    struct ask *next;

    for (struct ask *ask = TAILQ_FIRST(list); ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        tick_ask(core, ask, now_ms);
    }
}

void core_tick(struct core *core, int64_t now_ms)
{
    struct redlock_lock *next;

    if (core->action == ACTION_NOTHING)
        tick_link(core, now_ms);
    if (now_ms < core->next_ms)
        return;
    core->next_ms = core->shortest_ms = INT64_MAX;
    tick_asks(core, &core->queued, now_ms);
    tick_asks(core, &core->sent, now_ms);
    watches_tick(core, now_ms);
    for (struct redlock_lock *lock = TAILQ_FIRST(&core->locks); lock; lock = next) {
        next = TAILQ_NEXT(lock, link);
        if (lock->state == LOCK_HELD && lock->hold == REDLOCK_SESSION)
            core->shortest_ms = earlier_ms(core->shortest_ms, lock->span_ms);
        lock_tick(lock, now_ms);
    }
}

int64_t core_deadline_ms(const struct core *core)
{
    if (core->action != ACTION_NOTHING || core->news_up || core->news_down || core->news_drain ||
        core->watch_news || !TAILQ_EMPTY(&core->news) || !TAILQ_EMPTY(&core->done) || core_has_line(core))
        return 0;
    return earlier_ms(link_deadline_ms(core), core->next_ms);
}

enum core_action core_action(const struct core *core)
{
    return core->action;
}
