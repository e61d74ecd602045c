/* Native commands: which master knows them, and invariant 7 where one refuses a native release: the script is to follow
 * at once, behind which the key is gone. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { KNOWN_BITS = 4 };

/* Each start of a server may be that of another version. */
bool native_is_known(const struct sim_world *w, const struct sim_master *m,
                     const struct store_command *command, struct vote *vote)
{
    _Static_assert((int)NATIVES <= (int)KNOWN_BITS, "a digit of the plan's number tells all of one server");
    unsigned server = (m->index + m->epoch) % SIM_MASTERS;
    uint64_t known = (uint64_t)w->plan->param[P_NATIVES] >> (KNOWN_BITS * server);
    for (unsigned i = 0; i < NATIVES; i++) {
        if (command->verb != command_question(i) && command->native != COMMAND_VERBS - NATIVES + i)
            continue;
        bool denied = w->now_us < m->native_until_us;
        *vote = (struct vote){.kind = VOTE_ERROR, .error = denied ? m->native_error : ERROR_OTHER};
        return (known >> i & 1) && !denied;
    }
    return true;
}

/* ---- the oracle ---- */

void oracle_native_heard(struct sim_world *w, const struct sim_msg *msg)
{
    enum vote_error error = msg->vote.error;
    bool refused = msg->vote.kind == VOTE_ERROR &&
                   (error == ERROR_OTHER || error == ERROR_NOPERM || error == ERROR_WRONGTYPE);
    w->oracle.refused = 0;
    if (msg->verb != COMMAND_RELEASE || msg->native == 0 || !refused)
        return;
    w->oracle.refused = msg->tok;
    w->oracle.tok[msg->tok].blocked &= (uint16_t)~oracle_bit(w->conn[msg->conn].master);
}

/* Behind the script that was sent instead, if the release is wanted still. */
void oracle_native_stepped(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_tok *t = &w->oracle.tok[w->oracle.refused];
    if (w->oracle.refused == 0 || !t->owed || !oracle_is_ours(t, d) ||
        d->node[master].conn != t->at[master].conn || !daemon_has_in_use(d, master))
        return;
    struct sim_msg mark = {.kind = MSG_MARK, .number = MARK_RELEASED, .tok = w->oracle.refused};
    link_send(w, d->node[master].conn - 1, UP, &mark);
}
