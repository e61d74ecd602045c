#include "tests/integ/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEST_TIMEOUT_S = 60, NAP_US = 2000, PROBE_MS = 2000 };

static char root[] = "/tmp/redlockd-test-XXXXXX";
static volatile pid_t runner;

/* ---- the program ---- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void pass_on(int number)
{
    kill(runner, number);
}

/* The suite runs in a child, so that the folder is removed whatever becomes of it. */
int harness_main(Suite *suite)
{
    if (!mkdtemp(root)) {
        perror(root);
        return EXIT_FAILURE;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans of a test come to us, not to an init that may not care */
    pid_t above = getpid();
    runner = fork();
    if (runner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != above)
            _exit(EXIT_FAILURE);
        signal(SIGPIPE, SIG_IGN);
        SRunner *tests = srunner_create(suite);
        srunner_run_all(tests, getenv("CK_VERBOSITY") ? CK_ENV : CK_NORMAL);
        int failed = srunner_ntests_failed(tests);
        srunner_free(tests);
        exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    int status = 0, end = 0;
    for (pid_t ended = 0; ended != runner; status = end) {
        ended = waitpid(-1, &end, 0);
        if (ended < 0 && errno != EINTR)
            break;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

void add_test(Suite *suite, const char *name, const TTest *test)
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, test);
    suite_add_tcase(suite, tests);
}

void fail_at(const char *file, int line, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_abort_msg("%s:%d: %s", file, line, text);
    abort();
}

bool under_sanitizer(void)
{
    return strstr(daemon_binary(), "asan") != NULL;
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nap(void)
{
    usleep(NAP_US);
}

/* ---- files and processes ---- */

char *folder_new(const char *what)
{
    static unsigned made;
    char *path = malloc(FOLDER);
    ck_assert_ptr_nonnull(path);
    snprintf(path, FOLDER, "%s/%d.%s%u", root, (int)getpid(), what, made++);
    ck_assert_msg(mkdir(path, 0700) == 0, "mkdir %s: %s", path, strerror(errno));
    return path;
}

void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

char *file_read(const char *path)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &len, '\0', file) < 0) {
        free(text);
        text = calloc(1, 1);
    }
    if (file)
        fclose(file);
    return text;
}

/* Below the range from which the kernel takes ports for outgoing connections: a dial to a
 * dead master's port there could meet itself. */
uint16_t port_free(void)
{
    static unsigned next;
    for (unsigned tries = 0; tries < 2000; tries++) {
        uint16_t port = (uint16_t)(20000 + ((unsigned)getpid() * 37 + next++) % 12000);
        struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int one = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        bool ours = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        if (ours)
            return port;
    }
    ck_abort_msg("no free port on 127.0.0.1");
}

pid_t program_start(const char *const argv[], const char *output)
{
    pid_t test = getpid();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(126);
    int out = open(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int in = open("/dev/null", O_RDONLY);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* A signal is only queued when kill(2) returns. */
static void stand_still(pid_t pid)
{
    siginfo_t info;
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
}

/* ---- masters ---- */

/* Asks without failing the test. One connection for each command: none is left in a bad state by
 * what is done to the masters. */
static redisReply *server_ask(const struct server *server, const char *format, va_list arguments)
{
    struct timeval bound = {.tv_sec = PROBE_MS / 1000};
    redisContext *context = redisConnectUnixWithTimeout(server->path, bound);
    redisReply *reply = NULL;
    if (context && !context->err) {
        redisSetTimeout(context, bound);
        reply = redisvCommand(context, format, arguments);
    }
    if (context)
        redisFree(context);
    return reply;
}

static size_t reply_text(char *out, size_t size, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL)
        return (size_t)snprintf(out, size, "(nil)");
    if (reply->type == REDIS_REPLY_INTEGER)
        return (size_t)snprintf(out, size, "%lld", reply->integer);
    if (reply->type != REDIS_REPLY_ARRAY)
        return (size_t)snprintf(out, size, "%s", reply->str);
    size_t len = 0;
    for (size_t i = 0; i < reply->elements && len < size; i++) {
        len += (size_t)snprintf(out + len, size - len, "%s", i ? " " : "");
        if (len < size)
            len += reply_text(out + len, size - len, reply->element[i]);
    }
    return len;
}

static const char *server_answer(const struct server *server, const char *format, va_list arguments)
{
    static char answers[8][8192];
    static unsigned turn;
    char *answer = answers[turn++ % 8];
    redisReply *reply = server_ask(server, format, arguments);
    snprintf(answer, sizeof answers[0], "(down)");
    if (reply) {
        answer[0] = '\0';
        reply_text(answer, sizeof answers[0], reply);
        freeReplyObject(reply);
    }
    return answer;
}

const char *redis(const struct server *server, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *answer = server_answer(server, format, arguments);
    va_end(arguments);
    return answer;
}

unsigned cluster_answers(const struct cluster *cluster, const char *answer, const char *format, ...)
{
    unsigned count = 0;
    for (unsigned i = 0; i < cluster->count; i++) {
        va_list arguments;
        va_start(arguments, format);
        count += strcmp(server_answer(&cluster->server[i], format, arguments), answer) == 0;
        va_end(arguments);
    }
    return count;
}

unsigned cluster_holds(const struct cluster *cluster, const char *name, const char *token)
{
    return cluster_answers(cluster, token, "GET redlock:%s", name);
}

static void server_launch(struct server *server)
{
    char port[8], log[PATH];
    snprintf(port, sizeof port, "%u", server->port);
    snprintf(log, sizeof log, "%s/log", server->folder);
    const char *argv[] = {
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket", server->path, "--dir", server->folder,
        "--save", "", "--appendonly", "no", "--loglevel", "warning", NULL};
    server->pid = program_start(argv, log);
}

static void server_answers_ping(struct server *server)
{
    for (int64_t end_ms = now_ms() + WAIT_MS; strcmp(redis(server, "PING"), "PONG") != 0; nap()) {
        ck_assert_msg(now_ms() < end_ms, "redis-server in %s does not answer", server->folder);
        if (waitpid(server->pid, NULL, WNOHANG) == 0)
            continue;
        ck_assert_msg(server->port != 0, "redis-server in %s ended, see its log there", server->folder);
        server->port = port_free(); /* somebody was faster */
        server_launch(server);
    }
}

void cluster_start(struct cluster *cluster, unsigned count, enum transport transport)
{
    *cluster = (struct cluster){.count = count};
    for (unsigned i = 0; i < count; i++) {
        struct server *server = &cluster->server[i];
        snprintf(server->folder, sizeof server->folder, "%s", folder_new("redis"));
        snprintf(server->path, sizeof server->path, "%s/sock", server->folder);
        server->port = transport == TCP ? port_free() : 0;
        server_launch(server);
    }
    for (unsigned i = 0; i < count; i++)
        server_answers_ping(&cluster->server[i]);
}

void server_kill(struct server *server)
{
    ck_assert_int_eq(kill(server->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(server->pid, NULL, 0), server->pid);
    server->pid = 0;
    unlink(server->path);
}

void server_start(struct server *server)
{
    server_launch(server);
    server_answers_ping(server);
}

void server_stop(struct server *server)
{
    stand_still(server->pid);
}

void server_cont(struct server *server)
{
    ck_assert_int_eq(kill(server->pid, SIGCONT), 0);
}

/* ---- the daemon ---- */

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

void daemon_run(struct daemon *daemon, const char *const argv[])
{
    const char *ours[16] = {daemon_binary()};
    for (unsigned i = 1; argv[i - 1] && i < 15; i++)
        ours[i] = argv[i - 1];
    daemon->pid = program_start(ours, daemon->log[0] ? daemon->log : NULL);
}

/* It listens only when it has heard of its masters, so a connection says that it is ready. */
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
        ck_assert_msg(waitpid(daemon->pid, NULL, WNOHANG) == 0, "%s ended:\n%s", daemon_binary(), file_read(daemon->log));
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

void daemon_signal(struct daemon *daemon, int number)
{
    if (number == SIGSTOP)
        stand_still(daemon->pid);
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
    /* Its name is ours, so without the spaces that make this file hard to read. */
    ck_assert_int_eq(sscanf(text, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel), 2);
    free(text);
    return (long)(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}
