/* A name is kept though nobody holds it, through real daemons and masters. */
#include <stdio.h>
#include <string.h>

#include "tests/integ/guarded.h"

static const char breaking[] = PATIENT "allow_break: yes\n";

static struct cluster three;
static struct daemon one, two;
static struct client a1, b1, waiter1;

/* Client a1 is at one daemon, b1 and waiter1 at the other. */
static void begin(const char *settings)
{
    cluster_start(&three, 3, UNIX);
    daemon_serves(&one, &three, settings, &a1);
    daemon_serves(&two, &three, settings, &b1);
    client_open(&waiter1, &two);
    eventually(rows_with(show(&a1, "NODES"), "wake=up") == 3);
    eventually(rows_with(show(&b1, "NODES"), "wake=up") == 3);
}

static void keep_job(const char *keep)
{
    lock(&a1, "job");
    ask(&a1, "+KEPT job until=* confirmed=*", "UNLOCK job keep=%s", keep);
}

static bool is_kept(struct client *client, const char *name)
{
    client_send(client, "WHO %s", name);
    return rows_with(client_rows_at(client, __FILE__, __LINE__), "mode=kept") == 1;
}

T(nobody_gets_a_name_that_is_kept)
{
    begin(PATIENT);
    struct grant held = lock(&a1, "job");
    ask(&a1, "+KEPT job until=* confirmed=*", "UNLOCK job keep=1h");
    ask(&a1, "-BUSY job", "LOCK job");
    ask(&b1, "-BUSY job", "LOCK job");
    ask(&b1, "-BUSY job", "LOCK job mode=shared");
    ask(&b1, "-BUSY job,more*", "LOCK job,more");
    ck_assert(is_kept(&b1, "job"));
    ck_assert_uint_eq(rows_with(show(&a1, "LOCKS"), "name=job mode=kept"), 1);
    ck_assert_str_eq(redis(&three.server[0], "SET redlock:job library NX PX 1000"), "(nil)");
    ask(&a1, "-NOTHELD job*", "UNLOCK job token=%s", held.token);
    ask(&b1, "-NOTHELD job*", "EXTEND job token=%s", held.token);
    ask(&b1, "-NOTHELD job*", "RESUME job token=%s", held.token);
    ask(&b1, "-NOTHELD job*", "CHECK job token=%s", held.token);
    ck_assert(is_kept(&a1, "job"));
}

T(a_waiter_gets_it_at_the_end)
{
    begin(PATIENT);
    keep_job("3s");
    int64_t begun_ms = now_ms();
    client_send(&waiter1, "LOCK job wait=2m");
    await(&waiter1, "+LOCKED job *");
    ck_assert_int_ge(now_ms() - begun_ms, 2500);
}

T(whoever_waits_is_woken_when_it_is_ended)
{
    begin(PATIENT);
    keep_job("1h");
    client_send(&waiter1, "LOCK job wait=2m");
    eventually(rows_with(show(&b1, "WAITERS"), "name=job ") == 1);
    eventually(cluster_answers(&three, "1", "ZCARD redlock:,queue:job") == 3);
    ask(&b1, "+UNLOCKED job confirmed=3/3", "UNLOCK job kept");
    await(&waiter1, "+LOCKED job *");
    ck_assert(daemon_logged(&two, "event=unkeep name=job"));
    ask(&b1, "-NOTHELD job : it is not kept*", "UNLOCK job kept"); /* a lock is not touched */
    client_send(&waiter1, "UNLOCK job");
    await(&waiter1, "+UNLOCKED job *");
    eventually(rows_with(show(&a1, "STATS"), "kept=0") == 1); /* its daemon was told */
}

T(broken)
{
    begin(breaking);
    keep_job("1h");
    client_send(&waiter1, "LOCK job wait=2m");
    eventually(cluster_answers(&three, "1", "ZCARD redlock:,queue:job") == 3);
    ask(&b1, "+BROKEN job *", "BREAK job");
    await(&waiter1, "+LOCKED job *");
}

T(through_a_daemon_that_does_not_know_the_lock)
{
    begin(PATIENT);
    struct grant held = lock(&a1, "job");
    ask(&b1, "+KEPT job until=* confirmed=*", "UNLOCK job token=%s keep=1h", held.token);
    await(&a1, "!LOST job * reason=gone");
    ask(&a1, "-BUSY job", "LOCK job");
    struct grant lease = lock(&a1, "lease hold=lease");
    ask(&b1, "+KEPT lease until=* confirmed=*", "UNLOCK lease token=%s keep=1h", lease.token);
}

T(not_handed_on_to_who_waits_at_the_same_daemon)
{
    begin(PATIENT);
    lock(&b1, "job");
    client_send(&waiter1, "LOCK job wait=1s");
    eventually(rows_with(show(&a1, "WAITERS"), "name=job ") + 1 > 0);
    ask(&b1, "+KEPT job until=* confirmed=*", "UNLOCK job keep=1h");
    await(&waiter1, "-TIMEOUT job *");
}

/* Quarantines last for six seconds, and the mark for longer. */
T(it_outlives_masters_that_are_restarted_empty_one_after_the_other)
{
    static const char six_seconds[] = "restart_guard: on\nmax_ttl: 6s\ndefault_ttl: 6s\n";
    char kept_by[64] = "";
    guarded_begin(5, TCP, six_seconds);
    lock(&a, "held wait=14s");
    ask(&a, "+KEPT held *", "UNLOCK held keep=10m");
    snprintf(kept_by, sizeof kept_by, "%s", redis(&masters.server[0], "GET redlock:held"));
    for (unsigned i = 0; i < 5; i++) {
        eventually(holds("held", kept_by) == 5);
        restart(i);
    }
    eventually(holds("held", kept_by) == 5);
    ask(&b, "-* held*", "LOCK held");
}
