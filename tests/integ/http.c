#include "tests/integ/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 1 << 20 };

int http_dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_msg(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect: %s",
                  strerror(errno));
    return fd;
}

void http_send(int fd, const char *bytes, size_t len)
{
    struct timeval bound = {.tv_sec = WAIT_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* the daemon has closed: what it said counts */
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

bool http_closed(int fd, int ms)
{
    char byte;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (poll(&end, 1, ms) <= 0)
        return false;
    return recv(fd, &byte, 1, MSG_PEEK) <= 0;
}

const char *http_rest(int fd)
{
    char *answer = keep(calloc(1, ANSWER_BYTES));
    size_t len = 0;
    for (int64_t end_ms = now_ms() + WAIT_MS;;) {
        struct pollfd more = {.fd = fd, .events = POLLIN};
        int64_t left_ms = end_ms - now_ms();
        ck_assert_msg(left_ms > 0, "no end of the answer: %s", answer);
        if (poll(&more, 1, (int)left_ms) <= 0)
            continue;
        ssize_t n = recv(fd, answer + len, ANSWER_BYTES - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        ck_assert_uint_lt(len, ANSWER_BYTES - 1);
    }
    close(fd);
    return answer;
}

const char *http_ask(uint16_t port, const char *text)
{
    int fd = http_dial(port);
    http_send(fd, text, strlen(text));
    return http_rest(fd);
}

const char *http_get(uint16_t port, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", path, port);
    return http_ask(port, text);
}

int http_status(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

const char *http_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

uint16_t http_daemon(struct daemon *daemon, const struct cluster *cluster, const char *settings)
{
    char text[1024];
    uint16_t port = port_free();
    snprintf(text, sizeof text, "%shttp: 127.0.0.1:%u\n", settings, port);
    daemon_start(daemon, cluster, text);
    return port;
}
