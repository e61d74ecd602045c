/* redlock run: the lock is lost, somebody is killed, something is left behind. */
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
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    command_use(&redlockd);
    const char *folder = folder_new("words");
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(beat, sizeof beat, "%s/beat", folder);
    setenv("F", first, 1);
    setenv("S", second, 1);
    setenv("B", beat, 1);
}

static bool is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

static const char *lock_row(const char *name)
{
    char word[64];
    snprintf(word, sizeof word, "name=%s ", name);
    return row_with(show(&a, "LOCKS"), word);
}

/* ---- the lock ends ---- */

START_TEST(released_by_somebody_else)
{
    begin("");
    START(&c, redlock_binary(), "run", "job", "--", "sh", "-c",
          "trap '' TERM INT HUP; sleep 60 & echo $! >$S; echo $REDLOCK_TOKEN >$F.t; echo $$ >$F; wait; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    char path[PATH + 2];
    snprintf(path, sizeof path, "%s.t", first);
    char *token = keep(file_read(path));
    token[strcspn(token, "\n")] = '\0';
    ck_assert_int_eq(RUN(&(struct command){0}, redlock_binary(), "unlock", "job", token), 0);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (released)"));
    ck_assert(!is_alive(pid));
    ck_assert(!is_alive(grandchild));
}
END_TEST

/* Writes the time on CLOCK_BOOTTIME, in hundredths of a second, again and again: its last line says until
 * when it was alive. */
static const char beats[] = "trap '' TERM; mkfifo $B.p; exec 9<>$B.p; echo $$ >$F\n"
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

/* Nobody renews it any more from here on; the deadline that redlockd knows, and with it the masters. */
static int64_t stop_a_majority(const char *name)
{
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    ask(&a, "-NOQUORUM*", "CHECK nosuch token=%040d", 1); /* what was on its way has come, or never will */
    const char *row = lock_row(name);
    ck_assert_ptr_nonnull(row);
    return now_ms() + number(row, "valid");
}

START_TEST(without_a_majority_it_is_gone_before_the_deadline)
{
    begin("");
    START(&c, redlock_binary(), "run", "-t", "6s", "--grace", "2900ms", "job", "--", "bash", "-c", beats);
    pid_t pid = (pid_t)number_in(first);
    int64_t deadline_ms = stop_a_majority("job");
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
    ck_assert_msg(last_beat_ms() < deadline_ms, "alive %lld ms after the deadline",
                  (long long)(last_beat_ms() - deadline_ms));
    ck_assert_ptr_nonnull(strstr(errors(&c), "nobody renews the lock"));
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (expired)"));
}
END_TEST

START_TEST(it_has_its_grace)
{
    begin("");
    START(&c, redlock_binary(), "run", "-t", "4s", "--grace", "1900ms", "job", "--", "sh", "-c",
          "trap 'echo tidied up; exit 0' TERM; echo $$ >$F; while :; do sleep 0.02; done");
    (void)number_in(first);
    int64_t deadline_ms = stop_a_majority("job");
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_str_eq(output(&c), "tidied up\n");
    ck_assert_int_lt(now_ms(), deadline_ms);
}
END_TEST

START_TEST(max_is_an_end_too)
{
    begin("");
    int64_t start_ms = now_ms();
    START(&c, redlock_binary(), "run", "-t", "2s", "--max", "4s", "job", "--", "sleep", "60");
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (max)"));
    ck_assert_int_ge(now_ms() - start_ms, 2000); /* it was renewed */
    eventually(is_free("job"));
}
END_TEST

/* ---- the daemon ends ---- */

START_TEST(restarted_daemon_goes_on_with_the_lock)
{
    begin("");
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
    eventually(now_ms() > until_ms + 100); /* beyond what the first daemon ever told */
    ck_assert(!command_is_over(&c));
    ck_assert_ptr_nonnull(lock_row("job"));
    unlink(first);
    ck_assert_int_eq(command_code(&c), 9);
    ck_assert_str_eq(errors(&c), "");
    eventually(is_free("job"));
}
END_TEST

START_TEST(daemon_that_does_not_come_back)
{
    begin("");
    START(&c, redlock_binary(), "run", "-t", "2s", "job", "--", "bash", "-c", beats);
    pid_t pid = (pid_t)number_in(first);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
}
END_TEST

/* ---- redlock itself ends, or stands ---- */

START_TEST(killed_itself)
{
    begin("");
    START(&c, redlock_binary(), "run", "-t", "20s", "job", "--", "sh", "-c",
          "sleep 60 & echo $! >$S; echo $$ >$F; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    kill(c.pid, SIGKILL);
    ck_assert_int_eq(command_code(&c), -SIGKILL);
    eventually(!is_alive(pid) && !is_alive(grandchild));
    eventually_within(is_free("job"), 10000); /* long before its TTL */
}
END_TEST

/* Who is stopped cannot look at the clock, so somebody else does. */
START_TEST(stopped_itself)
{
    begin("");
    START(&c, redlock_binary(), "run", "-t", "3s", "job", "--", "sh", "-c",
          "trap '' TERM; sleep 60 & echo $! >$S; echo $$ >$F; wait");
    pid_t pid = (pid_t)number_in(first), grandchild = (pid_t)number_in(second);
    process_stop(c.pid);
    eventually(!is_alive(pid) && !is_alive(grandchild));
    kill(c.pid, SIGCONT);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_ptr_nonnull(strstr(errors(&c), "held up"));
}
END_TEST

/* ---- what the command leaves behind ---- */

START_TEST(orphans_end_with_it)
{
    begin("");
    START(&c, redlock_binary(), "run", "--grace", "200ms", "job", "--", "sh", "-c",
          "(trap '' TERM HUP; echo stubborn; exec sleep 60) & echo $! >$F; sleep 60 & echo $! >$S; exit 4");
    ck_assert_int_eq(command_code(&c), 4);
    pid_t stubborn = (pid_t)number_in(first), obedient = (pid_t)number_in(second);
    ck_assert(!is_alive(stubborn));
    ck_assert(!is_alive(obedient));
    ck_assert_ptr_nonnull(strstr(errors(&c), "left processes behind"));
    ck_assert(is_free("job"));
}
END_TEST

/* In a process group of its own, as a shell with job control makes them: an orphan all the same. */
START_TEST(orphans_of_another_group_end_with_it)
{
    begin("");
    START(&c, redlock_binary(), "run", "--grace", "200ms", "job", "--", "bash", "-c",
          "set -m; sleep 60 & echo $! >$F; (sleep 60 & echo $! >$S); exit 4");
    ck_assert_int_eq(command_code(&c), 4);
    ck_assert(!is_alive((pid_t)number_in(first)));
    ck_assert(!is_alive((pid_t)number_in(second)));
}
END_TEST

/* And what is no orphan yet ends with a lost lock, whatever its group. */
START_TEST(other_groups_end_when_it_is_lost)
{
    begin("");
    START(
        &c, redlock_binary(), "run", "-t", "1s", "--max", "1s", "job", "--", "bash", "-c",
        "trap '' TERM; set -m; (trap '' TERM; sleep 60) & echo $! >$S; echo $$ >$F; while :; do wait; done");
    pid_t pid = (pid_t)number_in(first), other = (pid_t)number_in(second);
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert(!is_alive(pid));
    ck_assert(!is_alive(other));
}
END_TEST

START_TEST(what_ends_by_itself_is_not_disturbed)
{
    begin("");
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "job", "--", "bash", "-c",
            "trap 'echo disturbed' TERM; exec > >(while read -r x; do echo got $x; done); echo word"),
        0);
    ck_assert_str_eq(output(&c), "got word\n");
    ck_assert_str_eq(errors(&c), "");
}
END_TEST

/* As the manual says: who leaves the session wants to stay. */
START_TEST(setsid_escapes)
{
    begin("");
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "job", "--", "sh", "-c",
            "setsid sh -c 'echo $$ >$F; exec sleep 60' & while ! [ -s $F ]; do sleep 0.01; done"),
        0);
    pid_t pid = (pid_t)number_in(first);
    ck_assert(is_alive(pid));
    ck_assert(is_free("job"));
    kill(pid, SIGKILL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redlock run, and loss");
    ADD(suite, released_by_somebody_else);
    ADD(suite, without_a_majority_it_is_gone_before_the_deadline);
    ADD(suite, it_has_its_grace);
    ADD(suite, max_is_an_end_too);
    ADD(suite, restarted_daemon_goes_on_with_the_lock);
    ADD(suite, daemon_that_does_not_come_back);
    ADD(suite, killed_itself);
    ADD(suite, stopped_itself);
    ADD(suite, orphans_end_with_it);
    ADD(suite, orphans_of_another_group_end_with_it);
    ADD(suite, other_groups_end_when_it_is_lost);
    ADD(suite, what_ends_by_itself_is_not_disturbed);
    ADD(suite, setsid_escapes);
    return harness_main(suite);
}
