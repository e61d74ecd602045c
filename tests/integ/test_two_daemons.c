/* Tests of a lock that concerns two daemons. */
#include "tests/integ/guarded.h"

/* ---- two daemons, one lock ---- */

/* The first daemon learns of the UNLOCK by one of its next renewals, which come every 1.3 s, not at the
 * deadline in half a minute. */
static void is_told_soon(const struct grant *held, int64_t unlock_ms)
{
    ck_assert_str_eq(kv(expect(&a, "!LOST held token=* reason=gone"), "token"), held->token);
    ck_assert_int_lt(now_ms() - unlock_ms, 8000);
}

T(unlock_through_another_daemon_is_not_healed)
{
    guarded_begin(3, UNIX, guarded_long);
    begin_other(guarded_long);
    struct grant held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) == 3);
    int64_t unlock_ms = now_ms();
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    eventually(key_is_free("held"));
    struct grant next = lock(&c, "held");
    ck_assert_int_gt(next.fence, held.fence);
    is_told_soon(&held, unlock_ms);
    ask(&a, "-NOTHELD held*", "UNLOCK held");
    eventually(holds("held", next.token) == 3);

    /* The same where no other client takes the lock: it must not come back. */
    ask(&c, "+UNLOCKED held *", "UNLOCK held");
    held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) ==
               3); /* otherwise a SET may come behind the release, and stay for its TTL */
    unlock_ms = now_ms();
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    is_told_soon(&held, unlock_ms);
    eventually(key_is_free("held"));
}

T(lease_lives_on_through_another_daemon)
{
    static const char settings[] = "restart_guard: on\nmax_ttl: 30s\nnode_timeout: 2500ms\nmin_ttl: 5s\n";
    guarded_begin(3, UNIX, settings);
    begin_other(settings);
    struct grant lease = lock(&a, "lease hold=lease ttl=6s");
    ask_again(&c, "+EXTENDED lease *", "EXTEND lease token=%s ttl=30s", lease.token);
    eventually(now_ms() > lease.until_ms + 100); /* over, as far as the lock's own daemon knows */
    const char *line = ask_again(&a, "+HELD lease *", "CHECK lease token=%s", lease.token);
    ck_assert_int_gt(number(line, "until"), lease.until_ms);
    ask_again(&a, "-BUSY lease*", "LOCK lease");
    ask(&c, "+UNLOCKED lease *", "UNLOCK lease token=%s", lease.token);
    ask_again(&a, "-NOTHELD lease*", "CHECK lease token=%s", lease.token);
    ask_again(&a, "-NOTHELD lease*", "EXTEND lease token=%s", lease.token);
    lock(&c, "lease wait=14s");
}
