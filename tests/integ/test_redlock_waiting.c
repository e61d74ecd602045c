/* redlock run names the reason for which it waits. */
#include "tests/integ/command.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command c;
static struct pty pty;

/* With these settings, masters that were started just now are in quarantine for about a minute. */
static const char fresh[] = "restart_guard: on\nmax_ttl: 60s\n" PATIENT;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    eventually(settings == fresh ? rows_with(show(&a, "NODES"), "state=quarantine") == 3
                                 : masters_up(&a, &masters));
    command_use(&redlockd);
}

static const char too_few[] =
    "redlock: job: waiting: too few masters may vote: 3 of 3 are in quarantine for ";

T(too_few_masters_may_vote)
{
    begin(fresh);
    START(&c, redlock_binary(), "run", "-v", "job", "--", "true");
    eventually(strstr(errors(&c), too_few));
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), -SIGTERM);
    pty_start(&pty, (const char *const[]){redlock_binary(), "run", "job", "--", "true", NULL}, 200, 50);
    pty_await(&pty, too_few);
    pty_type(&pty, "\003");
    ck_assert_int_eq(pty_code(&pty), -SIGINT);
    /* The masters do answer, and the refusal must not deny that. */
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "--", "true"), 122);
    ck_assert_msg(fnmatch("redlock: job: too few masters may vote yet: 3 of 3 masters are in quarantine for "
                          "* s more*; `redlock show nodes` says why\n",
                          errors(&c), 0) == 0,
                  "%s", errors(&c));
}

/* A job that is started while redlockd is upgraded runs all the same. */
T(no_redlockd_yet)
{
    begin(PATIENT);
    client_close(&a);
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    int64_t begun_ms = now_ms();
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "300ms", "job", "--", "true"), 123);
    ck_assert_int_ge(now_ms() - begun_ms, 300);
    ck_assert_ptr_nonnull(strstr(errors(&c), "is redlockd running there?"));
    START(&c, redlock_binary(), "run", "-v", "-w", "10m", "job", "--", "sh", "-c", "exit 6");
    eventually(strstr(errors(&c), "redlock: job: waiting: "));
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    ck_assert_msg(command_code(&c) == 6, "%s", errors(&c));
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    START(&c, redlock_binary(), "run", "-v", "-w", "10m", "job", "--", "true");
    eventually(strstr(errors(&c), "redlock: job: waiting: "));
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), -SIGTERM);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-n", "job", "--", "true"), 123);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "job", "--", "true"), 123); /* no time was given */
}

T(another_has_it)
{
    static const char word[] = "redlock: job: waiting: another has it";
    begin(PATIENT);
    lock(&a, "job ttl=50s");
    pty_start(&pty, (const char *const[]){redlock_binary(), "run", "job", "--", "sh", "-c", "exit 6", NULL},
              200, 50);
    pty_await(&pty, word);
    START(&c, redlock_binary(), "lock", "--lease", "--verbose", "job");
    eventually(strstr(errors(&c), word));
    ask(&a, "+UNLOCKED *", "UNLOCK job");
    ck_assert_int_eq(pty_code(&pty), 6);
    ck_assert_int_eq(command_code(&c), 0);
}

T(the_daemon_is_gone)
{
    begin(PATIENT);
    lock(&a, "job ttl=50s");
    START(&c, redlock_binary(), "run", "-v", "job", "--", "true");
    eventually(strstr(errors(&c), "another has it"));
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    eventually(strstr(errors(&c), "redlock: job: waiting: the connection to "));
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(command_code(&c), -SIGTERM);
}

/* In a script, and with -q, no word is said of a wait. The refusal is the same in both. */
T(nobody_wants_to_know)
{
    begin(PATIENT);
    lock(&a, "job ttl=50s");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-w", "2s", "job", "--", "true"), 121);
    ck_assert_ptr_null(strstr(errors(&c), "waiting:"));
    ck_assert_ptr_nonnull(strstr(errors(&c), "job: another has it, and the wait is over"));
    pty_start(&pty,
              (const char *const[]){redlock_binary(), "run", "-q", "-w", "2s", "job", "--", "true", NULL},
              200, 50);
    ck_assert_int_eq(pty_code(&pty), 121);
    ck_assert_str_eq(pty.text, "");
    /* The notice of the wait does not hide how the wait ended. redlock looks again after 5 s. */
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-v", "-w", "7s", "job", "--", "true"), 121);
    const char *said = strstr(errors(&c), "waiting:");
    ck_assert_ptr_nonnull(said);
    ck_assert_ptr_null(strstr(said + 1, "waiting:"));
    ck_assert_ptr_nonnull(strstr(errors(&c), "job: another has it, and the wait is over"));
}
