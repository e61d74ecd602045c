/* Listening sockets: bound at the start, opened when the daemon can serve. */
#include "daemon/conn/listen.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/event_struct.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/passed.h"

enum {
    ADDRESSES = 4, /* that one name may have, at most */
    BACKLOG = 1024,
    ACCEPTS = 64,   /* in one wake-up, so that connected clients are served in between */
    PAUSE_MS = 100, /* between two attempts while no descriptor is free */
};

struct listener {
    struct listeners *all;
    const struct conf_address *address; /* (ref in the configuration) */
    unsigned index;                     /* of the address in conf->listen or conf->http */
    struct event event;
    int fd;
    uint16_t port;
    bool passed;     /* the service manager opened it */
    bool bound_path; /* dev and ino identify our socket in the file system */
    dev_t dev;
    ino_t ino;
};

struct listeners {
    struct event_base *base;
    const struct conf_listener *entries; /* (ref in the configuration) */
    const char *for_what;                /* for the log */
    listen_accepted *accepted;
    void *arg;
    struct event resume;
    bool open;   /* accepting, or in a pause of it */
    bool paused; /* a pause was logged, and no client has been accepted since */
    unsigned count;
    struct listener list[CONF_LISTENERS * ADDRESSES];
};

/* ---- accepting ---- */

/* Returns 0, or -1 if at least one socket cannot be watched. */
static int watch_all(struct listeners *all)
{
    int failed = 0;

    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].fd >= 0 && event_add(&all->list[i].event, NULL) < 0)
            failed = -1;
    return failed;
}

static void unwatch_all(struct listeners *all)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].fd >= 0)
            event_del(&all->list[i].event);
}

static void resume_later(struct listeners *all)
{
    struct timeval tv = {.tv_usec = PAUSE_MS * 1000};

    if (event_add(&all->resume, &tv) < 0) /* no memory for the timer: at once rather than never */
        event_active(&all->resume, EV_TIMEOUT, 0);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct listeners *all = arg;
    (void)fd;
    (void)what;

    if (all->open && watch_all(all) < 0)
        resume_later(all);
}

/* The connection stays in the backlog and the socket stays readable, so without a pause the loop would
 * spin. */
static void pause_all(struct listeners *all, int err)
{
    if (!all->paused)
        log_warn("accept_paused",
                 "error=\"%s\" why=\"new clients wait until a descriptor is free\" "
                 "hint=\"raise the limit of open files or lower max_clients\"",
                 strerror(err));
    all->paused = true;
    unwatch_all(all);
    resume_later(all);
}

/* Whether an error is no reason to pause: it concerns one connection, which is gone, or was a signal.
 * accept(2) reports pending network errors of the new socket. */
static bool is_passing(int err)
{
    switch (err) {
    case EINTR:
    case ECONNABORTED:
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EPERM: /* a firewall rule */ return true;
    default: return false;
    }
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
    struct listener *listener = arg;
    struct listeners *all = listener->all;
    (void)what;

    for (unsigned i = 0; i < ACCEPTS && all->open; i++) {
        union {
            struct sockaddr any;
            struct sockaddr_storage storage;
        } peer = {.storage = {.ss_family = AF_UNSPEC}};
        socklen_t len = sizeof peer;
        int client = accept4(fd, &peer.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client >= 0) {
            if (all->paused)
                log_info("accept_resumed", "address=%s", listener->address->shown);
            all->paused = false;
            all->accepted(all->arg, client, &all->entries[listener->index], &peer.any, len);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        if (!is_passing(errno)) {
            pause_all(all, errno);
            return;
        }
    }
}

/* ---- binding ---- */

static struct listener *listener_add(struct listeners *all, unsigned index,
                                     const struct conf_address *address, int fd)
{
    assert(all->count < sizeof all->list / sizeof all->list[0]);
    struct listener *listener = &all->list[all->count++];

    listener->all = all;
    listener->address = address;
    listener->index = index;
    listener->fd = fd;
    event_assign(&listener->event, all->base, fd, EV_READ | EV_PERSIST, on_accept, listener);
    return listener;
}

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

/* The address to which clients can really connect: of a name its address, and for port 0 the port that was
 * chosen. */
static void bound_text(const struct listener *listener, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    union tcp_address address = bound_address(listener->fd);
    bool v6 = address.any.sa_family == AF_INET6;

    if (v6)
        inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof host);
    else if (address.any.sa_family == AF_INET)
        inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof host);
    if (host[0])
        snprintf(out, size, v6 ? "[%s]:%u" : "%s:%u", host, listener->port);
    else
        snprintf(out, size, "%s", listener->address->shown);
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

static int bind_tcp(struct listeners *all, unsigned index, const struct conf_address *address)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *infos = NULL;
    uint16_t port = address->port;
    unsigned bound = 0;
    int err = getaddrinfo(address->host, NULL, &hints, &infos);

    if (err) {
        log_error("listen_failed", "address=%s error=\"%s\" hint=\"see listen in the configuration\"",
                  address->shown, err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
        return -1;
    }
    for (struct addrinfo *info = infos; info && bound < ADDRESSES; info = info->ai_next) {
        if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
            continue;
        set_port(info, port);
        bool passed;
        int fd = tcp_socket(info, &passed);
        /* A name may have ::1 as a second address on a host without IPv6. */
        if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) && (bound || info->ai_next))
            continue;
        if (fd < 0) {
            log_error("listen_failed", "address=%s error=\"%s\"%s", address->shown, strerror(errno),
                      bind_advice(errno));
            freeaddrinfo(infos);
            return -1;
        }
        port = bound_port(fd);
        struct listener *listener = listener_add(all, index, address, fd);
        listener->port = port;
        listener->passed = passed;
        bound++;
    }
    freeaddrinfo(infos);
    if (!bound)
        log_error("listen_failed", "address=%s why=\"no address of this name can be bound here\"",
                  address->shown);
    return bound ? 0 : -1;
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

static int bind_unix(struct listeners *all, unsigned index, const struct conf_address *address, mode_t mode)
{
    struct sockaddr_un name = unix_name(address);
    struct stat st;
    int fd = passed_claim((const struct sockaddr *)&name, sizeof name);

    if (fd >= 0) {
        listener_add(all, index, address, fd)->passed = true;
        return 0;
    }
    if (unix_clear(address) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t old = umask(0777 & ~mode); /* not even for a moment more open than unix_mode */
    int err = fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof name) < 0 ? errno : 0;
    umask(old);
    if (err) {
        log_error("listen_failed", "address=%s error=\"%s\"%s", address->shown, strerror(err),
                  err == ENOENT ? " hint=\"its folder is not there\"" : "");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    struct listener *listener = listener_add(all, index, address, fd);
    if (lstat(address->path, &st) == 0) {
        listener->bound_path = true;
        listener->dev = st.st_dev;
        listener->ino = st.st_ino;
    }
    return 0;
}

/* ---- all of them ---- */

static struct listeners *listeners_make(struct event_base *base, const struct conf_listener *entries,
                                        unsigned count, mode_t unix_mode)
{
    struct listeners *all = calloc(1, sizeof *all);

    assert(count <= CONF_LISTENERS);
    if (!all) {
        log_error("listen_failed", "error=\"%s\"", strerror(ENOMEM));
        return NULL;
    }
    all->base = base;
    all->entries = entries;
    all->for_what = "";
    evtimer_assign(&all->resume, base, on_resume, all);
    for (unsigned i = 0; i < count; i++) {
        const struct conf_address *address = &entries[i].address;
        int failed = address->path[0] ? bind_unix(all, i, address, unix_mode) : bind_tcp(all, i, address);
        if (failed) {
            listeners_free(all);
            return NULL;
        }
    }
    return all;
}

struct listeners *listeners_new(struct event_base *base, const struct conf *conf, listen_accepted *accepted,
                                void *arg)
{
    struct listeners *all = listeners_make(base, conf->listen, conf->listeners, conf->unix_mode);

    if (!all)
        return NULL;
    all->accepted = accepted;
    all->arg = arg;
    return all;
}

struct listeners *listeners_new_http(struct event_base *base, const struct conf *conf,
                                     listen_accepted *accepted, void *arg)
{
    struct listeners *all = listeners_make(base, conf->http, conf->http_listeners, conf->unix_mode);

    if (!all)
        return NULL;
    all->accepted = accepted;
    all->arg = arg;
    all->for_what = " for=http";
    return all;
}

static bool is_our_path(const struct listener *listener)
{
    struct stat st;

    return lstat(listener->address->path, &st) == 0 && st.st_dev == listener->dev &&
           st.st_ino == listener->ino;
}

int listeners_start(struct listeners *all)
{
    if (all->open)
        return 0;
    for (unsigned i = 0; i < all->count; i++) {
        struct listener *listener = &all->list[i];
        if (listen(listener->fd, BACKLOG) < 0) {
            log_error("listen_failed", "address=%s error=\"%s\"", listener->address->shown, strerror(errno));
            return -1;
        }
        /* Before listen() our socket looked stale, so another process may have replaced it. */
        if (listener->bound_path && !is_our_path(listener)) {
            log_error("listen_failed",
                      "address=%s: another process put its socket in place of ours; stop it or change listen",
                      listener->address->shown);
            return -1;
        }
        char text[sizeof listener->address->shown];
        bound_text(listener, text, sizeof text);
        log_info("listening", "address=%s%s%s", text, all->for_what, listener->passed ? " passed=yes" : "");
    }
    all->open = true;
    if (watch_all(all) == 0)
        return 0;
    log_error("listen_failed", "error=\"%s\" why=\"the listening sockets cannot be watched\"",
              strerror(errno));
    return -1;
}

/* The sockets are closed at once, so that new clients are refused and try another daemon. The path is
 * unlinked first, and from then on a successor may bind it. What the service manager passed stays open there:
 * new clients wait for the next daemon. */
void listeners_stop(struct listeners *all)
{
    all->open = false;
    evtimer_del(&all->resume);
    unwatch_all(all);
    for (unsigned i = 0; i < all->count; i++) {
        struct listener *listener = &all->list[i];
        if (listener->bound_path && is_our_path(listener))
            unlink(listener->address->path);
        listener->bound_path = false;
        if (listener->fd >= 0)
            close(listener->fd);
        listener->fd = -1;
    }
}

void listeners_free(struct listeners *all)
{
    if (!all)
        return;
    listeners_stop(all);
    free(all);
}

uint16_t listeners_port(const struct listeners *all, unsigned i)
{
    for (unsigned k = 0; k < all->count; k++)
        if (all->list[k].index == i)
            return all->list[k].port;
    return 0;
}
