/* A writer that is paused beyond its lease and is refused by its fence.
 *
 *     writer localhost:6379 motd           asks for a text: press ^Z, and wait for ten seconds
 *     writer localhost:6379 motd           in another terminal: type a text, Enter: "written"
 *     fg, a text, Enter                    in the first: "refused"
 *     redis-cli HGETALL doc:motd
 *
 * The first writer held the lock, had looked whether it still did, and then stood still: swapping, a
 * hypervisor that moves its machine, a debugger. The writer cannot know that. Neither a lock service nor
 * another look at the clock can help, since the pause may come right after that look. But each holder's
 * fence is higher than the fences of all holders before, so a resource that keeps the highest fence refuses a
 * late writer.
 *
 * Exit status: 0 written, 1 not written (no lock, no text, or the Redis failed), 2 usage, 3 refused.
 *
 *     cc writer.c $(pkg-config --cflags --libs libredlock) -lhiredis */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock.h>

#include "resource.h"

enum { TTL_MS = 10000, WAIT_MS = 60000 };
enum outcome { WRITTEN = 0, FAILED = 1, USAGE = 2, REFUSED = 3 };

/* KEYS: the document; ARGV: the fence, the text. */
static const char write_text[] =
    "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return 0 end "
    "redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'text', ARGV[2]) "
    "return 1";

static enum outcome write_locked(struct redlock_lock *lock, redisContext *redis, const char *document)
{
    unsigned long long fence = redlock_fence(lock);
    char text[1024] = "";

    printf("fence %llu, held for %lld ms; the new text of %s?\n", fence, (long long)redlock_valid_ms(lock),
           document);
    /* The program may stand still while it reads, after it has looked at the clock. */
    if (!fgets(text, sizeof text, stdin))
        return FAILED;
    text[strcspn(text, "\n")] = '\0';
    bool written = resource_number(resource_ask(redis, "EVAL %s 1 doc:%s %llu %s", write_text, document,
                                                fence, text)) == 1;
    return written ? WRITTEN : REFUSED;
}

int main(int argc, char **argv)
{
    static const char *const says[] = {[WRITTEN] = "written",
                                       [FAILED] = "not written",
                                       [REFUSED] = "refused: somebody has had the lock since"};
    bool timed = argc > 2 && strcmp(argv[1], "-t") == 0;
    struct redlock_lock_options options = {
        .ttl_ms = timed ? strtol(argv[2], NULL, 10) : TTL_MS, .wait_ms = WAIT_MS, .hold = REDLOCK_LEASE};
    char name[REDLOCK_NAME_BYTES + 1];

    argc -= timed ? 2 : 0;
    argv += timed ? 2 : 0;
    if (argc != 3) {
        fprintf(stderr, "usage: writer [-t TTL_MS] REDIS DOCUMENT\n");
        return USAGE;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    redisContext *redis = resource_open(argv[1]);
    struct redlock *redlock = redlock_open(NULL, NULL);
    (void)snprintf(name, sizeof name, "doc:%s", argv[2]);
    struct redlock_lock *lock = redlock_lock(redlock, name, &options);
    enum outcome outcome = FAILED;
    if (lock) {
        outcome = write_locked(lock, redis, argv[2]);
        printf("%s\n", says[outcome]);
        (void)redlock_unlock(lock);
    } else {
        fprintf(stderr, "no lock: %s\n", redlock_error_text(redlock));
    }
    redlock_close(redlock);
    redisFree(redis);
    return (int)outcome;
}
