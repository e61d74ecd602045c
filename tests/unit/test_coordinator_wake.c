/* Traces: the queue on the masters, in which daemons wait for a name and are woken. */
#include "tests/unit/trace.h"

static void listening(unsigned masters)
{
    start(masters);
    hears("0-2", "listens");
    EXPECT_NOTHING();
}

/* Session 9 waits for "job", which another daemon has: its head sleeps for 500 ms. */
static void asleep(const char *line)
{
    listening(3);
    ask(9, line);
    vote("0-2", "SET NO, ZADD NO");
    work();
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD *", "m0-2 RELEASE job T1", "m0-2 ENQUEUE job 0");
    chance(0);
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:9000");
    EXPECT_NOTHING();
}

/* ---- the head sleeps ---- */

T(a_refused_head_joins_the_queue_and_sleeps)
{
    asleep("LOCK job wait=1m");
    EXPECT_DEADLINE(1500);
    at(1500);
    EXPECT("m0-2 ENQUEUE job 500");
}

T(no_longer_than_the_key_lives)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    forget();
    vote("0", "ENQUEUE HEARD:80");
    vote("1", "ENQUEUE HEARD:90");
    vote("2", "ENQUEUE HEARD:95"); /* too late to count */
    EXPECT_NOTHING();
    EXPECT_DEADLINE(1091); /* when the second of three keys is over */
}

/* One of three masters is away, and a dead holder's key is on one of the others: an attempt at once would be refused as the
 * one before, for as long as that key lives. */
T(where_the_name_is_neither_held_nor_free_attempts_are_apart)
{
    listening(3);
    lose(0);
    forget();
    ask(9, "LOCK job wait=1m");
    vote("1", "SET NO, ZADD NO");
    vote("2", "SET YES, ZADD YES");
    work();
    forget();
    chance(0);
    vote("1", "RELEASE NO, ENQUEUE UNHEARD:9000");
    vote("2", "RELEASE YES, ENQUEUE NO");
    work();
    EXPECT("m1-2 SET job *");
    vote("1", "SET NO");
    vote("2", "SET YES");
    work();
    forget();
    vote("1", "RELEASE NO");
    vote("2", "RELEASE YES");
    work();
    EXPECT_NOTHING();
    at(1019);
    EXPECT_NOTHING();
    at(1020);
    EXPECT("m1-2 ENQUEUE job 20");
}

T(a_head_that_nobody_may_wake_polls)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    forget();
    chance(0);
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD:9000");
    at(1019);
    EXPECT_NOTHING();
    at(1020);
    EXPECT("m0-2 ENQUEUE job 20");
}

T(it_polls_while_few_masters_publish_to_it)
{
    listening(3);
    hears("0-1", "deaf");
    ask(9, "LOCK job wait=1m");
    chance(0);
    vote("0-2", "SET NO, ZADD NO");
    EXPECT("m0-2 SET *", "m0-2 ZADD *", "m0-2 RELEASE job T1", "m0-2 ENQUEUE job 0");
    EXPECT_DEADLINE(1020);
}

T(a_master_that_cannot_queue_is_none_that_told)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    forget();
    chance(0);
    vote("0", "RELEASE NO, ENQUEUE HEARD:9000");
    vote("1", "RELEASE NO, ENQUEUE OOM");
    vote("2", "RELEASE NO, ENQUEUE NOT_RUN");
    EXPECT("m0-2 SET job T2 10000"); /* no master may have the key */
    vote("0-2", "SET NO");
    EXPECT("m0-2 RELEASE job T2");
    EXPECT_DEADLINE(1020);
    EXPECT_MASTER(1, "up");
}

T(it_sleeps_only_if_a_quorum_told_the_holder)
{
    listening(5);
    hears("3-4", "listens");
    ask(9, "LOCK job wait=1m");
    vote("0-4", "SET NO, ZADD NO");
    work();
    vote("0-4", "RELEASE NO");
    forget();
    chance(0);
    vote("0-1", "ENQUEUE HEARD:9000");
    vote("2", "ENQUEUE UNHEARD:9000");
    EXPECT_NOTHING();
    vote("3", "ENQUEUE HEARD:9000");
    EXPECT_DEADLINE(1500);
}

T(a_later_answer_counts_alone)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:80");
    chance(0);
    at(1081);
    forget();
    vote("0-2", "ENQUEUE HEARD"); /* a key without a TTL */
    EXPECT_DEADLINE(1581);
    at(1581);
    forget();
    vote("0-2", "ENQUEUE UNHEARD:9000"); /* the holder's daemon is gone */
    EXPECT_DEADLINE(1601);
}

/* An attempt at once would disturb the daemon that the first master chose. */
T(who_got_some_of_the_votes_polls)
{
    listening(3);
    ask(9, "LOCK job wait=1m");
    chance(0);
    vote("2", "SET YES, ZADD YES");
    vote("0-1", "SET NO, ZADD NO");
    EXPECT("m0-2 SET *", "m0-2 ZADD *", "m0-2 RELEASE job T1");
    EXPECT_DEADLINE(1020);
    at(1020);
    EXPECT("m0-2 ENQUEUE job 20");
}

T(a_master_that_does_not_answer_holds_nothing_up)
{
    asleep("LOCK job wait=1m");
    at(1500);
    forget();
    vote("0", "ENQUEUE HEARD:8000");
    vote("1", "ENQUEUE NO");
    lose(2);
    work();
    EXPECT("m0-1 SET job T2 10000");
}

T(who_leaves_while_it_joins_leaves_no_key)
{
    asleep("LOCK job wait=1m");
    at(1500);
    forget();
    cancel(9, 1);
    EXPECT("s9 #1 -CANCELLED job", "m0-2 DEQUEUE job", "s9 #2 +OK");
    vote("0-2", "ENQUEUE NO, DEQUEUE YES");
    EXPECT_REST();
}

/* ---- it is woken ---- */

T(woken_by_a_quorum_it_asks_at_once)
{
    asleep("LOCK job wait=1m");
    at(1100);
    hears("0", "woke job");
    EXPECT_NOTHING();
    hears("2", "woke job");
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s9 #1 +LOCKED job token=T2 *");
    vote("2", "SET YES, ZADD YES");
    ask(9, "UNLOCK job"); /* this daemon may still be in a queue, and others behind it */
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(woken_by_fewer_it_asks_soon)
{
    asleep("LOCK job wait=1m");
    at(1100);
    hears("1", "woke job");
    EXPECT_DEADLINE(1120);
    at(1120);
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-2", "SET NO, ZADD NO"); /* somebody was faster */
    work();
    EXPECT("m0-2 RELEASE job T2", "m0-2 ENQUEUE job 120");
}

T(woken_behind_a_daemon_that_polls_it_lets_that_one_ask)
{
    asleep("LOCK job wait=1m");
    at(1100);
    hears("0-2", "late job");
    EXPECT_NOTHING();
    at(1299);
    EXPECT_NOTHING();
    at(1300); /* after retry_max */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(woken_late_by_a_minority_it_asks_soon)
{
    asleep("LOCK job wait=1m");
    at(1100);
    hears("0", "late job");
    hears("1", "woke job");
    EXPECT_DEADLINE(1120);
    hears("2", "woke job");
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(woken_while_it_asks_it_asks_again)
{
    asleep("LOCK job wait=1m");
    at(1500);
    forget();
    hears("0-1", "woke job");
    vote("0-2", "ENQUEUE HEARD:9000");
    work();
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

/* The name was free before, and a quorum was missing all the same: m0 shows a fence that no clock explains, and m2 has
 * the key of a holder that died. Its release wakes another daemon, which fails likewise, and wakes this one. */
T(woken_where_it_found_no_quorum_it_asks_no_earlier)
{
    listening(3);
    chance(0);
    ask(9, "LOCK job wait=1m");
    vote("2", "SET NO, ZADD YES");
    vote("1", "SET YES, ZADD YES");
    vote("0", "SET YES, ZADD NO");
    vote("0", "ZSCORE 9007199254740000");
    EXPECT("m0-2 SET *", "m0-2 ZADD *", "m0 ZSCORE job", "m0-2 RELEASE job T1 WAKE STAY");
    vote("0-1", "RELEASE HEARD:0");
    vote("2", "RELEASE NO");
    at(1002);
    hears("0-1", "woke job");
    work();
    EXPECT_NOTHING();
    EXPECT_DEADLINE(1020);
    at(1020);
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(what_came_late_once_is_forgotten)
{
    asleep("LOCK job wait=1m");
    at(1100);
    hears("0-2", "late job");
    at(1300);
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:9000");
    forget();
    hears("0-1", "woke job");
    EXPECT("m0-2 SET job T3 10000", "m0-2 ZADD *");
}

T(a_release_seen_while_it_joins_lets_it_ask)
{
    asleep("LOCK job wait=1m");
    at(1500);
    ask(8, "UNLOCK job token=X");
    EXPECT("m0-2 ENQUEUE job 500", "m0-2 RELEASE job X WAKE STAY");
    vote("0", "ENQUEUE HEARD:9000, RELEASE YES");
    vote("1", "ENQUEUE UNHEARD:9000, RELEASE YES");
    EXPECT("s8 #2 +UNLOCKED *");
    vote("2", "ENQUEUE HEARD:9000");
    work();
    EXPECT("m0-2 SET job T2 10000");
}

T(woken_in_vain_it_passes_the_name_on)
{
    listening(3);
    hears("1", "woke job");
    EXPECT("m1 ALONG job");
    vote("1", "ALONG HEARD");
    hears("2", "told job");
    EXPECT("m2 PASS job");
}

T(the_last_who_leaves_leaves_the_queue)
{
    asleep("LOCK job wait=1m");
    cancel(9, 1);
    EXPECT("s9 #1 -CANCELLED job", "m0-2 DEQUEUE job", "s9 #2 +OK");
    vote("0-2", "DEQUEUE YES");
    EXPECT_REST();
}

T(who_leaves_after_a_wake_passes_the_name_on)
{
    asleep("LOCK job wait=1m");
    hears("1", "woke job");
    cancel(9, 1);
    EXPECT("s9 #1 -CANCELLED job", "m0,2 DEQUEUE job", "m1 PASS job", "s9 #2 +OK");
}

/* Session 1 gives the name back in a young turn, so that session 2's SETs follow the release, which wakes nobody. */
static void followed(void)
{
    listening(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED *");
}

T(who_leaves_behind_a_silent_release_passes_the_name_on)
{
    followed();
    vote("0-1", "SET NO, ZADD YES"); /* somebody came before, or a writer's mark stands in a reader's way */
    EXPECT("m0-2 RELEASE job T2");
    cancel(2, 2);
    EXPECT("s2 #2 -CANCELLED job", "m0-2 PASS job", "s2 #4 +OK");
}

/* The release of its attempt wakes somebody only where the attempt was granted. */
T(who_leaves_before_the_answer_passes_the_name_on)
{
    followed();
    cancel(2, 2);
    EXPECT("s2 #2 -CANCELLED job", "m0-2 RELEASE job T2 WAKE", "m0-2 PASS job", "s2 #4 +OK");
}

T(a_grant_behind_a_silent_release_passes_nothing_on)
{
    followed();
    ask(3, "LOCK job wait=1m");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED *", "m0-2 ZADD job *");
    cancel(3, 4);
    EXPECT("s3 #4 -CANCELLED job", "s3 #5 +OK");
}

/* ---- a master that refuses ---- */

T(a_user_without_the_rights_for_the_queue)
{
    asleep("LOCK job wait=1m");
    cancel(9, 1);
    forget();
    vote("0-2", "DEQUEUE NOPERM");
    EXPECT_MASTER(0, "up");
}

/* A refusal tells of the master whatever the command was. */
T(a_master_that_became_a_replica)
{
    asleep("LOCK job wait=1m");
    cancel(9, 1);
    forget();
    vote("0", "DEQUEUE READONLY");
    EXPECT_MASTER(0, "refused replica");
}

/* The daemon that wakes may have found no quorum either: each would wake the other as fast as the masters answer. */
T(a_wake_shortens_no_pause_after_an_attempt_in_vain)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job wait=1h");
    vote("1", "SET YES, ZADD YES");
    vote("2", "SET NO, ZADD YES");
    vote("0", "SET YES, ZADD NO, ZSCORE 9000000000000000"); /* a fence that no clock explains */
    forget();
    vote("0-1", "RELEASE HEARD:5");
    vote("2", "RELEASE NO");
    forget();
    hears("0-1", "woke job");
    work();
    EXPECT_NOTHING();
    at(now + config.retry_min_ms);
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job *");
}
