/* Traces: the queue on the masters, for a daemon that has the name, or had it a moment ago. */
#include "tests/unit/trace.h"

static void listening(unsigned masters)
{
    start(masters);
    hears("0-2", "listens");
    EXPECT_NOTHING();
}

/* ---- the holder ---- */

T(a_holder_that_is_told_wakes_the_next)
{
    listening(3);
    grant(1, "LOCK job");
    hears("0", "told job");
    EXPECT_NOTHING();
    at(1050);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
    ask(1, "LOCK job wait=1m");
    vote("0", "RELEASE HEARD:160");
    vote("1", "RELEASE HEARD:80");
    EXPECT("s1 #2 +UNLOCKED *");
    EXPECT_DEADLINE(1060); /* a sixteenth of the longer wait */
    at(1060);
    EXPECT("m0-2 ENQUEUE job 10");
    vote("0", "ENQUEUE HEARD:9000");
    vote("1", "ENQUEUE NO");
    EXPECT_NOTHING();
    vote("2", "RELEASE YES, ENQUEUE NO"); /* the daemon that was woken has given it back */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(a_holder_that_is_woken_wakes_the_next)
{
    listening(3);
    grant(1, "LOCK job");
    hears("0", "woke job");
    EXPECT("m0 ALONG job"); /* the lock may have been given back through another daemon */
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
}

T(within_a_turn_the_next_here_follows)
{
    listening(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    hears("0-2", "told job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #3 +UNLOCKED *", "s2 #2 +LOCKED *");
    ask(2, "UNLOCK job"); /* nobody else waits here */
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(told_while_the_release_is_under_way)
{
    listening(3);
    grant(1, "LOCK job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
    hears("0", "told job");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED *", "m0-2 PASS job");
}

T(told_while_it_asks_or_resumes)
{
    listening(3);
    ask(1, "LOCK job");
    EXPECT("m0-2 SET *", "m0-2 ZADD *");
    hears("0", "told job");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
    ask(2, "RESUME other token=X");
    EXPECT("m0-2 MOVE other *");
    hears("0", "told other");
    hears("0", "woke other");
    EXPECT("m0 ALONG other");
}

/* ---- a name that others wanted a moment ago ---- */

static void wanted_a_moment_ago(void)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    cancel(9, 1);
    vote("0-2", "RELEASE NO");
    forget();
}

T(a_head_joins_the_queue_before_its_first_attempt)
{
    wanted_a_moment_ago();
    ask(8, "LOCK job wait=1m");
    EXPECT("m0-2 ENQUEUE job 0");
    vote("0-2", "ENQUEUE NO");
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(but_not_if_it_does_not_wait_or_follows_a_release)
{
    wanted_a_moment_ago();
    ask(8, "LOCK job");
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-2", "SET YES, ZADD YES");
    ask(8, "UNLOCK job");
    EXPECT("s8 #3 +LOCKED *", "m0-2 RELEASE job T2");
    ask(7, "LOCK job wait=1m");
    EXPECT("m0-2 SET job T3 10000", "m0-2 ZADD *");
}
