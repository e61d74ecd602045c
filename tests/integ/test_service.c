/* Under a service manager: what the daemon tells it, and sockets that the manager opened. */
#include "tests/integ/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct manager manager;
static struct client a, b;

static void prepare(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_configure(&redlockd, &masters, settings);
}

static void begin(const char *settings)
{
    prepare(settings);
    manager_hears(&manager);
    manager_run(&manager, &redlockd);
}

/* ---- what the manager is told ---- */

T(ready_when_it_listens)
{
    begin(PATIENT);
    manager_await(&manager, "READY=1\n");
    client_open(&a, &redlockd); /* at the first attempt */
    lock(&a, "job ttl=30s");
    client_open_tcp(&b, &redlockd);
    client_send(&b, "LOCK job wait=30s");
    manager_await(&manager, "STATUS=3/3 masters, 1 locks, 1 waiting\n");
    server_kill(&masters.server[0]);
    manager_await(&manager, "STATUS=2/3 masters, 1 locks, 1 waiting\n");
}

static int64_t monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void reload(void)
{
    int64_t before_us = monotonic_us();
    daemon_signal(&redlockd, SIGHUP);
    const char *text = manager_await(&manager, "RELOADING=1\nMONOTONIC_USEC=");
    int64_t at_us = strtoll(strrchr(text, '=') + 1, NULL, 10);
    ck_assert_msg(at_us >= before_us && at_us <= monotonic_us(), "%s", text);
    manager_await(&manager, "READY=1\n");
}

T(reloading)
{
    begin(PATIENT);
    manager_await(&manager, "READY=1\n");
    reload();
    file_write(redlockd.config, "nonsense: yes\n");
    reload();
    ck_assert(daemon_logged(&redlockd, "event=reload file=") && daemon_logged(&redlockd, "errors="));
}

T(more_time_while_it_drains)
{
    begin(PATIENT "drain_timeout: 60s\n");
    manager_await(&manager, "READY=1\n");
    client_open(&a, &redlockd);
    lock(&a, "job ttl=60s wait=10s");
    daemon_signal(&redlockd, SIGTERM);
    const char *text = manager_await(&manager, "STOPPING=1\n");
    ck_assert_ptr_nonnull(strstr(text, "EXTEND_TIMEOUT_USEC=10000000\n"));
    ck_assert_ptr_nonnull(strstr(text, "STATUS=draining: 3/3 masters, 1 locks, 0 waiting\n"));
    daemon_signal(&redlockd, SIGHUP);
    for (int i = 0; i < 2; i++) {
        text = manager_await(&manager, "EXTEND_TIMEOUT_USEC=10000000\n");
        ck_assert_msg(!strstr(text, "READY=1") && !strstr(text, "RELOADING=1"), "%s", text);
    }
    await(&a, "!DRAIN");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

T(signs_of_life)
{
    setenv("WATCHDOG_USEC", "300000", 1);
    begin(PATIENT);
    for (int i = 0; i < 5; i++)
        manager_await(&manager, "WATCHDOG=1\n");
}

T(another_process_is_watched)
{
    setenv("WATCHDOG_USEC", "300000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    begin(PATIENT);
    const char *text = manager_await(&manager, "READY=1\n");
    ck_assert_ptr_null(strstr(text, "WATCHDOG"));
    client_open(&a, &redlockd);
    lock(&a, "job ttl=30s wait=10s");
    text = manager_await(&manager, " 1 locks,");
    ck_assert_ptr_null(strstr(text, "WATCHDOG"));
}

T(manager_comes_back)
{
    prepare(PATIENT);
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    manager_run(&manager, &redlockd);
    daemon_listens(&redlockd);
    eventually(daemon_logged(&redlockd, "event=notify why=\"the service manager cannot be told anything"));
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);

    manager_hears(&manager);
    char away[PATH + 8];
    snprintf(away, sizeof away, "%s.away", manager.notify);
    ck_assert_int_eq(rename(manager.notify, away), 0);
    file_write(redlockd.log, "");
    manager_run(&manager, &redlockd);
    daemon_listens(&redlockd);
    eventually(daemon_logged(&redlockd, "event=notify why=\"the service manager cannot be told anything"));
    ck_assert_int_eq(rename(away, manager.notify), 0);
    manager_await(&manager, "READY=1\n");
}

T(nonsense_from_the_manager)
{
    setenv("NOTIFY_SOCKET", "tcp:1", 1);
    prepare(PATIENT);
    manager_run(&manager, &redlockd);
    daemon_listens(&redlockd);
    ck_assert(daemon_logged(&redlockd, "event=notify why=\"NOTIFY_SOCKET is neither a path"));
}

/* Finds a redis-server of the test's own first, which writes down what it inherited. */
static char *path_with_a_teller(const char *folder)
{
    char program[PATH + 16], text[512];
    const char *path = getenv("PATH");
    snprintf(program, sizeof program, "%s/redis-server", folder);
    snprintf(text, sizeof text, "#!/bin/sh\nenv >%s/inherited\nPATH='%s' exec redis-server \"$@\"\n", folder,
             path);
    file_write(program, text);
    ck_assert_int_eq(chmod(program, 0700), 0);
    snprintf(text, sizeof text, "%s:%s", folder, path);
    setenv("PATH", text, 1);
    snprintf(text, sizeof text, "%s/inherited", folder);
    return keep(strdup(text));
}

T(children_inherit_nothing)
{
    const char *folder = folder_new("dev"), *inherited = path_with_a_teller(folder);
    manager_hears(&manager);
    setenv("WATCHDOG_USEC", "30000000", 1);
    setenv("LISTEN_PID", "1", 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_FDNAMES", "one", 1);
    snprintf(redlockd.log, sizeof redlockd.log, "%s/log", folder);
    daemon_run(&redlockd, (const char *const[]){"--dev=1", NULL});
    manager_await(&manager, "READY=1\n");
    const char *variables = keep(file_read(inherited));
    ck_assert_ptr_nonnull(strstr(variables, "PATH="));
    static const char *const ours[] = {"NOTIFY_", "LISTEN_", "WATCHDOG_"};
    for (unsigned i = 0; i < 3; i++)
        ck_assert_msg(!strstr(variables, ours[i]), "%s", ours[i]);
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

/* ---- sockets that the manager opened ---- */

static void pass_all(void)
{
    char settings[512];
    redlockd.port = port_free();
    snprintf(redlockd.folder, sizeof redlockd.folder, "%s", folder_new("daemon"));
    snprintf(redlockd.path, sizeof redlockd.path, "%s/redlockd.sock", redlockd.folder);
    snprintf(redlockd.config, sizeof redlockd.config, "%s/redlockd.yaml", redlockd.folder);
    snprintf(redlockd.log, sizeof redlockd.log, "%s/log", redlockd.folder);
    snprintf(settings, sizeof settings,
             PATIENT "listen: [\"unix:%s\", \"127.0.0.1:%u\", \"[::]:%u\"]\nunix_mode: \"0600\"\n",
             redlockd.path, redlockd.port, redlockd.port);
    prepare(settings);
    manager_pass(&manager, listen_tcp6("::", redlockd.port, true));
    manager_pass(&manager, listen_unix(redlockd.path));
    manager_pass(&manager, listen_tcp(redlockd.port));
}

/* A client connects although no daemon may run at that moment; the next one answers it. */
static void serves(void)
{
    client_open(&a, &redlockd);
    client_open_tcp(&b, &redlockd);
    if (redlockd.pid == 0)
        manager_run(&manager, &redlockd);
    ask(&a, "+PONG*", "PING");
    ask(&b, "+PONG*", "PING");
    client_close(&a);
    client_close(&b);
}

static long flags_of(pid_t pid, int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, fd);
    char *text = file_read(path);
    const char *flags = strstr(text, "flags:");
    ck_assert_msg(flags != NULL, "%s: %s", path, text);
    long value = strtol(flags + 6, NULL, 8);
    free(text);
    return value;
}

T(path_connects_always)
{
    struct stat first, now;
    pass_all();
    ck_assert_int_eq(stat(redlockd.path, &first), 0);
    serves();
    ck_assert_uint_eq(rows_with(keep(file_read(redlockd.log)), "passed=yes"), 3);
    for (int fd = 3; fd < 6; fd++)
        ck_assert_int_eq(flags_of(redlockd.pid, fd) & (O_NONBLOCK | O_CLOEXEC), O_NONBLOCK | O_CLOEXEC);
    daemon_signal(&redlockd, SIGTERM); /* stop and start */
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    serves();
    daemon_signal(&redlockd, SIGTERM); /* restart */
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    manager_run(&manager, &redlockd);
    serves();
    daemon_signal(&redlockd, SIGKILL); /* crash */
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
    serves();
    ck_assert_int_eq(stat(redlockd.path, &now), 0);
    ck_assert(now.st_dev == first.st_dev && now.st_ino == first.st_ino);
    ck_assert_uint_eq(now.st_mode, first.st_mode);
}

/* Starts the daemon with one socket more than its file names. */
static void refuses(int fd, const char *why)
{
    prepare(PATIENT);
    manager_pass(&manager, listen_unix(redlockd.path));
    manager_pass(&manager, fd);
    manager_run(&manager, &redlockd);
    ck_assert_int_eq(daemon_exit(&redlockd), 1);
    ck_assert_msg(daemon_logged(&redlockd, why), "no %s in %s", why, keep(file_read(redlockd.log)));
    ck_assert(!daemon_logged(&redlockd, "event=listening"));
    ck_assert_int_eq(access(redlockd.path, F_OK), 0);
}

T(socket_of_no_entry)
{
    refuses(listen_tcp(port_free()), "no entry of listen or http has its address");
}

T(path_of_no_entry)
{
    char path[PATH + 8];
    snprintf(path, sizeof path, "%s/other", folder_new("other"));
    refuses(listen_unix(path), "no entry of listen or http has its address");
}

T(socket_of_two_families)
{
    char settings[256];
    uint16_t port = port_free();
    cluster_start(&masters, 1, UNIX);
    snprintf(settings, sizeof settings, PATIENT "listen: [\"[::]:%u\"]\n", port);
    daemon_configure(&redlockd, &masters, settings);
    manager_pass(&manager, listen_tcp6("::", port, false));
    manager_run(&manager, &redlockd);
    ck_assert_int_eq(daemon_exit(&redlockd), 1);
    ck_assert(daemon_logged(&redlockd, "it takes IPv4 as well\" hint=\"the socket unit needs BindIPv6Only="));
}

T(no_listening_stream)
{
    refuses(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "it is no stream socket that listens");
}

T(too_many_sockets)
{
    setenv("LISTEN_FDS", "4096", 1);
    refuses(listen_tcp(port_free()), "LISTEN_FDS is not a number of sockets");
}

T(descriptor_that_is_not_open)
{
    setenv("LISTEN_FDS", "3", 1);
    refuses(listen_tcp(port_free()), "fd=5 error=\"Bad file descriptor\"");
}

T(sockets_of_a_parent)
{
    setenv("LISTEN_PID", "1", 1);
    setenv("LISTEN_FDS", "2", 1);
    prepare(PATIENT);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    ck_assert(!daemon_logged(&redlockd, "passed=yes"));
}

/* systemd's own tool, which opens the sockets and starts the daemon at the first connection. */
T(systemd_socket_activate)
{
    char tcp[32];
    if (access("/usr/bin/systemd-socket-activate", X_OK) != 0) {
        puts("left out: systemd-socket-activate, which is not installed");
        return;
    }
    prepare(PATIENT);
    snprintf(tcp, sizeof tcp, "127.0.0.1:%u", redlockd.port);
    redlockd.pid =
        program_start((const char *const[]){"systemd-socket-activate", "-l", tcp, "-l", redlockd.path,
                                            daemon_binary(), "-c", redlockd.config, NULL},
                      redlockd.log);
    eventually(access(redlockd.path, F_OK) == 0 && daemon_logged(&redlockd, "Listening on"));
    client_open(&a, &redlockd);
    ask(&a, "+PONG*", "PING");
    client_open_tcp(&b, &redlockd);
    ask(&b, "+PONG*", "PING");
    ck_assert_uint_eq(rows_with(keep(file_read(redlockd.log)), "passed=yes"), 2);
}
