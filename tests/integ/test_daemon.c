/* The daemon itself: paused, killed, drained, beside another one, started wrongly. */
#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open_tcp(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

static void begin_other(void)
{
    daemon_serves(&other, &masters, PATIENT, &c);
}

/* ---- paused and killed ---- */

T(paused_beyond_a_ttl)
{
    begin("");
    struct grant grant = lock(&a, "paused ttl=600ms wait=10s");
    daemon_signal(&redlockd, SIGSTOP);
    eventually(cluster_is_free(&masters, "paused"));
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SET redlock:paused next NX PX 60000"), 3);
    daemon_signal(&redlockd, SIGCONT);
    ck_assert_str_eq(kv(await(&a, "!LOST paused token=* reason=*"), "token"), grant.token);
    ask(&a, "-NOTHELD paused*", "UNLOCK paused");
    ask_again(&a, "-NOTHELD paused*", "UNLOCK paused token=%s", grant.token);
    ask_again(&a, "-BUSY paused*", "LOCK paused");
    ck_assert_uint_eq(cluster_answers(&masters, "next", "GET redlock:paused"), 3);
}

static int sets_done(unsigned master)
{
    const char *calls = strstr(redis(&masters.server[master], "INFO commandstats"), "cmdstat_set:calls=");
    return calls ? atoi(calls + strlen("cmdstat_set:calls=")) : 0;
}

/* Stops the daemon while its SETs are under way. False: its round was over before that. */
static bool stands_in_its_round(const int before[3])
{
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    client_send(&a, "LOCK old ttl=600ms");
    eventually(sets_done(2) > before[2] || !client_silent(&a));
    daemon_signal(&redlockd, SIGSTOP);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    if (client_silent(&a))
        return true;
    daemon_signal(&redlockd, SIGCONT);
    expect(&a, "-NOQUORUM old *");
    eventually(masters_up(&b, &masters) && cluster_is_free(&masters, "old"));
    return false;
}

T(nothing_is_granted_on_old_time)
{
    int before[3];
    begin("");
    for (int tries = 5;; tries--) {
        ck_assert_int_gt(tries, 0);
        for (unsigned i = 0; i < 3; i++)
            before[i] = sets_done(i);
        if (stands_in_its_round(before))
            break;
    }
    for (unsigned i = 0; i < 2; i++) /* the masters granted, but the daemon has not read that yet */
        eventually(sets_done(i) > before[i]);
    eventually(cluster_is_free(&masters, "old"));
    daemon_signal(&redlockd, SIGCONT);
    expect(&a, "-NOQUORUM old *");
    lock(&b, "old wait=10s");
}

T(killed)
{
    begin("");
    struct grant session = lock(&a, "session ttl=900ms wait=10s");
    struct grant lease = lock(&a, "lease hold=lease ttl=30s wait=10s");
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
    begin_other();
    struct grant next = lock(&c, "session wait=10s");
    ck_assert_int_gt(next.fence, session.fence);
    const char *line = ask(&c, "+EXTENDED lease *", "EXTEND lease token=%s ttl=60s", lease.token);
    ck_assert_int_gt(number(line, "valid"), 40000);
    ask(&c, "-BUSY lease*", "LOCK lease");
    ask(&c, "+UNLOCKED lease *", "UNLOCK lease token=%s", lease.token);
    next = lock(&c, "lease wait=10s");
    ck_assert_int_gt(next.fence, lease.fence);

    /* The daemon's socket is still there, but no process answers on it. */
    ck_assert_int_eq(access(redlockd.path, F_OK), 0);
    daemon_configure(&redlockd, &masters, PATIENT);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&b, &masters));
    ask(&b, "-BUSY lease*", "LOCK lease");
}

/* ---- asked to stop ---- */

T(drain)
{
    begin("drain_timeout: 60s\n");
    static struct client d;
    struct grant grant = lock(&a, "held ttl=60s wait=10s");
    lock(&b, "other hold=lease ttl=60s wait=10s");
    client_open(&d, &redlockd);
    lock_steady(&d, "renewed", "60s", 600);
    client_send(&b, "#w LOCK held wait=30s");
    client_open(&c, &redlockd);
    eventually(rows_with(show(&c, "WAITERS"), "") == 1);
    daemon_signal(&redlockd, SIGTERM);
    expect(&a, "!DRAIN");
    expect(&c, "!DRAIN");
    const char *line = next_line(&b);
    const char *second = strcmp(line, "!DRAIN") == 0 ? "#w -DRAINING held*" : "!DRAIN";
    expect(&b, second);
    ask(&c, "-DRAINING new*", "LOCK new");
    await(&d, "!DRAIN");
    is_renewed(&d);
    client_close(&d);
    ask(&a, "+HELD held *", "CHECK held token=%s", grant.token);
    ask_again(&a, "+EXTENDED held *", "EXTEND held token=%s ttl=60s", grant.token);
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    expect_closed(&a);
    eventually(cluster_is_free(&masters, "held"));
    ck_assert_uint_eq(cluster_answers(&masters, "1", "EXISTS redlock:other"), 3);
    ck_assert_int_ne(access(redlockd.path, F_OK), 0);
}

T(drain_runs_out)
{
    begin(PATIENT "drain_timeout: 300ms\n");
    struct grant grant = lock(&a, "held ttl=60s");
    eventually(cluster_holds(&masters, "held", grant.token) == 3);
    daemon_signal(&redlockd, SIGTERM);
    expect(&a, "!DRAIN");
    ck_assert_str_eq(kv(expect(&a, "!LOST held token=* reason=drain"), "token"), grant.token);
    expect_closed(&a);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    ck_assert_uint_eq(cluster_holds(&masters, "held", grant.token),
                      3); /* the lock is never given back: it expires */
}

T(second_signal_ends_at_once)
{
    begin(PATIENT "drain_timeout: 60s\n");
    lock(&a, "held ttl=30s");
    daemon_signal(&redlockd, SIGINT);
    expect(&a, "!DRAIN");
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

T(nothing_held_nothing_to_wait_for)
{
    begin(PATIENT "drain_timeout: 60s\n");
    ask(&a, "+UNLOCKED done *", "UNLOCK done token=%s", lock(&a, "done").token);
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

/* ---- not alone ---- */

T(two_daemons_want_one_name)
{
    begin(PATIENT);
    begin_other();
    for (int i = 0; i < 10; i++) {
        client_send(&a, "LOCK one wait=30s");
        client_send(&c, "LOCK one wait=30s");
        eventually(!client_silent(&a) || !client_silent(&c));
        struct client *first = client_silent(&a) ? &c : &a, *second = first == &a ? &c : &a;
        struct grant grant = grant_of(expect(first, "+LOCKED one *"));
        ck_assert(client_silent(second));
        ask(first, "+UNLOCKED one *", "UNLOCK one");
        struct grant next = grant_of(expect(second, "+LOCKED one *"));
        ck_assert_int_gt(next.fence, grant.fence);
        ask(second, "+UNLOCKED one *", "UNLOCK one");
    }
}

T(key_of_another_library)
{
    begin(PATIENT);
    for (unsigned i = 0; i < 2; i++)
        redis(&masters.server[i], "SET redlock:theirs 8a7f NX PX 60000");
    ask(&a, "-BUSY theirs*", "LOCK theirs");
    ck_assert_uint_eq(cluster_answers(&masters, "8a7f", "GET redlock:theirs"), 2);
    client_send(&a, "LOCK theirs wait=30s");
    for (unsigned i = 0; i < 2; i++)
        redis(&masters.server[i], "PEXPIRE redlock:theirs 1000");
    eventually(cluster_answers(&masters, "8a7f", "GET redlock:theirs") == 0);
    struct grant grant = grant_of(expect(&a, "+LOCKED theirs *"));
    /* Now the other library's SET is refused, too. */
    ck_assert_uint_ge(cluster_answers(&masters, "(nil)", "SET redlock:theirs 8a7f NX PX 1200"), 2);
    ck_assert_uint_ge(cluster_holds(&masters, "theirs", grant.token), 2);
}

/* ---- started wrongly ---- */

static int run(const char *const argv[])
{
    daemon_run(&other, argv);
    return daemon_exit(&other);
}

T(socket_of_a_living_daemon)
{
    begin(PATIENT);
    char settings[256];
    snprintf(settings, sizeof settings, "listen:\n  - unix:%s\n", redlockd.path);
    daemon_configure(&other, &masters, settings);
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, NULL}), 1);
    ck_assert(daemon_logged(&other, redlockd.path));
    snprintf(settings, sizeof settings, "listen:\n  - 127.0.0.1:%u\n", redlockd.port);
    daemon_configure(&other, &masters, settings);
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, NULL}), 1);
    client_open(&c, &redlockd);
    ask(&c, "+PONG ready=1", "PING");
}

T(check_names_every_error)
{
    daemon_configure(
        &other, NULL,
        "nodes:\n  - redis://127.0.0.1:1\n  - redis://127.0.0.1:1\nmin_ttl: never\ncolour: red\n");
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, "--check", NULL}), 1);
    char place[PATH + 32];
    const char *places[] = {":3:5:", ":4:10:", ":5:1:"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(place, sizeof place, "%s%s", other.config, places[i]);
        ck_assert_msg(daemon_logged(&other, place), "no %s in\n%s", place, file_read(other.log));
    }
    ck_assert(daemon_logged(&other, "min_ttl") && daemon_logged(&other, "colour"));
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, NULL}),
                     1); /* so the daemon does not start */

    daemon_configure(&other, NULL, "nodes:\n  - redis://127.0.0.1:1\n");
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, "--check", NULL}), 0);
    ck_assert(daemon_logged(&other, "\nacl: ACL SETUSER redlockd on >... resetkeys ~redlock:* "));
}

/* The first line is that of scripts; the commit is 40 digits, unless nobody knows it. */
T(version)
{
    daemon_configure(&other, NULL, "");
    ck_assert_int_eq(run((const char *const[]){"--version", NULL}), 0);
    ck_assert(daemon_logged(&other, "redlockd " REDLOCKD_VERSION "\ncommit "));
    static const char *const libraries[] = {"\nlibraries: libevent ", ", hiredis ", ", libyaml "};
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++)
        ck_assert_msg(daemon_logged(&other, libraries[i]), "no %s", libraries[i]);
}

T(exit_codes)
{
    daemon_configure(&other, NULL, "");
    ck_assert_int_eq(run((const char *const[]){"--version", NULL}), 0);
    ck_assert_int_eq(run((const char *const[]){"--help", NULL}), 0);
    ck_assert_int_eq(run((const char *const[]){"--frob", NULL}), 2);
    ck_assert_int_eq(run((const char *const[]){"word", NULL}), 2);
    ck_assert_int_eq(run((const char *const[]){"--dev=0", NULL}), 2);
    ck_assert_int_eq(run((const char *const[]){"-c", "/nowhere/redlockd.yaml", NULL}), 1);
    ck_assert(daemon_logged(&other, "/nowhere/redlockd.yaml"));
    ck_assert_int_eq(run((const char *const[]){"-c", other.config, NULL}), 1); /* the file has no nodes */
}

/* ---- --dev ---- */

static void dev_start(const char *option)
{
    memset(&other, 0, sizeof other);
    snprintf(other.folder, sizeof other.folder, "%s", folder_new("dev"));
    snprintf(other.log, sizeof other.log, "%s/log", other.folder);
    setenv("TMPDIR", other.folder, 1);
    daemon_run(&other, (const char *const[]){option, NULL});
    unsetenv("TMPDIR");
    eventually(daemon_logged(&other, "listening on unix:"));
    char *path = strstr(keep(file_read(other.log)), "listening on unix:") + strlen("listening on unix:");
    ck_assert_int_lt(snprintf(other.path, sizeof other.path, "%.*s", (int)strcspn(path, "\n"), path), PATH);
    daemon_listens(&other);
    client_open(&a, &other);
}

/* Ends the daemon by a signal. All processes that it started end with it. Their pids are read before, since
 * the watcher is fast. */
static void dev_ends_by(int signal)
{
    pid_t pids[3];
    char folder[PATH];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(other.path, '/') - other.path), other.path);
    ck_assert_int_eq(access(folder, F_OK), 0);
    char *log = keep(file_read(other.log));
    for (int i = 0; i < 3; i++) {
        char master[16];
        snprintf(master, sizeof master, "master %d pid=", i + 1);
        char *at = strstr(log, master);
        ck_assert_ptr_nonnull(at);
        pids[i] = (pid_t)atoi(at + strlen(master));
        ck_assert_int_eq(kill(pids[i], 0), 0);
    }
    daemon_signal(&other, signal);
    daemon_exit(&other);
    eventually(access(folder, F_OK) != 0);
    for (int i = 0; i < 3; i++)
        eventually(kill(pids[i], 0) != 0);
}

T(dev_takes_all_away)
{
    dev_start("--dev=3");
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    lock(&a, "first wait=10s");
    ask(&a, "+UNLOCKED first *", "UNLOCK first");
    client_close(&a);
    dev_ends_by(SIGTERM);
}

/* Daemons that are begun in the same moment: no more than one gets the usual port, and the others say so. */
T(dev_starts_beside_others)
{
    static struct daemon many[4];
    for (int i = 0; i < 4; i++) {
        memset(&many[i], 0, sizeof many[i]);
        snprintf(many[i].log, sizeof many[i].log, "%s/log", folder_new("dev"));
        daemon_run(&many[i], (const char *const[]){"--dev=1", NULL});
    }
    int others = 0;
    for (int i = 0; i < 4; i++) {
        eventually(daemon_logged(&many[i], "try: nc "));
        others += daemon_logged(&many[i], "so a free one was taken");
    }
    ck_assert_int_ge(others, 3);
    for (int i = 0; i < 4; i++) {
        daemon_signal(&many[i], SIGTERM);
        daemon_exit(&many[i]);
    }
}

T(dev_takes_all_away_even_when_killed)
{
    dev_start("--dev=3");
    lock(&a, "first wait=10s");
    dev_ends_by(SIGKILL);
}
