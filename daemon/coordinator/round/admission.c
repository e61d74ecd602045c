#include "daemon/coordinator/round/admission.h"

#include <assert.h>

/* Renewals, and looks of those who watch, come up to 64 in a command. */
static uint32_t cost(enum command_verb verb)
{
    static const uint8_t cheap[COMMAND_VERBS] = {
        [COMMAND_EXTEND] = 1, [COMMAND_EXTEND_ALL] = 1, [COMMAND_SEE] = 1};
    return cheap[verb] ? 1 : ADMISSION_COST;
}

void admission_sent(struct coordinator *c, const struct actions *actions)
{
    for (unsigned i = 0; i < actions->count; i++) {
        const struct action *action = &actions->list[i];
        masters_t left = action->kind == ACTION_SEND ? action->masters : 0;
        for (; left != 0; left &= (masters_t)(left - 1))
            c->masters[__builtin_ctz(left)].places += cost(action->u.command.verb);
    }
}

void admission_heard(struct master *m, enum command_verb verb)
{
    assert(m->places >= cost(verb));
    m->places -= cost(verb);
}

void admission_begins(struct coordinator *c, uint16_t peer)
{
    c->peer_asking[peer]++;
}

void admission_ends(struct coordinator *c, uint16_t peer)
{
    assert(c->peer_asking[peer] > 0);
    c->peer_asking[peer]--;
}

static uint32_t places(const struct coordinator *c)
{
    return c->config.max_renewals / 3 * 4 + ADMISSION_COST;
}

/* Without a quorum of masters that answer, what remains of them decides: most requests are then refused, but some
 * are sent all the same. A master in quarantine may owe an overdue answer without being called slow. */
static bool masters_have_room(const struct coordinator *c)
{
    unsigned serving = 0, with_room = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (!(c->extenders & c->quorum.of & masters_bit(i)) || m->heard < m->liveness.overdue)
            continue;
        serving++;
        with_room += m->places < places(c);
    }
    return with_room >= (serving < c->quorum.needed ? serving : c->quorum.needed);
}

/* During a drain, LOCK and RESUME are refused without asking the masters. */
enum admission coordinator_admits(const struct coordinator *c, uint16_t peer, enum verb verb)
{
    uint64_t taken = (uint64_t)c->peer_asking[peer] * ADMISSION_COST;
    if (c->draining && (verb == VERB_LOCK || verb == VERB_RESUME))
        return ADMISSION_NOW;
    if (taken != 0 && taken >= places(c) / 4)
        return ADMISSION_PEER;
    return masters_have_room(c) ? ADMISSION_NOW : ADMISSION_MASTERS;
}
