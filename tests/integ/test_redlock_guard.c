/* redlock run when redlock or its guard is killed or stopped. */
#include "proto/shown.h"
#include "tests/integ/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command c, next;
static char first[PATH], second[PATH];

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
    const char *folder = folder_new("words");
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    setenv("F", first, 1);
    setenv("S", second, 1);
}

static pid_t parent_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    char *text = file_read(path);
    const char *behind_name = strrchr(text, ')');
    ck_assert_ptr_nonnull(behind_name);
    pid_t parent = (pid_t)atol(behind_name + 4);
    free(text);
    return parent;
}

/* The next holder looks for the process whose number is in $F: not even a zombie may be there. */
static bool next_is_alone(const char *name)
{
    return RUN(&next, redlock_binary(), "run", "-w", "60s", name, "--", "sh", "-c",
               "! [ -e /proc/$(cat $F) ]") == 0;
}

/* The same, but a zombie may be there: below a redlock that was stopped, nobody reaps until it is killed, too. */
static bool next_sees_it_dead(const char *name)
{
    return RUN(&next, redlock_binary(), "run", "-w", "60s", name, "--", "sh", "-c",
               "! grep '^State:.[^ZX]' /proc/$(cat $F)/status 2>/dev/null") == 0;
}

/* SIGSTOP; waits until the process stands still, which is no child of the test's. */
static void stop(pid_t pid)
{
    kill(pid, SIGSTOP);
    eventually(process_state(pid) == 'T');
}

/* Starts redlock run and waits until its command has written a number to $F, which is returned. */
static pid_t start_job(const char *const argv[])
{
    unlink(first);
    unlink(second);
    command_start(&c, argv);
    return (pid_t)number_in(first);
}
#define START_JOB(...) start_job((const char *const[]){redlock_binary(), "run", __VA_ARGS__, NULL})

static void is_killed_and_leaves_nobody(const char *const argv[], unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        pid_t pid = start_job(argv);
        kill(c.pid, SIGKILL);
        ck_assert_int_eq(command_code(&c), -SIGKILL);
        bool alone = next_is_alone("job");
        if (!alone) /* the process would outlive the test */
            kill(pid, SIGKILL);
        ck_assert_msg(alone, "alive when the next one had the lock (%u)", i);
    }
}
#define KILLED(times, ...) \
    is_killed_and_leaves_nobody((const char *const[]){redlock_binary(), "run", __VA_ARGS__, NULL}, times)

/* ---- redlock is killed ---- */

/* timeout(1) makes a process group of its own. MANY=100 in the environment repeats the test so often. */
T(killed_with_timeout_in_its_script)
{
    const char *many = getenv("MANY");
    begin(PATIENT);
    KILLED(many ? (unsigned)atoi(many) : 10, "job", "--", "sh", "-c",
           "timeout 600 sh -c 'echo $$ >$F; exec sleep 600'; true");
}

T(killed_with_job_control_in_its_script)
{
    begin(PATIENT);
    KILLED(5, "job", "--", "bash", "-c", "set -m; (echo $BASHPID >$F; exec sleep 600) & wait");
    KILLED(5, "job", "--", "bash", "-c",
           "set -m; (sleep 600 | (echo $BASHPID >$F; exec sleep 600)) & exec sleep 600");
}

/* A daemon may stay behind a command that has ended by itself, but not behind a killed one. */
T(killed_with_another_session)
{
    begin(PATIENT);
    KILLED(5, "job", "--", "sh", "-c", "setsid -w sh -c 'echo $$ >$F; exec sleep 600'; true");
    KILLED(5, "job", "--", "sh", "-c", "setsid -f sh -c 'echo $$ >$F; exec sleep 600'; exec sleep 600");
}

T(killed_while_everything_is_stopped)
{
    begin(PATIENT);
    pid_t pid = START_JOB("job", "--", "sh", "-c", "timeout 600 sh -c 'echo $$ >$F; exec sleep 600'; true");
    stop(pid);
    stop(c.pid);
    kill(c.pid, SIGKILL);
    ck_assert_int_eq(command_code(&c), -SIGKILL);
    ck_assert(next_is_alone("job"));
}

/* The command holds two locks, one inside the other. */
T(killed_with_another_run_inside)
{
    begin(PATIENT);
    const char *script =
        "$R run inner -- sh -c \"timeout 600 sh -c 'echo \\$\\$ >$F; exec sleep 600'; true\"; "
        "true";
    const char *const argv[] = {redlock_binary(), "run", "job", "--", "sh", "-c", script, NULL};
    for (unsigned i = 0; i < 5; i++) {
        (void)start_job(argv);
        kill(c.pid, SIGKILL);
        ck_assert_int_eq(command_code(&c), -SIGKILL);
        ck_assert_msg(next_sees_it_dead(i % 2 ? "inner" : "job"), "%u: %s%s", i, output(&next),
                      errors(&next));
    }
}

/* While the guard stands still, no process is killed, and the lock has to stay. The guard's number is
 * that of the command's parent; redlock would wake the guard at once, so redlock has to be stopped first. */
static void lock_outlives_redlock(const char *address)
{
    pid_t pid = START_JOB("-a", address, "job", "--", "sh", "-c",
                          "echo $PPID >$S; timeout 600 sh -c 'echo $$ >$F; exec sleep 600'; true");
    pid_t guard = (pid_t)number_in(second);
    ck_assert_int_eq(parent_of(guard), c.pid);
    stop(c.pid);
    stop(guard);
    kill(c.pid, SIGKILL);
    ck_assert_int_eq(command_code(&c), -SIGKILL);
    /* redlockd would have heard of the connection's end before this wait is over. */
    ck_assert_int_eq(RUN(&next, redlock_binary(), "run", "-w", "300ms", "job", "--", "true"), 121);
    ck_assert(is_alive(pid));
    kill(guard, SIGCONT);
    ck_assert(next_is_alone("job"));
    ck_assert(!is_alive(guard));
}

T(the_lock_outlives_redlock)
{
    char tcp[64];
    begin(PATIENT);
    snprintf(tcp, sizeof tcp, "127.0.0.1:%u", redlockd.port);
    lock_outlives_redlock(getenv("REDLOCK_ADDRESS"));
    lock_outlives_redlock(tcp);
}

static bool is_resumed(const char *token)
{
    char shown[TOKEN_SHOWN + 1];
    const char *row = row_with(show(&a, "LOCKS"), "name=job ");
    shown_token(token, shown);
    return row && strcmp(kv(row, "token"), shown) != 0;
}

/* The lock is bound to another connection then. */
T(killed_after_redlockd_was_restarted)
{
    begin("node_timeout: 2s\nmin_ttl: 4s\n");
    const char *script = "echo $REDLOCK_TOKEN >$F.t; echo $PPID >$S; "
                         "timeout 600 sh -c 'echo $$ >$F; exec sleep 600'; true";
    pid_t pid = START_JOB("-t", "30s", "job", "--", "sh", "-c", script);
    char path[PATH + 2];
    snprintf(path, sizeof path, "%s.t", first);
    const char *token = keep(file_read(path));
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_close(&a);
    client_open(&a, &redlockd);
    eventually(is_resumed(token));
    pid_t guard = (pid_t)number_in(second);
    stop(c.pid);
    stop(guard);
    kill(c.pid, SIGKILL);
    ck_assert_int_eq(command_code(&c), -SIGKILL);
    ck_assert_int_eq(RUN(&next, redlock_binary(), "run", "-w", "300ms", "job", "--", "true"), 121);
    ck_assert(is_alive(pid));
    kill(guard, SIGCONT);
    ck_assert(next_is_alone("job"));
}

/* ---- redlock stands still ---- */

/* timeout(1) moves its command to another process group, which the guard must end, too. */
T(stopped_beyond_the_deadline)
{
    begin("");
    pid_t pid = START_JOB("-t", "3s", "job", "--", "sh", "-c",
                          "timeout 600 sh -c 'trap \"\" TERM; echo $$ >$F; exec sleep 600'; true");
    kill(c.pid, SIGSTOP);
    eventually(!is_alive(pid));
    kill(c.pid, SIGCONT);
    ck_assert_int_eq(command_code(&c), 124);
}

/* ---- the lock is lost ---- */

T(another_session_ends_when_it_is_lost)
{
    begin(PATIENT);
    const char *script = "echo $REDLOCK_TOKEN >$S; "
                         "setsid -f sh -c 'trap \"\" TERM; echo $$ >$F; exec sleep 600'; exec sleep 600";
    pid_t pid = START_JOB("job", "--", "sh", "-c", script);
    char *token = keep(file_read(second));
    ask(&a, "+UNLOCKED *", "UNLOCK job token=%.40s", token);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
}

/* ---- the guard ---- */

T(its_guard_is_killed)
{
    begin(PATIENT);
    const char *script = "echo $PPID >$S; trap '' TERM; "
                         "timeout 600 sh -c 'trap \"\" TERM; echo $$ >$F; exec sleep 600'; true";
    pid_t pid = START_JOB("-t", "50s", "job", "--", "sh", "-c", script);
    pid_t guard = (pid_t)number_in(second);
    ck_assert_int_eq(parent_of(guard), c.pid);
    kill(guard, SIGKILL);
    ck_assert_int_eq(command_code(&c), 125);
    ck_assert(!is_alive(pid));
    ck_assert_ptr_nonnull(strstr(errors(&c), "the guard process of this command was killed"));
    ck_assert(cluster_gave_back(&masters, "job")); /* long before its TTL */
}

T(its_guard_is_hard_of_hearing)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM, SIGTSTP, SIGSTOP};
    begin(PATIENT);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)START_JOB("job", "--", "sh", "-c",
                        "echo $PPID >$S; echo $$ >$F; while [ -e $F ]; do sleep 0.01; done; exit 7");
        pid_t guard = (pid_t)number_in(second);
        kill(guard, signals[i]);
        unlink(first);
        ck_assert_int_eq(command_code(&c), 7);
        ck_assert(!is_alive(guard));
        ck_assert_str_eq(errors(&c), "");
    }
}

/* A process that ends before the command leaves no zombie: an orphan of the command, and a child that redlock
 * had before. */
T(no_zombies)
{
    begin(PATIENT);
    const char *script = "sh -c 'echo $$ >$S' & exec $R run job -- "
                         "sh -c '(sh -c \"sleep 0.05; echo \\$\\$ >$F\" &); exec sleep 600'";
    START(&c, "sh", "-c", script);
    pid_t orphan = (pid_t)number_in(first), before = (pid_t)number_in(second);
    eventually(process_state(orphan) == '-' && process_state(before) == '-');
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), 128 + SIGTERM);
}
