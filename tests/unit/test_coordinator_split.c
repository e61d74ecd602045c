/* Traces: the votes of wait=0 are split, and the first master in order of run_id decides. */
#include "tests/unit/trace.h"

/* Master 0 has the lowest run_id, then come 1, 2, ... Some of five masters granted the lock, others have
 * another client's key. The commands and answers until then are forgotten. */
static void split_over_five(const char *granted, const char *refused)
{
    start(5);
    ask(1, "LOCK job");
    vote(granted, "SET YES, ZADD YES");
    vote(refused, "SET NO, ZADD YES");
    forget();
}

T(the_first_masters_choice_asks_again_and_wins)
{
    split_over_five("0,3", "1-2,4");
    EXPECT_DEADLINE(1001);
    at(1001);
    EXPECT("m1-2,4 SET job T1 10000", "m1-2,4 GET job");
    vote("1", "SET YES, GET T1");
    /* The earlier proposal came to master 1 when another client had the key there. */
    EXPECT("m0-1,3 ZADD job 1001007");
    vote("2,4", "SET NO, GET X");
    vote("0-1", "ZADD YES");
    EXPECT_NOTHING();
    vote("3", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1001007 valid=9896 until=10897"); /* from the first t0 */
}

T(who_was_refused_there_is_busy_at_once)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("2", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    EXPECT_NOTHING(); /* the word of master 0 is waited for */
    vote("0", "SET NO");
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -BUSY job");
}

T(two_refusals_do_not_decide_before_the_first_master_did)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("1-2", "SET NO, ZADD YES"); /* by two others, maybe */
    EXPECT_NOTHING();
    vote("0", "SET YES");
    at(1001);
    EXPECT("m1-2 SET job T1 10000", "m1-2 GET job");
    vote("1", "SET YES");
    EXPECT("m1 ZADD job 1001007"); /* master 0 did not answer the earlier ZADD yet */
    vote("0", "ZADD YES");
    EXPECT("m0 ZADD job 1001007");
    vote("1", "GET T1, ZADD YES");
    vote("0", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1001007 *");
    vote("2", "SET YES, GET T1"); /* late: it joins the masters of the lease */
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
}

T(a_lock_that_another_has_is_busy)
{
    split_over_five("0", "1-4");
    at(1001);
    EXPECT("m1-4 SET job T1 10000", "m1-4 GET job");
    vote("1-2", "SET NO, GET X");
    vote("3", "SET NO, GET Y");
    EXPECT_NOTHING(); /* no quorum of one token */
    vote("4", "SET NO, GET X");
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -BUSY job");
}

T(what_was_seen_before_a_re_ask_counts_no_more)
{
    split_over_five("0", "1-4");
    at(1001);
    vote("1-2", "SET NO, GET X");
    vote("3-4", "SET NO, GET NO");
    forget();
    at(1002);
    vote("3-4", "SET NO, GET X"); /* that X was on masters 1 and 2 before does not count with this */
    EXPECT("m1-4 SET job T1 10000", "m1-4 GET job");
    vote("1", "SET NO, GET NO");
    vote("2", "SET YES, GET T1");
    EXPECT_NOTHING();
    at(1004);
    EXPECT("m1,3-4 SET job T1 10000", "m1,3-4 GET job");
}

T(re_asks_are_used_up)
{
    static const int64_t pauses_ms[] = {1, 1, 2, 4, 8, 16, 32, 64};
    start(3);
    ask(1, "LOCK job ttl=1s");
    ask(2, "LOCK job");
    vote("0", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    forget();
    vote("2", "SET NO, ZADD YES");
    int64_t next_ms = 1000;
    for (unsigned i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        next_ms += pauses_ms[i];
        at(next_ms - 1);
        EXPECT_NOTHING();
        at(next_ms);
        EXPECT("m1-2 SET job T1 1000", "m1-2 GET job");
        vote("1", "SET NO, GET X");
        EXPECT_NOTHING();
        vote("2", "SET NO, GET Y");
    }
    work();
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -BUSY job split=1");
    at(1148); /* the next request came later, and makes an attempt of its own */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0", "RELEASE YES, SET NO");
    vote("1-2", "RELEASE NO, SET NO");
    EXPECT("m0-2 RELEASE job T2", "s2 #2 -BUSY job");
    vote("0-2", "ZADD YES, RELEASE NO");
    EXPECT_REST();
}

T(one_that_would_wait_tries_later_instead)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    forget();
    vote("2", "SET NO, ZADD YES");
    EXPECT("m0-2 RELEASE job T1", "m0-2 ENQUEUE job *");
}

T(a_silent_first_master_is_passed_over)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("1", "SET YES, ZADD YES");
    vote("2", "SET NO, ZADD YES");
    at(1049);
    EXPECT_NOTHING();
    at(1050); /* master 1 is the next, and granted it */
    EXPECT_MASTER(0, "slow silent");
    EXPECT_NOTHING();
    at(1051);
    EXPECT("m2 SET job T1 10000", "m2 GET job");
    vote("2", "SET YES, GET T1");
    EXPECT("m1-2 ZADD job 1051007");
    vote("1-2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
}

T(a_first_master_with_an_error_is_passed_over)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET OOM");
    vote("2", "SET YES, ZADD YES");
    vote("3", "SET NO, ZADD YES");
    vote("4", "SET NO, ZADD YES");
    EXPECT_NOTHING(); /* master 1 decides now */
    vote("1", "SET NO, ZADD YES");
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -BUSY job");
}

T(a_master_in_quarantine_does_not_decide)
{
    start(3);
    restart(0, 3);
    dial(0);
    shake(0);
    forget();
    ask(1, "LOCK job");
    EXPECT("m1-2 SET job T1 10000", "m1-2 ZADD job *");
    vote("1", "SET YES, ZADD YES");
    vote("2", "SET NO, ZADD YES");
    at(1001);
    EXPECT("m2 SET job T1 10000", "m2 GET job");
}

T(order_is_that_of_run_ids)
{
    info[2].run_id[0] = '/'; /* before '0' */
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    EXPECT_NOTHING();
    vote("2", "SET NO");
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -BUSY job");
}

T(noquorum_where_fewer_than_q_answer)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    vote("2", "SET OOM, ZADD OOM");
    vote("3", "SET OOM");
    EXPECT_NOTHING();
    vote("4", "SET OOM");
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -NOQUORUM job votes=1/5 nodes=+-!!! *");
}

T(noquorum_when_the_masters_are_lost_meanwhile)
{
    split_over_five("0,3", "1-2,4");
    at(1001);
    vote("1", "SET NO, GET X");
    forget();
    lose(2);
    lose(1);
    work();
    EXPECT_NOTHING();
    lose(4);
    work();
    EXPECT("m0,3 RELEASE job T1", "s1 #1 -NOQUORUM job votes=2/5 nodes=+-!+! *");
}

T(the_deciding_master_is_lost_and_the_next_says_no)
{
    split_over_five("0,3", "1-2,4");
    lose(0);
    work();
    EXPECT("m1-4 RELEASE job T1", "s1 #1 -BUSY job");
}

T(the_deciding_master_is_lost_and_the_next_says_yes)
{
    split_over_five("0-1", "2-4");
    lose(0);
    work();
    EXPECT_NOTHING();
    at(1001);
    EXPECT("m2-4 SET job T1 10000", "m2-4 GET job");
    vote("2-3", "SET YES, GET T1");
    EXPECT("m1-3 ZADD job *");
}

/* Re-asks go on at the other masters, whose time counts from their own commands. */
T(a_silent_master_does_not_hold_up_the_others)
{
    start(5);
    ask(1, "LOCK job");
    vote("0", "SET YES, ZADD YES");
    vote("1-3", "SET NO, ZADD YES"); /* 4 is silent */
    forget();
    at(1001);
    EXPECT("m1-3 SET job T1 10000", "m1-3 GET job");
    at(1048);
    vote("1-3", "SET NO, GET NO");
    at(1050); /* the time-out of 4 only: the others were asked a moment ago */
    EXPECT("m1-3 SET job T1 10000", "m1-3 GET job");
    EXPECT_MASTER(4, "slow silent");
    EXPECT_MASTER(3, "up");
    vote("1", "SET YES, GET T1");
    vote("2-3", "SET NO, GET NO");
    at(1052);
    EXPECT("m2-3 SET job T1 10000", "m2-3 GET job");
    at(1101);
    EXPECT_NOTHING();
    at(1102);
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -NOQUORUM job votes=2/5 nodes=++!!! *");
}

T(our_own_token_is_a_grant_whose_answer_came_late)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET YES, ZADD YES");
    vote("1", "SET NO, ZADD YES");
    at(1050);
    EXPECT_MASTER(2, "slow silent");
    at(1051);
    EXPECT("m1 SET job T1 10000", "m1 GET job");
    vote("2", "SET YES, ZADD YES"); /* too late to be counted */
    EXPECT_MASTER(2, "up");
    vote("1", "SET NO, GET X");
    at(1052);
    EXPECT("m1-2 SET job T1 10000", "m1-2 GET job");
    vote("2", "SET NO, GET T1");
    EXPECT("m0,2 ZADD job *");
    vote("0,2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
}

T(validity_counts_from_the_first_set)
{
    config.node_timeout_ms = 200;
    start(3);
    ask(1, "LOCK job ttl=100ms");
    vote("0", "SET YES, ZADD YES");
    vote("1-2", "SET NO, ZADD YES");
    forget();
    for (int64_t ms = 1001; ms <= 1064; ms = ms == 1001 ? 1002 : 2 * (ms - 1000) + 1000) {
        at(ms);
        EXPECT("m1-2 SET job T1 100", "m1-2 GET job");
        vote("1-2", "SET NO, GET NO");
    }
    at(1128); /* the next re-ask would come too late */
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -NOQUORUM job *");
}

T(re_asks_end_with_their_client)
{
    split_over_five("0", "1-4");
    at(1001);
    forget();
    drop(1);
    work();
    EXPECT("m0-4 RELEASE job T1 WAKE", "s1 ended");
    vote("1", "SET YES, GET T1, RELEASE YES");
    vote("2-4", "SET NO, GET X, RELEASE NO");
    vote("0", "RELEASE YES");
    EXPECT_REST();
}

T(re_asks_end_when_the_daemon_stops)
{
    split_over_five("0", "1-4");
    drain();
    work();
    EXPECT("s1 #1 -DRAINING job", "m0-4 RELEASE job T1 WAKE");
    at(1100);
    EXPECT_NOTHING();
}
