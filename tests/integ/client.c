/* Clients: blocking sockets that never wait longer than WAIT_MS. */
#include "tests/integ/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void client_connect(struct client *client, int family, const struct sockaddr *address, socklen_t len)
{
    client->len = client->used = 0;
    client->renew_ttl_ms = 0;
    client->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(client->fd, 0);
    struct timeval bound = {.tv_sec = WAIT_MS / 1000};
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    int refused = connect(client->fd, address, len);
    while (refused &&
           errno == EINTR) /* a call with a time limit is not restarted when the machine stood still */
        refused = connect(client->fd, address, len);
    ck_assert_msg(!refused || errno == EISCONN, "connect: %s", strerror(errno));
}

void client_open(struct client *client, const struct daemon *daemon)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", daemon->path);
    client_connect(client, AF_UNIX, (struct sockaddr *)&address, sizeof address);
}

void client_open_tcp(struct client *client, const struct daemon *daemon)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(daemon->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    client_connect(client, AF_INET, (struct sockaddr *)&address, sizeof address);
}

void client_write(struct client *client, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t written = send(client->fd, at, len, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        ck_assert_msg(written > 0, "send: %s", strerror(errno));
        at += written;
        len -= (size_t)written;
    }
}

void client_send(struct client *client, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    ck_assert(len >= 0 && (size_t)len < sizeof text - 1);
    text[len] = '\n';
    client_write(client, text, (size_t)len + 1);
}

void client_half_close(struct client *client)
{
    ck_assert_int_eq(shutdown(client->fd, SHUT_WR), 0);
}

void client_close(struct client *client)
{
    close(client->fd);
    client->fd = -1;
}

void client_reset(struct client *client)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    ck_assert_int_eq(setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    client_close(client);
}

enum { LOOK_MS = 20 };

static bool readable(const struct client *client, int within_ms)
{
    struct pollfd waiting = {.fd = client->fd, .events = POLLIN};
    int64_t end_ms = now_ms() + within_ms;
    for (;;) {
        int64_t left_ms = end_ms - now_ms();
        int ready = poll(&waiting, 1, left_ms < 0 ? 0 : left_ms > LOOK_MS ? LOOK_MS : (int)left_ms);
        look();
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
        if (ready == 0 && looked_ms >= end_ms)
            return false;
    }
}

bool client_silent(struct client *client)
{
    return client->used == client->len && !readable(client, 0);
}

/* Reads more; 0: the connection is closed. */
static ssize_t client_fill(struct client *client, const char *file, int line)
{
    memmove(client->buffer, client->buffer + client->used, client->len - client->used);
    client->len -= client->used;
    client->used = 0;
    if (client->len == sizeof client->buffer)
        fail_at(file, line, "a line without end: %.100s", client->buffer);
    ssize_t got;
    do {
        if (!readable(client, WAIT_MS))
            fail_at(file, line, "no line came within %d ms", WAIT_MS);
        got = recv(client->fd, client->buffer + client->len, sizeof client->buffer - client->len, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECONNRESET)
        fail_at(file, line, "recv: %s", strerror(errno));
    client->len += got > 0 ? (size_t)got : 0;
    return got > 0 ? got : 0;
}

const char *client_line_at(struct client *client, const char *file, int line)
{
    for (;;) {
        char *start = client->buffer + client->used;
        char *end = memchr(start, '\n', client->len - client->used);
        if (end) {
            size_t len = (size_t)(end - start);
            if (len >= 2048)
                fail_at(file, line, "a server line of %zu bytes", len + 1);
            memcpy(client->line, start, len);
            client->line[len] = '\0';
            client->used += len + 1;
            return client->line;
        }
        if (client_fill(client, file, line) == 0)
            return NULL;
    }
}

const char *client_expect_at(struct client *client, const char *pattern, const char *file, int line)
{
    const char *got = client_line_at(client, file, line);
    if (!got)
        fail_at(file, line, "closed instead of '%s'", pattern);
    if (fnmatch(pattern, got, 0) != 0)
        fail_at(file, line, "'%s' instead of '%s'", got, pattern);
    return got;
}

const char *client_ask_again_at(struct client *client, const char *pattern, const char *file, int line,
                                const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *got;
    int64_t end_ms = now_ms() + WAIT_MS;
    do {
        client_send(client, "%s", text);
        got = client_line_at(client, file, line);
    } while (got && strncmp(got, "-NOQUORUM ", 10) == 0 && now_ms() < end_ms);
    if (!got || fnmatch(pattern, got, 0) != 0)
        fail_at(file, line, "'%s' instead of '%s'", got ? got : "closed", pattern);
    return got;
}

const char *client_await_at(struct client *client, const char *pattern, const char *file, int line)
{
    const char *got;
    do {
        got = client_line_at(client, file, line);
        if (!got)
            fail_at(file, line, "closed before '%s'", pattern);
    } while (fnmatch(pattern, got, 0) != 0);
    return got;
}

void client_closed_at(struct client *client, const char *file, int line)
{
    const char *got = client_line_at(client, file, line);
    if (got)
        fail_at(file, line, "'%s' instead of the end", got);
}

char *client_rows_at(struct client *client, const char *file, int line)
{
    size_t len = 0;
    unsigned rows = 0;
    char *text = calloc(1, 1);
    for (;;) {
        const char *got = client_line_at(client, file, line);
        if (!got)
            fail_at(file, line, "closed in the middle of rows");
        if (strncmp(got, "+END ", 5) == 0) {
            if (strtoul(got + 5, NULL, 10) != rows)
                fail_at(file, line, "%u rows, but '%s'", rows, got);
            return keep(text);
        }
        if (strncmp(got, "* ", 2) != 0)
            fail_at(file, line, "'%s' instead of a row", got);
        text = realloc(text, len + strlen(got) + 2);
        len += (size_t)sprintf(text + len, "%s\n", got);
        rows++;
    }
}

/* ---- reading lines ---- */

const char *kv(const char *line, const char *key)
{
    static char values[16][256];
    static unsigned turn;
    char *value = values[turn++ % 16];
    size_t key_len = strlen(key);
    value[0] = '\0';
    for (const char *word = line; word && *word; word = strchr(word, ' '), word += word != NULL) {
        if (*word == ':' && word[1] == ' ')
            break; /* a text for people follows */
        if (strncmp(word, key, key_len) == 0 && word[key_len] == '=') {
            size_t len = strcspn(word + key_len + 1, " \n");
            snprintf(value, sizeof values[0], "%.*s", (int)len, word + key_len + 1);
            break;
        }
        if (memchr(word, '\n', strcspn(word, " ")))
            break;
    }
    return value;
}

int64_t number(const char *line, const char *key)
{
    const char *value = kv(line, key);
    char *end;
    long long result = strtoll(value, &end, 10);
    return *value && !*end ? result : -1;
}

const char *row_with(const char *rows, const char *text)
{
    for (const char *row = rows; row && *row; row = strchr(row, '\n'), row += row != NULL)
        if (memmem(row, strcspn(row, "\n"), text, strlen(text)))
            return row;
    return NULL;
}

unsigned rows_with(const char *rows, const char *text)
{
    unsigned count = 0;
    for (const char *row = rows; (row = row_with(row, text)) != NULL; count++)
        row += strcspn(row, "\n") + 1; /* each row ends with an LF */
    return count;
}

const char *node_row(struct client *client, const struct server *server)
{
    char address[PATH + 16];
    if (server->port)
        snprintf(address, sizeof address, "node=127.0.0.1:%u ", server->port);
    else
        snprintf(address, sizeof address, "node=unix:%s ", server->path);
    const char *rows = show(client, "NODES");
    const char *row = row_with(rows, address);
    ck_assert_msg(row != NULL, "no %s in %s", address, rows);
    return row;
}

const char *node_state(struct client *client, const struct server *server)
{
    return kv(node_row(client, server), "state");
}

bool masters_up(struct client *client, const struct cluster *cluster)
{
    return rows_with(show(client, "NODES"), " state=up ") == cluster->count;
}

void daemon_serves(struct daemon *daemon, const struct cluster *cluster, const char *settings,
                   struct client *client)
{
    daemon_start(daemon, cluster, settings);
    client_open(client, daemon);
    eventually(masters_up(client, cluster));
}

struct grant grant_of(const char *line)
{
    struct grant grant = {
        .fence = number(line, "fence"), .valid_ms = number(line, "valid"), .until_ms = number(line, "until")};
    const char *token = kv(line, "token");
    ck_assert_msg(strlen(token) == 40 && strspn(token, "0123456789abcdef") == 40, "no token: %s", line);
    ck_assert_msg(grant.fence > 0 && grant.valid_ms > 0, "no fence or validity: %s", line);
    strcpy(grant.token, token);
    int64_t left_ms = grant.until_ms - now_ms();
    ck_assert_msg(left_ms <= grant.valid_ms && left_ms > grant.valid_ms - WAIT_MS,
                  "valid= and until= differ: %s", line);
    return grant;
}

void play(bool (*scene)(int ttl_ms), int ttl_ms)
{
    for (int tries = 5;; ttl_ms *= 2) {
        look_begin();
        if (scene(ttl_ms))
            return;
        look();
        ck_assert_msg(still_ms >= STILL_MS || still_ms >= ttl_ms / 4,
                      "locks of %d ms ended too early, and the machine stood still for %lld ms only", ttl_ms,
                      (long long)still_ms);
        ck_assert_msg(--tries > 0, "the locks did not last for %d ms either", ttl_ms);
    }
}
