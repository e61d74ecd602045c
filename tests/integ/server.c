/* Masters: real redis-servers, and the faults that tests inject into them. */
#include "tests/integ/harness.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_S = 2 };

/* Asks without failing the test. Each command has a connection of its own, so that no connection is left
 * in a bad state by the faults. */
static redisReply *server_ask(const struct server *server, const char *format, va_list arguments)
{
    struct timeval bound = {.tv_sec = ANSWER_S};
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

const char *redis_typed(const struct server *server, const char *line)
{
    static char answer[1024];
    struct timeval bound = {.tv_sec = ANSWER_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, server->path, sizeof address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(dprintf(fd, "%s\r\n", line), (int)strlen(line) + 2);
    ssize_t len;
    do
        len = recv(fd, answer, sizeof answer - 1, 0);
    while (len < 0 && errno == EINTR);
    close(fd);
    ck_assert_int_gt(len, 0);
    answer[len] = '\0';
    answer[strcspn(answer, "\r")] = '\0';
    return answer + 1; /* the reply behind its type */
}

/* A save fails, and by default the server takes no writes after that. */
void server_misconf(struct server *server)
{
    char path[PATH + 16];
    snprintf(path, sizeof path, "%s/dump.rdb", server->folder);
    mkdir(path, 0700); /* no file can be renamed over a folder with a file in it */
    snprintf(path, sizeof path, "%s/dump.rdb/full", server->folder);
    file_write(path, "");
    redis(server, "CONFIG SET save %s", "3600 100000");
    redis(server, "BGSAVE");
    eventually(strstr(redis(server, "INFO persistence"), "rdb_last_bgsave_status:err") != NULL);
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

bool cluster_is_free(const struct cluster *cluster, const char *name)
{
    return cluster_answers(cluster, "(nil)", "GET redlock:%s", name) == cluster->count;
}

unsigned cluster_holds(const struct cluster *cluster, const char *name, const char *token)
{
    return cluster_answers(cluster, token, "GET redlock:%s", name);
}

bool cluster_gave_back(const struct cluster *cluster, const char *name)
{
    if (cluster_answers(cluster, "(nil)", "GET redlock:%s", name) <= cluster->count / 2)
        return false;
    for (unsigned i = 0; i < cluster->count; i++) {
        const struct server *server = &cluster->server[i];
        eventually_within(!server->pid || strcmp(redis(server, "GET redlock:%s", name), "(nil)") == 0,
                          8000); /* before the key's TTL is over */
    }
    return true;
}

static void server_launch_with(struct server *server, const char *const more[4])
{
    char port[8], log[PATH];
    snprintf(port, sizeof port, "%u", server->port);
    snprintf(log, sizeof log, "%s/log", server->folder);
    const char *argv[] = {"redis-server", "--port",     port,           "--bind", "127.0.0.1", "--unixsocket",
                          server->path,   "--dir",      server->folder, "--save", "",          "--appendonly",
                          "no",           "--loglevel", "warning",      more[0],  more[1],     more[2],
                          more[3],        NULL};
    server->pid = server->skew ? program_start_skewed(argv, log, server->folder) : program_start(argv, log);
}

static void server_launch(struct server *server)
{
    server_launch_with(server, (const char *const[4]){NULL});
}

static void server_answers_ping(struct server *server)
{
    for (int64_t end_ms = now_ms() + WAIT_MS; strcmp(redis(server, "PING"), "PONG") != 0; nap()) {
        ck_assert_msg(now_ms() < end_ms, "redis-server in %s does not answer", server->folder);
        if (waitpid(server->pid, NULL, WNOHANG) == 0)
            continue;
        ck_assert_msg(server->port != 0, "redis-server in %s ended, see its log there", server->folder);
        server->port = port_free(); /* another process was faster */
        server_launch(server);
    }
}

static void start(struct cluster *cluster, unsigned count, enum transport transport, bool skewed)
{
    *cluster = (struct cluster){.count = count};
    for (unsigned i = 0; i < count; i++) {
        struct server *server = &cluster->server[i];
        const char *folder = folder_new("redis");
        snprintf(server->folder, sizeof server->folder, "%s", folder);
        snprintf(server->path, sizeof server->path, "%s/sock", folder);
        server->port = transport == TCP ? port_free() : 0;
        if (skewed)
            server->skew = skew_make(folder);
        server_launch(server);
    }
    for (unsigned i = 0; i < count; i++)
        server_answers_ping(&cluster->server[i]);
}

void cluster_start(struct cluster *cluster, unsigned count, enum transport transport)
{
    start(cluster, count, transport, false);
}

void cluster_start_skewed(struct cluster *cluster, unsigned count, enum transport transport)
{
    start(cluster, count, transport, true);
}

void cluster_trust(const struct cluster *cluster, int64_t max_ttl_ms)
{
    for (unsigned i = 0; i < cluster->count; i++) {
        const struct server *server = &cluster->server[i];
        const char *run = strstr(redis(server, "INFO server"), "run_id:");
        char group[128];
        ck_assert_ptr_nonnull(run);
        snprintf(group, sizeof group, "1 N=%u max_ttl=%lld run=%.40s from=1", cluster->count,
                 (long long)max_ttl_ms, run + strlen("run_id:"));
        ck_assert_str_eq(redis(server, "SET redlock:,group %s PX 600000", group), "OK");
    }
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

void server_start_without(struct server *server, const char *command)
{
    server_kill(server);
    server_launch_with(server, (const char *const[4]){"--rename-command", command, ""});
    server_answers_ping(server);
}

void server_start_loading(struct server *server, unsigned key_us)
{
    char delay[16];
    snprintf(delay, sizeof delay, "%u", key_us);
    server_launch_with(server, (const char *const[4]){"--key-load-delay", delay,
                                                      "--loading-process-events-interval-bytes", "1024"});
}

void server_stop(struct server *server)
{
    process_stop(server->pid);
}

void server_cont(struct server *server)
{
    ck_assert_int_eq(kill(server->pid, SIGCONT), 0);
}
