/* Traces: the end of a session, the end of the daemon, and limits. */
#include "tests/unit/trace.h"

/* ---- sessions ---- */

T(finish_answers_first_attempts_and_cancels_what_waits)
{
    start(3);
    grant(9, "LOCK held");
    ask(1, "LOCK a wait=1m");
    ask(1, "LOCK b");
    ask(1, "LOCK held wait=1m");
    ask(1, "LOCK c wait=1m");
    forget();
    finish(1);
    work();
    EXPECT("s1 #4 -CANCELLED held");
    vote("0-1", "SET YES, ZADD YES, SET NO, ZADD NO, SET NO, ZADD NO");
    EXPECT("s1 #2 +LOCKED a *", "m0-2 RELEASE b T3", "s1 #3 -BUSY b", "m0-2 RELEASE c T4",
           "s1 #5 -CANCELLED c");
    ask(1, "LOCK held wait=1m"); /* sent before FIN, but read later: it must not wait */
    ask(1, "LOCK held");
    EXPECT("s1 #6 -CANCELLED held", "s1 #7 -BUSY held");
}

/* A request before its first attempt waits for a release that is under way. */
T(finish_while_the_name_is_being_given_back)
{
    start(3);
    grant(1, "LOCK job");
    at(1100); /* later in the turn of this daemon */
    ask(1, "UNLOCK job");
    ask(2, "LOCK job wait=5ms");
    finish(2);
    at(1110); /* the ends of the session and of its wait do not spoil the request */
    EXPECT("m0-2 RELEASE job T1");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED *", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s2 #3 +LOCKED job token=T2 *");
}

T(release_of_a_session_one_lock_a_step)
{
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b hold=lease");
    grant(1, "LOCK c");
    grant(9, "LOCK other");
    ask(1, "LOCK other wait=1m");
    release(1);
    EXPECT_NOTHING();
    EXPECT_DEADLINE(now);
    work_once(); /* the waiter */
    EXPECT_NOTHING();
    work_once();
    EXPECT("s1 !LOST c token=T3 reason=closed", "m0-2 RELEASE c T3");
    work_once(); /* the lock with hold=lease outlives its session */
    EXPECT_NOTHING();
    work_once();
    EXPECT("s1 !LOST a token=T1 reason=closed", "m0-2 RELEASE a T1", "s1 ended");
    ask(2, "CHECK b token=T2");
    EXPECT("m0-2 CHECK b T2");
}

T(release_while_a_round_is_under_way)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    forget();
    finish(1);
    release(1);
    vote("1",
         "SET YES, ZADD YES"); /* before the work of its end: no lock is granted to a client that has gone */
    work();
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 ended");
}

T(drop_lets_locks_run_out)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    grant(1, "LOCK free ttl=10s");
    ask(2, "LOCK job wait=1m");
    chance(180);
    at(3000);
    drop(1);
    work(); /* the waiter asks now: the holder may give it up elsewhere */
    EXPECT("s1 ended", "m0-2 SET job T3 10000", "m0-2 ZADD job *");
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    EXPECT("m0-2 RELEASE job T3", "m0-2 ENQUEUE job *");
    for (unsigned i = 0; i < 40; i++) { /* no renewal, nothing deleted */
        at(now + 200);
        EXPECT("m0-2 SET job *");
        vote("0-2", "SET NO");
        vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
        EXPECT("m0-2 RELEASE job *", "m0-2 ENQUEUE job *");
    }
    ck_assert_int_gt(now, 10897);
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.locks, 0); /* both are forgotten */
    ck_assert_uint_eq(stats.lost, 0);  /* there was no client to tell */
}

T(drop_undoes_a_round_under_way)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    forget();
    drop(1);
    work();
    EXPECT("m0-2 RELEASE job T1 WAKE STAY", "s1 ended", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    drop(3); /* a session that the daemon does not know */
    EXPECT("s3 ended");
}

/* ---- drain ---- */

T(drain_refuses_who_waits_and_who_comes)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(2, "LOCK other");
    ask(3, "LOCK other wait=1m");
    vote("0", "SET YES, ZADD YES");
    forget();
    drain();
    work(); /* the next in line sends no more attempts */
    EXPECT("s2 #2 -DRAINING job", "s2 #3 -DRAINING other", "m0-2 RELEASE other T2 WAKE STAY",
           "s3 #4 -DRAINING other", "m0-2 DEQUEUE other");
    ask(3, "LOCK job");
    EXPECT("s3 #5 -DRAINING job");
    ck_assert(!coordinator_drained(core));
    vote("0", "RELEASE YES, DEQUEUE NO");
    vote("1-2", "SET YES, ZADD YES, RELEASE YES, DEQUEUE YES");
    at(4000); /* renewal, EXTEND, CHECK and UNLOCK go on */
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    ask(1, "CHECK job token=T1");
    ask(1, "EXTEND job token=T1");
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 #6 +HELD *", "m0-2 EXTEND job T1 10000", "s1 !RENEWED *", "s1 #7 +EXTENDED *");
    ask(1, "UNLOCK job");
    ck_assert(!coordinator_drained(core)); /* a reply is due */
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "s1 #8 +UNLOCKED job confirmed=2/3");
    ck_assert(coordinator_drained(core));
}

T(drain_ends_at_its_time_out)
{
    config.max_ttl_ms = 20000;
    start(3);
    grant(1, "LOCK a ttl=20s");
    grant(2, "LOCK b ttl=20s");
    grant(2, "LOCK c ttl=20s hold=lease");
    at(2000);
    drain();
    at(7000);
    vote("0-2", "EXTEND 20000, EXTEND 20000");
    forget();
    at(11999);
    EXPECT_NOTHING();
    ck_assert(!coordinator_drained(core));
    at(12000);
    EXPECT("s1 !LOST a token=T1 reason=drain", "s2 !LOST b token=T2 reason=drain"); /* nothing is deleted */
    ck_assert(coordinator_drained(core));
}

T(drain_waits_for_replies_that_are_due)
{
    start(3);
    ck_assert(!coordinator_drained(core));
    ask(1, "CHECK job token=X");
    drain();
    work();
    ck_assert(!coordinator_drained(core));
    vote("0-1", "CHECK NO");
    EXPECT("m0-2 CHECK job X", "s1 #1 -NOTHELD job");
    ck_assert(coordinator_drained(core));
}

/* ---- limits ---- */

T(limit_of_locks)
{
    config.max_locks = 2;
    start(3);
    grant(1, "LOCK a");
    ask(2, "LOCK b"); /* an attempt counts: it may be granted */
    ask(3, "LOCK c");
    ask(3, "LOCK c wait=1m");
    EXPECT("m0-2 SET b *", "m0-2 ZADD b *", "s3 #3 -LIMIT c limit=max_locks",
           "s3 #4 -LIMIT c limit=max_locks");
    vote("0-1", "SET NO, ZADD NO");
    EXPECT("m0-2 RELEASE b *", "s2 #2 -BUSY b");
    ask(3, "LOCK c");
    EXPECT("m0-2 SET c *", "m0-2 ZADD c *");
}

T(limit_of_waiters)
{
    config.max_waiters = 2;
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(4, "LOCK job wait=1m");
    ask(4, "LOCK other");
    EXPECT("s4 #4 -LIMIT job limit=max_waiters", "s4 #5 -LIMIT other limit=max_waiters");
    cancel(2, 2);
    ask(4, "LOCK job wait=1m");
    EXPECT("s2 #2 -CANCELLED job", "s2 #6 +OK");
}

T(limits_of_a_client)
{
    config.max_locks_per_client = 3;
    config.max_waits_per_client = 2;
    start(3);
    grant(9, "LOCK job");
    ask(1, "LOCK job wait=1m");
    ask(1, "LOCK job wait=1m");
    ask(1, "LOCK job wait=1m");
    EXPECT("s1 #4 -LIMIT job limit=max_waits_per_client");
    grant(2, "LOCK a");
    grant(2, "LOCK b hold=lease");
    ask(2, "LOCK job wait=1m"); /* this request may become the third lock */
    ask(2, "LOCK c");
    EXPECT("s2 #8 -LIMIT c limit=max_locks_per_client");
    ask(3, "LOCK c"); /* another session has limits of its own */
    EXPECT("m0-2 SET c *", "m0-2 ZADD c *");
}

T(limits_of_times)
{
    start(3);
    ask(1, "LOCK job ttl=99ms");
    ask(1, "LOCK job ttl=60001ms");
    ask(1, "LOCK job ttl=5s max=4999ms");
    ask(1, "LOCK job max=9999ms"); /* default_ttl is 10 s */
    EXPECT("s1 #1 -BADARG job : ttl is at least 100ms *", "s1 #2 -BADARG job : ttl is at most 1m *",
           "s1 #3 -BADARG job : max is at least *5s*", "s1 #4 -BADARG job : max is at least *10s*");
    ask(1, "LOCK a ttl=100ms max=100ms");
    ask(1, "LOCK b ttl=60s");
    EXPECT("m0-2 SET a T1 100", "m0-2 ZADD a *", "m0-2 SET b T2 60000", "m0-2 ZADD b *");
}
