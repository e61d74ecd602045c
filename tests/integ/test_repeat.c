/* RESUME wait=, and wait= of a writer that becomes a reader: real masters that are not there at first. */
#include "tests/integ/steady.h"

#include <signal.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b;

static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, "node_timeout: 200ms\n");
    daemon_start(&other, &masters, "node_timeout: 200ms\n");
    client_open(&a, &redlockd);
    client_open(&b, &other);
    eventually(masters_up(&a, &masters) && masters_up(&b, &masters));
    ask(&b, "+HELLO * features=lost,keep,resume-wait,data,watch*", "HELLO 1");
}

/* Two of three masters stand still, and come back while the daemon repeats the request. */
T(masters_come_back)
{
    begin();
    struct grant grant = lock(&a, "job ttl=60s hold=lease");
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    eventually(masters_up(&b, &masters) == false);
    client_send(&b, "#1 RESUME job token=%s ttl=30s wait=50s", grant.token);
    client_send(&b, "#2 RESUME job token=%s ttl=30s wait=1ms", grant.token);
    expect(&b, "#2 -NOQUORUM job *");
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    struct grant moved = grant_of(expect(&b, "#1 +LOCKED job *"));
    ck_assert_int_gt(moved.fence, grant.fence);
    eventually(cluster_holds(&masters, "job", moved.token) == 3);
}

/* The token is gone: that is asked for 100 ms, and no longer. */
T(a_token_that_nobody_has)
{
    begin();
    int64_t began_ms = now_ms();
    ask(&a, "-NOTHELD job*", "RESUME job token=%040d wait=50s", 7);
    ck_assert_int_ge(now_ms() - began_ms, 99);
    ck_assert_int_lt(now_ms() - began_ms, 40000);
}

T(cancelled)
{
    begin();
    struct grant grant = lock(&a, "job ttl=60s hold=lease");
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    for (unsigned i = 0; i < 3; i++)
        server_stop(&masters.server[i]);
    client_send(&b, "#1 RESUME job token=%s wait=1h", grant.token);
    ask(&b, "#1 -CANCELLED job", "CANCEL 1");
    expect(&b, "+OK");
    client_send(&b, "#2 RESUME job token=%s wait=1h", grant.token);
    client_half_close(&b);
    expect(&b, "#2 -CANCELLED job");
    expect_closed(&b);
    for (unsigned i = 0; i < 3; i++)
        server_cont(&masters.server[i]);
    eventually(masters_up(&a, &masters) && cluster_holds(&masters, "job", grant.token) == 3);
}

T(a_downgrade)
{
    begin();
    struct grant grant = lock(&a, "job ttl=60s");
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    client_send(&a, "#1 LOCK job mode=shared token=%s wait=50s", grant.token);
    eventually(row_with(show(&b, "NODES"), "state=slow") != NULL);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    const char *line = expect(&a, "#1 +LOCKED job * mode=shared*");
    ck_assert_str_ne(grant_of(line).token, grant.token);
}
