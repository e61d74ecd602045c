/* The agreement of the daemons that share the masters: all have the same N, the same max_ttl and the same set of
 * masters, as the group's key on each master says. master_memory.c decides from when on a master of this group may
 * vote. */
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/round/round.h"

enum { GROUP_VERSION = 2 };

void agree_write(struct coordinator *c, struct master *m, enum command_verb verb)
{
    struct command command = master_group_command(c, m, verb);
    if (c->generation.stage == GENERATION_OUT)
        return;
    master_ask(c, m, &command);
}

/* Daemons that differ in N, max_ttl or the set of masters would have quorums without a master in common. So while any
 * master's key differs from this daemon's configuration, no lock is granted and no key is written, until all agree. If
 * each master were judged alone, then a restarted master, whose key is gone, could join either group of daemons, and
 * give one a quorum without a master of the other's quorum.
 *
 * While a quorum agrees, what is held here is renewed on these masters, for one max_ttl, so that one wrong daemon does
 * not cost all locks at once. Otherwise, and where a later version wrote the key, every master is taken out of use. A
 * key that nobody can have written belongs to no group: only its master is out of use. */
static bool stops(const struct coordinator *c)
{
    return quorum_blocks(&c->quorum, c->differing) || c->later != 0 ||
           c->now_ms - c->differ_ms >= c->longest_ttl_ms;
}

/* Grants that are under way fail. */
static void hold(struct coordinator *c, bool first)
{
    c->voters = agree_voters(c);
    if (first && !stops(c)) /* renewals go on, as long as masters agree */
        rounds_lose_grants(c, c->releasers);
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *other = &c->masters[i];
        if (!(c->releasers & masters_bit(i)))
            continue;
        if (stops(c))
            master_exclude(c, other, WHY_GROUP);
        if (other->state == MASTER_UP)
            master_say_why(other, WHY_GROUP);
        master_rearm(c, other);
    }
}

static void differ(struct coordinator *c, struct master *m, const struct vote *vote, enum master_why why)
{
    bool first = c->differing == 0;
    if (first) {
        c->differ_ms = c->now_ms;
        c->differ_ttl_ms = c->longest_ttl_ms;
    }
    c->differing |= masters_bit(m->index);
    if (vote->kind == VOTE_UNREADABLE)
        c->later |= masters_bit(m->index);
    else
        c->differ_ttl_ms = earlier_ms(c->differ_ttl_ms, vote->group.max_ttl_ms);
    m->memory.strange = true;
    master_exclude(c, m, why);
    if (agree_holds(c))
        hold(c, first);
}

static void agree_again(struct coordinator *c, const struct master *m)
{
    bool differed = c->differing != 0;
    c->differing = masters_without(c->differing, masters_bit(m->index));
    c->later = masters_without(c->later, masters_bit(m->index));
    if (!differed || c->differing != 0)
        return;
    c->voters = c->renewers;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].state == MASTER_UP)
            master_say_why(&c->masters[i], WHY_NONE);
}

enum agreed agree_judge(struct coordinator *c, struct master *m, const struct vote *vote)
{
    const struct group *group = &vote->group;
    bool there = vote->kind == VOTE_GROUP, served = c->releasers & masters_bit(m->index);
    m->memory.heard_once = true;
    m->handshake.writing = false;
    m->memory.marked = false;
    bool is_of_use = generation_read(c, m, vote, master_group_may_write(c));
    master_follow_step(c);
    if (!is_of_use) {
        master_exclude(c, m, WHY_GROUP);
        return AGREED_NOT;
    }
    memset(&m->memory.theirs, 0, sizeof m->memory.theirs);
    if (vote->kind == VOTE_UNREADABLE && vote->number <= GROUP_VERSION) {
        agree_again(c, m);
        m->memory.strange = m->memory.unreadable = true;
        master_exclude(c, m, WHY_UNREADABLE);
        return AGREED_NOT;
    }
    if (master_group_is_strange(c, vote)) {
        if (there)
            m->memory.theirs = *group;
        differ(c, m, vote, there ? WHY_GROUP : WHY_UNREADABLE);
        return AGREED_NOT;
    }
    m->memory.marked = there && !m->memory.began;
    m->memory.key_ms = there && memcmp(group->run_id, master_run(m), RUN_ID_HEX) == 0 ? group->from_ms : 0;
    agree_again(c, m);
    if (!agree_holds(c))
        return AGREED;
    if (served && !stops(c))
        return AGREED_HELD;
    if (served)
        hold(c, false);
    else
        master_exclude(c, m, WHY_GROUP);
    return AGREED_NOT;
}

/* A daemon that knows no set= wrote the key, or rewrote it. */
bool agree_is_unnamed(const struct coordinator *c, const struct master *m, const struct vote *vote)
{
    return c->config.set.hash != 0 && vote->kind == VOTE_GROUP && vote->group.set == 0 &&
           !generation_is_late(c, m, &vote->group);
}

/* A daemon with another set may have been first: only the key itself shows whose it is. */
void agree_read_back(struct coordinator *c, struct master *m)
{
    m->handshake.read_back = m->handshake.asking = true;
    master_ask(c, m, &(struct command){.verb = COMMAND_GROUP});
}

/* Two sets may be written at once, where no key says one yet. A daemon that votes on the masters that answer first
 * would not know that it lost a race for another one. */
bool agree_is_settled(const struct coordinator *c)
{
    for (unsigned i = 0; c->config.set.hash != 0 && i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (m->handshake.writing || (m->handshake.waiting && !m->handshake.agreed))
            return false;
    }
    return true;
}
