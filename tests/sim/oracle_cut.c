/* Keys that live longer than any lock may, since a master's clock was set back. Invariants 2 and 7. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

/* The longest max_ttl of any daemon. */
static int64_t most_ms(const struct sim_world *w)
{
    const int64_t *param = w->plan->param;
    return param[P_ODD_MAX_TTL] > param[P_MAX_TTL] ? param[P_ODD_MAX_TTL] : param[P_MAX_TTL];
}

/* What was cut must still keep the name for as long as its holder was told. */
static void ran_cut(struct sim_world *w, const struct sim_msg *msg)
{
    oracle_covers_each(w, msg->name);
    for (unsigned slot = 0; slot < msg->slots; slot++)
        oracle_covers(w, key_of_slot(msg->name, slot));
}

void oracle_ran_long(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote)
{
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    if (msg->verb == COMMAND_CUT)
        ran_cut(w, msg);
    if (msg->verb == COMMAND_EXTEND && vote->kind == VOTE_NUMBER && oracle_is_mark(w, msg->tok)) {
        oracle_ran_kept(w, m, msg);
        return;
    }
    if (msg->verb != COMMAND_EXTEND || vote->kind != VOTE_NUMBER)
        return;
    if (conn_is_old(w, msg->conn))
        return;
    FOR_NAMES(n, msg->name)
    {
        int64_t left_ms = store_keeps_ms(master_key(m, n), now_ms, msg->tok) - now_ms;
        if (left_ms > most_ms(w))
            violation(w, 7, "an extend of T%u leaves its key of n%u on m%u for %lld ms", msg->tok, n,
                      m->index, (long long)left_ms);
    }
}
