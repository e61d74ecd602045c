/* redlock run when the lock is lost or processes are killed, and what must not be left behind. */
#include "tests/integ/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command c;
static char first[PATH], second[PATH], beat[PATH];

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
    const char *folder = folder_new("words");
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(beat, sizeof beat, "%s/beat", folder);
    setenv("F", first, 1);
    setenv("S", second, 1);
    setenv("B", beat, 1);
}

static const char *lock_row(const char *name)
{
    char word[64];
    snprintf(word, sizeof word, "name=%s ", name);
    return row_with(show(&a, "LOCKS"), word);
}

/* The token that the command wrote to the file. */
static const char *token_in_file(void)
{
    char path[PATH + 2];
    snprintf(path, sizeof path, "%s.t", first);
    char *token = keep(file_read(path));
    token[strcspn(token, "\n")] = '\0';
    return token;
}

/* ---- a machine that stands still ---- */

enum { SCENES = 6 };

/* Returns the exit code of the command. */
static int code_while_looking(void)
{
    for (; !command_is_over(&c); nap())
        look();
    int code = command_code(&c);
    look();
    return code;
}

/* Whether the result says nothing because it came too late: the scene is played again, a few times at
 * most. */
static bool is_excused(void)
{
    static unsigned scenes;
    return still_ms >= STILL_MS && ++scenes < SCENES;
}

static bool has_line(const char *path)
{
    char *text = file_read(path);
    bool has = strchr(text, '\n') != NULL;
    free(text);
    return has;
}

/* Starts redlock run and waits until its command has written a number to `first`. A command that lost its
 * lock before is started again. */
static void start_held(const char *const argv[])
{
    for (unsigned i = 0; i < SCENES; i++) {
        unlink(first);
        unlink(second);
        unlink(beat);
        command_start(&c, argv);
        look_begin();
        eventually((look(), command_is_over(&c) || has_line(first)));
        if (!command_is_over(&c))
            return;
        ck_assert_int_eq(command_code(&c), 124);
    }
    ck_abort_msg("its lock is lost at once, each time: %s", errors(&c));
}
#define START_HELD(...) start_held((const char *const[]){redlock_binary(), "run", __VA_ARGS__, NULL})

/* ---- the lock ends ---- */

T(released_by_somebody_else)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "job", "--", "sh", "-c",
          "trap '' TERM INT HUP; sleep 60 & echo $! >$S; echo $REDLOCK_TOKEN >$F.t; echo $$ >$F; wait; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    ck_assert_int_eq(RUN(&(struct command){0}, redlock_binary(), "unlock", "job", token_in_file()), 0);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (released)"));
    ck_assert(!is_alive(pid));
    ck_assert(!is_alive(grandchild));
}

/* Writes the time on CLOCK_BOOTTIME, in hundredths of a second, again and again: its last line tells
 * until when the command was alive. */
static const char beats[] = "trap '' TERM; [ -p $B.p ] || mkfifo $B.p; exec 9<>$B.p\n"
                            "read -r up idle </proc/uptime; echo $up >>$B; echo $$ >$F\n"
                            "while read -r up idle </proc/uptime; do echo $up >>$B; read -rt 0.005 <&9; done";

static int64_t last_beat_ms(void)
{
    char *text = file_read(beat), *end = strrchr(text, '\n');
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    const char *last = strrchr(text, '\n');
    int64_t ms = (int64_t)(atof(last ? last + 1 : text) * 1000);
    free(text);
    return ms;
}

/* The lock is not renewed from here on; the deadline that redlockd knows stays, and with it the masters'
 * keys. */
static int64_t stop_a_majority(const char *name)
{
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    ask(&a, "-NOQUORUM*", "CHECK nosuch token=%040d",
        1); /* all lines on their way have come, or never will */
    int64_t asked_ms = now_ms();
    const char *row = lock_row(name);
    look();
    return row ? asked_ms + number(row, "valid") : 0;
}

static void go_on_with_the_majority(void)
{
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
}

static bool is_gone_before_the_deadline(void)
{
    START_HELD("-t", "6s", "--grace", "2900ms", "job", "--", "bash", "-c", beats);
    pid_t pid = (pid_t)number_in(first);
    int64_t deadline_ms = stop_a_majority("job");
    ck_assert_int_eq(code_while_looking(), 124);
    ck_assert(!is_alive(pid));
    go_on_with_the_majority();
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (expired)"));
    bool in_time = last_beat_ms() < deadline_ms && strstr(errors(&c), "nobody renews the lock");
    ck_assert_msg(in_time || is_excused(), "alive %lld ms after the deadline: %s",
                  (long long)(last_beat_ms() - deadline_ms), errors(&c));
    return in_time;
}

T(without_a_majority_it_is_gone_before_the_deadline)
{
    begin("");
    int64_t lost = number(row_with(show(&a, "STATS"), "* lost="), "lost");
    while (!is_gone_before_the_deadline())
        ;
    /* redlockd knows that it was lost, though the lock was given back before its deadline. */
    ck_assert_int_gt(number(row_with(show(&a, "STATS"), "* lost="), "lost"), lost);
    ck_assert_msg(daemon_logged(&redlockd, "event=lock_lost name=\"job\""), "%s", file_read(redlockd.log));
}

static bool tidied_up_in_its_grace(void)
{
    START_HELD("-t", "4s", "--grace", "1900ms", "job", "--", "sh", "-c",
               "trap 'echo tidied up; exit 0' TERM; echo $$ >$F; while :; do sleep 0.02; done");
    int64_t deadline_ms = stop_a_majority("job");
    ck_assert_int_eq(code_while_looking(), 124);
    bool in_time = strcmp(output(&c), "tidied up\n") == 0 && looked_ms < deadline_ms;
    go_on_with_the_majority();
    ck_assert_msg(in_time || is_excused(), "%lld ms before the deadline: '%s'",
                  (long long)(deadline_ms - looked_ms), output(&c));
    return in_time;
}

T(it_has_its_grace)
{
    begin("");
    while (!tidied_up_in_its_grace())
        ;
}

/* A lock that was not renewed ends 1 s before --max, and for another reason. */
static bool is_renewed_until_max(void)
{
    look_begin();
    START(&c, redlock_binary(), "run", "-t", "5s", "--max", "6s", "job", "--", "sleep", "60");
    ck_assert_int_eq(code_while_looking(), 124);
    bool max = strstr(errors(&c), "lost (max)") != NULL;
    ck_assert_msg(max || is_excused(), "%s", errors(&c));
    eventually(cluster_is_free(&masters, "job"));
    return max;
}

T(max_is_an_end_too)
{
    begin("");
    while (!is_renewed_until_max())
        ;
}

/* ---- the daemon ends ---- */

T(restarted_daemon_goes_on_with_the_lock)
{
    begin("node_timeout: 2s\nmin_ttl: 4s\n");
    START(&c, redlock_binary(), "run", "-t", "8s", "job", "--", "sh", "-c",
          "echo $REDLOCK_UNTIL >$S; echo $$ >$F; while [ -e $F ]; do sleep 0.02; done; exit 9");
    (void)number_in(first);
    int64_t until_ms = number_in(second);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_close(&a);
    client_open(&a, &redlockd);
    eventually(lock_row("job") != NULL);
    eventually(now_ms() > until_ms + 100); /* later than any deadline that the first daemon told */
    ck_assert(!command_is_over(&c));
    ck_assert_ptr_nonnull(lock_row("job"));
    unlink(first);
    ck_assert_int_eq(command_code(&c), 9);
    ck_assert_str_eq(errors(&c), "");
    eventually(cluster_is_free(&masters, "job"));
}

T(daemon_that_does_not_come_back)
{
    begin("");
    START_HELD("-t", "2s", "job", "--", "bash", "-c", beats);
    pid_t pid = (pid_t)number_in(first);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
}

/* ---- redlock itself ends, or stands ---- */

T(killed_itself)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "job", "--", "sh", "-c", "sleep 60 & echo $! >$S; echo $$ >$F; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    kill(c.pid, SIGKILL);
    ck_assert_int_eq(command_code(&c), -SIGKILL);
    eventually(!is_alive(pid) && !is_alive(grandchild));
    eventually(cluster_is_free(&masters, "job")); /* long before its TTL */
}

static bool dies_while_redlock_stands(void)
{
    START_HELD("-t", "3s", "job", "--", "sh", "-c",
               "trap '' TERM; sleep 60 & echo $! >$S; echo $$ >$F; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    kill(c.pid, SIGSTOP);
    eventually((look(), !is_alive(pid) && !is_alive(grandchild)));
    kill(c.pid, SIGCONT);
    ck_assert_int_eq(code_while_looking(), 124);
    bool held_up = strstr(errors(&c), "held up") != NULL;
    ck_assert_msg(held_up || is_excused(), "%s", errors(&c));
    return held_up;
}

/* A stopped process cannot look at the clock, so the guard does. */
T(stopped_itself)
{
    begin("");
    while (!dies_while_redlock_stands())
        ;
}

/* ---- what the command leaves behind ---- */

T(orphans_end_with_it)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "-t", "10s", "--grace", "200ms", "job", "--", "sh", "-c",
          "(trap '' TERM HUP; echo stubborn; exec sleep 60) & echo $! >$F; sleep 60 & echo $! >$S; exit 4");
    ck_assert_int_eq(command_code(&c), 4);
    pid_t stubborn = (pid_t)number_in(first), obedient = (pid_t)number_in(second);
    ck_assert(!is_alive(stubborn));
    ck_assert(!is_alive(obedient));
    ck_assert_ptr_nonnull(strstr(errors(&c), "left processes behind"));
    ck_assert(cluster_gave_back(&masters, "job"));
}

/* The process has a group of its own, as a shell with job control makes them, and is an orphan all the
 * same. */
T(orphans_of_another_group_end_with_it)
{
    begin(PATIENT);
    START(&c, redlock_binary(), "run", "-t", "10s", "--grace", "200ms", "job", "--", "bash", "-c",
          "set -m; sleep 60 & echo $! >$F; (sleep 60 & echo $! >$S); exit 4");
    ck_assert_int_eq(command_code(&c), 4);
    ck_assert(!is_alive((pid_t)number_in(first)));
    ck_assert(!is_alive((pid_t)number_in(second)));
}

/* A process that is no orphan yet also ends with a lost lock, whatever its group. */
T(other_groups_end_when_it_is_lost)
{
    begin(PATIENT);
    const char *script = "trap '' TERM; set -m; (trap '' TERM; sleep 60) & echo $! >$S; "
                         "echo $REDLOCK_TOKEN >$F.t; echo $$ >$F; while :; do wait; done";
    START(&c, redlock_binary(), "run", "job", "--", "bash", "-c", script);
    pid_t pid = (pid_t)number_in(first), other = (pid_t)number_in(second);
    ask(&a, "+UNLOCKED *", "UNLOCK job token=%s", token_in_file());
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
    ck_assert(!is_alive(other));
}

T(what_ends_by_itself_is_not_disturbed)
{
    begin(PATIENT);
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "job", "--", "bash", "-c",
            "trap 'echo disturbed' TERM; exec > >(while read -r x; do echo got $x; done); echo word"),
        0);
    ck_assert_str_eq(output(&c), "got word\n");
    ck_assert_str_eq(errors(&c), "");
}

/* The command stops redlock and itself, as if the machine stood still: in that time it could not have
 * ended. */
static bool ends_by_itself_behind_a_pause(void)
{
    const char *script = "read -r p n s redlock x </proc/$PPID/stat; exec > >(trap 'echo disturbed; kill "
                         "-CONT $redlock; exit' TERM; "
                         "while read -r x; do echo got $x; done; sleep 0.1; kill -STOP $redlock; "
                         "echo $BASHPID >$F; kill -STOP $BASHPID); echo word";
    START(&c, redlock_binary(), "run", "job", "--", "bash", "-c", script);
    eventually(command_is_over(&c) || has_line(first));
    if (command_is_over(&c)) { /* the machine was too busy for the command to come that far */
        ck_assert_int_eq(command_code(&c), 0);
        return false;
    }
    pid_t pid = (pid_t)number_in(first);
    eventually(process_state(pid) == 'T' && process_state(c.pid) == 'T');
    int64_t stopped_ms = now_ms();
    eventually(now_ms() > stopped_ms + 400);
    look_begin();
    kill(c.pid, SIGCONT); /* and the command's group with it */
    ck_assert_int_eq(code_while_looking(), 0);
    bool undisturbed = strcmp(output(&c), "got word\n") == 0 && strcmp(errors(&c), "") == 0;
    ck_assert_msg(undisturbed || is_excused(), "%s%s", output(&c), errors(&c));
    unlink(first);
    return undisturbed;
}

T(a_pause_is_no_time_to_end_in)
{
    begin(PATIENT);
    for (unsigned tries = 0; !ends_by_itself_behind_a_pause(); tries++)
        ck_assert_uint_lt(tries, SCENES);
}

/* As the manual says: a process that leaves the session wants to stay. */
T(setsid_escapes)
{
    begin(PATIENT);
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "job", "--", "sh", "-c",
            "setsid sh -c 'echo $$ >$F; exec sleep 60' & while ! [ -s $F ]; do sleep 0.01; done"),
        0);
    pid_t pid = (pid_t)number_in(first);
    ck_assert(is_alive(pid));
    ck_assert(cluster_gave_back(&masters, "job"));
    kill(pid, SIGKILL);
}
