/* A user of the masters with exactly the rights that the daemon asks for in its log. */
#include "tests/integ/steady.h"

#include <stdio.h>
#include <sys/stat.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b;
static char settings[1024], secret[PATH + 16];
static const char *key_prefix;

/* The masters are also reached by a name, and one of them in another database. */
static void configure(const char *user, const char *prefix)
{
    char quoted[128];
    size_t len = 0;
    key_prefix = prefix;
    for (; *prefix; prefix++) { /* as YAML has it between single quotes */
        len += (size_t)snprintf(quoted + len, sizeof quoted - len, *prefix == '\'' ? "''" : "%c", *prefix);
    }
    cluster_start(&masters, 3, TCP);
    snprintf(secret, sizeof secret, "%s/redis.secret", folder_new("secret"));
    file_write(secret, "s3cret\n");
    chmod(secret, 0600);
    snprintf(settings, sizeof settings,
             "log_level: debug\nnode_user: '%s'\nnode_password_file: %s\nkey_prefix: '%s'\nretry_max: "
             "50ms\n" STEADY "nodes:\n  - redis://127.0.0.1:%u\n  - redis://localhost:%u\n  - unix:%s?db=3\n",
             user, secret, quoted, masters.server[0].port, masters.server[1].port, masters.server[2].path);
}

/* Runs the line of the log on a master as an operator does, with the password in place of the dots. */
static void paste(const struct server *server)
{
    char line[2048];
    const char *begin = strstr(keep(file_read(redlockd.log)), "ACL SETUSER ");
    ck_assert_ptr_nonnull(begin);
    const char *dots = strstr(begin, ">... ");
    ck_assert_ptr_nonnull(dots);
    snprintf(line, sizeof line, "%.*s>s3cret %.*s", (int)(dots - begin), begin, (int)strcspn(dots + 5, "\n"),
             dots + 5);
    ck_assert_str_eq(redis_typed(server, line), "OK");
}

/* The log's line about a master that could do more, if there is one. */
static const char *line_of(const char *log, const char *node)
{
    char begin[300];
    snprintf(begin, sizeof begin, "node=%s state=up ", node);
    for (const char *at = log; (at = strstr(at, begin)) != NULL; at++) {
        const char *line = strstr(at, "ACL SETUSER ");
        if (line != NULL && line < at + strcspn(at, "\n"))
            return line;
    }
    return NULL;
}

/* A server that knows native commands gets a second line, of those. The servers may differ. */
static void paste_more(void)
{
    const char *row = keep(show(&a, "NODES")), *log = keep(file_read(redlockd.log));
    for (unsigned i = 0; i < 3; i++, row = strchr(row, '\n') + 1) {
        char one[2048], node[256];
        snprintf(node, sizeof node, "%s", kv(row, "node"));
        const char *line = line_of(log, node);
        if (line == NULL)
            continue;
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        ck_assert_str_eq(redis_typed(&masters.server[i], one), "OK");
    }
}

static void start(const char *user, const char *prefix)
{
    configure(user, prefix);
    daemon_start(&redlockd, NULL, settings);
    eventually(daemon_logged(&redlockd, "why=login_refused"));
    for (unsigned i = 0; i < 3; i++)
        paste(&masters.server[i]);
    daemon_start(&other, NULL, settings);
    client_open(&a, &redlockd);
    client_open(&b, &other);
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    eventually(rows_with(show(&b, "NODES"), "state=up") == 3);
    paste_more();
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL LOG RESET"), 3);
}

static unsigned ran(const char *command)
{
    unsigned masters_that_did = 0;
    for (unsigned i = 0; i < 3; i++)
        masters_that_did += strstr(redis(&masters.server[i], "INFO commandstats"), command) != NULL;
    return masters_that_did;
}

/* Stores the fence of another daemon, whose clock is a minute ahead, so that this daemon's proposal has to be
 * raised. */
static void raise_fence(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    char bucket[16];
    snprintf(bucket, sizeof bucket, "%u", hash & 16383);
    for (unsigned i = 0; i < 2; i++) {
        long long seconds = 0;
        sscanf(redis(&masters.server[i], "TIME"), "%lld", &seconds);
        redis(&masters.server[i], "ZADD %s,fences %lld000000 %s", key_prefix, seconds + 60, bucket);
    }
}

static void use_all(void)
{
    struct grant grant = lock(&a, "job");
    ask(&b, "-BUSY job*", "LOCK job");
    client_send(&b, "LOCK job wait=30s");
    ask(&a, "+EXTENDED job *", "EXTEND job token=%s ttl=20s", grant.token);
    ask(&a, "+HELD job *", "CHECK job token=%s", grant.token);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    grant = grant_of(expect(&b, "+LOCKED job *"));
    ask(&a, "+EXTENDED job *", "EXTEND job token=%s ttl=20s", grant.token);
    ask(&a, "+HELD job *", "CHECK job token=%s", grant.token);
    ask(&a, "+UNLOCKED job *", "UNLOCK job token=%s", grant.token);
    await(&b, "!LOST job *");

    grant = lock(&a, "read mode=shared");
    client_send(&b, "LOCK read wait=30s");
    eventually(cluster_answers(&masters, "1", "EXISTS %s,writer:read", key_prefix) >= 2);
    ask(&a, "+EXTENDED read *", "EXTEND read token=%s ttl=20s", grant.token);
    ask(&a, "+UNLOCKED read *", "UNLOCK read");
    await(&b, "+LOCKED read *");
    client_send(&b, "UNLOCK read");
    await(&b, "+UNLOCKED read *");

    /* The lock is resumed elsewhere, and healed where it was flushed, by the daemon whose probe sees
     * that first. */
    struct grant stays = lock_steady(&a, "stays", "60s", 4000);
    grant = lock_steady(&a, "moved", "60s", 9000);
    eventually(strcmp(kv(row_with(show(&a, "LOCKS"), "name=moved "), "nodes"), "+++") == 0);
    client_send(&b, "RESUME moved token=%s ttl=60s", grant.token);
    grant = grant_of(await(&b, "+LOCKED moved *"));
    renew_often(&b, "moved", grant.token, 4000);
    await(&a, "!LOST moved *");
    redis(&masters.server[0], "FLUSHALL");
    eventually(strcmp(redis(&masters.server[0], "GET %smoved", key_prefix), grant.token) == 0 ||
               strcmp(redis(&masters.server[0], "GET %sstays", key_prefix), stays.token) == 0);
    eventually(ran("cmdstat_getex:") == 3);
    client_send(&b, "UNLOCK moved");
    await(&b, "+UNLOCKED moved *");
    ask(&a, "+UNLOCKED stays *", "UNLOCK stays");

    raise_fence("raised");
    lock(&a, "raised");
    eventually(ran("cmdstat_zscore:") >= 1);
    ask(&a, "+UNLOCKED raised *", "UNLOCK raised");

    cluster_answers(&masters, "OK", "SCRIPT FLUSH");
    lock(&a, "scripts");
    ask(&a, "+UNLOCKED scripts *", "UNLOCK scripts");
    for (unsigned i = 0; i < 3; i++) /* the next connection kills the one before */
        redis(&masters.server[i], "CLIENT KILL TYPE normal SKIPME yes");
    lock(&a, "again wait=14s");
    ask(&a, "+UNLOCKED again *", "UNLOCK again");
    eventually(ran("cmdstat_client|kill:") == 3);
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    eventually(rows_with(show(&b, "NODES"), "state=up") == 3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(redis(&masters.server[i], "ACL LOG"), ""); /* the server denied no command */
}

T(line_of_the_log_suffices)
{
    start("locker", "redlock:");
    use_all();
    ck_assert_str_eq(redis(&masters.server[0], "ACL DRYRUN locker SET redlock:job x"), "OK");
    ck_assert_str_ne(redis(&masters.server[0], "ACL DRYRUN locker SET redlock x"), "OK");
    ck_assert_str_ne(redis(&masters.server[0], "ACL DRYRUN locker FLUSHALL"), "OK");
    ck_assert(!daemon_logged(&redlockd, "s3cret") && !daemon_logged(&other, "s3cret"));
}

T(prefix_and_user_of_signs)
{
    const char *user = "lo\"ck\\er";
    start(user, "a*b?[c]\\\"'d");
    use_all();
    ck_assert_str_eq(redis(&masters.server[0], "ACL DRYRUN %s SET %s x", user, "a*b?[c]\\\"'djob"), "OK");
    ck_assert_str_ne(redis(&masters.server[0], "ACL DRYRUN %s SET %s x", user, "axb?[c]\\\"'djob"), "OK");
    ck_assert_str_ne(redis(&masters.server[0], "ACL DRYRUN %s SET %s x", user, "a*bx[c]\\\"'djob"), "OK");
    ck_assert_str_ne(redis(&masters.server[0], "ACL DRYRUN %s SET %s x", user, "a*b?c\\\"'djob"), "OK");
}

T(said_once)
{
    cluster_start(&masters, 1, UNIX);
    daemon_start(&redlockd, &masters, "log_level: debug\n");
    ck_assert_uint_eq(rows_with(keep(file_read(redlockd.log)),
                                " : ACL SETUSER redlockd on >... resetkeys ~redlock:* resetchannels"),
                      1);
}
