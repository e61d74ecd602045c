/* Traces: which clock was wrong: a master's that jumped, or this daemon's that stood still? */
#include "tests/unit/trace.h"

#include <string.h>

#define FULL 60602 /* max_ttl and its drift */

/* The daemon's host stands still without counting the time: all masters' clocks are ahead by that
 * much. */
static void stand_still(int64_t ms)
{
    for (unsigned i = 0; i < config.masters; i++)
        markers[i].clock_ms += ms;
}

static void all_are_up(void)
{
    for (unsigned i = 0; i < config.masters; i++)
        EXPECT_MASTER(i, "up");
}

/* ---- this daemon's ---- */

T(a_stall_is_ours_when_a_majority_is_ahead)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(1990);
    stand_still(150);
    at(2000);
    EXPECT("behind 148 of 148"); /* but for 0.2 % of the time since the last good reading */
    all_are_up();
    ask(1, "CHECK job token=T1");
    EXPECT("s1 #2 +HELD job valid=8749 until=10749"); /* told before: until=10897 */
    forget();
}

T(what_is_over_by_then_is_lost_at_once)
{
    start(3);
    grant(1, "LOCK job ttl=5s");
    at(1100);
    stand_still(5000);
    at_without_work(2000);
    forget();
    work();
    EXPECT("behind 4998 of 4998", "s1 !LOST job token=T1 reason=expired");
    all_are_up();
}

T(time_outs_do_not_count_a_stall)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job *");
    show_probes = true;
    at(1040); /* node_timeout is 50 */
    stand_still(5000);
    lose(2);
    dial(2);
    forget();
    show_probes = false;
    vote("2", "CLIENT_ID OK, INFO OK"); /* the TIME of this handshake alone shows the stall */
    at(1049);
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "up");
    forget();
}

/* The first answer after a stall stands alone: the other masters answered before it. */
T(the_first_answer_after_a_stall_is_not_blamed)
{
    start(5);
    show_probes = true;
    at(2000);
    vote("1-4", "TIME OK"); /* on their way during the stall, read before it */
    stand_still(500);
    at(2020);
    lose(0);
    dial(0);
    forget();
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK");
    EXPECT("m1 TIME", "m2 TIME", "m3 TIME", "m4 TIME");
    vote("1-2", "PROBE OK, TIME OK");
    EXPECT("behind 500 of 500", "m0 TIME", "m3 TIME",
           "m4 TIME"); /* by the third largest; the others are asked anew */
    vote("0", "GROUP OK, TIME OK, KILL 1");
    show_probes = false;
    forget();
    all_are_up();
}

/* An answer to a question from before the trial may have been read before the stall. */
T(an_answer_from_before_is_asked_for_again)
{
    start(3);
    show_probes = true;
    at(2000); /* all masters are asked; two of them read their clocks now ... */
    int64_t before_ms = now + markers[0].clock_ms;
    char old[64];
    snprintf(old, sizeof old, "TIME %" PRId64, before_ms);
    stand_still(500); /* ... and one after it */
    forget();
    vote("2", "TIME OK");
    EXPECT_NOTHING();
    vote("0", old);
    EXPECT("m0 TIME");
    vote("1", old);
    EXPECT("m1 TIME");
    vote("0", "PROBE OK, TIME OK");
    EXPECT("behind 498 of 498", "m1 TIME", "m2 TIME"); /* asked again, for a base */
    forget();
}

T(no_grant_is_told_while_nobody_knows)
{
    start(3);
    show_probes = true;
    at(2000);
    forget();
    ask(1, "LOCK job ttl=10s");
    stand_still(500);
    vote("0", "TIME OK");
    vote("0", "PROBE OK, SET YES, ZADD YES");
    vote("1", "TIME 1700000002000, PROBE OK, SET YES, ZADD YES");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job *", "m1 TIME");
    vote("1", "TIME OK");
    EXPECT("behind 498 of 498", "m0 TIME", "m2 TIME");
    work();
    EXPECT("s1 #1 +LOCKED job token=T1 fence=* valid=9399 until=11399"); /* 11897 without the stall */
    forget();
}

T(nor_is_it_lost_while_nobody_knows)
{
    start(3);
    show_probes = true;
    at(2000);
    ask(1, "LOCK job ttl=10s");
    stand_still(500);
    vote("0-1", "TIME 1700000002000");
    vote("2", "TIME OK");
    vote("0-1", "PROBE OK, SET YES, ZADD YES");
    forget();
    at(2060); /* beyond node_timeout */
    forget();
    at(2200); /* the trial is over: one master told the time */
    EXPECT("behind 498 of 498", "m0 TIME", "m1 TIME", "m2 TIME",
           "s1 #1 +LOCKED job token=T1 fence=* valid=* until=11399");
    forget();
}

T(an_extend_that_a_stall_made_late_is_no_loss)
{
    start(3);
    grant(1, "LOCK job ttl=10s hold=lease");
    ask(2, "EXTEND job token=T1 ttl=200ms");
    EXPECT("m0-2 EXTEND job T1 200");
    stand_still(300);
    lose(2);
    dial(2);
    vote("2", "CLIENT_ID OK, INFO OK");
    vote("0-1", "EXTEND 200");
    work();
    EXPECT_LAST("s2 #2 -NOQUORUM job votes=2/3 nodes=* retry=*");
    forget();
}

/* Nobody knows which of the two clocks is right, so the stall counts as this daemon's, which is
 * safe. */
T(a_tie_is_ours)
{
    start(3);
    lose(2);
    at(1990);
    markers[0].clock_ms += 700;
    at(2000);
    EXPECT("behind 698 of 698");
    EXPECT_MASTER(0, "up");
    forget();
}

T(one_alone_is_ours)
{
    start(1);
    at(1990);
    markers[0].clock_ms += 700;
    at(2000);
    EXPECT("behind 698 of 698");
    EXPECT_MASTER(0, "up");
}

/* ---- a master's ---- */

T(one_of_three_that_jumped_is_kept_out)
{
    start(3);
    at(1990);
    markers[1].clock_ms += 60;
    at(2000);
    EXPECT_NOTHING();
    EXPECT_MASTER(1, "quarantine clock left=60602");
    struct master_row row;
    coordinator_master_row(core, now, 1, &row);
    ck_assert_uint_eq(strlen(row.by), 8);
    ck_assert_str_eq(markers[1].group.by, row.by);
    ck_assert_str_eq(markers[1].group.why, "clock");
    forget();
}

/* A quorum must be left: when too many clocks jump, this daemon stood still. */
T(no_more_than_a_minority_is_kept_out)
{
    start(3);
    at(1990);
    markers[1].clock_ms += 500;
    at(2000);
    EXPECT_MASTER(1, "quarantine clock left=60602");
    forget();
    at(2990);
    markers[2].clock_ms += 800;
    at(3000);
    EXPECT("behind 798 of 798");
    EXPECT_MASTER(2, "up");
    EXPECT_MASTER(1, "quarantine clock left=59602"); /* the rest of the quarantine stays as it was */
    forget();
}

/* The answers that confirm a blame are awaited, but no master that did not answer before. */
T(a_blame_waits_for_no_master_that_hangs)
{
    start(5);
    show_probes = true;
    at(2000);
    stand_still(500);
    markers[1].clock_ms += 2000;
    vote("0-2", "TIME OK, PROBE OK"); /* 3 and 4 hang */
    forget();
    vote("0", "TIME OK");
    EXPECT_MASTER(1, "up");
    vote("2", "TIME OK");
    EXPECT_MASTER(1, "quarantine clock left=60602");
    forget();
}

/* Nobody knows when master 1 read its clock, since the stall that is believed in is longer than its lead.
 * So the quarantine that its key tells counts from now. */
T(a_reading_within_a_stall_ends_no_quarantine_sooner)
{
    start(5);
    show_probes = true;
    at(2000);
    stand_still(1000);
    for (unsigned i = 0; i < 5; i++)
        markers[i].clock_ms += i == 1 ? 0 : 800;
    struct group *group = &markers[1].group;
    group->from_ms = markers[1].clock_ms + now + 30000;
    memcpy(group->by, "5f0c93aa", 9);
    memcpy(group->why, "clock", 6);
    vote("1", "TIME OK");
    vote("0,2", "TIME OK");
    vote("1", "PROBE OK");
    EXPECT_MASTER(1, "quarantine clock left=30000");
    forget();
}

/* The base of master 2 was read over a long round trip, which hides half of the stall. */
T(what_a_slow_base_hides_is_not_blamed)
{
    start(3);
    show_probes = true;
    at(2000);
    stand_still(100);
    vote("0-1", "TIME OK, PROBE OK");
    vote("0-1", "TIME OK");
    at_without_work(now + 300);
    vote("2", "TIME OK, PROBE OK, TIME OK");
    at(3000);
    lose(0);
    stand_still(600);
    forget();
    vote("1", "TIME OK, PROBE OK");
    vote("2", "TIME OK, PROBE OK");
    forget();
    ck_assert_int_eq(coordinator_behind_ms(core), 98 + 598);
    EXPECT_MASTER(1, "up");
    forget();
}

T(who_another_daemon_keeps_out_for_its_clock_counts)
{
    start(3);
    at(1500);
    struct group *group = &markers[1].group;
    group->from_ms = markers[1].clock_ms + now + FULL;
    memcpy(group->by, "5f0c93aa", 9);
    memcpy(group->why, "clock", 6);
    at(2000);
    EXPECT_MASTER(1, "quarantine clock left=60102");
    struct master_row row;
    coordinator_master_row(core, now, 1, &row);
    ck_assert_str_eq(row.by, "5f0c93aa");
    forget();
    at(2990);
    markers[2].clock_ms += 800;
    at(3000);
    EXPECT("behind 798 of 798");
    forget();
}

T(a_reason_of_a_later_version_is_only_a_doubt)
{
    start(3);
    at(1500);
    struct group *group = &markers[1].group;
    group->from_ms = markers[1].clock_ms + now + FULL;
    memcpy(group->why, "gremlins", 9);
    at(2000);
    EXPECT_MASTER(1, "quarantine doubted left=60102");
    forget();
}

/* The keys that the master still has were never gone. */
T(what_a_clock_that_jumped_still_has_counts)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    chance(0);
    at(1990);
    markers[1].clock_ms += 500;
    at(2000);
    EXPECT_MASTER(1, "quarantine clock left=60602");
    lose(2);
    forget();
    at(4000);
    EXPECT("m0-1 EXTEND job T1 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT_LAST("s1 !RENEWED job token=T1 valid=*");
    forget();
}

/* A missing key may have ended early: its absence does not prove a release. */
T(what_a_clock_that_jumped_misses_counts_for_nothing)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    chance(0);
    at(1990);
    markers[1].clock_ms += 500;
    at(2000);
    lose(2);
    forget();
    at(4000);
    vote("0", "EXTEND 10000");
    vote("1", "EXTEND NO");
    work();
    EXPECT("m0-1 EXTEND job T1 10000");
    ask(1, "CHECK job token=T1");
    EXPECT_LAST("s1 #2 +HELD job *");
    forget();
}

/* ---- drift ---- */

/* A stall of a fifth of a second shows whatever became of the master since: a master's clock is its
 * machine's. */
T(clocks_are_compared_across_runs)
{
    start(1);
    restart(0, 1);
    at(1990);
    stand_still(200);
    at(2000);
    dial(0);
    shake(0);
    EXPECT_LAST("behind 198 of 198");
    forget();
}

/* ---- jumps of masters that are kept out ---- */

T(a_master_that_is_kept_out_and_jumps_again_leaves_room_for_no_other)
{
    start(4);
    at(1990);
    markers[1].clock_ms += 500;
    at(2000);
    EXPECT_MASTER(1, "quarantine clock left=60602");
    forget();
    at(2990);
    markers[1].clock_ms += 100;
    markers[2].clock_ms += 700;
    at(3000);
    forget();
    ck_assert_uint_eq(coordinator_voters(core), 3);
}

/* A refused master is doubted when it is used again, which is as good as keeping it out. */
T(a_jump_of_a_master_that_is_refused_counts)
{
    start(3);
    show_probes = true;
    at(2000);
    markers[1].clock_ms += 2000;
    forget();
    vote("1", "TIME OK, PROBE NOPERM");
    EXPECT_MASTER(1, "refused noperm");
    vote("0,2", "TIME OK, PROBE OK, TIME OK");
    vote("0,2", "TIME OK"); /* asked once more before master 1 is blamed */
    at(2900);
    forget();
    show_probes = false;
    markers[2].clock_ms += 500;
    at(3000);
    forget();
    while (unanswered(1) == 0)
        at(now + 100);
    vote("1", "INFO OK");
    work();
    forget();
    ck_assert_uint_eq(coordinator_voters(core), 2);
}
