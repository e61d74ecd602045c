#include "client/lib/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int link_take_text(char **out, const char *given, const char *variable)
{
    const char *text = given ? given : secure_getenv(variable);

    if (!text || !*text)
        return 0;
    *out = strdup(text);
    return *out ? 0 : ENOMEM;
}

static int init_tls(struct link *link, const struct redlock_options *options)
{
    int error = tls_here() ? 0 : EPROTONOSUPPORT;

    if (!error)
        error = link_take_text(&link->files.ca, options->tls_ca, "REDLOCK_CA");
    if (!error)
        error = link_take_text(&link->files.cert, options->tls_cert, "REDLOCK_CERT");
    if (!error)
        error = link_take_text(&link->files.key, options->tls_key, "REDLOCK_KEY");
    return error;
}

int link_init(struct link *link, const char *address, bool secret, const struct redlock_options *options)
{
    static const char *const usual[LINK_PLACES] = {"unix:" REDLOCK_DEFAULT_SOCKET, "127.0.0.1"};

    *link = (struct link){.fd = -1, .epoll = -1, .secret = secret};
    if (!address)
        address = secure_getenv("REDLOCK_ADDRESS");
    if (address && *address) {
        link->places = 1;
        if (!address_parse(address, &link->where[0]))
            return EINVAL;
    } else {
        link->places = secret ? 1 : LINK_PLACES;
        for (unsigned i = 0; i < LINK_PLACES; i++)
            (void)address_parse(usual[i], &link->where[i]);
    }
    address_text(&link->where[0], link->address);
    int error = link->where[0].tls ? init_tls(link, options) : 0;
    if (error)
        return error;
    link->epoll = epoll_create1(EPOLL_CLOEXEC);
    return link->epoll < 0 ? errno : 0;
}

void link_beside(struct link *beside, const struct link *link)
{
    *beside = (struct link){
        .fd = -1, .epoll = link->epoll, .files = link->files, .secret = link->secret, .places = link->places};
    memcpy(beside->where, link->where, sizeof beside->where);
}

/* The shutdown sends a FIN first. A close alone with unread bytes would send a reset, which does not prove to
 * redlockd that this program has ended, and the locks would stay until their TTL is over. */
static void end_socket(int fd, bool shut)
{
    if (shut)
        (void)shutdown(fd, SHUT_RDWR);
    (void)close(fd);
}

/* Closing the socket would not take it out of the epoll if a forked child has it too. */
static void unwatch(struct link *link)
{
    (void)epoll_ctl(link->epoll, EPOLL_CTL_DEL, link->fd, NULL);
}

void link_close(struct link *link, bool shut)
{
    if (link->fd >= 0 && shut)
        unwatch(link);
    if (link->tls && shut)
        tls_notify(link->tls);
    tls_free(link->tls);
    link->tls = NULL;
    if (link->fd >= 0)
        end_socket(link->fd, shut);
    link->fd = -1;
    link->state = LINK_CLOSED;
    link->blocked = link->waits_for_output = false;
    if (link->found)
        freeaddrinfo(link->found);
    link->found = link->next = NULL;
}

void link_end(struct link *link, bool shut)
{
    struct parked *next;

    link_close(link, shut);
    for (struct parked *parked = link->parked; parked; parked = next) {
        next = parked->next;
        tls_free(parked->tls);
        end_socket(parked->fd, shut);
        free(parked);
    }
    free(link->files.ca);
    free(link->files.cert);
    free(link->files.key);
    free(link->spare);
    if (link->epoll >= 0)
        (void)close(link->epoll);
    *link = (struct link){.fd = -1, .epoll = -1};
}

/* ---- connecting ---- */

static void link_failed(struct link *link, const char *why)
{
    size_t len = strlen(link->why);

    (void)snprintf(link->why + len, sizeof link->why - len, "%s%s: %s", len ? ", " : "cannot connect to ",
                   link->address, why);
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;

    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return address->sa_family == AF_UNIX || ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Whether the place that is being tried speaks TLS. */
static bool link_is_tls(const struct link *link)
{
    return link->where[link->place - 1].tls;
}

static void try_socket(struct link *link, int family, const struct sockaddr *address, socklen_t len)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT};
    int one = 1;

    if (link->secret && !link_is_tls(link) && !is_loopback(address)) {
        link->refused = !link->tried;
        link_failed(link, "a secret does not go over TCP to another host; use a Unix socket or tls://");
        return;
    }
    link->tried = true;
    link->refused = false;
    link->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->fd < 0) {
        link_failed(link, strerror(errno));
        return;
    }
    link->local = family == AF_UNIX;
    if (!link->local)
        (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int error = connect(link->fd, address, len) == 0 ? 0 : errno;
    if ((error == 0 || error == EINPROGRESS) && epoll_ctl(link->epoll, EPOLL_CTL_ADD, link->fd, &event) < 0)
        error = errno;
    if (error == 0 || error == EINPROGRESS) {
        link->waits_for_output = true;
        link->state = error || link_is_tls(link) ? LINK_CONNECTING : LINK_OPEN;
        return;
    }
    link_failed(link, strerror(error));
    (void)close(link->fd);
    link->fd = -1;
}

static void try_unix(struct link *link, const struct address *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, where->path, sizeof address.sun_path);
    try_socket(link, AF_UNIX, (const struct sockaddr *)&address, sizeof address);
}

static void look_up(struct link *link, const struct address *where)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int error = getaddrinfo(where->host, where->port, &hints, &link->found);

    if (error == EAI_NONAME) {
        hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
        error = getaddrinfo(where->host, where->port, &hints, &link->found);
    }
    if (error) {
        link->found = NULL;
        link_failed(link, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    }
    link->next = link->found;
}

/* Tries the next address of this place, or the next place, until a connection is made or under way. */
static void try_next(struct link *link)
{
    while (link->state == LINK_CLOSED) {
        if (link->next) {
            const struct addrinfo *info = link->next;
            link->next = info->ai_next;
            try_socket(link, info->ai_family, info->ai_addr, info->ai_addrlen);
            continue;
        }
        if (link->found)
            freeaddrinfo(link->found);
        link->found = NULL;
        if (link->place == link->places)
            return;
        const struct address *where = &link->where[link->place++];
        address_text(where, link->address);
        if (where->path[0])
            try_unix(link, where);
        else
            look_up(link, where);
    }
}

void link_connect(struct link *link)
{
    link_close(link, false);
    link->place = 0;
    link->refused = link->tried = false;
    link->why[0] = '\0';
    link->heard = false;
    if (!link->spare && !(link->spare = malloc(sizeof *link->spare))) {
        (void)snprintf(link->why, sizeof link->why, "cannot connect: %s", strerror(ENOMEM));
        return;
    }
    try_next(link);
}

/* This address did not do: tries the next one. */
static void attempt_failed(struct link *link, const char *why)
{
    link_failed(link, why);
    unwatch(link);
    tls_free(link->tls);
    link->tls = NULL;
    (void)close(link->fd);
    link->fd = -1;
    link->state = LINK_CLOSED;
    try_next(link);
}

/* Begins the handshake, or goes on with it. */
static void link_shake(struct link *link)
{
    char why[TLS_WHY_BYTES];

    if (!link->tls)
        link->tls = tls_new(link->fd, link->where[link->place - 1].host, &link->files, why);
    if (!link->tls) {
        attempt_failed(link, why);
        return;
    }
    enum tls_step step = tls_handshake(link->tls, why);
    link->shake_waits_for_output = step == TLS_WANTS_WRITE;
    if (step == TLS_OPEN)
        link->state = LINK_OPEN;
    else if (step == TLS_FAILED)
        attempt_failed(link, why);
}

void link_progress(struct link *link)
{
    struct pollfd poll_fd = {.fd = link->fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof error;

    if (link->state != LINK_CONNECTING)
        return;
    if (link->tls) {
        link_shake(link);
        return;
    }
    if (poll(&poll_fd, 1, 0) <= 0)
        return;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error)
        attempt_failed(link, strerror(error));
    else if (link_is_tls(link))
        link_shake(link);
    else
        link->state = LINK_OPEN;
}

/* ---- bytes ---- */

static ssize_t ended(struct link *link, const char *why)
{
    (void)snprintf(link->why, sizeof link->why, "the connection to %s ended: %s", link->address, why);
    return -1;
}

ssize_t link_read(struct link *link, char *out, size_t room)
{
    char why[TLS_WHY_BYTES];
    ssize_t len;

    if (link->tls) {
        len = tls_read(link->tls, out, room, why);
        return len < 0 ? ended(link, why) : len;
    }

    do
        len = recv(link->fd, out, room, MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    link->heard |= len > 0;
    if (len == 0 && !link->heard && !link->local)
        return ended(link, "redlockd closed it before it had said anything; if it speaks TLS there, write "
                           "tls://host:port");
    if (len == 0)
        return ended(link, "redlockd closed it");
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    return len < 0 ? ended(link, strerror(errno)) : len;
}

bool link_pending(const struct link *link)
{
    return link->tls && link->state == LINK_OPEN && tls_pending(link->tls);
}

static ssize_t write_tls(struct link *link, const char *bytes, size_t len)
{
    char why[TLS_WHY_BYTES];
    ssize_t sent = tls_write(link->tls, bytes, len, why);

    link->blocked |= sent == 0;
    return sent < 0 ? ended(link, why) : sent;
}

ssize_t link_write(struct link *link, const char *bytes, size_t len)
{
    ssize_t sent;

    if (link->tls)
        return write_tls(link, bytes, len);

    do
        sent = send(link->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        link->blocked = true;
        return 0;
    }
    return sent < 0 ? ended(link, strerror(errno)) : sent;
}

void link_watch(struct link *link)
{
    bool connecting = link->state == LINK_CONNECTING && (!link->tls || link->shake_waits_for_output);
    bool wanted = connecting || link->blocked;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? (uint32_t)EPOLLOUT : 0)};

    if (link->fd < 0 || wanted == link->waits_for_output)
        return;
    if (epoll_ctl(link->epoll, EPOLL_CTL_MOD, link->fd, &event) == 0)
        link->waits_for_output = wanted;
}

/* ---- parking ---- */

void link_park(struct link *link, unsigned long long connection)
{
    unwatch(link);
    *link->spare =
        (struct parked){.next = link->parked, .fd = link->fd, .tls = link->tls, .connection = connection};
    link->parked = link->spare;
    link->spare = NULL;
    link->fd = -1;
    link->tls = NULL;
    link_close(link, true);
}

void link_take_over(struct link *link, struct link *beside, unsigned long long connection)
{
    link_park(link, connection);
    link->fd = beside->fd;
    link->tls = beside->tls;
    link->spare = beside->spare;
    link->state = beside->state;
    link->local = beside->local;
    link->waits_for_output = beside->waits_for_output;
    memcpy(link->address, beside->address, sizeof link->address);
    beside->fd = -1;
    beside->tls = NULL;
    beside->spare = NULL;
    beside->waits_for_output = false;
    beside->state = LINK_CLOSED;
}

void link_unpark(struct parked **at)
{
    struct parked *parked = *at;

    *at = parked->next;
    tls_free(parked->tls);
    end_socket(parked->fd, true);
    free(parked);
}
