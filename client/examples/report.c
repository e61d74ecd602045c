/* A report that reads while nobody writes: the sum of accounts among which money is moved all the time.
 *
 *     redis-cli HSET ledger ann 100 bob 100 cleo 100        (your own Redis, none of redlockd's masters)
 *     report localhost:6379 book 1000                       moves money, 1,000 times
 *     report localhost:6379 read 1000                       "300" each time; in several terminals
 *
 * A report reads the accounts one after the other, which takes its time. Reports hold the lock as readers
 * (REDLOCK_SHARED): any number of them at a time, and no booking in between. A booking holds the same name
 * exclusively. Readers and writers take turns, so that neither starves.
 *
 * Both show their fence with each step. A reader's fence is above that of each writer before it, and a writer's above
 * that of each reader before it; readers beside each other may have any. So the resource keeps two: a booking that
 * stood still for longer than it may hold its lock is refused once a report or another booking was there, and a report
 * that stood still once a booking was. Try it: ^Z in the middle, fg.
 *
 * If the database gives a consistent view by itself (a transaction that is repeatable read, a snapshot), use that: no
 * lock is needed.
 *
 *     cc report.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <redlock.h>

#include "resource.h"

enum { TTL_MS = 10000, WAIT_MS = 60000, ACCOUNTS = 3 };
enum outcome { DONE, REFUSED, WRONG, FAILED };

static const char *const accounts[ACCOUNTS] = {"ann", "bob", "cleo"};

/* KEYS: the ledger; ARGV: the fence, ... */
#define FENCES                                                           \
    "local fence = tonumber(ARGV[1]) "                                   \
    "local wrote = tonumber(redis.call('HGET', KEYS[1], 'wrote') or 0) " \
    "local read = tonumber(redis.call('HGET', KEYS[1], 'read') or 0) "
static const char read_one[] =
    FENCES "if fence < wrote then return -1 end "
           "redis.call('HSET', KEYS[1], 'read', string.format('%.0f', math.max(fence, read))) "
           "return tonumber(redis.call('HGET', KEYS[1], ARGV[2]) or 0)";
/* ARGV: the fence, the account that gives 1, and the one that gets it. */
static const char move_one[] = FENCES "if fence < math.max(wrote, read) then return -1 end "
                                      "redis.call('HSET', KEYS[1], 'wrote', ARGV[1]) "
                                      "redis.call('HINCRBY', KEYS[1], ARGV[2], -1) "
                                      "return math.max(0, redis.call('HINCRBY', KEYS[1], ARGV[3], 1))";

struct job {
    struct redlock *redlock;
    redisContext *redis;
    long long total; /* as the first report saw it; -1: none was made */
};

/* Stands for the steps in between. */
static void job_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static long long job_read(struct job *job, unsigned long long fence, const char *account)
{
    return resource_number(resource_ask(job->redis, "EVAL %s 1 ledger %llu %s", read_one, fence, account));
}

static enum outcome report(struct job *job, unsigned long long fence)
{
    long long total = 0;

    for (unsigned i = 0; i < ACCOUNTS; i++) {
        long long amount = job_read(job, fence, accounts[i]);
        if (amount < 0)
            return REFUSED;
        total += amount;
        job_pause();
    }
    if (job->total < 0)
        job->total = total;
    printf("%lld\n", total);
    return total == job->total ? DONE : WRONG;
}

static enum outcome book(struct job *job, unsigned long long fence, unsigned turn)
{
    const char *from = accounts[turn % ACCOUNTS], *to = accounts[(turn + 1) % ACCOUNTS];
    long long amount = job_read(job, fence, from);

    if (amount <= 0)
        return amount < 0 ? REFUSED : DONE;
    job_pause();
    long long moved =
        resource_number(resource_ask(job->redis, "EVAL %s 1 ledger %llu %s %s", move_one, fence, from, to));
    return moved < 0 ? REFUSED : DONE;
}

static enum outcome step(struct job *job, bool reads, unsigned turn)
{
    const struct redlock_lock_options options = {
        .ttl_ms = TTL_MS, .wait_ms = WAIT_MS, .mode = reads ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE};
    struct redlock_lock *lock = redlock_lock(job->redlock, "ledger", &options);

    if (!lock) {
        fprintf(stderr, "no lock: %s\n", redlock_error_text(job->redlock));
        return FAILED;
    }
    unsigned long long fence = redlock_fence(lock);
    enum outcome outcome = reads ? report(job, fence) : book(job, fence, turn);
    (void)redlock_unlock(lock); /* whether it was held to the end does not matter: the fence has decided */
    return outcome;
}

int main(int argc, char **argv)
{
    bool reads = argc == 4 && strcmp(argv[2], "read") == 0;
    unsigned long times = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

    if (times < 1 || (!reads && strcmp(argv[2], "book") != 0)) {
        fprintf(stderr, "usage: report REDIS read|book TIMES\n");
        return 2;
    }
    struct job job = {.redlock = redlock_open(NULL, NULL), .redis = resource_open(argv[1]), .total = -1};
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    enum outcome outcome = DONE;
    for (unsigned i = 0; i < times && (outcome == DONE || outcome == REFUSED); i++)
        if ((outcome = step(&job, reads, i)) == REFUSED)
            printf("refused, a later lock was here; again\n");
    redisFree(job.redis);
    redlock_close(job.redlock);
    if (outcome == WRONG)
        fprintf(stderr, "that is not what was there at first\n");
    return outcome == DONE || outcome == REFUSED ? 0 : 1;
}
