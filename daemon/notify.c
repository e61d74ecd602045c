#include "daemon/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"

enum {
    STATUS_BYTES = 160,
    PERIOD_US = 1000000,  /* at most, between two looks at the status */
    EXTEND_US = 10000000, /* that the manager waits for the next message of a daemon that drains */
    SIGNS = 3,            /* signs of life in each time-out of the watchdog: a late one does no harm */
};

static struct {
    struct sockaddr_un address;
    socklen_t address_len; /* 0: nobody wants to be told */
    int64_t watchdog_us;   /* 0: no sign of life is wanted */
    struct event *timer;
    void (*status)(void *arg, char *out, size_t size);
    void *arg;
    const char *owed; /* a change of state that is yet to be told; NULL: none */
    char told[STATUS_BYTES];
    bool ready, stopping;
    bool failed; /* was logged, and nothing could be sent since */
} manager;

/* ---- the environment ---- */

static void take_address(const char *text)
{
    size_t len = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof manager.address.sun_path) {
        log_warn("notify", "why=\"NOTIFY_SOCKET is neither a path nor @ and a name, or is too long: the "
                           "service manager is told nothing\"");
        return;
    }
    manager.address.sun_family = AF_UNIX;
    memcpy(manager.address.sun_path, text, len);
    if (text[0] == '@') /* stands for the NUL with which abstract names begin */
        manager.address.sun_path[0] = 0;
    manager.address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static void take_watchdog(const char *timeout, const char *pid)
{
    char *end = NULL;
    if (pid && strtoll(pid, NULL, 10) != getpid())
        return; /* another process is watched */
    errno = 0;
    long long us = strtoll(timeout, &end, 10);
    if (errno || end == timeout || *end || us <= 0)
        log_warn("notify", "why=\"WATCHDOG_USEC is no number of microseconds: no sign of life is sent\"");
    else
        manager.watchdog_us = us;
}

void notify_take(void)
{
    const char *address = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC");
    if (address && *address)
        take_address(address);
    if (manager.address_len && watchdog)
        take_watchdog(watchdog, getenv("WATCHDOG_PID"));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* ---- messages ---- */

static bool notify_send(const char *text)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ssize_t sent = fd < 0 ? -1
                          : sendto(fd, text, strlen(text), MSG_NOSIGNAL,
                                   (const struct sockaddr *)&manager.address, manager.address_len);
    if (sent < 0 && !manager.failed)
        log_warn("notify",
                 "why=\"the service manager cannot be told anything: %s\" hint=\"tried again each "
                 "second\"",
                 strerror(errno));
    manager.failed = sent < 0;
    if (fd >= 0)
        close(fd);
    return sent >= 0;
}

/* A message that cannot be sent, because the manager's socket is full or the manager restarts, is tried again
 * by the next call: a lost READY=1 would make the manager end a healthy daemon. */
static void notify_tell(void)
{
    char status[STATUS_BYTES] = "", text[2 * STATUS_BYTES];
    int len = snprintf(text, sizeof text, "%s%s", manager.owed ? manager.owed : "",
                       manager.watchdog_us ? "WATCHDOG=1\n" : "");
    if (manager.stopping)
        len += snprintf(text + len, sizeof text - (size_t)len, "EXTEND_TIMEOUT_USEC=%d\n", EXTEND_US);
    manager.status(manager.arg, status, sizeof status);
    if (strcmp(status, manager.told) != 0)
        len += snprintf(text + len, sizeof text - (size_t)len, "STATUS=%s\n", status);
    if (len == 0 || !notify_send(text))
        return;
    manager.owed = NULL;
    memcpy(manager.told, status, sizeof manager.told);
}

static void notify_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    notify_tell();
}

bool notify_start(struct event_base *base, void (*status)(void *arg, char *out, size_t size), void *arg)
{
    int64_t period_us = PERIOD_US;
    if (!manager.address_len)
        return true;
    if (manager.watchdog_us && manager.watchdog_us / SIGNS < period_us)
        period_us = manager.watchdog_us / SIGNS;
    struct timeval period = {.tv_sec = period_us / 1000000, .tv_usec = period_us % 1000000};
    manager.status = status;
    manager.arg = arg;
    manager.timer = event_new(base, -1, EV_PERSIST, notify_on_timer, NULL);
    if (manager.timer && event_add(manager.timer, &period) == 0)
        return true;
    log_error("no_memory", "what=\"the timer of the service manager's watchdog\"");
    return false;
}

void notify_end(void)
{
    if (manager.timer)
        event_free(manager.timer);
    manager.timer = NULL;
}

void notify_ready(void)
{
    if (!manager.timer)
        return;
    manager.ready = true;
    manager.owed = "READY=1\n";
    notify_tell();
}

/* A daemon that is still starting, or already stopping, is told to read its file again: its READY=1 would say
 * something else then. */
static bool notify_tells_reloads(void)
{
    return manager.timer && manager.ready && !manager.stopping;
}

void notify_reload_begins(void)
{
    char text[64];
    if (!notify_tells_reloads())
        return;
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n", clock_monotonic_us());
    notify_send(text);
}

void notify_reload_ends(void)
{
    if (notify_tells_reloads())
        notify_ready();
}

void notify_stopping(void)
{
    if (!manager.timer)
        return;
    manager.stopping = true;
    manager.owed = "STOPPING=1\n";
    notify_tell();
}
