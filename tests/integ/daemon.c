/* The daemon: its configuration, its process, and what its files and /proc tell about it. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

const char *daemon_binary(void)
{
    const char *path = getenv("REDLOCKD");
    return path && *path ? path : "./build/redlockd";
}

void daemon_configure(struct daemon *daemon, const struct cluster *cluster, const char *settings)
{
    if (!daemon->folder[0]) {
        snprintf(daemon->folder, sizeof daemon->folder, "%s", folder_new("daemon"));
        snprintf(daemon->config, sizeof daemon->config, "%s/redlockd.yaml", daemon->folder);
        snprintf(daemon->log, sizeof daemon->log, "%s/log", daemon->folder);
        snprintf(daemon->path, sizeof daemon->path, "%s/redlockd.sock", daemon->folder);
        daemon->port = port_free();
    }
    FILE *file = fopen(daemon->config, "w");
    ck_assert_ptr_nonnull(file);
    fputs(settings, file);
    if (!strstr(settings, "listen:"))
        fprintf(file, "listen:\n  - 127.0.0.1:%u\n  - unix:%s\n", daemon->port, daemon->path);
    /* A busy machine must not look like a slow master. */
    if (!strstr(settings, "node_timeout:"))
        fprintf(file, "node_timeout: 250ms\n");
    if (!strstr(settings, "min_ttl:"))
        fprintf(file, "min_ttl: 500ms\n");
    if (!strstr(settings, "restart_guard:"))
        fprintf(file, "restart_guard: off\n");
    if (cluster && !strstr(settings, "nodes:")) {
        fprintf(file, "nodes:\n");
        for (unsigned i = 0; i < cluster->count; i++) {
            const struct server *server = &cluster->server[i];
            if (server->port)
                fprintf(file, "  - redis://127.0.0.1:%u\n", server->port);
            else
                fprintf(file, "  - unix:%s\n", server->path);
        }
    }
    ck_assert_int_eq(fclose(file), 0);
}

void daemon_run(struct daemon *daemon, const char *const arguments[])
{
    const char *argv[16] = {daemon_binary()};
    for (unsigned i = 1; arguments[i - 1] && i < 15; i++)
        argv[i] = arguments[i - 1];
    const char *log = daemon->log[0] ? daemon->log : NULL;
    daemon->pid = daemon->skew ? program_start_skewed(argv, log, daemon->folder) : program_start(argv, log);
}

/* A daemon listens only when it has tried each of its masters, so a connection shows that it is ready. */
static bool listening(const struct daemon *daemon)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", daemon->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool open = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return open;
}

void daemon_listens(struct daemon *daemon)
{
    for (int64_t end_ms = now_ms() + WAIT_MS; !listening(daemon); nap()) {
        ck_assert_msg(waitpid(daemon->pid, NULL, WNOHANG) == 0, "%s ended:\n%s", daemon_binary(),
                      file_read(daemon->log));
        ck_assert_msg(now_ms() < end_ms, "%s does not listen:\n%s", daemon_binary(), file_read(daemon->log));
    }
}

void daemon_start(struct daemon *daemon, const struct cluster *cluster, const char *settings)
{
    *daemon = (struct daemon){0};
    daemon_configure(daemon, cluster, settings);
    daemon_run(daemon, (const char *const[]){"-c", daemon->config, NULL});
    daemon_listens(daemon);
}

void daemon_start_skewed(struct daemon *daemon, const struct cluster *cluster, const char *settings)
{
    *daemon = (struct daemon){0};
    daemon_configure(daemon, cluster, settings);
    daemon->skew = skew_make(daemon->folder);
    daemon_run(daemon, (const char *const[]){"-c", daemon->config, NULL});
    daemon_listens(daemon);
}

void daemon_signal(struct daemon *daemon, int number)
{
    if (number == SIGSTOP)
        process_stop(daemon->pid);
    else
        ck_assert_int_eq(kill(daemon->pid, number), 0);
}

int daemon_exit(struct daemon *daemon)
{
    int status = 0;
    for (int64_t end_ms = now_ms() + WAIT_MS; waitpid(daemon->pid, &status, WNOHANG) == 0; nap())
        ck_assert_msg(now_ms() < end_ms, "%s does not end:\n%s", daemon_binary(), file_read(daemon->log));
    daemon->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool daemon_logged(const struct daemon *daemon, const char *text)
{
    char *log = file_read(daemon->log);
    bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

long daemon_status_kb(const struct daemon *daemon, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)daemon->pid);
    char *status = file_read(path);
    const char *found = strstr(status, key);
    ck_assert_msg(found != NULL, "%s: no %s", path, key);
    long kb = strtol(found + strlen(key) + 1, NULL, 10);
    free(status);
    return kb;
}

long daemon_cpu_ms(const struct daemon *daemon)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon->pid);
    char *text = file_read(path);
    unsigned long user = 0, kernel = 0;
    /* The process is called redlockd: its name has no spaces, which would make this file hard to
     * parse. */
    ck_assert_int_eq(
        sscanf(text, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel), 2);
    free(text);
    return (long)(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}
