/* A lock's life with everything well: granted, refused, waited for, renewed, given back. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    eventually(masters_up(&a, &masters));
}

/* Starts a second daemon, which is patient whatever the first one's settings are, with the client c. */
static void begin_other(void)
{
    daemon_serves(&other, &masters, PATIENT, &c);
}

T(lock_is_a_key_on_all_masters_and_unlock_removes_it)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "plain ttl=30s");
    ck_assert_int_le(grant.valid_ms, 30000 - 302); /* less the drift allowance */
    eventually(cluster_holds(&masters, "plain", grant.token) == 5);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_str_eq(redis(&masters.server[i], "KEYS redlock:[^,]*"), "redlock:plain");
        int left_ms = atoi(redis(&masters.server[i], "PTTL redlock:plain"));
        ck_assert_msg(left_ms > 0 && left_ms <= 30000, "PTTL %d", left_ms);
        ck_assert_str_eq(redis(&masters.server[i], "TYPE redlock:,fences"), "zset");
    }
    ask(&a, "+UNLOCKED plain confirmed=[345]/5", "UNLOCK plain");
    eventually(cluster_is_free(&masters, "plain"));
}

T(another_is_refused_and_so_is_a_second_time)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "busy");
    ask(&b, "-BUSY busy*", "LOCK busy");
    ask(&a, "-BUSY busy*", "LOCK busy");
    eventually(cluster_holds(&masters, "busy", grant.token) == 5);
    ask(&a, "+UNLOCKED busy *", "UNLOCK busy");
    struct grant next = lock(&b, "busy");
    ck_assert_str_ne(next.token, grant.token);
    ck_assert_int_gt(next.fence, grant.fence);
}

T(fence_grows_through_two_daemons)
{
    begin(PATIENT);
    begin_other();
    int64_t last = 0;
    for (int i = 0; i < 40; i++) {
        struct client *client = i % 3 ? &a : &c;
        struct grant grant = lock(client, "shared wait=30s");
        ck_assert_int_gt(grant.fence, last);
        last = grant.fence;
        ask(client, "+UNLOCKED shared *", "UNLOCK shared");
    }
    ask(&c, "+LOCKED shared *", "LOCK shared wait=30s");
    ask(&a, "-BUSY shared*", "LOCK shared");
}

T(waiters_are_served_in_their_order)
{
    static struct client waiting[6];
    begin(PATIENT);
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

T(wait_ends)
{
    begin(PATIENT);
    lock(&a, "held");
    int64_t start_ms = now_ms();
    int64_t waited_ms = number(ask(&b, "-TIMEOUT held waited=*", "LOCK held wait=300ms"), "waited");
    int64_t took_ms = now_ms() - start_ms;
    ck_assert_int_ge(took_ms, 299);
    ck_assert_msg(waited_ms >= 299 && waited_ms <= took_ms + 1, "waited=%d of %d ms", (int)waited_ms,
                  (int)took_ms);
    ck_assert_uint_eq(rows_with(show(&a, "WAITERS"), ""), 0);
}

T(lease_survives_its_connection)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "lease hold=lease ttl=30s");
    client_close(&a);
    eventually(cluster_holds(&masters, "lease", grant.token) == 5);
    int64_t valid_ms =
        number(ask(&b, "+HELD lease valid=* until=*", "CHECK lease token=%s", grant.token), "valid");
    ck_assert_msg(valid_ms > 0 && valid_ms < 30000, "valid=%d", (int)valid_ms);
    ask(&b, "-BUSY lease*", "LOCK lease");
    ask(&b, "-NOTHELD lease*", "UNLOCK lease"); /* the refused EXTEND changed nothing */

    valid_ms = number(
        ask(&b, "+EXTENDED lease valid=* until=*", "EXTEND lease token=%s ttl=55s", grant.token), "valid");
    ck_assert_msg(valid_ms > 30000 && valid_ms <= 55000 - 552, "valid=%d", (int)valid_ms);
    valid_ms = number(ask(&b, "+EXTENDED lease *", "EXTEND lease token=%s ttl=10s", grant.token), "valid");
    ck_assert_int_gt(valid_ms, 30000); /* EXTEND never shortens */

    ask(&c, "+UNLOCKED lease confirmed=*", "UNLOCK lease token=%s", grant.token);
    eventually(cluster_is_free(&masters, "lease"));
    ask(&b, "-NOTHELD lease*", "EXTEND lease token=%s", grant.token);
    ask(&b, "-NOTHELD lease*", "CHECK lease token=%s", grant.token);
    ask(&b, "-NOTHELD lease*", "UNLOCK lease token=%s", grant.token);
    lock(&b, "lease");
}

T(lease_is_not_renewed_and_runs_out)
{
    begin("");
    struct grant grant = lock(&a, "short hold=lease ttl=600ms wait=10s");
    struct grant next = lock(&b, "short wait=10s");
    ck_assert_int_ge(now_ms(), grant.until_ms);
    ck_assert_int_gt(next.fence, grant.fence);
    ask_again(&a, "-NOTHELD short*", "UNLOCK short token=%s", grant.token);
    ck_assert(client_silent(&a)); /* a lease's end is no event */
    ck_assert_uint_ge(cluster_holds(&masters, "short", next.token), 3);
}

T(lease_is_given_back_without_token_where_it_was_taken)
{
    begin(PATIENT);
    lock(&a, "mine hold=lease");
    ask(&a, "+UNLOCKED mine *", "UNLOCK mine");
    eventually(cluster_is_free(&masters, "mine"));
    ask(&a, "-NOTHELD mine*", "UNLOCK mine");
}

T(session_lock_is_entered_again_with_its_token)
{
    begin(PATIENT);
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
    eventually(cluster_is_free(&masters, "deep"));
}

T(lease_is_not_entered_again)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "lease hold=lease");
    ask(&a, "-NOTHELD lease*", "LOCK lease token=%s", grant.token);
}

static bool ended_by_max(int ttl_ms)
{
    char name[24], lost[128];
    int max_ms = ttl_ms * 3 / 2;
    int64_t start_ms = now_ms();
    snprintf(name, sizeof name, "bounded%d", ttl_ms);
    struct grant grant = lock(&a, "%s ttl=%d max=%d wait=10s", name, ttl_ms, max_ms);
    ck_assert_int_le(grant.until_ms, now_ms() + max_ms);
    client_send(&b, "LOCK %s wait=30s", name);
    snprintf(lost, sizeof lost, "!LOST %s token=%s reason=*", name, grant.token);
    const char *reason = kv(await(&a, lost), "reason");
    int64_t lost_ms = now_ms();
    grant_of(expect(&b, "+LOCKED bounded*"));
    ask(&a, "-NOTHELD bounded*", "UNLOCK %s", name);
    if (strcmp(reason, "expired") == 0)
        return false;
    ck_assert_str_eq(reason, "max");
    ck_assert_int_ge(lost_ms - start_ms, max_ms - 10);
    return true;
}

T(max_ends_it)
{
    begin("");
    play(ended_by_max, 600);
}

T(token_releases_what_another_session_holds)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "told");
    ask(&a, "+LOCKED told *", "LOCK told token=%s", grant.token);
    ask(&b, "-NOTHELD told*", "UNLOCK told");
    ask(&b, "-NOTHELD told*", "UNLOCK told token=%040x", 1);
    ask(&b, "+UNLOCKED told confirmed=[345]/5*", "UNLOCK told token=%s", grant.token);
    char lost[128];
    snprintf(lost, sizeof lost, "!LOST told token=%s reason=released", grant.token);
    expect(&a, lost);
    eventually(cluster_is_free(&masters, "told"));
    ask(&a, "-NOTHELD told*", "UNLOCK told");
}

static bool released_elsewhere(int ttl_ms)
{
    static struct client holder;
    char name[24];
    snprintf(name, sizeof name, "far%d", ttl_ms);
    client_open(&holder, &redlockd);
    struct grant grant = lock(&holder, "%s ttl=%d wait=10s", name, ttl_ms);
    eventually(cluster_holds(&masters, name, grant.token) == 5 || !client_silent(&holder));
    client_send(&c, "UNLOCK %s token=%s", name, grant.token);
    const char *answer = expect(&c, "*");
    bool was_there = strncmp(answer, "+UNLOCKED ", 10) == 0;
    ck_assert_msg(was_there || strncmp(answer, "-NOTHELD ", 9) == 0, "%s", answer);
    const char *reason = kv(await(&holder, "!LOST far* reason=*"), "reason");
    client_close(&holder);
    if (!was_there || strcmp(reason, "expired") == 0)
        return false;
    ck_assert_str_eq(reason, "gone");
    ck_assert_uint_eq(cluster_holds(&masters, name, grant.token), 0);
    lock(&c, "%s", name);
    return true;
}

T(token_releases_through_another_daemon)
{
    begin("");
    begin_other();
    play(released_elsewhere, 900);
}

static bool extended_elsewhere(int ttl_ms)
{
    char name[24];
    snprintf(name, sizeof name, "moved%d", ttl_ms);
    struct grant grant = lock(&a, "%s hold=lease ttl=%d wait=10s", name, ttl_ms);
    eventually(cluster_holds(&masters, name, grant.token) == 5 || now_ms() > grant.until_ms);
    client_send(&c, "EXTEND %s token=%s ttl=60s", name, grant.token);
    const char *answer = expect(&c, "*");
    if (strncmp(answer, "-NOTHELD ", 9) == 0 && now_ms() > grant.until_ms)
        return false;
    ck_assert_msg(strncmp(answer, "+EXTENDED ", 10) == 0, "%s", answer);
    eventually(now_ms() > grant.until_ms && rows_with(show(&a, "LOCKS"), "name=moved") == 0);
    ask_again(&a, "-BUSY moved*", "LOCK %s",
              name); /* forgotten by the daemon, but neither deleted nor free */
    ck_assert_uint_ge(cluster_holds(&masters, name, grant.token), 3);
    client_send(&a, "UNLOCK %s token=%s", name, grant.token);
    answer = expect(&a, "*"); /* which may come too late for node_timeout */
    ck_assert_msg(strncmp(answer, "+UNLOCKED ", 10) == 0 || strncmp(answer, "-NOQUORUM ", 10) == 0, "%s",
                  answer);
    eventually(cluster_is_free(&masters, name));
    return true;
}

T(lease_extended_through_another_daemon)
{
    begin("");
    begin_other();
    play(extended_elsewhere, 900);
}

/* Whether only renewals come, each later than the one before. */
static bool hears_renewals(struct client *client, struct grant grant, int ttl_ms)
{
    int64_t until_ms = grant.until_ms;
    for (int renewals = 0; renewals < 4 || now_ms() < grant.until_ms + ttl_ms; renewals++) {
        const char *event = expect(client, "![ELR]* kept*");
        if (strncmp(event, "!RENEWED kept", 13) != 0)
            return false;
        ck_assert_str_eq(kv(event, "token"), grant.token);
        ck_assert_int_gt(number(event, "until"), until_ms);
        ck_assert_int_gt(number(event, "valid"), 0);
        until_ms = number(event, "until");
    }
    return true;
}

static bool renewed_all_the_time(int ttl_ms)
{
    static struct client loud, still;
    char kept[24], quiet[24];
    snprintf(kept, sizeof kept, "kept%d", ttl_ms);
    snprintf(quiet, sizeof quiet, "quiet%d", ttl_ms);
    client_open(&loud, &redlockd);
    client_open(&still, &redlockd);
    ask(&loud, "+HELLO *", "HELLO 1 events=renewed");
    struct grant heard = lock(&loud, "%s ttl=%d wait=10s", kept, ttl_ms);
    struct grant unheard = lock(&still, "%s ttl=%d wait=10s", quiet, ttl_ms);
    bool well = hears_renewals(&loud, heard, ttl_ms) && cluster_holds(&masters, kept, heard.token) >= 3 &&
                cluster_holds(&masters, quiet, unheard.token) >= 3;
    client_send(&still, "CHECK %s token=%s", quiet, unheard.token);
    const char *first = expect(&still, "*"); /* all lines that the client gets */
    ck_assert_msg(strncmp(first, "!RENEWED ", 9) != 0, "%s", first);
    well = well && strncmp(first, "+HELD ", 6) == 0;
    client_send(&still, "UNLOCK %s", quiet);
    well = well && strncmp(expect(&still, "*"), "+UNLOCKED ", 10) == 0;
    client_close(&loud);
    client_close(&still);
    return well;
}

T(session_lock_is_renewed)
{
    begin("");
    play(renewed_all_the_time, 600);
}

T(extend_of_a_session_lock)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "longer ttl=10s");
    const char *line = ask(&a, "+EXTENDED longer *", "EXTEND longer token=%s ttl=60s", grant.token);
    ck_assert_int_gt(number(line, "valid"), 40000);
    line = ask(&b, "+HELD longer *", "CHECK longer token=%s", grant.token);
    ck_assert_int_gt(number(line, "valid"), 40000);
    ask(&a, "+EXTENDED longer *", "EXTEND longer token=%s", grant.token); /* still bound to its session ... */
    client_close(&a);
    eventually(cluster_is_free(&masters, "longer")); /* ... and gone with it */
}

T(cancel)
{
    begin(PATIENT);
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
    eventually(cluster_is_free(&masters, "wanted"));
    ck_assert(client_silent(&b));
}
