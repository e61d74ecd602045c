/* Masters that answer with refusals: they have no vote, and the daemon goes on. */
#include "tests/integ/harness.h"
#include "tests/integ/http.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

static void begin(unsigned count, const char *settings)
{
    cluster_start(&masters, count, TCP);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

static void end_misconf(struct server *server)
{
    redis(server, "CONFIG SET stop-writes-on-bgsave-error no");
}

static void set_oom(struct server *server)
{
    redis(server, "CONFIG SET maxmemory 1");
}

static void end_oom(struct server *server)
{
    redis(server, "CONFIG SET maxmemory 0");
}

static void set_readonly(struct server *server)
{
    redis(server, "REPLICAOF 127.0.0.1 1");
}

static void end_readonly(struct server *server)
{
    redis(server, "REPLICAOF NO ONE");
}

static void set_noreplicas(struct server *server)
{
    redis(server, "CONFIG SET min-replicas-to-write 1");
}

static void end_noreplicas(struct server *server)
{
    redis(server, "CONFIG SET min-replicas-to-write 0");
}

static void set_noperm(struct server *server)
{
    redis(server, "ACL SETUSER default -set");
}

static void end_noperm(struct server *server)
{
    redis(server, "ACL SETUSER default +@all");
}

static const struct fault {
    const char *error;
    void (*begin)(struct server *server);
    void (*end)(struct server *server);
} faults[] = {
    {"OOM", set_oom, end_oom},
    {"READONLY", set_readonly, end_readonly},
    {"MISCONF", server_misconf, end_misconf},
    {"NOREPLICAS", set_noreplicas, end_noreplicas},
    {"NOPERM", set_noperm, end_noperm},
};

T(master_that_refuses_has_no_vote)
{
    begin(3, PATIENT);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *fault = &faults[i];
        fault->begin(&masters.server[0]);
        const char *error = redis(&masters.server[0], "SET probe x");
        ck_assert_msg(strncmp(error, fault->error, strlen(fault->error)) == 0, "%s: %s", fault->error, error);
        struct grant grant = lock(&a, "minority%s", fault->error);
        ask(&a, "+UNLOCKED *", "UNLOCK minority%s token=%s", fault->error, grant.token);

        fault->begin(&masters.server[1]);
        const char *refusal = ask(&a, "-NOQUORUM majority* votes=* nodes=*", "LOCK majority%s", fault->error);
        ck_assert_msg(strncmp(kv(refusal, "nodes"), "!!", 2) == 0, "%s", refusal);
        ask(&a, "-[NT]* majority*", "LOCK majority%s wait=100ms", fault->error); /* -NOQUORUM or -TIMEOUT */

        fault->end(&masters.server[0]);
        fault->end(&masters.server[1]);
        lock(&a, "majority%s wait=10s", fault->error);
        ask(&a, "+UNLOCKED majority*", "UNLOCK majority%s", fault->error);
        eventually(cluster_answers(&masters, "0", "EXISTS redlock:majority%s", fault->error) == 3);
        lock(&a, "minority%s wait=10s", fault->error);
        ask(&a, "+UNLOCKED *", "UNLOCK minority%s", fault->error);
    }
}

static bool full_masters_serve_its_holder(int ttl_ms)
{
    static struct client holder;
    char name[24];
    snprintf(name, sizeof name, "held%d", ttl_ms);
    client_open(&holder, &redlockd);
    ask(&holder, "+HELLO *", "HELLO 1 events=renewed");
    struct grant held = lock(&holder, "%s ttl=%d wait=10s", name, ttl_ms);
    for (unsigned i = 0; i < 3; i++)
        set_oom(&masters.server[i]);
    ask(&b, "-NOQUORUM no votes=0/3 *", "LOCK no");
    bool renewed = true;
    for (int64_t until_ms = 0; renewed && until_ms < held.until_ms + ttl_ms;) {
        const char *event = expect(&holder, "![REL]*");
        renewed = strncmp(event, "!RENEWED ", 9) == 0;
        until_ms = number(event, "until");
    }
    client_send(&holder, "UNLOCK %s", name);
    char answer[128];
    snprintf(answer, sizeof answer, "%s", await(&holder, "[+-]*"));
    client_close(&holder);
    eventually(cluster_is_free(&masters, name));
    for (unsigned i = 0; i < 3; i++)
        end_oom(&masters.server[i]);
    if (!renewed || strncmp(answer, "-NOTHELD ", 9) == 0)
        return false;
    ck_assert_int_eq(strncmp(answer, "+UNLOCKED ", 10), 0);
    return *kv(answer, "confirmed") >= '2'; /* two of three, in time */
}

T(full_masters_renew_and_release)
{
    begin(3, "");
    play(full_masters_serve_its_holder, 600);
}

T(key_of_another_type_under_the_name)
{
    begin(3, PATIENT);
    redis(&masters.server[0], "RPUSH redlock:list x");
    struct grant grant = lock(&a, "list ttl=10s");
    ask(&a, "+EXTENDED list *", "EXTEND list token=%s ttl=60s", grant.token);
    ask(&a, "+UNLOCKED list *", "UNLOCK list");
    redis(&masters.server[1], "RPUSH redlock:list x");
    ask(&a, "-BUSY list*", "LOCK list");
    ask(&a, "-NOTHELD list*", "UNLOCK list token=%s", grant.token);
    ask(&a, "-NOTHELD list*", "CHECK list token=%s", grant.token);
    ck_assert_uint_eq(cluster_answers(&masters, "list", "TYPE redlock:list"), 2);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_str_eq(node_state(&b, &masters.server[i]), "up");
}

T(wrong_password)
{
    char settings[512];
    cluster_start(&masters, 3, TCP);
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CONFIG SET requirepass %s", i == 1 ? "other" : "right");
    snprintf(settings, sizeof settings,
             PATIENT "nodes:\n  - redis://:right@127.0.0.1:%u\n  - redis://:right@127.0.0.1:%u\n  - "
                     "redis://:right@127.0.0.1:%u\n",
             masters.server[0].port, masters.server[1].port, masters.server[2].port);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    lock(&a, "one wait=10s");
    ck_assert_str_ne(node_state(&a, &masters.server[1]), "up");
    ck_assert_str_ne(kv(node_row(&a, &masters.server[1]), "why"), "");
    eventually(daemon_logged(&redlockd, "WRONGPASS") || daemon_logged(&redlockd, "invalid"));
    ck_assert(!daemon_logged(&redlockd, "right@") && !daemon_logged(&redlockd, ":right"));
}

T(password_asked_of_a_daemon_that_has_none)
{
    cluster_start(&masters, 3, UNIX);
    redis(&masters.server[0], "CONFIG SET requirepass unknown");
    daemon_start(&redlockd, &masters, PATIENT);
    client_open(&a, &redlockd);
    lock(&a, "one wait=10s");
    const char *row = node_row(&a, &masters.server[0]);
    ck_assert_str_ne(kv(row, "state"), "up");
    ck_assert_str_ne(kv(row, "why"), "");
}

T(replicas_and_twins_are_not_used)
{
    cluster_start(&masters, 4, TCP);
    char port[8], settings[512];
    snprintf(port, sizeof port, "%u", masters.server[0].port);
    redis(&masters.server[3], "REPLICAOF 127.0.0.1 %s", port);
    /* The third master is the second by its other address. */
    snprintf(settings, sizeof settings,
             PATIENT "nodes:\n  - redis://127.0.0.1:%u\n  - redis://127.0.0.1:%u\n  - unix:%s\n  - "
                     "redis://127.0.0.1:%u\n  - redis://127.0.0.1:%u\n",
             masters.server[0].port, masters.server[1].port, masters.server[1].path, masters.server[2].port,
             masters.server[3].port);
    daemon_start(&redlockd, NULL, settings);
    client_open(&a, &redlockd);
    const char *row = NULL;
    eventually(strcmp(kv(row = node_row(&a, &masters.server[3]), "state"), "refused") == 0);
    ck_assert_str_eq(kv(row, "why"), "replica");
    eventually(rows_with(show(&a, "NODES"), "why=twin") == 1);
    eventually(rows_with(show(&a, "NODES"), "state=refused") == 2 &&
               rows_with(show(&a, "NODES"), "state=up") == 3);
    lock(&a, "three"); /* three of five masters are a quorum */

    redis(&masters.server[3], "REPLICAOF NO ONE"); /* the master is asked again */
    eventually(strcmp(node_state(&a, &masters.server[3]), "up") == 0);
}

T(master_that_may_evict_is_named)
{
    cluster_start(&masters, 3, UNIX);
    redis(&masters.server[1], "CONFIG SET maxmemory-policy allkeys-lru");
    daemon_start(&redlockd, &masters, PATIENT);
    client_open(&a, &redlockd);
    lock(&a, "all_the_same wait=10s");
    eventually(strcmp(kv(node_row(&a, &masters.server[1]), "warn"), "evicts") == 0);
    eventually(daemon_logged(&redlockd, "maxmemory-policy"));
    ck_assert_uint_eq(rows_with(show(&a, "NODES"), " warn=evicts"), 1);
}

T(master_that_is_busy)
{
    begin(3, PATIENT);
    redis(&masters.server[2], "CONFIG SET lua-time-limit 50");
    redis(&masters.server[2], "EVAL %s 0", "while true do end"); /* redis() does not wait for its end */
    eventually(strcmp(kv(node_row(&b, &masters.server[2]), "why"), "busy") == 0);
    lock(&a, "two wait=10s");
    ck_assert_str_eq(redis(&masters.server[2], "SCRIPT KILL"), "OK");
    eventually(strcmp(node_state(&b, &masters.server[2]), "up") == 0);
}

T(master_that_reads_its_data)
{
    begin(3, PATIENT);
    redis(&masters.server[0], "CONFIG SET rdbcompression no");
    redis(&masters.server[0], "EVAL %s 0",
          "for i=1,400 do redis.call('SET','other'..i,string.rep('x',1100)) end");
    ck_assert_str_eq(redis(&masters.server[0], "SAVE"), "OK");
    server_kill(&masters.server[0]);
    server_start_loading(&masters.server[0], 10000); /* 4 s */
    eventually(strcmp(kv(node_row(&b, &masters.server[0]), "why"), "loading") == 0);
    lock(&a, "two wait=10s");
    eventually(strcmp(node_state(&b, &masters.server[0]), "up") == 0);
}

/* Without one of these commands a master would grant locks that nobody could renew or give back, or could not be
 * probed. */
T(master_that_lacks_a_command)
{
    static const struct {
        const char *command, *why, *lacks;
    } rows[] = {{"PEXPIRE", "noscript", "PEXPIRE"},
                {"DEL", "noscript", "DEL"},
                {"EVALSHA", "login_refused", ""}, /* the login asks with it which scripts are there */
                {"GETEX", "noperm", "GETEX"}};
    cluster_start(&masters, 5, TCP);
    for (unsigned i = 0; i < 4; i++)
        server_start_without(&masters.server[i], rows[i].command);
    uint16_t port = http_daemon(&redlockd, &masters, PATIENT);
    client_open(&b, &redlockd);
    for (unsigned i = 0; i < 4; i++) {
        eventually(strcmp(kv(node_row(&b, &masters.server[i]), "why"), rows[i].why) == 0);
        if (rows[i].lacks[0])
            ck_assert_str_eq(kv(node_row(&b, &masters.server[i]), "lacks"), rows[i].lacks);
        ck_assert_str_ne(node_state(&b, &masters.server[i]), "up");
    }
    eventually(strcmp(node_state(&b, &masters.server[4]), "up") == 0);
    eventually(daemon_logged(&redlockd, "why=noscript"));
    eventually(daemon_logged(&redlockd, "lacks=DEL hint="));
    eventually(daemon_logged(&redlockd, "asked=\"EVALSHA\" hint=\"is this command renamed"));
    ck_assert_ptr_nonnull(strstr(http_get(port, "/"), "a command that locks need does not work there"));
    ask(&b, "-NOQUORUM job votes=1/5 *", "LOCK job");
    for (unsigned i = 0; i < 4; i++) { /* each is mended, and used at once */
        server_kill(&masters.server[i]);
        server_start(&masters.server[i]);
    }
    eventually(masters_up(&b, &masters));
    eventually(cluster_answers(&masters, "", "KEYS redlock:,try:*") == 5);
}

/* A fence near 2^53, of a stranger's or from a backup, on one master. */
T(master_with_fences_that_no_clock_explains)
{
    cluster_start(&masters, 3, TCP);
    uint16_t port = http_daemon(&redlockd, &masters, PATIENT);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
    ck_assert_ptr_nonnull(
        redis(&masters.server[1], "EVAL %s 0",
              "for i=0,16383 do redis.call('ZADD','redlock:,fences',9007199254740000,i) end"));
    for (unsigned i = 0; i < 8; i++) { /* sooner or later that master's answer is needed for a raise */
        struct grant one = lock(&a, "poisoned wait=10s");
        ck_assert_int_lt(one.fence, INT64_C(5000000000000000));
        ask(&a, "+UNLOCKED *", "UNLOCK poisoned");
    }
    server_stop(&masters.server[0]); /* now it is */
    ask(&a, "-*", "LOCK poisoned");
    server_cont(&masters.server[0]);
    eventually(strcmp(kv(node_row(&b, &masters.server[1]), "why"), "fence") == 0);
    eventually(daemon_logged(&redlockd, "why=fence"));
    ck_assert_ptr_nonnull(strstr(http_get(port, "/"), "has a fence that no clock explains"));
    redis(&masters.server[1], "DEL redlock:,fences redlock:,group"); /* the way back */
    eventually(cluster_answers(&masters, "1", "EXISTS redlock:,group") == 3);
    eventually(strcmp(node_state(&b, &masters.server[0]), "up") == 0);
    server_stop(&masters.server[0]);
    lock(&a, "poisoned wait=10s");
    server_cont(&masters.server[0]);
}

/* A server that gives every command the same answer. */
static void babbler_start(struct server *server, const char *says, size_t len)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(server->folder, sizeof server->folder, "%s", folder_new("babbler"));
    snprintf(server->path, sizeof server->path, "%s/sock", server->folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            int client = accept(fd, NULL, NULL);
            for (int i = 0; i < 10000 && send(client, says, len, MSG_NOSIGNAL) > 0; i++)
                ;
            close(client);
        }
    }
    close(fd);
}

T(garbage_closes_only_that_connection)
{
    static const char *const garbage[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
                                          "*2147483647\r\n",
                                          "$500000000\r\nxxxxxxxxxxxxxxxx",
                                          "*1\r\n*1\r\n*1\r\n",
                                          "%1\r\n+a\r\n+b\r\n",
                                          "+endless "};
    cluster_start(&masters, 5, UNIX);
    struct cluster mixed = masters;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        struct client client;
        for (unsigned j = 0; j < 2; j++)
            babbler_start(&mixed.server[j], garbage[i], strlen(garbage[i]));
        daemon_start(&redlockd, &mixed, PATIENT);
        client_open(&client, &redlockd);
        char name[16];
        snprintf(name, sizeof name, "g%zu", i);
        lock(&client, "%s wait=10s", name);
        eventually(number(node_row(&client, &mixed.server[0]), "errors") >=
                   3); /* the daemon dials again and again */
        lock(&client, "%sx wait=10s", name);
        ck_assert_str_ne(node_state(&client, &mixed.server[1]), "up");
        if (!under_sanitizer())
            ck_assert_int_lt(daemon_status_kb(&redlockd, "VmRSS:"), 64 * 1024);
        client_close(&client);
        daemon_signal(&redlockd, SIGTERM);
        ck_assert_int_eq(daemon_exit(&redlockd), 0);
        for (unsigned j = 0; j < 2; j++)
            kill(mixed.server[j].pid, SIGKILL);
        for (unsigned j = 2; j < 5; j++) /* the next daemon has another set of masters */
            redis(&masters.server[j], "FLUSHALL");
    }
}
