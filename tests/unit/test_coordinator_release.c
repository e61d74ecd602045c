/* Traces: how a lock is given back, by which client, and the releases that a master still owes. */
#include "tests/unit/trace.h"

/* ---- UNLOCK ---- */

T(unlocked_when_q_confirmed)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    EXPECT("m0-4 RELEASE job T1");
    vote("0-1", "RELEASE YES");
    EXPECT_NOTHING();
    vote("2", "RELEASE NO"); /* not there: that confirms it too */
    EXPECT("s1 #2 +UNLOCKED job confirmed=3/5");
    vote("3-4", "RELEASE YES");
    EXPECT_REST();
    ask(1, "UNLOCK job");
    EXPECT("s1 #3 -NOTHELD job : *");
}

T(unlocked_at_node_timeout)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    lose(4);
    ask(1, "UNLOCK job token=T1");
    vote("0", "RELEASE YES");
    vote("1", "RELEASE OOM");
    forget();
    at(1049);
    EXPECT_NOTHING();
    at(1050);
    EXPECT("s1 #2 +UNLOCKED job confirmed=1/5");
    EXPECT_MASTER(2, "slow silent undo=1");
    EXPECT_MASTER(4, "down undo=1");
    vote("2-3", "RELEASE YES");
    EXPECT_MASTER(2, "up");
}

T(unlock_of_a_lock_that_was_lost)
{
    start(4);
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    vote("0", "RELEASE YES");
    vote("1", "RELEASE NO");
    EXPECT("m0-3 RELEASE job T1");
    vote("2", "RELEASE NO"); /* N - Q + 1 = 2: no quorum had it */
    EXPECT("s1 #2 -NOTHELD job : it was lost before this release");
    vote("3", "RELEASE YES");
}

/* The holder says that it lost the lock: logs and figures hear of it, once, and only of a lock that was its own. */
T(unlock_of_a_lock_that_is_lost_to_its_holder)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    ask(2, "UNLOCK job token=T1 lost=clock");
    EXPECT("s1 !LOST job token=T1 reason=released", "m0-2 RELEASE job T1");
    vote("0-2", "RELEASE YES");
    EXPECT("s2 #2 +UNLOCKED job confirmed=2/3");
    EXPECT_REST();
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job token=T2 lost=expired");
    EXPECT("s1 !LOST job token=T2 reason=expired", "m0-2 RELEASE job T2");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #4 +UNLOCKED job confirmed=2/3");
    EXPECT_REST();
    ask(1, "UNLOCK job token=T2 lost=gone");
    EXPECT("m0-2 RELEASE job T2 WAKE");
    vote("0-2", "RELEASE NO");
    EXPECT("s1 #5 -NOTHELD job");
}

T(unlock_by_the_token_of_another_session)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #2 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897 depth=2");
    ask(2, "UNLOCK job token=T1"); /* the client that shows the token is the holder, whatever the depth */
    EXPECT("s1 !LOST job token=T1 reason=released", "m0-4 RELEASE job T1");
    vote("0", "RELEASE NO");
    vote("1-2", "RELEASE YES");
    EXPECT_NOTHING();
    vote("3", "RELEASE YES");
    EXPECT("s2 #3 +UNLOCKED job confirmed=4/5");
    vote("4", "RELEASE YES");
    ask(1, "UNLOCK job");
    EXPECT("s1 #4 -NOTHELD job : *");
}

T(unlock_by_a_token_that_is_unknown_here)
{
    start(3);
    ask(1, "UNLOCK a token=X");
    ask(1, "UNLOCK b token=X");
    ask(1, "UNLOCK c token=X");
    EXPECT("m0-2 RELEASE a X WAKE", "m0-2 RELEASE b X WAKE", "m0-2 RELEASE c X WAKE");
    vote("0", "RELEASE NO, RELEASE YES, RELEASE YES");
    vote("1", "RELEASE NO");
    EXPECT("s1 #1 -NOTHELD a");
    vote("1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED b confirmed=2/3");
    at(1050);
    EXPECT("s1 #3 -NOQUORUM c votes=1/3 nodes=+?? *");
    lose(0);
    lose(1);
    lose(2);
    ask(1, "UNLOCK d token=X");
    EXPECT("s1 #4 -NOQUORUM d votes=0/3 nodes=!!! *");
}

T(unlock_without_a_token_is_for_what_this_session_took)
{
    start(3);
    grant(1, "LOCK job hold=lease");
    ask(2, "UNLOCK job");
    EXPECT("s2 #2 -NOTHELD job : *");
    ask(1, "UNLOCK job token=X"); /* the token counts where one is given */
    vote("0-1", "RELEASE NO");
    EXPECT("m0-2 RELEASE job X WAKE", "s1 #3 -NOTHELD job");
    ask(1, "UNLOCK job");
    vote("2", "RELEASE NO");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "s1 #4 +UNLOCKED job confirmed=2/3");
}

T(depth)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(2000);
    ask(1, "LOCK job token=T1");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #2 +LOCKED job token=T1 fence=1000007 valid=8897 until=10897 depth=2",
           "s1 #3 +LOCKED job token=T1 fence=1000007 valid=8897 until=10897 depth=3");
    ask(1, "UNLOCK job");
    ask(1, "UNLOCK job token=T1");
    EXPECT("s1 #4 +UNLOCKED job confirmed=0/3 depth=2", "s1 #5 +UNLOCKED job confirmed=0/3 depth=1");
    ask(2, "LOCK job token=T1");   /* the token of another session */
    ask(1, "LOCK job token=X");    /* a token that nobody has */
    ask(1, "LOCK other token=T1"); /* a token of another name */
    EXPECT("s2 #6 -NOTHELD job : *", "s1 #7 -NOTHELD job : *", "s1 #8 -NOTHELD other : *");
    ask(1, "UNLOCK job");
    vote("0-1", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "s1 #9 +UNLOCKED job confirmed=2/3");
}

T(undelivered_grant_is_undone)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    ask(2, "LOCK job wait=1m");
    undelivered(1, 7); /* another request was undelivered: nothing happens */
    undelivered(3, 1);
    EXPECT_NOTHING();
    undelivered(1, 1);
    vote("0-1", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD job 1000008");
}

/* ---- the undo list ---- */

/* Behind a lost link a release is owed until the old connection was killed, and for a TTL after that. */
T(owed_until_a_ttl_after_the_kill)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    lose(0);
    at(1050);
    vote("1-2", "SET YES, ZADD YES, RELEASE YES");
    EXPECT_LAST("s1 #1 -NOQUORUM job *");
    at(20000); /* the SET may run on the old connection whenever that master wakes up */
    EXPECT_MASTER(0, "down undo=1");
    dial(0);
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 101");
    at(20100);
    vote("0", "KILL 1");
    work();
    EXPECT("m0 RELEASE job T1");
    EXPECT_MASTER(0, "undoing undo=1");
    lose(0);
    at(30099);
    EXPECT_MASTER(0, "down undo=1");
    at(30100); /* a TTL after the kill: any key that was set before it has expired */
    EXPECT_MASTER(0, "down");
}

static void asked_once_more_and_lost(void)
{
    dial(0);
    shake(0);
    vote("0", "KILL 0");
    work();
    EXPECT_LAST("m0 RELEASE job T1");
    lose(0);
}

/* Any daemon may have extended the key, each up to max_ttl (60 s), until it was given back here. */
T(owed_for_the_longest_that_its_key_can_live)
{
    start(3);
    grant(1, "LOCK job ttl=1s hold=lease");
    lose(0);
    ask(1, "UNLOCK job");
    vote("1-2", "RELEASE YES");
    asked_once_more_and_lost();
    at(60999);
    EXPECT_MASTER(0, "down undo=1");
    asked_once_more_and_lost();
    at(61000); /* a max_ttl after the first kill: from then on only releases went there */
    EXPECT_MASTER(0, "down");
}

T(owed_where_it_was_refused)
{
    start(3);
    grant(1, "LOCK job ttl=5s");
    ask(1, "UNLOCK job");
    vote("0", "RELEASE MISCONF"); /* not run */
    vote("1-2", "RELEASE YES");
    EXPECT_MASTER(0, "up undo=1");
    forget();
    at(1999);
    EXPECT_NOTHING();
    at(2000);
    EXPECT("m0 RELEASE job T1");
    vote("0", "RELEASE MISCONF");
    at(3000);
    EXPECT("m0 RELEASE job T1");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
    EXPECT_REST();
}

/* A release that is refused for ever is tried until the key has expired, and no longer. */
T(owed_no_longer_than_the_key_can_live)
{
    start(3);
    at(3000);
    grant(1, "LOCK job ttl=5s");
    ask(1, "UNLOCK job");
    vote("0", "RELEASE MISCONF");
    vote("1-2", "RELEASE YES");
    for (unsigned i = 0; i < 59; i++) {
        at(now + 1000);
        vote("0", "RELEASE MISCONF");
    }
    EXPECT_MASTER(0, "up undo=1");
    forget();
    at(63001); /* a max_ttl after the first answer */
    EXPECT_MASTER(0, "up");
    forget();
    if (unanswered(0) > 0)
        vote("0", "RELEASE MISCONF");
    at(90000);
    EXPECT_NOTHING();
}

/* A server that never knows the script is not asked at the speed of the wire. */
T(not_run_is_repeated_once)
{
    start(3);
    grant(1, "LOCK job ttl=5s");
    ask(1, "UNLOCK job");
    vote("0", "RELEASE NOT_RUN");
    EXPECT("m0-2 RELEASE job T1", "m0 RELEASE job T1");
    vote("0", "RELEASE NOT_RUN");
    EXPECT_NOTHING();
    vote("1-2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=2/3");
    EXPECT_MASTER(0, "up undo=1"); /* the release did not run */
    at(2000);                      /* the undo list's turn */
    EXPECT("m0 RELEASE job T1");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
}

T(owed_by_those_that_got_the_set_only)
{
    start(5);
    lose(4);
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET NO, ZADD NO");
    EXPECT_LAST("s1 #1 -BUSY job");
    lose(0);
    lose(3);
    work();
    vote("1-2", "RELEASE NO");
    EXPECT_MASTER(0, "down");        /* refused */
    EXPECT_MASTER(3, "down undo=1"); /* silent */
    EXPECT_MASTER(4, "down");        /* not asked */
}

/* A master that said that the key is gone may be restarted from a snapshot in which it is not. */
T(owed_also_where_the_key_was_gone_for_a_while)
{
    start(3);
    grant(1, "LOCK job ttl=10s hold=lease");
    restart(2, 0);
    dial(2);
    shake(2);
    ask(1, "EXTEND job token=T1");
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND MISCONF");
    lose(2);
    forget();
    ask(1, "UNLOCK job");
    vote("0-1", "RELEASE YES");
    EXPECT("m0-1 RELEASE job T1", "s1 #3 +UNLOCKED job confirmed=2/3");
    EXPECT_MASTER(2, "down undo=1");
}

T(owed_also_when_its_record_is_gone)
{
    start(3);
    grant(1, "LOCK job ttl=10s hold=lease");
    ask(1, "EXTEND job token=T1");
    vote("1-2", "EXTEND NO"); /* both masters were flushed; master 0 has the key and does not answer */
    EXPECT("m0-2 EXTEND job T1 10000", "s1 #2 -NOTHELD job");
    ask(1, "UNLOCK job token=T1");
    vote("1-2", "RELEASE NO");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #3 -NOTHELD job");
    lose(0);
    EXPECT_MASTER(0, "down undo=1");
    dial(0);
    shake(0);
    vote("0", "KILL 1");
    work();
    EXPECT_LAST("m0 RELEASE job T1 WAKE");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
    forget();
}

/* A granted attempt owes nothing: a late grant joins the lease. */
T(nothing_owed_of_a_grant)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    vote("0-1", "SET YES, ZADD YES");
    lose(2);
    work();
    EXPECT_LAST("s1 #1 +LOCKED *");
    EXPECT_MASTER(2, "down");
    ask(1, "UNLOCK job"); /* the release is owed: its key may be there */
    vote("0-1", "RELEASE YES");
    EXPECT_LAST("s1 #2 +UNLOCKED *");
    EXPECT_MASTER(2, "down undo=1");
}

T(oldest_makes_room_when_the_list_is_full)
{
    config.max_undo = 2;
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    grant(1, "LOCK c");
    lose(2);
    ask(1, "UNLOCK a");
    ask(1, "UNLOCK b");
    vote("0-1", "RELEASE YES, RELEASE YES");
    EXPECT_MASTER(2, "down undo=2");
    ask(1, "UNLOCK c");
    vote("0-1", "RELEASE YES");
    EXPECT_MASTER(2, "down undo=2");
    forget();
    dial(2);
    shake(2);
    vote("2", "KILL 0");
    work();
    EXPECT("m2 CLIENT_ID", "m2 INFO", "m2 KILL 301", "m2 RELEASE * T*", "m2 RELEASE * T*");
    vote("2", "RELEASE YES, RELEASE YES");
    EXPECT_MASTER(2, "up");
}
