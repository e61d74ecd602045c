/* Traces: a RESUME that is not granted is set back, everywhere. */
#include "tests/unit/trace.h"

static void nothing_is_left(void)
{
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.rounds_under_way + stats.releases_under_way + stats.names + stats.locks, 0);
}

/* ---- below a quorum ---- */

T(below_a_quorum_it_is_set_back_everywhere)
{
    config.masters = 5;
    start(5);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    vote("1", "MOVE NO");
    vote("2", "MOVE LOADING");
    lose(3);
    EXPECT("m0-4 MOVE job X T1");
    chance(100);
    at(1050); /* 4 says nothing */
    EXPECT("m0-2,4 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=1/5 nodes=+-!!? retry=120 : *");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(3, "down undo=1");
    EXPECT_MASTER(4, "slow silent undo=1");
    vote("4", "MOVE YES, MOVE YES"); /* both answers are late, and the second sets the first back */
    EXPECT_MASTER(4, "up");
    dial(3);
    vote("3", "CLIENT_ID OK, INFO OK, KILL 1");
    work();
    EXPECT("m3 CLIENT_ID", "m3 INFO", "m3 KILL 401", "m3 MOVE job T1 X");
    vote("3", "MOVE NO");
    EXPECT_MASTER(3, "up");
    at(2000);
    EXPECT_NOTHING();
    nothing_is_left();
}

T(a_token_that_nobody_has)
{
    start(5);
    ask(1, "RESUME job token=X");
    vote("0-2",
         "MOVE NO"); /* N - Q + 1: but another RESUME may have taken them, while this one takes others */
    EXPECT("m0-4 MOVE job X T1");
    vote("3-4", "MOVE NO");
    EXPECT("m0-4 MOVE job T1 X", "s1 #1 -NOTHELD job");
    EXPECT_MASTER(0, "up"); /* these masters never had it, so they owe nothing */
    lose(0);
    EXPECT_MASTER(0, "down");
    work();
    vote("1-4", "MOVE NO");
    nothing_is_left();
}

T(a_token_that_nobody_has_while_a_master_hangs)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-1", "MOVE NO");
    forget();
    at(1049);
    EXPECT_NOTHING();
    at(1050);
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOTHELD job");
    vote("0-1", "MOVE NO");
    ask(1, "RESUME job token=X"); /* master 2 is slow, so it is not asked */
    vote("0-1", "MOVE NO");
    EXPECT("m0-1 MOVE job X T2", "m0-2 MOVE job T2 X", "s1 #2 -NOTHELD job");
    vote("2", "MOVE NO, MOVE NO");
}

T(too_few_answers)
{
    start(3);
    ask(1, "RESUME a token=X");
    vote("0", "MOVE NO");
    at(1050);
    EXPECT("m0-2 MOVE a X T1", "m0-2 MOVE a T1 X",
           "s1 #1 -NOQUORUM a votes=0/3 nodes=-?"
           "? : *"); /* no retry=: the time is unknown */
    ask(1, "RESUME b token=X");
    EXPECT("s1 #2 -NOQUORUM b votes=1/3 nodes=+?"
           "? : *"); /* no master needs to be asked for that */
    vote("1-2", "MOVE NO, MOVE NO");
    vote("0", "MOVE NO");
    ask(1, "RESUME c token=X");
    vote("0-1", "MOVE OOM");
    EXPECT("m0-2 MOVE c X T2", "m0-2 MOVE c T2 X", "s1 #3 -NOQUORUM c votes=0/3 nodes=!!? : *");
    vote("2", "MOVE YES, MOVE YES");
    vote("0-1", "MOVE NO");
}

/* A master that restarted with its disk of an hour ago has the token, the others do not. */
T(moved_in_quarantine_alone)
{
    start(3);
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    ask(1, "RESUME job token=X");
    vote("2", "MOVE YES");
    forget();
    vote("0", "MOVE NO");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=0/3 nodes=-?~ retry=20 : *");
    vote("0", "MOVE NO");
    vote("1", "MOVE NO, MOVE NO");
    vote("2", "MOVE YES");
}

/* A no from a master that may have forgotten the token proves nothing. */
T(not_there_in_quarantine)
{
    start(3);
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    ask(1, "RESUME job token=X");
    vote("0,2", "MOVE NO");
    forget();
    at(1050);
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=0/3 nodes=-?- *");
    vote("0,2", "MOVE NO");
    vote("1", "MOVE YES, MOVE YES");
}

/* ---- later ---- */

T(extended_below_a_quorum)
{
    start(3);
    ask(1, "RESUME a token=X");
    ask(1, "RESUME b token=X");
    vote("0-1", "MOVE YES, MOVE YES");
    forget();
    vote("0", "EXTEND 10000, ZADD YES, EXTEND 10000, ZADD YES");
    vote("1", "EXTEND NO, ZADD YES"); /* the key ran out there in between */
    EXPECT_NOTHING();
    vote("2", "MOVE NO, MOVE NO, EXTEND NO, ZADD YES");
    EXPECT("m0-2 MOVE a T1 X", "s1 #1 -NOQUORUM a votes=1/3 nodes=+-- retry=20 : *");
    at(1050);
    EXPECT("m0-2 MOVE b T2 X", "s1 #2 -NOQUORUM b votes=1/3 nodes=+?"
                               "? retry=20 : *");
    vote("0", "MOVE YES, MOVE YES");
    vote("1", "EXTEND 10000, ZADD YES, MOVE NO, MOVE YES");
    vote("2", "EXTEND 10000, ZADD YES, MOVE NO, MOVE YES");
    nothing_is_left();
}

T(a_raise_that_fails)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD NO");
    vote("2", "EXTEND 10000, ZADD OOM");
    forget();
    vote("0", "ZSCORE 1700000");
    vote("1", "ZSCORE LOADING");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=1/3 nodes=+!! retry=20 : *");
    vote("0-2", "MOVE YES");
}

/* A master in quarantine, whose answer is still to come, could not help. */
T(a_raise_that_fails_before_quarantine_answers)
{
    start(3);
    restart(2, 0);
    dial(2);
    shake(2);
    ask(1, "RESUME job token=X");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD NO");
    forget();
    vote("0", "ZSCORE LOADING");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=0/3 nodes=!?~ *");
    vote("0", "MOVE YES");
    vote("1", "ZSCORE 5, MOVE YES");
    vote("2", "MOVE YES, EXTEND 10000, MOVE YES");
}

T(no_fence_is_high_enough)
{
    markers[0].clock_ms = (int64_t)(FENCE_MAX / 1000);
    start(1);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    vote("0", "EXTEND 10000, ZADD NO");
    forget();
    vote("0", "ZSCORE 9007199254740991");
    EXPECT("m0 MOVE job T1 X", "s1 #1 -LIMIT job limit=fence");
    wall_offset_us = INT64_C(1) << 53;
    vote("0", "MOVE YES");
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    EXPECT("m0 MOVE job X T2", "m0 MOVE job T2 X", "s1 #2 -LIMIT job limit=fence");
    vote("0", "MOVE YES");
}

T(its_time_is_over)
{
    start(3);
    ask(1, "RESUME job token=X ttl=100ms");
    vote("0-2", "MOVE YES");
    vote("0", "EXTEND 100, ZADD YES");
    forget();
    at_without_work(1097); /* 1000 + 100 - 3 - 1 are over: the daemon slept */
    vote("1", "EXTEND 100, ZADD YES");
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=2/3 nodes=++? retry=20 : *");
    vote("0-1", "MOVE YES");
    vote("2", "EXTEND 100, ZADD YES, MOVE YES");
}

/* Grants that came before a master's connection was lost do not count after it. */
T(a_master_that_is_lost_meanwhile)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-1", "MOVE YES");
    vote("2", "MOVE NO, EXTEND NO, ZADD YES");
    forget();
    vote("0", "EXTEND 10000, ZADD YES");
    lose(0);
    work();
    EXPECT("m1-2 MOVE job T1 X", "s1 #1 -NOQUORUM job votes=0/3 nodes=!?- retry=20 : *");
    vote("1", "EXTEND 10000, ZADD YES, MOVE YES");
    vote("2", "MOVE NO");
    EXPECT_MASTER(0, "down undo=1");
    restart(0, 100000); /* with none of this daemon's keys; but its disk may bring them back */
    dial(0);
    shake(0);
    work();
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 MOVE job T1 X");
    vote("0", "MOVE NO");
}

/* ---- nobody is there to be told ---- */

T(the_client_is_gone)
{
    start(3);
    ask(1, "RESUME job token=X");
    drop(1);
    work();
    EXPECT("m0-2 MOVE job X T1", "s1 ended");
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 ZADD job 1000007");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 MOVE job T1 X");
    vote("0-1", "MOVE YES");
    vote("2", "EXTEND 10000, ZADD YES, MOVE YES");
    ask(2, "RESUME job token=X");
    vote("0", "MOVE YES");
    drop(2);
    work();
    EXPECT("m0-2 MOVE job X T2", "s2 ended");
    vote("1-2", "MOVE NO");
    EXPECT("m0-2 MOVE job T2 X"); /* and no -NOQUORUM */
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    nothing_is_left();
}

/* The session has other locks, which are still being unbound. */
T(the_client_is_going)
{
    start(3);
    grant(1, "LOCK other");
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    forget();
    drop(1);
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 MOVE job T2 X");
    work();
    EXPECT("s1 ended");
    vote("0-1", "MOVE YES");
    vote("2", "EXTEND 10000, ZADD YES, MOVE YES");
}

/* The client asks nothing more, but it asked this before. */
T(a_client_that_finishes_gets_its_answer)
{
    start(3);
    ask(1, "RESUME job token=X");
    finish(1);
    work();
    vote("0-2", "MOVE YES");
    forget();
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("s1 #1 +LOCKED job *");
    release(1);
    work();
    EXPECT("s1 !LOST job token=T1 reason=closed", "m0-2 RELEASE job T1 WAKE", "s1 ended");
    vote("0-2", "RELEASE YES");
}

T(no_byte_of_its_answer_was_written)
{
    start(3);
    grant(1, "LOCK job");
    uint64_t request = ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 MOVE job T1 T2", "m0-2 EXTEND job T2 10000", "m0-2 ZADD job 1000008",
           "s1 !LOST job token=T1 reason=moved", "s2 #2 +LOCKED job token=T2 *");
    lose(2);
    undelivered(2, request);
    drop(2);
    work();
    EXPECT("m0-1 MOVE job T2 T1", "s2 ended");
    vote("0-1", "MOVE YES");
    EXPECT_MASTER(2, "down undo=1");
    ask(3, "RESUME job token=T1"); /* once more */
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("m0-1 MOVE job T1 T3", "m0-1 EXTEND job T3 10000", "m0-1 ZADD job *",
           "s3 #3 +LOCKED job token=T3 *");
}

/* ---- what masters owe ---- */

/* A set-back writes: a master that is out of memory refuses it, and is asked again. */
T(a_set_back_that_is_refused_is_owed)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    forget();
    vote("0", "MOVE OOM");
    vote("1", "MOVE NOT_RUN");
    EXPECT("m1 MOVE job T1 X");
    vote("1-2", "MOVE NO");
    EXPECT_MASTER(0, "up undo=1");
    at(2000);
    EXPECT("m0 MOVE job T1 X");
    vote("0", "MOVE YES");
    EXPECT_MASTER(0, "up");
    nothing_is_left();
}

/* A hung master may run the MOVE long after it was sent, and the old token may have any TTL. */
T(a_set_back_is_owed_until_max_ttl_after_the_kill)
{
    start(3);
    ask(1, "RESUME job token=X ttl=1s");
    vote("0-1", "MOVE NO");
    forget();
    at(1050);
    lose(2);
    vote("0-1", "MOVE NO");
    forget();
    at(100000);
    EXPECT_MASTER(2, "down undo=1");
    dial(2);
    vote("2", "CLIENT_ID OK, INFO OK, KILL 1");
    work();
    lose(2);
    forget();
    at(159999);
    EXPECT_MASTER(2, "down undo=1");
    at(160000);
    EXPECT_MASTER(2, "down");
}

/* The same where the RESUME was granted, and its answer reached nobody. */
T(an_undelivered_one_is_owed_until_max_ttl_after_the_kill)
{
    start(3);
    uint64_t request = ask(1, "RESUME job token=X ttl=1s");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND 1000, ZADD YES");
    EXPECT_LAST("s1 #1 +LOCKED job *");
    undelivered(1, request);
    EXPECT("m0-2 MOVE job T1 X");
    vote("0-1", "MOVE YES");
    lose(2);
    forget();
    at(100000);
    EXPECT_MASTER(2, "down undo=1");
    dial(2);
    vote("2", "CLIENT_ID OK, INFO OK, KILL 1");
    work();
    lose(2);
    forget();
    at(159999); /* it may have run the MOVE alone, which kept the old token's TTL */
    EXPECT_MASTER(2, "down undo=1");
    at(160000);
    EXPECT_MASTER(2, "down");
}
