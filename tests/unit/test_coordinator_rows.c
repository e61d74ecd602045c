/* The rows of SHOW, also while locks and waiters come and go between two rows. */
#include <string.h>

#include "tests/unit/trace.h"

static bool is_named(const struct name *name, const char *text)
{
    return name->len == strlen(text) && memcmp(name->text, text, name->len) == 0;
}

T(locks_as_they_are_held)
{
    struct lock_row row;
    struct cursor cursor = {0};
    start(5);
    grant(1, "LOCK mine note=nightly-run");
    lose(4);
    ask(2, "LOCK mine wait=1m");
    ask(2, "LOCK lease hold=lease ttl=5s");
    vote("0-2", "SET YES, ZADD YES");
    vote("3", "SET NO");
    forget();
    ck_assert(coordinator_lock_row(core, now, &cursor, &row));
    ck_assert(is_named(&row.name, "mine") && row.hold == HOLD_SESSION && row.session == 1);
    ck_assert(row.depth == 1 && row.waiters == 1 && row.fence == 1000007 && row.valid_ms == 9897);
    ck_assert(row.note.len == 11 && memcmp(row.note.text, "nightly-run", 11) == 0);
    ck_assert_int_eq(memcmp(row.nodes, "++++!", 5), 0);
    ck_assert(coordinator_lock_row(core, now, &cursor, &row));
    ck_assert(is_named(&row.name, "lease") && row.hold == HOLD_LEASE && row.session == 2);
    ck_assert_int_eq(memcmp(row.nodes, "+++-!", 5), 0);
    ck_assert(!coordinator_lock_row(core, now, &cursor, &row));
}

static void expect_waiter(struct cursor *cursor, const char *name, uint64_t session, uint32_t position)
{
    struct waiter_row row;
    ck_assert(coordinator_waiter_row(core, now, cursor, &row));
    ck_assert_msg(is_named(&row.name, name), "%.*s instead of %s", row.name.len, row.name.text, name);
    ck_assert_uint_eq(row.session, session);
    ck_assert_uint_eq(row.position, position);
    ck_assert_int_eq(row.waited_ms, now - 1000);
    ck_assert_int_eq(row.left_ms, 61000 - now);
}

T(waiters_in_their_order)
{
    struct cursor cursor = {0};
    struct waiter_row row;
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    ask(2, "LOCK a wait=1m");
    ask(3, "LOCK b wait=1m");
    ask(4, "LOCK a wait=1m");
    at(1500);
    expect_waiter(&cursor, "a", 2, 1);
    expect_waiter(&cursor, "a", 4, 2);
    expect_waiter(&cursor, "b", 3, 1);
    ck_assert(!coordinator_waiter_row(core, now, &cursor, &row));
}

/* The row that was shown last is gone: the list goes on behind its place, and shows no row twice. */
T(waiters_that_leave_between_two_rows)
{
    struct cursor cursor = {0};
    struct waiter_row row;
    start(3);
    grant(1, "LOCK a");
    uint64_t second = ask(2, "LOCK a wait=1m");
    ask(3, "LOCK a wait=1m");
    uint64_t fourth = ask(4, "LOCK a wait=1m");
    expect_waiter(&cursor, "a", 2, 1);
    cancel(2, second);
    expect_waiter(&cursor, "a", 3, 2);
    cancel(4, fourth);
    ck_assert(!coordinator_waiter_row(core, now, &cursor, &row));
    forget();
}

T(a_name_that_is_gone_between_two_rows)
{
    struct cursor cursor = {0};
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    uint64_t waits = ask(2, "LOCK a wait=1m");
    ask(3, "LOCK b wait=1m");
    expect_waiter(&cursor, "a", 2, 1);
    cancel(2, waits);
    ask(1, "UNLOCK a");
    vote("0-2", "RELEASE YES");
    expect_waiter(&cursor, "b", 3, 1);
    forget();
}

static void expect_oldest(struct cursor *cursor, const char *name, uint64_t session, int64_t held_ms)
{
    struct lock_row row;
    ck_assert(coordinator_oldest_lock(core, now, cursor, &row));
    ck_assert_msg(is_named(&row.name, name), "%.*s instead of %s", row.name.len, row.name.text, name);
    ck_assert_uint_eq(row.session, session);
    ck_assert_int_eq(row.held_ms, held_ms);
}

/* A slot that was freed is taken again by a younger lock: the order is that of the grants all the same. */
T(locks_from_the_oldest)
{
    struct cursor cursor = {0};
    struct lock_row row;
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    ask(1, "UNLOCK a");
    vote("0-2", "RELEASE YES");
    at(1500);
    grant(2, "LOCK c");
    at(1700);
    expect_oldest(&cursor, "b", 1, 700);
    expect_oldest(&cursor, "c", 2, 200);
    ck_assert(!coordinator_oldest_lock(core, now, &cursor, &row));
    const struct coordinator_times *times = coordinator_times(core);
    ck_assert_uint_eq(times->held.sum_us, 0);
    ck_assert_uint_eq(times->held.counts[0], 1);
    forget();
}

T(waiters_from_the_oldest)
{
    struct cursor cursor = {0};
    struct waiter_row row;
    static const struct {
        const char *name;
        uint64_t session;
        uint32_t position;
        uint64_t holder;
    } expected[] = {{"a", 2, 1, 1}, {"b", 3, 1, 9}, {"a", 4, 2, 1}};
    start(3);
    grant(1, "LOCK a");
    grant(9, "LOCK b");
    ask(2, "LOCK a wait=1m");
    ask(3, "LOCK b wait=1m");
    uint64_t leaves = ask(5, "LOCK a wait=1m");
    ask(4, "LOCK a wait=1m");
    cancel(5, leaves);
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        ck_assert(coordinator_oldest_waiter(core, now, &cursor, &row));
        ck_assert(is_named(&row.name, expected[i].name) && row.session == expected[i].session);
        ck_assert(row.position == expected[i].position && row.held && row.holder == expected[i].holder);
    }
    ck_assert(!coordinator_oldest_waiter(core, now, &cursor, &row));
    forget();
}

T(counts)
{
    uint32_t locks, waits;
    struct coordinator_stats stats;
    start(3);
    grant(1, "LOCK a");
    ask(1, "LOCK a wait=1m");
    ask(2, "LOCK a");
    coordinator_session_counts(core, 1, &locks, &waits);
    ck_assert(locks == 1 && waits == 1);
    coordinator_session_counts(core, 77, &locks, &waits);
    ck_assert(locks == 0 && waits == 0);
    coordinator_stats(core, &stats);
    ck_assert(stats.grants == 1 && stats.refused_busy == 1 && stats.locks == 1 && stats.waiters == 1);
    ck_assert_uint_eq(coordinator_voters(core), 3);
    lose(0);
    ck_assert_uint_eq(coordinator_voters(core), 2);
    ck_assert_int_eq(coordinator_master_state(core, 0), MASTER_DOWN);
    ck_assert_uint_eq(coordinator_settled(core), 3);
    forget();
}
