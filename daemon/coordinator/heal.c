/* Healing: a lock that is held outlives masters that lose their memory, one after the other.
 *
 * Only the daemon that has the lease's record heals, and only a master that in its present memory never acknowledged
 * this token, or whose last acknowledged TTL is over. One that loses an acknowledged key sooner was told by somebody else
 * to release it: there it is never set again, or an UNLOCK through another daemon would be undone.
 *
 * The key is set to end at an instant of the master's clock (PXAT), the told deadline: a heal that is delayed beyond it
 * sets nothing. In its own round it is no vote.
 *
 * What a master in quarantine says counts once it is confirmed: healed there, or extended there in a round that had its
 * quorum without it. Else a dead token that came back from an old snapshot would count. Where only the master's clock
 * jumped, what it had acknowledged is confirmed: a key that is still there was never gone. */
#include "daemon/coordinator/heal.h"

#include <assert.h>

#include "daemon/coordinator/lease.h"
#include "daemon/coordinator/master/master.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/resume.h"

enum { CLOCK_AGE_MS = 3000 /* a master's TIME is good for so long */ };

/* What was noted of a memory that is gone counts no more. */
static void refresh(struct coordinator *c, struct lease *lease)
{
    if (lease->memories == c->memories)
        return;
    for (unsigned i = 0; i < c->config.masters; i++) {
        if (c->masters[i].memory.number <= lease->memories)
            continue;
        /* Where only its clock jumped, a key that is still there was there all the while. */
        bool lost = c->masters[i].memory.lost > lease->memories;
        bool had = lease->acknowledged[i] != 0 && !(lease->healing & masters_bit(i));
        if (lost)
            lease->confirmed = masters_without(lease->confirmed, masters_bit(i));
        else if (had)
            lease->confirmed |= masters_bit(i);
        lease->acknowledged[i] = 0;
        lease->healing = masters_without(lease->healing, masters_bit(i));
        lease->released_elsewhere = masters_without(lease->released_elsewhere, masters_bit(i));
    }
    lease->memories = c->memories;
}

static int64_t at_most(uint64_t told_ms, int64_t most_ms)
{
    return told_ms < (uint64_t)most_ms ? (int64_t)told_ms : most_ms;
}

/* Instants are noted as ms since a moment this long before the told deadline: 32 bits reach from there to far behind
 * any TTL's end, as what is asked is asked before the deadline, which never goes back. */
static const int64_t NOTED_MS = INT64_C(1) << 31;

static uint32_t noted(const struct lease *lease, int64_t at_ms)
{
    int64_t since_ms = at_ms - (lease->until_ms - NOTED_MS);
    if ((uint64_t)since_ms <= UINT32_MAX)
        return (uint32_t)since_ms;
    assert(since_ms < 0);
    return 0;
}

/* Of 0: at that moment or before, and so over, for no TTL is as long as that. */
static int64_t instant_ms(const struct lease *lease, uint32_t noted)
{
    return lease->until_ms - NOTED_MS + noted;
}

void heal_until(struct coordinator *c, struct lease *lease, int64_t until_ms)
{
    int64_t at_ms[MASTERS];
    for (unsigned i = 0; i < c->config.masters; i++)
        at_ms[i] = instant_ms(lease, lease->acknowledged[i]);
    lease->until_ms = until_ms;
    for (unsigned i = 0; i < c->config.masters; i++)
        lease->acknowledged[i] = noted(lease, at_ms[i]);
}

static bool is_healing(const struct lease *lease, unsigned master)
{
    return (lease->healing & masters_bit(master)) != 0;
}

/* What it acknowledged is over at that time, or before: a heal that is under way is not acknowledged. */
static bool heal_is_over(const struct lease *lease, unsigned master, int64_t at_ms)
{
    return is_healing(lease, master) || instant_ms(lease, lease->acknowledged[master]) <= at_ms;
}

static void acknowledge(struct lease *lease, unsigned master, uint32_t until)
{
    if (is_healing(lease, master) || until > lease->acknowledged[master])
        lease->acknowledged[master] = until;
    lease->healing = masters_without(lease->healing, masters_bit(master));
}

/* While several heals are under way to one master, the earliest deadline stands: which of them set the key, its answer
 * does not tell. */
static void note_heal(const struct coordinator *c, struct lease *lease, unsigned master)
{
    bool earlier = is_healing(lease, master) && instant_ms(lease, lease->acknowledged[master]) > c->now_ms;
    if (!earlier)
        lease->acknowledged[master] = noted(lease, lease->until_ms);
    lease->healing |= masters_bit(master);
}

/* On each master's own clock, which is no less ahead now than when it answered. */
static masters_t send(struct coordinator *c, const struct name *name, const struct token *token,
                      uint64_t lease, int64_t until_ms, masters_t masters)
{
    masters_t sent = 0;
    struct command command = {.verb = COMMAND_HEAL, .ref = lease, .token = *token};
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
    masters_t sent = send(c, lease->resource->name, &lease->token, lease->id, lease->until_ms, masters);
    lease->may |= sent;
    lease->sent |= sent;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (sent & masters_bit(i))
            note_heal(c, lease, i);
}

#ifdef MUTANTS
void heal_plant(struct coordinator *c, const struct name *name, const struct token *token, int64_t until_ms)
{
    send(c, name, token, 0, until_ms, c->extenders);
}
#endif

void heal_granted(struct coordinator *c, struct lease *lease, const struct round *round)
{
    /* A key that RESUME moved may have longer to live than was asked for. */
    int64_t told_ms = at_most(round->told_ms, c->config.max_ttl_ms);
    uint32_t until = noted(lease, round->t0_ms + (told_ms > round->ttl_ms ? told_ms : round->ttl_ms));
    lease->memories = round->memories;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (lease->granted & masters_bit(i))
            lease->acknowledged[i] = until;
    refresh(c, lease);
    /* Those that were in quarantine when it was asked for, though one may have left it since. */
    set_again(c, lease, masters_without(c->extenders, (c->voters & round->tally.asked) | lease->granted));
}

/* A key that was set after a stall of this daemon, and before the stall was seen, lasts longer than was noted. */
static int64_t stall_slack_ms(const struct coordinator *c)
{
    return c->now_ms - c->stall_seen_ms <= c->full_ms ? c->stall_ms : 0;
}

static bool is_forgotten(const struct coordinator *c, const struct lease *lease, const struct round *round,
                         unsigned master)
{
    if (mutant(MUTANT_HEAL_ACKNOWLEDGED))
        return true;
    return !(lease->released_elsewhere & masters_bit(master)) &&
           heal_is_over(lease, master, round->t0_ms - stall_slack_ms(c));
}

static void heal(struct coordinator *c, struct lease *lease, const struct round *round, masters_t masters)
{
    masters_t forgot = 0;
    if (resume_is_under_way(lease->resource, &lease->token))
        return; /* it would come behind the move, and keep the new token from that master */
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((masters & masters_bit(i)) && is_forgotten(c, lease, round, i))
            forgot |= masters_bit(i);
    if (c->now_ms < lease->until_ms)
        set_again(c, lease, forgot & c->extenders);
}

/* It may have the key though it was not sent there in its present life: from a snapshot. */
static void extended(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
                     uint64_t ttl_ms)
{
    lease->sent |= masters_bit(master);
    acknowledge(lease, master, noted(lease, round->t0_ms + at_most(ttl_ms, c->config.max_ttl_ms)));
}

/* Its last TTL must have been over, however fast its clock runs; else somebody took the key away. */
static void missed(struct coordinator *c, struct lease *lease, unsigned master)
{
    int64_t drift_ms = quorum_drift_ms(lease->longest_ms);
    lease->confirmed = masters_without(lease->confirmed, masters_bit(master));
    if (!heal_is_over(lease, master, c->now_ms + drift_ms))
        lease->released_elsewhere |= masters_bit(master);
}

void heal_told(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
               const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    bool unasked = !(round->votes & bit); /* in quarantine, and unconfirmed when it was asked */
    bool extends = round->purpose != ROUND_ACQUIRE;
    refresh(c, lease);
    if (vote->kind == VOTE_YES)
        acknowledge(lease, master, noted(lease, round->t0_ms + round->ttl_ms));
    else if (vote->kind == VOTE_NUMBER)
        extended(c, lease, round, master, vote->number);
    else if (vote->kind == VOTE_NO && extends)
        missed(c, lease, master);
    if (!round->held)
        return;
    if (vote->kind == VOTE_NUMBER && unasked && !(round->voided & bit))
        lease->confirmed |= bit;
    else if (vote->kind == VOTE_NO)
        heal(c, lease, round, bit);
}

void heal_extended(struct coordinator *c, struct lease *lease, struct round *round)
{
    refresh(c, lease);
    round->held = true;
    lease->confirmed |= masters_without(round->tally.granted, round->votes | round->voided);
    heal(c, lease, round, round->tally.refused);
}

void heal_done(struct coordinator *c, struct lease *lease, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    refresh(c, lease);
    if (vote->kind != VOTE_YES && is_healing(lease, master))
        lease->acknowledged[master] = 0;
    lease->healing = masters_without(lease->healing, bit);
    if (vote->kind != VOTE_YES)
        return;
    lease->granted |= bit;
    lease->may |= bit;
    lease->confirmed |= bit;
}

masters_t heal_counted(struct coordinator *c, struct lease *lease)
{
    if (lease == NULL)
        return c->voters;
    refresh(c, lease);
    masters_t confirmed = mutant(MUTANT_UNCONFIRMED_EXTENDS) ? c->extenders : lease->confirmed;
    return c->voters | (masters_without(confirmed, c->fast) & c->extenders);
}

masters_t heal_known_missing(const struct coordinator *c, const struct round *round,
                             const struct lease *lease)
{
    masters_t released_elsewhere = lease != NULL ? lease->released_elsewhere : 0;
    if (round->tally.refused == 0)
        return 0;
    /* A clock that jumped may have ended the key early: to miss it there says nothing. */
    masters_t votes = masters_without(round->votes, masters_clock_doubted(c));
    return round->tally.refused & (votes | released_elsewhere);
}
