/* Masters that lose their memory: flushed, or restarted. It must be noticed also where nobody uses a lock, kept
 * out in full, and cost no holder his lock where it need not. */
#include "tests/integ/guarded.h"

/* ---- flushed ---- */

START_TEST(flush_is_seen_by_a_daemon_that_does_nothing)
{
    begin(7, UNIX, guarded_long);
    redis(&masters.server[0], "FLUSHALL");
    redis(&masters.server[1], "SWAPDB 0 1");
    redis(&masters.server[2], "DEL redlock:,group");
    for (unsigned i = 0; i < 3; i++)
        is_kept_out(i, "memory", LONG_FULL_MS);
    lock(&a, "others wait=10s"); /* four are enough, three are not */
    server_kill(&masters.server[3]);
    eventually(state_is(3, "down"));
    const char *refusal = ask(&a, "-NOQUORUM no *", "LOCK no");
    ck_assert_msg(strncmp(kv(refusal, "nodes"), "~~~!", 4) == 0, "%s", refusal);
    ck_assert_int_gt(number(refusal, "retry"), 0);
}
END_TEST

START_TEST(flushed_minority_is_healed)
{
    begin(3, UNIX, guarded_long);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    redis(&masters.server[1], "FLUSHALL");
    is_kept_out(1, "memory", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    ck_assert(state_is(1, "quarantine"));
    eventually(now_ms() > held.until_ms);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    eventually(key_is_free("held"));
}
END_TEST

/* ---- restarted ---- */

START_TEST(restarted_minority_is_healed)
{
    begin(3, TCP, guarded_long);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    restart(2);
    is_kept_out(2, "restart", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    /* And now another one may go: the healed one counts for the holder, though not yet for others. */
    restart(0);
    eventually(now_ms() > held.until_ms + 1000);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ask(&b, "-* held*", "LOCK held");
}
END_TEST

START_TEST(all_masters_restarted_empty_one_after_the_other)
{
    begin(5, TCP, guarded);
    begin_other(guarded);
    struct grant held = lock(&a, "held");
    client_send(&c, "LOCK held wait=1m");
    for (unsigned i = 0; i < 5; i++) {
        eventually(holds("held", held.token) == 5);
        restart(i);
    }
    eventually(holds("held", held.token) == 5);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ck_assert(client_silent(&a) && client_silent(&c));
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    struct grant next = grant_of(expect(&c, "+LOCKED held *"));
    ck_assert_int_gt(next.fence, held.fence);
    ck_assert_str_ne(next.token, held.token);
}
END_TEST

/* Masters that come back with an old lock do not bring it back to life. */
START_TEST(old_snapshots_count_for_nothing)
{
    begin(3, TCP, guarded);
    begin_other(guarded);
    struct grant old = lock(&a, "old ttl=4s hold=lease");
    eventually(holds("old", old.token) == 3);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_str_eq(redis(&masters.server[i], "SAVE"), "OK");
    ask(&a, "+UNLOCKED old *", "UNLOCK old");
    eventually(key_is_free("old"));
    int64_t restart_ms = now_ms();
    for (unsigned i = 0; i < 2; i++)
        restart(i);
    for (unsigned i = 0; i < 2; i++)
        is_kept_out(i, "restart", FULL_MS);
    ask(&c, "-NO* old*", "EXTEND old token=%s", old.token);
    ask(&c, "-NO* old*", "CHECK old token=%s", old.token);
    struct grant next = lock(&b, "old wait=30s");
    ck_assert_int_gt(next.fence, old.fence);
    ck_assert_int_ge(now_ms() - restart_ms, MAX_TTL_MS);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("restarts");
    ADD(all, flush_is_seen_by_a_daemon_that_does_nothing);
    ADD(all, flushed_minority_is_healed);
    ADD(all, restarted_minority_is_healed);
    ADD(all, all_masters_restarted_empty_one_after_the_other);
    ADD(all, old_snapshots_count_for_nothing);
    return all;
}

int main(void)
{
    return harness_main(suite());
}
