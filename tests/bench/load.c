/*              +LOCKED               +UNLOCKED
 *   LOCKING ------------> UNLOCKING -----------> LOCKING, by a new connection where the plan says so
 *      ^ |                    |
 *      +-+ any refusal        +----------------> LOCKING, after any refusal
 */
#include "tests/bench/load.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/process.h"
#include "tests/bench/window.h"

enum { READ_BYTES = 64 * 1024, WRITE_BYTES = 64 * 1024, EVENTS = 512, NAMES = 1000, SOURCES = 100 };

struct worker {
    struct link *link;
    unsigned index;
    unsigned turn;
    bool unlocking;
    int64_t asked_ns;
};

struct link {
    int fd;
    unsigned index;
    size_t kept; /* half a line */
    char rest[2048];
};

struct load {
    const struct load_plan *plan;
    struct window window;
    int epoll;
    struct worker worker[LOAD_WORKERS];
    struct link link[LOAD_WORKERS];
    size_t out_len; /* for the link that is being read */
    char in[READ_BYTES];
    char out[WRITE_BYTES];
};

/* ---- asking ---- */

static bool is_tagged(const struct load *load)
{
    return load->plan->connections < load->plan->workers;
}

static void send_out(struct load *load, struct link *link)
{
    socket_send(link->fd, load->out, load->out_len);
    load->out_len = 0;
}

static void ask(struct load *load, struct worker *w)
{
    const struct load_plan *plan = load->plan;
    char *out = load->out + load->out_len;
    size_t room = sizeof load->out - load->out_len;
    int len = is_tagged(load) ? snprintf(out, room, "#%u ", w->index) : 0;
    const char *verb = w->unlocking ? "UNLOCK" : "LOCK";
    char slots[32] = "";
    if (plan->slots > 0 && !w->unlocking)
        snprintf(slots, sizeof slots, " slots=%u", plan->slots);
    if (plan->one_name)
        len += snprintf(out + len, room - (size_t)len, "%s hot.%llu.%u%s%s", verb,
                        (unsigned long long)plan->salt, plan->shares > 0 ? w->index % plan->shares : 0,
                        w->unlocking ? "" : " wait=60s", slots);
    else
        len += snprintf(out + len, room - (size_t)len, "%s job.%llu.%u.%u", verb,
                        (unsigned long long)plan->salt, w->index, w->turn % NAMES);
    for (unsigned i = 1; i < plan->names; i++)
        len += snprintf(out + len, room - (size_t)len, ",job%u.%llu.%u.%u", i, (unsigned long long)plan->salt,
                        w->index, w->turn % NAMES);
    len += snprintf(out + len, room - (size_t)len, "\n");
    load->out_len += (size_t)len;
    w->asked_ns = now_ns();
    if (load->out_len > sizeof load->out / 2)
        send_out(load, w->link);
}

/* ---- being told ---- */

static void link_dial(struct load *load, struct link *link)
{
    const struct load_plan *plan = load->plan;
    int source = plan->reconnect ? (int)(link->index % SOURCES) : SOCKET_NO_SOURCE;
    link->fd = socket_dial(&plan->server[link->index % plan->servers], plan->use_unix, source);
    link->kept = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, link->fd, &event) < 0)
        fail("epoll_ctl: %s", strerror(errno));
}

/* Returns true if it has made a new connection, so that the bytes left of the old one are to be dropped. */
static bool answered(struct load *load, struct worker *w, const char *line)
{
    int64_t took_ns = now_ns() - w->asked_ns;
    bool redial = false;
    if (!w->unlocking && strncmp(line, "+LOCKED ", 8) == 0) {
        window_locked(&load->window, w->index, took_ns);
        w->unlocking = true;
    } else if (w->unlocking && line[0] == '+') {
        window_unlocked(&load->window, took_ns);
        w->unlocking = false;
        w->turn++;
        redial = load->plan->reconnect;
    } else {
        window_refused(&load->window);
        w->unlocking = false;
        w->turn++;
    }
    if (redial) {
        close(w->link->fd);
        link_dial(load, w->link);
    }
    ask(load, w);
    return redial;
}

static bool line_read(struct load *load, struct link *link, const char *line)
{
    struct worker *w = &load->worker[link->index];
    if (line[0] == '!') {
        if (strncmp(line, "!LOST ", 6) == 0)
            window_lost(&load->window);
        return false;
    }
    if (line[0] == '#') {
        char *end;
        unsigned long index = strtoul(line + 1, &end, 10);
        if (index >= load->plan->workers || *end != ' ')
            fail("an answer with a strange tag: %s", line);
        w = &load->worker[index];
        line = end + 1;
    }
    return answered(load, w, line);
}

static void link_read(struct load *load, struct link *link)
{
    memcpy(load->in, link->rest, link->kept);
    ssize_t n = recv(link->fd, load->in + link->kept, sizeof load->in - link->kept, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        fail("the server closed connection %u: %s", link->index, n ? strerror(errno) : "end");
    char *at = load->in, *end = load->in + link->kept + n;
    link->kept = 0;
    for (char *lf; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1) {
        *lf = '\0';
        if (line_read(load, link, at)) {
            at = end;
            break;
        }
    }
    link->kept = (size_t)(end - at);
    if (link->kept > sizeof link->rest)
        fail("an answer that never ends");
    memcpy(link->rest, at, link->kept);
    send_out(load, link);
}

/* ---- a run ---- */

static void load_begin(struct load *load)
{
    const struct load_plan *plan = load->plan;
    assert(plan->connections > 0);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < plan->connections; i++) {
        load->link[i].index = i;
        link_dial(load, &load->link[i]);
    }
    for (unsigned i = 0; i < plan->workers; i++) {
        struct worker *w = &load->worker[i];
        w->index = i;
        w->link = &load->link[i % plan->connections];
        ask(load, w);
        send_out(load, w->link);
    }
}

void load_run(const struct load_plan *plan, struct load_result *result)
{
    struct load *load = calloc(1, sizeof *load);
    struct epoll_event events[EVENTS];
    if (!load || plan->workers > LOAD_WORKERS || plan->connections > plan->workers)
        fail("the plan has too many workers or connections, or there is no memory");
    load->plan = plan;
    window_open(&load->window, plan, result);
    load_begin(load);
    while (window_goes_on(&load->window)) {
        int n = epoll_wait(load->epoll, events, EVENTS, WINDOW_POLL_MS);
        for (int i = 0; i < n; i++)
            link_read(load, events[i].data.ptr);
    }
    free(load);
}
