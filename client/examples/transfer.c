/* A transfer between two accounts, each of which has a lock of its own: two names at once.
 *
 *     redis-cli HSET account:ann amount 100                 (your own Redis, none of redlockd's masters)
 *     redis-cli HSET account:bob amount 100
 *     transfer localhost:6379 ann bob 10 1000               a thousand times 10, as far as there is enough
 *     transfer localhost:6379 bob ann 10 1000               at the same time, in the other order
 *
 * The lock of both names is taken or not taken as a whole. With two locks, one after the other, the two programs
 * above would each have one name and wait for the other's, unless everybody takes names in one order; and if the
 * second one is lost while the first is held, there are two ends to think about. A lock of several names has one
 * token, one end and one fence, which is above the fences of each of the names.
 *
 * Each account keeps the highest fence that it was shown, and refuses a lower one: a transfer that was paused for
 * longer than it may hold its lock is refused by both, and begins anew. Try it: -a asks before it writes; press ^Z,
 * run another one, then fg and Enter.
 *
 * If both accounts are in one database, a transaction does it, and no lock is needed. The lock is for steps in
 * between that the database cannot do (a limit, a price, a person), and for accounts in two places; then write down
 * first what is to be done, so that whoever comes next can finish it.
 *
 *     cc transfer.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <redlock.h>

#include "resource.h"

enum { TTL_MS = 2000, HOLD_MS = 4000, WAIT_MS = 60000, AGAIN_MS = 100 };
enum outcome { DONE, SHORT, REFUSED, FAILED };

/* KEYS: an account; ARGV: the fence */
static const char read_amount[] =
    "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return -1 end "
    "redis.call('HSET', KEYS[1], 'fence', ARGV[1]) "
    "return tonumber(redis.call('HGET', KEYS[1], 'amount') or 0)";
/* KEYS: both accounts; ARGV: the fence, their amounts. Either account may refuse it for both. */
static const char write_amounts[] =
    "for i = 1, 2 do "
    "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[i], 'fence') or 0) then return -1 end end "
    "for i = 1, 2 do redis.call('HSET', KEYS[i], 'fence', ARGV[1], 'amount', ARGV[1 + i]) end "
    "return redis.call('INCR', 'transfers')";

struct transfer {
    struct redlock *redlock;
    redisContext *redis;
    const char *from, *to;
    long long amount;
    bool asks;
};

static long long amount_of(const struct transfer *t, unsigned long long fence, const char *account)
{
    return resource_number(resource_ask(t->redis, "EVAL %s 1 account:%s %llu", read_amount, account, fence));
}

/* Stands for the steps between reading and writing. */
static void decide(const struct transfer *t, long long from, long long to)
{
    if (t->asks) {
        printf("%s has %lld, %s has %lld; Enter goes on\n", t->from, from, t->to, to);
        (void)getchar();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static enum outcome move_locked(const struct transfer *t, unsigned long long fence)
{
    long long from = amount_of(t, fence, t->from), to = amount_of(t, fence, t->to);

    if (from < 0 || to < 0)
        return REFUSED;
    if (from < t->amount)
        return SHORT;
    decide(t, from, to);
    long long written =
        resource_number(resource_ask(t->redis, "EVAL %s 2 account:%s account:%s %llu %lld %lld",
                                     write_amounts, t->from, t->to, fence, from - t->amount, to + t->amount));
    return written < 0 ? REFUSED : DONE;
}

static enum outcome move(const struct transfer *t)
{
    const struct redlock_lock_options options = {.ttl_ms = TTL_MS, .max_ms = HOLD_MS, .wait_ms = WAIT_MS};
    char names[REDLOCK_NAMES_BYTES + 1];

    (void)snprintf(names, sizeof names, "account:%s,account:%s", t->from, t->to);
    struct redlock_lock *lock = NULL;
    for (int ms = 0; ms < WAIT_MS && !lock; ms += AGAIN_MS) { /* a redlockd that is restarted is back soon */
        lock = redlock_lock(t->redlock, names, &options);
        if (lock || redlock_error(t->redlock) != REDLOCK_CONNECT)
            break;
        (void)poll(NULL, 0, AGAIN_MS);
    }
    if (!lock) {
        fprintf(stderr, "no lock: %s\n", redlock_error_text(t->redlock));
        return FAILED;
    }
    /* The fence is read once, since all steps belong to the same hold of the lock. */
    enum outcome outcome = move_locked(t, redlock_fence(lock));
    (void)redlock_unlock(lock);
    return outcome;
}

int main(int argc, char **argv)
{
    bool asks = argc > 1 && strcmp(argv[1], "-a") == 0;
    unsigned done = 0, too_little = 0;

    argc -= asks;
    argv += asks;
    unsigned long times = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;
    struct transfer t = {.asks = asks, .amount = argc == 6 ? strtoll(argv[4], NULL, 10) : 0};
    if (times < 1 || t.amount < 1 || strcmp(argv[2], argv[3]) == 0) {
        fprintf(stderr, "usage: transfer [-a] REDIS FROM TO AMOUNT TIMES\n");
        return 2;
    }
    t.from = argv[2];
    t.to = argv[3];
    t.redlock = redlock_open(NULL, NULL);
    t.redis = resource_open(argv[1]);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    enum outcome outcome = DONE;
    for (unsigned long i = 0; i < times && outcome != FAILED; i++) {
        while ((outcome = move(&t)) == REFUSED)
            printf("refused, a later lock was here; again\n");
        done += outcome == DONE;
        too_little += outcome == SHORT;
    }
    redisFree(t.redis);
    redlock_close(t.redlock);
    printf("%u done, %u times there was too little\n", done, too_little);
    return outcome == FAILED;
}
