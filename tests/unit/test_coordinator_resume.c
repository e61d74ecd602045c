/* Traces: RESUME moves a lock to another connection. For a RESUME that fails see
 * test_coordinator_set_back.c. */
#include "tests/unit/trace.h"

/* ---- how it is granted ---- */

/* X was granted through another daemon, or through this one before it was killed. */
T(moves_then_extends_and_takes_a_fence)
{
    start(5);
    ask(1, "RESUME job token=X ttl=5s max=1m note=again");
    EXPECT("m0-4 MOVE job X T1");
    at(1010);
    vote("0-1", "MOVE YES");
    EXPECT_NOTHING();
    vote("2", "MOVE YES");
    EXPECT("m0-4 EXTEND job T1 5000", "m0-4 ZADD job 1010007");
    at(1020);
    vote("0-1", "EXTEND 5000, ZADD YES");
    EXPECT_NOTHING();
    vote("2", "EXTEND 7000, ZADD YES"); /* the key had more left than was asked for */
    /* Validity counts from the second round: 1010 + 5000 - 52 - 1. */
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1010007 valid=4937 until=5957");
    vote("3-4", "MOVE YES, EXTEND 5000, ZADD YES");
    struct lock_row row;
    struct cursor cursor = {0};
    ck_assert(coordinator_lock_row(core, now, &cursor, &row));
    ck_assert_int_eq(row.hold, HOLD_SESSION);
    ck_assert_uint_eq(row.session, 1);
    ck_assert_uint_eq(row.depth, 1);
    ck_assert_uint_eq(row.note.len, 5);
    ck_assert_int_eq(memcmp(row.note.text, "again", 5), 0);
    ck_assert_int_eq(memcmp(row.nodes, "+++++", 5), 0);
}

T(its_fence_is_raised_as_a_grants)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD NO");
    forget();
    vote("0", "ZSCORE 1700000");
    vote("1", "ZSCORE 1500000");
    EXPECT("m0-1 ZADD job 1700001");
    vote("2", "EXTEND 10000, ZADD YES"); /* to the proposal before */
    EXPECT("m2 ZADD job 1700001");
    vote("0-1", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1700001 valid=9897 until=10897");
}

T(told_as_far_as_max_allows)
{
    start(1);
    ask(1, "RESUME a token=X ttl=50ms");
    ask(1, "RESUME a token=X ttl=61s");
    ask(1, "RESUME a token=X ttl=20s max=19s");
    ask(1, "RESUME a token=X max=9s"); /* the default TTL counts too */
    EXPECT("s1 #1 -BADARG a : ttl is at least *", "s1 #2 -BADARG a : ttl is at most *",
           "s1 #3 -BADARG a : max is at least the ttl, here 20s*", "s1 #4 -BADARG a : max is *10s*");
    ask(1, "RESUME job token=X max=10s");
    vote("0", "MOVE YES");
    EXPECT("m0 MOVE job X T1", "m0 EXTEND job T1 10000", "m0 ZADD job 1000007");
    at(1040);
    vote("0", "EXTEND 10000, ZADD YES");
    EXPECT("s1 #5 +LOCKED job token=T1 fence=1000007 valid=9857 until=10897");
    at(4040);
    EXPECT("m0 EXTEND job T1 10000");
    vote("0", "EXTEND 10000");
    EXPECT("s1 !RENEWED job token=T1 valid=6960 until=11000"); /* max= of the RESUME, from its second round */
    at(11000);
    EXPECT("s1 !LOST job token=T1 reason=max");
}

T(a_master_that_says_no_or_refuses_is_not_asked_again)
{
    start(5);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE NO");
    vote("1", "MOVE OOM");
    forget();
    vote("2-4", "MOVE YES");
    EXPECT("m2-4 EXTEND job T1 10000", "m2-4 ZADD job 1000007");
    vote("2-4", "EXTEND 10000, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
    ask(1, "UNLOCK job");
    lose(0); /* the master never had the token */
    lose(1); /* the master may have it: not every error proves that nothing was done */
    EXPECT("m0-4 RELEASE job T1 WAKE");
    EXPECT_MASTER(0, "down");
    EXPECT_MASTER(1, "down undo=1");
    work();
    vote("2-4", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job *");
}

T(a_script_that_is_not_loaded_is_asked_again)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE NOT_RUN");
    EXPECT("m0-2 MOVE job X T1", "m0 MOVE job X T1");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 ZADD job 1000007");
    vote("2", "MOVE NOT_RUN"); /* not wanted any more: the EXTEND behind it runs before a repeated MOVE */
    EXPECT_NOTHING();
    vote("2", "EXTEND NO, ZADD YES");
    vote("0", "EXTEND NOT_RUN, ZADD YES");
    EXPECT("m0 EXTEND job T1 10000");
    vote("1", "EXTEND 10000, ZADD YES");
    vote("0", "EXTEND 10000");
    EXPECT("s1 #1 +LOCKED job *");
}

/* The token is moved and extended there, too, but the master may remember a token that is over. */
T(a_master_in_quarantine_is_moved_and_not_counted)
{
    start(3);
    restart(2, 0);
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=60602");
    forget();
    ask(1, "RESUME job token=X");
    EXPECT("m0-2 MOVE job X T1");
    vote("0,2", "MOVE YES");
    EXPECT_NOTHING();
    vote("1", "MOVE YES");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-1 ZADD job 1000007");
    vote("0", "EXTEND 10000, ZADD YES");
    vote("2", "EXTEND 10000");
    EXPECT_NOTHING();
    vote("1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
}

/* ---- who had it before ---- */

T(extends_of_the_token_before_are_over)
{
    start(5);
    grant(1, "LOCK job");
    ask(1, "EXTEND job token=T1");
    ask(2, "RESUME job token=T1 ttl=20s");
    EXPECT("m0-4 EXTEND job T1 10000", "m0-4 MOVE job T1 T2");
    vote("0-1", "EXTEND 10000, MOVE YES");
    vote("2", "EXTEND NOT_RUN, MOVE YES"); /* again, and so behind the move */
    EXPECT("m2 EXTEND job T1 10000", "m0-4 EXTEND job T2 20000", "m0-4 ZADD job 1000008");
    vote("0-1", "EXTEND 20000, ZADD YES");
    vote("2", "EXTEND NO, EXTEND 20000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=moved", "s2 #3 +LOCKED job token=T2 *");
    vote("3", "EXTEND 10000, MOVE NO"); /* whatever the masters say */
    EXPECT("s1 #2 -NOTHELD job");
    vote("3", "EXTEND NO, ZADD YES");
    vote("4", "EXTEND 10000, MOVE YES, EXTEND 20000, ZADD YES");
}

T(the_session_before_gives_nothing_back)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    forget();
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=moved", "s2 #2 +LOCKED job token=T2 fence=1000008 *");
    vote("2", "EXTEND 10000, ZADD YES");
    ask(1, "UNLOCK job");
    EXPECT("s1 #3 -NOTHELD job : *");
    finish(1);
    release(1);
    work();
    EXPECT("s1 ended");
    at(4000);
    EXPECT("m0-2 EXTEND job T2 10000"); /* the lock of the new token is renewed */
    vote("0-2", "EXTEND 10000");
    EXPECT("s2 !RENEWED *");
}

T(a_connection_may_resume_its_own)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job token=T1");
    ask(1, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    forget();
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=moved", "s1 #3 +LOCKED job token=T2 *");
    ask(1, "LOCK job token=T1");
    ask(1, "LOCK job token=T2");
    EXPECT("s1 #4 -NOTHELD job : *", "s1 #5 +LOCKED job token=T2 * depth=2"); /* RESUME set the depth to 1 */
    finish(1);
    release(1);
    work();
    EXPECT("s1 !LOST job token=T2 reason=closed", "m0-2 RELEASE job T2 WAKE", "s1 ended");
    vote("0-2", "RELEASE YES");
}

T(a_lease_becomes_a_session_lock)
{
    start(3);
    grant(1, "LOCK job hold=lease note=old");
    ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    forget();
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *"); /* a lock with hold=lease ends without !LOST */
    at(4000);
    EXPECT("m0-2 EXTEND job T2 10000");
    vote("0-2", "EXTEND 10000");
    forget();
    release(2);
    work();
    EXPECT("s2 !LOST job token=T2 reason=closed", "m0-2 RELEASE job T2 WAKE", "s2 ended");
    vote("0-2", "RELEASE YES");
}

/* The lock was given up and taken anew through another daemon, before a renewal here saw it. */
T(another_tokens_session_is_told_that_it_is_gone)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    forget();
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=gone", "s2 #2 +LOCKED job token=T2 *");
    vote("2", "EXTEND 10000, ZADD YES");
}

/* ---- what goes on beside it ---- */

/* Answers about the old token meanwhile say nothing: the token may be set back. */
T(nothing_is_lost_while_it_is_moved)
{
    start(5);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    ask(1, "EXTEND job token=T1");
    EXPECT("m0-4 MOVE job T1 T2", "m0-4 EXTEND job T1 10000");
    vote("0-1", "MOVE YES, EXTEND NO");
    vote("2", "MOVE NO, EXTEND NO"); /* another daemon's RESUME took it there */
    EXPECT("s1 #3 -NOTHELD job");
    vote("3", "MOVE OOM, EXTEND 10000");
    vote("4", "MOVE NO, EXTEND NO");
    EXPECT("m0-4 MOVE job T2 T1", "s2 #2 -NOQUORUM job votes=2/5 nodes=++-!- retry=20 : *");
    vote("0-1", "MOVE YES");
    vote("2-4", "MOVE NO");
    at(1353);
    EXPECT("m0-4 EXTEND job T1 10000"); /* soon, since something was amiss */
    vote("0-4", "EXTEND 10000");
    EXPECT("s1 !RENEWED job token=T1 *");
}

T(the_token_before_is_not_renewed_meanwhile)
{
    config.node_timeout_ms = 3000;
    start(3);
    grant(1, "LOCK job");
    at(3900);
    ask(2, "RESUME job token=T1");
    vote("0", "MOVE YES");
    forget();
    at(5000); /* a renewal was due at 4000, and would find that it is gone */
    EXPECT_NOTHING();
    vote("1", "MOVE NO");
    vote("2", "MOVE NO");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    forget();
    at(5500);
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 !RENEWED *");
}

/* The holder is told at the deadline, whatever is under way; a RESUME elsewhere is no news then. */
T(the_token_before_may_run_out_meanwhile)
{
    start(3);
    grant(1, "LOCK job ttl=100ms");
    at_without_work(1080);
    ask(2, "RESUME job token=T1");
    vote("0-1", "MOVE YES");
    forget();
    at(1100);
    EXPECT_LAST("s1 !LOST job token=T1 reason=expired");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    vote("2", "MOVE YES, EXTEND 10000, ZADD YES");
}

T(waiters_of_the_name_stay_behind)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    ask(2, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    forget();
    at(1020);
    EXPECT("m0-2 SET job T3 10000"); /* nobody knows yet whether X is the lock's token */
    ask(3, "LOCK job");
    vote("0-1", "EXTEND 10000, ZADD YES");
    work();
    EXPECT("m0-2 RELEASE job T3 WAKE STAY", "s2 #2 +LOCKED job token=T2 *", "s3 #3 -BUSY job");
    vote("0-1", "SET NO, RELEASE NO");
    vote("2", "EXTEND 10000, ZADD YES, SET NO, RELEASE NO");
    at(2000);
    EXPECT_NOTHING(); /* the head waits for the session here that has it now */
    ask(2, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T2 WAKE*", "s2 #4 +UNLOCKED job *", "m0-2 SET job T4 10000");
    vote("0-2", "SET YES");
    vote("0-2", "ZADD YES");
    EXPECT("m0-1 ZADD job *", "m2 ZADD job *", "s1 #1 +LOCKED job token=T4 *");
}

/* The grant of a RESUME abandons the attempt of the head. A head whose time is over is answered then, because
 * no attempt is left to answer it. */
T(a_waiter_whose_time_is_over_is_answered)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    forget();
    ask(2, "LOCK job wait=5ms");
    ask(3, "LOCK job wait=1m");
    at(1010); /* wait=5ms is over, but the first attempt is under way */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 RELEASE job T2 WAKE STAY", "s1 #1 +LOCKED job token=T1 *", "s2 #2 -TIMEOUT job waited=10");
    vote("0-1", "SET NO, ZADD NO, RELEASE NO");
    at(2000);
    EXPECT_NOTHING(); /* session 3 waits on */
}

T(a_waiter_whose_client_asks_nothing_more_is_answered)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    forget();
    ask(2, "LOCK job wait=1m");
    finish(2);
    work();
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 RELEASE job T2 WAKE", "s1 #1 +LOCKED job token=T1 *", "s2 #2 -CANCELLED job");
}

/* A master that has the token refuses the SET of another client. So this happens only after masters forgot
 * the token. */
T(a_lock_attempt_that_is_granted_first)
{
    start(3);
    ask(1, "RESUME job token=X");
    ask(2, "LOCK job");
    EXPECT("m0-2 MOVE job X T1", "m0-2 SET job T2 10000", "m0-2 ZADD job 1000007");
    vote("0-1", "MOVE NO, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    vote("2", "MOVE YES, SET NO, ZADD YES");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=1/3 nodes=--+ retry=20 : *");
    vote("0-1", "MOVE NO");
    vote("2", "MOVE YES");
}

/* The token moved, and the master was found slow before it could be asked to extend. */
T(given_back_also_where_it_was_moved_only)
{
    start(3);
    ask(2, "CHECK other token=X");
    vote("0-1", "CHECK NO");
    at(1049);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    forget();
    at(1050);
    EXPECT_MASTER(2, "slow silent");
    vote("1", "MOVE YES");
    EXPECT("m0-1 EXTEND job T1 10000", "m0-1 ZADD job *");
    vote("0-1", "EXTEND 10000, ZADD YES");
    ask(1, "UNLOCK job");
    lose(2);
    EXPECT("s1 #2 +LOCKED job *", "m0-2 RELEASE job T1 WAKE");
    EXPECT_MASTER(2, "down undo=1");
    work();
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED job *");
}

/* Commands that a hanging master was sent are undone in the end. */
T(given_back_also_where_it_may_have_been_moved)
{
    start(3);
    ask(1, "RESUME job token=X ttl=1s");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD YES");
    forget();
    at(1050);
    EXPECT_MASTER(2, "slow silent");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=2/3");
    lose(2);
    EXPECT_MASTER(2, "down undo=1");
    dial(2);
    vote("2", "CLIENT_ID OK, INFO OK, KILL 1");
    EXPECT("m2 CLIENT_ID", "m2 INFO", "m2 KILL 301");
    work();
    EXPECT("m2 RELEASE job T1 WAKE");
    lose(2);
    at(61049); /* the old token may have had any TTL */
    EXPECT_MASTER(2, "down undo=1");
    at(61050);
    EXPECT_MASTER(2, "down");
}
