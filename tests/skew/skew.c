/* skew.so, for LD_PRELOAD: a process with clocks of its own, or with chance of our own. See skew.h. */
#include "tests/skew/skew.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { US = 1000000 };

static const volatile struct skew *skew;

static void __attribute__((constructor)) skew_open(void)
{
    const char *path = getenv("SKEW_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *state = mmap(NULL, sizeof *skew, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (state != MAP_FAILED)
        skew = state;
}

static int64_t machine_us(void)
{
    struct timespec now = {0};
    syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * US + now.tv_nsec / 1000;
}

static int64_t ahead_us(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        if (skew->wall_ppm == 0)
            return skew->wall_us;
        return skew->wall_us + (machine_us() - skew->since_us) * skew->wall_ppm / US;
    case CLOCK_BOOTTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW: return -skew->lost_us;
    default: return 0;
    }
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result < 0 || !skew)
        return result;
    int64_t us = (int64_t)now->tv_sec * US + now->tv_nsec / 1000 + ahead_us(clock);
    now->tv_sec = (time_t)(us / US);
    now->tv_nsec = (long)(us % US * 1000 + now->tv_nsec % 1000);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) < 0)
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = (suseconds_t)(precise.tv_nsec / 1000);
    return 0;
}

/* With SKEW_SEED the first random bytes are the same in each process. */
ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
    static int calls;
    uint32_t number = 1;
    if (calls++ > 0 || !getenv("SKEW_SEED"))
        return syscall(SYS_getrandom, bytes, len, flags);
    for (size_t i = 0; i < len; i++) {
        number = number * 1664525u + 1013904223u;
        ((unsigned char *)bytes)[i] = (unsigned char)(number >> 24);
    }
    return (ssize_t)len;
}

time_t time(time_t *out)
{
    struct timespec precise = {0};
    clock_gettime(CLOCK_REALTIME, &precise);
    if (out)
        *out = precise.tv_sec;
    return precise.tv_sec;
}
