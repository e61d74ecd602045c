#include "tests/unit/server.h"

long long test_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int server_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    return ntohs(address.sin_port);
}

int server_connect(const struct server *s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", s->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

void server_folder(struct server *s)
{
    memset(s, 0, sizeof *s);
    snprintf(s->folder, sizeof s->folder, "/tmp/redlockd-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/s", s->folder);
}

void server_kill(struct server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
    unlink(s->path);
}

void server_run_with(struct server *s, int port, const char *const more[4])
{
    char port_text[16];
    snprintf(port_text, sizeof port_text, "%d", port);
    s->port = port;
    s->pid = fork();
    ck_assert_int_ge(s->pid, 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char *args[] = {"redis-server", "--port", port_text, "--bind",     "127.0.0.1",
                              "--unixsocket", s->path,  "--save",  "",           "--appendonly",
                              "no",           "--dir",  s->folder, "--loglevel", "warning",
                              "--logfile",    "log",    more[0],   more[1],      more[2],
                              more[3],        NULL};
        execvp(args[0], (char *const *)(uintptr_t)args);
        _exit(127);
    }
    for (long long end = test_now_ms() + SERVER_WAIT_MS; test_now_ms() < end; poll(NULL, 0, 2)) {
        int fd = server_connect(s);
        if (fd >= 0) {
            close(fd);
            return;
        }
        ck_assert_msg(waitpid(s->pid, NULL, WNOHANG) == 0, "redis-server did not start; see its log");
    }
    ck_abort_msg("redis-server does not answer");
}

void server_run(struct server *s, int port, const char *option, const char *value)
{
    server_run_with(s, port, (const char *const[4]){option, value, NULL, NULL});
}

void server_remove(struct server *s)
{
    char file[128];
    server_kill(s);
    snprintf(file, sizeof file, "%s/log", s->folder);
    unlink(file);
    rmdir(s->folder);
}

void server_write(int fd, const char *bytes, size_t len)
{
    ck_assert_int_eq(send(fd, bytes, len, MSG_NOSIGNAL), (long)len);
}

void server_ask(struct server *s, const char *command, char *reply, size_t size)
{
    int fd = server_connect(s);
    ck_assert_int_ge(fd, 0);
    server_write(fd, command, strlen(command));
    server_write(fd, "\r\n", 2);
    ssize_t n = recv(fd, reply, size - 1, 0);
    ck_assert_int_gt(n, 0);
    reply[n] = '\0';
    close(fd);
}

void server_say(struct server *s, const char *command)
{
    char reply[512];
    server_ask(s, command, reply, sizeof reply);
    ck_assert_msg(reply[0] != '-', "%s: %s", command, reply);
}
