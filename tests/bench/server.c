#include "tests/bench/server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/process.h"

enum { START_MS = 10000, POLL_MS = 10 };

void server_address(struct address *address, const struct places *places, const char *name)
{
    static unsigned number;
    int len = snprintf(address->path, sizeof address->path, "%s/%s%u.sock", places->folder, name, ++number);
    if (len < 0 || (size_t)len >= sizeof address->path)
        fail("the folder %s has too long a name for a socket", places->folder);
    address->port = socket_port_free();
}

void server_wait(const struct server *server, const char *what)
{
    int64_t end_ns = now_ns() + START_MS * INT64_C(1000000);
    while (!socket_answers(&server->address, true)) {
        if (!process_runs(server->pid))
            fail("%s ended at once", what);
        if (now_ns() > end_ns)
            fail("%s does not listen", what);
        pause_ms(POLL_MS);
    }
}

void server_stop(struct server *server)
{
    process_end(server->pid);
    unlink(server->address.path);
    server->pid = 0;
}

/* restart_guard is off because the masters have just been started, and their quarantine would last for
 * max_ttl. The limits let a hundred thousand locks and ten thousand clients in. */
static void configure(const char *path, const struct server *server, const struct masters *masters,
                      const char *settings)
{
    FILE *file = fopen(path, "we");
    if (!file)
        fail("cannot write %s", path);
    fprintf(file, "listen:\n  - 127.0.0.1:%u\n  - unix:%s\nnodes:\n", server->address.port,
            server->address.path);
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        fprintf(file, "  - redis://127.0.0.1:%u\n", masters->address[i].port);
    fputs("restart_guard: off\nmax_ttl: 30m\nmax_clients: 12000\nmax_locks: 250000\n"
          "max_locks_per_client: 10000\nlog_level: warn\n"
          "max_clients_per_peer: 12000\nmax_locks_per_peer: 250000\nmax_waits_per_peer: 65536\n",
          file);
    fputs(settings, file);
    fclose(file);
}

void daemon_start(struct server *server, const struct places *places, const struct masters *masters,
                  const char *counts, const char *settings)
{
    char config[SOCKET_PATH + 16], log[SOCKET_PATH + 16], preload[512], file[512];
    server_address(&server->address, places, "d");
    snprintf(config, sizeof config, "%s.yaml", server->address.path);
    snprintf(log, sizeof log, "%s.log", server->address.path);
    configure(config, server, masters, settings);
    const char *argv[] = {places->daemon, "-c", config, NULL};
    const char *environment[] = {preload, file, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", places->counting ? places->counting : "");
    snprintf(file, sizeof file, "BENCH_COUNTS=%s", counts ? counts : "");
    server->pid = process_exec(argv, log, counts ? environment : NULL);
    char what[SOCKET_PATH + 600];
    snprintf(what, sizeof what, "%s (its log: %s)", places->daemon, log);
    server_wait(server, what);
    if (!daemon_wait_voting(server, BENCH_MASTERS))
        fail("%s does not accept its masters", what);
}

unsigned daemon_voting(const struct server *server)
{
    char rows[8192];
    unsigned voting = 0;
    int fd = socket_dial(&server->address, true, SOCKET_NO_SOURCE);
    socket_ask(fd, "SHOW NODES\n", rows, sizeof rows);
    close(fd);
    for (const char *at = rows; (at = strstr(at, "state=up")); at++)
        voting++;
    return voting;
}

bool daemon_wait_voting(const struct server *server, unsigned masters)
{
    int64_t end_ns = now_ns() + START_MS * INT64_C(1000000);
    while (daemon_voting(server) != masters) {
        if (now_ns() > end_ns)
            return false;
        pause_ms(POLL_MS);
    }
    return true;
}
