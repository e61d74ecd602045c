/* A lock's life with everything well: granted, refused, waited for, renewed, given back. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static void begin(const char *settings)
{
    cluster_start(&masters, 5, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    client_open(&c, &redlockd);
}

static bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

START_TEST(lock_is_a_key_on_all_masters_and_unlock_removes_it)
{
    begin("");
    struct grant grant = lock(&a, "plain ttl=5s");
    ck_assert_int_le(grant.valid_ms, 5000 - 52); /* less the drift allowance */
    eventually(cluster_holds(&masters, "plain", grant.token) == 5);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_str_eq(redis(&masters.server[i], "KEYS redlock:[^,]*"), "redlock:plain");
        int left_ms = atoi(redis(&masters.server[i], "PTTL redlock:plain"));
        ck_assert_msg(left_ms > 0 && left_ms <= 5000, "PTTL %d", left_ms);
        ck_assert_str_eq(redis(&masters.server[i], "TYPE redlock:,fences"), "zset");
    }
    ask(&a, "+UNLOCKED plain confirmed=[345]/5", "UNLOCK plain");
    eventually(key_is_free("plain"));
}
END_TEST

START_TEST(another_is_refused_and_so_is_a_second_time)
{
    begin("");
    struct grant grant = lock(&a, "busy");
    ask(&b, "-BUSY busy*", "LOCK busy");
    ask(&a, "-BUSY busy*", "LOCK busy");
    eventually(cluster_holds(&masters, "busy", grant.token) == 5);
    ask(&a, "+UNLOCKED busy *", "UNLOCK busy");
    struct grant next = lock(&b, "busy");
    ck_assert_str_ne(next.token, grant.token);
    ck_assert_int_gt(next.fence, grant.fence);
}
END_TEST

START_TEST(fence_grows_through_two_daemons)
{
    begin("");
    daemon_start(&other, &masters, "");
    client_open(&c, &other);
    int64_t last = 0;
    for (int i = 0; i < 40; i++) {
        struct client *client = i % 3 ? &a : &c;
        struct grant grant = lock(client, "shared wait=5s ttl=5s");
        ck_assert_int_gt(grant.fence, last);
        last = grant.fence;
        ask(client, "+UNLOCKED shared *", "UNLOCK shared");
    }
    ask(&c, "+LOCKED shared *", "LOCK shared wait=5s");
    ask(&a, "-BUSY shared*", "LOCK shared");
}
END_TEST

START_TEST(waiters_are_served_in_their_order)
{
    static struct client waiting[6];
    begin("");
    struct grant grant = lock(&a, "line");
    for (unsigned i = 0; i < 6; i++) {
        client_open(&waiting[i], &redlockd);
        client_send(&waiting[i], "LOCK line wait=30s note=n%u", i);
        eventually(rows_with(show(&b, "WAITERS"), "name=line ") == i + 1);
    }
    int64_t fence = grant.fence;
    ask(&a, "+UNLOCKED line *", "UNLOCK line");
    for (unsigned i = 0; i < 6; i++) {
        struct grant next = grant_of(expect(&waiting[i], "+LOCKED line *"));
        ck_assert_int_gt(next.fence, fence);
        fence = next.fence;
        for (unsigned j = i + 1; j < 6; j++)
            ck_assert(client_silent(&waiting[j]));
        ask(&waiting[i], "+UNLOCKED line *", "UNLOCK line");
    }
}
END_TEST

START_TEST(wait_ends)
{
    begin("");
    lock(&a, "held");
    int64_t start_ms = now_ms();
    int64_t waited_ms = number(ask(&b, "-TIMEOUT held waited=*", "LOCK held wait=300ms"), "waited");
    int64_t took_ms = now_ms() - start_ms;
    ck_assert_int_ge(took_ms, 299);
    ck_assert_msg(waited_ms >= 299 && waited_ms <= took_ms + 1, "waited=%d of %d ms", (int)waited_ms,
                  (int)took_ms);
    ck_assert_uint_eq(rows_with(show(&a, "WAITERS"), ""), 0);
}
END_TEST

START_TEST(lease_survives_its_connection)
{
    begin("");
    struct grant grant = lock(&a, "lease hold=lease ttl=5s");
    client_close(&a);
    eventually(cluster_holds(&masters, "lease", grant.token) == 5);
    int64_t valid_ms =
        number(ask(&b, "+HELD lease valid=* until=*", "CHECK lease token=%s", grant.token), "valid");
    ck_assert_msg(valid_ms > 0 && valid_ms < 5000, "valid=%d", (int)valid_ms);
    ask(&b, "-BUSY lease*", "LOCK lease");
    ask(&b, "-NOTHELD lease*", "UNLOCK lease"); /* it did not take it */

    valid_ms = number(ask(&b, "+EXTENDED lease valid=* until=*", "EXTEND lease token=%s ttl=9s", grant.token),
                      "valid");
    ck_assert_msg(valid_ms > 5000 && valid_ms <= 9000 - 92, "valid=%d", (int)valid_ms);
    valid_ms = number(ask(&b, "+EXTENDED lease *", "EXTEND lease token=%s ttl=1s", grant.token), "valid");
    ck_assert_int_gt(valid_ms, 5000); /* only ever longer */

    ask(&c, "+UNLOCKED lease confirmed=*", "UNLOCK lease token=%s", grant.token);
    eventually(key_is_free("lease"));
    ask(&b, "-NOTHELD lease*", "EXTEND lease token=%s", grant.token);
    ask(&b, "-NOTHELD lease*", "CHECK lease token=%s", grant.token);
    ask(&b, "-NOTHELD lease*", "UNLOCK lease token=%s", grant.token);
    lock(&b, "lease");
}
END_TEST

START_TEST(lease_is_not_renewed_and_runs_out)
{
    begin("");
    struct grant grant = lock(&a, "short hold=lease ttl=600ms");
    struct grant next = lock(&b, "short wait=10s");
    ck_assert_int_ge(now_ms(), grant.until_ms);
    ck_assert_int_gt(next.fence, grant.fence);
    ask(&a, "-NOTHELD short*", "UNLOCK short token=%s", grant.token);
    ck_assert(client_silent(&a)); /* a lease's end is no event */
    ck_assert_uint_ge(cluster_holds(&masters, "short", next.token), 3);
}
END_TEST

START_TEST(lease_is_given_back_without_token_where_it_was_taken)
{
    begin("");
    lock(&a, "mine hold=lease");
    ask(&a, "+UNLOCKED mine *", "UNLOCK mine");
    eventually(key_is_free("mine"));
    ask(&a, "-NOTHELD mine*", "UNLOCK mine");
}
END_TEST

START_TEST(session_lock_is_entered_again_with_its_token)
{
    begin("");
    struct grant grant = lock(&a, "deep");
    for (int depth = 2; depth <= 3; depth++) {
        const char *line = ask(&a, "+LOCKED deep *", "LOCK deep token=%s", grant.token);
        ck_assert_str_eq(grant_of(line).token, grant.token);
        ck_assert_int_eq(grant_of(line).fence, grant.fence);
        ck_assert_int_eq(number(line, "depth"), depth);
    }
    ask(&b, "-NOTHELD deep*", "LOCK deep token=%s", grant.token);
    ask(&a, "-NOTHELD deep*", "LOCK deep token=%040d", 7);
    ask(&a, "-BADARG*", "LOCK deep token=%s wait=1s", grant.token);
    ask(&a, "-BADARG*", "LOCK deep token=%.39s", grant.token);
    ask(&a, "+UNLOCKED deep confirmed=0/5 depth=2", "UNLOCK deep");
    ask(&a, "+UNLOCKED deep confirmed=0/5 depth=1", "UNLOCK deep token=%s", grant.token);
    ck_assert_uint_ge(cluster_holds(&masters, "deep", grant.token), 3);
    ask(&a, "+UNLOCKED deep confirmed=[345]/5*", "UNLOCK deep");
    eventually(key_is_free("deep"));
}
END_TEST

START_TEST(lease_is_not_entered_again)
{
    begin("");
    struct grant grant = lock(&a, "lease hold=lease");
    ask(&a, "-NOTHELD lease*", "LOCK lease token=%s", grant.token);
}
END_TEST

START_TEST(max_ends_it)
{
    begin("");
    int64_t start_ms = now_ms();
    struct grant grant = lock(&a, "bounded ttl=600ms max=900ms");
    ck_assert_int_le(grant.until_ms, start_ms + 900);
    client_send(&b, "LOCK bounded wait=10s");
    char lost[128];
    snprintf(lost, sizeof lost, "!LOST bounded token=%s reason=max", grant.token);
    expect(&a, lost);
    ck_assert_int_ge(now_ms() - start_ms, 890);
    grant_of(expect(&b, "+LOCKED bounded *"));
    ask(&a, "-NOTHELD bounded*", "UNLOCK bounded");
}
END_TEST

START_TEST(token_releases_what_another_session_holds)
{
    begin("");
    struct grant grant = lock(&a, "told");
    ask(&a, "+LOCKED told *", "LOCK told token=%s", grant.token);
    ask(&b, "-NOTHELD told*", "UNLOCK told");
    ask(&b, "-NOTHELD told*", "UNLOCK told token=%040x", 1);
    ask(&b, "+UNLOCKED told confirmed=[345]/5*", "UNLOCK told token=%s", grant.token);
    char lost[128];
    snprintf(lost, sizeof lost, "!LOST told token=%s reason=released", grant.token);
    expect(&a, lost);
    eventually(key_is_free("told"));
    ask(&a, "-NOTHELD told*", "UNLOCK told");
}
END_TEST

START_TEST(token_releases_through_another_daemon)
{
    begin("");
    daemon_start(&other, &masters, "");
    client_open(&c, &other);
    struct grant grant = lock(&a, "far ttl=900ms");
    eventually(cluster_holds(&masters, "far", grant.token) == 5);
    ask(&c, "+UNLOCKED far *", "UNLOCK far token=%s", grant.token);
    await(&a, "!LOST far token=* reason=gone");
    ck_assert_uint_eq(cluster_holds(&masters, "far", grant.token), 0);
    lock(&c, "far");
}
END_TEST

START_TEST(lease_extended_through_another_daemon)
{
    begin("");
    daemon_start(&other, &masters, "");
    client_open(&c, &other);
    struct grant grant = lock(&a, "moved hold=lease ttl=900ms");
    eventually(cluster_holds(&masters, "moved", grant.token) == 5);
    ask(&c, "+EXTENDED moved *", "EXTEND moved token=%s ttl=30s", grant.token);
    eventually(now_ms() > grant.until_ms && rows_with(show(&a, "LOCKS"), "name=moved") == 0);
    ask(&a, "-BUSY moved*", "LOCK moved"); /* forgotten here, but neither deleted nor free */
    ck_assert_uint_eq(cluster_holds(&masters, "moved", grant.token), 5);
    ask(&a, "+UNLOCKED moved *", "UNLOCK moved token=%s", grant.token);
}
END_TEST

START_TEST(session_lock_is_renewed)
{
    begin("");
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    struct grant grant = lock(&a, "kept ttl=600ms");
    struct grant quiet = lock(&b, "quiet ttl=600ms");
    int64_t until_ms = grant.until_ms;
    for (int renewals = 0; renewals < 4 || now_ms() < grant.until_ms + 600; renewals++) {
        const char *event = expect(&a, "!RENEWED kept token=* valid=* until=*");
        ck_assert_str_eq(kv(event, "token"), grant.token);
        ck_assert_int_gt(number(event, "until"), until_ms);
        ck_assert_int_gt(number(event, "until"), now_ms());
        until_ms = number(event, "until");
    }
    ck_assert(client_silent(&b));
    ck_assert_uint_ge(cluster_holds(&masters, "kept", grant.token), 3);
    ck_assert_uint_ge(cluster_holds(&masters, "quiet", quiet.token), 3);
    ask(&b, "+HELD quiet *", "CHECK quiet token=%s", quiet.token);
    ask(&b, "+UNLOCKED quiet *", "UNLOCK quiet");
}
END_TEST

START_TEST(extend_of_a_session_lock)
{
    begin("");
    struct grant grant = lock(&a, "longer ttl=1s");
    const char *line = ask(&a, "+EXTENDED longer *", "EXTEND longer token=%s ttl=8s", grant.token);
    ck_assert_int_gt(number(line, "valid"), 6000);
    line = ask(&b, "+HELD longer *", "CHECK longer token=%s", grant.token);
    ck_assert_int_gt(number(line, "valid"), 6000);
    ask(&a, "+EXTENDED longer *", "EXTEND longer token=%s", grant.token); /* still bound to its session ... */
    client_close(&a);
    eventually(key_is_free("longer")); /* ... and gone with it */
}
END_TEST

START_TEST(cancel)
{
    begin("");
    lock(&a, "wanted");
    client_send(&b, "#w1 LOCK wanted wait=30s\nCANCEL w1");
    expect(&b, "#w1 -CANCELLED wanted*");
    expect(&b, "+OK");
    client_send(&b, "LOCK wanted wait=30s\n#x CANCEL");
    expect(&b, "-CANCELLED wanted*");
    expect(&b, "#x +OK");
    ask(&b, "-BADTAG*", "CANCEL");
    ask(&b, "-BADTAG*", "CANCEL w1");
    ask(&a, "+UNLOCKED wanted *", "UNLOCK wanted");
    eventually(key_is_free("wanted"));
    ck_assert(client_silent(&b));
}
END_TEST

static Suite *locks(void)
{
    Suite *suite = suite_create("lock");
    ADD(suite, lock_is_a_key_on_all_masters_and_unlock_removes_it);
    ADD(suite, another_is_refused_and_so_is_a_second_time);
    ADD(suite, fence_grows_through_two_daemons);
    ADD(suite, waiters_are_served_in_their_order);
    ADD(suite, wait_ends);
    ADD(suite, lease_survives_its_connection);
    ADD(suite, lease_is_not_renewed_and_runs_out);
    ADD(suite, lease_is_given_back_without_token_where_it_was_taken);
    ADD(suite, session_lock_is_entered_again_with_its_token);
    ADD(suite, lease_is_not_entered_again);
    ADD(suite, max_ends_it);
    ADD(suite, token_releases_what_another_session_holds);
    ADD(suite, token_releases_through_another_daemon);
    ADD(suite, lease_extended_through_another_daemon);
    ADD(suite, session_lock_is_renewed);
    ADD(suite, extend_of_a_session_lock);
    ADD(suite, cancel);
    return suite;
}

int main(void)
{
    return harness_main(locks());
}
