/* System calls and allocations a cycle, of a daemon with counting.so before it, and what its masters get: its times are
 * no measure. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 64, SOME_WORKERS = 16, TAGGED_CONNECTIONS = 4, SLOTS = 16 };

static struct counts *counts_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct counts)) < 0)
        fail("%s: %s", path, strerror(errno));
    void *counts = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (counts == MAP_FAILED)
        fail("%s: %s", path, strerror(errno));
    return counts;
}

static void count(struct bench *bench, struct what what, struct load_plan plan)
{
    struct measurement m = measurement_of(what), counted = measurement_of(what);
    plan.salt = ++bench->salt;
    measure_into(bench, &m, &plan);
    for (enum metric metric = SYSCALLS; metric < METRICS; metric++)
        counted.value[metric] = m.value[metric];
    record_add(&counted);
}

static void distinct(struct bench *bench, struct load_plan plan)
{
    static const char *const transports[] = {"tcp", "unix"};
    static const unsigned workers[] = {SOME_WORKERS, WORKERS};
    for (unsigned i = 0; i < 4; i++) {
        plan.use_unix = i % 2;
        plan.workers = plan.connections = workers[i / 2];
        count(bench, (struct what){"counts", "daemon", transports[i % 2], plan.workers}, plan);
    }
    plan.connections = TAGGED_CONNECTIONS;
    count(bench, (struct what){"counts-tags", "daemon", "unix", WORKERS}, plan);
}

/* 16 slots of a name, and as many names. */
static void handed(struct bench *bench, struct load_plan plan)
{
    plan.one_name = true;
    plan.slots = SLOTS;
    count(bench, (struct what){"counts-slots", "daemon", "unix", WORKERS}, plan);
    plan.slots = 0;
    plan.shares = SLOTS;
    count(bench, (struct what){"counts-names", "daemon", "unix", WORKERS}, plan);
}

void work_counted(struct bench *bench)
{
    struct server server;
    char path[SOCKET_PATH];
    if (!bench->places.counting)
        return;
    snprintf(path, sizeof path, "%s/counts", bench->places.folder);
    struct counts *counts = counts_map(path);
    daemon_start(&server, &bench->places, &bench->masters, path, "");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        struct load_plan plan = plan_for(bench, &server, true, WORKERS);
        plan.counts = counts;
        distinct(bench, plan);
        handed(bench, plan);
    }
    server_stop(&server);
    munmap(counts, sizeof *counts);
}
