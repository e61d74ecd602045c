/* System calls and allocations a cycle, of a daemon with counting.so before it: its times are no measure. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 64, TAGGED_CONNECTIONS = 4 };

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

static void count(struct bench *bench, const struct server *server, const struct counts *counts,
                  const char *work, unsigned connections)
{
    struct what what = {work, "daemon", "unix", WORKERS};
    struct measurement m = measurement_of(what), counted = measurement_of(what);
    struct load_plan plan = plan_for(bench, server, true, WORKERS);
    plan.connections = connections;
    plan.counts = counts;
    measure_into(bench, &m, &plan);
    for (enum metric metric = SYSCALLS; metric < METRICS; metric++)
        counted.value[metric] = m.value[metric];
    record_add(&counted);
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
        count(bench, &server, counts, "counts", WORKERS);
        count(bench, &server, counts, "counts-tags", TAGGED_CONNECTIONS);
    }
    server_stop(&server);
    munmap(counts, sizeof *counts);
}
