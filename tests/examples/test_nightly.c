/* Ten hosts, which share three redlockds, and a job that takes as long as the test likes. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 10, DAEMONS = 3 };

/* The night's lease does not run out within this test, nor does the job's lock while a daemon restarts. */
static const char settings[] = "max_ttl: 10m\n" PATIENT;

static struct stage stage;
static struct daemon more[DAEMONS - 1];
static char ran[PATH]; /* a line for each begin and for each end of the job */
static char go[PATH];  /* the job ends when this file is there */
static char job[512];

static void begin(void)
{
    const char *folder = folder_new("nightly");

    stage_begin(&stage, settings);
    stage_hosts(&stage, more, DAEMONS - 1, settings);
    ck_assert_int_eq(setenv("KEEP", "10m", 1), 0);
    ck_assert_int_eq(setenv("NIGHT", "2030-01-31", 1), 0);
    snprintf(ran, sizeof ran, "%s/ran", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(job, sizeof job, "echo begun >>%s; while [ ! -e %s ]; do sleep 0.05; done; echo done >>%s", ran,
             go, ran);
}

/* Each third host has the same daemon. */
static void host(struct program *program, unsigned i)
{
    char address[PATH + 8];
    const struct daemon *daemon = i % DAEMONS == 0 ? &stage.daemon : &more[i % DAEMONS - 1];

    snprintf(address, sizeof address, "unix:%s", daemon->path);
    ck_assert_int_eq(setenv("REDLOCK_ADDRESS", address, 1), 0);
    program_begin(program, "nightly.sh", (const char *const[]){"report", "sh", "-c", job, NULL});
}

static unsigned jobs(const char *what)
{
    char *text = file_read(ran);
    unsigned count = text_lines(text, what);

    free(text);
    return count;
}

static unsigned running(const struct program hosts[])
{
    unsigned count = 0;

    for (unsigned i = 0; i < HOSTS; i++)
        count += program_runs(&hosts[i]);
    return count;
}

/* All hosts ask at once, and a master dies when the job has begun. Returns the host at work, when all others
 * have ended without a word. */
static struct program *all_but_one_leave(struct program hosts[])
{
    struct program *at_work = NULL;

    for (unsigned i = 0; i < HOSTS; i++)
        host(&hosts[i], i);
    eventually(jobs("begun") > 0);
    server_kill(&stage.masters.server[0]);
    eventually(running(hosts) == 1);
    for (unsigned i = 0; i < HOSTS; i++) {
        if (program_runs(&hosts[i])) {
            at_work = &hosts[i];
            continue;
        }
        ck_assert_int_eq(program_end(&hosts[i]), 0);
        ck_assert_str_eq(keep(file_read(hosts[i].out)), "");
    }
    ck_assert_ptr_nonnull(at_work);
    return at_work;
}

static void a_late_host_leaves(void)
{
    struct program late;

    host(&late, 1);
    ck_assert_int_eq(program_end(&late), 0);
}

/* The examples in other languages take a lease for the night, which nobody gives back; the script keeps the name. */
static bool is_kept(void)
{
    return getenv("REDLOCKD_EXAMPLES") == NULL;
}

static void next_night(void)
{
    struct client operator;

    ck_assert_int_eq(setenv("NIGHT", "2030-02-01", 1), 0);
    if (!is_kept())
        return;
    client_open(&operator, & more[0]);
    ask(&operator, "+UNLOCKED report confirmed=*", "UNLOCK report kept");
    client_close(&operator);
}

T(one_of_ten_does_the_job)
{
    struct program hosts[HOSTS], next;

    begin();
    struct program *at_work = all_but_one_leave(hosts);
    daemon_restart(&stage.daemon);
    for (unsigned i = 0; i < DAEMONS - 1; i++) {
        daemon_restart(&more[i]);
        masters_vote(&more[i], stage.masters.count - 1);
    }
    file_write(go, "");
    ck_assert_int_eq(program_end(at_work), 0);
    ck_assert_uint_eq(jobs("done"), 1);
    a_late_host_leaves();
    ck_assert_uint_eq(jobs("begun"), 1);

    next_night();
    host(&next, 2);
    ck_assert_int_eq(program_end(&next), 0);
    ck_assert_uint_eq(jobs("begun"), 2);
    ck_assert_uint_eq(jobs("done"), 2);
}

/* Whether a job was begun again; the lock is free when all that its dead host had started has ended. */
static bool is_begun_again(void)
{
    a_late_host_leaves();
    return jobs("begun") == 2;
}

/* With a lease no host begins a job that another host has begun, even if that host died at work. A name is kept only when
 * the job was done, so that another host begins it again. */
T(a_host_dies_at_work)
{
    struct program hosts[HOSTS];

    begin();
    struct program *at_work = all_but_one_leave(hosts);
    ck_assert_int_eq(kill(at_work->pid, SIGKILL), 0);
    ck_assert_int_eq(program_end(at_work), -SIGKILL);
    if (!is_kept())
        a_late_host_leaves();
    file_write(go, "");
    if (is_kept())
        eventually(is_begun_again());
    ck_assert_uint_eq(jobs("begun"), is_kept() ? 2 : 1);
}

/* A job that failed is done by the host that asks next, and by nobody after that. */
T(a_failed_job_is_done_by_the_next_host)
{
    struct program first, second;

    if (!is_kept())
        return;
    begin();
    file_write(ran, "");
    snprintf(job, sizeof job, "echo begun >>%s; [ $(grep -c begun %s) -gt 1 ]", ran, ran);
    host(&first, 0);
    ck_assert_int_eq(program_end(&first), 1);
    host(&second, 1);
    ck_assert_int_eq(program_end(&second), 0);
    a_late_host_leaves();
    ck_assert_uint_eq(jobs("begun"), 2);
}
