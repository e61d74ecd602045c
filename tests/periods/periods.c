/* Jobs that run once a period: ten hosts start each of ten jobs in each period, with clocks that are apart by up to a
 * twelfth of it, at five daemons, while every master is restarted empty, one after the other. No two starts of a job may
 * be less than nine tenths of a period apart, and 99 of 100 periods must see the job run. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integ/harness.h"

enum { MASTERS = 5, DAEMONS = 5, HOSTS = 10, JOBS = 10, MOST_S = 3600, STARTS = 1 << 16, RUNNING = 4096 };

static const char settings[] = "restart_guard: on\nmax_ttl: 4s\ndefault_ttl: 2s\n";
enum { RESTART_MS = 7000 /* a quarantine is over by then */ };

/* The job notes its start, by a clock of 10 ms, and when its host began. */
static const char job[] = "read up idle </proc/uptime; echo \"$1 $2 $up\" >>\"$0\"";

static struct cluster masters;
static struct daemon redlockd[DAEMONS];
static char log_path[PATH], period[32];
static int64_t period_ms, periods;
static pid_t running[RUNNING];
static unsigned runs, hosts, refused;

struct start {
    int job;
    int64_t host_ms, at_ms;
};
static struct start starts[STARTS];
static unsigned started;

static int64_t boot_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_BOOTTIME, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static int64_t setting(const char *name, int64_t ordinary, int64_t most)
{
    const char *text = getenv(name);
    int64_t value = text != NULL && *text != '\0' ? strtoll(text, NULL, 10) : ordinary;
    return value < most ? value : most;
}

/* ---- hosts ---- */

static void host_begin(int number, unsigned host)
{
    char address[PATH + 8], name[16], which[8], now[24];
    snprintf(address, sizeof address, "unix:%s", redlockd[host % DAEMONS].path);
    snprintf(name, sizeof name, "job-%d", number);
    snprintf(which, sizeof which, "%d", number);
    snprintf(now, sizeof now, "%lld", (long long)boot_ms());
    ck_assert_int_eq(setenv("REDLOCK_ADDRESS", address, 1), 0);
    const char *const argv[] = {getenv("REDLOCK"), "run", "--every", period, name, "--", "sh", "-c", job,
                                log_path,          which, now,       NULL};
    ck_assert_uint_lt(runs, RUNNING);
    running[runs++] = program_start(argv, NULL);
    hosts++;
}

static void hosts_end(void)
{
    for (unsigned i = 0; i < runs;) {
        int status;
        if (waitpid(running[i], &status, WNOHANG) != running[i]) {
            i++;
            continue;
        }
        refused += status != 0;
        running[i] = running[--runs];
    }
}

/* When the job's period begins: the jobs are spread over the period. */
static int64_t period_at_ms(int64_t begun_ms, int64_t round, int number)
{
    return begun_ms + round * period_ms + number * period_ms / JOBS;
}

/* When the host begins it: the clocks of the hosts are apart, in each period otherwise. */
static int64_t host_at_ms(int64_t begun_ms, int64_t round, int number, unsigned host)
{
    uint64_t late =
        ((uint64_t)round * 7919 + (uint64_t)number * 104729 + host * UINT64_C(1299709)) * 2654435761;
    return period_at_ms(begun_ms, round, number) + (int64_t)(late >> 16) % (period_ms / 12 + 1);
}

static void restart_one(unsigned *next)
{
    struct server *server = &masters.server[(*next)++ % MASTERS];
    server_kill(server);
    server_start(server);
}

static void go(int64_t begun_ms)
{
    int64_t round[JOBS][HOSTS] = {{0}}, restarted_ms = boot_ms();
    unsigned next = 0;
    for (bool left = true; left;) {
        left = runs > 0;
        for (int number = 0; number < JOBS; number++)
            for (unsigned host = 0; host < HOSTS; host++) {
                int64_t *at = &round[number][host];
                left |= *at < periods;
                if (*at >= periods || boot_ms() < host_at_ms(begun_ms, *at, number, host))
                    continue;
                host_begin(number, host);
                ++*at;
            }
        hosts_end();
        if (boot_ms() - restarted_ms >= RESTART_MS) {
            restarted_ms = boot_ms();
            restart_one(&next);
        }
        nap();
    }
    printf("masters restarted: %u\n", next);
}

/* ---- the verdict ---- */

static int by_time(const void *left, const void *right)
{
    const struct start *a = left, *b = right;
    if (a->job != b->job)
        return a->job - b->job;
    return (a->at_ms > b->at_ms) - (a->at_ms < b->at_ms);
}

static void read_starts(void)
{
    char *text = file_read(log_path);
    int number;
    long long host_ms;
    double up_s;
    for (const char *line = text; sscanf(line, "%d %lld %lf", &number, &host_ms, &up_s) == 3;
         line = strchr(line, '\n') + 1) {
        ck_assert_uint_lt(started, STARTS);
        starts[started++] = (struct start){number, host_ms, (int64_t)(up_s * 1000 + 0.5)};
    }
    free(text);
    qsort(starts, started, sizeof starts[0], by_time);
}

/* A name is kept for nine tenths of the period from its LOCK on, which was sent when its host had begun. A mark that was
 * set again on a master ends earlier by the way of that master's last TIME. */
static void judge(int64_t begun_ms)
{
    int64_t least_ms = period_ms * 9 / 10 - period_ms / 100, shortest_ms = INT64_MAX;
    unsigned ran = 0, early = 0;
    for (unsigned i = 1; i < started; i++) {
        int64_t apart_ms = starts[i].at_ms - starts[i - 1].host_ms;
        if (starts[i].job != starts[i - 1].job)
            continue;
        shortest_ms = apart_ms < shortest_ms ? apart_ms : shortest_ms;
        early += apart_ms < least_ms;
    }
    for (int number = 0; number < JOBS; number++)
        for (int64_t k = 0; k < periods; k++) {
            int64_t from_ms = period_at_ms(begun_ms, k, number);
            bool seen = false;
            for (unsigned i = 0; i < started; i++)
                seen |= starts[i].job == number && starts[i].host_ms >= from_ms &&
                        starts[i].host_ms < from_ms + period_ms;
            ran += seen;
        }
    printf("periods=%lld ran=%u hosts=%u refused=%u starts=%u apart_least=%.3f of a period, too_early=%u\n",
           (long long)periods * JOBS, ran, hosts, refused, started, (double)shortest_ms / (double)period_ms,
           early);
    fflush(stdout);
    ck_assert_uint_eq(early, 0);
    ck_assert_uint_ge((uint64_t)ran * 100, (uint64_t)(periods * JOBS) * 99);
}

TIME_LIMIT_S(MOST_S + 60);

T(once_a_period)
{
    struct client client;
    period_ms = setting("PERIOD_S", 6, 3600) * 1000;
    periods = setting("PERIODS_S", 60, MOST_S) * 1000 / period_ms;
    snprintf(period, sizeof period, "%lldms", (long long)period_ms);
    snprintf(log_path, sizeof log_path, "%s/starts", folder_new("periods"));
    cluster_start(&masters, MASTERS, UNIX);
    cluster_trust(&masters, 4000);
    for (unsigned i = 0; i < DAEMONS; i++)
        daemon_serves(&redlockd[i], &masters, settings, &client);
    int64_t begun_ms = boot_ms() + 200;
    go(begun_ms);
    read_starts();
    judge(begun_ms);
}
