/* Generations of the masters: a daemon's way from one set to the next, and where it begins. */
#include "tests/unit/trace.h"

#define OURS   UINT64_C(0x0123456789abcdef)
#define THEIRS UINT64_C(0xfedcba9876543210)

enum { PLACES = 6, MAX_TTL = 10000, FULL = 10102, STEP = FULL + 3100 /* F, and a little */ };

/* Generation g is on the masters g, g+1, g+2. */
static struct coordinator_set set_of(uint32_t generation)
{
    return (struct coordinator_set){.generation = generation,
                                    .masters = 3,
                                    .of = (uint16_t)(7u << generation),
                                    .hash = OURS + generation,
                                    .max_ttl_ms = MAX_TTL};
}

static void begin(uint32_t generation, bool before)
{
    config.max_ttl_ms = config.default_ttl_ms = MAX_TTL;
    config.set = set_of(generation);
    if (before)
        config.before = set_of(generation - 1);
    start_alone(PLACES);
}

static void reach(unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++)
        dial(i);
    for (unsigned i = first; i <= last; i++)
        shake(i);
    handshakes_until(now + 1000);
}

static struct group_row row_now(void)
{
    struct group_row row;
    coordinator_group_row(core, &row);
    return row;
}

static void no_daemon_is_behind(void)
{
    coordinator_daemons(core, &(struct coordinator_daemons){.lowest_step = UINT32_MAX, .knows_steps = true});
}

static void step_until(uint32_t number)
{
    while (row_now().step < number && now < 200000) {
        no_daemon_is_behind();
        handshakes_until(now + 1000);
    }
}

#define EXPECT_STEP(number, is)                    \
    do {                                           \
        ck_assert_uint_eq(row_now().step, number); \
        ck_assert_int_eq(row_now().state, is);     \
    } while (0)

static void shows(unsigned master, uint32_t step, uint64_t set, uint64_t before, bool settled)
{
    marker_set(master, 0, MAX_TTL, markers[master].clock_ms + now);
    markers[master].group.step = step;
    markers[master].group.set = set;
    markers[master].group.before = before;
    markers[master].group.since_ms = markers[master].clock_ms + now;
    markers[master].group.settled = settled;
}

T(one_of_three_is_replaced)
{
    begin(0, false);
    reach(0, 2);
    ask(1, "LOCK job ttl=10s hold=lease");
    vote("0-2", "SET YES, ZADD YES");
    struct coordinator_set next = set_of(1);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_SAME);
    EXPECT_STEP(0, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_DAEMON);
    ck_assert_uint_eq(coordinator_places(core), 15);
    dial(3);
    shake(3);
    handshakes_until(now + 2000);
    EXPECT_MASTER(3, "refused group");
    ck_assert_uint_eq(markers[0].group.step, 0);
    no_daemon_is_behind();
    int64_t begun_ms = now;
    handshakes_until(begun_ms + STEP - 1000);
    ck_assert_uint_eq(markers[0].group.step, 1);
    EXPECT_STEP(0, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_SINCE);
    handshakes_until(begun_ms + STEP + 3000);
    EXPECT_STEP(1, GROUP_JOINT);
    ck_assert_uint_eq(row_now().voters, 6);
    ck_assert_uint_eq(row_now().needed, 2);
    no_daemon_is_behind();
    handshakes_until(now + STEP + 4000);
    EXPECT_STEP(2, GROUP_STEADY);
    ck_assert_uint_eq(row_now().voters, 14);
    ck_assert_uint_eq(markers[3].group.step, 2);
    handshakes_until(now + FULL + 2000);
    ck_assert_uint_eq(coordinator_places(core), 14);
    EXPECT_MASTER(3, "up");
    forget();
}

/* This host's clock is an hour ahead, so that the clock of the masters bounds the fence. */
static void expect_fence(const char *masters, int64_t clock_ms)
{
    char zadd[64];
    wall_offset_us = (clock_ms + 3600000) * 1000;
    handshakes_until(now + 1000);
    forget();
    ask(1, "LOCK job");
    snprintf(zadd, sizeof zadd, "m%s ZADD job %" PRId64, masters, (now + clock_ms + MAX_TTL / 2) * 1000);
    EXPECT_LAST(zadd);
}

static void to_generation_1(void)
{
    struct coordinator_set next = set_of(1);
    begin(0, false);
    reach(0, 2);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    dial(3);
    shake(3);
    handshakes_until(now + 2000);
    step_until(2);
}

/* By the clock of the master that has left, two of the others would be wrong. */
T(a_master_that_has_left_has_no_say_in_the_clock)
{
    markers[2].clock_ms += 20000;
    markers[3].clock_ms += 20000;
    to_generation_1();
    ck_assert_uint_eq(row_now().voters, 14);
    expect_fence("1-3", markers[2].clock_ms);
    vote("1-3", "SET YES, ZADD YES");
    forget();
}

/* By the clock of the server that had the place before, the other of the two in reach would be right. */
T(a_place_that_another_server_takes_has_told_no_clock)
{
    markers[2].clock_ms += 20000;
    to_generation_1();
    handshakes_until(now + FULL + 2000);
    ck_assert_uint_eq(coordinator_places(core), 14);
    struct coordinator_set next = set_of(2);
    next.of = 1 << 0 | 1 << 2 | 1 << 3;
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    lose(0);
    step_until(4);
    ck_assert_uint_eq(row_now().voters, next.of);
    expect_fence("2-3", markers[2].clock_ms);
    vote("2-3", "SET YES, ZADD YES");
    forget();
}

/* Another client's key is in the way on the third master until after the step. The voters of the step are masters 1 and 2,
 * but who has the key are masters 0 and 1: a quorum of the step before. */
T(a_lock_granted_just_before_a_step_is_healed)
{
    config.node_timeout_ms = 900; /* for twice that time no step waits for a new lock's copies */
    begin(0, false);
    reach(0, 2);
    struct coordinator_set next = set_of(1);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    dial(3);
    shake(3);
    handshakes_until(now + 2000);
    no_daemon_is_behind();
    while (row_now().why != GROUP_WHY_SINCE || row_now().left_ms > STEP + 1000)
        handshakes_until(now + 1000);
    EXPECT_STEP(0, GROUP_WAITING);
    forget();
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job *");
    vote("2", "SET NO, ZADD YES");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
    handshakes_until(now + 1000);
    EXPECT_STEP(1, GROUP_JOINT);
    forget();
    at(now + 2500);
    EXPECT("m0-3 EXTEND job T1 10000");
    vote("0-1", "EXTEND 10000");
    vote("3", "EXTEND NO");
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T1 *", "m3 HEAL job T1 *");
    vote("2-3", "HEAL YES");
    at(now + 1000);
    vote("0-3", "EXTEND 10000");
    EXPECT("m0-3 EXTEND job T1 10000", "s1 !RENEWED job *");
}

/* A host is named as long as the list of daemons is one of this step. */
T(who_is_waited_for)
{
    struct coordinator_daemons behind = {.lowest_step = 0, .lowest_host = "web2", .knows_steps = true};
    begin(0, false);
    reach(0, 2);
    coordinator_daemons(core, &behind);
    struct coordinator_set next = set_of(1);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    ck_assert_int_eq(row_now().why, GROUP_WHY_DAEMON);
    ck_assert_str_eq(row_now().host, "");
    dial(3);
    shake(3);
    coordinator_daemons(core, &behind);
    handshakes_until(now + STEP + 3000);
    EXPECT_STEP(1, GROUP_JOINT);
    ck_assert_int_eq(row_now().why, GROUP_WHY_DAEMON);
    ck_assert_str_eq(row_now().host, "");
    coordinator_daemons(core, &behind);
    handshakes_until(now + 2000);
    EXPECT_STEP(1, GROUP_JOINT);
    ck_assert_int_eq(row_now().why, GROUP_WHY_DAEMON);
    ck_assert_str_eq(row_now().host, "web2");
    forget();
}

T(what_a_reload_may_ask_for)
{
    begin(0, false);
    reach(0, 2);
    struct coordinator_set same = set_of(0), other = set_of(0), jump = set_of(2), big = set_of(1);
    other.hash++;
    big.of = 7 << 3;
    ck_assert_int_eq(coordinator_reload(core, &same).group, RELOAD_SAME);
    ck_assert_int_eq(coordinator_reload(core, &other).group, RELOAD_OTHER_LIST);
    ck_assert_int_eq(coordinator_reload(core, &jump).group, RELOAD_JUMP);
    struct reload_answer answer = coordinator_reload(core, &big);
    ck_assert_int_eq(answer.group, RELOAD_TOO_BIG);
    ck_assert_uint_eq(answer.keep, 2);
    struct coordinator_set next = set_of(1), then = set_of(2);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    ck_assert_int_eq(coordinator_reload(core, &then).group, RELOAD_BUSY);
    forget();
}

T(masters_that_are_two_steps_ahead_end_all)
{
    begin(0, false);
    reach(0, 2);
    ask(1, "LOCK job ttl=10s hold=lease");
    vote("0-2", "SET YES, ZADD YES");
    shows(0, 2, THEIRS, OURS + 7, true);
    handshakes_until(now + 1500);
    EXPECT_STEP(0, GROUP_OUTDATED);
    ck_assert_int_eq(row_now().why, GROUP_WHY_OLD_FILE);
    ck_assert_uint_eq(row_now().their_step, 2);
    forget();
    ask(2, "LOCK other ttl=10s");
    EXPECT_LAST("s2 #2 -NOQUORUM other *");
    ask(1, "UNLOCK job");
    forget();
}

T(a_start_with_an_old_file_is_refused)
{
    begin(1, false);
    shows(1, 4, OURS + 2, OURS + 9, true);
    shows(2, 4, OURS + 2, OURS + 9, true);
    reach(1, 3);
    EXPECT_STEP(0, GROUP_OUTDATED);
    ck_assert_int_eq(row_now().why, GROUP_WHY_OLD_FILE);
    forget();
}

T(a_start_with_a_file_that_is_too_new_is_refused)
{
    begin(3, false);
    shows(3, 2, OURS + 1, OURS + 9, true);
    reach(3, 5);
    EXPECT_STEP(0, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_LOAD_FIRST);
    forget();
}

T(a_start_half_way_needs_the_list_before)
{
    begin(2, false);
    shows(2, 2, OURS + 1, OURS + 9, true);
    shows(3, 2, OURS + 1, OURS + 9, true);
    reach(2, 4);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NEEDS_BEFORE);
    forget();
}

T(a_start_half_way_begins_by_the_list_before)
{
    begin(2, true);
    for (unsigned i = 1; i <= 3; i++)
        shows(i, 2, OURS + 1, OURS + 9, true);
    reach(1, 4);
    EXPECT_STEP(2, GROUP_WAITING);
    ck_assert_uint_eq(row_now().voters, 14);
    forget();
}

T(a_step_that_is_not_settled_is_waited_for)
{
    begin(2, true);
    for (unsigned i = 1; i <= 3; i++)
        shows(i, 2, OURS + 1, OURS + 9, false);
    reach(1, 4);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NOT_SETTLED);
    markers[2].group.settled = true;
    handshakes_until(now + 2500);
    EXPECT_STEP(2, GROUP_WAITING);
    handshakes_until(now + 2500);
    ck_assert(markers[1].group.settled && markers[3].group.settled); /* others may begin by them, too */
    forget();
}

/* Others may run by a list that has none of these masters: only the operator can know. */
T(masters_without_a_key_begin_no_later_generation)
{
    begin(1, true);
    reach(0, 3);
    handshakes_until(now + 2500);
    EXPECT_STEP(0, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NO_MARKER);
    for (unsigned i = 0; i <= 3; i++)
        ck_assert(!markers[i].there);
    forget();
}

/* A master showed step 3 and forgot it. Whoever wrote that may run still, so a file of generation 1 stays too old. */
T(a_step_that_was_forgotten_since_counts_at_a_start)
{
    begin(1, true);
    shows(0, 5, THEIRS, OURS + 9, false);
    reach(0, 2);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NO_MARKER); /* until all were heard */
    dial(3);
    shake(3);
    ck_assert_int_eq(row_now().why, GROUP_WHY_OLD_FILE);
    for (unsigned i = 0; i <= 3; i++)
        markers[i].there = false;
    handshakes_until(now + 3000);
    EXPECT_STEP(0, GROUP_OUTDATED);
    ck_assert_int_eq(row_now().why, GROUP_WHY_OLD_FILE);
    forget();
}

/* The operator says that no other daemon runs: masters without a key get one although one is away, and wait. */
T(a_start_by_the_operators_word)
{
    config.begin_at = true;
    begin(1, false);
    lose(3);
    reach(1, 2);
    handshakes_until(now + 2000);
    EXPECT_STEP(2, GROUP_STEADY);
    for (unsigned i = 1; i <= 2; i++)
        ck_assert(markers[i].there && markers[i].group.step == 2);
    ck_assert_uint_eq(coordinator_voters(core), 0);
    handshakes_until(now + FULL + 2000);
    ck_assert_uint_eq(coordinator_voters(core), 2);
    forget();
}

T(a_start_by_the_operators_word_below_a_master)
{
    config.begin_at = true;
    begin(1, false);
    shows(2, 3, THEIRS, OURS + 9, true);
    reach(1, 3);
    EXPECT_STEP(0, GROUP_OUTDATED);
    ck_assert_int_eq(row_now().why, GROUP_WHY_OLD_FILE);
    ck_assert(!markers[1].there && !markers[3].there);
    forget();
}

/* Once a quorum shows the step, who forgets it is judged as always: another one may have made others go on. */
T(the_operators_word_does_not_outlast_the_start)
{
    config.begin_at = true;
    begin(1, false);
    lose(3);
    reach(1, 2);
    handshakes_until(now + FULL + 3000);
    ck_assert_uint_eq(coordinator_voters(core), 2);
    lose(1);
    lose(2);
    handshakes_until(now + MAX_TTL + 1000);
    for (unsigned i = 1; i <= 2; i++) {
        markers[i].there = false;
        dial(i);
        shake(i);
    }
    EXPECT_STEP(2, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NO_MARKER);
    ck_assert(!markers[1].there && !markers[2].there);
    forget();
}

/* The word is about the start. A daemon that others left behind follows as any other. */
T(the_operators_word_is_over_once_it_was_used)
{
    config.begin_at = true;
    begin(1, false);
    reach(1, 3);
    EXPECT_STEP(2, GROUP_STEADY);
    for (unsigned i = 1; i <= 3; i++)
        shows(i, 5, THEIRS, OURS + 9, false);
    handshakes_until(now + 2000);
    EXPECT_STEP(2, GROUP_OUTDATED);
    struct coordinator_set next = set_of(3);
    ck_assert_int_eq(coordinator_reload(core, &next).group, RELOAD_TAKEN);
    lose(4);
    lose(5);
    handshakes_until(now + 2000);
    EXPECT_STEP(2, GROUP_OUTDATED);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NEEDS_BEFORE);
    forget();
}

/* One of them stays away: nobody can know what it would say. */
T(masters_that_forgot_while_one_is_away)
{
    begin(1, false);
    for (unsigned i = 1; i <= 3; i++)
        shows(i, 2, OURS + 1, OURS + 9, true);
    reach(1, 3);
    for (unsigned i = 1; i <= 3; i++)
        lose(i);
    handshakes_until(now + MAX_TTL + 1000);
    EXPECT_STEP(2, GROUP_STEADY);
    for (unsigned i = 1; i <= 3; i++)
        markers[i].there = false;
    dial(1);
    shake(1);
    EXPECT_STEP(2, GROUP_STEADY); /* a quorum may have it yet */
    dial(2);
    shake(2);
    EXPECT_STEP(2, GROUP_WAITING);
    ck_assert_int_eq(row_now().why, GROUP_WHY_NO_MARKER);
    dial(3);
    shake(3);
    vote("3", "KILL 1");
    handshakes_until(now + 1000);
    vote("1-2", "KILL 1");
    handshakes_until(now + 3000);
    EXPECT_STEP(2, GROUP_STEADY);
    ck_assert(markers[1].there && markers[2].there && markers[3].there);
    forget();
}

T(all_masters_lose_their_memory)
{
    begin(1, false);
    for (unsigned i = 1; i <= 3; i++)
        shows(i, 2, OURS + 1, OURS + 9, true);
    reach(1, 3);
    EXPECT_STEP(2, GROUP_STEADY);
    for (unsigned i = 1; i <= 3; i++)
        markers[i].there = false;
    handshakes_until(now + 3000);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert(markers[i].there && markers[i].group.step == 2);
    ck_assert_uint_eq(coordinator_voters(core), 0);
    forget();
}
