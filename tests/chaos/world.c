#include "tests/chaos/world.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LISTENS_US = 10000000 };

/* ---- the folder ---- */

void folder_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0); /* . and .. are refused by the kernel */
    closedir(dir);
    rmdir(folder);
}

/* The broom outlives a parent that is killed: it has no parent-death signal, and waits for the end of
 * its pipe. */
static bool broom_start(struct world *world)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        setpgid(0, 0);
        dup2(ends[0], 3);
        close_range(4, ~0U, 0);
        while (read(3, &byte, 1) < 0 && errno == EINTR)
            ;
        nanosleep(&(struct timespec){.tv_nsec = 200000000},
                  NULL); /* processes that were killed with the parent may still write */
        folder_remove(world->folder);
        _exit(0);
    }
    close(ends[0]);
    world->broom = ends[1];
    world->broom_pid = pid;
    return pid > 0;
}

/* ---- starting ---- */

static void master_launch(struct process *process, const char *path, const char *folder, const char *log)
{
    const char *argv[] = {"redis-server", "--port", "0",     "--unixsocket", path,         "--save",  "",
                          "--appendonly", "no",     "--dir", folder,         "--loglevel", "warning", NULL};
    *process = (struct process){.pid = process_exec(argv, log)};
}

void world_start_master(struct world *world, unsigned master)
{
    char log[SOCKET_PATH + 8];
    snprintf(log, sizeof log, "%s/master%u.log", world->folder, master);
    master_launch(&world->master[master], world->master_path[master], world->folder, log);
}

static bool listener_open(struct world *world, unsigned link)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return false;
    world->link[link].listener = fd;
    world->link_port[link] = ntohs(address.sin_port);
    snprintf(world->link[link].master_path, sizeof world->link[link].master_path, "%s",
             world->master_path[link % SERVERS]);
    return true;
}

static bool proxy_start(struct world *world)
{
    int keep[1 + LINKS], ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    keep[0] = ends[0];
    world->orders = ends[1];
    for (unsigned i = 0; i < LINKS; i++) {
        if (!listener_open(world, i))
            return false;
        keep[1 + i] = world->link[i].listener; /* descriptors opened one after the other ascend */
    }
    world->proxy.pid = process_fork(keep, 1 + LINKS);
    if (world->proxy.pid == 0)
        proxy_run(world->link, LINKS, ends[0], world->shared->seed);
    close(ends[0]);
    for (unsigned i = 0; i < LINKS; i++)
        close(world->link[i].listener);
    return world->proxy.pid > 0;
}

/* A port outside the range that the kernel gives to outgoing connections: it has to be free again when the
 * daemon is started again. */
static uint16_t port_free(uint64_t seed)
{
    for (unsigned i = 0; i < 1000; i++) {
        uint16_t port = (uint16_t)(20000 + draw(seed, (uint64_t)getpid(), i, 77) % 12000);
        struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_free = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        if (fd >= 0)
            close(fd);
        if (is_free)
            return port;
    }
    return 0;
}

static bool daemon_place(struct world *world, unsigned daemon)
{
    struct shared *shared = world->shared;
    snprintf(shared->daemon_path[daemon], SOCKET_PATH, "%s/daemon%u.sock", world->folder, daemon);
    shared->daemon_port[daemon] = port_free(shared->seed + daemon);
    return shared->daemon_port[daemon] != 0;
}

/* max_ttl is also the quarantine: both are short, so that many of them fit into a run. A daemon may start at any time, so
 * the file is renamed into its place. */
bool world_configure(struct world *world, unsigned daemon)
{
    const struct shared *shared = world->shared;
    char path[SOCKET_PATH + 16], fresh[SOCKET_PATH + 16];
    snprintf(path, sizeof path, "%s/daemon%u.yaml", world->folder, daemon);
    snprintf(fresh, sizeof fresh, "%s/daemon%u.fresh", world->folder, daemon);
    FILE *file = fopen(fresh, "we");
    if (file == NULL)
        return false;
    fprintf(file,
            "listen:\n  - 127.0.0.1:%u\n  - unix:%s\ndefault_ttl: 1s\nmin_ttl: 200ms\n"
            "node_timeout: 50ms\nretry_min: 10ms\nretry_max: 100ms\nrestart_guard: on\ndrain_timeout: "
            "1s\nallow_break: yes\n",
            shared->daemon_port[daemon], shared->daemon_path[daemon]);
    change_write(world, daemon, file);
    return fclose(file) == 0 && rename(fresh, path) == 0;
}

void world_start_daemon(struct world *world, unsigned daemon)
{
    char config[SOCKET_PATH + 16], log[SOCKET_PATH + 16];
    snprintf(config, sizeof config, "%s/daemon%u.yaml", world->folder, daemon);
    snprintf(log, sizeof log, "%s/daemon%u.log", world->folder, daemon);
    const char *word = change_says_begin(&world->change, daemon) ? "--begin-at-generation" : NULL;
    const char *argv[] = {world->binary, "-c", config, word, NULL};
    world->started[daemon]++;
    world->daemon[daemon] = (struct process){.pid = process_exec(argv, log)};
}

static bool daemon_listens(const struct world *world, unsigned daemon)
{
    struct client probe = {.shared = world->shared};
    struct link link;
    for (int64_t end_us = now_us() + LISTENS_US; now_us() < end_us;) {
        if (link_open(&probe, &link, daemon, true)) {
            close(link.fd);
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return false;
}

void world_start_client(struct world *world, unsigned slot)
{
    uint32_t who = ++world->whos;
    pid_t pid = process_fork(NULL, 0);
    if (pid == 0)
        client_run(world->shared, who);
    world->who[slot] = who;
    world->client[slot] = (struct process){.pid = pid};
}

static bool fail(const char *what)
{
    fprintf(stderr, "chaos: %s: %s\n", what, strerror(errno));
    return false;
}

static bool daemons_start(struct world *world)
{
    for (unsigned i = 0; i < DAEMONS; i++) {
        if (!daemon_place(world, i) || !world_configure(world, i))
            return fail("cannot write a daemon's configuration, or no port is free");
        world_start_daemon(world, i);
    }
    for (unsigned i = 0; i < DAEMONS; i++)
        if (!daemon_listens(world, i)) {
            world_log_tail(world, i);
            return fail("a daemon does not listen");
        }
    return true;
}

bool world_start(struct world *world, const char *binary, struct shared *shared, bool change, bool direct)
{
    char log[SOCKET_PATH];
    *world = (struct world){.shared = shared,
                            .binary = binary,
                            .folder = "/tmp/redlockd-chaos-XXXXXX",
                            .orders = -1,
                            .broom = -1};
    change_begin(world, change, direct);
    if (mkdtemp(world->folder) == NULL || !broom_start(world))
        return fail("no folder in /tmp");
    snprintf(shared->counter_path, SOCKET_PATH, "%s/counter.sock", world->folder);
    snprintf(log, sizeof log, "%s/counter.log", world->folder);
    for (unsigned i = 0; i < SERVERS; i++)
        snprintf(world->master_path[i], SOCKET_PATH, "%s/master%u.sock", world->folder, i);
    if (!proxy_start(world)) /* the proxy comes first: it needs a table with few descriptors */
        return fail("cannot start the proxy");
    master_launch(&world->counter, shared->counter_path, world->folder, log);
    for (unsigned i = 0; i < MASTERS; i++)
        world_start_master(world, i);
    for (unsigned i = 0; i < MASTERS; i++)
        if (!redis_ready(world->master_path[i]))
            return fail("a redis-server does not answer");
    return redis_ready(shared->counter_path) ? daemons_start(world)
                                             : fail("the counter's redis does not answer");
}
