/* A message queue's consumer that handles each message once.
 *
 *     redis-cli XADD bills '*' customer ann amount 12       (as often as you like)
 *     consumer localhost:6379 bills c1                      and c2, c3 in other terminals
 *     redis-cli HGETALL bills:balances
 *
 * A queue delivers at least once: a Redis stream lets another consumer claim a message that was not
 * acknowledged for IDLE_MS, since nothing tells a dead consumer from a slow consumer. Two things are needed:
 *  - The lock, named after the message, keeps two consumers from working on it at a time. Work costs, and
 *    its effects outside cannot be taken back. A consumer that finds the message locked leaves it alone; if
 *    the consumer at work dies, the message comes again.
 *  - The mark, set in one step with the effect, keeps a message from having an effect twice, even if a
 *    consumer was paused in the middle of its work for longer than its lock lasted. The mark is the fence of
 *    this resource: here the first consumer counts, not the consumer with the higher fence.
 * Try it: ^Z, ^C or kill -9 a consumer at work; kill redlockd and start it again; stop a master.
 *
 * If work has an effect outside (a mail), nobody can tell whether a consumer that died in between has caused
 * it. Then send the message's id along, so that the other side recognises a repeat.
 *
 *     cc consumer.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <redlock.h>

#include "resource.h"

enum { TTL_MS = 10000, IDLE_MS = 2000, STEPS = 5, STEP_MS = 10, PAUSE_MS = 100 };

/* KEYS: the stream, its balances, the mark of the message; ARGV: message, who did it, customer, amount.
 * A mark lives for a day: a consumer that stands still for longer just before this step would count twice. */
static const char settle[] = "local first = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', 86400) "
                             "if first then redis.call('HINCRBY', KEYS[2], ARGV[3], ARGV[4]) end "
                             "redis.call('XACK', KEYS[1], 'billing', ARGV[1]) "
                             "return first and 1 or 0";

struct consumer {
    struct redlock *redlock;
    redisContext *redis;
    const char *stream, *name;
    long idle_ms, ttl_ms;
};

static volatile sig_atomic_t ended;

static void consumer_end(int number)
{
    (void)number;
    ended = 1;
}

static void consumer_pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Stands for writing a bill: one pause is one page. The work may take longer than the TTL, since redlockd
 * renews the lock. Before each page the consumer looks whether it still holds the lock; false: it does
 * not. */
static bool consumer_work(const struct consumer *consumer, struct redlock_lock *lock, const char *id)
{
    printf("%s: works on %s\n", consumer->name, id);
    for (int step = 0; step < STEPS; step++) {
        if (redlock_safe_ms(lock) <= 0)
            return false;
        consumer_pause_ms(STEP_MS);
    }
    return true;
}

static void handle_locked(const struct consumer *consumer, struct redlock_lock *lock, const char *id,
                          redisReply *const *fields)
{
    const char *stream = consumer->stream, *customer = fields[1]->str, *amount = fields[3]->str;
    bool fresh = resource_number(resource_ask(consumer->redis, "EXISTS %s:done:%s", stream, id)) == 0;

    if (fresh && !consumer_work(consumer, lock, id)) {
        printf("%s: lost %s\n", consumer->name, id);
        return;
    }
    bool first =
        resource_number(resource_ask(consumer->redis, "EVAL %s 3 %s %s:balances %s:done:%s %s %s-%llu %s %s",
                                     settle, stream, stream, stream, id, id, consumer->name,
                                     (unsigned long long)redlock_fence(lock), customer, amount)) == 1;
    printf("%s: %s %s\n", consumer->name, first ? "handled" : "was handled before:", id);
}

/* A message is its id and its fields: customer C amount A. */
static void handle(const struct consumer *consumer, const redisReply *message)
{
    /* max_ms: a consumer that stands still keeps its message for no longer than this and one TTL. */
    const struct redlock_lock_options options = {.ttl_ms = consumer->ttl_ms, .max_ms = 3 * consumer->ttl_ms};
    const redisReply *fields = message->element[1];
    const char *id = message->element[0]->str;
    char name[REDLOCK_NAME_BYTES + 1];

    if (fields->type != REDIS_REPLY_ARRAY || fields->elements < 4) {
        fprintf(stderr, "%s is no bill\n", id);
        return;
    }
    (void)snprintf(name, sizeof name, "%s/%s", consumer->stream, id);
    struct redlock_lock *lock = redlock_lock(consumer->redlock, name, &options);
    if (lock) {
        handle_locked(consumer, lock, id, fields->element);
        (void)redlock_unlock(lock);
    } else if (redlock_error(consumer->redlock) != REDLOCK_BUSY) {
        /* The message stays in the queue. */
        fprintf(stderr, "%s: no lock: %s\n", consumer->name, redlock_error_text(consumer->redlock));
        consumer_pause_ms(PAUSE_MS);
    }
}

/* Handles a message that a consumer (perhaps this one) has had for too long, or else a new message; false:
 * there is none. */
static bool handle_next(const struct consumer *consumer)
{
    redisReply *reply = resource_ask(consumer->redis, "XAUTOCLAIM %s billing %s %ld 0 COUNT 1",
                                     consumer->stream, consumer->name, consumer->idle_ms);
    const redisReply *messages = reply->element[1];

    if (messages->elements == 0) {
        freeReplyObject(reply);
        reply = resource_ask(consumer->redis, "XREADGROUP GROUP billing %s COUNT 1 STREAMS %s >",
                             consumer->name, consumer->stream);
        messages = reply->type == REDIS_REPLY_ARRAY ? reply->element[0]->element[1] : NULL;
    }
    bool found = messages && messages->elements > 0;
    if (found && messages->element[0]->type == REDIS_REPLY_ARRAY) /* else it was deleted */
        handle(consumer, messages->element[0]);
    freeReplyObject(reply);
    return found;
}

/* Whether all messages that were delivered are acknowledged. */
static bool all_is_done(const struct consumer *consumer)
{
    redisReply *pending = resource_ask(consumer->redis, "XPENDING %s billing", consumer->stream);
    bool none = pending->elements > 0 && pending->element[0]->integer == 0;

    freeReplyObject(pending);
    return none;
}

/* Handles messages until nothing is left (-x), or until a signal comes. */
static void consume(const struct consumer *consumer, bool leaves)
{
    redisReply *reply =
        redisCommand(consumer->redis, "XGROUP CREATE %s billing 0 MKSTREAM", consumer->stream);

    if (reply) /* an error if the group is there already */
        freeReplyObject(reply);
    while (!ended) {
        if (handle_next(consumer))
            continue;
        if (leaves && all_is_done(consumer))
            return;
        consumer_pause_ms(PAUSE_MS);
    }
}

int main(int argc, char **argv)
{
    bool leaves = argc > 1 && strcmp(argv[1], "-x") == 0;

    argc -= leaves;
    argv += leaves;
    if (argc < 4 || argc > 6) {
        fprintf(stderr,
                "usage: consumer [-x] REDIS STREAM NAME [IDLE_MS [TTL_MS]]; -x: until all is handled\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = consumer_end}, NULL);
    (void)sigaction(SIGINT, &(struct sigaction){.sa_handler = consumer_end}, NULL);
    struct consumer consumer = {.redlock = redlock_open(NULL, NULL),
                                .redis = resource_open(argv[1]),
                                .stream = argv[2],
                                .name = argv[3],
                                .idle_ms = argc > 4 ? strtol(argv[4], NULL, 10) : IDLE_MS,
                                .ttl_ms = argc > 5 ? strtol(argv[5], NULL, 10) : TTL_MS};
    consume(&consumer, leaves);
    redisFree(consumer.redis);
    redlock_close(consumer.redlock);
    return 0;
}
