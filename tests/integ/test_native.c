/* Native commands: which of them each redis-server knows decides what is expected of it. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

/* The word by which this master compares and deletes; "": it cannot. */
static const char *deletes(unsigned i)
{
    if (strcmp(redis(&masters.server[i], "DELEX nothing IFEQ x"), "0") == 0)
        return "DELEX";
    return strcmp(redis(&masters.server[i], "DELIFEQ nothing x"), "0") == 0 ? "DELIFEQ" : "";
}

/* How many of them can. */
static unsigned deleting(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 3; i++)
        count += deletes(i)[0] != '\0';
    return count;
}

/* Takes these rights away; returns whether the master has such a command at all. */
static bool forbid(unsigned i)
{
    const char *word = deletes(i);
    if (word[0])
        ck_assert_str_eq(redis(&masters.server[i], "ACL SETUSER locker -%s", word), "OK");
    redis(&masters.server[i], "ACL SETUSER locker -msetex"); /* fails where that is not known */
    return word[0] != '\0';
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

static void cycles(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ask(&a, "+LOCKED *", "LOCK job%u", i);
        ask(&a, "+UNLOCKED *", "UNLOCK job%u", i);
    }
    for (unsigned i = 0; i < 3; i++)
        eventually(strcmp(redis(&masters.server[i], "EXISTS redlock:job%u", count - 1), "0") == 0);
}

struct seen {
    const char *word;
    long scripts, natively;
};

static struct seen counted(unsigned i)
{
    struct seen seen = {.word = deletes(i), .scripts = calls(&masters.server[i], "evalsha")};
    char lower[16] = "";
    for (unsigned k = 0; seen.word[k]; k++)
        lower[k] = (char)(seen.word[k] | 0x20);
    seen.natively = lower[0] ? calls(&masters.server[i], lower) : 0;
    return seen;
}

T(no_script_where_nobody_waits)
{
    enum {
        CYCLES = 1000,
        OTHERS = 20 /* scripts of the daemon's own: probes and its row in the list of daemons */
    };
    struct seen before[3];
    begin();
    for (unsigned i = 0; i < 3; i++) {
        before[i] = counted(i);
        const char *knows = kv(node_row(&a, &masters.server[i]), "native");
        ck_assert_msg(!before[i].word[0] == !strstr(knows, "DEL"), "%s %s", before[i].word, knows);
        ck_assert_ptr_nonnull(strstr(knows, before[i].word));
    }
    cycles(CYCLES);
    for (unsigned i = 0; i < 3; i++) {
        struct seen now = counted(i);
        if (now.word[0]) {
            ck_assert_int_le(now.scripts - before[i].scripts, OTHERS);
            ck_assert_int_ge(now.natively - before[i].natively, CYCLES);
        } else {
            ck_assert_int_ge(now.scripts - before[i].scripts, CYCLES);
        }
    }
}

/* The right is taken away while locks are held: each release follows by script at once. */
T(a_right_that_is_lost_loses_nothing)
{
    begin();
    struct grant held = lock(&a, "held");
    for (unsigned i = 0; i < 3; i++)
        forbid(i);
    ask(&a, "+UNLOCKED held confirmed=*", "UNLOCK held");
    eventually(cluster_is_free(&masters, "held"));
    cycles(3);
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    eventually(rows_with(show(&a, "NODES"), "allow=+del") == deleting());
    ck_assert(deleting() == 0 || daemon_logged(&redlockd, " : ACL SETUSER locker +del"));
    ck_assert_int_gt(lock(&b, "held").fence, held.fence);
}

/* One master of three knows less: its user may not. */
T(a_fleet_of_two_kinds)
{
    begin();
    if (forbid(1)) {
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
