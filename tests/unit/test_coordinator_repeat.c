/* Traces: RESUME wait=, and LOCK mode=shared token= wait=: the daemon asks again, and answers once. */
#include "tests/unit/trace.h"

static void nothing_is_left(void)
{
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.rounds_under_way + stats.releases_under_way + stats.names + stats.locks, 0);
}

static void refused_by_all(const char *back)
{
    vote("0-2", "MOVE NO");
    EXPECT("m0-2 MOVE job X T1", back);
    vote("0-2", "MOVE NO");
}

/* Too few masters answer at first. */
T(noquorum_is_asked_again)
{
    start(3);
    ask(1, "RESUME job token=X wait=1s");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE OOM");
    EXPECT("m0-2 MOVE job X T1", "m0-2 MOVE job T1 X");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    at(1019);
    EXPECT_NOTHING();
    at(1050);
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 MOVE job X T2", "m0-2 EXTEND job T2 10000", "m0-2 ZADD job *");
}

T(notheld_is_asked_again_for_100_ms)
{
    start(3);
    chance(30); /* pauses of 50 ms */
    ask(1, "RESUME job token=X wait=10s");
    refused_by_all("m0-2 MOVE job T1 X");
    at(1049);
    EXPECT_NOTHING();
    at(1050);
    EXPECT("m0-2 MOVE job X T2");
    vote("0-2", "MOVE NO");
    EXPECT("m0-2 MOVE job T2 X");
    vote("0-2", "MOVE NO");
    at(1099);
    EXPECT_NOTHING();
    at(1100);
    vote("0-2", "MOVE NO");
    EXPECT("m0-2 MOVE job X T3", "m0-2 MOVE job T3 X", "s1 #1 -NOTHELD job");
    vote("0-2", "MOVE NO");
    EXPECT_REST();
    nothing_is_left();
}

T(granted_by_a_later_attempt)
{
    start(3);
    ask(1, "RESUME job token=X ttl=5s wait=10s max=1m note=again");
    refused_by_all("m0-2 MOVE job T1 X");
    at(1020);
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 MOVE job X T2", "m0-2 EXTEND job T2 5000", "m0-2 ZADD job *");
    vote("0-2", "EXTEND 5000, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T2 *");
    struct lock_row row;
    struct cursor cursor = {0};
    ck_assert(coordinator_lock_row(core, now, &cursor, &row));
    ck_assert_int_eq(memcmp(row.note.text, "again", 5), 0);
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    ck_assert_uint_eq(stats.resumes, 1);
    ck_assert_uint_eq(stats.refused_noquorum, 0);
}

/* The time of wait= is over: what the last attempt found is told. */
T(its_time_is_over)
{
    start(3);
    lose(0);
    lose(1);
    ask(1, "RESUME job token=X wait=100ms");
    at(1060); /* 20 + 40 ms: the next pause would be 80 ms */
    EXPECT("s1 #1 -NOQUORUM job votes=1/3 *");
    nothing_is_left();
}

T(each_pause_is_longer_up_to_a_bound)
{
    start(3);
    lose(0);
    lose(1);
    ask(1, "RESUME job token=X wait=10s");
    EXPECT_DEADLINE(1020);
    at(1020);
    EXPECT_DEADLINE(1060);
    at(1060);
    EXPECT_DEADLINE(1140);
    at(1140);
    EXPECT_DEADLINE(1220);
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "s1 #2 +OK");
}

T(without_wait_it_is_answered_at_once)
{
    start(3);
    lose(0);
    lose(1);
    ask(1, "RESUME job token=X");
    EXPECT("s1 #1 -NOQUORUM job *");
}

T(what_will_not_change_is_answered_at_once)
{
    start(3);
    ask(1, "RESUME job token=X wait=10s ttl=50ms");
    EXPECT("s1 #1 -BADARG job *");
    lose(0);
    lose(1);
    ask(1, "RESUME job token=X wait=10s");
    drain();
    at(1020);
    EXPECT("s1 #2 -DRAINING job");
    ask(1, "RESUME job token=X wait=10s");
    EXPECT("s1 #3 -DRAINING job");
    ck_assert(coordinator_drained(core));
}

/* ---- CANCEL, and the end of the session ---- */

T(cancelled_while_it_pauses)
{
    start(3);
    ask(1, "RESUME job token=X wait=10s");
    refused_by_all("m0-2 MOVE job T1 X");
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "s1 #2 +OK");
    cancel(1, 1);
    EXPECT("s1 #3 -BADTAG*");
    EXPECT_REST();
    nothing_is_left();
}

T(cancelled_under_way_it_is_set_back)
{
    start(3);
    ask(1, "RESUME job token=X wait=10s");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 MOVE job X T1", "m0-2 EXTEND job T1 10000", "m0-2 ZADD job *");
    cancel(1, 1);
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -CANCELLED job", "s1 #2 +OK");
    vote("2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES, MOVE YES");
    EXPECT_REST();
    nothing_is_left();
}

T(a_fin_sets_it_back)
{
    start(3);
    ask(1, "RESUME job token=X wait=10s");
    ask(1, "RESUME other token=Y wait=10s");
    vote("0-1", "MOVE YES");
    forget();
    finish(1);
    work();
    EXPECT("m0-2 MOVE other T3 T2", "s1 #2 -CANCELLED other", "m0-2 MOVE job T1 X", "s1 #1 -CANCELLED job");
    release(1);
    work();
    EXPECT("s1 ended");
}

T(a_reset_ends_it)
{
    start(3);
    ask(1, "RESUME job token=X wait=10s");
    refused_by_all("m0-2 MOVE job T1 X");
    drop(1);
    work();
    EXPECT("s1 ended");
    ask(2, "RESUME job token=X wait=10s");
    drop(2);
    work();
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 MOVE job X T2", "s2 ended", "m0-2 EXTEND job T2 10000", "m0-2 ZADD job *",
           "m0-2 MOVE job T2 X");
    vote("0-2", "MOVE YES");
    EXPECT_REST();
    nothing_is_left();
}

/* ---- several at once, lists, slots ---- */

T(several_of_a_session)
{
    start(3);
    ask(1, "RESUME a token=X wait=10s");
    ask(1, "RESUME b,c token=Y wait=10s");
    vote("0-2", "MOVE NO, MOVE NO");
    vote("0-2", "MOVE NO, MOVE NO");
    forget();
    at(1020);
    EXPECT("m0-2 MOVE a X T4", "m0-2 MOVE b,c T2 T5");
    vote("0-2", "MOVE YES, MOVE NO");
    EXPECT("m0-2 EXTEND a T4 10000", "m0-2 ZADD a *", "m0-2 MOVE b,c T5 T2");
    vote("0-2", "EXTEND 10000, ZADD YES, MOVE NO");
    EXPECT("s1 #1 +LOCKED a token=T4 *");
    at(1040);
    EXPECT("m0-2 MOVE b,c T2 T6");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    EXPECT("m0-2 EXTEND b,c T6 10000", "m0-2 ZADD b,c *", "s1 #2 +LOCKED b,c token=T6 *");
}

/* Their next attempts are due when the client goes. */
T(a_reset_ends_several)
{
    start(3);
    ask(1, "RESUME a token=X wait=10s");
    ask(1, "RESUME b token=Y wait=10s");
    ask(1, "RESUME d token=T9 wait=10s");
    vote("0-2", "MOVE NO, MOVE NO, MOVE NO");
    vote("0-2", "MOVE NO, MOVE NO, MOVE NO");
    forget();
    now = 1050;
    drop(1);
    work();
    EXPECT("s1 ended");
    nothing_is_left();
}

/* While the masters have no room, further attempts wait as new requests do. */
T(too_many_under_way)
{
    config.max_locks = 1;
    start(3);
    ask(1, "RESUME a token=X wait=1s");
    vote("0-2", "MOVE NO");
    ask(1, "RESUME b token=Y wait=1s");
    EXPECT("m0-2 MOVE a X T1", "m0-2 MOVE a T1 X", "s1 #2 -LIMIT b limit=max_rounds");
}

/* ---- a writer becomes a reader ---- */

T(a_downgrade_is_repeated_until_it_is_told)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1 wait=5s");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    vote("0-1", "DOWN OOM");
    vote("2", "DOWN 10000");
    work();
    EXPECT("m0-2 DOWN job T1|T1 T2 10000"); /* the daemon tells the masters anyhow */
    vote("0-1", "DOWN OOM");
    vote("2", "DOWN 10000");
    forget();
    at(1019);
    EXPECT_NOTHING();
    at(1020);
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    vote("0-2", "DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED job token=T1 *",
           "s1 #2 +LOCKED job token=T2 fence=1000007 valid=* until=* depth=1");
    vote("0-2", "ALONG YES");
}

T(a_downgrade_that_is_cancelled)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1 wait=5s");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    cancel(1, 2);
    EXPECT("s1 #2 -CANCELLED job", "s1 #3 +OK");
    vote("0-2", "DOWN 10000");
    EXPECT("m0-2 ALONG job", "s1 !RENEWED job token=T1 *");
    vote("0-2", "ALONG YES");
    ask(1, "LOCK job mode=shared token=T1 wait=5s");
    EXPECT("s1 #4 +LOCKED job token=T2 *");
}

T(a_downgrade_whose_session_broke)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1 wait=5s");
    drop(1);
    work();
    EXPECT("m0-2 DOWN job T1|T1 T2 10000", "s1 ended", "m0-2 DOWN job T1|T1 T2 1");
    vote("0-2", "DOWN OOM, DOWN OOM");
    at(1020);
    forget();
    at(1100);
    EXPECT_NOTHING();
}

/* ---- rights and limits ---- */

/* After a reload its user may not lock the name any more: it does not take the lock from its holder. */
T(a_right_that_was_taken_away_ends_a_pausing_request)
{
    start(3);
    ask(1, "RESUME job token=X wait=1m");
    vote("0-2", "MOVE OOM");
    vote("0-2", "MOVE OOM");
    forget();
    deny_wait(1, 1);
    EXPECT("s1 #1 -DENIED job*");
    at(now + 300);
    EXPECT_NOTHING();
}

T(and_a_request_that_asks_the_masters)
{
    start(3);
    ask(1, "RESUME job token=X wait=1m");
    vote("0", "MOVE YES");
    forget();
    deny_wait(1, 1);
    EXPECT("m0-2 MOVE job T1 X", "s1 #1 -DENIED job*");
    at(now + 300);
    EXPECT_NOTHING();
}

T(and_a_downgrade_whose_lock_is_taken_away_by_itself)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "LOCK job mode=shared token=T1 wait=5s");
    vote("0-2", "DOWN OOM");
    forget();
    deny_wait(1, 2);
    EXPECT("s1 #2 -DENIED job*");
}

/* They pause for as long as masters are away, and so one client could fill the table. */
T(they_are_limited_as_waits_are)
{
    config.max_waits_per_client = 2;
    config.max_waits_per_peer = 3;
    start(3);
    for (unsigned i = 1; i <= 2; i++) {
        char line[80];
        snprintf(line, sizeof line, "RESUME job%u token=X wait=1h", i);
        ask(1, line);
        vote("0-2", "MOVE OOM");
        vote("0-2", "MOVE OOM");
    }
    forget();
    ask(1, "RESUME job3 token=X wait=1h");
    EXPECT("s1 #3 -LIMIT job3 limit=max_waits_per_client");
    ask(2, "RESUME job3 token=X wait=1h");
    forget();
    ask(3, "RESUME job4 token=X wait=1h");
    EXPECT("s3 #5 -LIMIT job4 limit=max_waits_per_peer");
    trace_peer.number = 1;
    ask(4, "RESUME job4 token=X wait=1h");
    EXPECT("m0-2 MOVE job4 X *");
    drop(1);
    work();
    forget();
    trace_peer.number = 0;
    ask(3, "RESUME job5 token=X wait=1h");
    EXPECT("m0-2 MOVE job5 X *");
}
