/* Healing keeps a held lock alive when masters lose their memory one after the other: after a quorum
 * extended the lock, its key is set again on masters that forgot it.
 *
 * Only the daemon that has the lease heals. It heals only a master that never acknowledged this token in
 * its present memory, or whose last acknowledged TTL is over. If a master loses an acknowledged key sooner,
 * then somebody released the lock through another daemon; the key is never set there again, because that
 * would undo the UNLOCK.
 *
 * The key is set to expire at an instant of the master's own clock (PXAT), which stands for the deadline
 * that the holder was told. A heal that is delayed beyond that instant sets nothing. A heal is no vote in
 * the round that caused it.
 *
 * The answers of a master in quarantine count only for leases that are confirmed there: the master was
 * healed, or it extended the key in a round that had a quorum without it. Otherwise a dead token that came
 * back from an old snapshot would count. If only the master's clock jumped, a lease that the master had
 * acknowledged is confirmed: a key that is still there was never gone. In a quarantine for commands of a lost
 * connection (no_kill), every lease counts that the master had acknowledged. */
#include "daemon/coordinator/keep/heal.h"

#include <assert.h>

#include "daemon/coordinator/ask/resume.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/master/master.h"

enum { CLOCK_AGE_MS = 3000 /* oldest reading of a master's clock that a heal may be computed from */ };

void heal_refresh(struct coordinator *c, struct lease *lease)
{
    if (lease->copies.memories == c->memories)
        return;
    for (unsigned i = 0; i < c->config.masters; i++) {
        if (c->masters[i].memory.number <= lease->copies.memories)
            continue;
        /* If only the master's clock jumped, a key that is still there was there all the time. */
        bool lost = c->masters[i].memory.lost > lease->copies.memories;
        bool had = lease->copies.acknowledged[i] != 0 && !(lease->copies.healing & masters_bit(i));
        if (lost)
            lease->copies.confirmed = masters_without(lease->copies.confirmed, masters_bit(i));
        else if (had)
            lease->copies.confirmed |= masters_bit(i);
        lease->copies.acknowledged[i] = 0;
        lease->copies.healing = masters_without(lease->copies.healing, masters_bit(i));
        lease->copies.released_elsewhere = masters_without(lease->copies.released_elsewhere, masters_bit(i));
        secret_unsettled(lease, masters_bit(i));
    }
    lease->copies.memories = c->memories;
}

static int64_t at_most(uint64_t told_ms, int64_t most_ms)
{
    return told_ms < (uint64_t)most_ms ? (int64_t)told_ms : most_ms;
}

/* acknowledged[] has instants in 32 bits: the ms since a moment that lies NOTED_MS before the lease's
 * deadline. The end of any TTL fits, because every command for the lease is sent before the deadline, and
 * the deadline never moves back. */
static const int64_t NOTED_MS = INT64_C(1) << 31;

static uint32_t noted(const struct lease *lease, int64_t at_ms)
{
    int64_t since_ms = at_ms - (lease->until_ms - NOTED_MS);
    if ((uint64_t)since_ms <= UINT32_MAX)
        return (uint32_t)since_ms;
    assert(since_ms < 0);
    return 0;
}

/* For 0 the result is so long ago that the TTL is over: no TTL is as long as NOTED_MS. */
static int64_t instant_ms(const struct lease *lease, uint32_t noted)
{
    return lease->until_ms - NOTED_MS + noted;
}

void heal_until(struct coordinator *c, struct lease *lease, int64_t until_ms)
{
    int64_t at_ms[MASTERS];
    for (unsigned i = 0; i < c->config.masters; i++)
        at_ms[i] = instant_ms(lease, lease->copies.acknowledged[i]);
    lease->until_ms = until_ms;
    for (unsigned i = 0; i < c->config.masters; i++)
        lease->copies.acknowledged[i] = noted(lease, at_ms[i]);
}

static bool is_healing(const struct lease *lease, unsigned master)
{
    return (lease->copies.healing & masters_bit(master)) != 0;
}

/* Whether the TTL that the master acknowledged is over at at_ms. A heal that is under way is not
 * acknowledged. */
static bool heal_is_over(const struct lease *lease, unsigned master, int64_t at_ms)
{
    return is_healing(lease, master) || instant_ms(lease, lease->copies.acknowledged[master]) <= at_ms;
}

static void acknowledge(struct lease *lease, unsigned master, uint32_t until)
{
    if (is_healing(lease, master) || until > lease->copies.acknowledged[master])
        lease->copies.acknowledged[master] = until;
    lease->copies.healing = masters_without(lease->copies.healing, masters_bit(master));
}

/* While several heals are under way to one master, the earliest deadline is kept, because the answers do
 * not tell which heal set the key. */
static void note_heal(const struct coordinator *c, struct lease *lease, unsigned master)
{
    bool earlier =
        is_healing(lease, master) && instant_ms(lease, lease->copies.acknowledged[master]) > c->now_ms;
    if (!earlier)
        lease->copies.acknowledged[master] = noted(lease, lease->until_ms);
    lease->copies.healing |= masters_bit(master);
}

/* A master read its clock before that TIME arrived here, so the key ends at until_ms or a little earlier. */
masters_t heal_send(struct coordinator *c, const struct name *name, const struct token *token, uint64_t ref,
                    int64_t until_ms, masters_t masters)
{
    masters_t sent = 0;
    struct command command = {.verb = COMMAND_HEAL, .ref = ref, .token = *token};
    if (token_is_shared(token))
        command.verb = COMMAND_SHARE_AT;
    name_copy(&command.name, name);
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        bool old = m->clock.unsure || c->now_ms - m->clock.told_at_ms > CLOCK_AGE_MS;
        if (!(masters & masters_bit(i)) || old)
            continue;
        command.number = (uint64_t)(m->clock.time_ms + (until_ms - m->clock.told_at_ms));
        action_send(c, masters_bit(i), &command);
        sent |= masters_bit(i);
    }
    return sent;
}

static void set_again(struct coordinator *c, struct lease *lease, masters_t masters)
{
    if (masters == 0)
        return;
    masters_t sent =
        heal_send(c, lease->resource->name, secret_heals(lease), lease->id, lease->until_ms, masters);
    lease->copies.may |= sent;
    lease->copies.sent |= sent;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (sent & masters_bit(i))
            note_heal(c, lease, i);
    data_again(c, lease, sent);
}

void heal_granted(struct coordinator *c, struct lease *lease, const struct round *round)
{
    /* A key that RESUME moved may have longer to live than was asked for. */
    int64_t told_ms = at_most(round->told_ms, c->longest_ttl_ms);
    uint32_t until = noted(lease, round->t0_ms + (told_ms > round->ttl_ms ? told_ms : round->ttl_ms));
    lease->copies.memories = round->memories;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (lease->copies.granted & masters_bit(i))
            lease->copies.acknowledged[i] = until;
    heal_refresh(c, lease);
    /* The masters that were in quarantine when the round began, even if they are up by now. */
    masters_t asked = (c->up & round->tally.asked) | (round->narrow ? c->voters : 0);
    set_again(c, lease, masters_without(c->extenders, asked | lease->copies.granted));
}

void heal_spread(struct coordinator *c, struct lease *lease)
{
    masters_t without = 0;
    heal_refresh(c, lease);
    if (lease_is_resumed(lease))
        return;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (lease->copies.acknowledged[i] == 0 && !is_healing(lease, i))
            without |= masters_bit(i);
    set_again(c, lease, masters_without(without, lease->copies.released_elsewhere) & c->extenders);
}

/* A key that was set after this daemon stood still, but before that was noticed, lives longer than was
 * recorded: by the length of the stall. */
static bool is_forgotten(const struct coordinator *c, const struct lease *lease, const struct round *round,
                         unsigned master)
{
    return !(lease->copies.released_elsewhere & masters_bit(master)) &&
           heal_is_over(lease, master, round->t0_ms - stall_lately_ms(c));
}

static void heal(struct coordinator *c, struct lease *lease, const struct round *round, masters_t masters)
{
    masters_t forgot = 0;
    if (lease_is_resumed(lease))
        return; /* the heal would run behind the MOVE and set the old token, where the new one is to go */
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((masters & masters_bit(i)) && is_forgotten(c, lease, round, i))
            forgot |= masters_bit(i);
    if (c->now_ms < lease->until_ms)
        set_again(c, lease, forgot & c->extenders);
}

masters_t heal_had(struct coordinator *c, struct lease *lease)
{
    masters_t had = 0;
    heal_refresh(c, lease);
    for (unsigned i = 0; i < c->config.masters; i++)
        if (!heal_is_over(lease, i, c->now_ms + quorum_drift_ms(lease->copies.longest_ms)))
            had |= masters_bit(i);
    return had;
}

/* The master has the key, and so owes a release. That holds even where this daemon did not send the key to
 * the master's present memory, because a snapshot may have brought the key back. */
static void extended(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
                     uint64_t ttl_ms)
{
    lease->copies.sent |= masters_bit(master);
    /* Where it was missing before, a RESUME had moved it, and set it back. */
    lease->copies.released_elsewhere = masters_without(lease->copies.released_elsewhere, masters_bit(master));
    acknowledge(lease, master, noted(lease, round->t0_ms + at_most(ttl_ms, c->longest_ttl_ms)));
}

/* The master does not have the key. Unless its last TTL may be over, with all the drift that is allowed
 * for, somebody else released the key there. */
static void missed(struct coordinator *c, struct lease *lease, unsigned master)
{
    int64_t drift_ms = quorum_drift_ms(lease->copies.longest_ms);
    lease->copies.confirmed = masters_without(lease->copies.confirmed, masters_bit(master));
    if (!heal_is_over(lease, master, c->now_ms + drift_ms))
        lease->copies.released_elsewhere |= masters_bit(master);
}

void heal_told(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
               const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    bool unasked = !(round->votes & bit); /* in quarantine, and not confirmed when the round asked */
    bool extends = round->purpose != ROUND_ACQUIRE;
    heal_refresh(c, lease);
    if (vote->kind == VOTE_YES)
        acknowledge(lease, master, noted(lease, round->t0_ms + round->ttl_ms));
    else if (vote->kind == VOTE_NUMBER)
        extended(c, lease, round, master, vote->number);
    else if (vote->kind == VOTE_NO && extends)
        missed(c, lease, master);
    if (!round->held)
        return;
    if (vote->kind == VOTE_NUMBER && unasked && !(round->voided & bit))
        lease->copies.confirmed |= bit;
    else if (vote->kind == VOTE_NO)
        heal(c, lease, round, bit);
}

void heal_refused(struct coordinator *c, struct lease *lease, const struct round *round)
{
    heal_refresh(c, lease);
    heal(c, lease, round, round->tally.refused);
}

void heal_extended(struct coordinator *c, struct lease *lease, struct round *round)
{
    heal_refresh(c, lease);
    round->held = true;
    lease->copies.confirmed |= masters_without(round->tally.granted, round->votes | round->voided);
    heal(c, lease, round, round->tally.refused);
}

void heal_done(struct coordinator *c, struct lease *lease, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    heal_refresh(c, lease);
    if (vote->kind != VOTE_YES && is_healing(lease, master))
        lease->copies.acknowledged[master] = 0;
    lease->copies.healing = masters_without(lease->copies.healing, bit);
    if (vote->kind != VOTE_YES)
        return;
    lease->copies.granted |= bit;
    lease->copies.may |= bit;
    lease->copies.confirmed |= bit;
}

/* The masters that are kept out for commands of a lost connection alone (no_kill) and had acknowledged the key:
 * they have forgotten nothing. */
static masters_t remembering(const struct coordinator *c, const struct lease *lease)
{
    masters_t set = 0;
    if (c->config.no_kill == 0)
        return 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        bool kept_out = m->state == MASTER_QUARANTINE && m->memory.quarantine_why == WHY_RECONNECT;
        bool had = lease->copies.acknowledged[i] != 0 && !is_healing(lease, i);
        if (kept_out && m->memory.trusted && had)
            set |= masters_bit(i);
    }
    return set;
}

masters_t heal_counted(struct coordinator *c, struct lease *lease)
{
    if (lease == NULL)
        return c->renewers;
    heal_refresh(c, lease);
    masters_t confirmed = lease->copies.confirmed | remembering(c, lease);
    return c->renewers | (masters_without(confirmed, c->fast) & c->extenders);
}

masters_t heal_known_missing(const struct coordinator *c, const struct round *round,
                             const struct lease *lease)
{
    masters_t released_elsewhere = lease != NULL ? lease->copies.released_elsewhere : 0;
    if (round->tally.refused == 0)
        return 0;
    /* A clock that jumped may have ended the key early, so that a missing key proves nothing there. */
    masters_t votes = masters_without(round->votes, masters_clock_doubted(c));
    return round->tally.refused & (votes | released_elsewhere);
}
