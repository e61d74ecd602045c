/* WATCH: who has a name, and when that changes, through any daemon. */
#include <signal.h>
#include <stdio.h>

#include "tests/integ/steady.h"

static struct cluster masters;
static struct daemon one, other;
static struct client a, b, c;

static void begin(unsigned count, const char *settings)
{
    one = other = (struct daemon){.pid = 0};
    cluster_start(&masters, count, UNIX);
    daemon_serves(&one, &masters, settings, &a);
    daemon_serves(&other, &masters, settings, &b);
}

T(a_watcher_is_told_of_each_change)
{
    char fence[64];
    begin(3, PATIENT);
    ask(&b, "+WATCHING leader state=free", "WATCH leader");
    struct grant grant = lock(&a, "leader data=here");
    snprintf(fence, sizeof fence, "!NOW leader state=held fence=%lld * data=here", (long long)grant.fence);
    await(&b, "!NOW leader state=held fence=* data=here");
    ask(&a, "+DATA leader *", "DATA leader data=there");
    await(&b, "!NOW leader state=held fence=* data=there");
    int64_t begun_ms = now_ms();
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    await(&b, "!NOW leader state=free");
    ck_assert_int_lt(now_ms() - begun_ms, 5000);
    lock(&a, "leader");
    const char *line = await(&b, "!NOW leader state=held*");
    ck_assert(strstr(line, "data=") == NULL && strstr(line, "fence=") == NULL);
    ask(&b, "+OK", "UNWATCH leader");
    ask(&b, "-NOTHELD leader", "UNWATCH leader");
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    ask(&b, "+PONG *", "PING");
}

/* Also through the daemon that has the lock, and by many at once. */
T(many_watch)
{
    static struct client watchers[20];
    begin(3, PATIENT);
    lock(&a, "leader data=first");
    for (unsigned i = 0; i < 20; i++) {
        client_open(&watchers[i], i % 2 ? &one : &other);
        ask(&watchers[i], "+WATCHING leader state=held fence=* data=first", "WATCH leader");
    }
    client_open(&c, &one);
    client_send(&c, "LOCK leader wait=30s data=second");
    eventually(rows_with(show(&a, "WAITERS"), "name=leader") == 1);
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    for (unsigned i = 0; i < 20; i++)
        await(&watchers[i], "!NOW leader state=held fence=* data=second");
    ck_assert_str_eq(kv(row_with(show(&a, "STATS"), "watches="), "watches"), "10");
    for (unsigned i = 0; i < 20; i++)
        client_close(&watchers[i]);
    eventually(strcmp(kv(row_with(show(&a, "STATS"), "watches="), "watches"), "0") == 0);
}

T(the_holders_daemon_is_killed)
{
    begin(3, "node_timeout: 1s\nmin_ttl: 2s\nmax_ttl: 60s\n");
    lock(&a, "leader ttl=3s data=here");
    ask(&b, "+WATCHING leader state=held fence=* data=here", "WATCH leader");
    daemon_signal(&one, SIGKILL);
    await(&b, "!NOW leader state=free");
}

T(other_kinds_of_locks)
{
    begin(3, PATIENT);
    ask(&b, "+WATCHING page state=free", "WATCH page");
    ask(&b, "+WATCHING pool state=free", "WATCH pool");
    ask(&b, "+WATCHING x state=free", "WATCH x");
    lock(&a, "page mode=shared");
    await(&b, "!NOW page state=held mode=shared");
    lock(&a, "pool slots=3");
    await(&b, "!NOW pool state=held");
    lock(&a, "x,y");
    await(&b, "!NOW x state=held*");
    ask(&a, "+UNLOCKED *", "UNLOCK x,y");
    await(&b, "!NOW x state=free");
    ask(&a, "+UNLOCKED *", "UNLOCK page");
    await(&b, "!NOW page state=free");
    ask(&a, "+UNLOCKED *", "UNLOCK pool");
    await(&b, "!NOW pool state=free");
    /* A mark: nobody has the name, and nobody can take it. */
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "SET redlock:page 0102030404000000000000000000000072a53e64 PX 60000");
    await(&b, "!NOW page state=*");
}

T(a_name_that_is_kept)
{
    begin(3, PATIENT);
    ask(&b, "+WATCHING report state=free", "WATCH report");
    lock(&a, "report data=host-1");
    await(&b, "!NOW report state=held *data=host-1");
    ask(&a, "+KEPT report *", "UNLOCK report keep=1h");
    await(&b, "!NOW report state=kept");
    ask(&a, "+WATCHING report state=kept", "WATCH report");
    ask(&a, "+UNLOCKED report *", "UNLOCK report kept");
    await(&b, "!NOW report state=free");
}

T(too_few_masters_are_unknown)
{
    begin(3, "node_timeout: 250ms\n");
    ask(&b, "+WATCHING leader state=free", "WATCH leader");
    server_kill(&masters.server[0]);
    server_kill(&masters.server[1]);
    await(&b, "!NOW leader state=unknown");
    ask(&b, "+WATCHING other state=unknown", "WATCH other");
    server_start(&masters.server[0]);
    await(&b, "!NOW leader state=free");
}

T(limits_and_bad_input)
{
    begin(3, PATIENT "max_watches: 4\n");
    ask(&b, "+WATCHING a state=free", "WATCH a");
    ask(&b, "-LIMIT b limit=max_watches", "WATCH b"); /* a quarter is one peer's */
    ask(&b, "+OK", "UNWATCH a");
    ask(&b, "+WATCHING b state=free", "WATCH b");
    ask(&b, "-BADARG : WATCH needs a name; write WATCH leader", "WATCH");
    ask(&b, "-BADARG : *is not a name*", "WATCH a,b");
    ask(&b, "-BADARG b : WATCH has no options; write WATCH leader", "WATCH b slot=1");
}
