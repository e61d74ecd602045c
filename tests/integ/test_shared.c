/* Locks that readers share, through two daemons on real masters. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

/* The clients a and b are at the first daemon, c is at the other one. */
static void begin(void)
{
    cluster_start(&masters, 5, UNIX);
    daemon_start(&redlockd, &masters, PATIENT);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    daemon_serves(&other, &masters, PATIENT, &c);
    eventually(masters_up(&a, &masters));
}

#define all_answer(answer, command) (cluster_answers(&masters, answer, command) == masters.count)

T(readers_share_it_and_a_writer_is_kept_out)
{
    begin();
    struct grant one = grant_of(ask(&a, "+LOCKED doc * mode=shared", "LOCK doc mode=shared"));
    struct grant two = grant_of(ask(&b, "+LOCKED doc * mode=shared", "LOCK doc mode=shared"));
    struct grant far = lock(&c, "doc mode=shared ttl=60s");
    ck_assert_str_ne(one.token, two.token);
    eventually(all_answer("3", "ZCARD redlock:doc"));
    ck_assert_uint_eq(rows_with(show(&a, "LOCKS"), "name=doc mode=shared "), 2);
    ask(&a, "-BUSY doc", "LOCK doc");
    ask(&c, "-BUSY doc", "LOCK doc");
    ask(&a, "+UNLOCKED doc *", "UNLOCK doc");
    ask(&b, "+UNLOCKED doc *", "UNLOCK doc token=%s", far.token); /* through another daemon ... */
    await(&c, "!LOST doc token=* reason=gone");                   /* ... whose letter says it */
    ask(&b, "-BUSY doc", "LOCK doc");
    ask(&b, "+UNLOCKED doc *", "UNLOCK doc");
    eventually(cluster_is_free(&masters, "doc"));
    struct grant writer = grant_of(ask(&b, "+LOCKED doc * until=*[0-9]", "LOCK doc"));
    ck_assert_int_gt(writer.fence, one.fence);
    ck_assert_int_gt(writer.fence, two.fence);
    ck_assert_int_gt(writer.fence, far.fence);
    ask(&a, "-BUSY doc", "LOCK doc mode=shared");
    ask(&c, "-BUSY doc", "LOCK doc mode=shared");
}

T(a_readers_token_works_at_every_daemon)
{
    begin();
    struct grant lease = lock(&a, "doc mode=shared hold=lease ttl=30s");
    struct grant session = lock(&b, "doc mode=shared ttl=30s");
    ask(&c, "+HELD doc *", "CHECK doc token=%s", lease.token);
    ask(&c, "+EXTENDED doc *", "EXTEND doc token=%s ttl=60s", lease.token);
    struct grant moved = grant_of(ask(&c, "+LOCKED doc * mode=shared", "RESUME doc token=%s", session.token));
    ck_assert_str_ne(moved.token, session.token);
    await(&b, "!LOST doc token=* reason=gone");
    ask(&b, "-NOTHELD doc*", "EXTEND doc token=%s", session.token);
    ask(&c, "+UNLOCKED doc *", "UNLOCK doc");
    ask(&c, "+UNLOCKED doc *", "UNLOCK doc token=%s", lease.token);
    eventually(cluster_is_free(&masters, "doc"));
}

T(who_has_it_may_take_it_again_in_its_own_mode)
{
    begin();
    struct grant shared = lock(&a, "doc mode=shared");
    ask(&a, "+LOCKED doc token=* mode=shared depth=2", "LOCK doc mode=shared token=%s", shared.token);
    ask(&a, "-MODE doc : *shared*", "LOCK doc token=%s", shared.token);
    struct grant alone = lock(&b, "other");
    ask(&a, "-NOTHELD other : *", "LOCK other mode=shared token=%s", alone.token); /* another connection */
    ask(&b, "+LOCKED other * depth=2", "LOCK other token=%s", alone.token);
    ask(&b, "-MODE other : it was entered more than once*", "LOCK other mode=shared token=%s", alone.token);
    struct grant slot = lock(&c, "place slots=2");
    ask(&c, "-BADARG place* : mode=shared is for one name*", "LOCK place mode=shared token=%s", slot.token);
    ask(&a, "+UNLOCKED doc * depth=1", "UNLOCK doc");
    ask(&a, "+UNLOCKED doc confirmed=[345]/5", "UNLOCK doc");
}

T(a_writer_becomes_a_reader)
{
    static struct client more, waiter;
    begin();
    client_open(&more, &redlockd);
    client_open(&waiter, &other);
    struct grant writer = lock(&a, "doc ttl=30s");
    client_send(&b, "LOCK doc mode=shared wait=60s");
    client_send(&more, "LOCK doc wait=60s");
    client_send(&c, "LOCK doc mode=shared wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=doc ") == 2);
    eventually(rows_with(show(&waiter, "WAITERS"), "name=doc ") == 1);
    struct grant reader =
        grant_of(ask(&a, "+LOCKED doc * mode=shared depth=1", "LOCK doc mode=shared token=%s", writer.token));
    ck_assert_str_ne(reader.token, writer.token);
    ck_assert_int_eq(reader.fence, writer.fence);
    expect(&b, "+LOCKED doc *"); /* at the same daemon */
    expect(&c, "+LOCKED doc *"); /* at the other one */
    eventually(all_answer("3", "ZCARD redlock:doc"));
    ask(&waiter, "-BUSY doc", "LOCK doc");
    ask(&a, "-MODE doc : *shared*", "LOCK doc token=%s", reader.token);
    ask(&waiter, "+HELD doc *", "CHECK doc token=%s", reader.token); /* at another daemon */
    ask(&waiter, "+EXTENDED doc *", "EXTEND doc token=%s ttl=60s", reader.token);
    ask(&waiter, "-NOTHELD doc*", "CHECK doc token=%s", writer.token);
    ask(&a, "+HELD doc *", "CHECK doc token=%s", writer.token);
    ask(&b, "+UNLOCKED doc *", "UNLOCK doc");
    ask(&c, "+UNLOCKED doc *", "UNLOCK doc");
    eventually(all_answer("1", "ZCARD redlock:doc"));
    ask(&a, "+UNLOCKED doc *", "UNLOCK doc");
    struct grant next = grant_of(expect(&more, "+LOCKED doc *"));
    ck_assert_int_gt(next.fence, reader.fence);
    ask(&more, "+UNLOCKED doc *", "UNLOCK doc");
    eventually(cluster_is_free(&masters, "doc"));
}

/* The connection breaks before the client has read the answer: the old token finds the lock at its daemon. */
T(a_downgraded_lock_is_resumed)
{
    begin();
    struct grant writer = lock(&a, "doc ttl=30s");
    struct grant reader = grant_of(ask(&a, "+LOCKED doc *", "LOCK doc mode=shared token=%s", writer.token));
    struct grant moved = grant_of(ask(&b, "+LOCKED doc * mode=shared", "RESUME doc token=%s", writer.token));
    lock(&c, "doc mode=shared");
    ask(&c, "-NOTHELD doc*", "RESUME doc token=%s", reader.token);
    struct grant again = grant_of(ask(&c, "+LOCKED doc * mode=shared", "RESUME doc token=%s", moved.token));
    ck_assert_int_gt(again.fence, moved.fence);
    eventually(all_answer("2", "ZCARD redlock:doc"));
}

/* The first daemon may hear of the writer only after the masters: then it lets another reader in. */
static bool a_reader_has_to_wait(void)
{
    client_send(&b, "LOCK doc mode=shared");
    if (strcmp(next_line(&b), "-BUSY doc") == 0)
        return true;
    ask(&b, "+UNLOCKED doc *", "UNLOCK doc");
    return false;
}

/* Readers of one daemon follow each other without a gap, while a writer of another daemon waits. */
T(a_writer_elsewhere_gets_its_turn)
{
    begin();
    lock(&a, "doc mode=shared");
    client_send(&c, "LOCK doc wait=60s");
    eventually(cluster_answers(&masters, "1", "EXISTS redlock:,writer:doc") >= 3);
    eventually(a_reader_has_to_wait());
    ask(&a, "+UNLOCKED doc *", "UNLOCK doc");
    expect(&c, "+LOCKED doc *");
    eventually(all_answer("0", "EXISTS redlock:,writer:doc"));
    ask(&c, "+UNLOCKED doc *", "UNLOCK doc");
    ask(&b, "+LOCKED doc *", "LOCK doc mode=shared wait=30s");
}

T(waiting_readers_of_both_daemons_come_along)
{
    static struct client more;
    begin();
    client_open(&more, &redlockd);
    struct grant writer = lock(&a, "doc");
    client_send(&b, "LOCK doc mode=shared wait=30s");
    client_send(&more, "LOCK doc mode=shared wait=30s");
    client_send(&c, "LOCK doc mode=shared wait=30s");
    eventually(rows_with(show(&a, "WAITERS"), "name=doc ") == 2);
    ask(&a, "+UNLOCKED doc *", "UNLOCK doc token=%s", writer.token);
    expect(&b, "+LOCKED doc *");
    expect(&more, "+LOCKED doc *");
    expect(&c, "+LOCKED doc *");
}

/* What people type: a foreign library's release script reads a string, and gets an error. */
T(other_libraries_are_kept_out)
{
    begin();
    lock(&a, "doc mode=shared");
    eventually(all_answer("zset", "TYPE redlock:doc"));
    ck_assert_str_eq(redis(&masters.server[0], "SET redlock:doc mine NX PX 1000"), "(nil)");
    ck_assert_int_eq(strncmp(redis(&masters.server[0], "GET redlock:doc"), "WRONGTYPE", 9), 0);
    ck_assert_int_gt(atoi(redis(&masters.server[0], "PTTL redlock:doc")), 0);
}

/* A master comes back empty: the readers are set there again by their next renewals. */
T(readers_outlive_a_master_that_is_restarted)
{
    begin();
    lock(&a, "doc mode=shared ttl=10s");
    lock(&c, "doc mode=shared ttl=10s");
    eventually(all_answer("2", "ZCARD redlock:doc"));
    server_kill(&masters.server[0]);
    server_start(&masters.server[0]);
    eventually(all_answer("2", "ZCARD redlock:doc"));
    ask(&a, "+UNLOCKED doc *", "UNLOCK doc");
    eventually(all_answer("1", "ZCARD redlock:doc"));
}
