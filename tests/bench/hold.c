#include "tests/bench/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tests/bench/process.h"

enum { IN_FLIGHT = 16, EVENTS = 512, READ_BYTES = 64 * 1024, START_MS = 120000, POLL_MS = 20 };

struct link {
    int fd;
    unsigned index;
    unsigned asked, share; /* locks */
    size_t kept;
    char rest[512];
};

struct hold {
    const struct hold_plan *plan;
    struct hold_state *state;
    struct link *link;
};

static void ask(struct hold *hold, struct link *link, unsigned number)
{
    char line[256];
    const struct hold_plan *plan = hold->plan;
    unsigned long long salt = plan->salt;
    int len = plan->one_name
                  ? snprintf(line, sizeof line, "#%u LOCK held.%llu %s\n", number, salt, plan->options)
                  : snprintf(line, sizeof line, "#%u LOCK held.%llu.%u.%u %s\n", number, salt, link->index,
                             number, plan->options);
    socket_send(link->fd, line, (size_t)len);
}

static void ask_next(struct hold *hold, struct link *link)
{
    if (link->asked < link->share)
        ask(hold, link, link->asked++);
}

static void line_read(struct hold *hold, struct link *link, const char *line)
{
    if (line[0] == '!') {
        hold->state->lost += strncmp(line, "!LOST ", 6) == 0;
        return;
    }
    const char *space = line[0] == '#' ? strchr(line, ' ') : NULL;
    if (strncmp(space ? space + 1 : line, "+", 1) == 0) {
        hold->state->held++;
        ask_next(hold, link);
        return;
    }
    hold->state->refused++;
    ask(hold, link, (unsigned)strtoul(line + 1, NULL, 10));
}

static void link_read(struct hold *hold, struct link *link)
{
    static char in[READ_BYTES];
    memcpy(in, link->rest, link->kept);
    ssize_t n = recv(link->fd, in + link->kept, sizeof in - link->kept, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        fail("the server closed connection %u", link->index);
    char *at = in, *end = in + link->kept + n;
    for (char *lf; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1) {
        *lf = '\0';
        line_read(hold, link, at);
    }
    link->kept = (size_t)(end - at);
    if (link->kept > sizeof link->rest)
        fail("an answer that never ends");
    memcpy(link->rest, at, link->kept);
}

static void link_open(struct hold *hold, int epoll, unsigned i)
{
    const struct hold_plan *plan = hold->plan;
    struct link *link = &hold->link[i];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    link->index = i;
    link->fd = socket_dial(&plan->server->address, true, SOCKET_NO_SOURCE);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, link->fd, &event) < 0)
        fail("epoll_ctl: %s", strerror(errno));
    link->share = plan->locks / plan->connections + (i < plan->locks % plan->connections);
    if (!plan->locks)
        socket_send(link->fd, "PING\n", 5);
    for (unsigned k = 0; k < IN_FLIGHT; k++)
        ask_next(hold, link);
}

static void hold_run(void *arg)
{
    struct hold *hold = arg;
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    hold->link = calloc(hold->plan->connections, sizeof *hold->link);
    if (!hold->link)
        fail("no memory");
    for (unsigned i = 0; i < hold->plan->connections; i++)
        link_open(hold, epoll, i);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++)
            link_read(hold, events[i].data.ptr);
    }
}

void holder_start(struct holder *holder, const struct hold_plan *plan)
{
    unsigned wanted = plan->locks ? plan->locks : plan->connections;
    int64_t end_ns = now_ns() + START_MS * INT64_C(1000000);
    holder->state = shared_new(sizeof *holder->state);
    struct hold hold = {.plan = plan, .state = holder->state};
    holder->pid = process_fork("bench-hold", hold_run, &hold);
    while (holder->state->held < wanted) {
        if (!process_runs(holder->pid) || now_ns() > end_ns)
            fail("only %u of %u locks or clients could be had", holder->state->held, wanted);
        pause_ms(POLL_MS);
    }
}

void holder_stop(struct holder *holder)
{
    process_end(holder->pid);
    shared_free(holder->state, sizeof *holder->state);
}
