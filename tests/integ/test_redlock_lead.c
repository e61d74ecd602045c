/* redlock lead: one of many leads, and the next one takes over. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integ/command.h"

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b;
static struct command one, two;
static char path[PATH];

static void begin(const char *settings)
{
    redlockd = other = (struct daemon){.pid = 0};
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
    snprintf(path, sizeof path, "%s/word", folder_new("words"));
    setenv("F", path, 1);
}

static const char *leader(struct client *client)
{
    client_send(client, "WHO leader");
    const char *row = row_with(client_rows_at(client, __FILE__, __LINE__), "votes=");
    return row != NULL ? kv(row, "data") : "";
}

T(who_leads_is_told_and_the_next_one_takes_over)
{
    begin(PATIENT);
    daemon_serves(&other, &masters, PATIENT, &b);
    START(&one, redlock_binary(), "lead", "--data", "host-1:8080", "leader", "--", "sleep", "1000");
    eventually(strcmp(leader(&b), "host-1:8080") == 0);
    START(&two, redlock_binary(), "lead", "leader", "--data", "host-2:8080", "-c",
          "echo >$F; exec sleep 1000");
    eventually(rows_with(show(&a, "WAITERS"), "name=leader") == 1);
    kill(one.pid, SIGKILL); /* its lock is given back once its command is dead */
    (void)number_in(path);
    eventually(strcmp(leader(&b), "host-2:8080") == 0);
    ck_assert_int_eq(command_code(&one), -SIGKILL);
    kill(two.pid, SIGTERM);
    ck_assert_int_eq(command_code(&two), 128 + SIGTERM);
    ck_assert(cluster_gave_back(&masters, "leader"));
}

T(its_end_is_the_commands)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "leader", "-c", "echo $REDLOCK_NAME; exit 7"), 7);
    ck_assert_str_eq(output(&one), "leader\n");
    START(&one, redlock_binary(), "lead", "leader", "-c", "echo >$F; exec sleep 1000");
    (void)number_in(path);
    ck_assert_ptr_nonnull(strstr(leader(&a), ":sh/")); /* user@host:sh/pid */
    kill(one.pid, SIGINT);
    ck_assert_int_eq(command_code(&one), 128 + SIGINT);
}

static bool has_led_twice(void)
{
    char *pids = file_read(path);
    const char *end = strchr(pids, '\n');
    bool twice = end != NULL && strlen(end) > 1;
    free(pids);
    return twice;
}

/* The lock is broken: the command ends, and another one leads; and then it leads again. */
T(it_waits_again_when_it_leads_no_more)
{
    begin(PATIENT "allow_break: yes\n");
    START(&one, redlock_binary(), "lead", "leader", "-c", "echo $$ >>$F; exec sleep 1000");
    long first = number_in(path);
    ask(&a, "+BROKEN leader *", "BREAK leader");
    eventually(!is_alive((pid_t)first));
    eventually(has_led_twice());
    ck_assert_ptr_nonnull(strstr(errors(&one), "leader: waiting for it again"));
    ck_assert(!command_is_over(&one));
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), 128 + SIGTERM);
}

/* Its command ends at once: another host leads in the pause. */
T(a_pause_lets_another_one_lead)
{
    begin(PATIENT);
    START(&one, redlock_binary(), "lead", "--restart", "leader", "-c", "exit 3");
    eventually(strstr(errors(&one),
                      "has ended (exit code 3): the lock is given up, and asked for again in 1.0s") != NULL);
    lock(&a, "leader wait=20s");
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    eventually(strstr(errors(&one), "asked for again in 2.0s") != NULL);
    ck_assert(!command_is_over(&one));
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), -SIGTERM);
}

/* A program inherits from its parent that SIGCHLD is ignored. */
T(its_end_is_the_commands_where_sigchld_is_ignored)
{
    begin(PATIENT);
    signal(SIGCHLD, SIG_IGN);
    START(&one, redlock_binary(), "lead", "leader", "-c", "exit 7");
    signal(SIGCHLD, SIG_DFL);
    eventually(command_is_over(&one));
    ck_assert_int_eq(command_code(&one), 7);
}

/* The program that read its messages has ended, and it has one more to say. */
T(it_leads_on_when_nobody_reads_its_messages)
{
    char fifo[PATH + 8];
    begin(PATIENT "allow_break: yes\n");
    snprintf(fifo, sizeof fifo, "%s.log", path);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(reader, 0);
    START(&one, "sh", "-c", "exec $R lead leader -c 'echo $$ >>$F; exec sleep 1000' 2>$F.log");
    (void)number_in(path);
    close(reader);
    ask(&a, "+BROKEN leader *", "BREAK leader");
    eventually(has_led_twice());
    ck_assert(!command_is_over(&one));
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), 128 + SIGTERM);
}

static bool has_taken_its_signals(const struct command *command)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/%d/status", (int)command->pid);
    char *status = file_read(name);
    bool taken = strstr(status, "ShdPnd:\t0000000000000000") != NULL;
    free(status);
    return taken;
}

/* SIGUSR1 is for the command: while none runs, nothing happens. */
T(sigusr2_ends_no_wait)
{
    begin(PATIENT);
    lock(&a, "leader");
    START(&one, redlock_binary(), "lead", "leader", "-c",
          "trap '' USR2; trap 'exit 9' USR1; echo >$F; while :; do sleep 0.1; done");
    eventually(rows_with(show(&a, "WAITERS"), "name=leader") == 1);
    kill(one.pid, SIGUSR2);
    eventually(has_taken_its_signals(&one));
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    (void)number_in(path);
    kill(one.pid, SIGUSR1);
    ck_assert_int_eq(command_code(&one), 9);
}

static unsigned told(const char *text)
{
    unsigned count = 0;

    for (const char *at = errors(&one); (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* Nobody leads while redlockd is away, so it is asked again soon, however long it has been away: after 0, 1, 3, 7, 12
 * and 17 s. */
T(an_absent_redlockd_is_asked_every_5_s)
{
    begin(PATIENT);
    client_close(&a);
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
    START(&one, redlock_binary(), "lead", "leader", "-c", "echo >$F; exec sleep 1000");
    eventually_within(told("is redlockd running there?") == 6, 26000);
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), -SIGTERM);
}

/* The pauses from before the command ran do not count any more. */
T(an_absent_redlockd_is_asked_soon_again)
{
    begin("node_timeout: 250ms\ndefault_ttl: 1s\n");
    client_close(&a);
    for (unsigned outage = 0; outage < 2; outage++) {
        daemon_signal(&redlockd, SIGKILL);
        ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
        if (outage == 0)
            START(&one, redlock_binary(), "lead", "leader", "-c", "echo >$F; exec sleep 1000");
        eventually(told("is redlockd running there?") == 3 + 3 * outage); /* 0, 1 and 3 s later */
        daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
        daemon_listens(&redlockd);
        eventually(access(path, F_OK) == 0);
        (void)unlink(path);
    }
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), 128 + SIGTERM);
}

T(bad_options)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "--data", "a b", "leader", "true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&one), "--data takes 1 to 256 visible characters"));
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "a,b", "true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&one), "one NAME is needed"));
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "leader"), 125);
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "--shared", "leader", "true"), 125);
    ck_assert_int_eq(RUN(&one, redlock_binary(), "lead", "-n", "leader", "true"), 125);
}
