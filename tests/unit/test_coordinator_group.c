/* Traces: signs that a master may have forgotten: the group's key, the probe and its clock. */
#include "tests/unit/trace.h"

#define CLOCK 1700000000000 /* a master's TIME at 0 */
#define FULL  60602         /* max_ttl and its drift */

/* ---- the first daemon, and the next ---- */

T(first_daemon_writes_the_key_and_reads_it_again)
{
    show_probes = true;
    start_alone(1);
    dial(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 TIME", "m0 GROUP");
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    EXPECT("m0 GROUP_NEW N=1 max_ttl=60000 run=0 from=1700000001000");
    EXPECT_MASTER(0, "handshake");
    vote("0", "GROUP_NEW OK");
    EXPECT("m0 GROUP");
    vote("0", "GROUP OK");
    EXPECT_MASTER(0, "up");
    EXPECT("m0 TIME", "m0 PROBE 600000"); /* the probe keeps the key alive */
    vote("0", "TIME OK, PROBE OK");
    at(1999);
    EXPECT_NOTHING();
    at(2000);
    EXPECT("m0 TIME", "m0 PROBE 600000");
}

T(no_key_is_written_before_every_master_was_read)
{
    start_alone(3);
    show_probes = true;
    dial(0);
    dial(1);
    shake(0);
    shake(1);
    work();
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 TIME", "m0 GROUP", "m1 CLIENT_ID", "m1 INFO", "m1 TIME",
           "m1 GROUP");
    ck_assert_uint_eq(coordinator_settled(core), 0);
    at(5000); /* however long it takes */
    EXPECT_NOTHING();
    lose(2); /* master 2 cannot be reached */
    work();
    /* That the key was absent was told four seconds ago: another daemon may have written it since. */
    EXPECT("m0 INFO", "m0 TIME", "m0 GROUP", "m1 INFO", "m1 TIME", "m1 GROUP");
    vote("0-1", "INFO OK, TIME OK, GROUP NO");
    EXPECT("m0 GROUP_NEW N=3 *", "m1 GROUP_NEW N=3 *");
}

T(a_key_that_was_just_absent_is_written_at_once)
{
    start_alone(2);
    show_probes = true;
    dial(0);
    dial(1);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    at(1040);
    forget();
    vote("1", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    work();
    EXPECT("m1 GROUP_NEW N=2 *", "m0 GROUP_NEW N=2 *");
}

T(a_key_that_was_absent_a_moment_ago_is_read_again)
{
    start_alone(2);
    show_probes = true;
    dial(0);
    dial(1);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    at(1400);
    forget();
    vote("1", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    work();
    EXPECT("m1 GROUP_NEW N=2 *", "m0 INFO", "m0 TIME", "m0 GROUP");
}

T(another_daemon_was_first)
{
    start_alone(1);
    show_probes = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    marker_set(0, 1, 60000, CLOCK + now + 5000);
    vote("0", "GROUP_NEW NO, GROUP OK");
    EXPECT_MASTER(0, "quarantine doubted left=5000");
    forget();
    show_probes = false;
    at(5999);
    EXPECT_MASTER(0, "quarantine doubted left=1");
    at(6000);
    EXPECT_MASTER(0, "up");
}

T(a_quarantine_that_began_before_this_daemon)
{
    start_alone(1);
    info[0].uptime_s = 20;
    marker_set(0, 1, 60000, CLOCK + now + 41000);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine restart left=41000");
    forget();
    lose(0); /* the same again on the next connection */
    at(11000);
    dial(0);
    shake(0);
    vote("0", "KILL 1");
    EXPECT_MASTER(0, "quarantine restart left=31000");
    forget();
}

T(a_from_beyond_all_reason_counts_as_full)
{
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK + 3600000);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine doubted left=60602");
    forget();
}

/* ---- a clock that was set back ---- */

#define YEAR INT64_C(31536000000)

T(a_from_too_far_ahead_is_noted_once)
{
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK + YEAR);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine doubted left=60602");
    ck_assert_int_eq(markers[0].group.from_ms,
                     CLOCK + YEAR); /* else daemons that know it would doubt the master */
    ck_assert_int_eq(markers[0].group.back_ms, CLOCK + 1000);
    at(1000 + FULL - 1);
    EXPECT_MASTER(0, "quarantine doubted left=1");
    at(1000 + FULL);
    EXPECT_MASTER(0, "up");
    ck_assert_int_eq(markers[0].group.back_ms, CLOCK + 1000);
    forget();
}

/* A daemon that starts later does not wait in full once more. */
T(a_daemon_that_starts_after_the_clock_was_set_back)
{
    start_alone(3);
    for (unsigned i = 0; i < 3; i++) {
        marker_set(i, 3, 60000, CLOCK + YEAR);
        markers[i].group.back_ms = CLOCK + now - FULL + 1000 * (int64_t)i;
    }
    reach_all();
    work();
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "quarantine doubted left=1000");
    EXPECT_MASTER(2, "quarantine doubted left=2000");
    forget();
}

/* It lets the master vote no later than from= does. */
T(back_is_over_when_from_is)
{
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK + now + 5000);
    markers[0].group.back_ms = CLOCK + now;
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine doubted left=5000");
    forget();
}

T(a_clock_that_is_set_back_once_more)
{
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK + YEAR);
    markers[0].group.back_ms = CLOCK + YEAR / 2;
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine doubted left=60602");
    ck_assert_int_eq(markers[0].group.back_ms, CLOCK + 1000);
    forget();
}

/* The clock is set back while the daemon runs: that harms nothing here, and later starts need not wait for long. */
T(a_running_daemon_notes_it_and_goes_on)
{
    start(3);
    markers[1].clock_ms -= YEAR;
    at(2000);
    EXPECT_MASTER(1, "up");
    at(3000);
    EXPECT_MASTER(1, "up");
    ck_assert_int_ge(markers[1].group.back_ms, CLOCK - YEAR + 2000);
    ck_assert_int_le(markers[1].group.back_ms, CLOCK - YEAR + 3000);
    forget();
}

/* A doubt cannot lower from=, and other daemons must see it: so from= grows by one, and back= is new. */
T(a_doubt_while_from_is_too_far_ahead)
{
    start(3);
    marker_set(1, 3, 60000, CLOCK + YEAR);
    markers[1].group.back_ms = CLOCK - FULL;
    at(2000); /* another daemon's doubt, which is over */
    at(3000);
    lose(1);
    info[1].replica = true;
    at(4000);
    dial(1);
    vote("1", "CLIENT_ID OK, INFO OK");
    EXPECT_MASTER(1, "refused replica");
    info[1].replica = false;
    at(5000);
    vote("1", "INFO OK, KILL 1");
    EXPECT_MASTER(1, "quarantine demoted left=60602");
    ck_assert_int_gt(markers[1].group.from_ms, CLOCK + YEAR);
    ck_assert_int_le(markers[1].group.from_ms, CLOCK + YEAR + 2);
    ck_assert_int_ge(markers[1].group.back_ms, CLOCK + 5000);
    forget();
}

/* ---- restarts ---- */

T(restarted_from_disk)
{
    start(3);
    struct group before = markers[2].group;
    restart(2, 0);
    markers[2] = (struct marker){.clock_ms = CLOCK, .there = true, .group = before};
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=60602");
    ck_assert_int_eq(markers[2].group.from_ms, CLOCK + now + FULL);
    ck_assert_int_eq(markers[2].group.run_id[0], info[2].run_id[0]);
    forget();
}

T(promoted_with_anothers_memory)
{
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK);
    info[0].run_id[0] = 'f'; /* the key came from the master that it followed */
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine promoted left=60602");
    forget();
}

T(another_daemon_saw_the_restart_first)
{
    start(3);
    restart(2, 30);
    at(now + 30000);
    marker_set(2, 3, 60000, CLOCK + now + 30652);
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=30652");
    forget();
}

/* The clock of the master jumped by 10 s after the other daemon had written the key. */
T(another_daemons_time_comes_too_soon)
{
    start(3);
    restart(2, 30);
    at(now + 30000);
    marker_set(2, 3, 60000, CLOCK + now + 20602);
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=30602");
    forget();
}

T(we_doubt_more_than_what_stands_there)
{
    start(3);
    markers[1].there = false; /* FLUSHALL */
    at(2000);
    EXPECT_MASTER(1, "quarantine memory left=60602");
    int64_t from_ms = CLOCK + now + FULL;
    ck_assert_int_eq(markers[1].group.from_ms, from_ms);
    markers[1].group.from_ms = CLOCK + now + 10000; /* by a daemon that did not see the loss */
    at(3000);
    at(4000);
    ck_assert_int_eq(markers[1].group.from_ms, from_ms);
    EXPECT_MASTER(1, "quarantine memory left=58602");
    forget();
}

/* The loss falls between the probe that found the earlier time and this daemon's GROUP_SET. If that wrote a
 * key where there is none, no daemon would know of the loss. */
T(what_is_gone_meanwhile_is_not_written_anew)
{
    start(3);
    markers[1].there = false; /* FLUSHALL */
    at(2000);
    markers[1].group.from_ms -= 3; /* as another daemon writes it, by the same doubt */
    show_probes = true;
    at(3000);
    vote("1", "TIME OK, PROBE OK");
    markers[1].there = false; /* once more */
    vote("1", "GROUP_SET OK");
    vote("0,2", "TIME OK, PROBE OK");
    show_probes = false;
    ck_assert(!markers[1].there);
    at(4000);
    EXPECT_MASTER(1, "quarantine memory left=60602"); /* in full again */
    forget();
}

T(keys_that_ran_out_while_all_were_away_are_no_loss)
{
    start(3);
    lose(1);
    markers[1].there = false;
    at(1000 + 599000);
    dial(1);
    shake(1);
    vote("1", "KILL 1");
    EXPECT_MASTER(1, "up");
    forget();
}

T(a_key_that_is_gone_sooner_is)
{
    start(3);
    lose(1);
    markers[1].there = false;
    at(1000 + 598999);
    dial(1);
    shake(1);
    vote("1", "KILL 1");
    EXPECT_MASTER(1, "quarantine memory left=60602");
    forget();
}

/* ---- the probe ---- */

T(doubt_ends_a_vote_that_was_given)
{
    start(3);
    grant(1, "LOCK other");
    show_probes = true;
    at(2000);
    ask(1, "LOCK job wait=1s");
    forget();
    vote("0", "TIME OK, PROBE OK, SET YES, ZADD YES");
    vote("1", "TIME OK, PROBE NO"); /* gone, and with it every lock */
    EXPECT_MASTER(1, "quarantine memory left=60602");
    EXPECT("m1 GROUP_NEW *");
    vote("1", "SET YES, ZADD YES");
    work();
    EXPECT_NOTHING();
    vote("2", "TIME OK, PROBE OK, SET YES, ZADD YES");
    EXPECT("m1 HEAL job T2 1700000011897", "s1 #2 +LOCKED job *"); /* by 0 and 2 */
}

T(doubt_of_a_slow_master)
{
    start(3);
    ask(1, "LOCK job hold=lease");
    vote("0-1", "SET YES, ZADD YES");
    at(1050);
    EXPECT_MASTER(2, "slow silent");
    markers[2].there = false;
    vote("2", "SET YES");
    at(2000);
    vote("2", "ZADD YES"); /* and with it the probe's answers */
    EXPECT_MASTER(2, "quarantine memory left=60602");
    forget();
}

T(restart_guard_off_waits_for_nothing)
{
    config.restart_guard = false;
    start(3);
    markers[1].there = false;
    at(2000);
    EXPECT_MASTER(1, "up");
    ck_assert_int_eq(markers[1].group.from_ms, CLOCK + now + FULL); /* for daemons that do wait */
    forget();
}

T(writes_that_are_refused)
{
    static const char *const errors[] = {"MISCONF", "NOREPLICAS", "BUSY", "LOADING", "READONLY"};
    static const char *const is[] = {"refused misconf", "refused noreplicas", "refused busy",
                                     "refused loading", "refused replica"};
    start(5);
    show_probes = true;
    at(2000);
    for (unsigned i = 0; i < 5; i++) {
        char word[8], votes[64];
        snprintf(word, sizeof word, "%u", i);
        snprintf(votes, sizeof votes, "TIME OK, PROBE %s", errors[i]);
        vote(word, votes);
        EXPECT_MASTER(i, is[i]);
    }
    forget();
    at(3000); /* only a write tells whether writes are taken again */
    EXPECT("m* INFO", "m* TIME", "m* *", "m* INFO", "m* TIME", "m* *", "m* INFO", "m* TIME", "m* *",
           "m* INFO", "m* TIME", "m* *", "m* INFO", "m* TIME", "m* *");
    vote("0", "INFO OK, TIME OK, GROUP MISCONF");
    vote("1", "INFO OK, TIME OK, GROUP OK");
    vote("2", "INFO BUSY, TIME BUSY, GROUP BUSY");
    vote("3", "INFO OK, TIME OK, GROUP OK");
    EXPECT_MASTER(0, "refused misconf");
    EXPECT_MASTER(1, "up");
    EXPECT_MASTER(2, "refused busy");
    EXPECT_MASTER(3, "up");
    forget();
}

T(an_idle_daemon_notices_a_master_that_hangs)
{
    start(3);
    show_probes = true;
    at(2000);
    vote("0-1", "TIME OK, PROBE OK");
    at(2050);
    EXPECT_MASTER(2, "slow silent");
    forget();
    at(3049);
    vote("0-1", "TIME OK, PROBE OK");
    EXPECT("m* TIME", "m* PROBE *", "m* TIME", "m* PROBE *"); /* a master that owes an answer gets none */
    at(3050);
    EXPECT("close m2 silent");
}
