/* redlock run --every: once a period, on one of many hosts. */
#include "tests/integ/command.h"

#include <stdlib.h>
#include <string.h>

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
