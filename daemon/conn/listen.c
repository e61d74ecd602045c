/* Accepting: the sockets are bound at the start, and listen when the daemon can serve. */
#include "daemon/conn/listen.h"

#include <assert.h>
#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/conn/bind.h"
#include "daemon/log.h"

enum {
    BACKLOG = 1024,
    ACCEPTS = 64,   /* in one wake-up, so that connected clients are served in between */
    PAUSE_MS = 100, /* between two attempts while no descriptor is free */
};

struct listener {
    struct listeners *all;
    const struct conf_address *address; /* (ref in the configuration) */
    unsigned index;                     /* the place of the address in conf->listen or conf->http */
    struct event event;
    struct bound bound;
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
    struct listener list[CONF_LISTENERS * BIND_ADDRESSES];
};

/* ---- accepting ---- */

/* Returns 0, or -1 if at least one socket cannot be watched. */
static int watch_all(struct listeners *all)
{
    int failed = 0;

    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].bound.fd >= 0 && event_add(&all->list[i].event, NULL) < 0)
            failed = -1;
    return failed;
}

static void unwatch_all(struct listeners *all)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].bound.fd >= 0)
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

/* ---- all of them ---- */

static void listener_add(struct listeners *all, unsigned index, const struct conf_address *address,
                         const struct bound *bound)
{
    assert(all->count < sizeof all->list / sizeof all->list[0]);
    struct listener *listener = &all->list[all->count++];

    listener->all = all;
    listener->address = address;
    listener->index = index;
    listener->bound = *bound;
    event_assign(&listener->event, all->base, bound->fd, EV_READ | EV_PERSIST, on_accept, listener);
}

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
        struct bound bound[BIND_ADDRESSES];
        unsigned sockets = bind_address(address, unix_mode, bound);
        if (!sockets) {
            listeners_free(all);
            return NULL;
        }
        for (unsigned k = 0; k < sockets; k++)
            listener_add(all, i, address, &bound[k]);
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

int listeners_start(struct listeners *all)
{
    if (all->open)
        return 0;
    for (unsigned i = 0; i < all->count; i++) {
        struct listener *listener = &all->list[i];
        if (listen(listener->bound.fd, BACKLOG) < 0) {
            log_error("listen_failed", "address=%s error=\"%s\"", listener->address->shown, strerror(errno));
            return -1;
        }
        /* Before listen() our socket looked stale, so another process may have replaced it. */
        if (!bound_keeps_path(&listener->bound, listener->address)) {
            log_error("listen_failed",
                      "address=%s: another process put its socket in place of ours; stop it or change listen",
                      listener->address->shown);
            return -1;
        }
        char text[sizeof listener->address->shown];
        bound_text(&listener->bound, listener->address, text, sizeof text);
        log_info("listening", "address=%s%s%s", text, all->for_what,
                 listener->bound.passed ? " passed=yes" : "");
    }
    all->open = true;
    if (watch_all(all) == 0)
        return 0;
    log_error("listen_failed", "error=\"%s\" why=\"the listening sockets cannot be watched\"",
              strerror(errno));
    return -1;
}

/* Clients that connected before the path was gone are accepted first. */
static void listener_repair(struct listeners *all, struct listener *listener, mode_t unix_mode)
{
    struct bound fresh[BIND_ADDRESSES];

    if (!bind_address(listener->address, unix_mode, fresh))
        return;
    if (listen(fresh[0].fd, BACKLOG) < 0) {
        log_error("listen_failed", "address=%s error=\"%s\"", listener->address->shown, strerror(errno));
        bound_close(&fresh[0], listener->address);
        return;
    }
    log_warn("listening", "address=%s%s why=\"its path was gone: made again\"", listener->address->shown,
             all->for_what);
    on_accept(listener->bound.fd, EV_READ, listener);
    event_del(&listener->event);
    close(listener->bound.fd);
    listener->bound = fresh[0];
    event_assign(&listener->event, all->base, listener->bound.fd, EV_READ | EV_PERSIST, on_accept, listener);
    if (!all->paused && event_add(&listener->event, NULL) < 0)
        pause_all(all, ENOMEM);
}

void listeners_repair(struct listeners *all, mode_t unix_mode)
{
    for (unsigned i = 0; all->open && i < all->count; i++)
        if (!bound_keeps_path(&all->list[i].bound, all->list[i].address))
            listener_repair(all, &all->list[i], unix_mode);
}

/* The sockets are closed at once, so that new clients are refused and try another daemon. What the service manager passed stays open there:
 * new clients wait for the next daemon. */
void listeners_stop(struct listeners *all)
{
    all->open = false;
    evtimer_del(&all->resume);
    unwatch_all(all);
    for (unsigned i = 0; i < all->count; i++)
        bound_close(&all->list[i].bound, all->list[i].address);
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
            return all->list[k].bound.port;
    return 0;
}
