/* One lock that two daemons have to do with. */
#include "tests/integ/guarded.h"

/* ---- two daemons, one lock ---- */

START_TEST(unlock_through_another_daemon_is_not_healed)
{
    begin(3, UNIX, guarded_long);
    begin_other(guarded_long);
    struct grant held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) == 3);
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    eventually(key_is_free("held"));
    struct grant next = lock(&c, "held");
    ck_assert_int_gt(next.fence, held.fence);
    ck_assert_str_eq(kv(expect(&a, "!LOST held token=* reason=gone"), "token"), held.token);
    ask(&a, "-NOTHELD held*", "UNLOCK held");
    eventually(holds("held", next.token) == 3);

    /* The same where nobody else takes it: it must not come back. */
    ask(&c, "+UNLOCKED held *", "UNLOCK held");
    held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) ==
               3); /* else a SET may come behind the release, and stay for its TTL */
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    expect(&a, "!LOST held token=* reason=gone");
    eventually(key_is_free("held"));
}
END_TEST

START_TEST(lease_lives_on_through_another_daemon)
{
    static const char settings[] = "restart_guard: on\nmax_ttl: 30s\nnode_timeout: 1500ms\nmin_ttl: 3s\n";
    begin(3, UNIX, settings);
    begin_other(settings);
    struct grant lease = lock(&a, "lease hold=lease ttl=3s");
    ask(&c, "+EXTENDED lease *", "EXTEND lease token=%s ttl=30s", lease.token);
    eventually(now_ms() > lease.until_ms + 100); /* over, as far as its own daemon knows */
    const char *line = ask(&a, "+HELD lease *", "CHECK lease token=%s", lease.token);
    ck_assert_int_gt(number(line, "until"), lease.until_ms);
    ask(&a, "-BUSY lease*", "LOCK lease");
    ask(&c, "+UNLOCKED lease *", "UNLOCK lease token=%s", lease.token);
    ask(&a, "-NOTHELD lease*", "CHECK lease token=%s", lease.token);
    ask(&a, "-NOTHELD lease*", "EXTEND lease token=%s", lease.token);
    lock(&c, "lease");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("two daemons");
    ADD(all, unlock_through_another_daemon_is_not_healed);
    ADD(all, lease_lives_on_through_another_daemon);
    return all;
}

int main(void)
{
    return harness_main(suite());
}
