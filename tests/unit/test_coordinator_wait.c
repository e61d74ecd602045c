/* Traces: the requests that wait for a lock, their order, and their deadlines. */
#include "tests/unit/trace.h"

/* Session 9's request is the head of "job", which another daemon holds: refused once. */
static void head_waits(const char *line)
{
    ask(9, line);
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    forget();
}

T(retry_after_a_random_delay)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0-1", "SET NO, ZADD YES");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007", /* no answer yet */
           "m0-2 RELEASE job T1", "m0-2 ENQUEUE job *");
    EXPECT_DEADLINE(1020); /* retry_min */
    vote("2", "SET NO, ZADD YES");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    chance(180);
    at(1020);
    vote("0-1", "SET NO");
    EXPECT("m0-2 SET job T2 10000", "m0-2 RELEASE job T2");
    vote("2", "SET NO");
    vote("0-2", "RELEASE NO");
    EXPECT_DEADLINE(1220); /* retry_max */
    chance(181);
    at(1220);
    vote("0-2", "SET NO");
    vote("0-2", "RELEASE NO");
    EXPECT_DEADLINE(1240);
    forget();
}

T(retry_at_once_when_a_release_is_seen)
{
    start(3);
    grant(1, "LOCK job hold=lease");
    chance(180);
    head_waits("LOCK job wait=1m");
    ask(2, "UNLOCK job token=T1");
    vote("0", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1 WAKE*");
    vote("1", "RELEASE YES");
    EXPECT("s2 #3 +UNLOCKED job confirmed=2/3", "m0-2 SET job T3 10000");
}

T(retry_at_once_when_a_release_was_seen_meanwhile)
{
    start(5);
    grant(1, "LOCK job hold=lease");
    chance(180);
    ask(9, "LOCK job wait=1m");
    ask(2, "UNLOCK job token=T1");
    forget();
    vote("0-1", "SET NO, ZADD YES, RELEASE YES");
    vote("2", "SET OOM, ZADD OOM, RELEASE YES");
    EXPECT("s2 #3 +UNLOCKED job confirmed=3/5"); /* the head's attempt came a little too early */
    vote("3", "SET NO");
    work();
    EXPECT("m0-4 RELEASE job T2", "m0-4 ENQUEUE job *", "m0-4 SET job T3 10000");
}

T(first_come_first_served)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=30s ttl=1s");
    ask(4, "LOCK job wait=1m");
    EXPECT_NOTHING(); /* bound here: only its end is waited for */
    ask(1, "UNLOCK job");
    vote("0-1", "RELEASE YES");
    vote("2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *",
           "s1 #5 +UNLOCKED job confirmed=2/3");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T3 *", "m0-2 ZADD *");
    vote("0-2", "ZADD YES");
    ask(2, "UNLOCK job token=T3"); /* too long a lease to be handed on */
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T4 1000", "m0-2 ZADD *", "m0-2 ZADD *", "s2 #6 +UNLOCKED *");
    vote("0-2", "SET YES, ZADD YES, ZADD YES");
    EXPECT("s3 #3 +LOCKED job token=T5 *");
    ask(3, "UNLOCK job"); /* too short a lease */
    EXPECT("m0-2 RELEASE job T4", "m0-2 SET job T6 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s3 #7 +UNLOCKED job confirmed=2/3", "s4 #4 +LOCKED job token=T6 *");
}

T(wait_0_behind_a_waiting_head)
{
    start(3);
    head_waits("LOCK job wait=1m");
    ask(2, "LOCK job"); /* the masters' answer to the head is the answer to all */
    EXPECT("s2 #2 -BUSY job");
    at(1020);
    ask(3, "LOCK job"); /* the head's attempt is under way */
    EXPECT("m0-2 SET job T2 10000");
    vote("0-2", "SET NO");
    work();
    EXPECT("m0-2 RELEASE job T2", "s3 #3 -BUSY job");
    at(1040);
    ask(4, "LOCK job");
    vote("0-2", "RELEASE NO, SET YES");
    vote("0-1", "ZADD YES");
    work();
    EXPECT("m0-2 SET job T3 10000", "m0-1 ZADD job 1040007", "m2 ZADD job 1040007", "s9 #1 +LOCKED *",
           "s4 #4 -BUSY job");
    ask(5, "LOCK job"); /* held by a session here */
    EXPECT("s5 #5 -BUSY job");
}

T(wait_0_behind_a_head_without_quorum)
{
    start(3);
    lose(0);
    lose(1);
    ask(1, "LOCK job wait=1m");
    ask(2, "LOCK job");
    EXPECT("s2 #2 -NOQUORUM job votes=1/3 nodes=!!+ *");
}

T(timeout_when_the_masters_answer)
{
    start(3);
    head_waits("LOCK job wait=30ms");
    ask(2, "LOCK job wait=25ms");
    at(1024);
    EXPECT("m0-2 SET job T2 10000"); /* the head's retry of 1020 */
    at(1025);
    EXPECT("s2 #2 -TIMEOUT job waited=25");
    at(1030);
    EXPECT("s9 #1 -TIMEOUT job waited=30", "m0-2 RELEASE job T2 WAKE", "m0-2 DEQUEUE job");
}

T(noquorum_at_the_end_of_a_wait_without_masters)
{
    start(3);
    lose(0);
    lose(2);
    chance(80);
    ask(1, "LOCK job wait=500ms");
    ask(2, "LOCK job wait=1s");
    ask(3, "LOCK job wait=400ms");
    at(1399);
    EXPECT_NOTHING(); /* the daemon goes on trying */
    at(1499);
    EXPECT("s3 #3 -NOQUORUM job votes=1/3 nodes=!+! *");
    at(1500);
    EXPECT("s1 #1 -NOQUORUM job votes=1/3 nodes=!+! *");
    dial(0);
    shake(0);
    vote("0", "KILL 0");
    forget();
    at(1600);
    EXPECT("m0-1 SET job T1 10000");
}

T(wait_1ms_gets_its_first_attempt)
{
    start(3);
    ask(1, "LOCK job wait=1ms");
    ask(2, "LOCK other wait=1ms");
    forget();
    at(1020);
    EXPECT_NOTHING();
    vote("0-1", "SET YES, ZADD YES, SET NO, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *", "m0-2 RELEASE other T2", "s2 #2 -TIMEOUT other waited=20");
}

/* Its next attempt and the end of its time are due at once. */
T(no_attempt_for_a_waiter_whose_time_was_over_meanwhile)
{
    start(3);
    chance(180);
    ask(1, "LOCK job wait=300ms");
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    forget();
    at_without_work(2000);
    work();
    EXPECT("s1 #1 -TIMEOUT job waited=1000", "m0-2 DEQUEUE job");
}

T(retry_that_is_granted_too_late)
{
    start(3);
    head_waits("LOCK job wait=30ms");
    at(1020);
    vote("0-1", "SET YES");
    vote("0", "ZADD YES");
    forget();
    at_without_work(1030); /* the votes are read before the clock is looked at */
    vote("1", "ZADD YES");
    EXPECT("s9 #1 -TIMEOUT job waited=30", "m0-2 RELEASE job T2 WAKE", "m0-2 DEQUEUE job");
}

T(cancel_during_a_round)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    ask(2, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    forget();
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "m0-2 RELEASE job T1 WAKE STAY", "s1 #3 +OK", "m0-2 SET job T2 10000",
           "m0-2 ZADD job 1000008");
    vote("0", "RELEASE YES, SET YES, ZADD YES");
    vote("1", "SET YES, ZADD YES, RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 fence=1000008 *");
    cancel(1, 1); /* answered already */
    cancel(1, 2); /* another session's */
    cancel(2, 2); /* granted already */
    cancel(7, 0); /* the daemon does not know this session */
    EXPECT("s1 #4 -BADTAG *", "s1 #5 -BADTAG *", "s2 #6 -BADTAG *", "s7 #7 -BADTAG *");
}

T(cancel_right_after_a_master_was_lost)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    forget();
    lose(0); /* the attempt is still to be looked at */
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "m1-2 RELEASE job T1 WAKE STAY", "s1 #3 +OK", "m1-2 SET job T2 10000",
           "m1-2 ZADD job *");
    lose(1);
    drop(2);
    work();
    EXPECT("m2 RELEASE job T2", "m2 DEQUEUE job", "s2 ended");
}

T(waiters_that_left_are_skipped)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(4, "LOCK job wait=1m");
    drop(2);
    work();
    cancel(3, 3);
    EXPECT("s2 ended", "s3 #3 -CANCELLED job", "s3 #5 +OK");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s4 #4 +LOCKED job *");
}

/* Nothing happens meanwhile, and no step is taken in vain (at() would not come to rest). */
T(no_step_in_vain)
{
    start(3);
    grant(1, "LOCK job hold=lease");
    head_waits("LOCK job wait=1m");
    ask(2, "UNLOCK job token=T1");
    EXPECT("m0-2 RELEASE job T1 WAKE*");
    at(1049); /* the head's retry of 1020 waits for the release */
    EXPECT_NOTHING();
    lose(1);
    lose(2);
    at(1100); /* and then for masters */
    EXPECT("s2 #3 -NOQUORUM job votes=0/3 nodes=?!! *");
}
