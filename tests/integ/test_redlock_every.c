/* redlock run --every: once a period, on one of many hosts. */
#include "tests/integ/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command c, other;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
}

static bool is_kept(const char *name)
{
    client_send(&a, "WHO %s", name);
    return rows_with(client_rows_at(&a, __FILE__, __LINE__), "mode=kept") == 1;
}

T(the_next_host_finds_it_done)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "--", "echo", "done"), 0);
    ck_assert_str_eq(output(&c), "done\n");
    ck_assert(is_kept("job"));
    client_send(&a, "WHO job");
    const char *row = client_rows_at(&a, __FILE__, __LINE__);
    ck_assert_int_gt(number(row, "left"), 53 * 60000); /* nine tenths of the hour */
    ck_assert_int_le(number(row, "left"), 54 * 60000);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "--", "echo", "again"), 0);
    ck_assert_str_eq(output(&c), "");
    ck_assert_str_eq(errors(&c), "");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-v", "--every", "1h", "job", "--", "echo", "again"),
                     0);
    ck_assert_str_eq(output(&c), "");
    ck_assert_ptr_nonnull(strstr(errors(&c), "job: it was run, and is kept for 53m"));
    ask(&a, "+UNLOCKED job *", "UNLOCK job kept");
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "--every", "1h", "--keep", "10m", "job", "--", "echo", "again"), 0);
    ck_assert_str_eq(output(&c), "again\n");
}

T(while_it_runs)
{
    begin(PATIENT);
    START(&other, redlock_binary(), "run", "--every", "1h", "job", "--", "sleep", "100");
    eventually(rows_with(show(&a, "LOCKS"), "name=job ") == 1);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "-v", "job", "--", "echo", "done"), 0);
    ck_assert_str_eq(output(&c), "");
    ck_assert_ptr_nonnull(strstr(errors(&c), "job: it is being run"));
}

T(a_job_that_fails_is_free_for_the_next)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "--", "sh", "-c", "exit 3"), 3);
    ck_assert(!is_kept("job"));
    ck_assert_int_eq(
        RUN(&c, redlock_binary(), "run", "--every", "1h", "--every-try", "job", "--", "sh", "-c", "exit 4"),
        4);
    ck_assert(is_kept("job"));
}

/* The job took longer than its name was to be kept. */
T(it_is_over_already)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "100ms", "job", "--", "sleep", "0.2"), 0);
    ck_assert(!is_kept("job"));
    ck_assert_str_eq(errors(&c), "");
}

T(redlockd_does_not_keep_it)
{
    begin(PATIENT "max_keep: 1m\nmax_marks: 1\n");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "--", "echo", "done"), 0);
    ck_assert_str_eq(output(&c), "done\n");
    ck_assert_ptr_nonnull(
        strstr(errors(&c), "the next host may run it, too: redlockd keeps no name for so long"));
    ck_assert(cluster_gave_back(&masters, "job"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1m", "job", "--", "true"), 0);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1m", "more", "--", "true"), 0);
    ck_assert_ptr_nonnull(strstr(errors(&c), "redlockd keeps too many names already"));
    ck_assert(cluster_gave_back(&masters, "more"));
}

static void redlockd_dies(void)
{
    client_close(&a);
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
}

/* The job ends while redlockd is away: as long as the lock lasts nobody else has it, so its name can still be kept. */
T(redlockd_is_back_when_the_job_has_ended)
{
    char path[PATH];
    begin(PATIENT);
    snprintf(path, sizeof path, "%s/word", folder_new("words"));
    setenv("F", path, 1);
    START(&c, redlock_binary(), "run", "--every", "1h", "job", "-c",
          "echo >$F; while [ -e $F ]; do sleep 0.05; done");
    (void)number_in(path);
    redlockd_dies();
    (void)unlink(path);
    for (int64_t end_ms = now_ms() + 4500; now_ms() < end_ms; nap())
        ck_assert(!command_is_over(&c));
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    ck_assert_int_eq(command_code(&c), 0);
    ck_assert_str_eq(errors(&c), "");
    client_open(&a, &redlockd);
    ck_assert(is_kept("job"));
}

T(redlockd_does_not_come_back)
{
    char pid[16];
    begin("node_timeout: 250ms\ndefault_ttl: 5s\n");
    snprintf(pid, sizeof pid, "%d", (int)redlockd.pid);
    setenv("P", pid, 1);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "-c", "kill -KILL $P"), 0);
    ck_assert_ptr_nonnull(strstr(errors(&c), "job: sh has ended, but the next host may run it, too: "));
    ck_assert_ptr_nonnull(strstr(errors(&c), redlockd.path));
}

/* A redlockd at which many ask at once, so that nobody wins the first time. */
static void split_once(int listener)
{
    char line[1100], tag[64], verb[16];
    unsigned locks = 0;

    FILE *in = fdopen(accept(listener, NULL, NULL), "r+");
    while (fgets(line, sizeof line, in) && sscanf(line, "%63s %15s", tag, verb) == 2) {
        long long ms = now_ms();
        fseek(in, 0, SEEK_CUR);
        if (strcmp(verb, "HELLO") == 0)
            fprintf(in, "%s +HELLO proto=1 server=redlockd/9 now=%lld features=keep\n", tag, ms);
        else if (strcmp(verb, "LOCK") == 0 && locks++ == 0)
            fprintf(in, "%s -BUSY job split=1 : nobody won\n", tag);
        else if (strcmp(verb, "LOCK") == 0)
            fprintf(in, "%s +LOCKED job token=%040d fence=7 valid=30000 until=%lld\n", tag, 7, ms + 30000);
        else
            fprintf(in, "%s +KEPT job until=%lld confirmed=3/3\n", tag, ms + 1000);
        fflush(in);
    }
    _exit(0);
}

/* The job is not done then, so its exit code for a job that another host does is not given. */
T(nobody_won)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", folder_new("split"));
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        split_once(listener);
    }
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "-a", address.sun_path, "--every", "1h", "-E", "3",
                         "job", "--", "echo", "done"),
                     0);
    ck_assert_str_eq(output(&c), "done\n");
}

T(too_few_masters)
{
    begin("node_timeout: 250ms\n");
    server_kill(&masters.server[0]);
    server_kill(&masters.server[1]);
    eventually(rows_with(show(&a, "NODES"), "state=down") == 2);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "job", "--", "echo", "done"), 122);
    ck_assert_str_ne(errors(&c), "");
}

T(wrong_options)
{
    static const char *const wrong[][4] = {
        {"--every", "0s", NULL, "a period is needed"},      {"--every", "1h", "--shared", "exclusive lock"},
        {"--every", "1h", "--slots=2", "exclusive lock"},   {"--every-try", NULL, NULL, "are for --every"},
        {"--keep=5m", NULL, NULL, "are for --every"},       {"--every", "1h", "--keep=2h", "no longer than"},
        {"--every", "1h", "--keep=0s", "--keep is above 0"}};

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *argv[9] = {redlock_binary(), "run"};
        unsigned words = 2;
        for (unsigned k = 0; k < 3 && wrong[i][k]; k++)
            argv[words++] = wrong[i][k];
        argv[words++] = "job";
        argv[words++] = "true";
        argv[words] = NULL;
        ck_assert_int_eq(command_run(&c, argv), 125);
        ck_assert_msg(strstr(errors(&c), wrong[i][3]) != NULL, "%u: %s", i, errors(&c));
    }
    ck_assert_int_eq(RUN(&c, redlock_binary(), "run", "--every", "1h", "a,b", "true"), 125);
}

/* ---- ten hosts at five daemons ---- */

enum { HOSTS = 10, DAEMONS = 5 };

static const char six_seconds[] = "restart_guard: on\nmax_ttl: 6s\ndefault_ttl: 6s\n";
static struct daemon five[DAEMONS];
static struct command host[HOSTS];

/* All begin at once. Returns how many have run the job; *fence is its fence. */
static unsigned all_begin(int64_t *fence)
{
    unsigned ran = 0;

    for (unsigned i = 0; i < HOSTS; i++) {
        command_use(&five[i % DAEMONS]);
        START(&host[i], redlock_binary(), "run", "--every", "1h", "job", "--", "sh", "-c",
              "echo $REDLOCK_FENCE");
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        (void)command_code(&host[i]); /* too few masters may vote now and then */
        if (*output(&host[i]) == '\0')
            continue;
        ran++;
        *fence = atoll(output(&host[i]));
    }
    return ran;
}

static void restart_empty(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        server_kill(&masters.server[i]);
    for (unsigned i = first; i < first + count; i++)
        server_start(&masters.server[i]);
}

static bool has_marks(void)
{
    client_send(&a, "WHO job");
    const char *rows = client_rows_at(&a, __FILE__, __LINE__);
    return rows_with(rows, "mode=kept") == 1 && rows_with(rows, "votes=5/5") == 1;
}

static bool is_run_again(int64_t *fence)
{
    return all_begin(fence) == 1;
}

/* A minority at a time takes nothing away; a majority at once may have the job run a second time, with a greater fence. */
T(ten_hosts_while_masters_are_restarted_empty)
{
    int64_t fence = 0, second = 0;

    cluster_start(&masters, DAEMONS, UNIX);
    cluster_trust(&masters, 6000);
    for (unsigned i = 0; i < DAEMONS; i++)
        daemon_serves(&five[i], &masters, six_seconds, &a);
    eventually(is_run_again(&fence));
    for (unsigned i = 0; i < DAEMONS; i++) {
        eventually(has_marks());
        restart_empty(i, 1);
        ck_assert_uint_eq(all_begin(&second), 0);
    }
    eventually(has_marks());
    restart_empty(0, 3);
    eventually_within(is_run_again(&second), 60000);
    ck_assert_int_gt(second, fence);
}
