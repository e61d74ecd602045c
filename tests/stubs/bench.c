/* bench SECONDS [TASKS]: so many tasks (64) over one connection on distinct names, with libredlock: LOCK and UNLOCK in turns.
 * Prints "cycles N": how many pairs of a LOCK and an UNLOCK were done in each second. `make bench-stubs` runs
 * it beside the other languages. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <redlock.h>

enum { TTL_MS = 10000 };

struct bench {
    unsigned long cycles;
    int64_t end_ms;
};

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void take(struct redlock *redlock, const char *name)
{
    const struct redlock_lock_options options = {.ttl_ms = TTL_MS};

    if (!redlock_lock_begin(redlock, name, &options)) {
        fprintf(stderr, "bench: %s\n", redlock_error_text(redlock));
        exit(EXIT_FAILURE);
    }
}

static void happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct bench *bench = user;

    if (event->error) {
        fprintf(stderr, "bench: %s\n", event->text);
        exit(EXIT_FAILURE);
    }
    if (event->kind == REDLOCK_ON_LOCK)
        (void)redlock_unlock_begin(event->lock);
    if (event->kind != REDLOCK_ON_UNLOCK)
        return;
    bench->cycles++;
    if (now_ms() < bench->end_ms)
        take(redlock, redlock_name(event->lock));
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    long tasks = argc > 2 ? strtol(argv[2], NULL, 10) : 64;
    int64_t start_ms = now_ms();
    struct bench bench = {.end_ms = start_ms + (int64_t)(seconds * 1000)};
    struct redlock *redlock = redlock_open(NULL, NULL);

    redlock_set_callback(redlock, happened, &bench);
    for (long i = 0; i < tasks; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "bench-%ld", i);
        take(redlock, name);
    }
    while (now_ms() < bench.end_ms) {
        struct pollfd fd = {.fd = redlock_fd(redlock), .events = redlock_events(redlock)};
        (void)poll(&fd, 1, redlock_timeout_ms(redlock));
        (void)redlock_process(redlock);
    }
    printf("cycles %.0f\n", (double)bench.cycles * 1000 / (double)(now_ms() - start_ms));
    redlock_close(redlock);
    return 0;
}
