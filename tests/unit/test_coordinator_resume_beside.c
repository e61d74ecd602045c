/* Traces: events during a RESUME: an UNLOCK, another RESUME, a drain, limits. */
#include "tests/unit/trace.h"

static void nothing_is_left(void)
{
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.rounds_under_way + stats.releases_under_way + stats.names + stats.locks, 0);
}

/* ---- given back meanwhile: success wins, failure releases both ---- */

T(unlocked_meanwhile_and_granted)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    vote("0-1", "MOVE YES");
    forget();
    ask(1, "UNLOCK job");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 RELEASE job T1", "s2 #2 +LOCKED job token=T2 *"); /* no client loses it: it was given up */
    vote("0-1", "RELEASE NO");
    EXPECT("s1 #3 -NOTHELD job : it was lost before this release");
    vote("2", "MOVE YES, EXTEND 10000, ZADD YES, RELEASE NO");
}

T(unlocked_meanwhile_and_not_granted)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    at(1200); /* in a young turn the SET would follow the release at once */
    ask(3, "RESUME job token=T1");
    vote("0", "MOVE YES");
    vote("1", "MOVE OOM");
    EXPECT("m0-2 MOVE job T1 T2");
    ask(4, "UNLOCK job token=T1");
    EXPECT("s1 !LOST job token=T1 reason=released", "m0-2 RELEASE job T1 WAKE*");
    vote("2", "MOVE OOM");
    EXPECT("m0-2 RELEASE job T2", "s3 #3 -NOQUORUM job * retry=20 : *");
    vote("0", "RELEASE NO, RELEASE YES");
    vote("1", "RELEASE YES, RELEASE NO");
    vote("2", "RELEASE YES");
    EXPECT("m0-2 SET job T3 10000", "m0-2 ZADD job *", "s4 #4 +UNLOCKED job *");
    vote("2", "RELEASE NO, SET YES, ZADD YES");
    vote("0", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T3 *");
}

/* BREAK deletes the moved keys, and the next one is granted the lock here before the fence of the RESUME is agreed: the
 * masters have the lock's key, and none of the RESUME's. */
T(broken_meanwhile_and_granted_to_another)
{
    start(3);
    ask(2, "RESUME job token=X");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD NO");
    at(1010);
    ask(3, "LOCK job");
    forget();
    vote("0-1", "ZSCORE 2000000, SET YES, ZADD YES");
    EXPECT_LAST("s3 #2 +LOCKED job token=T2 *");
    forget();
    vote("0-1", "ZADD NO");
    EXPECT("m0-2 MOVE job T1 X", "s2 #1 -NOQUORUM job * retry=20 : *");
    ask(3, "CHECK job token=T2");
    EXPECT("s3 #3 +HELD job *");
}

T(the_client_closed_meanwhile)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    vote("0", "MOVE YES");
    forget();
    release(1);
    work();
    EXPECT("s1 !LOST job token=T1 reason=closed", "m0-2 RELEASE job T1", "s1 ended");
    vote("0", "RELEASE NO");
    vote("1-2", "MOVE NO, RELEASE NO"); /* another daemon's RESUME took them */
    EXPECT("m0-2 RELEASE job T2", "s2 #2 -NOQUORUM job * retry=20 : *");
    vote("0", "RELEASE YES");
    vote("1-2", "RELEASE NO");
    nothing_is_left();
}

/* The lock was granted elsewhere: all that this daemon knows of it is the RESUME. */
T(unlocked_meanwhile_by_a_token_that_is_unknown_here)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    ask(2, "UNLOCK job token=X");
    EXPECT("m0-2 MOVE job X T1", "m0-2 RELEASE job X WAKE");
    vote("1-2", "MOVE OOM");
    EXPECT("m0-2 RELEASE job T1", "s1 #1 -NOQUORUM job *");
    vote("1-2", "RELEASE YES, RELEASE NO");
    EXPECT("s2 #2 +UNLOCKED job *");
    vote("0", "RELEASE NO, RELEASE YES");
    ask(1, "RESUME job token=X"); /* the next RESUME starts afresh */
    vote("0", "MOVE YES");
    forget();
    vote("1-2", "MOVE NO");
    EXPECT("m0-2 MOVE job T2 X", "s1 #3 -NOQUORUM job *");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
}

/* The master has to get both, in this order: otherwise the token would be there again. */
T(set_back_before_it_is_given_back)
{
    start(1);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    grant(1, "LOCK job");
    ask(1, "UNLOCK a");
    ask(1, "UNLOCK b");
    vote("0", "RELEASE YES, RELEASE YES"); /* the next releases take these two places, the last one first */
    ask(2, "RESUME job token=T3");
    forget();
    lose(0);
    work();
    EXPECT("s2 #6 -NOQUORUM job *");
    ask(1, "UNLOCK job");
    EXPECT("s1 #7 +UNLOCKED job confirmed=0/1");
    EXPECT_MASTER(0, "down undo=2");
    dial(0);
    shake(0);
    vote("0", "KILL 1");
    work();
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL *", "m0 MOVE job T4 T3", "m0 RELEASE job T3");
    vote("0", "MOVE YES, RELEASE YES");
    nothing_is_left();
}

/* Success wins, also where its answer is not delivered: then no client holds either token. */
T(unlocked_meanwhile_and_the_answer_not_written)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    forget();
    ask(1, "UNLOCK job");
    vote("0-2", "EXTEND 10000, ZADD YES, RELEASE NO");
    EXPECT("m0-2 RELEASE job T1", "s2 #2 +LOCKED job token=T2 *", "s1 #3 -NOTHELD *");
    undelivered(2, 2);
    EXPECT("m0-2 RELEASE job T2 WAKE");
    vote("0-2", "RELEASE YES");
}

/* ---- two at once ---- */

T(two_at_once_here)
{
    start(3);
    ask(1, "RESUME job token=X");
    ask(2, "RESUME job token=X");
    EXPECT("m0-2 MOVE job X T1", "m0-2 MOVE job X T2");
    vote("0", "MOVE YES, MOVE NO");
    vote("1", "MOVE YES, MOVE NO");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 ZADD job 1000007");
    vote("2", "MOVE YES, MOVE NO");
    EXPECT("m0-2 MOVE job T2 X", "s2 #2 -NOTHELD job");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
    vote("2", "EXTEND 10000, ZADD YES");
}

/* The other daemon's RESUME took master 0, this daemon's took master 1. Both fail, and each client is told to
 * ask again after a random time. */
T(two_at_once_through_two_daemons)
{
    start(3);
    ask(1, "RESUME job token=X");
    lose(2);
    vote("0", "MOVE NO");
    forget();
    vote("1", "MOVE YES");
    work();
    EXPECT("m0-1 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=1/3 nodes=-+! retry=20 : *");
    vote("0", "MOVE NO");
    vote("1", "MOVE YES");
    at(1020);
    ask(1, "RESUME job token=X");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-1 MOVE job X T2", "m0-1 EXTEND job T2 10000", "m0-1 ZADD job *",
           "s1 #2 +LOCKED job token=T2 *");
}

/* ---- drain, limits, CANCEL ---- */

T(drain_sets_back_what_is_under_way)
{
    start(3);
    ask(1, "RESUME job token=X");
    drain();
    work();
    ask(2, "RESUME job token=X");
    EXPECT("m0-2 MOVE job X T1", "s2 #2 -DRAINING job");
    ck_assert(!coordinator_drained(core));
    vote("0-2", "MOVE YES");
    forget();
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -DRAINING job");
    ck_assert(!coordinator_drained(core)); /* the token has to be set back before the daemon ends */
    vote("0-1", "MOVE YES");
    vote("2", "EXTEND 10000, ZADD YES, MOVE YES");
    ck_assert(coordinator_drained(core));
}

T(limits_count_what_is_under_way)
{
    config.max_locks = 2;
    config.max_locks_per_client = 1;
    config.max_waits_per_client = 1;
    start(3);
    ask(1, "RESUME a token=X note=one");
    ask(1, "RESUME b token=X");
    EXPECT("m0-2 MOVE a X T1", "s1 #2 -LIMIT b limit=max_locks_per_client");
    ask(1, "LOCK b");
    EXPECT("s1 #3 -LIMIT b limit=max_locks_per_client");
    ask(2, "RESUME b token=X note=two");
    ask(3, "RESUME c token=X note=three");
    ask(3, "LOCK c");
    EXPECT("m0-2 MOVE b X T2", "s3 #5 -LIMIT c limit=max_locks", "s3 #6 -LIMIT c limit=max_locks");
    vote("0-1", "MOVE NO");
    vote("2", "MOVE NO");
    EXPECT("m0-2 MOVE a T1 X", "s1 #1 -NOTHELD a");
    ask(3, "RESUME c token=X note=three"); /* its place is free, and the note's too */
    EXPECT("m0-2 MOVE c X T3");
    vote("0-2", "MOVE YES, MOVE NO, MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES, EXTEND 10000, ZADD YES");
    EXPECT("m0-2 EXTEND b T2 10000", "m0-2 ZADD b *", "m0-2 EXTEND c T3 10000", "m0-2 ZADD c *",
           "s2 #4 +LOCKED b *", "s3 #7 +LOCKED c *");
}

T(who_waits_as_often_as_he_may_may_still_resume)
{
    config.max_waits_per_client = 1;
    start(3);
    ask(1, "LOCK a wait=1m");
    ask(1, "LOCK b wait=1m");
    ask(1, "RESUME job token=X");
    EXPECT("m0-2 SET a T1 10000", "m0-2 ZADD a *", "s1 #2 -LIMIT b limit=max_waits_per_client",
           "m0-2 MOVE job X T2");
}

T(cancel_is_for_what_waits)
{
    start(3);
    ask(1, "RESUME job token=X");
    cancel(1, 1);
    EXPECT("m0-2 MOVE job X T1", "s1 #2 -BADTAG *");
    vote("0-2", "MOVE NO");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOTHELD job");
}
