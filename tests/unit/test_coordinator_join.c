/* Traces: readers that share one key of their daemon. */
#include "tests/unit/trace.h"

/* Session 1 has "job" by a key of its own, T1; session 2 joins the common lease, whose key is T2, by T3. */
static void joined(void)
{
    config.join_from = 1;
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T1 10000", "m0-2 ZADD *", "s1 #1 +LOCKED job token=T1 *");
    ask(2, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T2 10000", "m0-2 ZADD *", "s2 #2 +LOCKED job token=T3 *");
}

/* The same, and session 3 joins by T4; session 1 has left. */
static void two_joined(void)
{
    joined();
    ask(3, "LOCK job mode=shared");
    EXPECT("s3 #3 +LOCKED job token=T4 *");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #4 +UNLOCKED *");
}

/* The common lease is renewed at this time. */
static void renew_at(int64_t ms)
{
    at(ms);
    vote("0-2", "EXTEND 10000");
}

/* ---- a reader joins ---- */

T(the_ninth_reader_has_no_key_of_its_own)
{
    char line[80];
    start(3);
    for (unsigned i = 1; i <= 8; i++) {
        ask(i, "LOCK job mode=shared");
        vote("0-2", "SHARE YES, ZADD YES");
        snprintf(line, sizeof line, "s%u #%u +LOCKED job token=T%u *", i, i, i);
        EXPECT("m0-2 SHARE job *", "m0-2 ZADD *", line);
    }
    ask(9, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T9 10000", "m0-2 ZADD job 1000015");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s9 #9 +LOCKED job token=T10 fence=1000015 valid=9897 until=10897");
    ask(9, "CHECK job token=T9"); /* nobody was told this token */
    EXPECT("m0-2 CHECK job T9");
}

T(the_next_reader_joins_without_a_command)
{
    joined();
    at(1005);
    ask(3, "LOCK job mode=shared"); /* not beyond the common lease's deadline */
    EXPECT("s3 #3 +LOCKED job token=T4 fence=1000008 valid=9892 until=10897");
    ask(4, "LOCK job mode=shared ttl=5s");
    EXPECT("s4 #4 +LOCKED job token=T5 fence=1000008 valid=4947 until=5952");
    at(1006);
    ask(5, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T6 10000", "m0-2 ZADD job 1006007");
}

T(some_readers_have_keys_of_their_own_all_the_same)
{
    joined();
    ask(3, "LOCK job mode=shared hold=lease");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T4 10000", "m0-2 ZADD *", "s3 #3 +LOCKED job token=T4 *");
    ask(4, "LOCK job mode=shared ttl=20s"); /* the common lease lasts less than half of it */
    EXPECT("m0-2 SHARE job T5 20000", "m0-2 ZADD *");
}

T(not_where_a_master_lost_its_memory_meanwhile)
{
    joined();
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    ask(3, "LOCK job mode=shared");
    EXPECT("m0-1 SHARE job T4 10000", "m0-1 ZADD *");
}

T(a_writer_that_waits_here_keeps_readers_from_joining)
{
    joined();
    ask(3, "LOCK job wait=1m");
    ask(4, "LOCK job mode=shared wait=1m");
    ask(5, "LOCK job mode=shared");
    EXPECT("s5 #5 -BUSY job");
    work();
    EXPECT_NOTHING();
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #6 +UNLOCKED *", "m0-2 RELEASE job T2", "m0-2 SET job T4 10000",
           "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #7 +UNLOCKED job confirmed=2/3", "s3 #3 +LOCKED job token=T4 *");
}

T(readers_that_wait_here_come_along_as_one)
{
    config.join_from = 1;
    start(3);
    grant(1, "LOCK job");
    for (unsigned i = 2; i <= 4; i++)
        ask(i, "LOCK job mode=shared wait=1m");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SHARE job T2 10000", "m0-2 ZADD *");
    vote("0-2", "RELEASE YES, SHARE YES, ZADD YES");
    EXPECT("s1 #5 +UNLOCKED *", "s2 #2 +LOCKED job token=T3 *");
    work();
    EXPECT("s3 #3 +LOCKED job token=T4 *", "s4 #4 +LOCKED job token=T5 *");
}

/* The common lease itself takes the place of a lock. */
T(without_room_for_two_a_reader_has_its_own_key)
{
    config.max_locks = 3;
    joined();
    ask(3, "LOCK job mode=shared");
    EXPECT("s3 #3 -LIMIT job limit=max_locks");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT_LAST("s1 #4 +UNLOCKED *");
    ask(3, "LOCK job mode=shared");
    EXPECT("s3 #5 +LOCKED job token=T4 *");
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED *");
    at(1006);
    ask(4, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T5 *", "m0-2 ZADD *", "s4 #7 +LOCKED job token=T5 *");
}

/* ---- a reader leaves ---- */

T(the_last_unlock_gives_the_common_lease_back)
{
    two_joined();
    ask(2, "UNLOCK job");
    EXPECT("s2 #5 +UNLOCKED job confirmed=0/3 handed=1");
    ask(2, "CHECK job token=T3");
    EXPECT("m0-2 CHECK job T3"); /* it is as unknown as any other token */
    vote("0-2", "CHECK NO");
    EXPECT("s2 #6 -NOTHELD job");
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
    vote("0", "RELEASE YES");
    EXPECT_NOTHING();
    vote("1", "RELEASE YES");
    EXPECT("s3 #7 +UNLOCKED job confirmed=2/3");
    vote("2", "RELEASE YES");
    EXPECT_REST();
}

T(another_session_unlocks_by_the_token)
{
    two_joined();
    ask(5, "UNLOCK job token=T3");
    EXPECT("s2 !LOST job token=T3 reason=released", "s5 #5 +UNLOCKED job confirmed=0/3 handed=1");
    ask(3, "CHECK job token=T4");
    EXPECT("s3 #6 +HELD job *");
    ask(5, "UNLOCK job token=T4");
    EXPECT("s3 !LOST job token=T4 reason=released", "m0-2 RELEASE job T2 WAKE");
}

T(a_session_that_ends_gives_its_part_back)
{
    two_joined();
    release(2);
    work();
    EXPECT("s2 !LOST job token=T3 reason=closed", "s2 ended");
    undelivered(3, 3); /* the reader was never told */
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

/* Session 2 may believe until 10897 that it is a reader. */
T(a_broken_connection_keeps_the_common_lease)
{
    two_joined();
    drop(2);
    work();
    EXPECT("s2 ended");
    ask(3, "UNLOCK job");
    EXPECT("s3 #5 +UNLOCKED job confirmed=0/3 handed=1");
    at(10896);
    EXPECT_NOTHING(); /* nobody renews it, and it is not given back */
}

/* Session 2's connection broke; the common lease is renewed for session 3. */
static void broken_reader_at(int64_t ms)
{
    two_joined();
    drop(2);
    renew_at(4000);
    renew_at(7000);
    renew_at(10000);
    at(ms);
    forget();
}

T(until_a_broken_readers_deadline_it_is_not_given_back)
{
    broken_reader_at(10998); /* its deadline was 10897, and the drift of its TTL is 102 ms */
    ask(3, "UNLOCK job");
    EXPECT("s3 #5 +UNLOCKED job confirmed=0/3 handed=1");
    at(10999);
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(after_a_broken_readers_deadline_it_is_given_back)
{
    broken_reader_at(10999);
    ask(3, "UNLOCK job");
    EXPECT_LAST("m0-2 RELEASE job T2 WAKE");
}

T(a_broken_readers_token_gives_it_back)
{
    two_joined();
    drop(2);
    ask(3, "UNLOCK job");
    work();
    EXPECT("s3 #5 +UNLOCKED *", "s2 ended");
    ask(4, "UNLOCK job token=T3");
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

/* ---- the limits of a reader ---- */

T(max_ends_one_reader)
{
    joined();
    ask(3, "LOCK job mode=shared max=12s");
    EXPECT("s3 #3 +LOCKED job token=T4 * until=10897");
    ask(1, "UNLOCK job");
    ask(2, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    forget();
    renew_at(4000);
    EXPECT("m0-2 EXTEND job T2 10000");
    at(6000);
    EXPECT("s3 !RENEWED job token=T4 * until=13000");
    renew_at(7000);
    ask(3, "EXTEND job token=T4");
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 EXTEND job T2 10000", "s3 !RENEWED job token=T4 * until=13000",
           "s3 #6 +EXTENDED job valid=6000 until=13000");
    renew_at(10000);
    at(13000);
    EXPECT("m0-2 EXTEND job T2 10000", "s3 !LOST job token=T4 reason=max");
    ask(3, "CHECK job token=T4");
    EXPECT("s3 #7 -NOTHELD job : its max= is over*");
    at(13101); /* by its clock the client may believe in it a little longer */
    EXPECT_NOTHING();
    at(13102);
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(a_denied_reader_leaves_the_others)
{
    two_joined();
    deny_lock(2, "job", "T3");
    EXPECT("s2 !LOST job token=T3 reason=denied");
    ask(3, "CHECK job token=T4");
    EXPECT("s3 #5 +HELD *");
    ask(3, "UNLOCK job"); /* session 2 may not have read it yet */
    EXPECT("s3 #6 +UNLOCKED job confirmed=0/3 handed=1");
    deny_session(3);
    work();
    EXPECT("s3 ended");
    EXPECT_REST();
}

T(drain_waits_for_joined_readers)
{
    two_joined();
    drain();
    work();
    ck_assert(!coordinator_drained(core));
    ask(2, "UNLOCK job");
    EXPECT("s2 #5 +UNLOCKED *");
    ck_assert(!coordinator_drained(core));
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
    vote("0-2", "RELEASE YES");
    EXPECT("s3 #6 +UNLOCKED *");
    ck_assert(coordinator_drained(core));
}

T(drain_ends_joined_readers)
{
    config.drain_timeout_ms = 2000;
    two_joined();
    drain();
    at(3000);
    EXPECT("s2 !LOST job token=T3 reason=drain",
           "s3 !LOST job token=T4 reason=drain"); /* nothing is deleted */
    ck_assert(coordinator_drained(core));
    EXPECT_REST();
}

/* ---- rows ---- */

T(a_common_lease_has_no_row)
{
    struct lock_row row;
    struct coordinator_stats stats;
    struct cursor cursor = {0};
    two_joined();
    for (unsigned i = 2; i <= 3; i++) {
        ck_assert(coordinator_lock_row(core, now, &cursor, &row));
        ck_assert(row.shared && row.hold == HOLD_SESSION && row.session == i && row.fence == 1000008);
        ck_assert_int_eq(memcmp(row.nodes, "+++", 3), 0); /* the masters that have the common lease's key */
    }
    ck_assert(!coordinator_lock_row(core, now, &cursor, &row));
    cursor = (struct cursor){0};
    for (unsigned i = 2; i <= 3; i++) {
        ck_assert(coordinator_oldest_lock(core, now, &cursor, &row));
        ck_assert_uint_eq(row.session, i);
    }
    ck_assert(!coordinator_oldest_lock(core, now, &cursor, &row));
    coordinator_stats(core, &stats);
    ck_assert(stats.locks == 2 && stats.readers[HOLD_SESSION] == 2 && stats.holds[HOLD_SESSION] == 2);
}

/* Places that became free are taken from the last: the common lease has the place behind its reader's. */
T(a_common_lease_behind_all_others)
{
    struct lock_row row;
    struct cursor cursor = {0};
    joined();
    ask(3, "LOCK job mode=shared");
    ask(1, "UNLOCK job");
    ask(3, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    at(1006);
    ask(4, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT_LAST("s4 #6 +LOCKED *");
    ck_assert(coordinator_lock_row(core, now, &cursor, &row) && row.session == 4);
    ck_assert(coordinator_lock_row(core, now, &cursor, &row) && row.session == 2);
    ck_assert(!coordinator_lock_row(core, now, &cursor, &row));
}

T(no_row_where_only_a_common_lease_is_left)
{
    struct lock_row row;
    struct coordinator_stats stats;
    two_joined();
    drop(2);
    at(3000);
    deny_lock(3, "job", "T4");
    at(10897);
    forget();
    ck_assert(!coordinator_lock_row(core, now, &(struct cursor){0}, &row));
    ck_assert(!coordinator_oldest_lock(core, now, &(struct cursor){0}, &row));
    coordinator_stats(core, &stats);
    ck_assert(stats.locks == 0 && stats.readers[HOLD_SESSION] == 0);
}
