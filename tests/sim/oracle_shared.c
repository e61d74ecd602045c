/* Names that readers have: what a sorted set on a master must be. Invariants 2, 7 and 8. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

static int64_t name_kept_ms(const struct sim_world *w, const struct sim_master *m, int64_t now_ms,
                            uint32_t tok, unsigned name)
{
    const struct store_key *key = &m->store.key[name];
    int64_t kept_ms = 0;
    if (!store_has(&m->store, now_ms, name))
        return 0;
    if (key->readers == 0)
        return oracle_keeps(w, key->tok, tok) ? key->expires_ms : 0;
    for (unsigned i = 0; i < key->readers; i++) {
        int64_t ends_ms = store_keeps_ms(&m->store, now_ms, name, key->reader[i].tok);
        if (ends_ms > kept_ms && oracle_keeps(w, key->reader[i].tok, tok))
            kept_ms = ends_ms;
    }
    return kept_ms;
}

int64_t oracle_kept_ms(const struct sim_world *w, const struct sim_master *m, int64_t now_ms, uint32_t tok)
{
    int64_t least_ms = INT64_MAX;
    FOR_NAMES(n, w->oracle.tok[tok].name)
    {
        int64_t kept_ms = name_kept_ms(w, m, now_ms, tok, n);
        least_ms = kept_ms < least_ms ? kept_ms : least_ms;
    }
    return least_ms;
}

/* A command for one reader leaves the others as they are, and a set's TTL is that of its last reader. */
void oracle_ran_readers(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                        unsigned readers)
{
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    const struct store_key *key = &m->store.key[msg->name], *before = &w->oracle.key_before;
    bool was_there = before->there && now_ms <= before->expires_ms;
    for (unsigned i = 0; was_there && i < readers; i++) {
        const struct store_reader *reader = &before->reader[i];
        if (reader->tok == msg->tok || reader->tok == msg->to || reader->ends_ms <= now_ms)
            continue;
        if (store_keeps_ms(&m->store, now_ms, msg->name, reader->tok) < reader->ends_ms)
            violation(w, 8, "a command for T%u ends T%u's time as a reader of n%u on m%u", msg->tok,
                      reader->tok, msg->name, m->index);
    }
    int64_t last_ms = 0;
    for (unsigned i = 0; i < key->readers; i++)
        if (key->reader[i].ends_ms > last_ms)
            last_ms = key->reader[i].ends_ms;
    if (key->there && key->readers > 0 && key->expires_ms > last_ms)
        violation(w, 7, "n%u's key on m%u lives longer than its last reader", msg->name, m->index);
    oracle_covers(w, msg->name);
}
