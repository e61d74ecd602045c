/* A cache entry that one process rebuilds while the others wait, instead of all processes rebuilding it when
 * it runs out (the stampede, or dog-pile).
 *
 *     cache localhost:6379 weather 60 'sleep 3; date'      in ten terminals at once: one date
 *
 * The program prints the entry. If there is none, the program runs the command, prints its output, and keeps
 * it for 60 s. Processes that had to wait look again, and find the entry. If the process that builds dies,
 * its lock is free at once and the next process builds. Try it with ^C, and with ^Z: a stopped process holds
 * up the others for HOLD_MS and at most one TTL_MS more, and then its fence keeps it from replacing a newer
 * entry.
 *
 * Such a lock saves work, but the result is right without it, so if there is no redlockd every process
 * builds for itself. If an old value will do, do not wait (wait_ms = 0): a process that is refused the lock
 * takes the old value.
 *
 *     cc cache.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <redlock.h>

#include "resource.h"

enum { TTL_MS = 30000, HOLD_MS = 60000, WAIT_MS = 120000, VALUE_BYTES = 1 << 20 };

/* KEYS: the entry, the fences of all; ARGV: the fence, the value, its seconds, the entry's name. */
static const char store[] =
    "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[2], ARGV[4]) or 0) then return 0 end "
    "redis.call('HSET', KEYS[2], ARGV[4], ARGV[1]) "
    "redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) "
    "return 1";

struct cache {
    struct redlock *redlock;
    redisContext *redis;
    const char *entry, *seconds, *command;
};

struct value {
    char *bytes;
    size_t len;
};

static bool print_value(const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, stdout) == len && fflush(stdout) == 0;
}

static bool print_cached(const struct cache *cache)
{
    redisReply *reply = resource_ask(cache->redis, "GET cache:%s", cache->entry);
    bool there = reply->type == REDIS_REPLY_STRING;

    if (there)
        (void)print_value(reply->str, reply->len);
    freeReplyObject(reply);
    return there;
}

/* Reads a piece of the output. Meanwhile the library learns of renewals, and reconnects when redlockd
 * restarts. */
static bool read_more(struct redlock *redlock, int fd, struct value *value)
{
    struct pollfd polls[] = {{.fd = fd, .events = POLLIN},
                             {.fd = redlock_fd(redlock), .events = redlock_events(redlock)}};

    while (polls[0].revents == 0) {
        (void)poll(polls, 2, redlock_timeout_ms(redlock));
        (void)redlock_process(redlock);
    }
    ssize_t got = read(fd, value->bytes + value->len, VALUE_BYTES - value->len);
    value->len += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* Runs the command, which may take long. */
static bool build(const struct cache *cache, struct value *value)
{
    FILE *command = popen(cache->command, "r"); /* NOLINT(cert-env33-c): what it is for */

    *value = (struct value){.bytes = malloc(VALUE_BYTES)};
    if (!command || !value->bytes) {
        perror("cache");
        exit(EXIT_FAILURE);
    }
    while (read_more(cache->redlock, fileno(command), value))
        ;
    bool built = pclose(command) == 0 && value->len < VALUE_BYTES;
    if (!built)
        fprintf(stderr, "cache: the command failed, or printed more than %d bytes\n", VALUE_BYTES - 1);
    return built;
}

/* lock may be NULL; then the output is printed but not kept. */
static bool build_and_store(const struct cache *cache, const struct redlock_lock *lock)
{
    struct value value;
    /* The fence of the time before the work, since the command that began earlier has the older output. */
    unsigned long long fence = redlock_fence(lock);
    bool built = build(cache, &value);

    if (built && fence > 0 &&
        resource_number(resource_ask(cache->redis, "EVAL %s 2 cache:%s cache:,fences %llu %b %s %s", store,
                                     cache->entry, fence, value.bytes, value.len, cache->seconds,
                                     cache->entry)) == 0)
        fprintf(stderr, "cache: not kept, somebody has built it later\n");
    bool printed = built && print_value(value.bytes, value.len);
    free(value.bytes);
    return printed;
}

static bool get(const struct cache *cache)
{
    const struct redlock_lock_options options = {.ttl_ms = TTL_MS, .max_ms = HOLD_MS, .wait_ms = WAIT_MS};
    char name[REDLOCK_NAME_BYTES + 1];

    if (print_cached(cache))
        return true;
    (void)snprintf(name, sizeof name, "cache:%s", cache->entry);
    struct redlock_lock *lock = redlock_lock(cache->redlock, name, &options);
    if (!lock)
        fprintf(stderr, "cache: without a lock: %s\n", redlock_error_text(cache->redlock));
    /* Look once more, since the entry may have been built while we waited. */
    bool printed = print_cached(cache) || build_and_store(cache, lock);
    if (lock)
        (void)redlock_unlock(lock);
    return printed;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: cache REDIS ENTRY SECONDS COMMAND\n");
        return 2;
    }
    struct cache cache = {.redlock = redlock_open(NULL, NULL),
                          .redis = resource_open(argv[1]),
                          .entry = argv[2],
                          .seconds = argv[3],
                          .command = argv[4]};
    bool printed = get(&cache);
    redisFree(cache.redis);
    redlock_close(cache.redlock);
    return printed ? 0 : EXIT_FAILURE;
}
