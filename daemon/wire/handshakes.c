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
    LIFE_MS = 10000,
    TURN_US = 2000,
};

enum handshake_state { UNBEGUN, QUEUED, DUE, WAITING };

TAILQ_HEAD(handshake_list, handshake);

/* The handshakes of one peer. */
struct peer {
    unsigned handshakes, places;
    struct handshake_list queued;
    bool in_turns;
    TAILQ_ENTRY(peer) turn;
};

struct handshake {
    struct handshakes *all;
    struct wire *wire; /* (ref) */
    handshake_done *done;
    void *arg;
    enum handshake_state state;
    uint16_t number; /* of its peer */
    struct peer *peer;
    int64_t until_ms; /* with a place */
    int64_t end_ms;
    struct event readable, writable;
    TAILQ_ENTRY(handshake) begun;
    TAILQ_ENTRY(handshake) placed;
    TAILQ_ENTRY(handshake) listed; /* in queued or due */
};

struct handshakes {
    struct event_base *base;
    struct event timer;
    struct handshake_list begun;  /* all, by end_ms */
    struct handshake_list placed; /* by until_ms */
    struct handshake_list due;
    unsigned places;
    TAILQ_HEAD(, peer) turns; /* peers that have a handshake in the queue, and may have one more place */
    struct peer *peers[UINT16_MAX + 1]; /* NULL: it has no handshake */
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

static int64_t next_end_ms(const struct handshakes *all)
{
    const struct handshake *placed = TAILQ_FIRST(&all->placed), *begun = TAILQ_FIRST(&all->begun);
    int64_t until_ms = placed ? placed->until_ms : INT64_MAX;

    return begun && begun->end_ms < until_ms ? begun->end_ms : until_ms;
}

static void timer_set(struct handshakes *all)
{
    int64_t at_ms = next_end_ms(all), left_ms = at_ms - clock_boot_ms();
    struct timeval tv = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};

    if (left_ms < 0)
        tv = (struct timeval){0};
    if (at_ms == INT64_MAX)
        evtimer_del(&all->timer);
    else if (evtimer_add(&all->timer, &tv) < 0)
        event_active(&all->timer, EV_TIMEOUT, 0);
}

/* ---- peers ---- */

static bool peer_begin(struct handshake *h)
{
    struct peer **at = &h->all->peers[h->number];

    if (!*at && !(*at = calloc(1, sizeof **at)))
        return false;
    h->peer = *at;
    if (h->peer->handshakes++ == 0)
        TAILQ_INIT(&h->peer->queued);
    return true;
}

/* A peer whose turn has come stands behind all others for its next one. */
static void peer_to_turns(struct handshakes *all, struct peer *peer)
{
    bool wants = !TAILQ_EMPTY(&peer->queued) && peer->places < PLACES_OF_PEER;

    if (peer->in_turns && !wants)
        TAILQ_REMOVE(&all->turns, peer, turn);
    if (!peer->in_turns && wants)
        TAILQ_INSERT_TAIL(&all->turns, peer, turn);
    peer->in_turns = wants;
}

static void peer_end(struct handshake *h)
{
    struct peer *peer = h->peer;

    peer_to_turns(h->all, peer);
    if (--peer->handshakes > 0)
        return;
    h->all->peers[h->number] = NULL;
    free(peer);
}

/* ---- places ---- */

static bool place_take(struct handshake *h)
{
    struct handshakes *all = h->all;

    if (all->places == PLACES || h->peer->places == PLACES_OF_PEER)
        return false;
    all->places++;
    h->peer->places++;
    h->until_ms = clock_boot_ms() + PLACE_MS;
    TAILQ_INSERT_TAIL(&all->placed, h, placed);
    if (TAILQ_FIRST(&all->placed) == h)
        timer_set(all);
    handshake_due(h);
    return true;
}

/* Gives free places to the peers in turn, so that a crowd of one peer does not hide the others. */
static void places_give(struct handshakes *all)
{
    struct peer *peer;

    while (all->places < PLACES && (peer = TAILQ_FIRST(&all->turns))) {
        struct handshake *h = TAILQ_FIRST(&peer->queued);
        TAILQ_REMOVE(&all->turns, peer, turn);
        peer->in_turns = false;
        TAILQ_REMOVE(&peer->queued, h, listed);
        place_take(h);
        peer_to_turns(all, peer);
    }
}

/* Frees it, with all that it has. */
static void handshake_free(struct handshake *h)
{
    struct handshakes *all = h->all;
    bool placed = has_place(h);

    event_del(&h->readable);
    event_del(&h->writable);
    TAILQ_REMOVE(&all->begun, h, begun);
    if (h->state == QUEUED)
        TAILQ_REMOVE(&h->peer->queued, h, listed);
    if (h->state == DUE)
        TAILQ_REMOVE(&all->due, h, listed);
    if (placed) {
        TAILQ_REMOVE(&all->placed, h, placed);
        all->places--;
        h->peer->places--;
    }
    peer_end(h);
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
        TAILQ_INSERT_TAIL(&h->peer->queued, h, listed);
        peer_to_turns(h->all, h->peer);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct handshakes *all = arg;
    struct handshake *h;
    int64_t now_ms = clock_boot_ms();
    (void)fd;
    (void)what;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): each is off its lists before it is freed */
    while ((h = TAILQ_FIRST(&all->placed)) && h->until_ms <= now_ms)
        handshake_end(h, "no TLS handshake within 2 s", "");
    while ((h = TAILQ_FIRST(&all->begun)) && h->end_ms <= now_ms)
        handshake_end(h, "no TLS handshake within 10 s after it connected", "");
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
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
    *h = (struct handshake){.all = all, .wire = wire, .done = done, .arg = arg, .number = peer};
    event_assign(&h->readable, all->base, wire->fd, EV_READ, on_ready, h);
    event_assign(&h->writable, all->base, wire->fd, EV_WRITE, on_ready, h);
    if (event_add(&h->readable, NULL) < 0 || !peer_begin(h)) {
        event_del(&h->readable);
        free(h);
        return NULL;
    }
    h->end_ms = clock_boot_ms() + LIFE_MS;
    TAILQ_INSERT_TAIL(&all->begun, h, begun);
    if (TAILQ_FIRST(&all->begun) == h)
        timer_set(all);
    return h;
}

struct handshakes *handshakes_new(struct event_base *base)
{
    struct handshakes *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->base = base;
    TAILQ_INIT(&all->placed);
    TAILQ_INIT(&all->begun);
    TAILQ_INIT(&all->turns);
    TAILQ_INIT(&all->due);
    evtimer_assign(&all->timer, base, on_timer, all);
    return all;
}

void handshakes_free(struct handshakes *all)
{
    if (!all)
        return;
    assert(!all->places && TAILQ_EMPTY(&all->begun));
    evtimer_del(&all->timer);
    free(all);
}
