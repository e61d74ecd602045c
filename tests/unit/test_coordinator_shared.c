/* Traces: locks that readers share. */
#include "tests/unit/trace.h"

/* Session n is granted "job" as a reader, with the token Tn. */
static void share(uint64_t session)
{
    char sent[64], told[64];
    snprintf(sent, sizeof sent, "m0-2 SHARE job T%d *", (int)session);
    snprintf(told, sizeof told, "s%d #%d +LOCKED job token=T%d *", (int)session, (int)session, (int)session);
    ask(session, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT(sent, "m0-2 ZADD *", told);
}

static void shared_by_two(void)
{
    start(3);
    share(1);
    share(2);
}

T(each_reader_has_a_token_of_its_own)
{
    start(3);
    ask(1, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T1 10000", "m0-2 ZADD job 1000007");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
    ask(2, "LOCK job mode=shared ttl=20s");
    EXPECT("m0-2 SHARE job T2 20000", "m0-2 ZADD job 1000008");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 fence=1000008 valid=19797 until=20797");
    ask(1, "CHECK job token=T1");
    EXPECT("s1 #3 +HELD job valid=9897 until=10897");
    ask(2, "EXTEND job token=T2 ttl=30s");
    EXPECT("m0-2 EXTEND job T2 30000");
    vote("0-2", "EXTEND 30000");
    EXPECT("s2 !RENEWED *", "s2 #4 +EXTENDED job valid=29697 until=30697");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #5 +UNLOCKED job confirmed=2/3");
    ask(3, "UNLOCK job token=T2");
    EXPECT("s2 !LOST job token=T2 reason=released", "m0-2 RELEASE job T2 WAKE");
    vote("0-2", "RELEASE YES");
    EXPECT("s3 #6 +UNLOCKED job confirmed=2/3");
    EXPECT_REST();
}

T(a_writer_waits_for_all_readers_and_readers_behind_it_wait)
{
    shared_by_two();
    ask(3, "LOCK job wait=1m");
    ask(4, "LOCK job mode=shared wait=1m");
    ask(5, "LOCK job");
    EXPECT("s5 #5 -BUSY job");
    ask(6, "LOCK job mode=shared"); /* the writer came sooner */
    EXPECT("s6 #6 -BUSY job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE"); /* the writer stays in no queue, as it is in none */
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #7 +UNLOCKED *");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #8 +UNLOCKED *", "s3 #3 +LOCKED job token=T3 *");
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T3", "m0-2 SHARE job T4 10000", "m0-2 ZADD *");
}

T(readers_behind_a_reader_come_along)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job mode=shared wait=1m");
    ask(3, "LOCK job mode=shared wait=1m");
    ask(4, "LOCK job wait=1m");
    ask(5, "LOCK job mode=shared wait=1m");
    EXPECT_NOTHING();
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SHARE job T2 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SHARE YES, ZADD YES");
    EXPECT("s1 #6 +UNLOCKED *", "s2 #2 +LOCKED job token=T2 *");
    work();
    EXPECT("m0-2 SHARE job T3 10000", "m0-2 ZADD *");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s3 #3 +LOCKED job token=T3 *");
    work();
    EXPECT_NOTHING(); /* the writer waits for both, and the reader behind it */
}

T(who_shares_it_may_take_it_once_more_at_any_time)
{
    shared_by_two();
    ask(3, "LOCK job wait=1m");
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("s1 #4 +LOCKED job token=T1 * depth=2");
    ask(1, "UNLOCK job");
    EXPECT("s1 #5 +UNLOCKED job confirmed=0/3 depth=1");
    ask(1, "LOCK job token=T1");
    EXPECT("s1 #6 -MODE job : that lock is shared*");
    ask(2, "LOCK job mode=shared token=T1");
    EXPECT("s2 #7 -NOTHELD job *");
    grant(9, "LOCK other");
    ask(8, "LOCK other mode=shared token=T3");
    EXPECT("s8 #9 -NOTHELD other *");
}

T(a_reader_that_broke_is_left_to_run_out)
{
    shared_by_two();
    ask(3, "LOCK job wait=1m");
    drop(1);
    work();
    EXPECT("s1 ended");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SET NO, ZADD YES"); /* T1 is still there */
    EXPECT("s2 #4 +UNLOCKED *", "m0-2 RELEASE job T3", "m0-2 ENQUEUE job 0");
}

T(without_a_token_the_last_one_is_given_back)
{
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT_LAST("s1 #2 +LOCKED job token=T2 *");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE");
    ask(1, "UNLOCK job");
    EXPECT("s1 #5 -NOTHELD job *");
}

T(a_reader_is_resumed_beside_the_others)
{
    shared_by_two();
    ask(3, "RESUME job token=T1");
    EXPECT("m0-2 MOVE job T1 T3");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 EXTEND job T3 10000", "m0-2 ZADD *");
    vote("2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=moved", "s3 #3 +LOCKED job token=T3 *");
    ask(2, "CHECK job token=T2");
    EXPECT("s2 #4 +HELD *");
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T3 WAKE");
}

/* The fence must be stored behind the key: a master that runs SHARE late has answered the proposal too soon. */
T(a_script_that_was_lost_voids_the_proposals)
{
    start(3);
    ask(1, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T1 10000", "m0-2 ZADD job 1000007");
    vote("0", "SHARE NOT_RUN, ZADD YES");
    EXPECT("m0 SHARE job T1 10000");
    vote("1-2", "SHARE YES, ZADD YES");
    EXPECT("m1 ZADD job 1000008", "m2 ZADD job 1000008");
    vote("1-2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000008 *");
}

/* The same while scores are read: master 2 accepted the proposal before a writer had the name with a higher fence,
 * which master 1 tells. */
T(a_script_that_was_lost_while_scores_are_read)
{
    start(3);
    ask(1, "LOCK job mode=shared");
    forget();
    vote("0", "SHARE YES, ZADD YES");
    vote("1", "SHARE YES, ZADD NO");
    EXPECT("m1 ZSCORE job");
    vote("2", "SHARE NOT_RUN, ZADD YES");
    EXPECT("m2 SHARE job T1 10000");
    vote("2", "SHARE YES");
    EXPECT_NOTHING();
    vote("1", "ZSCORE 1000500");
    EXPECT("m0-2 ZADD job 1000501");
}

T(a_master_that_forgot_is_healed_as_a_reader)
{
    start(3);
    share(1);
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    at(4000);
    vote("0", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("1", "EXTEND 10000");
    EXPECT("s1 !RENEWED *", "m2 SHARE_AT job T1 1700000013897");
}

/* ---- a writer's mark ---- */

static void listening(void)
{
    start(3);
    hears("0-2", "listens");
}

/* Session 1's writer waits for readers of other daemons, and has left a mark. */
static void marked(void)
{
    listening();
    ask(1, "LOCK job wait=1s");
    vote("0-2", "SET NO, ZADD YES");
    work();
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:9000:marked");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD *", "m0-2 RELEASE job T1", "m0-2 ENQUEUE job 0");
}

T(a_writer_that_leaves_takes_its_mark_along)
{
    marked();
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "m0-2 ALONG job", "m0-2 DEQUEUE job", "s1 #2 +OK");
}

T(a_writer_that_gets_it_takes_its_mark_along)
{
    marked();
    hears("0-2", "woke job");
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *", "m0-2 ALONG job");
}

T(a_reader_asks_the_queue_as_a_reader_and_wakes_others)
{
    listening();
    ask(1, "LOCK job mode=shared wait=1m");
    vote("0-2", "SHARE NO, ZADD YES");
    work();
    EXPECT("m0-2 SHARE job T1 10000", "m0-2 ZADD *", "m0-2 RELEASE job T1", "m0-2 ENQUEUE job 0 READER");
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:9000");
    hears("0-1", "woke job");
    EXPECT("m0-2 SHARE job T2 10000", "m0-2 ZADD *");
    vote("0-1", "SHARE YES, ZADD YES");
    EXPECT("m0-2 ALONG job", "s1 #1 +LOCKED job token=T2 *", "m2 DEQUEUE job");
}

T(readers_here_pass_a_wake_on)
{
    listening();
    share(1);
    hears("0", "woke job");
    EXPECT("m0 ALONG job");
}
