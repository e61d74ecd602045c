/* The share of each client in a lock that all of them want: several daemons, each with clients that wait
 * for one name, hold it for a moment, give it back and wait again. Prints how evenly the grants fall
 * (Jain's index: 1 is even, 1/n means that one client gets all), the longest wait, and how long the lock was
 * on its way from one daemon to another: from the UNLOCK written to the +LOCKED read. The growth of the fence
 * is asserted, but no time is. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integ/harness.h"

enum { MASTERS = 5, MOST_DAEMONS = 10, MOST_WAITERS = 64, MOST_S = 40, MOST_LOAD = 100000, WAYS = 65536 };

struct waiter {
    struct client client;
    unsigned daemon;
    unsigned grants;
    int64_t asked_ms, longest_ms;
    int64_t gives_back_ms; /* 0: the client does not hold the lock */
};

static struct cluster masters;
static struct daemon redlockd[MOST_DAEMONS];
static struct waiter waiter[MOST_DAEMONS * MOST_WAITERS];
static unsigned daemons, waiters; /* all of them */
static int64_t hold_ms, fence;
static unsigned turns, last_daemon;
static int64_t unlocked_us;  /* when the UNLOCK of the last holder was written */
static int64_t way_us[WAYS]; /* how long the lock was on its way to another daemon, */
static unsigned ways;        /* so often */

static unsigned setting(const char *name, unsigned ordinary, unsigned most)
{
    const char *text = getenv(name);
    unsigned value = text != NULL && *text != '\0' ? (unsigned)strtoul(text, NULL, 10) : ordinary;
    return value < most ? value : most;
}

static int64_t now_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static void wait_again(struct waiter *w)
{
    client_send(&w->client, "LOCK job wait=1h");
    w->asked_ms = now_ms();
}

static void note_wait(struct waiter *w)
{
    int64_t waited_ms = now_ms() - w->asked_ms;
    if (waited_ms > w->longest_ms)
        w->longest_ms = waited_ms;
}

static void give_back(struct waiter *w)
{
    w->gives_back_ms = 0;
    unlocked_us = now_us();
    client_send(&w->client, "UNLOCK job");
    wait_again(w);
}

static void granted(struct waiter *w, const char *line)
{
    int64_t last = fence;
    fence = number(line, "fence");
    ck_assert_int_gt(fence, last);
    w->grants++;
    note_wait(w);
    if (turns > 0 && w->daemon != last_daemon && ways < WAYS)
        way_us[ways++] = now_us() - unlocked_us;
    turns += turns == 0 || w->daemon != last_daemon;
    last_daemon = w->daemon;
    w->gives_back_ms = now_ms() + hold_ms;
    if (hold_ms == 0)
        give_back(w);
}

static void read_all(int timeout_ms)
{
    struct pollfd fds[MOST_DAEMONS * MOST_WAITERS];
    for (unsigned i = 0; i < waiters; i++)
        fds[i] = (struct pollfd){.fd = waiter[i].client.fd, .events = POLLIN};
    poll(fds, waiters, timeout_ms);
    for (unsigned i = 0; i < waiters; i++) {
        while (fds[i].revents != 0 && !client_silent(&waiter[i].client)) {
            const char *line = next_line(&waiter[i].client);
            ck_assert_msg(strncmp(line, "+LOCKED ", 8) == 0 || strncmp(line, "+UNLOCKED ", 10) == 0, "%s",
                          line);
            if (line[1] == 'L')
                granted(&waiter[i], line);
        }
    }
}

static void run(int64_t run_ms)
{
    int64_t end_ms = now_ms() + run_ms;
    for (unsigned i = 0; i < waiters; i++)
        wait_again(&waiter[i]);
    while (now_ms() < end_ms) {
        read_all(hold_ms > 0 ? 1 : 100);
        for (unsigned i = 0; i < waiters; i++)
            if (waiter[i].gives_back_ms != 0 && now_ms() >= waiter[i].gives_back_ms)
                give_back(&waiter[i]);
    }
    for (unsigned i = 0; i < waiters; i++)
        if (waiter[i].gives_back_ms == 0)
            note_wait(&waiter[i]); /* clients that starved show too */
}

/* Jain, Chiu, Hawe: A Quantitative Measure of Fairness, 1984. */
static double jain(const unsigned *shares, unsigned count)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += shares[i];
        squares += (double)shares[i] * shares[i];
    }
    return squares > 0 ? sum * sum / (count * squares) : 0;
}

static uint64_t commands(void)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        const char *info = redis(&masters.server[i], "INFO stats");
        const char *row = strstr(info, "total_commands_processed:");
        ck_assert_ptr_nonnull(row);
        all += strtoull(strchr(row, ':') + 1, NULL, 10);
    }
    return all / MASTERS;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void tell_ways(void)
{
    qsort(way_us, ways, sizeof way_us[0], by_size);
    if (ways > 0)
        printf("to_another_daemon=%u p50_us=%d p99_us=%d longest_us=%d\n", ways, (int)way_us[ways / 2],
               (int)way_us[ways * 99 / 100], (int)way_us[ways - 1]);
}

static void tell(double seconds, uint64_t commands_each)
{
    unsigned of_daemon[MOST_DAEMONS] = {0}, of_waiter[MOST_DAEMONS * MOST_WAITERS], grants = 0;
    int64_t longest_ms = 0;
    for (unsigned i = 0; i < waiters; i++) {
        of_waiter[i] = waiter[i].grants;
        of_daemon[waiter[i].daemon] += waiter[i].grants;
        grants += waiter[i].grants;
        longest_ms = waiter[i].longest_ms > longest_ms ? waiter[i].longest_ms : longest_ms;
    }
    printf("daemons=%u waiters=%u hold_ms=%d seconds=%.0f grants=%u\n", daemons, waiters, (int)hold_ms,
           seconds, grants);
    printf("jain_daemons=%.3f jain_waiters=%.3f longest_wait_ms=%d turns=%u "
           "commands_per_master_and_grant=%.2f commands_per_master_and_second=%.0f\n",
           jain(of_daemon, daemons), jain(of_waiter, waiters), (int)longest_ms, turns,
           grants > 0 ? (double)commands_each / grants : 0, (double)commands_each / seconds);
    tell_ways();
    for (unsigned i = 0; i < daemons; i++)
        printf("daemon=%u grants=%u\n", i, of_daemon[i]);
    fflush(stdout);
}

/* Takes so many other locks a second through all daemons, until this process is killed. */
static void load(unsigned rate)
{
    static struct client client[MOST_DAEMONS];
    ck_assert_uint_gt(daemons, 0);
    ck_assert_uint_gt(rate, 0);
    for (unsigned i = 0; i < daemons; i++)
        client_open(&client[i], &redlockd[i]);
    int64_t began_us = now_us();
    for (uint64_t n = 0;; n++) {
        struct client *c = &client[n % daemons];
        ask(c, "+LOCKED *", "LOCK other-%u", (unsigned)(n % 500));
        ask(c, "+UNLOCKED *", "UNLOCK other-%u", (unsigned)(n % 500));
        int64_t ahead_us = began_us + (int64_t)(n * 1000000 / rate) - now_us();
        if (ahead_us > 0)
            usleep((useconds_t)ahead_us);
    }
}

/* Returns the process that makes the load; 0: there is none. */
static pid_t load_start(unsigned rate)
{
    pid_t pid = rate > 0 ? fork() : 0;
    ck_assert_int_ge(pid, 0);
    if (rate == 0 || pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    load(rate);
    _exit(0);
}

static void load_stop(pid_t pid)
{
    if (pid > 0 && kill(pid, SIGKILL) == 0)
        waitpid(pid, NULL, 0);
}

T(fairness)
{
    unsigned seconds = setting("FAIR_S", 10, MOST_S);
    unsigned each = setting("FAIR_WAITERS", 8, MOST_WAITERS);
    daemons = setting("FAIR_DAEMONS", 3, MOST_DAEMONS);
    hold_ms = setting("FAIR_HOLD_MS", 0, 1000);
    waiters = daemons * each;
    cluster_start(&masters, MASTERS, UNIX);
    for (unsigned i = 0; i < daemons; i++)
        daemon_start(&redlockd[i], &masters, "");
    for (unsigned i = 0; i < waiters; i++) {
        waiter[i].daemon = i / each;
        client_open(&waiter[i].client, &redlockd[waiter[i].daemon]);
    }
    pid_t other = load_start(setting("FAIR_LOAD", 0, MOST_LOAD));
    uint64_t before = commands();
    run((int64_t)seconds * 1000);
    load_stop(other);
    tell(seconds, commands() - before);
}
