#include "daemon/passed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"

enum { FIRST_FD = 3, PASSED_FDS = 64, SHOWN_BYTES = 300 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static int passed[PASSED_FDS]; /* -1: claimed */
static unsigned count;

/* ---- taking over ---- */

static bool is_listening_stream(int fd)
{
    int type = 0, listens = 0;
    socklen_t type_len = sizeof type, listens_len = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) == 0 && type == SOCK_STREAM &&
           listens;
}

static bool passed_prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        log_error("listen_failed", "fd=%d error=\"%s\" why=\"LISTEN_FDS counts it as passed\"", fd,
                  strerror(errno));
        return false;
    }
    if (is_listening_stream(fd))
        return true;
    log_error("listen_failed",
              "fd=%d why=\"the service manager passed it, but it is no stream socket that listens\" "
              "hint=\"the socket unit needs ListenStream= and Accept=no\"",
              fd);
    return false;
}

static bool passed_count(const char *fds)
{
    char *end = NULL;
    long n = strtol(fds, &end, 10);
    if (end == fds || *end || n < 0 || n > PASSED_FDS) {
        log_error("listen_failed", "why=\"LISTEN_FDS is not a number of sockets from 0 to %d\"", PASSED_FDS);
        return false;
    }
    for (unsigned i = 0; i < (unsigned)n; i++) {
        passed[i] = FIRST_FD + (int)i;
        if (!passed_prepare(passed[i]))
            return false;
    }
    count = (unsigned)n;
    return true;
}

bool passed_take(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    /* The variables of a parent's sockets may have been inherited, without its descriptors. */
    bool ours = pid && fds && strtol(pid, NULL, 10) == getpid();
    bool good = !ours || passed_count(fds);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_PIDFDID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return good;
}

bool passed_add(int fd)
{
    if (count == PASSED_FDS)
        return false;
    passed[count++] = fd;
    return true;
}

/* ---- matching ---- */

static union address bound_address(int fd)
{
    union address address;
    socklen_t len = sizeof address;
    memset(&address, 0, sizeof address); /* so that a path ends, which getsockname() does not promise */
    if (getsockname(fd, &address.any, &len) < 0)
        address.any.sa_family = AF_UNSPEC;
    return address;
}

static bool is_bound_to(int fd, const union address *wanted)
{
    union address bound = bound_address(fd);
    if (bound.any.sa_family != wanted->any.sa_family)
        return false;
    switch (bound.any.sa_family) {
    case AF_INET:
        return bound.v4.sin_port == wanted->v4.sin_port &&
               bound.v4.sin_addr.s_addr == wanted->v4.sin_addr.s_addr;
    case AF_INET6:
        return bound.v6.sin6_port == wanted->v6.sin6_port &&
               bound.v6.sin6_scope_id == wanted->v6.sin6_scope_id &&
               IN6_ARE_ADDR_EQUAL(&bound.v6.sin6_addr, &wanted->v6.sin6_addr);
    case AF_UNIX:
        return strncmp(bound.local.sun_path, wanted->local.sun_path, sizeof bound.local.sun_path) == 0;
    default: return false;
    }
}

/* A socket on [::] that also takes IPv4 would serve clients of an address that listen does not name. */
static bool takes_both_families(int fd, const union address *address)
{
    int only = 0;
    socklen_t len = sizeof only;
    return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr) &&
           getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len) == 0 && !only;
}

int passed_claim(const struct sockaddr *address, socklen_t len)
{
    union address wanted;
    memset(&wanted, 0, sizeof wanted);
    memcpy(&wanted, address, len < sizeof wanted ? len : sizeof wanted);
    for (unsigned i = 0; i < count; i++) {
        int fd = passed[i];
        if (fd < 0 || !is_bound_to(fd, &wanted))
            continue;
        if (takes_both_families(fd, &wanted)) {
            log_error("listen_failed",
                      "address=[::]:%u fd=%d why=\"the service manager passed this socket, and it "
                      "takes IPv4 as well\" hint=\"the socket unit needs BindIPv6Only=ipv6-only\"",
                      ntohs(wanted.v6.sin6_port), fd);
            return -1;
        }
        passed[i] = -1;
        return fd;
    }
    return -1;
}

/* ---- what is left ---- */

static void address_show(const union address *bound, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    switch (bound->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &bound->v4.sin_addr, host, sizeof host);
        snprintf(out, size, "%s:%u", host, ntohs(bound->v4.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &bound->v6.sin6_addr, host, sizeof host);
        snprintf(out, size, "[%s]:%u", host, ntohs(bound->v6.sin6_port));
        break;
    case AF_UNIX:
        snprintf(out, size, "unix:%.*s", (int)sizeof bound->local.sun_path, bound->local.sun_path);
        break;
    default: snprintf(out, size, "family %d", bound->any.sa_family);
    }
}

bool passed_all_claimed(void)
{
    bool all = true;
    for (unsigned i = 0; i < count; i++) {
        char text[SHOWN_BYTES], shown[SHOWN_BYTES];
        if (passed[i] < 0)
            continue;
        all = false;
        union address bound = bound_address(passed[i]);
        address_show(&bound, text, sizeof text);
        log_error("listen_failed",
                  "address=%s fd=%d why=\"the service manager passed this socket, and no entry of listen or "
                  "http has its "
                  "address\" hint=\"listen and redlockd.socket must name the same addresses\"",
                  log_escape(shown, sizeof shown, text, strlen(text)), passed[i]);
    }
    return all;
}
