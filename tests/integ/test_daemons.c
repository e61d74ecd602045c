/* The daemons of a group know each other by the masters' lists: SHOW DAEMONS, the status page, and what a list that
 * lies, a master without the rights and a second daemon of the same id do to nobody. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/integ/http.h"
#include "tests/integ/steady.h"

static struct cluster masters;
static struct daemon one, other;
static struct client a, b;
static uint16_t port;

static void begin(enum transport transport, const char *settings)
{
    one = other = (struct daemon){.pid = 0};
    cluster_start(&masters, 3, transport);
    port = http_daemon(&one, &masters, settings);
    client_open(&a, &one);
    eventually(masters_up(&a, &masters));
}

static const char *daemons(struct client *client)
{
    return show(client, "DAEMONS");
}

/* The id of the daemon that a client is connected to. */
static const char *own_id(struct client *client)
{
    return keep(strdup(kv(row_with(daemons(client), "self=yes"), "daemon")));
}

T(two_see_each_other)
{
    char text[128];
    begin(UNIX, PATIENT);
    ck_assert_uint_eq(rows_with(daemons(&a), "daemon="), 1); /* the daemon lists itself */
    daemon_start(&other, &masters, PATIENT);
    client_open(&b, &other);
    eventually(masters_up(&b, &masters));
    ck_assert_uint_eq(rows_with(daemons(&b), "daemon="), 2);
    const char *rows = daemons(&b), *mine = row_with(rows, "self=yes");
    ck_assert_str_eq(kv(row_with(rows, "self=no"), "daemon"), own_id(&a));
    ck_assert_str_eq(kv(mine, "version"), "0.1.0");
    ck_assert_str_eq(kv(mine, "masters"), "3");
    snprintf(text, sizeof text, "127.0.0.1:%u", other.port);
    ck_assert_str_eq(kv(mine, "listen"), text);
    ck_assert_uint_eq(strlen(kv(mine, "since")), strlen("2026-11-22T14:03:05Z"));
    /* The first one learns of it when it writes itself again, within 10 s. */
    eventually(rows_with(daemons(&a), "daemon=") == 2);
    snprintf(text, sizeof text, ">%s</td>", own_id(&b));
    eventually(strstr(http_get(port, "/"), text) != NULL);
    snprintf(text, sizeof text, "{\"daemon\":\"%s\",", own_id(&b));
    ck_assert_ptr_nonnull(strstr(http_get(port, "/status.json"), text));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_gt(atoi(redis(&masters.server[i], "PTTL redlock:,daemons")), 60000);
    lock(&b, "job"); /* its tokens begin with its id */
    ck_assert_int_eq(strncmp(redis(&masters.server[0], "GET redlock:job"), own_id(&b), 8), 0);
}

static void entry(unsigned master, const char *id, const char *words)
{
    const char *seconds = redis(&masters.server[master], "TIME");
    redis(&masters.server[master], "EVAL %s 1 redlock:,daemons %s %lld000 %s",
          "return(redis.call('HSET',KEYS[1],ARGV[1],'at='..ARGV[2]..string.char(32)..ARGV[3]))", id,
          atoll(seconds), words);
}

/* Each page of the list has some of them. */
T(a_fleet_is_listed)
{
    enum { FLEET = 3000 };
    begin(UNIX, PATIENT);
    for (unsigned i = 0; i < 2; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "EVAL \"local t=redis.call('TIME') for i=1,%d do redis.call('HSET',KEYS[1],"
                 "string.format('%%08x',i),'at='..t[1]..'000 host=h'..i) end\" 1 redlock:,daemons",
                 FLEET);
        redis_typed(&masters.server[i], line);
    }
    eventually(rows_with(daemons(&a), "daemon=") == FLEET + 1);
    ck_assert_str_eq(kv(row_with(daemons(&a), "daemon=00000bb8"), "host"), "h3000");
}

/* A single master's list counts for nothing, and a quorum's is shown as words only. */
T(lists_that_lie)
{
    begin(UNIX, PATIENT);
    entry(0, "aaaaaaaa", "host=alone");
    for (unsigned i = 0; i < 2; i++) {
        entry(i, "bbbbbbbb", "host=<script>alert(1)</script>");
        entry(i, "cccccccc", "host=0123456789012345678901234567890123456789012345678901234567890123456789");
        entry(i, "<script>", "host=x");
        redis(&masters.server[i], "HSET redlock:,daemons dddddddd nonsense");
    }
    eventually(rows_with(daemons(&a), "daemon=bbbbbbbb") == 1);
    const char *rows = daemons(&a);
    ck_assert_uint_eq(rows_with(rows, "daemon="), 3);
    ck_assert_str_eq(kv(row_with(rows, "daemon=cccccccc"), "host"), "?");
    ck_assert_str_eq(kv(row_with(rows, "daemon=bbbbbbbb"), "masters"), "2");
    ck_assert_str_eq(redis(&masters.server[0], "HEXISTS redlock:,daemons dddddddd"), "0");
    const char *page = NULL;
    eventually(strstr(page = http_get(port, "/"), ">bbbbbbbb<") != NULL);
    ck_assert_ptr_null(strstr(page, "<script"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
    ck_assert_ptr_null(strstr(http_get(port, "/status.json"), "<script"));
    lock(&a, "job");
}

/* As after an upgrade, before the ACL has the new rights: one line a master, and nothing else suffers. */
T(masters_without_the_rights)
{
    cluster_start(&masters, 3, UNIX);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL SETUSER default -hset -hget -hscan -hdel -hlen"),
                      3);
    one = (struct daemon){.pid = 0};
    port = http_daemon(&one, &masters, PATIENT);
    client_open(&a, &one);
    eventually(masters_up(&a, &masters));
    struct grant grant = lock(&a, "job");
    ask(&a, "+HELD job *", "CHECK job token=%s", grant.token);
    ck_assert_uint_eq(rows_with(daemons(&a), "daemon="), 0);
    ck_assert_ptr_nonnull(strstr(http_get(port, "/"), "no quorum of masters lists any yet"));
    ck_assert_uint_eq(rows_with(show(&a, "NODES"), "errors=0"), 3);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL SETUSER default +hset +hget +hscan +hdel +hlen"),
                      3);
    eventually(rows_with(daemons(&a), "daemon=") == 1);
    const char *log = keep(file_read(one.log));
    ck_assert_uint_eq(rows_with(log, "event=daemons_refused"), 3);
    ck_assert_uint_eq(rows_with(log, "give the user the rights that redlockd --check prints"), 3);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
}

/* A key of another type, and scripts that are gone. */
T(a_key_in_the_way)
{
    cluster_start(&masters, 3, UNIX);
    redis(&masters.server[0], "SET redlock:,daemons x");
    one = (struct daemon){.pid = 0};
    port = http_daemon(&one, &masters, PATIENT);
    client_open(&a, &one);
    eventually(masters_up(&a, &masters));
    eventually(rows_with(daemons(&a), "masters=2") == 1);
    lock(&a, "job");
    ck_assert(daemon_logged(&one, "delete redlock:,daemons if it is no hash"));
    redis(&masters.server[0], "DEL redlock:,daemons");
    cluster_answers(&masters, "OK", "SCRIPT FLUSH");
    eventually_within(rows_with(daemons(&a), "masters=3") == 1, 2 * WAIT_MS);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
}

/* Two daemons draw the same id: the one that starts later draws another one, and both wake each other. */
T(the_same_id)
{
    setenv("SKEW_SEED", "1", 1);
    cluster_start(&masters, 3, UNIX);
    one = other = (struct daemon){.pid = 0};
    daemon_start_skewed(&one, &masters, PATIENT);
    client_open(&a, &one);
    eventually(masters_up(&a, &masters));
    const char *id = own_id(&a);
    daemon_start_skewed(&other, &masters, PATIENT);
    unsetenv("SKEW_SEED");
    client_open(&b, &other);
    eventually(masters_up(&b, &masters));
    eventually(rows_with(daemons(&b), "self=yes") == 1);
    ck_assert(daemon_logged(&other, "why=\"another daemon has it\" doing=\"draw another one\""));
    ck_assert_str_ne(own_id(&b), id);
    ck_assert_str_eq(own_id(&a), id);
    lock(&b, "job");
    ck_assert_int_eq(strncmp(redis(&masters.server[0], "GET redlock:job"), own_id(&b), 8), 0);
    eventually(rows_with(show(&b, "NODES"), "wake=up") == 3);
    eventually(rows_with(show(&a, "NODES"), "wake=up") == 3);
    char channel[64];
    snprintf(channel, sizeof channel, "redlock:,wake:%s 1", own_id(&b));
    ck_assert_str_eq(redis(&masters.server[0], "PUBSUB NUMSUB redlock:,wake:%s", own_id(&b)), channel);
    snprintf(channel, sizeof channel, "redlock:,wake:%s 1", id);
    ck_assert_str_eq(redis(&masters.server[0], "PUBSUB NUMSUB redlock:,wake:%s", id), channel);
    client_send(&a, "LOCK job wait=60s");
    eventually(rows_with(show(&b, "LOCKS"), "name=job") == 1);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    expect(&a, "+LOCKED job *");
}

/* A user who may see nothing may not see the daemons. */
T(users)
{
    char settings[512];
    snprintf(settings, sizeof settings,
             PATIENT "users:\n  - {name: me, uid: [%u], lock: ['*'], show: [none]}\n", (unsigned)getuid());
    begin(UNIX, settings);
    ck_assert_uint_eq(rows_with(daemons(&a), "daemon="), 1);
    one = (struct daemon){.pid = 0};
    snprintf(settings, sizeof settings, PATIENT "users:\n  - {name: me, uid: [%u], lock: ['*']}\n",
             (unsigned)getuid());
    daemon_start(&one, &masters, settings);
    client_open(&b, &one);
    ask(&b, "-DENIED : user me may not SHOW DAEMONS: that takes a right to show some name", "SHOW DAEMONS");
}
