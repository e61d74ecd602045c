/* Crowds of readers: most of them share one key of their daemon. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <string.h>

enum { OWN = 8, CROWD = 32, READERS = OWN + CROWD };

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;
static struct grant reader[READERS + 1]; /* by its tag, from 1 */
static const char *ttl;                  /* its readers' */

/* The clients a and b are at the first daemon, c is at the other one. */
static void begin(const char *crowd_ttl)
{
    ttl = crowd_ttl;
    cluster_start(&masters, 5, UNIX);
    daemon_start(&redlockd, &masters, PATIENT);
    client_open_tcp(&a, &redlockd);
    client_open(&b, &redlockd);
    daemon_serves(&other, &masters, PATIENT, &c);
    eventually(masters_up(&a, &masters));
}

/* Asks for "doc" with the tags first to last, all at once, and reads the grants. */
static void crowd(struct client *client, unsigned first, unsigned last)
{
    char lines[64 * READERS] = "";
    int len = 0;
    for (unsigned tag = first; tag <= last; tag++)
        len +=
            snprintf(lines + len, sizeof lines - (size_t)len, "#%u LOCK doc mode=shared ttl=%s\n", tag, ttl);
    client_write(client, lines, (size_t)len);
    for (unsigned n = first; n <= last; n++) {
        unsigned tag = 0;
        const char *line = await(client, "#[0-9]* +LOCKED doc * mode=shared");
        ck_assert_int_eq(sscanf(line, "#%u ", &tag), 1);
        ck_assert(tag >= first && tag <= last && reader[tag].fence == 0);
        reader[tag] = grant_of(strchr(line, '+'));
    }
}

/* Readers with keys of their own come one by one; the others find them there. The last ones are so late that their
 * daemon asks the masters again. */
static void begin_crowd(const char *crowd_ttl)
{
    begin(crowd_ttl);
    for (unsigned tag = 1; tag <= OWN; tag++)
        crowd(&a, tag, tag);
    crowd(&a, OWN + 1, READERS - 3);
    for (unsigned tag = READERS - 2; tag <= READERS; tag++) {
        nap();
        crowd(&a, tag, tag);
    }
}

static void leave(struct client *client, unsigned tag)
{
    client_send(client, "UNLOCK doc token=%s", reader[tag].token);
    await(client, "+UNLOCKED doc *"); /* behind !RENEWED of others */
}

static void checks(struct client *client, unsigned tag, const char *pattern)
{
    client_send(client, "CHECK doc token=%s", reader[tag].token);
    await(client, pattern);
}

static unsigned keys(unsigned master)
{
    unsigned count = 0;
    sscanf(redis(&masters.server[master], "ZCARD redlock:doc"), "%u", &count);
    return count;
}

#define all_have(keys) (cluster_answers(&masters, keys, "ZCARD redlock:doc") == masters.count)

T(a_crowd_soon_has_one_key)
{
    begin_crowd("30s");
    for (unsigned i = 0; i < masters.count; i++)
        ck_assert_uint_lt(keys(i), READERS / 2);
    eventually_within(all_have("9"), 60000);
    ck_assert_uint_eq(rows_with(show(&b, "LOCKS"), "name=doc mode=shared "), READERS);
    client_send(&c, "WHO doc");
    ck_assert_uint_eq(rows_with(client_rows_at(&c, __FILE__, __LINE__), "name=doc mode=shared daemon="), 1);
    for (unsigned tag = 1; tag <= READERS; tag++)
        checks(&b, tag, "+HELD doc *");
}

T(a_writer_waits_for_the_whole_crowd)
{
    begin_crowd("30s");
    client_send(&c, "LOCK doc wait=600s");
    ask(&b, "-BUSY doc", "LOCK doc");
    for (unsigned tag = 1; tag < READERS; tag++)
        leave(&a, tag);
    ck_assert(client_silent(&c));
    leave(&a, READERS);
    struct grant writer = grant_of(expect(&c, "+LOCKED doc *"));
    for (unsigned tag = 1; tag <= READERS; tag++)
        ck_assert_int_gt(writer.fence, reader[tag].fence);
    ask(&c, "+UNLOCKED doc *", "UNLOCK doc");
    eventually(cluster_is_free(&masters, "doc"));
}

T(the_last_of_those_that_joined_takes_the_key_along)
{
    begin_crowd("30s");
    for (unsigned tag = 1; tag < READERS; tag++)
        leave(&a, tag);
    ask(&c, "-BUSY doc", "LOCK doc");
    eventually(all_have("1"));
    leave(&a, READERS);
    eventually(cluster_is_free(&masters, "doc"));
}

/* A joined reader's token is known to its daemon alone: elsewhere it ends nothing. */
T(another_daemon_does_not_know_the_token)
{
    begin_crowd("30s");
    ask(&c, "-NOTHELD doc*", "UNLOCK doc token=%s", reader[READERS].token);
    ask(&c, "-NOTHELD doc*", "CHECK doc token=%s", reader[READERS].token);
    ask(&c, "-NOTHELD doc*", "EXTEND doc token=%s", reader[READERS].token);
    ask(&c, "-NOTHELD doc*", "RESUME doc token=%s", reader[READERS].token);
    for (unsigned tag = 1; tag <= READERS; tag++)
        checks(&b, tag, "+HELD doc *");
    ask(&c, "-BUSY doc", "LOCK doc");
}

T(a_joined_reader_is_resumed_at_its_daemon)
{
    begin_crowd("30s");
    ask(&b, "+EXTENDED doc *", "EXTEND doc token=%s ttl=20s", reader[READERS].token);
    struct grant moved =
        grant_of(ask(&b, "+LOCKED doc * mode=shared", "RESUME doc token=%s", reader[READERS].token));
    ck_assert_str_ne(moved.token, reader[READERS].token);
    await(&a, "!LOST doc token=* reason=moved");
    checks(&c, READERS, "-NOTHELD doc*");
    client_close(&a); /* its readers run out */
    ask(&b, "+LOCKED doc * depth=2", "LOCK doc mode=shared token=%s", moved.token);
    ask(&c, "-BUSY doc", "LOCK doc");
}

/* The readers of the connection that broke may believe until their deadlines that they have the name, though the last
 * reader whose connection stands gives the same key back. */
T(a_connection_that_breaks_keeps_a_writer_out)
{
    static struct client more;
    int64_t until_ms = 0;
    begin_crowd("10s");
    client_open(&more, &other);
    ask(&b, "+LOCKED doc *", "LOCK doc mode=shared ttl=10s");
    for (unsigned tag = 1; tag <= OWN; tag++)
        leave(&a, tag);
    eventually_within(all_have("1"), 60000);
    for (unsigned tag = OWN + 1; tag <= READERS; tag++) {
        client_send(&b, "CHECK doc token=%s", reader[tag].token);
        int64_t tag_ms = number(await(&b, "+HELD doc *"), "until");
        until_ms = tag_ms > until_ms ? tag_ms : until_ms;
    }
    client_reset(&a);
    client_send(&c, "LOCK doc wait=600s");
    eventually(rows_with(show(&more, "WAITERS"), "name=doc ") == 1);
    client_open(&a, &redlockd);
    eventually(rows_with(show(&a, "LOCKS"), " session=0 ") == CROWD);
    client_send(&b, "UNLOCK doc");
    await(&b, "+UNLOCKED doc *");
    eventually_within(!client_silent(&c), 60000);
    ck_assert_int_ge(now_ms(), until_ms);
    expect(&c, "+LOCKED doc *");
}
