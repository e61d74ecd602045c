/* Traces: an exclusive lock that becomes a shared one. */
#include "tests/unit/trace.h"

/* Session 1 has "job", by T1, and asks to be a reader; T2 is the reader's token. */
static void downgrade(void)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
}

static void downgraded(void)
{
    downgrade();
    vote("0-2", "DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED job token=T1 *",
           "s1 #2 +LOCKED job token=T2 fence=1000007 valid=9897 until=10897 depth=1");
    vote("0-2", "ALONG YES");
}

T(a_writer_becomes_a_reader)
{
    downgraded();
    ask(2, "LOCK job");
    EXPECT("s2 #3 -BUSY job");
    ask(2, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T3 *", "m0-2 ZADD job *");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s2 #4 +LOCKED job token=T3 *");
    ask(1, "LOCK job token=T2");
    EXPECT("s1 #5 -MODE job : that lock is shared*");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #6 -MODE job : that lock is shared*");
    ask(1, "EXTEND job token=T2 ttl=20s");
    EXPECT("m0-2 DOWN job T1|T1 T2 20000");
    vote("0-2", "DOWN 20000");
    EXPECT("s1 !RENEWED job token=T2 *", "s1 #7 +EXTENDED job *");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2|T1|T1 WAKE");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #8 +UNLOCKED job *");
}

/* The masters are late with a probe, and an EXTEND from before is under way: when they vote again they are told with
 * the next try, not a third of the TTL later. */
T(without_voters_beside_an_older_extend)
{
    start(3);
    grant(1, "LOCK job ttl=30s");
    show_probes = true;
    at(2000);
    at(2040);
    forget();
    ask(1, "EXTEND job token=T1");
    at(2051);
    forget();
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #3 -NOQUORUM job *");
    vote("0-2", "TIME OK, PROBE OK, EXTEND OOM");
    show_probes = false;
    forget();
    at(2900);
    EXPECT_LAST("m0-2 DOWN job T1|T1 T2 *");
}

T(its_old_token_says_the_same_again)
{
    downgraded();
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #3 +LOCKED job token=T2 fence=1000007 valid=9897 until=10897 depth=1");
    ask(1, "LOCK job mode=shared token=T2");
    EXPECT("s1 #4 +LOCKED job token=T2 * depth=2");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #5 +LOCKED job token=T2 * depth=2");
    ask(1, "CHECK job token=T1");
    EXPECT("s1 #6 +HELD job *");
    ask(2, "LOCK job mode=shared token=T1");
    EXPECT("s2 #7 -NOTHELD job *");
}

T(readers_that_wait_here_come_along)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job mode=shared wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(4, "LOCK job mode=shared wait=1m");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000", "m0-2 SHARE job T3 10000", "m0-2 ZADD *");
    vote("0-2", "DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED *", "s1 #5 +LOCKED job token=T2 *");
    vote("0-2", "SHARE YES, ZADD YES, ALONG YES");
    EXPECT("s2 #2 +LOCKED job token=T3 *");
    work();
    EXPECT_NOTHING(); /* the writer waits for both, and the reader behind it */
}

T(it_is_shared_whatever_the_masters_say)
{
    downgrade();
    vote("0", "DOWN OOM");
    vote("1", "DOWN OOM");
    EXPECT("s1 #2 -NOQUORUM job votes=0/3 * : it is shared from now on*");
    work();
    EXPECT("m0-2 DOWN job T1|T1 T2 10000"); /* the renewal says it again */
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #3 -MODE job *");
    ask(2, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T3 *", "m0-2 ZADD *");
    ask(1, "RESUME job token=T1");
    EXPECT("s1 #5 -NOQUORUM job * retry=*");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    vote("2", "DOWN 10000, DOWN 10000, SHARE YES, ZADD YES, DOWN 10000");
    EXPECT_NOTHING();
    vote("0", "DOWN NOT_RUN");
    EXPECT("m0 DOWN job T1|T1 T2 10000");
    ask(1, "UNLOCK job token=T1");
    EXPECT("m0-2 RELEASE job T2|T1|T1");
}

T(it_is_lost_as_any_lock)
{
    downgrade();
    vote("0-1", "DOWN NO");
    EXPECT("s1 #2 -NOTHELD job", "s1 !LOST job token=T1 reason=gone");
}

T(who_entered_it_twice_is_no_reader)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #2 +LOCKED job token=T1 * depth=2");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #3 -MODE job : it was entered more than once*");
    ask(1, "UNLOCK job");
    EXPECT("s1 #4 +UNLOCKED job * depth=1");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
}

T(a_secret_key_becomes_the_readers_too)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    ask(2, "LOCK job wait=1m");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT_LAST("m0-2 ZADD *"); /* a reserve: the lock may be handed on */
    ask(1, "LOCK job mode=shared token=T2");
    EXPECT("m0-2 DOWN job T1|T2 T3 10000");
    vote("0-2", "ZADD YES, DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED job token=T2 *", "s1 #3 +LOCKED job token=T3 *");
    ask(1, "UNLOCK job"); /* it is not handed on */
    EXPECT("m0-2 RELEASE job T3|T1|T2*", "m0-2 SET *", "m0-2 ZADD *");
}

T(resume_takes_the_reader)
{
    downgraded();
    drop(1);
    work();
    EXPECT("s1 ended");
    ask(2, "RESUME job token=T1"); /* the answer to the downgrade may have been lost */
    EXPECT("m0-2 MOVE job T2 T3");
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 EXTEND job T3 10000", "m0-2 ZADD *");
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("s2 #3 +LOCKED job token=T3 *");
    ask(3, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T4 *", "m0-2 ZADD *");
}

T(a_session_that_broke_is_told_nothing)
{
    downgrade();
    drop(1);
    work();
    EXPECT("s1 ended", "m0-2 DOWN job T1|T1 T2 1");
    vote("0-2", "DOWN 10000");
    EXPECT("m0-2 ALONG job");
    ask(2, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T3 *", "m0-2 ZADD *");
}

/* The RESUME moves the same keys: whoever asks meanwhile has to ask again. */
T(a_resume_that_is_under_way_comes_first)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "RESUME job token=T1");
    EXPECT("m0-2 MOVE job T1 T2");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #3 -NOQUORUM job * retry=*");
    vote("0-2", "MOVE NO");
    EXPECT_LAST("s2 #2 -NOTHELD *");
}

T(a_late_confirmation_lets_readers_in_here)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job mode=shared wait=1m");
    ask(1, "LOCK job mode=shared token=T1");
    work();
    EXPECT_LAST("m0-2 ZADD *");
    vote("0-1", "DOWN OOM");
    EXPECT("s1 #3 -NOQUORUM *");
    vote("0-1", "SHARE NO, ZADD YES");
    EXPECT_LAST("m0-2 ENQUEUE *");
    vote("0-1", "RELEASE NO, ENQUEUE HEARD 9000");
    work();
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    vote("2", "DOWN OOM, SHARE NO, ZADD YES, RELEASE NO, ENQUEUE HEARD 9000");
    vote("0-1", "DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED *", "m0-2 SHARE job T4 10000");
}

T(it_is_over_before_the_masters_answer)
{
    downgrade();
    vote("0", "DOWN 10000");
    ask(2, "UNLOCK job token=T1");
    EXPECT_LAST("m0-2 RELEASE job T2|T1|T1 WAKE");
    vote("1-2", "DOWN OOM");
    EXPECT("s1 #2 -NOTHELD job");
}

/* 2 * 1 + 64 rounds: CHECKs of other locks take all that are left. */
static void fill_rounds(void)
{
    char line[80];
    for (unsigned i = 0; i < 70; i++) {
        snprintf(line, sizeof line, "CHECK other%u token=%040u", i, i + 1);
        ask(9, line);
    }
    forget();
}

T(without_a_free_round)
{
    config.max_locks = config.max_waiters = 1;
    start(3);
    grant(1, "LOCK job");
    fill_rounds();
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #72 -LIMIT job limit=max_rounds");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #73 +LOCKED job token=T1 * depth=2"); /* it is exclusive still */
}

T(without_a_free_round_once_it_is_shared)
{
    config.max_locks = config.max_waiters = 1;
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1");
    fill_rounds();
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #73 -NOQUORUM job * retry=* : it is shared from now on*");
}

/* The renewal, which says it again, comes as soon as masters may vote, not after a third of the TTL. */
T(without_voters)
{
    start(3);
    grant(1, "LOCK job ttl=60s");
    lose(0);
    lose(1);
    work();
    forget();
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #2 -NOQUORUM job * : it is shared from now on*");
    EXPECT_DEADLINE(now);
}
