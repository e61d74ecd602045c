/* Traces: what the group's key says of others: a daemon or a master with other values, and the set of masters. */
#include "tests/unit/trace.h"

#include <string.h>

#define CLOCK 1700000000000 /* a master's TIME at 0 */
#define FULL  60602         /* max_ttl and its drift */

/* ---- daemons that differ ---- */

/* One wrong daemon, or one master of another group, does not cost what is held here, but nothing new is granted. */
T(another_max_ttl_on_one_master_only_renews)
{
    start(3);
    grant(1, "LOCK held ttl=45s");
    marker_set(1, 3, 30000, CLOCK);
    at(2000);
    EXPECT_MASTER(1, "refused group");
    EXPECT_MASTER(0, "up group");
    EXPECT_MASTER(2, "up group");
    struct master_row row;
    coordinator_master_row(core, now, 1, &row);
    ck_assert_uint_eq(row.their_masters, 3);
    ck_assert_int_eq(row.their_max_ttl_ms, 30000);
    coordinator_master_row(core, now, 0, &row);
    ck_assert_uint_eq(row.their_masters, 0);
    ask(1, "LOCK job");
    EXPECT_LAST("s1 #2 -NOQUORUM job votes=0/3 nodes=!!! *");
    ask(2, "RESUME held token=T1");
    EXPECT_LAST("s2 #3 -NOQUORUM held votes=0/3 *");
    forget();
    while (unanswered(0) == 0) {
        at(now + 10);
        if (unanswered(1) != 0)
            vote("1", "INFO OK");
    }
    EXPECT_LAST("m0,2 EXTEND held T1 30000"); /* for no longer than the smaller max_ttl */
    vote("0", "EXTEND NOT_RUN");
    EXPECT_LAST("m0 EXTEND held T1 30000");
    vote("0,2", "EXTEND 30000");
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.renewals_done, 1);
    handshakes_until(now + 1000);
    EXPECT_MASTER(0, "up group");
    forget();
    marker_set(1, 3, 60000, CLOCK); /* the others were stopped, and the key is ours again */
    handshakes_until(now + 1000);
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "quarantine memory left=60602"); /* the key's writer may have found the master empty */
    EXPECT_MASTER(2, "up");
    forget();
}

T(after_a_max_ttl_nothing_is_renewed)
{
    start(3);
    marker_set(1, 3, 30000, CLOCK);
    handshakes_until(61000);
    EXPECT_MASTER(0, "up group");
    handshakes_until(63000);
    EXPECT_MASTER(0, "refused group");
    EXPECT_MASTER(2, "refused group");
    forget();
}

T(another_max_ttl_on_two_masters_ends_all)
{
    start(3);
    grant(1, "LOCK held");
    marker_set(1, 3, 30000, CLOCK);
    marker_set(2, 3, 30000, CLOCK);
    at(2000);
    EXPECT_MASTER(0, "refused group");
    EXPECT_MASTER(1, "refused group");
    EXPECT_MASTER(2, "refused group");
    forget();
    handshakes_until(5000);
    EXPECT_MASTER(0, "refused group");
    forget();
}

/* An attempt that is under way is not granted, a waiter is not handed the lock, and no reader joins. */
T(no_grant_while_one_master_differs)
{
    start(3);
    show_probes = true;
    grant(1, "LOCK held ttl=60s");
    ask(2, "LOCK held ttl=60s wait=50s");
    forget();
    at(2000);
    ask(3, "LOCK job ttl=30s");
    forget();
    markers[1].group.max_ttl_ms = 30000;
    vote("1", "TIME OK, PROBE OK");
    vote("0", "TIME OK, PROBE OK, SET YES, ZADD YES");
    vote("2", "TIME OK, PROBE OK, SET YES, ZADD YES");
    work();
    EXPECT("m0,2 RELEASE job T2", "s3 #3 -NOQUORUM job *");
    ask(1, "UNLOCK held");
    work();
    EXPECT_MASTER(0, "up group");
    ck_assert_uint_eq(coordinator_voters(core), 0);
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.handed_on, 0);
    forget();
}

/* What the masters that agree have answered, or will answer, still counts. */
T(an_extend_under_way_counts_when_one_master_differs)
{
    start(3);
    show_probes = true;
    grant(1, "LOCK job ttl=30s");
    at(1990);
    ask(1, "EXTEND job token=T1 ttl=30s");
    vote("1", "EXTEND 30000"); /* which will not count */
    forget();
    at(2000);
    markers[1].group.max_ttl_ms = 30000;
    vote("1", "TIME OK, PROBE OK");
    forget();
    vote("0", "EXTEND 30000, TIME OK, PROBE OK");
    work();
    EXPECT_NOTHING();
    vote("2", "EXTEND 30000, TIME OK, PROBE OK");
    work();
    EXPECT("s1 !RENEWED job token=T1 *", "s1 #2 +EXTENDED job *");
    forget();
}

T(another_n_keeps_a_new_daemon_from_writing)
{
    start_alone(3);
    marker_set(2, 5, 60000, CLOCK);
    show_probes = true;
    reach_all();
    work();
    ck_assert_uint_eq(coordinator_voters(core), 0);
    EXPECT_MASTER(0, "refused group");
    EXPECT_MASTER(1, "refused group");
    EXPECT_MASTER(2, "refused group");
    ck_assert(!markers[0].there && !markers[1].there);
    ck_assert_uint_eq(markers[2].group.masters, 5);
    lose(2); /* the absence of that master is no agreement */
    forget();
    at(2000);
    vote("0-1", "INFO OK, TIME OK, GROUP OK");
    EXPECT_MASTER(0, "refused group");
    EXPECT("m* INFO", "m* TIME", "m* GROUP", "m* INFO", "m* TIME", "m* GROUP"); /* read, never touched */
}

/* No daemon can have written it: so it is no other group's, and the other masters go on. */
T(rubbish_is_refused_by_name_and_not_overwritten)
{
    start_alone(3);
    show_probes = true;
    marker_set(1, 3, 60000, CLOCK);
    marker_set(2, 3, 60000, CLOCK);
    dial(0);
    dial(1);
    dial(2);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP UNREADABLE");
    EXPECT_MASTER(0, "refused unreadable");
    shake(1);
    shake(2);
    EXPECT_MASTER(1, "up");
    EXPECT_MASTER(2, "up");
    vote("1-2", "TIME OK, PROBE OK");
    forget();
    at(2000);
    vote("0", "INFO OK, TIME OK, GROUP UNREADABLE");
    EXPECT_MASTER(0, "refused unreadable");
    vote("1-2", "TIME OK, PROBE OK");
    EXPECT("m2 TIME", "m2 PROBE *", "m0 INFO", "m0 TIME", "m0 GROUP", "m1 TIME", "m1 PROBE *");
    at(3000);                                /* the operator has deleted it */
    vote("0", "INFO OK, TIME OK, GROUP NO"); /* another daemon may be about to write it */
    vote("1-2", "TIME OK, PROBE OK");
    at(3100);
    vote("0", "INFO OK, TIME OK, GROUP NO, GROUP_NEW OK, GROUP OK");
    EXPECT_MASTER(0, "quarantine memory left=60602");
    forget();
}

/* A daemon that started since, and does not know that the key was unreadable, was first to write it anew. */
T(rubbish_that_a_newcomer_replaced)
{
    start(3);
    show_probes = true;
    at(2000);
    vote("0", "TIME OK, PROBE UNREADABLE");
    vote("1-2", "TIME OK, PROBE OK");
    EXPECT_MASTER(0, "refused unreadable");
    EXPECT_MASTER(1, "up");
    show_probes = false;
    at(2500);
    newcomer_writes(0);
    handshakes_until(3500);
    EXPECT_MASTER(0, "quarantine memory left=60602");
    forget();
}

T(the_key_of_a_later_version_ends_all)
{
    start(3);
    show_probes = true;
    at(2000);
    vote("0", "TIME OK, PROBE UNREADABLE:3");
    EXPECT_MASTER(0, "refused unreadable");
    EXPECT_MASTER(1, "refused group");
    EXPECT_MASTER(2, "refused group");
    forget();
}

/* ---- the set of masters ---- */

#define OURS   UINT64_C(0x0123456789abcdef)
#define THEIRS UINT64_C(0xfedcba9876543210)

T(the_set_is_written_and_the_same_set_is_ours)
{
    config.set.hash = OURS;
    start_alone(1);
    show_probes = true;
    dial(0);
    forget();
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    EXPECT("m0 GROUP_NEW N=1 max_ttl=60000 run=0 from=1700000001000 set=123456789abcdef");
    vote("0", "GROUP_NEW OK, GROUP OK");
    EXPECT_MASTER(0, "up");
    forget();
}

/* A on masters 0 to 2, this daemon on others, of which only master 2 is A's: both could have a quorum. */
T(the_same_number_of_other_masters_is_another_group)
{
    config.set.hash = OURS;
    start_alone(3);
    marker_set(2, 3, 60000, CLOCK);
    markers[2].group.set = THEIRS;
    show_probes = true;
    reach_all();
    work();
    EXPECT_MASTER(0, "refused group");
    EXPECT_MASTER(1, "refused group");
    EXPECT_MASTER(2, "refused group");
    struct master_row row;
    coordinator_master_row(core, now, 2, &row);
    ck_assert_uint_eq(row.their_masters, 3);
    ck_assert(row.their_set == THEIRS);
    ck_assert(!markers[0].there && !markers[1].there);
    ck_assert(markers[2].group.set == THEIRS);
    forget();
}

/* Daemons of an earlier version write no set. */
T(the_set_is_added_where_it_is_missing_and_read_back)
{
    config.set.hash = OURS;
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK);
    show_probes = true;
    dial(0);
    forget();
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK");
    EXPECT("m0 GROUP_SET N=1 max_ttl=60000 run=0 from=1700000000000 set=123456789abcdef", "m0 GROUP");
    EXPECT_MASTER(0, "handshake");
    vote("0", "GROUP_SET OK, GROUP OK");
    EXPECT_MASTER(0, "up");
    ck_assert(markers[0].group.set == OURS);
    forget();
}

T(another_daemon_was_first_to_add_its_set)
{
    config.set.hash = OURS;
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK);
    show_probes = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK");
    markers[0].group.set = THEIRS;
    vote("0", "GROUP_SET OK, GROUP OK");
    EXPECT_MASTER(0, "refused group");
    ck_assert(markers[0].group.set == THEIRS);
    forget();
}

T(no_set_is_added_before_every_master_was_read)
{
    config.set.hash = OURS;
    start_alone(3);
    marker_set(0, 3, 60000, CLOCK);
    marker_set(1, 3, 60000, CLOCK);
    marker_set(2, 3, 60000, CLOCK);
    markers[2].group.set = THEIRS;
    show_probes = true;
    dial(0);
    dial(1);
    dial(2);
    vote("0-1", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK");
    work();
    ck_assert(markers[0].group.set == 0 && markers[1].group.set == 0);
    EXPECT_MASTER(0, "handshake");
    vote("2", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK");
    work();
    ck_assert(markers[0].group.set == 0 && markers[1].group.set == 0);
    ck_assert_uint_eq(coordinator_voters(core), 0);
    EXPECT_MASTER(2, "refused group");
    forget();
}

/* Two sets are written at once: none votes before it knows of each master whose set it has. */
T(no_vote_before_all_keys_are_read_back)
{
    config.set.hash = OURS;
    start_alone(3);
    show_probes = true;
    for (unsigned i = 0; i < 3; i++)
        dial(i);
    vote("0-2", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    work();
    vote("0-1", "GROUP_NEW OK, GROUP OK");
    work();
    ck_assert_uint_eq(coordinator_voters(core), 0);
    marker_set(2, 3, 60000, CLOCK + now);
    markers[2].group.set = THEIRS;
    vote("2", "GROUP_NEW OK, GROUP OK");
    work();
    ck_assert_uint_eq(coordinator_voters(core), 0);
    EXPECT_MASTER(0, "refused group");
    EXPECT_MASTER(2, "refused group");
    forget();
}

T(all_vote_when_all_keys_are_read_back)
{
    config.set.hash = OURS;
    start_alone(3);
    show_probes = true;
    for (unsigned i = 0; i < 3; i++)
        dial(i);
    vote("0-2", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    work();
    vote("0-1", "GROUP_NEW OK, GROUP OK");
    work();
    lose(2); /* nothing can be read back there */
    work();
    ck_assert_uint_eq(coordinator_voters(core), 2);
    forget();
}

T(a_script_that_is_not_there_is_asked_for_again)
{
    config.set.hash = OURS;
    start_alone(1);
    marker_set(0, 1, 60000, CLOCK);
    show_probes = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK, GROUP_SET NOT_RUN, GROUP OK");
    EXPECT_MASTER(0, "refused memory");
    forget();
    at(now + 100);
    vote("0", "INFO OK, TIME OK, GROUP OK, GROUP_SET OK, GROUP OK");
    EXPECT_MASTER(0, "up");
    forget();
}

T(a_daemon_that_rewrites_the_key_without_the_set)
{
    config.set.hash = OURS;
    start(3);
    markers[1].group.set = 0;
    at(2000);
    ck_assert(markers[1].group.set == OURS);
    EXPECT_MASTER(1, "up");
    forget();
}

/* Two daemons doubt a master at once: the later time stays, with its reason. */
T(the_later_time_stays)
{
    start(3);
    show_probes = true;
    markers[1].there = false;
    at(2000);
    vote("1", "TIME OK, PROBE OK");
    marker_set(1, 3, 60000, CLOCK + now + FULL + 500);
    memcpy(markers[1].group.why, "restart", sizeof "restart");
    vote("1", "GROUP_NEW OK");
    at(3000);
    ck_assert_int_eq(markers[1].group.from_ms, CLOCK + 2000 + FULL + 500);
    ck_assert_str_eq(markers[1].group.why, "restart");
    markers[1].group.from_ms -= 1000;
    vote("0-2", "TIME OK, PROBE OK");
    markers[1].group.from_ms += 1000; /* between this daemon's reading and its writing */
    vote("1", "GROUP_SET OK");
    ck_assert_int_eq(markers[1].group.from_ms, CLOCK + 2000 + FULL + 500);
    forget();
}
