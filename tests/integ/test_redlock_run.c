/* redlock run: a command under a lock, with everything well, and refusals. */
#include "tests/integ/command.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command c;
static char path[PATH];

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
    snprintf(path, sizeof path, "%s/word", folder_new("words"));
    setenv("F", path, 1);
}

/* "KEY=value" of a printed environment. */
static const char *variable(const char *text, const char *key)
{
    const char *row = row_with(text, key);
    ck_assert_msg(row != NULL, "no %s in:\n%s", key, text);
    const char *value = strchr(row, '=') + 1;
    return keep(strndup(value, strcspn(value, "\n")));
}

T(the_command_has_the_lock_and_knows_it)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "-t", "50s", "--note", "why", "job", "--", "sh", "-c",
          "env | grep ^REDLOCK_; echo >$F; while [ -e $F ]; do sleep 0.01; done; exit 7");
    (void)number_in(path);
    const char *row = row_with(show(&a, "LOCKS"), "name=job");
    ck_assert_ptr_nonnull(row);
    const char *text = output(&c);
    ck_assert_str_eq(variable(text, "REDLOCK_NAME="), "job");
    eventually(cluster_holds(&masters, "job", variable(text, "REDLOCK_TOKEN=")) == 3);
    ck_assert_int_eq(atoll(variable(text, "REDLOCK_FENCE=")), number(row, "fence"));
    int64_t until_ms = atoll(variable(text, "REDLOCK_UNTIL="));
    ck_assert_msg(until_ms > now_ms() && until_ms < now_ms() + 50000, "until %lld", (long long)until_ms);
    ck_assert_str_eq(kv(row, "note"), "why");
    ck_assert_str_eq(kv(row, "hold"), "session");
    char client[128];
    snprintf(client, sizeof client, "*@*:sh/%d", (int)c.pid);
    ck_assert_msg(fnmatch(client, kv(row, "client"), 0) == 0, "%s", kv(row, "client"));
    unlink(path);
    ck_assert_int_eq(command_code(&c), 7);
    ck_assert(cluster_gave_back(&masters, "job"));
    ck_assert_str_eq(errors(&c), "");
}

T(arguments_come_as_they_are)
{
    begin(PATIENT);
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "job", "-n", "--", "printf", "<%s>", "-t", "a  b", "", "--"), 0);
    ck_assert_str_eq(output(&c), "<-t><a  b><><-->");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "printf", "<%s>", "-n"), 0); /* without "--" */
    ck_assert_str_eq(output(&c), "<-n>");
}

T(what_cannot_be_executed)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "--", "/nonexistent/command"), 127);
    ck_assert_ptr_nonnull(strstr(errors(&c), "/nonexistent/command: No such file"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "--", "/"), 126);
    ck_assert(cluster_gave_back(&masters, "job"));
}

/* As flock(1) has them: -c, and --timeout for --wait. */
T(a_line_for_the_shell)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "echo hi; exit 3"), 127);
    ck_assert_ptr_nonnull(strstr(
        errors(&c), "exit 3: No such file or directory; to have a shell run this line, use `-c LINE`"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "-c", "echo hi; exit 3"), 3);
    ck_assert_str_eq(output(&c), "hi\n");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--command", "exit 4", "job"), 4);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "-c", "exit 4", "surplus"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "surplus: "));
    lock(&a, "taken ttl=20s");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--timeout", "50ms", "taken", "true"), 121);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "0.05", "taken", "true"), 121); /* seconds */
    int64_t begun_ms = now_ms();
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "1", "taken", "true"), 121);
    ck_assert_int_ge(now_ms() - begun_ms, 1000);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "0", "taken", "true"), 120);
}

T(the_name_that_others_see)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "--client", "batch-7", "job", "-c", "echo >$F; exec sleep 60");
    (void)number_in(path);
    ck_assert_str_eq(kv(row_with(show(&a, "LOCKS"), "name=job"), "client"), "batch-7");
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), 128 + SIGTERM);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--client", "a b", "job", "true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "--client a b: "));
}

/* Another redlockd, or this one when it is back, may have the lock: that is not wrong usage. */
T(a_daemon_that_shuts_down)
{
    begin("drain_timeout: 60s\n" PATIENT);
    lock(&a, "held ttl=60s");
    daemon_signal(&redlockd, SIGTERM);
    expect(&a, "!DRAIN");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "--", "touch", path), 123);
    ck_assert_ptr_nonnull(strstr(errors(&c), "redlockd is shutting down"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-n", "job"), 123);
    ask(&a, "+UNLOCKED *", "UNLOCK held");
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
}

T(signals_and_their_codes)
{
    static const struct {
        int signal;
        const char *name;
    } passed[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGHUP, "HUP"},
                  {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
    begin(PATIENT);
    for (unsigned i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "trap 'echo got %s; exit 5' %s; echo >$F; while :; do sleep 0.01; done", passed[i].name,
                 passed[i].name);
        START(&c, redlock_binary(), "run", "job", "--", "sh", "-c", script);
        (void)number_in(path);
        kill(c.pid, passed[i].signal);
        ck_assert_int_eq(command_code(&c), 5);
        ck_assert_ptr_nonnull(strstr(output(&c), passed[i].name));
        unlink(path);
    }
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "--", "sh", "-c", "kill -KILL $$"),
                     128 + SIGKILL);
    START(&c, redlock_binary(), "run", "job", "--", "sh", "-c", "echo >$F; exec sleep 60");
    (void)number_in(path);
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), 128 + SIGTERM);
    ck_assert(cluster_gave_back(&masters, "job"));
}

/* nohup(1), and a shell's "&" without job control. */
T(what_was_ignored_stays_ignored)
{
    begin(PATIENT);
    lock(&a, "job ttl=20s");
    START(&c, "sh", "-c",
          "trap '' HUP; exec $R run job -- sh -c 'echo >$F; while [ -e $F ]; do sleep 0.01; done; exit 3'");
    eventually(row_with(show(&a, "WAITERS"), "name=job") != NULL);
    kill(c.pid, SIGHUP);
    ask(&a, "+UNLOCKED *", "UNLOCK job");
    (void)number_in(path);
    kill(c.pid, SIGHUP);
    kill(c.pid, SIGCONT); /* a word behind the options, and harmless */
    unlink(path);
    ck_assert_int_eq(command_code(&c), 3);
}

T(refusals)
{
    begin(PATIENT);
    lock(&a, "taken ttl=20s");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "taken", "--", "touch", path), 120);
    ck_assert_ptr_nonnull(strstr(errors(&c), "taken: another has it; `redlock who taken` says who"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "100ms", "taken", "--", "touch", path), 121);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-nq", "-E", "33", "taken", "--", "touch", path), 33);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-qw50ms", "-E", "0", "taken", "--", "touch", path), 0);
    ck_assert_str_eq(errors(&c), "");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-t", "1h", "long", "--", "touch", path), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "max_ttl"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--grace", "45s", "-t", "50s", "short", "touch", path),
                     125);
    ck_assert(cluster_gave_back(&masters, "short"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-a", "unix:/nonexistent/s", "x", "touch", path), 123);
    ck_assert_ptr_nonnull(strstr(errors(&c), "/nonexistent/s"));
    server_kill(&masters.server[0]);
    server_kill(&masters.server[1]);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "free", "--", "touch", path), 122);
    ck_assert_int_ne(access(path, F_OK), 0); /* the command never ran */
}

/* redlock is held up between the grant and its look at the lock. --grace may be half of what the lock was
 * valid for at the grant, not only half of what is left then. */
T(a_grant_that_is_seen_late)
{
    begin(PATIENT);
    lock(&a, "job");
    START(&c, redlock_binary(), "run", "-t", "10s", "--grace", "4900ms", "job", "--", "true");
    eventually(row_with(show(&a, "WAITERS"), "name=job") != NULL);
    process_stop(c.pid);
    ask(&a, "+UNLOCKED *", "UNLOCK job");
    const char *row;
    eventually((row = row_with(show(&a, "LOCKS"), "name=job")) && number(row, "valid") < 9700);
    kill(c.pid, SIGCONT);
    ck_assert_msg(command_code(&c) == 0, "%s", errors(&c));
}

T(wrong_usage)
{
    begin(PATIENT);
    static const char *const wrong[][6] = {
        {"run"},
        {"run", "job"},
        {"run", "job", "--"},
        {"run", "--nosuch", "job", "true"},
        {"run", "-w", "3x", "job", "true"},
        {"run", "-w", "1.2.3", "job", "true"},
        {"run", "-w", "0.5s", "job", "true"},
        {"run", "-w", "2592001", "job", "true"},
        {"run", "-t", "30", "job", "true"},
        {"run", "-w", "-1s", "job", "true"},
        {"run", "-E", "256", "job", "true"},
        {"run", "--ttl"},
        {"run", "a=b", "true"},
        {"run", "-a", "nowhere:port", "job", "true"},
        {"lock", "--lease"},
        {"lock", "job"},
        {"unlock", "job"},
        {"unlock", "job", "123"},
        {"check", "-t", "1s", "job"},
        {"show"},
        {"show", "nothing"},
        {"top"},
        {"nosuch"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *argv[8] = {redlock_binary()};
        for (unsigned j = 0; j < 6; j++)
            argv[j + 1] = wrong[i][j];
        int code = command_run(&c, argv);
        ck_assert_msg(code == 125, "%s %s: %d", wrong[i][0], wrong[i][1] ? wrong[i][1] : "", code);
        ck_assert_msg(strncmp(errors(&c), "redlock: ", 9) == 0, "%s", errors(&c));
        if (strcmp(wrong[i][0], "lock") != 0) /* the output is for eval, which must fail too */
            ck_assert_str_eq(output(&c), "");
    }
    ck_assert_int_eq(RUN(&c, redlock_binary()), 125);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "-q", "show", "nodes"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "-q: only -a ADDRESS may stand before a subcommand"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "-a", "127.0.0.1:1"), 125);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "nodes", "-a"), 125);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "-a", "127.0.0.1:1", "show", "nodes"), 123);
    ck_assert_ptr_nonnull(strstr(errors(&c), "127.0.0.1:1"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "--address", "127.0.0.1:1", "run", "-n", "job", "--", "-a"),
                     123);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "--address=127.0.0.1:1", "ping", "-q"), 123);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "--version"), 0);
    ck_assert_int_eq(strncmp(output(&c), "redlock ", 8), 0);
    static const char *const subcommands[] = {"run", "lock", "unlock", "extend", "check", "show", "top"};
    for (unsigned i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        ck_assert_int_eq(RUN(&c, redlock_binary(), subcommands[i], "--help"), 0);
        ck_assert_ptr_nonnull(strstr(output(&c), "usage: redlock "));
    }
}

/* The folder is an independent witness: mkdir(2) fails where it already exists. */
T(one_after_the_other)
{
    enum { MANY = 10 };
    static struct command all[MANY];
    begin(PATIENT);
    for (unsigned i = 0; i < MANY; i++)
        START(&all[i], redlock_binary(), "run", "-w", "60s", "job", "--", "sh", "-c",
              "mkdir $F && sleep 0.05 && rmdir $F && echo $REDLOCK_FENCE");
    int64_t fences[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_int_eq(command_code(&all[i]), 0);
        fences[i] = atoll(output(&all[i]));
        for (unsigned j = 0; j < i; j++)
            ck_assert_int_ne(fences[i], fences[j]);
    }
}

T(interrupted_while_it_waits)
{
    begin(PATIENT);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    lock(&a, "job ttl=20s");
    for (unsigned i = 0; i < 4; i++) {
        START(&c, redlock_binary(), "run", "job", "--", "touch", path);
        eventually(row_with(show(&a, "WAITERS"), "name=job") != NULL);
        kill(c.pid, signals[i]);
        ck_assert_int_eq(command_code(&c),
                         -signals[i]); /* as for a command that never caught it: a shell stops its script */
        eventually(row_with(show(&a, "WAITERS"), "name=job") == NULL);
    }
    ck_assert_int_ne(access(path, F_OK), 0);
    ask(&a, "+UNLOCKED *", "UNLOCK job");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "--", "true"), 0);
}

T(nothing_of_ours_is_inherited)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "--", "sh", "-c", "exec ls /proc/self/fd"), 0);
    ck_assert_msg(strcmp(output(&c), "0\n1\n2\n3\n") == 0, /* 3 is the folder that ls reads */ "%s",
                  output(&c));
    START(&c, "sh", "-c", "exec $R run job -- sh -c 'echo >$F; exec sleep 60' <&- 2>&-");
    (void)number_in(path);
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), 128 + SIGTERM);
    /* A reader of the command's output sees the end as soon as the command has ended: no other process
     * keeps it open. */
    ck_assert_int_eq(RUN(&c, "sh", "-c", "$R run job -- echo hello | cat"), 0);
    ck_assert_str_eq(output(&c), "hello\n");
}

/* `exec redlock run` in a script whose own children are older, and not the command's. */
T(children_from_before_are_left_alone)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, "sh", "-c", "sleep 60 & echo $! >$F; exec $R run job -- true"), 0);
    pid_t pid = (pid_t)number_in(path);
    ck_assert(is_alive(pid));
    kill(pid, SIGKILL);
}
