/* Requests that are answered -BUSY: invariant 5 for those that do not wait. A daemon may say so from memory only where
 * the name itself is held or asked for; a list that waits for another of its names is no reason. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { LOOKED_US = 12000 };

/* The name in this place of the sorted list. */
static unsigned name_at(unsigned list, uint64_t place)
{
    unsigned name = first_name(list);
    FOR_NAMES(n, list)
    {
        name = n;
        if (place-- == 0)
            break;
    }
    return name;
}

void oracle_busy_heard(struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg)
{
    bool sets = msg->verb == COMMAND_SET || msg->verb == COMMAND_SHARE;
    if (!sets || msg->vote.kind != VOTE_NO)
        return;
    unsigned name = msg->name & SIM_LIST ? name_at(msg->name, msg->vote.number) : msg->name;
    w->oracle.refused_us[d->index][name] = w->now_us;
}

void oracle_busy_sent(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    FOR_NAMES(n, w->oracle.tok[tok].name) w->oracle.asked_tok[d->index][n] = tok;
}

/* When the request came, another one of this daemon stood there for the same name or list, or for this one of the list's
 * names alone, even if its time was over. */
static bool is_asked_for(const struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                         unsigned name)
{
    const struct sim_oracle *o = &w->oracle;
    const struct sim_asked *a = &o->asked[request];
    for (unsigned i = 0; i < o->outstandings[d->index]; i++) {
        uint32_t other = o->outstanding[d->index][i];
        if (other != request && (o->asked[other].name == name || o->asked[other].name == a->name))
            return true;
    }
    for (uint32_t other = 1; other < request; other++) {
        const struct sim_asked *b = &o->asked[other];
        if (b->daemon == d->index && b->over_us >= a->at_us && (b->name == name || b->name == a->name))
            return true;
    }
    return false;
}

/* This daemon's last attempt for the name is not over. */
static bool is_being_asked(const struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    uint32_t tok = w->oracle.asked_tok[d->index][name];
    const struct sim_tok *t = &w->oracle.tok[tok];
    return tok != 0 && t->incarnation == d->incarnation && !t->released && !t->granted;
}

static uint64_t names_of_row(const struct lock_row *row)
{
    unsigned name = name_index(&row->name);
    return names_of(row->slot != 0 ? key_of_slot(name, row->slot - 1u) : name);
}

/* By the daemon's own record, which may be older than a release elsewhere. */
static bool is_recorded(const struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    struct cursor cursor = {0};
    struct lock_row row;
    while (coordinator_lock_row(d->core, clock_ms(&d->clock, w->now_us), &cursor, &row))
        if (row.session != 0 && (names_of_row(&row) >> name & 1) != 0)
            return true;
    return false;
}

/* A daemon that does not listen learns from its next renewal that its lock was given back elsewhere: a third of the TTL
 * after the last one, and up to a tenth of that later (renewal_plan()). A daemon that asked within the last
 * second, because of letters, asks again when that second is over. Until then both answer from memory. */
bool oracle_is_unaware(struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    struct cursor cursor = {0};
    struct lock_row row;
    int64_t third_ms = w->plan->param[P_MAX_TTL] / 3;
    int64_t renewed_us = (third_ms + third_ms / 10 + 2 * w->plan->param[P_NODE_TIMEOUT]) * 1000;
    int64_t timeouts_us = 2 * w->plan->param[P_NODE_TIMEOUT] * 1000;
    while (coordinator_lock_row(d->core, clock_ms(&d->clock, w->now_us), &cursor, &row)) {
        if (row.session == 0 || (names_of(name_index(&row.name)) >> name & 1) == 0)
            continue;
        const struct sim_tok *t = &w->oracle.tok[oracle_tok(w, &row.token, name)];
        bool unheard = w->now_us - timeouts_us < t->unheard_us && t->unheard_us != 0;
        bool deaf = daemon_is_deaf(w, d) && w->now_us - t->deleted_us < renewed_us;
        if (t->deleted_us != 0 && (deaf || unheard))
            return true;
    }
    return false;
}

/* The name, or slot, was held or asked for since then. */
static bool is_in_use(struct sim_world *w, const struct sim_daemon *d, uint32_t request, unsigned name,
                      int64_t since_us)
{
    struct sim_oracle *o = &w->oracle;
    if (o->refused_us[d->index][name] >= since_us || o->given_us[d->index][name] >= since_us ||
        is_being_asked(w, d, name) || oracle_held(w, name))
        return true;
    for (unsigned i = 0; i < w->masters; i++) {
        const struct sim_master *m = &w->master[i];
        if (o->ends_us[name][i] >= since_us ||
            store_there(master_key(m, name), clock_ms(&m->clock, w->now_us)))
            return true;
    }
    return is_asked_for(w, d, request, name) || is_recorded(w, d, name);
}

/* So many slots must be in use, those beyond the number included (clients may name different numbers). What a LOOK
 * showed serves other heads for a while, and its answers are older; much older where the daemon was stopped since.
 * A daemon that says split=1 was too late for free ones, and after a time-out, or when its clock was put forward,
 * there is no time to look. */
static void busy_slots(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                       const struct reply *reply)
{
    const struct sim_asked *a = &w->oracle.asked[request];
    int64_t timeout_us = w->plan->param[P_NODE_TIMEOUT] * 1000, since_us = a->at_us - LOOKED_US - timeout_us;
    bool stopped = d->paused_until_us >= since_us;
    if (reply->split || w->now_us - a->at_us >= timeout_us - 1000 || d->stall.told_us >= a->at_us || stopped)
        return;
    unsigned used = 0;
    for (unsigned slot = 0; slot < SIM_SLOTS; slot++)
        used += is_in_use(w, d, request, key_of_slot(a->name, slot), since_us);
    if (used < a->slots)
        violation(w, 5, "d%u says that n%u is busy to request %u, though only %u of %u slots are in use",
                  d->index, a->name, request, used, a->slots);
}

void oracle_busy(struct sim_world *w, const struct sim_daemon *d, uint32_t request, const struct reply *reply)
{
    const struct sim_asked *a = &w->oracle.asked[request];
    if (a->slots != 0) {
        busy_slots(w, d, request, reply);
        return;
    }
    FOR_NAMES(n, a->name)
    {
        if (is_in_use(w, d, request, n, a->at_us))
            return;
    }
    violation(w, 5, "d%u says that n%u is busy to request %u, though nobody has it or asks for it", d->index,
              first_name(a->name), request);
}
