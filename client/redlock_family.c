/* Finds in /proc which processes belong to the command. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/redlock_run.h"

enum { PROCESSES_MAX = 1 << 22 }; /* the kernel's limit, PID_MAX_LIMIT */

struct process {
    pid_t pid, parent, group, session;
    long long threads, start; /* start: when it was started, in the kernel's ticks */
    char state;
    bool ours;
};

struct processes {
    struct process *of; /* sorted by pid */
    size_t count, room;
};

/* Processes from before the command: a shell that became this process by exec may have left it children. */
static struct processes before;

/* Reads /proc/PID/stat (proc(5)): the name, which may contain anything, ends with the last ')'; then come
 * the state and numbers. */
static bool parse(const char *text, struct process *process)
{
    enum { PARENT = 4, GROUP = 5, SESSION = 6, THREADS = 20, START = 22 };
    const char *at = strrchr(text, ')');
    long long field[START + 1] = {0};

    if (!at || at[1] != ' ' || !at[2])
        return false;
    process->state = at[2];
    at += 3;
    for (unsigned i = PARENT; i <= START; i++) {
        char *end;
        field[i] = strtoll(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    process->parent = (pid_t)field[PARENT];
    process->group = (pid_t)field[GROUP];
    process->session = (pid_t)field[SESSION];
    process->threads = field[THREADS];
    process->start = field[START];
    return true;
}

static bool read_one(const char *pid, struct process *process)
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t len = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[len] = '\0';
    *process = (struct process){.pid = (pid_t)strtol(pid, NULL, 10)};
    return parse(text, process);
}

static bool add(struct processes *all, const struct process *one)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        struct process *more = room > PROCESSES_MAX ? NULL : realloc(all->of, room * sizeof *more);
        if (!more)
            return false;
        all->of = more;
        all->room = room;
    }
    all->of[all->count++] = *one;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *left = a, *right = b;

    return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Reads all processes, sorted by pid. Returns false if /proc cannot be read. */
static bool read_once(struct processes *all)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    struct process one;
    bool enough = true;

    *all = (struct processes){0};
    if (!folder)
        return false;
    while (enough && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]) && read_one(entry->d_name, &one))
            enough = add(all, &one);
    (void)closedir(folder);
    if (!enough || all->count == 0) {
        free(all->of);
        return false;
    }
    qsort(all->of, all->count, sizeof *all->of, by_pid);
    return true;
}

static struct process *family_find(const struct processes *all, pid_t pid)
{
    const struct process key = {.pid = pid};

    return bsearch(&key, all->of, all->count, sizeof *all->of, by_pid);
}

/* A process whose parent ended while /proc was read still names that parent, so its descent is unknown. */
static bool is_complete(const struct processes *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->of[i].parent != 0 && !family_find(all, all->of[i].parent))
            return false;
    return true;
}

/* Some parents may be hidden from us for good (hidepid of proc(5)), therefore the tries are limited. */
static bool family_read_all(struct processes *all)
{
    enum { TRIES = 3 };

    for (unsigned i = 1; read_once(all); i++) {
        if (i == TRIES || is_complete(all))
            return true;
        free(all->of);
    }
    return false;
}

static bool is_from_before(const struct process *one)
{
    const struct process *same = before.count ? family_find(&before, one->pid) : NULL;

    return same && same->start == one->start;
}

static void mark(const struct processes *all, const struct family *family)
{
    pid_t session = getsid(0);
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process *one = &all->of[i];
            const struct process *parent = family_find(all, one->parent);
            if (one->ours || one->pid == family->root || is_from_before(one))
                continue;
            if (one->session != session && !family->whole)
                continue;
            one->ours = one->parent == family->root || (parent && parent->ours);
            more |= one->ours;
        }
    }
}

void family_begin(void)
{
    struct processes all;
    bool enough = true;

    if (!family_read_all(&all))
        return;
    mark(&all, &(struct family){.root = getpid(), .whole = true});
    for (size_t i = 0; i < all.count && enough; i++)
        if (all.of[i].ours)
            enough = add(&before, &all.of[i]);
    free(all.of);
}

/* The state is Z also if only the first thread has ended. */
static bool is_dead(const struct process *process)
{
    return (process->state == 'Z' && process->threads <= 1) || process->state == 'X' || process->state == 'x';
}

/* Whether the process is another user's daemon, which we cannot kill and which may live for months: the lock
 * does not wait for it. */
static bool has_escaped(const struct process *one)
{
    return one->session != getsid(0) && kill(one->pid, 0) < 0 && errno == EPERM;
}

/* The process runs the same program as this one. */
static bool is_redlock(pid_t pid)
{
    char path[32];
    struct stat own, other;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

/* Stops the redlocks in the family, so that none of them releases its lock before the processes below it
 * are dead. */
static void stop_redlocks(const struct processes *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->of[i].ours && !is_dead(&all->of[i]) && is_redlock(all->of[i].pid))
            (void)kill(all->of[i].pid, SIGSTOP);
}

unsigned family_signal(const struct family *family, int signal)
{
    struct processes all;
    unsigned alive = 0;

    if (signal && family->group > 0 && !family->spares)
        (void)kill(-family->group, signal); /* the whole group, so that no member sees another end first */
    if (!family_read_all(&all))
        return UINT_MAX;
    mark(&all, family);
    if (family->spares)
        stop_redlocks(&all);
    /* A child usually has a higher pid than its parent, and is signalled first: a guard below us must not
     * let go of its lock before its command was killed. SIGCONT goes to the parents first. */
    for (size_t i = 0; i < all.count; i++) {
        const struct process *one = &all.of[signal == SIGCONT ? i : all.count - 1 - i];
        if (!one->ours || is_dead(one) || has_escaped(one))
            continue;
        if (family->spares && is_redlock(one->pid))
            continue; /* that redlock has been stopped */
        alive++;
        if (signal && (one->group != family->group || family->spares))
            (void)kill(one->pid, signal);
    }
    free(all.of);
    return alive;
}

bool family_is_stopped(const struct family *family)
{
    struct processes all;
    bool stopped = true;

    if (!family_read_all(&all))
        return true;
    mark(&all, family);
    for (size_t i = 0; i < all.count; i++)
        if (all.of[i].ours && !is_dead(&all.of[i]) && all.of[i].state != 'T' && all.of[i].state != 't')
            stopped = false;
    free(all.of);
    return stopped;
}

static bool is_above(const struct processes *all, pid_t pid)
{
    const struct process *one = family_find(all, getpid());

    /* Processes may change while /proc is read, so that parents could form a circle. */
    for (unsigned i = 0; one && i < all->count; i++) {
        if (one->pid == pid)
            return true;
        one = family_find(all, one->parent);
    }
    return false;
}

bool family_has_siblings(void)
{
    struct processes all;
    bool found = false;

    if (!family_read_all(&all))
        return false;
    for (size_t i = 0; i < all.count && !found; i++)
        found = all.of[i].group == getpgrp() && !is_dead(&all.of[i]) && !is_above(&all, all.of[i].pid);
    free(all.of);
    return found;
}
