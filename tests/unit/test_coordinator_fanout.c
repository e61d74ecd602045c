/* Traces: fanout: quorum. With five masters, the first attempts ask masters 0, 1 and 2. */
#include "tests/unit/trace.h"

static void start_quorum(unsigned masters)
{
    config.fanout_quorum = true;
    start(masters);
}

T(a_quorum_is_asked_and_the_rest_is_spared)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=3/5");
    EXPECT_REST();
}

T(all_are_asked_as_soon_as_a_master_refuses)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    vote("0", "SET NO, ZADD YES");
    EXPECT("m3-4 SET job T1 10000", "m3-4 ZADD job 1000007");
    vote("3-4", "SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
}

T(all_are_asked_when_an_answer_is_late)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    vote("0-1", "SET YES, ZADD YES");
    at(1001);
    EXPECT_NOTHING();
    at(1002);
    EXPECT("m3-4 SET job T1 10000", "m3-4 ZADD job 1000007");
    vote("3", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9895 until=10897"); /* from the same t0 */
}

T(all_are_asked_when_a_master_is_lost)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    forget();
    lose(1);
    work();
    EXPECT("m3-4 SET job T1 10000", "m3-4 ZADD job 1000007");
}

T(all_are_asked_when_a_fence_fails)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    forget();
    vote("2", "SET YES, ZADD OOM");
    EXPECT("m3-4 SET job T1 10000", "m3-4 ZADD job 1000007");
    vote("0-1,3", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
}

/* Somebody wrote a fence to master 0 that no clock explains. It voids that master's vote, and each attempt that does
 * not ask the others would end so. */
T(all_are_asked_when_a_fence_is_beyond_the_clocks)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    vote("0", "SET YES, ZADD NO");
    vote("1-2", "SET YES, ZADD YES");
    EXPECT("m0 ZSCORE job");
    vote("0", "ZSCORE 9007199254740000");
    EXPECT("m3-4 SET job T1 10000", "m3-4 ZADD job 1000007");
    vote("3", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
}

T(a_lease_that_lives_is_set_on_the_others)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    at(1009);
    EXPECT_NOTHING();
    at(1010);
    EXPECT("m3 HEAL job T1 1700000010897", "m4 HEAL job T1 1700000010897");
    vote("3", "HEAL YES");
    vote("4", "HEAL NO");
    at(1029);
    EXPECT_NOTHING();
    at(1030);
    EXPECT("m4 HEAL job T1 1700000010897"); /* once more, where it was refused */
    vote("4", "HEAL NO");
    at(1200);
    EXPECT_NOTHING();
    ask(1, "UNLOCK job");
    EXPECT("m0-4 RELEASE job T1"); /* a heal that was refused may run late */
}

/* The masters that were never sent the key are no evidence that somebody deleted it. */
T(a_master_that_was_not_asked_does_not_miss_the_key)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET YES, ZADD YES");
    ask(1, "EXTEND job token=T1");
    vote("2-4", "EXTEND NO");
    vote("0-1", "EXTEND 10000");
    EXPECT_LAST("s1 #2 -NOQUORUM job *");
}

/* A master reads many commands together until it is another master's turn. */
T(masters_take_turns)
{
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-2 SET job *", "m0-2 ZADD job *");
    vote("0-2", "SET YES, ZADD YES");
    at(1003);
    forget();
    ask(1, "LOCK other ttl=10s");
    EXPECT("m0-2 SET other *", "m0-2 ZADD other *");
    vote("0-2", "SET YES, ZADD YES");
    at(1004);
    forget();
    ask(1, "LOCK next ttl=10s");
    EXPECT("m1-3 SET next *", "m1-3 ZADD next *");
    vote("1-3", "SET YES, ZADD YES");
    at(1012); /* what was set first is set on all, in between */
    forget();
    ask(1, "LOCK last ttl=10s");
    EXPECT("m0,3-4 SET last *", "m0,3-4 ZADD last *");
}

T(each_daemon_begins_at_another_master)
{
    config.self.bytes[3] = 1;
    start_quorum(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m1-3 SET job *", "m1-3 ZADD job *");
}

/* Masters that are far away are asked only if one of the others does not grant. */
T(the_fast_masters_are_asked_first)
{
    start_quorum(5);
    const int64_t far_us = 20000;
    trace_rtts_us[2] = trace_rtts_us[3] = far_us;
    at(3000); /* the probes tell */
    forget();
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-1,4 SET job T1 10000", "m0-1,4 ZADD job *");
}

T(masters_that_are_fast_enough_take_turns)
{
    start_quorum(5);
    trace_rtts_us[2] = 20000;
    at(3000); /* the 750th turn begins at the third of the four fast masters */
    forget();
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0,3-4 SET job T1 10000", "m0,3-4 ZADD job *");
    vote("0,3-4", "SET YES, ZADD YES");
    at(3004);
    forget();
    ask(1, "LOCK next ttl=10s");
    EXPECT("m0-1,4 SET next *", "m0-1,4 ZADD next *");
}

/* The daemons of those who wait must hear of the release from a quorum of those masters on which they wait. */
T(a_release_that_wakes_goes_everywhere)
{
    start_quorum(5);
    hears("0-4", "listens");
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET YES, ZADD YES");
    hears("0", "told job");
    forget();
    ask(1, "UNLOCK job");
    EXPECT("m0-4 RELEASE job T1 WAKE");
}

T(with_just_a_quorum_left_all_of_it_is_asked)
{
    start_quorum(5);
    lose(0), lose(3);
    forget();
    ask(1, "LOCK job ttl=10s");
    EXPECT("m1-2,4 SET job T1 10000", "m1-2,4 ZADD job 1000007");
    vote("1-2,4", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
    at(1500);
    EXPECT_NOTHING();
}
