#include "daemon/http/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t time_us(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

static void read_memory(struct process *process)
{
    char text[128], *rest;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    process->virtual_bytes = strtoull(text, &rest, 10) * page_bytes;
    process->resident_bytes = strtoull(rest, NULL, 10) * page_bytes;
}

void process_read(struct process *process)
{
    struct rusage usage;
    struct rlimit limit;
    struct stat descriptors;
    *process = (struct process){0};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        process->cpu_us = time_us(&usage.ru_utime) + time_us(&usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        process->descriptors_max = limit.rlim_cur;
    /* Since Linux 6.2 the size of this folder is their number: to list 10,000 of them would take too long. */
    if (stat("/proc/self/fd", &descriptors) == 0)
        process->descriptors = (uint64_t)descriptors.st_size;
    read_memory(process);
}
