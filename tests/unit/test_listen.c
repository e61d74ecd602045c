/* Listening sockets: stale, live and foreign paths, ports, and a daemon without free descriptors. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conn/listen.h"
#include "daemon/log.h"
#include "tests/unit/suite.h"

enum { PATIENCE_MS = 10000, CLIENTS = 256 };

static struct event_base *base;
static struct conf conf;
static char folder[64], path[104];
static int accepted[CLIENTS];
static unsigned count;
static int log_pipe[2]; /* log lines go here instead of stderr */
static int old_stderr;

static void on_accepted(void *arg, int fd, const struct conf_listener *listener, const struct sockaddr *peer,
                        socklen_t peer_len)
{
    (void)listener;
    ck_assert_ptr_eq(arg, &conf);
    ck_assert_uint_ge(peer_len, sizeof(sa_family_t));
    ck_assert(peer->sa_family == AF_UNIX || peer->sa_family == AF_INET || peer->sa_family == AF_INET6);
    ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_uint_lt(count, CLIENTS);
    accepted[count++] = fd;
}

static void listen_on(const char *host, const char *unix_path)
{
    struct conf_address *address = &conf.listen[conf.listeners++].address;

    memset(address, 0, sizeof *address);
    snprintf(address->host, sizeof address->host, "%s", host);
    snprintf(address->path, sizeof address->path, "%s", unix_path);
    snprintf(address->shown, sizeof address->shown, "%s%s", *host ? host : "unix:", unix_path);
}

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_listen.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sock", folder);
    base = event_base_new();
    conf_defaults(&conf);
    conf.listeners = 0;
    ck_assert_int_eq(pipe2(log_pipe, O_NONBLOCK), 0);
    old_stderr = dup(2);
    dup2(log_pipe[1], 2);
    log_set_level(LOG_LEVEL_INFO);
}

static void teardown(void)
{
    dup2(old_stderr, 2);
    close(old_stderr);
    close(log_pipe[0]);
    close(log_pipe[1]);
    for (unsigned i = 0; i < count; i++)
        close(accepted[i]);
    event_base_free(base);
    unlink(path);
    rmdir(folder);
}

/* The log since the last call. */
static const char *logged(void)
{
    static char text[8192];
    ssize_t n = read(log_pipe[0], text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    return text;
}

static struct listeners *start(void)
{
    struct listeners *listeners = listeners_new(base, &conf, on_accepted, &conf);

    ck_assert_msg(listeners != NULL, "%s", logged());
    ck_assert_int_eq(listeners_start(listeners), 0);
    return listeners;
}

static int unix_connect(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(name.sun_path, path, strlen(path) + 1);
    if (connect(fd, (struct sockaddr *)&name, sizeof name) == 0)
        return fd;
    int err = errno;
    close(fd);
    errno = err;
    return -1;
}

static int tcp_connect(int family, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
    int fd = socket(family, SOCK_STREAM, 0);

    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -1;
    if ((family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof v4)
                           : connect(fd, (struct sockaddr *)&v6, sizeof v6)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void expect_accepted(unsigned want)
{
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (count < want && clock_boot_ms() < until_ms) {
        event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        poll(NULL, 0, 1);
    }
    ck_assert_uint_eq(count, want);
}

/* A socket file that no process listens on, as a killed daemon leaves it. */
static void leave_stale(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(name.sun_path, path, strlen(path) + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
}

SETUP(setup, teardown);

T(both_kinds_of_listeners_accept)
{
    listen_on("127.0.0.1", "");
    listen_on("", path);
    struct listeners *listeners = start();
    uint16_t port = listeners_port(listeners, 0);

    ck_assert_uint_ne(port, 0);
    ck_assert_uint_eq(listeners_port(listeners, 1), 0);
    int a = tcp_connect(AF_INET, port), b = unix_connect();
    ck_assert_int_ge(a, 0);
    ck_assert_int_ge(b, 0);
    expect_accepted(2);
    close(a);
    close(b);
    listeners_free(listeners);
    ck_assert_int_lt(tcp_connect(AF_INET, port), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    conf.listen[0].address.port = port; /* at once again, with connections in TIME_WAIT */
    listeners_free(start());
}

T(nobody_is_let_in_before_the_start)
{
    listen_on("127.0.0.1", "");
    listen_on("", path);
    struct listeners *listeners = listeners_new(base, &conf, on_accepted, &conf);

    ck_assert_ptr_nonnull(listeners);
    ck_assert_int_lt(tcp_connect(AF_INET, listeners_port(listeners, 0)), 0);
    ck_assert_int_lt(unix_connect(), 0);
    ck_assert_int_eq(listeners_start(listeners), 0);
    int fd = tcp_connect(AF_INET, listeners_port(listeners, 0));
    ck_assert_int_ge(fd, 0);
    expect_accepted(1);
    close(fd);
    listeners_stop(listeners);
    ck_assert_int_lt(tcp_connect(AF_INET, listeners_port(listeners, 0)), 0);
    ck_assert_int_lt(unix_connect(), 0);
    listeners_free(listeners);
}

T(ipv6_and_names)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool has_v6 = probe >= 0 && bind(probe, (struct sockaddr *)&v6, sizeof v6) == 0;

    if (probe >= 0)
        close(probe);
    listen_on("localhost", "");
    if (has_v6)
        listen_on("::1", "");
    struct listeners *listeners = start();
    int fd = tcp_connect(AF_INET, listeners_port(listeners, 0));
    ck_assert_int_ge(fd, 0);
    expect_accepted(1);
    close(fd);
    if (has_v6) {
        fd = tcp_connect(AF_INET6, listeners_port(listeners, 1));
        ck_assert_int_ge(fd, 0);
        expect_accepted(2);
        close(fd);
        ck_assert_int_lt(tcp_connect(AF_INET, listeners_port(listeners, 1)), 0); /* IPv6 only */
    }
    listeners_free(listeners);
}

T(a_port_in_use_is_an_error)
{
    listen_on("127.0.0.1", "");
    struct listeners *first = start();
    conf.listen[0].address.port = listeners_port(first, 0);
    logged();
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    const char *text = logged();
    ck_assert_ptr_nonnull(strstr(text, "level=error"));
    ck_assert_ptr_nonnull(strstr(text, "address=127.0.0.1"));
    ck_assert_ptr_nonnull(strstr(text, strerror(EADDRINUSE)));
    listeners_free(first);
}

T(an_address_of_another_host_is_an_error)
{
    listen_on("192.0.2.1", ""); /* RFC 5737: an address of no host */
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    ck_assert_ptr_nonnull(strstr(logged(), "hint=\"this host does not have that address"));
}

/* The bound address, not the configured one: port 0 becomes a port, a name an address. */
T(the_log_tells_where_to_connect)
{
    char expected[64];

    listen_on("127.0.0.1", "");
    listen_on("", path);
    struct listeners *listeners = start();
    const char *text = logged();
    snprintf(expected, sizeof expected, "event=listening address=127.0.0.1:%u\n",
             listeners_port(listeners, 0));
    ck_assert_ptr_nonnull(strstr(text, expected));
    ck_assert_ptr_nonnull(strstr(text, "event=listening address=unix:/"));
    ck_assert_ptr_null(strstr(text, "port="));
    listeners_free(listeners);
}

T(a_name_that_is_none_is_an_error)
{
    char label[81]; /* longer than DNS allows, so that no server is asked */

    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = 0;
    listen_on(label, "");
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    const char *text = logged();
    ck_assert_ptr_nonnull(strstr(text, "level=error"));
    ck_assert_ptr_nonnull(strstr(text, label));
}

T(unix_mode_is_kept)
{
    struct stat st;

    listen_on("", path);
    conf.unix_mode = 0620;
    mode_t old = umask(0);
    struct listeners *listeners = start();
    ck_assert_uint_eq(umask(old), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0620);
    listeners_free(listeners);
}

T(a_stale_socket_is_replaced)
{
    leave_stale();
    listen_on("", path);
    struct listeners *listeners = start();
    int fd = unix_connect();

    ck_assert_int_ge(fd, 0);
    expect_accepted(1);
    close(fd);
    listeners_free(listeners);
    ck_assert_int_ne(access(path, F_OK), 0);
}

T(a_live_socket_is_left_alone)
{
    char pid[32];

    listen_on("", path);
    struct listeners *listeners = start();
    logged();
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    snprintf(pid, sizeof pid, " pid=%ld why=", (long)getpid());
    ck_assert_ptr_nonnull(strstr(logged(), pid));
    int fd = unix_connect(); /* the file is still the first daemon's */
    ck_assert_int_ge(fd, 0);
    close(fd);
    listeners_free(listeners);
}

/* Between bind() and listen() the socket refuses connections, and so looks stale to another daemon. */
T(a_path_taken_over_before_the_start_is_an_error)
{
    listen_on("", path);
    struct listeners *slow = listeners_new(base, &conf, on_accepted, &conf);
    struct listeners *fast = start();

    ck_assert_ptr_nonnull(slow);
    logged();
    ck_assert_int_eq(listeners_start(slow), -1);
    ck_assert_ptr_nonnull(strstr(logged(), "another process put its socket in place of ours"));
    listeners_free(slow);
    int fd = unix_connect(); /* the file is still the fast daemon's */
    ck_assert_int_ge(fd, 0);
    close(fd);
    listeners_free(fast);
}

T(a_file_is_no_socket)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    close(fd);
    listen_on("", path);
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    ck_assert_ptr_nonnull(strstr(logged(), "no socket"));
    ck_assert_int_eq(access(path, F_OK), 0);
}

T(a_folder_that_is_not_there_is_an_error)
{
    listen_on("", "/nonexistent/folder/sock");
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    ck_assert_ptr_nonnull(strstr(logged(), "its folder is not there"));
}

T(only_our_own_inode_is_unlinked)
{
    listen_on("", path);
    struct listeners *listeners = start();

    unlink(path);
    leave_stale(); /* the file is another process's by now */
    listeners_free(listeners);
    ck_assert_int_eq(access(path, F_OK), 0);
}

T(a_failed_start_leaves_nothing)
{
    listen_on("", path);
    listen_on("", "/nonexistent/folder/sock");
    ck_assert_ptr_null(listeners_new(base, &conf, on_accepted, &conf));
    ck_assert_int_ne(access(path, F_OK), 0);
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

T(without_descriptors_accepting_pauses)
{
    struct rlimit limit, old;
    struct timeval tv = {.tv_usec = 350000};
    unsigned wakeups = 0;

    listen_on("127.0.0.1", "");
    listen_on("", path);
    struct listeners *listeners = start();
    int clients[4];
    clients[0] = unix_connect();
    expect_accepted(1);
    clients[1] = tcp_connect(AF_INET, listeners_port(listeners, 0));
    clients[2] = unix_connect();
    clients[3] = unix_connect();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit = old;
    limit.rlim_cur = 3; /* every new descriptor is above that */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    logged();

    event_base_loopexit(base, &tv);
    while (!event_base_got_exit(base) && wakeups < 1000) {
        event_base_loop(base, EVLOOP_ONCE);
        wakeups++;
    }
    ck_assert_uint_lt(wakeups, 20); /* no spin */
    ck_assert_uint_eq(count, 1);
    const char *text = logged();
    ck_assert_uint_eq(occurrences(text, "event=accept_paused"), 1);
    ck_assert_ptr_nonnull(strstr(text, strerror(EMFILE)));

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    expect_accepted(4);
    ck_assert_uint_eq(occurrences(logged(), "event=accept_resumed"), 1);
    for (int i = 0; i < 4; i++)
        close(clients[i]);
    listeners_free(listeners);
}

T(one_wakeup_accepts_a_bounded_number)
{
    int clients[200];

    listen_on("", path);
    struct listeners *listeners = start();
    for (int i = 0; i < 200; i++) {
        clients[i] = unix_connect();
        ck_assert_int_ge(clients[i], 0);
    }
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    ck_assert_uint_gt(count, 0);
    ck_assert_uint_le(count, 64);
    expect_accepted(200);
    for (int i = 0; i < 200; i++)
        close(clients[i]);
    listeners_free(listeners);
}
