/* Clocks of real masters and daemons: a daemon's that stood still, and a master's that is fast. */
#include "tests/integ/stalled.h"

#include <stdlib.h>

enum { PPM = 40000, FAST = 2 /* the master's index */, KEPT_OUT_MS = 40000, TRIES = 8 };

static void begin(void)
{
    cluster_of_five();
    for (unsigned i = 0; i < HOSTS; i++)
        host_start(i);
}

/* ---- a daemon's ---- */

/* On a machine that itself stands still the masters' answers may come too late to show the whole stall:
 * the stall is repeated. */
static void one_stands_still(int64_t ms)
{
    int64_t since_ms = now_ms();
    do {
        ck_assert_msg(hosts[0].lost_ms < 3 * ms, "it lost %lld ms, and told %lld",
                      (long long)hosts[0].lost_ms, (long long)hosts[0].behind_ms);
        still_begin(&hosts[0]);
        grants(&hosts[1]);
        still_end(&hosts[0], ms);
    } while (!has_noticed(&hosts[0]));
    is_told(&hosts[0]);
    none_is_blamed(masters.count);
    is_kept(&hosts[0]);
    goes_on(&hosts[1], since_ms);
    goes_on(&hosts[2], since_ms);
    grants(&hosts[0]);
}

T(it_stands_still_for_a_moment)
{
    begin();
    ck_assert_int_eq(behind_ms(&hosts[0]), 0);
    one_stands_still(SHORT_MS);
}

/* Right after a renewal the host stands still until the lock is over. The next probe, at most a second away, comes before
 * the next renewal, which is a third of the TTL away and would find the lock gone, unless this machine stood still. */
static bool it_is_over(int ttl_ms)
{
    struct client due, next;
    struct host *host = &hosts[0];
    client_open(&due, &host->daemon);
    client_open(&next, &hosts[1].daemon);
    ask(&due, "+HELLO *", "HELLO 1 events=renewed");
    struct grant grant = lock(&due, "due ttl=%d wait=14s", ttl_ms);
    answers_are_quick(host);
    int64_t since_ms = now_ms();
    for (int64_t renewed_ms = 0; renewed_ms < since_ms;) {
        const char *renewed = expect(&due, "!RENEWED due *");
        renewed_ms = number(renewed, "until") - number(renewed, "valid");
    }
    still_at_once(host);
    client_send(&next, "LOCK due ttl=30s wait=14s");
    still_end(host, ttl_ms + 300);
    const char *line = await(&due, "!LOST due token=*");
    ck_assert_str_eq(kv(line, "token"), grant.token);
    bool expired = strcmp(kv(line, "reason"), "expired") == 0;
    ck_assert_int_gt(grant_of(expect(&next, "+LOCKED *")).fence, grant.fence);
    ask_again(&due, "-NOTHELD due*", "CHECK due token=%s", grant.token);
    client_close(&due);
    client_close(&next);
    return expired && has_noticed(host);
}

T(it_stands_still_until_a_lock_is_over)
{
    begin();
    int64_t since_ms = now_ms();
    play(it_is_over, 6000);
    is_told(&hosts[0]);
    none_is_blamed(masters.count);
    grants(&hosts[0]);
    goes_on(&hosts[1], since_ms);
    goes_on(&hosts[2], since_ms);
}

/* ---- a master's ---- */

static int64_t time_us(const struct server *server)
{
    const char *answer = redis(server, "TIME");
    char *rest;
    int64_t s = strtoll(answer, &rest, 10);
    return s * 1000000 + strtoll(rest, NULL, 10);
}

static bool is_kept_out(const struct host *host)
{
    const char *row = node_row(viewer(host), &masters.server[FAST]);
    const char *by = kv(row, "by");
    bool clock = strcmp(kv(row, "state"), "quarantine") == 0 && strcmp(kv(row, "why"), "clock") == 0;
    ck_assert_msg(!clock || (strlen(by) == 8 && strspn(by, "0123456789abcdef") == 8), "%s", row);
    return clock;
}

/* The daemon's lock is renewed, it grants, and does not take the master's lead for a stall of its own. Only where the
 * other masters are slow to answer, which a busy machine makes them, it may do that, since that is safe. */
static bool blames_only_the_master(struct host *host)
{
    int64_t since_ms = now_ms(), before_ms = behind_ms(host);
    for (int64_t renewed_ms = 0; renewed_ms < since_ms;) {
        const char *line = await(&host->holder, "!RENEWED *");
        renewed_ms = number(line, "until") - number(line, "valid");
    }
    is_kept(host);
    grants(host);
    return behind_ms(host) == before_ms;
}

T(a_master_is_fast)
{
    begin();
    struct skew *skew = masters.server[FAST].skew;
    skew->since_us = now_ms() * 1000;
    skew->wall_ppm = PPM;
    int64_t began_us = time_us(&masters.server[FAST]), began_ms = now_ms();
    for (unsigned i = 0; i < HOSTS; i++)
        eventually_within(is_kept_out(&hosts[i]), KEPT_OUT_MS);
    int64_t passed_ms = now_ms() - began_ms, passed_us = time_us(&masters.server[FAST]) - began_us;
    ck_assert_int_ge(passed_us, passed_ms * (1000 + PPM / 1000) - 2000);
    for (unsigned i = 0; i < HOSTS; i++) {
        eventually(figure(&hosts[i], "masters_voting") == masters.count - 1);
        for (unsigned tries = 1; !blames_only_the_master(&hosts[i]); tries++)
            ck_assert_uint_lt(tries, TRIES);
    }
}
