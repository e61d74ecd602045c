/* The end: clients leave, none of their keys stays on the masters, daemons drain. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/chaos/world.h"

enum { LEAVE_US = 15000000, KEYS_US = 6000000, DRAIN_US = 10000000, TICK_MS = 10 };

static bool group_leaves(struct process *list, unsigned count, const char *what, int64_t bound_us)
{
    bool well = true;
    unsigned left = count;
    for (int64_t end_us = now_us() + bound_us; left > 0 && now_us() < end_us; poll(NULL, 0, TICK_MS)) {
        left = 0;
        for (unsigned i = 0; i < count; i++) {
            int status = 0;
            if (list[i].pid > 0 && waitpid(list[i].pid, &status, WNOHANG) == list[i].pid) {
                bool clean = list[i].killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
                if (!clean)
                    fprintf(stderr, "chaos: %s %u ended with status %#x\n", what, i, (unsigned)status);
                well = clean && well;
                list[i] = (struct process){0};
            }
            left += list[i].pid > 0;
        }
    }
    if (left > 0)
        fprintf(stderr, "chaos: %u of %u (%s) did not end in %d s\n", left, count, what,
                (int)(bound_us / 1000000));
    return well && left == 0;
}

/* No client holds a lock any more: a key that outlives the longest TTL is being renewed by a daemon. */
static bool keys_go(const struct world *world)
{
    int64_t keys = 1;
    for (int64_t end_us = now_us() + KEYS_US; keys != 0 && now_us() < end_us; poll(NULL, 0, 10 * TICK_MS)) {
        keys = 0;
        for (unsigned i = 0; i < world->change.now.count; i++)
            keys += redis_locks(world->master_path[world->change.now.list[i]]) != 0;
    }
    if (keys != 0)
        fprintf(stderr,
                "chaos: all clients are gone for %d s, and %d of %d masters have locks or do not answer\n",
                KEYS_US / 1000000, (int)keys, (int)world->change.now.count);
    return keys == 0;
}

bool world_settle(struct world *world)
{
    atomic_store(&world->shared->stop, true);
    process_end(&world->breaker);
    process_end(&world->watch);
    bool well = group_leaves(world->client, CLIENTS, "clients", LEAVE_US);
    well = keys_go(world) && well;
    for (unsigned i = 0; i < DAEMONS; i++)
        if (world->daemon[i].pid > 0)
            kill(world->daemon[i].pid, SIGTERM);
    return group_leaves(world->daemon, DAEMONS, "redlockd", DRAIN_US) && well;
}

void world_log_tail(const struct world *world, unsigned daemon)
{
    char path[SOCKET_PATH + 16], text[2048];
    snprintf(path, sizeof path, "%s/daemon%u.log", world->folder, daemon);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    lseek(fd, -(off_t)sizeof text,
          SEEK_END); /* fails where the file is shorter; then it is read from its beginning */
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    fprintf(stderr, "chaos: the log of redlockd %u ends so:\n%.*s\n", daemon, (int)(got > 0 ? got : 0), text);
}

static void file_copy(const char *from, const char *to)
{
    char buffer[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (ssize_t got; in >= 0 && out >= 0 && (got = read(in, buffer, sizeof buffer)) > 0;)
        if (write(out, buffer, (size_t)got) != got)
            break;
    close(in);
    close(out);
}

void world_keep(const struct world *world, const char *folder)
{
    char from[512], to[512];
    for (unsigned i = 0; i < SERVERS + DAEMONS; i++) {
        const char *what = i < DAEMONS ? "daemon" : "master";
        unsigned number = i < DAEMONS ? i : i - DAEMONS;
        snprintf(from, sizeof from, "%s/%s%u.log", world->folder, what, number);
        snprintf(to, sizeof to, "%s/%s%u.log", folder, what, number);
        file_copy(from, to);
    }
}

void world_end(struct world *world)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        process_end(&world->client[i]);
    for (unsigned i = 0; i < DAEMONS; i++)
        process_end(&world->daemon[i]);
    process_end(&world->breaker);
    process_end(&world->watch);
    process_end(&world->proxy);
    for (unsigned i = 0; i < SERVERS; i++)
        process_end(&world->master[i]);
    process_end(&world->counter);
    if (world->orders >= 0)
        close(world->orders);
    folder_remove(world->folder);
    if (world->broom >= 0)
        close(world->broom);
    while (world->broom_pid > 0 && waitpid(world->broom_pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
