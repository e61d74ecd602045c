#include "daemon/wire/handshakes.h"

#include <assert.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "daemon/clock.h"

enum {
    PLACES = 64,
    PLACES_OF_PEER = 8,
    PLACE_MS = 2000,
    TURN_US = 2000,
    SEARCH = 256, /* how many in the queue are looked at for a free place */
};

enum handshake_state { UNBEGUN, QUEUED, DUE, WAITING };

struct handshake {
    struct handshakes *all;
    struct wire *wire; /* (ref) */
    handshake_done *done;
    void *arg;
    enum handshake_state state;
    uint16_t peer;
    int64_t until_ms; /* with a place */
    struct event readable, writable;
    TAILQ_ENTRY(handshake) placed;
    TAILQ_ENTRY(handshake) listed; /* in queued or due */
};

TAILQ_HEAD(handshake_list, handshake);

struct handshakes {
    struct event_base *base;
    struct event timer;
    struct handshake_list placed; /* by until_ms */
    struct handshake_list queued, due;
    unsigned places;
    uint8_t places_of[UINT16_MAX + 1]; /* by peer */
};

static bool has_place(const struct handshake *h)
{
    return h->state == DUE || h->state == WAITING;
}

static void handshake_due(struct handshake *h)
{
    h->state = DUE;
    TAILQ_INSERT_TAIL(&h->all->due, h, listed);
}

/* The first one that has a place is the first one whose time is over. */
static void timer_set(struct handshakes *all)
{
    const struct handshake *first = TAILQ_FIRST(&all->placed);
    if (!first) {
        evtimer_del(&all->timer);
        return;
    }
    int64_t left_ms = first->until_ms - clock_boot_ms();
    struct timeval tv = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    if (left_ms < 0)
        tv = (struct timeval){0};
    if (evtimer_add(&all->timer, &tv) < 0)
        event_active(&all->timer, EV_TIMEOUT, 0);
}

static bool place_take(struct handshake *h)
{
    struct handshakes *all = h->all;

    if (all->places == PLACES || all->places_of[h->peer] == PLACES_OF_PEER)
        return false;
    all->places++;
    all->places_of[h->peer]++;
    h->until_ms = clock_boot_ms() + PLACE_MS;
    TAILQ_INSERT_TAIL(&all->placed, h, placed);
    if (TAILQ_FIRST(&all->placed) == h)
        timer_set(all);
    handshake_due(h);
    return true;
}

/* Gives free places to the ones that wait, in their order. A handshake whose peer has all of its places goes to the
 * end: it would have to wait anyway, and so a crowd of one peer does not hide the others. */
static void places_give(struct handshakes *all)
{
    struct handshake *h;

    for (unsigned i = 0; i < SEARCH && all->places < PLACES && (h = TAILQ_FIRST(&all->queued)); i++) {
        TAILQ_REMOVE(&all->queued, h, listed);
        if (!place_take(h))
            TAILQ_INSERT_TAIL(&all->queued, h, listed);
    }
}

/* Frees it, with all that it has. */
static void handshake_free(struct handshake *h)
{
    struct handshakes *all = h->all;
    bool placed = has_place(h);

    event_del(&h->readable);
    event_del(&h->writable);
    if (h->state == QUEUED)
        TAILQ_REMOVE(&all->queued, h, listed);
    if (h->state == DUE)
        TAILQ_REMOVE(&all->due, h, listed);
    if (placed) {
        TAILQ_REMOVE(&all->placed, h, placed);
        all->places--;
        all->places_of[h->peer]--;
    }
    free(h);
    if (placed)
        places_give(all);
}

void handshake_cancel(struct handshake *h)
{
    handshake_free(h);
}

static void handshake_end(struct handshake *h, const char *why, const char *hint)
{
    handshake_done *done = h->done;
    void *arg = h->arg;

    handshake_free(h);
    done(arg, why, hint);
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct handshake *h = arg;
    (void)fd;
    (void)what;

    if (h->state == WAITING) {
        event_del(&h->readable);
        event_del(&h->writable);
        handshake_due(h);
    } else if (h->state == UNBEGUN && !place_take(h)) {
        h->state = QUEUED;
        TAILQ_INSERT_TAIL(&h->all->queued, h, listed);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct handshakes *all = arg;
    struct handshake *h;
    int64_t now_ms = clock_boot_ms();
    (void)fd;
    (void)what;

    while ((h = TAILQ_FIRST(&all->placed)) && h->until_ms <= now_ms)
        handshake_end(h, "no TLS handshake within 2 s", "");
    timer_set(all);
}

static void handshake_step(struct handshake *h)
{
    enum wire_step step = wire_handshake(h->wire);

    TAILQ_REMOVE(&h->all->due, h, listed);
    h->state = WAITING;
    if (step == WIRE_OPEN)
        handshake_end(h, NULL, "");
    else if (step == WIRE_FAILED)
        handshake_end(h, wire_fault()->what, wire_fault()->hint);
    else if (event_add(step == WIRE_WANTS_READ ? &h->readable : &h->writable, NULL) < 0)
        handshake_end(h, "no memory", "");
}

bool handshakes_idle(const struct handshakes *all)
{
    return TAILQ_EMPTY(&all->due);
}

bool handshakes_run(struct handshakes *all)
{
    struct handshake *h = TAILQ_FIRST(&all->due);
    if (!h)
        return false;
    int64_t end_us = clock_boot_us() + TURN_US;
    do
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is off the list before it is freed */
        handshake_step(h);
    while ((h = TAILQ_FIRST(&all->due)) && clock_boot_us() < end_us);
    return h != NULL;
}

struct handshake *handshake_new(struct handshakes *all, struct wire *wire, uint16_t peer,
                                handshake_done *done, void *arg)
{
    struct handshake *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    *h = (struct handshake){.all = all, .wire = wire, .done = done, .arg = arg, .peer = peer};
    event_assign(&h->readable, all->base, wire->fd, EV_READ, on_ready, h);
    event_assign(&h->writable, all->base, wire->fd, EV_WRITE, on_ready, h);
    if (event_add(&h->readable, NULL) == 0)
        return h;
    free(h);
    return NULL;
}

struct handshakes *handshakes_new(struct event_base *base)
{
    struct handshakes *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->base = base;
    TAILQ_INIT(&all->placed);
    TAILQ_INIT(&all->queued);
    TAILQ_INIT(&all->due);
    evtimer_assign(&all->timer, base, on_timer, all);
    return all;
}

void handshakes_free(struct handshakes *all)
{
    if (!all)
        return;
    assert(!all->places);
    evtimer_del(&all->timer);
    free(all);
}
