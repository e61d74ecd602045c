#include "tests/chaos/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/chaos/history.h"

enum { RELAYS = 200, CHUNK = 4096, FLOW_BYTES = 1 << 20, TO_MASTER = 0, TO_DAEMON = 1 };

struct chunk {
    struct chunk *next;
    int64_t due_us;
    size_t len, used;
    char bytes[CHUNK];
};

/* The bytes in one direction of a connection: read from one side, written to the other. */
struct flow {
    struct chunk *head, *tail;
    size_t bytes;
    int64_t due_us;   /* arrival of the last chunk: later chunks must not overtake it */
    int64_t spent_us; /* the rate is used up until then */
    bool ended;       /* no more will be read */
    bool full;        /* the other side took no more */
};

struct relay {
    int fd[2]; /* the daemon's side, the master's side; -1: closed */
    unsigned link;
    uint64_t number;
    struct flow flow[2]; /* flow[i] is read from fd[i] */
};

struct link_state {
    int64_t delay_us, rate;
    unsigned cut;
};

struct proxy {
    const struct proxy_link *links;
    unsigned count;
    uint64_t seed, draws;
    struct link_state state[PROXY_LINKS];
    struct relay *relay[RELAYS];
    unsigned relays;
};

/* ---- connections ---- */

static void side_close(struct relay *relay, unsigned side, bool reset)
{
    struct linger linger = {.l_onoff = 1};
    if (relay->fd[side] < 0)
        return;
    if (reset)
        setsockopt(relay->fd[side], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(relay->fd[side]);
    relay->fd[side] = -1;
    relay->flow[side].ended = true;
}

static void flow_drop(struct flow *flow)
{
    while (flow->head != NULL) {
        struct chunk *next = flow->head->next;
        free(flow->head);
        flow->head = next;
    }
    flow->tail = NULL;
    flow->bytes = 0;
}

static void relay_end(struct relay *relay, bool reset)
{
    for (unsigned side = 0; side < 2; side++) {
        side_close(relay, side, reset);
        flow_drop(&relay->flow[side]);
    }
}

static int master_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void relay_accept(struct proxy *p, unsigned link)
{
    struct relay *relay = calloc(1, sizeof *relay);
    int fd = accept4(p->links[link].listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (relay == NULL || fd < 0) {
        free(relay);
        if (fd >= 0)
            close(fd);
        return;
    }
    *relay = (struct relay){.fd = {fd, -1}, .link = link, .number = ++p->draws};
    relay->fd[1] = master_connect(p->links[link].master_path);
    if (relay->fd[1] < 0 || p->relays == RELAYS) {
        relay_end(relay, true);
        free(relay);
        return;
    }
    p->relay[p->relays++] = relay;
}

/* ---- bytes ---- */

static void flow_read(struct proxy *p, struct relay *relay, unsigned way)
{
    struct flow *flow = &relay->flow[way];
    struct chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        abort();
    ssize_t got = read(relay->fd[way], chunk->bytes, CHUNK);
    if (got <= 0) {
        free(chunk);
        flow->ended = got == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    int64_t delay_us = p->state[relay->link].delay_us;
    if (delay_us > 0)
        delay_us =
            delay_us / 2 + (int64_t)(draw(p->seed, relay->number, ++p->draws, way) % (uint64_t)delay_us);
    int64_t due_us = now_us() + delay_us;
    flow->due_us = due_us > flow->due_us ? due_us : flow->due_us;
    chunk->next = NULL;
    chunk->due_us = flow->due_us;
    chunk->len = (size_t)got;
    chunk->used = 0;
    if (flow->tail != NULL)
        flow->tail->next = chunk;
    else
        flow->head = chunk;
    flow->tail = chunk;
    flow->bytes += (size_t)got;
}

/* Moves up to one chunk; false: no more can be moved now. */
static bool flow_write(const struct proxy *p, struct relay *relay, unsigned way, int64_t at_us)
{
    struct flow *flow = &relay->flow[way];
    struct chunk *chunk = flow->head;
    int64_t rate = p->state[relay->link].rate;
    if (chunk == NULL || chunk->due_us > at_us || (rate > 0 && flow->spent_us > at_us))
        return false;
    size_t len = chunk->len - chunk->used;
    if (rate > 0 && len > 64)
        len = 64;
    ssize_t sent = send(relay->fd[!way], chunk->bytes + chunk->used, len, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        flow->full = true;
        return false;
    }
    if (sent < 0) {
        side_close(relay, !way, true);
        flow_drop(flow);
        return false;
    }
    if (rate > 0)
        flow->spent_us = at_us + sent * 1000000 / rate;
    flow->bytes -= (size_t)sent;
    chunk->used += (size_t)sent;
    if (chunk->used == chunk->len) {
        flow->head = chunk->next;
        flow->tail = flow->head != NULL ? flow->tail : NULL;
        free(chunk);
    }
    return true;
}

static bool is_cut(const struct proxy *p, const struct relay *relay, unsigned way)
{
    return (p->state[relay->link].cut & (way == TO_MASTER ? CUT_TO_MASTER : CUT_TO_DAEMON)) != 0;
}

/* The news that a side closed travels behind its last bytes. */
static void relay_pump(const struct proxy *p, struct relay *relay, int64_t at_us)
{
    for (unsigned way = 0; way < 2; way++) {
        struct flow *flow = &relay->flow[way];
        if (relay->fd[!way] < 0)
            flow_drop(flow);
        if (is_cut(p, relay, way) || flow->full)
            continue;
        while (relay->fd[!way] >= 0 && flow_write(p, relay, way, at_us))
            ;
        if (flow->ended && flow->head == NULL)
            side_close(relay, !way, false);
    }
    /* The side that ended keeps its descriptor until the other side has heard of it. */
    for (unsigned side = 0; side < 2; side++)
        if (relay->flow[side].ended && relay->fd[!side] < 0)
            side_close(relay, side, false);
}

static int64_t flow_next_us(const struct proxy *p, const struct relay *relay, unsigned way)
{
    const struct flow *flow = &relay->flow[way];
    if (flow->head == NULL || flow->full || is_cut(p, relay, way))
        return INT64_MAX;
    bool spent = p->state[relay->link].rate > 0 && flow->spent_us > flow->head->due_us;
    return spent ? flow->spent_us : flow->head->due_us;
}

/* ---- orders ---- */

static void order_orphan(struct relay *relay, int64_t value_us)
{
    int64_t after_us = now_us() + value_us;
    side_close(relay, 0, true);
    flow_drop(&relay->flow[TO_DAEMON]);
    for (struct chunk *chunk = relay->flow[TO_MASTER].head; chunk != NULL; chunk = chunk->next)
        chunk->due_us = chunk->due_us > after_us ? chunk->due_us : after_us;
}

static void order_obey(struct proxy *p, const struct order *order)
{
    struct link_state *state = &p->state[order->link % PROXY_LINKS];
    if (order->kind == ORDER_DELAY)
        state->delay_us = order->value;
    if (order->kind == ORDER_RATE)
        state->rate = order->value;
    if (order->kind == ORDER_CUT)
        state->cut = (unsigned)order->value;
    for (unsigned i = 0; i < p->relays; i++) {
        if (p->relay[i]->link != order->link)
            continue;
        if (order->kind == ORDER_RESET)
            relay_end(p->relay[i], true);
        if (order->kind == ORDER_ORPHAN)
            order_orphan(p->relay[i], order->value);
    }
}

static void orders_read(struct proxy *p, int orders)
{
    struct order order;
    ssize_t got = read(orders, &order, sizeof order); /* shorter than PIPE_BUF: whole or not at all */
    if (got == 0)
        _exit(0);
    if (got == (ssize_t)sizeof order)
        order_obey(p, &order);
}

/* ---- the loop ---- */

static short side_events(const struct relay *relay, unsigned side)
{
    const struct flow *in = &relay->flow[side], *out = &relay->flow[!side];
    return (short)((!in->ended && in->bytes < FLOW_BYTES ? POLLIN : 0) | (out->full ? POLLOUT : 0));
}

/* Descriptors of 0 events are left out: a hang-up would wake us for ever. */
static unsigned poll_fill(const struct proxy *p, int orders, struct pollfd *fds)
{
    unsigned count = 0;
    fds[count++] = (struct pollfd){.fd = orders, .events = POLLIN};
    for (unsigned i = 0; i < p->count; i++)
        fds[count++] = (struct pollfd){.fd = p->links[i].listener, .events = POLLIN};
    for (unsigned i = 0; i < p->relays; i++)
        for (unsigned side = 0; side < 2; side++) {
            short events = side_events(p->relay[i], side);
            fds[count++] = (struct pollfd){.fd = events != 0 ? p->relay[i]->fd[side] : -1, .events = events};
        }
    return count;
}

static int poll_timeout_ms(const struct proxy *p, int64_t at_us)
{
    int64_t next_us = INT64_MAX;
    for (unsigned i = 0; i < p->relays; i++)
        for (unsigned way = 0; way < 2; way++) {
            int64_t due_us = flow_next_us(p, p->relay[i], way);
            next_us = due_us < next_us ? due_us : next_us;
        }
    if (next_us == INT64_MAX)
        return -1;
    return next_us <= at_us ? 0 : (int)((next_us - at_us) / 1000 + 1);
}

static void relays_serve(struct proxy *p, const struct pollfd *fds)
{
    unsigned kept = 0, relays = p->relays;
    for (unsigned i = 0; i < relays; i++) {
        struct relay *relay = p->relay[i];
        for (unsigned side = 0; side < 2; side++) {
            short seen = fds[2 * i + side].revents;
            if (seen & POLLOUT)
                relay->flow[!side].full = false;
            if (relay->fd[side] >= 0 && (seen & (POLLIN | POLLHUP | POLLERR)) &&
                (side_events(relay, side) & POLLIN))
                flow_read(p, relay, side);
            else if (seen & (POLLHUP | POLLERR))
                relay->flow[!side].full = false; /* the write will tell the error */
        }
        relay_pump(p, relay, now_us());
        if (relay->fd[0] >= 0 || relay->fd[1] >= 0) {
            p->relay[kept++] = relay;
        } else {
            relay_end(relay, false);
            free(relay);
        }
    }
    p->relays = kept;
}

_Noreturn void proxy_run(const struct proxy_link *links, unsigned count, int orders, uint64_t seed)
{
    static struct proxy proxy;
    static struct pollfd fds[1 + PROXY_LINKS + 2 * RELAYS];
    struct proxy *p = &proxy;
    *p = (struct proxy){.links = links, .count = count, .seed = seed};
    for (;;) {
        unsigned total = poll_fill(p, orders, fds);
        if (poll(fds, total, poll_timeout_ms(p, now_us())) < 0 && errno != EINTR)
            abort();
        /* Relays are served first: an order may end some of them, and new relays have no place in fds. */
        relays_serve(p, fds + 1 + count);
        for (unsigned i = 0; i < count; i++)
            if (fds[1 + i].revents & POLLIN)
                relay_accept(p, i);
        if (fds[0].revents & (POLLIN | POLLHUP))
            orders_read(p, orders);
    }
}
