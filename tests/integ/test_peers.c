/* A listener's rules for the ends of its clients, and the limit on all connections of one peer
 * together. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

/* The Unix socket has its usual rules, TCP the rules that are given for its listener. */
static void begin(const char *tcp, const char *settings)
{
    char text[1024];
    cluster_start(&masters, 3, UNIX);
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, &masters, "");
    snprintf(text, sizeof text, PATIENT "listen:\n  - unix:%s\n  - {address: '127.0.0.1:%u'%s}\n%s",
             redlockd.path, redlockd.port, tcp, settings);
    daemon_configure(&redlockd, &masters, text);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&a, &redlockd);
    eventually(masters_up(&a, &masters));
}

static unsigned rows_of(const char *what)
{
    return rows_with(show(&a, what), "");
}

/* A proxy makes a FIN from a reset: such an end does not prove that the holder is done. */
T(fin_of_a_proxy_lets_the_lock_run_out)
{
    begin(", fin: break", "");
    client_open_tcp(&b, &redlockd);
    struct grant closed = grant_of(ask(&b, "+LOCKED *", "LOCK closed ttl=60s wait=10s"));
    client_close(&b);
    client_open_tcp(&b, &redlockd);
    struct grant half = grant_of(ask(&b, "+LOCKED *", "LOCK half ttl=60s wait=10s"));
    ask(&b, "+LOCKED *", "LOCK unlocked ttl=60s wait=10s");
    client_send(&b, "UNLOCK unlocked");
    client_half_close(&b);
    expect(&b, "+UNLOCKED unlocked *"); /* the request is answered */
    expect_closed(&b);
    eventually(rows_of("CLIENTS") == 1);
    ck_assert_uint_ge(cluster_holds(&masters, "closed", closed.token), 2);
    ck_assert_uint_ge(cluster_holds(&masters, "half", half.token), 2);
    ask(&a, "-BUSY closed*", "LOCK closed");
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:unlocked") == 3);

    client_open_tcp(&b, &redlockd); /* the holder comes back through its proxy */
    ask(&b, "+LOCKED closed *", "RESUME closed token=%s", closed.token);
    client_send(&b, "QUIT");
    expect(&b, "!LOST closed token=* reason=closed");
    expect(&b, "+BYE");
    ask(&a, "+LOCKED closed *", "LOCK closed wait=10s");
}

T(fin_releases_by_default)
{
    begin("", "");
    client_open_tcp(&b, &redlockd);
    ask(&b, "+LOCKED *", "LOCK job ttl=60s wait=10s");
    client_close(&b);
    ask(&a, "+LOCKED job *", "LOCK job wait=10s");
}

/* The TCP clients use up the share of one peer; the Unix socket's user is another peer. */
T(one_peer_leaves_room_for_others)
{
    enum { MANY = 257, WAITS = 5 };
    static struct client many[MANY];
    begin(
        "",
        "max_clients: 1100\nmax_clients_per_peer: 258\nmax_waiters: 1024\n"); /* of which a quarter is 256 */
    lock(&a, "job ttl=60s");
    for (unsigned i = 0; i < MANY; i++) {
        client_open_tcp(&many[i], &redlockd);
        for (unsigned k = 0; k < WAITS; k++)
            client_send(&many[i], "#%u LOCK job wait=60s", k);
        if (i * WAITS >= 256)
            await(&many[i], "#4 -LIMIT job limit=max_waits_per_peer*");
    }
    eventually(rows_of("WAITERS") == 256);
    client_open(&b, &redlockd);
    client_send(&b, "LOCK job wait=60s");
    eventually(rows_of("WAITERS") == 257);
    client_open_tcp(&b, &redlockd); /* one more is allowed, two are not */
    ask(&b, "+PONG ready=1", "PING");
    client_open_tcp(&b, &redlockd);
    expect(&b, "-LIMIT limit=max_clients_per_peer*");
    expect_closed(&b);
    client_open(&b, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
    client_close(&many[0]); /* the closed connection's place is free again */
    eventually(rows_of("CLIENTS") == MANY - 1 + 4);
    client_open_tcp(&b, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
}

/* Leases stay when their connection is over, and still count. */
T(one_peer_does_not_take_all_locks)
{
    begin("", "max_locks: 16\n"); /* of which a quarter is 4 */
    for (unsigned i = 0; i < 4; i++) {
        client_open_tcp(&b, &redlockd);
        ask(&b, "+LOCKED *", "LOCK lease%u hold=lease ttl=60s wait=10s", i);
        client_close(&b);
    }
    client_open_tcp(&b, &redlockd);
    ask(&b, "-LIMIT more limit=max_locks_per_peer*", "LOCK more");
    struct grant grant = lock(&a, "mine hold=lease ttl=60s wait=10s");
    ask(&b, "-LIMIT more limit=max_locks_per_peer*", "LOCK more hold=lease");
    ask(&b, "+UNLOCKED mine *", "UNLOCK mine token=%s", grant.token); /* a lock of the other peer */
    ask(&b, "-LIMIT more limit=max_locks_per_peer*", "LOCK more");
    ask(&a, "+LOCKED *", "LOCK more wait=10s");
}
