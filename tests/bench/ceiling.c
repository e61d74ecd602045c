/* A bound that a daemon can hardly reach: the workers' commands go straight to the masters, over one
 * connection to each master, and with one write to each master in each wake-up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/commands.h"
#include "tests/bench/load.h"
#include "tests/bench/process.h"
#include "tests/bench/window.h"

enum { READ_BYTES = 64 * 1024, OUT_BYTES = LOAD_WORKERS * COMMANDS_BYTES, OWED = 1 << 20, NAMES = 1000 };

struct worker {
    unsigned turn;
    bool unlocking;
    unsigned answers; /* masters that answered what is under way */
    uint32_t round;   /* the round's number; late answers belong to an earlier round */
    int64_t asked_ns;
};

/* A reply that a master owes: the reply to the last of a worker's commands in a round counts as the master's
 * answer. */
struct owed {
    unsigned worker;
    uint32_t round;
    bool counts;
};

struct link {
    int fd;
    bool half; /* the last byte read was not an LF: the line's type was seen */
    uint64_t pushed, popped;
    struct owed owed[OWED];
    size_t out_len;
    char out[OUT_BYTES];
};

struct ceiling {
    const struct load_plan *plan;
    struct window window;
    struct worker worker[LOAD_WORKERS];
    struct link link[BENCH_MASTERS];
    char in[READ_BYTES];
};

static void owe(struct link *link, unsigned worker, uint32_t round, bool counts)
{
    if (link->pushed - link->popped == OWED)
        fail("a master owes too many replies");
    link->owed[link->pushed++ % OWED] = (struct owed){worker, round, counts};
}

static void ask(struct ceiling *c, unsigned index)
{
    struct worker *w = &c->worker[index];
    char bytes[COMMANDS_BYTES], name[64];
    bool fence = c->plan->fence && !w->unlocking;
    size_t name_len = (size_t)snprintf(name, sizeof name, "job.%llu.%u.%u", (unsigned long long)c->plan->salt,
                                       index, w->turn % NAMES);
    size_t len =
        w->unlocking ? commands_unlock(bytes, name, name_len) : commands_lock(bytes, name, name_len, fence);
    w->round++;
    w->answers = 0;
    w->asked_ns = now_ns();
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        struct link *link = &c->link[i];
        if (link->out_len + len > OUT_BYTES)
            fail("a master takes nothing more");
        memcpy(link->out + link->out_len, bytes, len);
        link->out_len += len;
        owe(link, index, w->round, !fence);
        if (fence)
            owe(link, index, w->round, true);
    }
}

static void answered(struct ceiling *c, const struct owed *owed)
{
    struct worker *w = &c->worker[owed->worker];
    if (!owed->counts || owed->round != w->round || ++w->answers != BENCH_QUORUM)
        return;
    int64_t took_ns = now_ns() - w->asked_ns;
    if (w->unlocking) {
        window_unlocked(&c->window, took_ns);
        w->turn++;
    } else {
        window_locked(&c->window, owed->worker, took_ns);
    }
    w->unlocking = !w->unlocking;
    ask(c, owed->worker);
}

/* Each reply to these commands is one line. */
static void link_read(struct ceiling *c, struct link *link)
{
    ssize_t n = recv(link->fd, c->in, sizeof c->in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        fail("a master closed the connection");
    const char *at = c->in, *end = c->in + n;
    while (at < end) {
        if (!link->half && (*at == '-' || (*at == '$' && at + 1 < end && at[1] != '-')))
            fail("a master refused: %.*s", (int)(end - at), at);
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        link->half = !lf;
        if (!lf)
            return;
        if (link->popped == link->pushed)
            fail("a master answers what was not asked");
        struct owed owed = link->owed[link->popped++ % OWED];
        answered(c, &owed);
        at = lf + 1;
    }
}

static void links_flush(struct ceiling *c)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        struct link *link = &c->link[i];
        socket_send(link->fd, link->out, link->out_len);
        link->out_len = 0;
    }
}

static int links_open(struct ceiling *c)
{
    char answer[256];
    size_t len;
    char *script = commands_load(&len);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        struct link *link = &c->link[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
        link->fd = socket_dial(&c->plan->masters->address[i], false, SOCKET_NO_SOURCE);
        if (socket_ask(link->fd, script, answer, sizeof answer) == 0 || answer[0] != '$')
            fail("a master does not take the release script: %s", answer);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, link->fd, &event) < 0)
            fail("epoll_ctl: %s", strerror(errno));
    }
    free(script);
    return epoll;
}

void ceiling_run(const struct load_plan *plan, struct load_result *result)
{
    struct ceiling *c = calloc(1, sizeof *c);
    struct epoll_event events[BENCH_MASTERS];
    if (!c || plan->workers > LOAD_WORKERS)
        fail("the plan has too many workers, or there is no memory");
    c->plan = plan;
    int epoll = links_open(c);
    window_open(&c->window, plan, result);
    for (unsigned i = 0; i < plan->workers; i++)
        ask(c, i);
    links_flush(c);
    while (window_goes_on(&c->window)) {
        int n = epoll_wait(epoll, events, BENCH_MASTERS, WINDOW_POLL_MS);
        for (int i = 0; i < n; i++)
            link_read(c, events[i].data.ptr);
        links_flush(c);
    }
    free(c);
}
