/* Native commands: which of them this redis-server knows decides what is expected of it. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

/* The word by which it compares and deletes; "": it cannot. */
static const char *deletes(void)
{
    if (strcmp(redis(&masters.server[0], "DELEX nothing IFEQ x"), "0") == 0)
        return "DELEX";
    return strcmp(redis(&masters.server[0], "DELIFEQ nothing x"), "0") == 0 ? "DELIFEQ" : "";
}

static void begin(void)
{
    char settings[512], secret[256];
    cluster_start(&masters, 3, UNIX);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(redis(&masters.server[i], "ACL SETUSER locker on >s3cret ~* &* +@all"), "OK");
    snprintf(secret, sizeof secret, "%s/secret", folder_new("secret"));
    file_write(secret, "s3cret\n");
    chmod(secret, 0600);
    snprintf(settings, sizeof settings, "node_user: locker\nnode_password_file: %s\n" PATIENT, secret);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

static long calls(const struct server *server, const char *command)
{
    char key[64];
    snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
    const char *at = strstr(redis(server, "INFO commandstats"), key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static bool all_know(const char *word)
{
    char want[32];
    snprintf(want, sizeof want, "native=%s", word);
    return rows_with(show(&a, "NODES"), want) == 3;
}

static void cycles(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ask(&a, "+LOCKED *", "LOCK job%u", i);
        ask(&a, "+UNLOCKED *", "UNLOCK job%u", i);
    }
    for (unsigned i = 0; i < 3; i++)
        eventually(strcmp(redis(&masters.server[i], "EXISTS redlock:job%u", count - 1), "0") == 0);
}

T(no_script_where_nobody_waits)
{
    enum {
        CYCLES = 1000,
        OTHERS = 20 /* scripts of the daemon's own: probes and its row in the list of daemons */
    };
    begin();
    const char *word = deletes();
    char lower[16] = "";
    for (unsigned i = 0; word[i]; i++)
        lower[i] = (char)(word[i] | 0x20);
    if (word[0])
        ck_assert(all_know(word));
    else
        ck_assert_uint_eq(rows_with(show(&a, "NODES"), "DELEX"), 0);
    long before = calls(&masters.server[0], "evalsha"),
         natively = word[0] ? calls(&masters.server[0], lower) : 0;
    cycles(CYCLES);
    long scripts = calls(&masters.server[0], "evalsha") - before;
    if (!word[0]) {
        ck_assert_int_ge(scripts, CYCLES);
        return;
    }
    ck_assert_int_le(scripts, OTHERS);
    ck_assert_int_ge(calls(&masters.server[0], lower) - natively, CYCLES);
}

/* The right is taken away while locks are held: each release follows by script at once. */
T(a_right_that_is_lost_loses_nothing)
{
    begin();
    const char *word = deletes();
    struct grant held = lock(&a, "held");
    for (unsigned i = 0; i < 3 && word[0]; i++)
        ck_assert_str_eq(redis(&masters.server[i], "ACL SETUSER locker -%s -msetex", word), "OK");
    ask(&a, "+UNLOCKED held confirmed=*", "UNLOCK held");
    eventually(cluster_is_free(&masters, "held"));
    cycles(3);
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    if (!word[0])
        return;
    eventually(rows_with(show(&a, "NODES"), "allow=+del") == 3);
    ck_assert(daemon_logged(&redlockd, " : ACL SETUSER locker +del"));
    ck_assert_int_gt(lock(&b, "held").fence, held.fence);
}

/* One master of three knows less: its user may not. */
T(a_fleet_of_two_kinds)
{
    begin();
    const char *word = deletes();
    if (word[0]) {
        ck_assert_str_eq(redis(&masters.server[1], "ACL SETUSER locker -%s -msetex", word), "OK");
        redis(&masters.server[1], "CLIENT KILL TYPE normal SKIPME yes");
        eventually(rows_with(show(&a, "NODES"), "allow=+del") == 1);
        eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    }
    cycles(5);
    client_send(&b, "LOCK x,y");
    struct grant list = grant_of(expect(&b, "+LOCKED x,y *"));
    ask(&a, "-BUSY y*", "LOCK y");
    ask(&a, "-BUSY *", "LOCK y,z");
    ask(&b, "+UNLOCKED *", "UNLOCK x,y token=%s", list.token);
    struct grant held = lock(&a, "moves"), moved;
    client_send(&b, "RESUME moves token=%s ttl=60s", held.token);
    moved = grant_of(await(&b, "+LOCKED moves *"));
    ck_assert_int_gt(moved.fence, held.fence);
    eventually(cluster_holds(&masters, "moves", moved.token) == 3);
    ask(&b, "+UNLOCKED moves *", "UNLOCK moves");
    eventually(cluster_is_free(&masters, "moves"));
}

/* What is another's stays: a key of another value, and one that is no string. */
T(foreign_keys_stay)
{
    begin();
    struct grant held = lock(&a, "job ttl=60s"), other = lock(&a, "set ttl=60s");
    redis(&masters.server[0], "SET redlock:job stranger");
    redis(&masters.server[0], "DEL redlock:set");
    redis(&masters.server[0], "SADD redlock:set x");
    ask(&a, "+UNLOCKED job *", "UNLOCK job token=%s", held.token);
    ask(&a, "+UNLOCKED set *", "UNLOCK set token=%s", other.token);
    eventually(strcmp(redis(&masters.server[1], "EXISTS redlock:job"), "0") == 0);
    eventually(strcmp(redis(&masters.server[1], "EXISTS redlock:set"), "0") == 0);
    ck_assert_str_eq(redis(&masters.server[0], "GET redlock:job"), "stranger");
    ck_assert_str_eq(redis(&masters.server[0], "SISMEMBER redlock:set x"), "1");
    ck_assert_uint_eq(rows_with(show(&a, "NODES"), "state=up"), 3);
}
