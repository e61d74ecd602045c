#include "daemon/coordinator/master/trial.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/in_flight.h"
#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/mutant.h"

enum {
    GOOD_BASE_MS = 10000, /* a base that is older gives way to a good reading ... */
    GOOD_MS = 3,          /* ... which is ahead by no more */
    AHEAD_MS = 5,         /* a majority that is ahead by more shows a stall: to believe that costs nothing */
    JUMP_MS = 50,         /* one master alone must be ahead by more */
    SLEW_PART = 500,      /* 0.2 %: clocks that are being slewed may run so much faster */
    BASE_MS = 60000,      /* a base that is older gives way to any reading that opened no trial */
    SLACK_MS = 200,
    TRIAL_MS = 200, /* then those that told must do */
    BACK_PART = 1000,
    CONFIRMS = 4, /* stalls that follow each other so closely are not waited for */
};

/* Of a stall: from the readings' lower bounds to their upper bounds. */
struct span {
    int64_t least_ms, most_ms;
};

static const int64_t UNKNOWN_MS = (int64_t)1 << 40;

/* ---- readings ---- */

static bool has_base(const struct master *m)
{
    return m->clock.base.time_ms != 0;
}

/* What the master's clock advanced since its base beyond the longest that can have passed here: from the sending of the
 * base's question to the arrival of this answer. */
static int64_t excess_ms(const struct coordinator *c, const struct master *m, int64_t clock_ms)
{
    int64_t passed_ms = c->now_ms - m->clock.base.sent_ms;
    return clock_ms - m->clock.base.time_ms - passed_ms - passed_ms / SLEW_PART;
}

/* A clock that is set back is no danger to locks, which then live longer, but it needs a look. */
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

/* Until INFO is answered it is taken for the run that was there before: if it is not, its handshake finds out. */
static const char *run_of(const struct master *m)
{
    return m->handshake.has_info ? m->handshake.info.run_id : m->run_id;
}

static bool is_of_base(const struct master *m)
{
    return memcmp(m->clock.base.run_id, run_of(m), RUN_ID_HEX) == 0;
}

static void rebase(struct master *m)
{
    m->clock.level_ms = m->clock.asked_at_ms;
    if (!has_base(m) || m->clock.base_stalled || m->clock.excess_ms > AHEAD_MS)
        m->clock.level_from_ms = m->clock.asked_at_ms;
    m->clock.base.time_ms = m->clock.time_ms;
    m->clock.base.sent_ms = m->clock.asked_at_ms;
    m->clock.base.rtt_ms = m->clock.told_at_ms - m->clock.asked_at_ms;
    m->clock.tried_ms = 0;
    m->clock.base_stalled = false;
    m->clock.excess_ms = 0;
    memcpy(m->clock.base.run_id, run_of(m), RUN_ID_HEX);
}

/* A master that is kept out for its clock is not let in while that runs fast. */
static int64_t jump_ms(const struct coordinator *c, const struct master *m)
{
    return (masters_clock_doubted(c) & masters_bit(m->index)) ? AHEAD_MS : JUMP_MS;
}

/* A reading that is ahead must not become the base of the next one, which would look good then. Of another run the first reading
 * is the base, since only within a run a jump is a doubt; and after a stall of this daemon, since what a master is still ahead would add to
 * the next stall, and be blamed on the master. */
static void rebase_if_good(const struct coordinator *c, struct master *m)
{
    if (m->clock.base_unsure)
        return;
    int64_t passed_ms = m->clock.asked_at_ms - m->clock.base.sent_ms;
    bool tighter = m->clock.time_ms - m->clock.base.time_ms <= passed_ms; /* it hides less of a round trip */
    bool old = passed_ms >= GOOD_BASE_MS && m->clock.excess_ms <= GOOD_MS;
    if (tighter || old || m->clock.base_stalled || !is_of_base(m) ||
        c->now_ms - m->clock.base.sent_ms >= BASE_MS || mutant(MUTANT_BASE_MOVED))
        rebase(m);
}

void trial_ask_time(struct coordinator *c, struct master *m)
{
    if (m->clock.times_asked - m->clock.times_told == TIMES)
        return; /* it has enough to answer */
    struct time_asked *asked = &m->clock.times[m->clock.times_asked++ % TIMES];
    asked->sent_ms = c->now_ms;
    asked->unsure = false;
    asked->trial = c->trial.open ? c->trial.number : 0;
    action_send(c, masters_bit(m->index), &(struct command){.verb = COMMAND_TIME});
}

/* ---- a trial ---- */

/* The question that is under way was asked since this trial began. */
static bool is_asked_anew(const struct coordinator *c, const struct master *m)
{
    return m->clock.times_asked != m->clock.times_told &&
           m->clock.times[(m->clock.times_asked - 1) % TIMES].trial == c->trial.number;
}

static void hear(struct coordinator *c, const struct master *m, uint32_t trial)
{
    masters_t bit = masters_bit(m->index);
    if (trial == c->trial.number || mutant(MUTANT_INCONCLUSIVE_COUNTS))
        c->trial.anew |= bit;
    c->trial.told |= bit;
    c->trial.excess_ms[m->index] = m->clock.excess_ms;
    int64_t slack_ms =
        m->clock.base.rtt_ms + m->clock.told_at_ms - m->clock.asked_at_ms +
        (c->now_ms - m->clock.base.sent_ms) / SLEW_PART; /* an old base hides that much of a stall */
    c->trial.slack_ms[m->index] = slack_ms;
    if (mutant(MUTANT_INCONCLUSIVE_COUNTS))
        c->trial.slack_ms[m->index] = 0;
    c->trial.awaited = masters_without(c->trial.awaited, bit);
}

/* A question that is under way already may have been answered before the stall: then it is asked again. */
static void begin(struct coordinator *c, const struct master *first)
{
    struct trial *trial = &c->trial;
    trial->open = true;
    trial->number++;
    trial->told = trial->awaited = trial->anew = 0;
    trial->confirms = 0;
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

/* A master that is ahead may have read its clock in the middle of a stall. If it was asked to confirm and did not, then
 * nothing says how long the stall was at most. */
static int64_t most_excess_ms(const struct trial *trial, unsigned i, bool stalled)
{
    bool confirmed = trial->confirms == 0 || (trial->anew & masters_bit(i));
    if (!confirmed && trial->excess_ms[i] > AHEAD_MS)
        return UNKNOWN_MS;
    int64_t slack_ms =
        trial->slack_ms[i]; /* where nothing else speaks for a stall, masters that are slow hide no jump */
    return trial->excess_ms[i] + (stalled || slack_ms < SLACK_MS ? slack_ms : SLACK_MS);
}

/* A master whose first reading was made after the jump, or the stall, that another shows cannot say which it was. */
static masters_t witnesses(const struct coordinator *c)
{
    const struct trial *trial = &c->trial;
    int64_t since_ms = INT64_MAX;
    masters_t set = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((trial->told & masters_bit(i)) && trial->excess_ms[i] > JUMP_MS &&
            c->masters[i].clock.level_ms < since_ms)
            since_ms = c->masters[i].clock.level_ms;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (trial->excess_ms[i] > AHEAD_MS || c->masters[i].clock.level_from_ms <= since_ms)
            set |= masters_bit(i);
    return set & trial->told;
}

static int64_t rank_ms(const struct trial *trial, masters_t set, unsigned rank)
{
    uint64_t positive_ms[MASTERS] = {0};
    for (unsigned i = 0; i < MASTERS; i++)
        if ((set & masters_bit(i)) && trial->excess_ms[i] > 0)
            positive_ms[i] = (uint64_t)trial->excess_ms[i];
    return (int64_t)quorum_nth_largest(positive_ms, set, rank);
}

static int64_t rank_of_most_ms(const struct trial *trial, masters_t set, unsigned rank, bool stalled)
{
    uint64_t positive_ms[MASTERS] = {0};
    for (unsigned i = 0; i < MASTERS; i++) {
        int64_t ms = most_excess_ms(trial, i, stalled);
        if ((set & masters_bit(i)) && ms > 0)
            positive_ms[i] = (uint64_t)ms;
    }
    return (int64_t)quorum_nth_largest(positive_ms, set, rank);
}

/* By how much a majority of the masters that told is ahead, at least and at most. Of two that differ nobody knows which
 * is right, nor of one alone: then it is taken for a stall of this daemon, which is safe. */
static struct span majority(const struct coordinator *c)
{
    masters_t set = witnesses(c);
    unsigned told = masters_count(set);
    bool tie = told == 2 && rank_ms(&c->trial, set, 2) <= AHEAD_MS;
    unsigned rank = tie ? 1 : told / 2 + 1;
    struct span span = {0};
    if (mutant(MUTANT_STALL_BLAMES_MASTERS) || (mutant(MUTANT_FIRST_ANSWER_BLAMED) && told == 1))
        return span;
    span.least_ms = rank_ms(&c->trial, set, rank);
    span.most_ms = rank_of_most_ms(&c->trial, set, rank, span.least_ms > AHEAD_MS);
    return span;
}

/* Only a jump within one run can have ended keys that this master is trusted for. What the round trips of the others may
 * hide of a stall is not blamed on a master that is near. */
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

/* A majority is ahead by so much, at least. What any of them shows beyond that, and what they may all have seen, is
 * believed as well: it shortens promises, and blames nobody. */
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

/* At most N-Q masters at a time are kept out for their clocks: a quorum must be left, and so many clocks that jump at
 * once are one clock that stood still. */
static int64_t decide_stall(const struct coordinator *c)
{
    int64_t stall_ms = longest_stall_ms(c);
    masters_t doubted = masters_clock_doubted(c), suspects = masters_without(jumped(c, stall_ms), doubted);
    unsigned most = c->config.masters - c->quorum, out = masters_count(doubted);
    unsigned allowed = most > out ? most - out : 0;
    if (masters_count(suspects) > allowed && !mutant(MUTANT_STALL_BLAMES_MASTERS))
        stall_ms = rank_ms(&c->trial, suspects, allowed + 1);
    return stall_ms;
}

/* A reading that was made since the stall is of a later moment than it was taken for. Whether it was, is only known
 * of what was asked in the trial; else its excess tells. */
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

/* The one place where behind grows. Promises follow it: deadlines that were told, t0 of rounds, how long keys live.
 * Time-outs do not, or all would fire at once and close healthy masters. */
static void stood_still(struct coordinator *c, int64_t stall_ms)
{
    c->behind_ms += mutant(MUTANT_BEHIND_TWICE) ? 2 * stall_ms : stall_ms;
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

static void close_trial(struct coordinator *c)
{
    c->trial.open = false;
    heap_remove(&c->deadlines, &c->trial.item);
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next) {
        struct round *round = IN_FLIGHT_OWNER(round, in_flight);
        if (round->ready)
            in_flight_make_stale(&c->rounds_pending, in_flight);
    }
}

/* A reading that was asked for before the stall was seen is no base. Those masters are asked again, so that they have
 * a base soon. */
static void ask_for_bases(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (m->state != MASTER_DOWN && has_base(m) && !(c->trial.anew & masters_bit(i)))
            trial_ask_time(c, m);
    }
}

/* Before a master is blamed, the others are asked once more: they may have read their clocks in the middle of the stall,
 * or before a second one. */
static bool confirms(struct coordinator *c, masters_t suspects)
{
    struct trial *trial = &c->trial;
    bool asked = trial->confirms > 0 && !(suspects & trial->anew); /* since these were heard */
    if (suspects == 0 || asked || trial->confirms == CONFIRMS || mutant(MUTANT_FIRST_ANSWER_BLAMED))
        return false;
    trial->confirms++;
    trial->number++;
    trial->anew = trial->awaited = 0; /* nobody waits for a master that hangs */
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
            rebase(m);
            memory_clock_jumped(c, m);
        } else if ((c->trial.told & masters_bit(i)) && stall_ms == 0 && m->clock.excess_ms > JUMP_MS &&
                   is_of_base(m)) {
            m->clock.tried_ms =
                m->clock
                    .excess_ms; /* others are too far away to tell: it is tried again when it is further ahead */
        } else if (c->trial.told & masters_bit(i)) {
            rebase_if_good(c, m);
        }
    }
    if (stall_ms > 0)
        ask_for_bases(c);
}

static bool is_decided(const struct coordinator *c)
{
    const struct trial *trial = &c->trial;
    unsigned ahead = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        ahead += (trial->told & masters_bit(i)) && trial->excess_ms[i] > AHEAD_MS;
    return trial->awaited == 0 || (ahead >= c->quorum && trial->confirms == 0) ||
           mutant(MUTANT_FIRST_ANSWER_BLAMED);
}

/* An answer to a question from before the trial that is not ahead says nothing. */
static void trial_look(struct coordinator *c, struct master *m, uint32_t trial)
{
    bool counts =
        m->clock.excess_ms > AHEAD_MS || trial == c->trial.number || mutant(MUTANT_INCONCLUSIVE_COUNTS);
    bool awaited = c->trial.awaited & masters_bit(m->index);
    if (counts) /* also of a master that has told already: its clock jumped since */
        hear(c, m, trial);
    else if (awaited && !is_asked_anew(c, m))
        trial_ask_time(c, m);
    if (is_decided(c))
        trial_decide(c);
}

/* ---- what happens ---- */

static void read_clock(struct coordinator *c, struct master *m, const struct time_asked *asked,
                       int64_t clock_ms)
{
    bool was_set_back = look_for_step_back(c, m, asked->sent_ms, clock_ms);
    m->clock.time_ms = clock_ms;
    m->clock.asked_at_ms = asked->sent_ms;
    m->clock.told_at_ms = c->now_ms;
    m->clock.unsure = false;
    m->clock.base_unsure = asked->unsure;
    if (!has_base(m) || (!is_of_base(m) && mutant(MUTANT_COMPARED_WITHIN_RUN))) {
        rebase(m);
        return;
    }
    m->clock.excess_ms = excess_ms(c, m, clock_ms);
    if (was_set_back && !asked->unsure)
        rebase(m); /* by what it jumps forward from here is measured from here */
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
