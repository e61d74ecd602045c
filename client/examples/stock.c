/* Stock that must not be oversold: 200 workers want one item each, and there are 50.
 *
 *     redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
 *     stock localhost:6379 lamp 200            "50 sold, 150 came too late"
 *
 * Each worker reads how many items are left, decides, and writes how many are left then. The lock lets one
 * worker at a time do so. The fence keeps the number right if a worker stands still after it has read, for
 * longer than it may hold the lock (swapping, a hypervisor, a slow call), and then tries to write an old
 * number. Try it:
 *
 *     stock -a localhost:6379 lamp 1           asks before it buys: press ^Z
 *     stock localhost:6379 lamp 200            goes on when the first worker's time is over
 *     fg, Enter                                "refused", and the worker reads again
 *
 * The workers show the fence for reading too. If they showed it for writing only, a late worker could still
 * write after the next worker has read and before the next worker has written.
 *
 * If one statement does it all, as UPDATE ... SET left = left - 1 WHERE left > 0, no lock is needed. The
 * lock is for steps in between that the database cannot do (a price, a limit, a person). A version number
 * that each write compares would also keep the number of items right, but then all workers decide at once,
 * and all but one have to decide again.
 *
 *     cc stock.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <redlock.h>

#include "resource.h"

enum { WORKERS_MAX = 1000, TTL_MS = 2000, HOLD_MS = 4000, WAIT_MS = 60000 };
enum outcome { SOLD = 0, FAILED = 1, TOO_LATE = 3, REFUSED = 4 };

/* A fenced resource keeps the highest fence that it was shown, and refuses a lower fence.
 * KEYS: the item, its orders; ARGV: the fence, ... */
#define FENCED                                                                                       \
    "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return -1 end " \
    "redis.call('HSET', KEYS[1], 'fence', ARGV[1]) "
static const char read_left[] = FENCED "return tonumber(redis.call('HGET', KEYS[1], 'left') or 0)";
static const char write_left[] = FENCED "redis.call('HSET', KEYS[1], 'left', ARGV[2]) "
                                        "return redis.call('RPUSH', KEYS[2], ARGV[3])";

struct worker {
    struct redlock *redlock;
    redisContext *redis;
    const char *item;
    unsigned number;
    bool asks;
};

/* Stands for the steps between reading and writing. */
static void worker_decide(const struct worker *worker, long long left)
{
    if (worker->asks) {
        printf("worker %u: %lld left; Enter buys\n", worker->number, left);
        (void)getchar();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static enum outcome buy_locked(const struct worker *worker, uint64_t fence)
{
    const char *item = worker->item;
    long long left = resource_number(
        resource_ask(worker->redis, "EVAL %s 1 stock:%s %llu", read_left, item, (unsigned long long)fence));

    if (left == 0)
        return TOO_LATE;
    if (left < 0)
        return REFUSED;
    worker_decide(worker, left);
    long long orders = resource_number(
        resource_ask(worker->redis, "EVAL %s 2 stock:%s orders:%s %llu %lld worker-%u", write_left, item,
                     item, (unsigned long long)fence, left - 1, worker->number));
    return orders < 0 ? REFUSED : SOLD;
}

static enum outcome buy(const struct worker *worker)
{
    /* max_ms: a worker that stands still holds up the others for no longer than this and one TTL. */
    const struct redlock_lock_options options = {.ttl_ms = TTL_MS, .max_ms = HOLD_MS, .wait_ms = WAIT_MS};
    char name[REDLOCK_NAME_BYTES + 1];

    (void)snprintf(name, sizeof name, "stock:%s", worker->item);
    struct redlock_lock *lock = redlock_lock(worker->redlock, name, &options);
    if (!lock) {
        fprintf(stderr, "worker %u: no lock: %s\n", worker->number, redlock_error_text(worker->redlock));
        return FAILED;
    }
    /* The fence is read once, since both steps belong to the same hold of the lock. */
    enum outcome outcome = buy_locked(worker, redlock_fence(lock));
    /* Whether the lock was still held no longer matters, since the fence has decided. */
    (void)redlock_unlock(lock);
    return outcome;
}

static enum outcome worker_main(const char *address, const char *item, unsigned number, bool asks)
{
    struct worker worker = {.redlock = redlock_open(NULL, NULL),
                            .redis = resource_open(address),
                            .item = item,
                            .number = number,
                            .asks = asks};
    enum outcome outcome;

    while ((outcome = buy(&worker)) == REFUSED)
        printf("worker %u: refused, a later lock was here; again\n", number);
    redisFree(worker.redis);
    redlock_close(worker.redlock);
    return outcome;
}

static void start_worker(const char *address, const char *item, unsigned number, bool asks)
{
    pid_t pid = fork();

    if (pid < 0) {
        perror("fork");
        exit(FAILED);
    }
    if (pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* ends with the program */
    exit((int)worker_main(address, item, number, asks));
}

int main(int argc, char **argv)
{
    bool asks = argc > 1 && strcmp(argv[1], "-a") == 0;
    unsigned sold = 0, late = 0, failed = 0;
    int status;

    argc -= asks;
    argv += asks;
    unsigned long workers = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if (workers < 1 || workers > WORKERS_MAX) {
        fprintf(stderr, "usage: stock [-a] REDIS ITEM WORKERS\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 1; i <= workers; i++)
        start_worker(argv[1], argv[2], i, asks);
    while (wait(&status) > 0) {
        int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
        sold += outcome == SOLD;
        late += outcome == TOO_LATE;
        failed += outcome != SOLD && outcome != TOO_LATE;
    }
    printf("%u sold, %u came too late\n", sold, late);
    if (failed > 0)
        fprintf(stderr, "%u workers failed\n", failed);
    return failed > 0 ? FAILED : 0;
}
