/* Waiters of several daemons: invariant 5 where the only trouble is that many clients want one lock. */
#include <string.h>

#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

/* Chance decides which daemon gets the next turn: this is the number of rounds of all daemons' turns
 * that a client may wait. In 36 simulated hours no client waited for more than five. */
enum { ROUNDS = 10, TURN_MS = 100, SECTION_MS = 60, FREE_MS = 100 };

static int64_t turn_bound_us(const struct sim_world *w)
{
    int64_t yield_ms = w->plan->param[P_RETRY_MAX] * 5 / 4;
    return ROUNDS * (int64_t)w->daemons * (TURN_MS + SECTION_MS + yield_ms) * 1000;
}

static int64_t later_us(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

static bool has_key(const struct sim_world *w, unsigned name)
{
    bool keys = false;
    for (unsigned i = 0; i < w->masters; i++)
        keys |= store_there(master_key(&w->master[i], name), clock_ms(&w->master[i].clock, w->now_us));
    return keys;
}

/* The first request that waits for the name in a daemon; 0: none. */
static uint32_t first_waiter(const struct sim_world *w, unsigned daemon, unsigned name)
{
    const struct sim_oracle *o = &w->oracle;
    for (unsigned i = 0; i < o->outstandings[daemon]; i++) {
        uint32_t request = o->outstanding[daemon][i];
        const struct sim_asked *a = &o->asked[request];
        if (a->name == name && a->wait_ms > 0 && !a->cancelled &&
            o->session[a->session].state == SESSION_OPEN)
            return request;
    }
    return 0;
}

/* Nothing fails in that world. */
static bool turns_count(const struct sim_world *w)
{
    return w->plan->param[P_CLASS] == CLASS_TURNS || w->plan->param[P_CALM] == CALM_TURNS;
}

/* A daemon grants the name: the waiters of the others must have had a turn not too long ago. */
void oracle_turn(struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    o->turn_us[d->index][name] = w->now_us;
    if (!turns_count(w))
        return;
    for (unsigned i = 0; i < w->daemons; i++) {
        uint32_t request = first_waiter(w, i, name);
        if (i == d->index || request == 0)
            continue;
        int64_t since_us = o->asked[request].at_us;
        if (since_us < o->turn_us[i][name])
            since_us = o->turn_us[i][name];
        int64_t waited_us = w->now_us - since_us;
        if (waited_us > turn_bound_us(w))
            violation(w, 5, "n%u: request %u waits in d%u for %.3f s while other daemons get it", name,
                      request, i, (double)waited_us / 1e6);
    }
}

/* When the key ends by itself; 0: there is none. That of readers ends with the last one's time, whichever of them the
 * command was about. */
static int64_t ends_by_itself_us(const struct sim_world *w, const struct sim_master *m, unsigned name)
{
    const struct store_key *key = master_key(m, name);
    bool there = store_there(key, clock_ms(&m->clock, w->now_us));
    if (there && key->expires_ms > INT64_MAX / 2000)
        return INT64_MAX; /* never */
    return there ? clock_when(&m->clock, (key->expires_ms + 1) * 1000) : 0;
}

static void freed(struct sim_world *w, unsigned base, int64_t at_us, bool released)
{
    struct sim_oracle *o = &w->oracle;
    if (at_us > w->now_us || at_us <= o->freed_us[base])
        return;
    o->freed_us[base] = at_us;
    if (!released)
        o->unreleased_us[base] = at_us;
}

/* The longest that somebody has waited for the name, here or there. */
static int64_t waited_since_us(const struct sim_world *w, unsigned name)
{
    int64_t since_us = INT64_MAX;
    for (unsigned d = 0; d < w->daemons; d++) {
        uint32_t request = first_waiter(w, d, name);
        if (request != 0 && w->oracle.asked[request].at_us < since_us)
            since_us = w->oracle.asked[request].at_us;
    }
    return since_us;
}

/* A slot was given back on all masters, and now the first of them has a key of it again. Whoever waits would have been
 * woken. */
static void slot_was_free(struct sim_world *w, unsigned name)
{
    enum {
        STARTED_US = 3000000,
        SLOT_MS = 350 /* several may be given back, and taken, meanwhile; a sleep is 500 at least */
    };
    struct sim_oracle *o = &w->oracle;
    int64_t since_us = o->given_back_us[name];
    o->given_back_us[name] = 0;
    if (since_us < STARTED_US || !turns_count(w) || w->plan->param[P_DEAF] != DEAF_NONE)
        return;
    since_us = later_us(since_us, waited_since_us(w, key_base(name)));
    if (w->now_us - since_us > (SLOT_MS + 2 * w->plan->param[P_RETRY_MAX]) * 1000)
        violation(w, 5, "slot %u of n%u was free for %.3f s while somebody waited for it", key_slot(name),
                  key_base(name), (double)(w->now_us - since_us) / 1e6);
}

/* The end of a key is seen when it is released, or when the next command comes to that master. */
static void key_ends(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    int64_t *ends_us = &o->ends_us[name][m->index], next_us = ends_by_itself_us(w, m, name);
    bool released = msg->verb == COMMAND_RELEASE && vote->kind != VOTE_NO && vote->kind != VOTE_ERROR &&
                    vote->kind != VOTE_NOT_RUN;
    bool set = (msg->verb == COMMAND_SET || msg->verb == COMMAND_SHARE) && vote->kind == VOTE_YES;
    unsigned base = key_base(name);
    if (set && o->given_back_us[name] != 0)
        slot_was_free(w, name);
    if (released && name_slots(w, base) != 0 && !has_key(w, name))
        o->given_back_us[name] = w->now_us;
    freed(w, base, *ends_us, false);
    if (set || (released && next_us == 0)) {
        memset(&o->still[base], 0, sizeof(o->still[base]));
        o->still[base].since_us = w->now_us;
    }
    if (released && next_us == 0 && *ends_us > w->now_us)
        *ends_us = w->now_us;
    freed(w, base, *ends_us, true);
    if (next_us != 0)
        *ends_us = next_us;
}

void oracle_key_ends(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote)
{
    FOR_NAMES(n, msg->name) key_ends(w, m, msg, vote, n);
}

/* A head joins the queue at once when it comes, and when it is woken; else it pauses. While no key of the name comes
 * or goes, nobody is woken anew: messages that chase each other would show as daemons that join ever faster. */
void oracle_joined(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    enum { WOKEN_BEFORE = 30, EACH_REQUEST = 3 };
    struct sim_oracle *o = &w->oracle;
    unsigned daemon = w->conn[msg->conn].daemon, name = msg->name;
    if (msg->sent_us < o->still[name].since_us)
        return; /* a master that hung may read many at once */
    int64_t still_ms = (w->now_us - o->still[name].since_us) / 1000;
    int64_t most = WOKEN_BEFORE + EACH_REQUEST * (int64_t)o->still[name].asks[daemon] +
                   2 * still_ms / w->plan->param[P_RETRY_MIN];
    if (++o->still[name].joins[daemon][m->index] > most)
        violation(w, 5,
                  "d%u joins the queue of n%u for the %u. time in %.3f s, though no key there came or went",
                  daemon, name, o->still[name].joins[daemon][m->index], (double)still_ms / 1e3);
}

void oracle_writer_gone(struct sim_world *w, const struct sim_asked *a)
{
    if (!a->shared)
        FOR_NAMES(n, a->name) w->oracle.writer_us[n] = w->now_us;
}

/* The last time at which a writer waited for the name, in any daemon: readers stand behind it. */
static int64_t writer_waited_us(const struct sim_world *w, unsigned name)
{
    const struct sim_oracle *o = &w->oracle;
    for (unsigned d = 0; d < w->daemons; d++)
        for (unsigned i = 0; i < o->outstandings[d]; i++) {
            const struct sim_asked *a = &o->asked[o->outstanding[d][i]];
            if (!a->shared && names_of(a->name) & names_of(name))
                return w->now_us;
        }
    return o->writer_us[name];
}

/* When the daemon knew that the name was given back elsewhere, though it had the name. */
static int64_t aware_us(struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    return oracle_is_unaware(w, d, name) ? w->now_us : w->oracle.heard_us[d->index][name];
}

/* A release wakes the next daemon: where nothing fails, no name is free for long while somebody waits. Chance may
 * split the votes several times, so the bound is far above what a wake needs, and below a sleep. A key that ends by
 * itself wakes nobody: a daemon that sleeps since before it was set does not know when it ends. And a daemon's own
 * waiters stand behind its lock until it has heard that the lock was given back elsewhere; if it is woken before that,
 * the others sleep on. Each second daemon has few places at the masters (max_renewals), and a head of its queue that finds
 * none asks again after another pause. */
void oracle_was_free(struct sim_world *w, unsigned name, int64_t asked_us, bool shared)
{
    enum { STARTED_US = 3000000, SLEEP_US = 1000000 };
    const struct sim_oracle *o = &w->oracle;
    int64_t since_us = later_us(o->freed_us[name], asked_us);
    bool few_places =
        w->daemons > 1 && w->plan->param[P_FLOOD] == FLOOD_NONE && w->plan->param[P_CLASS] != CLASS_ROLLING;
    int64_t bound_us = (FREE_MS + (few_places ? 4 : 2) * w->plan->param[P_RETRY_MAX]) * 1000;
    if (shared) /* readers have it, and this one sleeps: to be woken is a favour then */
        since_us = later_us(since_us, writer_waited_us(w, name));
    if (shared || (o->freed_us[name] != 0 && o->freed_us[name] == o->unreleased_us[name]))
        bound_us += SLEEP_US;
    if (!turns_count(w) || w->plan->param[P_DEAF] != DEAF_NONE || since_us < STARTED_US)
        return;
    for (unsigned i = 0; i < w->daemons && w->now_us - since_us > bound_us; i++)
        since_us = later_us(since_us, aware_us(w, &w->daemon[i], name));
    if (w->now_us - since_us > bound_us)
        violation(w, 5, "n%u was free for %.3f s while somebody waited for it", name,
                  (double)(w->now_us - since_us) / 1e6);
}

static bool is_free(struct sim_world *w, unsigned name)
{
    return !has_key(w, name) && !oracle_held(w, name);
}

/* The last time at which a master had a key of the name, as far as it is over. */
static int64_t last_key_us(const struct sim_world *w, unsigned name)
{
    int64_t last_us = w->oracle.freed_us[name];
    for (unsigned i = 0; i < w->masters; i++)
        if (w->oracle.ends_us[name][i] <= w->now_us && w->oracle.ends_us[name][i] > last_us)
            last_us = w->oracle.ends_us[name][i];
    return last_us;
}

/* A request for a single name has waited until now: whether it got the name or not, the name was not free for long,
 * whoever waits for a list of it. A list may stand firm for a second, and its attempts wake only those whom it kept
 * from a quorum. */
void oracle_has_waited(struct sim_world *w, uint32_t request, bool granted)
{
    enum { FIRM_US = 1000000, SLEEP_US = 1000000 };
    const struct sim_asked *a = &w->oracle.asked[request];
    if (w->plan->param[P_CALM] != CALM_LISTS || a->wait_ms == 0 || name_slots(w, a->name) != 0 ||
        a->name & SIM_LIST || a->cancelled || (!granted && !is_free(w, a->name)))
        return;
    int64_t since_us = granted ? w->oracle.freed_us[a->name] : last_key_us(w, a->name);
    int64_t bound_us = (FREE_MS + 2 * w->plan->param[P_RETRY_MAX]) * 1000 + FIRM_US + SLEEP_US;
    since_us = a->at_us > since_us ? a->at_us : since_us;
    if (w->now_us - since_us > bound_us)
        violation(w, 5, "n%u was free for %.3f s while request %u waited for it", a->name,
                  (double)(w->now_us - since_us) / 1e6, request);
}

/* ---- those who ask at once, with wait=0 ---- */

void oracle_crowd_asks(struct sim_world *w, const struct sim_daemon *d, struct sim_asked *a)
{
    struct sim_oracle *o = &w->oracle;
    if (w->plan->param[P_CLASS] != CLASS_SPLIT)
        return;
    a->unaware = oracle_is_unaware(w, d, a->name);
    if (a->unaware || o->crowd[a->name].asks++ > 0)
        return;
    o->crowd[a->name].grants = 0;
    o->crowd[a->name].counts = is_free(w, a->name);
}

void oracle_crowd_answered(struct sim_world *w, const struct sim_asked *a, bool granted)
{
    struct sim_oracle *o = &w->oracle;
    if (o->crowd[a->name].asks == 0)
        return;
    o->crowd[a->name].grants += granted;
    if (a->unaware || --o->crowd[a->name].asks > 0)
        return;
    if (o->crowd[a->name].counts && o->crowd[a->name].grants == 0)
        violation(w, 5, "n%u was free, several asked for it at once, and nobody got it", a->name);
}
