#include "tests/bench/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/bench/process.h"

enum { BACKLOG = 4096, ASK_MS = 1000 };

union name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_un path;
};

static union name name_of(const struct address *address, bool use_unix, socklen_t *len)
{
    union name name = {.path = {.sun_family = AF_UNIX}};
    *len = sizeof name.path;
    if (use_unix) {
        memcpy(name.path.sun_path, address->path, strlen(address->path) + 1);
        return name;
    }
    name.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(address->port)};
    name.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *len = sizeof name.v4;
    return name;
}

static void option_on(int fd, int level, int option)
{
    int on = 1;
    (void)setsockopt(fd, level, option, &on, sizeof on);
}

uint16_t socket_port_free(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t len = sizeof name;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof name) < 0 ||
        getsockname(fd, (struct sockaddr *)&name, &len) < 0)
        fail("no free port: %s", strerror(errno));
    close(fd);
    return ntohs(name.sin_port);
}

static void source_bind(int fd, int source)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)source);
    option_on(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) < 0)
        fail("bind: %s", strerror(errno));
}

static int dial(const struct address *address, bool use_unix, int source)
{
    socklen_t len;
    union name name = name_of(address, use_unix, &len);
    int fd = socket(use_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket: %s", strerror(errno));
    if (!use_unix)
        option_on(fd, IPPROTO_TCP, TCP_NODELAY);
    if (!use_unix && source != SOCKET_NO_SOURCE)
        source_bind(fd, source);
    if (connect(fd, &name.any, len) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int socket_dial(const struct address *address, bool use_unix, int source)
{
    int fd = dial(address, use_unix, source);
    if (fd < 0)
        fail("cannot connect to %s%u: %s",
             use_unix ? address->path : "127.0.0.1:", use_unix ? 0 : (unsigned)address->port,
             strerror(errno));
    return fd;
}

bool socket_answers(const struct address *address, bool use_unix)
{
    int fd = dial(address, use_unix, SOCKET_NO_SOURCE);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int socket_listen(const struct address *address, bool use_unix)
{
    socklen_t len;
    union name name = name_of(address, use_unix, &len);
    int fd = socket(use_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !use_unix)
        option_on(fd, SOL_SOCKET, SO_REUSEADDR);
    if (fd < 0 || bind(fd, &name.any, len) < 0 || listen(fd, BACKLOG) < 0)
        fail("listen: %s", strerror(errno));
    return fd;
}

void socket_send(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("send: %s", strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

size_t socket_ask(int fd, const char *request, char *out, size_t size)
{
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    socket_send(fd, request, strlen(request));
    out[0] = '\0';
    if (poll(&answer, 1, ASK_MS) <= 0)
        return 0;
    ssize_t n = recv(fd, out, size - 1, 0);
    if (n <= 0)
        return 0;
    out[n] = '\0';
    return (size_t)n;
}
