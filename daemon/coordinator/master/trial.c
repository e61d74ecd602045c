#include "daemon/coordinator/master/trial.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/in_flight.h"
#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/round/round.h"

enum {
    GOOD_BASE_MS = 10000, /* age from which a base gives way to a good reading ... */
    GOOD_MS = 3,          /* ... which is ahead by no more than this */
    AHEAD_MS = 5,         /* lead of a majority that shows a stall; believing in a short stall is safe */
    JUMP_MS = 50,         /* lead from which a single master's clock is suspicious */
    SLEW_PART = 500,      /* 1/500 is 0.2 %: the rate by which a clock that is being slewed may run faster */
    BASE_MS = 60000,      /* age from which a base gives way to any reading that is not suspicious */
    SLACK_MS = 200,       /* most that slow readings may hide where nothing else shows a stall */
    TRIAL_MS = 200,       /* longest wait for answers */
    BACK_PART = 1000,     /* 1/1000 of the time: lag that does not count as a step back */
};

/* The length of a stall, as far as the readings tell. */
struct span {
    int64_t least_ms, most_ms;
};

static const int64_t UNKNOWN_MS = (int64_t)1 << 40;

/* ---- readings ---- */

static bool has_base(const struct master *m)
{
    return m->clock.base.time_ms != 0;
}

/* By how much the master's clock advanced since its base beyond the longest time that can have passed here:
 * the time from the sending of the base's question to the arrival of this answer, and what slewing allows. */
static int64_t excess_ms(const struct coordinator *c, const struct master *m, int64_t clock_ms)
{
    int64_t passed_ms = c->now_ms - m->clock.base.sent_ms;
    return clock_ms - m->clock.base.time_ms - passed_ms - passed_ms / SLEW_PART;
}

/* Notes a clock that was set back, and returns whether it was. That is no danger to locks, which then live
 * longer, but an operator should know. */
static bool look_for_step_back(const struct coordinator *c, struct master *m, int64_t sent_ms,
                               int64_t clock_ms)
{
    int64_t least_ms = sent_ms - m->clock.told_at_ms, most_ms = c->now_ms - m->clock.asked_at_ms;
    int64_t passed_ms = clock_ms - m->clock.time_ms;
    if (m->clock.time_ms == 0 || passed_ms >= least_ms - JUMP_MS - most_ms / BACK_PART)
        return false;
    m->clock.backs++;
    m->changes++;
    m->clock.back_ms = least_ms - passed_ms;
    return true;
}

static bool is_of_base(const struct master *m)
{
    return memcmp(m->clock.base.run_id, master_run(m), RUN_ID_HEX) == 0;
}

static void rebase(const struct coordinator *c, struct master *m)
{
    /* Long round trips may hide that the reading is ahead of the base before. */
    bool sure = m->clock.base.rtt_ms + m->clock.told_at_ms - m->clock.asked_at_ms <= JUMP_MS;
    m->clock.level_ms = m->clock.asked_at_ms;
    bool quick = m->clock.told_at_ms - m->clock.asked_at_ms <= JUMP_MS; /* else a stall may lie within */
    if (!has_base(m) || m->clock.base_stalled || m->clock.excess_ms > AHEAD_MS || !sure)
        m->clock.level_from_ms = quick ? m->clock.asked_at_ms : m->clock.told_at_ms;
    m->clock.base.time_ms = m->clock.time_ms;
    m->clock.base.sent_ms = m->clock.asked_at_ms;
    m->clock.base.rtt_ms = m->clock.told_at_ms - m->clock.asked_at_ms;
    m->clock.base.behind_ms = c->behind_ms;
    m->clock.tried_ms = 0;
    m->clock.base_stalled = false;
    m->clock.excess_ms = 0;
    memcpy(m->clock.base.run_id, master_run(m), RUN_ID_HEX);
}

/* The lead from which this master's clock is suspicious. A smaller one is enough for a master that is kept
 * out for its clock, so that it stays out as long as the clock runs fast. */
static int64_t jump_ms(const struct coordinator *c, const struct master *m)
{
    return (masters_clock_doubted(c) & masters_bit(m->index)) ? AHEAD_MS : JUMP_MS;
}

/* Makes the last reading the base of the next ones, if it is good or the base is old. A reading that is ahead
 * must not become a base, or the next readings would look good. In three cases any reading becomes the base:
 * when the base is older than BASE_MS; in another run, because a jump counts only within a run; and after a
 * stall of this daemon, because what is left of the lead would add to the next stall and be blamed on the
 * master. */
static void rebase_if_good(const struct coordinator *c, struct master *m)
{
    if (m->clock.base_unsure)
        return;
    int64_t passed_ms = m->clock.asked_at_ms - m->clock.base.sent_ms;
    bool tighter = m->clock.time_ms - m->clock.base.time_ms <= passed_ms; /* hides less of a round trip */
    bool old = passed_ms >= GOOD_BASE_MS && m->clock.excess_ms <= GOOD_MS;
    if (tighter || old || m->clock.base_stalled || !is_of_base(m) ||
        c->now_ms - m->clock.base.sent_ms >= BASE_MS)
        rebase(c, m);
}

void trial_ask_time(struct coordinator *c, struct master *m)
{
    if (m->clock.times_asked - m->clock.times_told == TIMES)
        return; /* no room to note another question; an answer will come */
    struct time_asked *asked = &m->clock.times[m->clock.times_asked++ % TIMES];
    asked->sent_ms = c->now_ms;
    asked->unsure = false;
    asked->trial = c->trial.open ? c->trial.number : 0;
    action_send(c, masters_bit(m->index), &(struct command){.verb = COMMAND_TIME});
}

/* ---- a trial ---- */

/* Whether a question of the trial's present round (its number) is under way to this master. */
static bool is_asked_anew(const struct coordinator *c, const struct master *m)
{
    return m->clock.times_asked != m->clock.times_told &&
           m->clock.times[(m->clock.times_asked - 1) % TIMES].trial == c->trial.number;
}

/* Counts the master's last reading in the trial; trial is the number with which it was asked for. */
static void hear(struct coordinator *c, const struct master *m, uint32_t trial)
{
    masters_t bit = masters_bit(m->index);
    if (trial == c->trial.number)
        c->trial.anew |= bit;
    /* A clock that jumped, and was set back since, ended keys all the same. */
    bool set_back = (c->trial.told & bit) && m->clock.excess_ms < c->trial.excess_ms[m->index];
    c->trial.told |= bit;
    c->trial.awaited = masters_without(c->trial.awaited, bit);
    if (set_back)
        return;
    c->trial.excess_ms[m->index] = m->clock.excess_ms;
    /* The round trips of both readings, slewing since the base, and stalls that were found since but may have
     * been before the base, may hide a stall of so much. */
    int64_t slack_ms = m->clock.base.rtt_ms + m->clock.told_at_ms - m->clock.asked_at_ms +
                       (c->now_ms - m->clock.base.sent_ms) / SLEW_PART + c->behind_ms -
                       m->clock.base.behind_ms;
    c->trial.slack_ms[m->index] = slack_ms;
}

/* Opens a trial. A master with a TIME under way is not asked again yet: if the answer says nothing,
 * trial_look() asks. */
static void begin(struct coordinator *c, const struct master *first)
{
    struct trial *trial = &c->trial;
    trial->open = true;
    trial->number++;
    trial->told = trial->awaited = trial->anew = 0;
    trial->confirming = false;
    heap_set(&c->deadlines, &trial->item, c->now_ms + TRIAL_MS);
    hear(c, first, 0);
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (m == first || m->state == MASTER_DOWN || !has_base(m))
            continue;
        trial->awaited |= masters_bit(i);
        if (m->clock.times_asked == m->clock.times_told)
            trial_ask_time(c, m);
    }
}

/* The longest stall that this master's reading allows. A master that is ahead may have read its clock in
 * the middle of a stall; as long as it has not answered the question to confirm, its reading sets no limit.
 * Unless a majority shows a stall (stalled), slow masters must not hide the jump of another one's clock. */
static int64_t most_excess_ms(const struct trial *trial, unsigned i, bool stalled)
{
    bool confirmed = !trial->confirming || (trial->anew & masters_bit(i));
    if (!confirmed && trial->excess_ms[i] > AHEAD_MS)
        return UNKNOWN_MS;
    int64_t slack_ms = trial->slack_ms[i];
    return trial->excess_ms[i] + (stalled || slack_ms < SLACK_MS ? slack_ms : SLACK_MS);
}

/* The masters that answered, and whose readings begin after the jump or the stall that another master
 * shows: these masters cannot tell which it was. */
static masters_t young(const struct coordinator *c)
{
    const struct trial *trial = &c->trial;
    int64_t since_ms = INT64_MAX;
    masters_t set = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((trial->told & masters_bit(i)) && trial->excess_ms[i] > JUMP_MS &&
            c->masters[i].clock.level_ms < since_ms)
            since_ms = c->masters[i].clock.level_ms;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].clock.level_from_ms > since_ms)
            set |= masters_bit(i);
    return set & trial->told;
}

/* The rank-th largest lead of the masters in the set: the least stall that so many of them show. */
static int64_t rank_ms(const struct trial *trial, masters_t set, unsigned rank)
{
    uint64_t positive_ms[MASTERS] = {0};
    for (unsigned i = 0; i < MASTERS; i++)
        if ((set & masters_bit(i)) && trial->excess_ms[i] > 0)
            positive_ms[i] = (uint64_t)trial->excess_ms[i];
    return (int64_t)quorum_nth_largest(positive_ms, set, rank);
}

/* The rank-th largest of the longest stalls that the readings of these masters allow. */
static int64_t rank_of_most_ms(const struct trial *trial, masters_t set, unsigned rank, bool stalled,
                               masters_t late)
{
    uint64_t positive_ms[MASTERS] = {0};
    for (unsigned i = 0; i < MASTERS; i++) {
        int64_t ms = (late & masters_bit(i)) ? UNKNOWN_MS : most_excess_ms(trial, i, stalled);
        if ((set & masters_bit(i)) && ms > 0)
            positive_ms[i] = (uint64_t)ms;
    }
    return (int64_t)quorum_nth_largest(positive_ms, set, rank);
}

/* By how much a majority of the masters that answered is ahead, at least and at most. If only one master
 * answered, or two that differ, there is no majority: the larger lead is taken for a stall of this daemon,
 * which is safe. */
static struct span majority(const struct coordinator *c)
{
    masters_t late = young(c), ahead = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->trial.excess_ms[i] > AHEAD_MS)
            ahead |= masters_bit(i);
    masters_t set = masters_without(c->trial.told, masters_without(late, ahead));
    unsigned told = masters_count(set);
    bool tie = told == 2 && rank_ms(&c->trial, set, 2) <= AHEAD_MS;
    unsigned rank = tie ? 1 : told / 2 + 1;
    struct span span = {.least_ms = rank_ms(&c->trial, set, rank)};
    span.most_ms = rank_of_most_ms(&c->trial, set, rank, span.least_ms > AHEAD_MS, late);
    return span;
}

/* The masters whose clocks jumped: they are ahead by more than the stall, even by the longest stall that a
 * majority allows. Only a jump within one run can have ended keys that the master is trusted for. */
static masters_t jumped(const struct coordinator *c, int64_t stall_ms)
{
    masters_t set = 0;
    int64_t most_ms = majority(c).most_ms;
    if (most_ms < stall_ms)
        most_ms = stall_ms;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if ((c->trial.told & masters_bit(i)) && is_of_base(m) &&
            c->trial.excess_ms[i] > most_ms + jump_ms(c, m))
            set |= masters_bit(i);
    }
    return set;
}

/* How long this daemon stood still, 0 if it did not: the lead of a majority, or a larger lead of a single
 * master that a majority's readings allow. To believe the larger one shortens validities and blames no
 * master. */
static int64_t longest_stall_ms(const struct coordinator *c)
{
    const struct trial *trial = &c->trial;
    struct span span = majority(c);
    int64_t stall_ms = span.least_ms;
    if (stall_ms <= AHEAD_MS)
        return 0;
    for (unsigned i = 0; i < MASTERS; i++)
        if ((trial->told & masters_bit(i)) && trial->excess_ms[i] <= span.most_ms &&
            trial->excess_ms[i] > stall_ms)
            stall_ms = trial->excess_ms[i];
    return stall_ms;
}

/* The stall to believe in. At most N-Q masters at a time are kept out for their clocks, so that a quorum is
 * left: if more of them seem to have jumped at once, it was this daemon that stood still. */
static int64_t decide_stall(const struct coordinator *c)
{
    int64_t stall_ms = longest_stall_ms(c);
    masters_t doubted = masters_clock_doubted(c), suspects = masters_without(jumped(c, stall_ms), doubted);
    unsigned most = c->quorum.blocking - 1, out = quorum_count(&c->quorum, doubted);
    suspects &= c->quorum.of;
    unsigned allowed = most > out ? most - out : 0;
    if (masters_count(suspects) > allowed)
        stall_ms = rank_ms(&c->trial, suspects, allowed + 1);
    return stall_ms;
}

/* Moves the times of a master's last reading, and of its TIMEs under way, to the coordinator's new time. A
 * reading that was asked for in the trial was made after the stall. When any other reading was made is not
 * known; it is moved by its lead, and is unsure. */
static void move_reading(const struct trial *trial, struct master *m, int64_t stall_ms)
{
    int64_t by_ms = m->clock.excess_ms < stall_ms ? m->clock.excess_ms : stall_ms;
    for (uint32_t i = m->clock.times_told; i != m->clock.times_asked; i++) {
        struct time_asked *asked = &m->clock.times[i % TIMES];
        asked->unsure = asked->trial != trial->number;
        asked->sent_ms += asked->unsure ? 0 : stall_ms;
    }
    m->clock.base_stalled = true;
    m->clock.unsure = !(trial->anew & masters_bit(m->index));
    if (!m->clock.unsure)
        by_ms = stall_ms;
    if (by_ms <= 0)
        return;
    m->clock.asked_at_ms += by_ms;
    m->clock.told_at_ms += by_ms;
    m->clock.excess_ms -= by_ms;
}

/* Adds a stall to behind_ms; no other function does. Deadlines, the t0 of rounds and the ends of keys are
 * not moved, so less of their time is left. Time-outs are moved, or all would fire at once and close
 * healthy connections. */
static void stood_still(struct coordinator *c, int64_t stall_ms)
{
    c->behind_ms += stall_ms;
    c->now_ms += stall_ms;
    c->stall_ms = stall_ms + (c->now_ms - c->stall_seen_ms <= c->full_ms ? c->stall_ms : 0);
    c->stall_seen_ms = c->now_ms;
    in_flight_delay(&c->rounds_pending, stall_ms);
    in_flight_delay(&c->releases_pending, stall_ms);
    for (unsigned i = 0; i < c->config.masters; i++) {
        move_reading(&c->trial, &c->masters[i], stall_ms);
        master_stood_still(c, &c->masters[i], stall_ms);
    }
    struct action *action = action_push(c, ACTION_CLOCK);
    action->u.clock.stall_ms = stall_ms;
    action->u.clock.behind_ms = c->behind_ms;
}

/* Closes the trial, and has the rounds that waited for it looked at again. */
static void close_trial(struct coordinator *c)
{
    c->trial.open = false;
    heap_remove(&c->deadlines, &c->trial.item);
    rounds_look_again(c);
}

/* A reading that was asked for before the stall was noticed is no base. The masters that told such a
 * reading are asked again, so that they have a base soon. */
static void ask_for_bases(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (m->state != MASTER_DOWN && has_base(m) && !(c->trial.anew & masters_bit(i)))
            trial_ask_time(c, m);
    }
}

/* Before a master is blamed, the other masters are asked once more, since they may have read their clocks
 * in the middle of the stall, or before a second stall. Returns whether answers are to come. */
static bool confirms(struct coordinator *c, masters_t suspects)
{
    struct trial *trial = &c->trial;
    if (suspects == 0 || trial->confirming)
        return false;
    trial->confirming = true;
    trial->number++;
    trial->anew = trial->awaited = 0; /* a master that did not answer before is not waited for */
    heap_set(&c->deadlines, &trial->item, c->now_ms + TRIAL_MS);
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (!(masters_without(trial->told, suspects) & masters_bit(i)) || m->state == MASTER_DOWN)
            continue;
        trial->awaited |= masters_bit(i);
        trial_ask_time(c, m);
    }
    return trial->awaited != 0;
}

static void trial_decide(struct coordinator *c)
{
    if (confirms(c, jumped(c, decide_stall(c))))
        return;
    int64_t stall_ms = decide_stall(c);
    masters_t suspects = jumped(c, stall_ms);
    close_trial(c);
    if (stall_ms > 0)
        stood_still(c, stall_ms);
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (suspects & masters_bit(i)) {
            rebase(c, m);
            memory_clock_jumped(c, m);
        } else if ((c->trial.told & masters_bit(i)) && stall_ms == 0 && m->clock.excess_ms > JUMP_MS &&
                   is_of_base(m)) {
            /* The others are too slow to tell. The next trial begins when this master is further ahead. */
            m->clock.tried_ms = m->clock.excess_ms;
        } else if (c->trial.told & masters_bit(i)) {
            if (c->trial.excess_ms[i] > JUMP_MS) /* even if a stall explains it */
                memory_clock_gained(c, m, c->trial.excess_ms[i]);
            rebase_if_good(c, m);
        }
    }
    if (stall_ms > 0)
        ask_for_bases(c);
}

static bool is_decided(const struct coordinator *c)
{
    const struct trial *trial = &c->trial;
    masters_t ahead = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((trial->told & masters_bit(i)) && trial->excess_ms[i] > AHEAD_MS)
            ahead |= masters_bit(i);
    return trial->awaited == 0 || (quorum_has(&c->quorum, ahead) && !trial->confirming);
}

/* Counts a reading in the open trial. A reading that was asked for before the trial and is not ahead says
 * nothing, because the master may have read its clock before the stall. Neither does an answer that took
 * too long, because this daemon slept meanwhile, for example. */
static void trial_look(struct coordinator *c, struct master *m, uint32_t trial)
{
    bool prompt = m->clock.told_at_ms - m->clock.asked_at_ms <= SLACK_MS;
    bool counts = m->clock.excess_ms > AHEAD_MS || (trial == c->trial.number && prompt);
    bool awaited = c->trial.awaited & masters_bit(m->index);
    if (counts) /* even if the master has answered already: its clock may have jumped since */
        hear(c, m, trial);
    else if (awaited && !is_asked_anew(c, m))
        trial_ask_time(c, m);
    if (is_decided(c))
        trial_decide(c);
}

/* ---- answers, losses and time-outs ---- */

static void read_clock(struct coordinator *c, struct master *m, const struct time_asked *asked,
                       int64_t clock_ms)
{
    bool was_set_back = look_for_step_back(c, m, asked->sent_ms, clock_ms);
    m->clock.time_ms = clock_ms;
    m->clock.asked_at_ms = asked->sent_ms;
    m->clock.told_at_ms = c->now_ms;
    m->clock.unsure = false;
    m->clock.base_unsure = asked->unsure;
    if (!has_base(m)) {
        rebase(c, m);
        return;
    }
    m->clock.excess_ms = excess_ms(c, m, clock_ms);
    if (was_set_back && !asked->unsure) {
        rebase(c, m); /* a later jump forward is measured from the reading that was set back, ... */
        m->clock.level_from_ms = asked->sent_ms; /* ... which says nothing of the time before */
    }
    if (m->clock.excess_ms <= AHEAD_MS)
        m->clock.level_ms = asked->sent_ms;
    if (!c->trial.open && m->clock.excess_ms <= m->clock.tried_ms + jump_ms(c, m)) {
        rebase_if_good(c, m);
        return;
    }
    if (!c->trial.open)
        begin(c, m);
    trial_look(c, m, asked->trial);
}

void trial_told_time(struct coordinator *c, struct master *m, const struct vote *vote)
{
    assert(m->clock.times_asked != m->clock.times_told);
    struct time_asked asked = m->clock.times[m->clock.times_told++ % TIMES];
    if (vote->kind == VOTE_NUMBER)
        read_clock(c, m, &asked, (int64_t)vote->number);
    else
        trial_lost(c, m);
}

void trial_lost(struct coordinator *c, struct master *m)
{
    if (m->state == MASTER_DOWN)
        m->clock.times_told = m->clock.times_asked;
    if (!c->trial.open || !(c->trial.awaited & masters_bit(m->index)))
        return;
    c->trial.awaited = masters_without(c->trial.awaited, masters_bit(m->index));
    if (is_decided(c))
        trial_decide(c);
}

void trial_timer(struct coordinator *c)
{
    trial_decide(c);
}
