/* BREAK: an operator takes the lock of a name from its holder, as loop_who.c does it, but on all masters at one moment.
 * Holder and next holder may then believe at once that they hold it, and the fences of what the old daemon tells may be
 * lower: so the broken lock is excused. But once that daemon has heard of it, it hands the lock on no more, and its crowd
 * takes no more readers. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"
#include "tests/sim/store_queue.h"

/* The daemon whose key it is; 0: there is none, or of readers of several. */
static uint32_t break_maker(const struct store_key *key, int64_t now_ms)
{
    if (!store_there(key, now_ms))
        return 0;
    if (key->readers == 0)
        return key->maker;
    for (unsigned i = 1; i < key->readers; i++)
        if (key->reader[i].maker != key->reader[0].maker)
            return 0;
    return key->reader[0].maker;
}

/* The daemon whose key a majority of the masters has. */
static uint32_t break_holder(const struct sim_world *w, unsigned name)
{
    for (unsigned i = 0; i < w->masters; i++) {
        int64_t now_ms = clock_ms(&w->master[i].clock, w->now_us);
        uint32_t maker = break_maker(master_key(&w->master[i], name), now_ms);
        unsigned have = 0;
        for (unsigned k = 0; maker != 0 && k < w->masters; k++) {
            const struct sim_master *m = &w->master[k];
            have += break_maker(master_key(m, name), clock_ms(&m->clock, w->now_us)) == maker;
        }
        if (have >= w->masters / 2 + 1)
            return maker;
    }
    return 0;
}

static void break_key(struct sim_world *w, struct sim_master *m, unsigned name, uint32_t maker)
{
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    struct store_key *key = store_place(&m->store, now_ms, key_base(name), key_slot(name));
    struct store_command command = {
        .verb = COMMAND_RELEASE, .name = key_base(name), .slot = key_slot(name), .self = UINT32_MAX};
    struct ear_master ear = {w, m};
    struct publisher to = {ear_publish, &ear};
    struct vote vote = {.kind = VOTE_NO};
    if (key->readers == 0)
        oracle_breaks(w, key->tok, name);
    for (unsigned i = 0; i < key->readers; i++)
        oracle_breaks(w, key->reader[i].tok, name);
    key->there = false;
    key->readers = 0;
    queue_letter(&command, &to, maker);
    queue_released(&m->store, now_ms, &command, &to, &vote);
}

void break_lock(struct sim_world *w, unsigned name)
{
    uint32_t maker = break_holder(w, name);
    for (unsigned i = 0; maker != 0 && i < w->masters; i++) {
        struct sim_master *m = &w->master[i];
        if (break_maker(master_key(m, name), clock_ms(&m->clock, w->now_us)) == maker)
            break_key(w, m, name, maker);
    }
    if (maker != 0)
        oracle_broke(w, name);
}

/* ---- the oracle ---- */

enum { LETTERS_US = 1000000 };

bool oracle_is_lettered(const struct sim_world *w, unsigned daemon, unsigned name)
{
    int64_t letter_us = daemon < SIM_DAEMONS && name < SIM_KEYS ? w->oracle.letter_us[daemon][name] : 0;
    return letter_us != 0 && w->now_us - letter_us < LETTERS_US;
}

void oracle_deleted(struct sim_world *w, struct sim_tok *t)
{
    if (t->deleted_us != 0)
        return;
    t->deleted_us = w->now_us;
    FOR_NAMES(n, t->name)
    {
        if (oracle_is_lettered(w, t->daemon, n))
            t->unheard_us = w->now_us + LETTERS_US;
    }
}

static void breaks(struct sim_world *w, struct sim_tok *t)
{
    t->broken = t->excused = true;
    oracle_deleted(w, t);
}

/* The key is about to be deleted. */
void oracle_breaks(struct sim_world *w, uint32_t key, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_tok *k = &o->tok[key];
    if (k->broken)
        return;
    breaks(w, k);
    for (uint32_t i = 1; i < o->toks; i++)
        if (oracle_keeps(w, key, i))
            breaks(w, &o->tok[i]);
    if (k->daemon < SIM_DAEMONS)
        o->broke[k->daemon][name] = key;
}

static bool hears_later(const struct sim_world *w, unsigned name)
{
    const struct sim_oracle *o = &w->oracle;
    bool later = false;
    for (unsigned d = 0; d < w->daemons; d++)
        later |= o->tok[o->broke[d][name]].deleted_us == w->now_us && oracle_is_lettered(w, d, name);
    return later;
}

/* It was deleted wherever it was. */
void oracle_broke(struct sim_world *w, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    o->freed_us[key_base(name)] = w->now_us;
    oracle_watch_broke(w, name);
    if (hears_later(w, name))
        o->unreleased_us[key_base(name)] = w->now_us;
    for (unsigned i = 0; i < w->masters; i++)
        if (o->ends_us[name][i] > w->now_us)
            o->ends_us[name][i] = w->now_us;
    oracle_memory(w);
}

void oracle_hears_letter(struct sim_world *w, const struct sim_daemon *d, unsigned master, unsigned name)
{
    struct sim_tok *t = &w->oracle.tok[w->oracle.broke[d->index][name]];
    w->oracle.letter_us[d->index][name] = w->now_us;
    bool told = t->told != 0 || t->granted || t->common; /* of attempts nothing is known yet */
    if (t != &w->oracle.tok[0] && oracle_is_ours(t, d) && told)
        t->lettered |= oracle_bit(master);
}

/* A token is told for that key, which others had before. */
void oracle_relies(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t key, bool again)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    const struct sim_tok *k = &w->oracle.tok[key];
    unsigned few = k->common ? d->masters - d->first - d->quorum + 1
                             : 1; /* a crowd is in doubt once, if letters are forged */
    if (!k->broken)
        return;
    if (again && (unsigned)__builtin_popcount(k->lettered) >= few)
        violation(w, 3, "d%u tells T%u for T%u's key of n%u, though it has heard that this was broken",
                  d->index, tok, key, k->name);
    t->broken = t->excused = true;
}
