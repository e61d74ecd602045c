#include "daemon/conn/bind.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/passed.h"

union tcp_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union tcp_address bound_address(int fd)
{
    union tcp_address address = {.v6 = {.sin6_family = AF_UNSPEC}};
    socklen_t len = sizeof address;

    if (getsockname(fd, &address.any, &len) < 0)
        address.any.sa_family = AF_UNSPEC;
    return address;
}

static uint16_t bound_port(int fd)
{
    union tcp_address address = bound_address(fd);

    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

void bound_text(const struct bound *bound, const struct conf_address *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    union tcp_address tcp = bound_address(bound->fd);
    bool v6 = tcp.any.sa_family == AF_INET6;

    if (v6)
        inet_ntop(AF_INET6, &tcp.v6.sin6_addr, host, sizeof host);
    else if (tcp.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &tcp.v4.sin_addr, host, sizeof host);
    if (host[0])
        snprintf(out, size, v6 ? "[%s]:%u" : "%s:%u", host, bound->port);
    else
        snprintf(out, size, "%s", address->shown);
}

/* Returns a bound TCP socket, or -1 with errno. */
static int tcp_bind(const struct addrinfo *info)
{
    int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0)
        return fd;
    int err = errno;
    close(fd);
    errno = err;
    return -1;
}

/* Returns the socket that the service manager passed for this address, else one of our own; -1 with errno. */
static int tcp_socket(const struct addrinfo *info, bool *passed)
{
    int fd = passed_claim(info->ai_addr, info->ai_addrlen);

    *passed = fd >= 0;
    return *passed ? fd : tcp_bind(info);
}

/* With port 0, all addresses of a name get the port of the first one. */
static void set_port(struct addrinfo *info, uint16_t port)
{
    if (info->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)info->ai_addr)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)info->ai_addr)->sin_port = htons(port);
}

static const char *bind_advice(int err)
{
    switch (err) {
    case EADDRINUSE: return " hint=\"another program listens there; stop it or change listen\"";
    case EADDRNOTAVAIL: return " hint=\"this host does not have that address; change listen\"";
    case EACCES: return " hint=\"a port below 1024 needs CAP_NET_BIND_SERVICE; change listen\"";
    default: return "";
    }
}

/* false: the socket failed, which was logged. */
static bool tcp_add(const struct conf_address *address, struct addrinfo *info, bool others,
                    struct bound bound[BIND_ADDRESSES], unsigned *count)
{
    struct bound *next = &bound[*count];

    set_port(info, *count ? bound[0].port : address->port);
    *next = (struct bound){0};
    next->fd = tcp_socket(info, &next->passed);
    /* A name may have ::1 as a second address on a host without IPv6. */
    if (next->fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) && others)
        return true;
    if (next->fd < 0) {
        log_error("listen_failed", "address=%s error=\"%s\"%s", address->shown, strerror(errno),
                  bind_advice(errno));
        return false;
    }
    next->port = bound_port(next->fd);
    ++*count;
    return true;
}

static unsigned bind_tcp(const struct conf_address *address, struct bound bound[BIND_ADDRESSES])
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *infos = NULL;
    unsigned count = 0;
    bool good = true;
    int err = getaddrinfo(address->host, NULL, &hints, &infos);

    if (err) {
        log_error("listen_failed", "address=%s error=\"%s\" hint=\"see listen in the configuration\"",
                  address->shown, err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
        return 0;
    }
    for (struct addrinfo *info = infos; good && info && count < BIND_ADDRESSES; info = info->ai_next)
        if (info->ai_family == AF_INET || info->ai_family == AF_INET6)
            good = tcp_add(address, info, count || info->ai_next, bound, &count);
    freeaddrinfo(infos);
    if (good && !count)
        log_error("listen_failed", "address=%s why=\"no address of this name can be bound here\"",
                  address->shown);
    while (!good && count)
        close(bound[--count].fd);
    return count;
}

static struct sockaddr_un unix_name(const struct conf_address *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    _Static_assert(CONF_PATH_BYTES <= sizeof name.sun_path, "a configured path fits");
    memcpy(name.sun_path, address->path, strlen(address->path) + 1);
    return name;
}

/* Finds out by a connect whether a process listens there. 0: none does; -1: one does, or may, which was
 * logged. */
static int unix_probe(const struct conf_address *address)
{
    struct sockaddr_un name = unix_name(address);
    struct ucred cred = {.pid = 0};
    socklen_t len = sizeof cred;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err = fd < 0 || connect(fd, (const struct sockaddr *)&name, sizeof name) < 0 ? errno : 0;

    if (!err)
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
    if (fd >= 0)
        close(fd);
    if (err == ECONNREFUSED || err == ENOENT)
        return 0;
    if (!err)
        log_error("listen_failed",
                  "address=%s pid=%ld why=\"that process listens there already; stop it or change listen\"",
                  address->shown, (long)cred.pid);
    else if (err == EAGAIN)
        log_error("listen_failed",
                  "address=%s why=\"another process listens there already; stop it or change listen\"",
                  address->shown);
    else
        log_error("listen_failed",
                  "address=%s error=\"%s\" why=\"cannot find out whether a process listens there\"",
                  address->shown, strerror(err));
    return -1;
}

static int unix_clear(const struct conf_address *address)
{
    struct stat st;

    if (lstat(address->path, &st) < 0)
        return 0; /* if anything else is wrong, bind() will say so */
    if (!S_ISSOCK(st.st_mode)) {
        log_error("listen_failed",
                  "address=%s why=\"it is there and is no socket; remove it or change listen\"",
                  address->shown);
        return -1;
    }
    if (unix_probe(address) < 0)
        return -1;
    log_info("stale_socket", "address=%s why=\"nobody listens there; removed\"", address->shown);
    if (unlink(address->path) == 0 || errno == ENOENT)
        return 0;
    log_error("listen_failed", "address=%s error=\"%s\" why=\"the stale socket cannot be removed\"",
              address->shown, strerror(errno));
    return -1;
}

static unsigned bind_unix(const struct conf_address *address, mode_t mode, struct bound *bound)
{
    struct sockaddr_un name = unix_name(address);
    struct stat st;

    *bound = (struct bound){.fd = passed_claim((const struct sockaddr *)&name, sizeof name)};
    bound->passed = bound->fd >= 0;
    if (bound->passed)
        return 1;
    if (unix_clear(address) < 0)
        return 0;
    int fd = bound->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t old = umask(0777 & ~mode); /* not even for a moment more open than unix_mode */
    int err = fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof name) < 0 ? errno : 0;
    umask(old);
    if (err) {
        log_error("listen_failed", "address=%s error=\"%s\"%s", address->shown, strerror(err),
                  err == ENOENT ? " hint=\"its folder is not there\"" : "");
        if (fd >= 0)
            close(fd);
        return 0;
    }
    if (lstat(address->path, &st) == 0) {
        bound->has_path = true;
        bound->dev = st.st_dev;
        bound->ino = st.st_ino;
    }
    return 1;
}

unsigned bind_address(const struct conf_address *address, mode_t unix_mode,
                      struct bound bound[BIND_ADDRESSES])
{
    return address->path[0] ? bind_unix(address, unix_mode, bound) : bind_tcp(address, bound);
}

bool bound_keeps_path(const struct bound *bound, const struct conf_address *address)
{
    struct stat st;

    return !bound->has_path ||
           (lstat(address->path, &st) == 0 && st.st_dev == bound->dev && st.st_ino == bound->ino);
}

void bound_close(struct bound *bound, const struct conf_address *address)
{
    if (bound->has_path && bound_keeps_path(bound, address))
        unlink(address->path);
    bound->has_path = false;
    if (bound->fd >= 0)
        close(bound->fd);
    bound->fd = -1;
}
