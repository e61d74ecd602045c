/* Names -> addresses, and sockets that connect to them. */
#include "daemon/node/dial.h"

#include <assert.h>
#include <errno.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { KEEPALIVE_IDLE_S = 10, KEEPALIVE_INTERVAL_S = 3, KEEPALIVE_PROBES = 3 };

struct dial_lookup {
    struct evdns_getaddrinfo_request *request;
    dial_answer *answer; /* NULL: cancelled; evdns still calls lookup_done(), which frees the lookup */
    void *arg;
};

/* ---- where to ---- */

static void targets_fill(struct dial_targets *targets, const struct evutil_addrinfo *found)
{
    targets->count = 0;
    for (; found && targets->count < DIAL_TARGETS; found = found->ai_next) {
        struct dial_target *target = &targets->list[targets->count];
        if (found->ai_addrlen > sizeof target->address)
            continue;
        memcpy(&target->address, found->ai_addr, found->ai_addrlen);
        target->len = (socklen_t)found->ai_addrlen;
        targets->count++;
    }
}

static void target_unix(struct dial_target *target, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    memcpy(&target->address, &address, sizeof address);
    target->len = sizeof address;
}

static void lookup_done(int error, struct evutil_addrinfo *found, void *arg)
{
    struct dial_lookup *lookup = arg;
    struct dial_targets targets;
    targets_fill(&targets, found);
    if (found)
        evutil_freeaddrinfo(found);
    dial_answer *answer = lookup->answer;
    void *answer_arg = lookup->arg;
    free(lookup);
    if (answer)
        answer(answer_arg, &targets, error ? evutil_gai_strerror(error) : "the name has no address");
}

struct dial_lookup *dial_lookup(struct evdns_base *dns, const struct conf_address *address,
                                dial_answer *answer, void *arg)
{
    struct dial_targets targets = {0};
    if (address->path[0]) {
        target_unix(&targets.list[targets.count++], address->path);
        answer(arg, &targets, "");
        return NULL;
    }
    char port[8];
    struct evutil_addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = EVUTIL_AI_NUMERICHOST};
    struct evutil_addrinfo *found = NULL;
    snprintf(port, sizeof port, "%u", (unsigned)address->port);
    if (evutil_getaddrinfo(address->host, port, &hints, &found) == 0) {
        targets_fill(&targets, found);
        evutil_freeaddrinfo(found);
        answer(arg, &targets, "");
        return NULL;
    }
    struct dial_lookup *lookup = dns ? calloc(1, sizeof *lookup) : NULL;
    if (!lookup) {
        answer(arg, &targets, dns ? "out of memory" : "no resolver");
        return NULL;
    }
    lookup->answer = answer;
    lookup->arg = arg;
    hints.ai_flags = 0;
    /* The name may lead to another server by now. evdns reads the file only when it is told to. */
    evdns_base_clear_host_addresses(dns);
    (void)evdns_base_load_hosts(dns, "/etc/hosts");
    struct evdns_getaddrinfo_request *request =
        evdns_getaddrinfo(dns, address->host, port, &hints, lookup_done, lookup);
    if (!request)
        return NULL; /* lookup_done() was called and has freed the lookup */
    lookup->request = request;
    return lookup;
}

void dial_cancel(struct dial_lookup *lookup)
{
    lookup->answer = NULL;
    evdns_getaddrinfo_cancel(lookup->request);
}

/* ---- the socket ---- */

/* Errors are ignored: without an option the connection is worse, but not wrong. */
static void socket_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

int dial_open(const struct dial_target *target)
{
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (target->address.ss_family != AF_UNIX) {
        socket_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
        socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
    }
    if (connect(fd, (const struct sockaddr *)&target->address, target->len) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    dial_hangup(fd);
    errno = error;
    return -1;
}

/* A socket that connects to a free port of the ephemeral range may connect to itself (simultaneous open,
 * RFC 9293, 3.5). */
static bool is_self(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_len = sizeof here, there_len = sizeof there;
    if (getsockname(fd, (struct sockaddr *)&here, &here_len) < 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_len) < 0 || here.ss_family == AF_UNIX)
        return false;
    return here_len == there_len && memcmp(&here, &there, here_len) == 0;
}

int dial_connected(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return errno;
    if (!error && is_self(fd))
        return ECONNREFUSED;
    return error;
}

void dial_hangup(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}
