#include "tests/bench/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void pause_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

static void cores_of_this_process(cpu_set_t *cores)
{
    if (sched_getaffinity(getpid(), sizeof *cores, cores) < 0)
        fail("sched_getaffinity: %s", strerror(errno));
}

unsigned process_cores(void)
{
    cpu_set_t cores;
    cores_of_this_process(&cores);
    return (unsigned)CPU_COUNT(&cores);
}

void process_pin(pid_t pid, unsigned core)
{
    cpu_set_t cores, pinned;
    cores_of_this_process(&cores);
    CPU_ZERO(&pinned);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cores) && core-- == 0)
            CPU_SET(cpu, &pinned);
    if (sched_setaffinity(pid, sizeof pinned, &pinned) < 0)
        fail("sched_setaffinity: process %d: %s", (int)pid, strerror(errno));
}

void process_unpin(pid_t pid)
{
    cpu_set_t cores;
    cores_of_this_process(&cores);
    if (sched_setaffinity(pid, sizeof cores, &cores) < 0)
        fail("sched_setaffinity: process %d: %s", (int)pid, strerror(errno));
}

/* The parent may have ended before the call that binds us to it. */
static void die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

pid_t process_fork(const char *name, void (*role)(void *arg), void *arg)
{
    fflush(NULL); /* otherwise the child would write the buffer once more */
    pid_t self = getpid(), pid = fork();
    if (pid < 0)
        fail("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    die_with(self);
    prctl(PR_SET_NAME, name);
    role(arg);
    fflush(NULL);
    _exit(0);
}

pid_t process_exec(const char *const argv[], const char *log, const char *const environment[])
{
    fflush(NULL);
    pid_t self = getpid(), pid = fork();
    if (pid < 0)
        fail("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    die_with(self);
    int out = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int in = open("/dev/null", O_RDONLY);
    if (out < 0 || in < 0)
        _exit(1);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    for (unsigned i = 0; environment && environment[i]; i++)
        putenv((char *)(uintptr_t)environment[i]);
    close_range(3, ~0U, 0);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

void process_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    process_wait(pid);
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int process_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return exit_status(status);
}

bool process_runs(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

/* The first number of a file; 0: none. */
static int64_t file_number(const char *path)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtoll(text, NULL, 10) : 0;
}

int64_t process_cpu_ns(pid_t pid)
{
    char path[300];
    int64_t sum_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (const struct dirent *task; (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, task->d_name);
        sum_ns += file_number(path);
    }
    closedir(tasks);
    return sum_ns;
}

long process_memory_kb(pid_t pid)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return kb;
}

void *shared_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap: %s", strerror(errno));
    return memory;
}

void shared_free(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}
