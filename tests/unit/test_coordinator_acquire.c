/* Traces: how a lock is granted, and how it is refused. */
#include "tests/unit/trace.h"

T(granted_at_quorum)
{
    start(5);
    ask(1, "LOCK job ttl=10s");
    EXPECT("m0-4 SET job T1 10000", "m0-4 ZADD job 1000007");
    at(1003);
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET YES");
    EXPECT_NOTHING(); /* only two masters have taken the fence */
    vote("2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9894 until=10897");
    vote("3", "SET YES, ZADD NO"); /* late votes change nothing */
    vote("4", "SET NO, ZADD OOM");
    EXPECT_NOTHING();
}

T(granted_by_three_of_four)
{
    start(4);
    ask(1, "LOCK job ttl=10s");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("3", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
    vote("2", "SET YES, ZADD YES");
}

T(granted_by_one_of_one)
{
    start(1);
    ask(1, "LOCK job ttl=1s");
    vote("0", "SET YES, ZADD YES");
    EXPECT("m0 SET job T1 1000", "m0 ZADD job 1000007",
           "s1 #1 +LOCKED job token=T1 fence=1000007 valid=987 *");
}

T(busy_when_no_quorum_can_grant_and_q_answered)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("1", "SET YES, ZADD YES");
    vote("0,2", "SET NO, ZADD YES");
    EXPECT_NOTHING();
    vote("3", "SET NO");
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -BUSY job"); /* to all masters, also where the SET was refused */
    vote("4", "SET YES, ZADD YES, RELEASE YES");      /* late, and undone on the same connection */
    vote("3", "ZADD NO, RELEASE NO");
    vote("1", "RELEASE YES");
    vote("0,2", "RELEASE NO");
    EXPECT_NOTHING();
    EXPECT_REST();
}

T(busy_needs_q_answers)
{
    start(5);
    lose(3);
    lose(4);
    ask(1, "LOCK job");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    vote("0", "SET NO, ZADD YES"); /* a quorum is out of reach; whether another client has the lock is open */
    EXPECT_NOTHING();
    vote("1", "SET OOM");
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -NOQUORUM job votes=0/5 nodes=-!?!! *");
}

T(noquorum_at_once_when_too_few_may_vote)
{
    start(5);
    lose(0);
    lose(1);
    restart(4, 3);
    dial(4);
    shake(4);
    forget();
    ask(1, "LOCK job");
    EXPECT("s1 #1 -NOQUORUM job votes=2/5 nodes=!!++~ retry=60602 : 1 of 5 masters is in quarantine*");
    dial(0);
    shake(0);
    vote("0", "KILL 0");
    forget();
    ask(1, "LOCK job"); /* three masters may vote: the head asks them, and no other master */
    EXPECT("m0,2-3 SET job T1 10000", "m0,2-3 ZADD job 1000007");
}

T(noquorum_after_node_timeout)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET MISCONF, ZADD MISCONF");
    at(1049);
    EXPECT_NOTHING();
    at(1050);
    EXPECT("m0-4 RELEASE job T1", "s1 #1 -NOQUORUM job votes=2/5 nodes=++!?? *");
    EXPECT_MASTER(3, "slow silent");
    vote("0-1", "RELEASE YES");
    vote("2", "RELEASE MISCONF"); /* owed: tried again in a second */
    vote("3-4", "SET YES, ZADD YES, RELEASE YES");
    EXPECT_NOTHING();
    EXPECT_MASTER(3, "up");
}

T(late_grant_is_undone_behind_it)
{
    start(3);
    ask(1, "LOCK job");
    at(1050);
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007", "m0-2 RELEASE job T1", "s1 #1 -NOQUORUM job *");
    at(1090);
    vote("0-2", "SET YES, ZADD YES");
    EXPECT_NOTHING(); /* a request that was answered is never revived */
    EXPECT_MASTER(0, "up");
    ask(2, "LOCK job"); /* behind the release on the same connections */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job 1090007");
    vote("0-1", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
}

/* Replies belong to their request, never to the next request. */
T(late_votes_do_not_count_for_the_next_attempt)
{
    start(5);
    ask(1, "LOCK job");
    vote("0-2", "SET NO, ZADD YES");
    EXPECT_LAST("s1 #1 -BUSY job");
    ask(1, "LOCK job");
    EXPECT("m0-4 SET job T2 10000", "m0-4 ZADD job 1000008");
    vote("3-4", "SET YES, ZADD YES, RELEASE YES"); /* of T1 */
    vote("0-1", "RELEASE NO, SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("3", "SET YES, ZADD YES");
    EXPECT("s1 #2 +LOCKED job token=T2 *");
}

T(validity_over_at_the_grant)
{
    config.node_timeout_ms = 150;
    config.min_validity_ms = 5;
    start(3);
    ask(1, "LOCK job ttl=100ms"); /* valid up to 1000 + 100 - 3 - 1 = 1096 */
    vote("0-1", "SET YES");
    vote("0", "ZADD YES");
    forget();
    at(1092);
    vote("1", "ZADD YES");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job votes=2/3 nodes=++? *");
    vote("0-1", "RELEASE YES");
    vote("2", "SET YES, ZADD YES, RELEASE YES");

    ask(1, "LOCK job ttl=100ms");
    at(1183);
    forget();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #2 +LOCKED job token=T2 fence=1092007 valid=5 until=1188");
}

T(zadd_error_voids_the_vote)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET YES, ZADD OOM");
    EXPECT_NOTHING();
    vote("3", "SET YES, ZADD WRONGTYPE");
    vote("4", "SET YES");
    EXPECT_NOTHING();
    vote("4", "ZADD NOPERM");
    work();
    EXPECT("m0-3 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job votes=2/5 nodes=++!!!*");
    EXPECT_MASTER(4, "refused noperm undo=1"); /* the master will be asked for the release when it is back */
}

T(a_lost_connection_is_no_vote)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET YES, ZADD YES");
    lose(1);
    work();
    EXPECT_NOTHING();
    lose(2);
    work();
    EXPECT("m0 RELEASE job T1", "s1 #1 -NOQUORUM job votes=1/3 nodes=+!! *");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "down undo=1");
}

/* A master that became a replica: every command that it has not answered yet counts as failed at once. */
T(a_demoted_master_is_no_vote)
{
    start(3);
    ask(1, "LOCK a");
    ask(1, "LOCK b");
    vote("2", "SET YES, ZADD YES, SET YES, ZADD YES");
    vote("0", "SET YES, ZADD READONLY");
    vote("1", "SET READONLY");
    forget();
    work();
    EXPECT_MASTER(0, "refused replica undo=2");
    EXPECT("m2 RELEASE * T*", "s1 #* -NOQUORUM * votes=1/3 nodes=!!+ *", "m2 RELEASE * T*",
           "s1 #* -NOQUORUM * votes=1/3 nodes=!!+ *");
}

/* The master may come back without its memory, and here without quarantine. */
T(a_grant_counts_no_more_when_its_connection_is_lost)
{
    config.node_timeout_ms = 1000;
    config.restart_guard = false;
    start(3);
    ask(1, "LOCK job");
    vote("0", "SET YES, ZADD YES");
    restart(0, 0);
    dial(0);
    shake(0);
    work();
    EXPECT_MASTER(0, "up");
    forget();
    vote("1", "SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *");
}

/* A step has random bytes for one token, so each head begins in a step of its own, whichever session asks. */
T(two_heads_that_are_due_get_two_tokens)
{
    start(3);
    ask(1, "LOCK a hold=lease");
    ask(1, "LOCK b hold=lease");
    vote("0-2", "SET YES, ZADD YES, SET YES, ZADD YES");
    ask(2, "LOCK a wait=1m");
    ask(2, "LOCK b wait=1m");
    vote("0-2", "SET NO, ZADD YES, SET NO, ZADD YES");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD, RELEASE NO, ENQUEUE UNHEARD");
    ask(3, "LOCK a wait=1m");
    ask(3, "LOCK b wait=1m");
    forget();
    at(1020);
    EXPECT("m0-2 SET a T5 10000", "m0-2 SET b T6 10000"); /* their retries */
    finish(2);
    work_once(); /* both heads go, and both of session 3 may ask */
    EXPECT("s2 #4 -CANCELLED b", "m0-2 RELEASE b T6 WAKE STAY", "s2 #3 -CANCELLED a",
           "m0-2 RELEASE a T5 WAKE STAY", "m0-2 SET a T7 10000", "m0-2 ZADD a 1020007", "m0-2 SET b T8 10000",
           "m0-2 ZADD b 1020008");
}
