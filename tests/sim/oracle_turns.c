/* Waiters of several daemons: invariant 5 where the only trouble is that many clients want one lock. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

/* Chance decides which daemon gets the next turn: this is the number of rounds of all daemons' turns
 * that a client may wait. In 36 simulated hours no client waited for more than five. */
enum { ROUNDS = 10, TURN_MS = 100, SECTION_MS = 60 };

static int64_t turn_bound_us(const struct sim_world *w)
{
    int64_t yield_ms = w->plan->param[P_RETRY_MAX] * 5 / 4;
    return ROUNDS * (int64_t)w->daemons * (TURN_MS + SECTION_MS + yield_ms) * 1000;
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

/* A daemon grants the name: the waiters of the others must have had a turn not too long ago. */
void oracle_turn(struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    o->turn_us[d->index][name] = w->now_us;
    if (w->plan->param[P_CLASS] != CLASS_TURNS)
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

/* ---- those who ask at once, with wait=0 ---- */

static bool is_free(struct sim_world *w, unsigned name)
{
    bool keys = false;
    for (unsigned i = 0; i < w->masters; i++)
        keys |= store_has(&w->master[i].store, clock_ms(&w->master[i].clock, w->now_us), name);
    return !keys && !oracle_held(w, name);
}

void oracle_crowd_asks(struct sim_world *w, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    if (w->plan->param[P_CLASS] != CLASS_SPLIT || o->crowd[name].asks++ > 0)
        return;
    o->crowd[name].grants = 0;
    o->crowd[name].counts = is_free(w, name);
}

void oracle_crowd_answered(struct sim_world *w, unsigned name, bool granted)
{
    struct sim_oracle *o = &w->oracle;
    if (o->crowd[name].asks == 0)
        return;
    o->crowd[name].grants += granted;
    if (--o->crowd[name].asks == 0 && o->crowd[name].counts && o->crowd[name].grants == 0)
        violation(w, 5, "n%u was free, several asked for it at once, and nobody got it", name);
}
