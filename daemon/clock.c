#include "daemon/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "daemon/log.h"

/* The pool lets a single getrandom() serve up to 128 calls of clock_random(). */
enum { POOL_BYTES = 4096 };

static uint8_t pool[POOL_BYTES];
static size_t pool_used = POOL_BYTES;

static int64_t clock_us(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(!failed);
    (void)failed;
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_boot_us(void)
{
    return clock_us(CLOCK_BOOTTIME);
}

int64_t clock_boot_ms(void)
{
    return clock_boot_us() / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

static void clock_pool_fill(void)
{
    size_t got = 0;
    while (got < POOL_BYTES) {
        ssize_t n = getrandom(pool + got, POOL_BYTES - got, 0);
        if (n > 0) {
            got += (size_t)n;
        } else if (errno != EINTR) {
            /* Without random bytes tokens could be guessed or repeat, so better stop. */
            log_error("no_random", "why=\"getrandom: %s\"", strerror(errno));
            exit(EXIT_FAILURE);
        }
    }
    pool_used = 0;
}

/* Bytes that are handed out are wiped in the pool, so that a later leak of this memory shows no token. */
static void clock_pool_take(void *out, size_t len)
{
    if (POOL_BYTES - pool_used < len)
        clock_pool_fill();
    memcpy(out, pool + pool_used, len);
    explicit_bzero(pool + pool_used, len);
    pool_used += len;
}

void clock_random(uint8_t out[32])
{
    clock_pool_take(out, 32);
}

uint32_t clock_random_below(uint32_t n)
{
    assert(n >= 1);
    /* Without this the first 2^32 mod n values would be drawn more often than the others. */
    uint32_t uneven = (uint32_t)-n % n;
    uint32_t drawn;
    do {
        clock_pool_take(&drawn, sizeof drawn);
    } while (drawn < uneven);
    return drawn % n;
}
