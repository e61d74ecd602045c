/* The turn of the loop, and what main asks of it. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_set.h"
#include "daemon/log.h"
#include "daemon/loop/loop_private.h"

enum {
    STEPS_A_TURN = 1024, /* queued work takes so many before I/O gets its turn again */
    LOOKS_A_TURN = 256,  /* for rights that were taken away: few, so that clients can read as many !LOST */
    FLUSHES_A_TURN = 4,
    TIMER_MAX_MS = 1000, /* libevent's timer stands still while the host sleeps: it is late by this at most */
    LAST_WORDS_MS = 1000, /* for clients to read !LOST reason=drain */
};

/* ---- the end of a turn ---- */

/* Runs the coordinator's due work, at most STEPS_A_TURN steps of it. Work that is left, or that became due
 * after the last reading of the clock, is done in the next turn, which begins at once. */
static void queued_work(struct loop *loop)
{
    for (unsigned i = 0; i < STEPS_A_TURN; i++) {
        if (coordinator_deadline(loop->coordinator) > loop->now_ms)
            return;
        loop_step(loop, EVENT_TIMER);
    }
}

/* Flushes clients and masters at least once, since connections answer some requests by themselves. What the events of
 * this turn made due comes first: the next head's SETs leave with the release that they follow. Requests that
 * conns_flush() starts and losses that node_flush() finds may need another round. */
static void loop_flush(struct loop *loop)
{
    unsigned n = 0;
    do {
        loop->active = false;
        queued_work(loop);
        conns_flush(loop->conns);
        loop_send_end(&loop->send);
        for (unsigned i, left = loop->places.used; place_next(&left, &i);)
            if (node_wants_flush(loop->nodes[i]))
                node_flush(loop->nodes[i]);
    } while (loop->active && ++n < FLUSHES_A_TURN);
}

/* Clients go to another daemon when they are told, so that daemon is to know their tokens by then. */
static void tell_drain(struct loop *loop)
{
    if (loop->drain_told_by_ms == INT64_MAX ||
        (coordinator_settles(loop->coordinator) && clock_boot_ms() < loop->drain_told_by_ms))
        return;
    loop->drain_told_by_ms = INT64_MAX;
    conns_drain(loop->conns);
    loop->active = true;
}

static void arm_timer(struct loop *loop)
{
    bool is_due = loop->active || loop->deny || loop->denied.stage != DENIED_NOTHING;
    int64_t at_ms = is_due ? loop->now_ms : coordinator_deadline(loop->coordinator);
    if (loop->draining && loop->drained_by_ms < at_ms)
        at_ms = loop->drained_by_ms;
    if (loop->drain_told_by_ms < at_ms)
        at_ms = loop->drain_told_by_ms;
    if (at_ms > loop->now_ms + TIMER_MAX_MS)
        at_ms = loop->now_ms + TIMER_MAX_MS;
    /* A timer that is set for an earlier time is left alone and set again when it fires, which is cheaper
     * than moving it in each turn. A timer that is overdue is set anew, because its clock stood still
     * while the host slept. */
    if (at_ms >= loop->armed_ms && loop->armed_ms > loop->now_ms)
        return;
    loop->now_ms = clock_boot_ms();
    int64_t left_ms = at_ms > loop->now_ms ? at_ms - loop->now_ms : 0;
    struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    loop->armed_ms = at_ms;
    if (evtimer_add(loop->timer, &left) < 0) /* no memory: fire at once rather than never */
        event_active(loop->timer, EV_TIMEOUT, 0);
}

void loop_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop *loop = arg;
    (void)fd;
    (void)what;
    if (loop->armed_ms < INT64_MAX)
        histogram_count(&loop->status.lag, (clock_boot_ms() - loop->armed_ms) * 1000);
    loop->armed_ms = INT64_MAX;
}

static void open_listeners(struct loop *loop)
{
    if (loop->listening || coordinator_settled(loop->coordinator) < masters_count(loop->places.used))
        return;
    loop->listening = true;
    if (listeners_start(loop->listeners) < 0) { /* the reason was logged */
        loop->stopping = loop->failed = true;
        return;
    }
    log_info("ready", "voting=%u/%u", coordinator_voters(loop->coordinator), loop_masters(&loop->view));
    loop_log_quorum(&loop->log, &loop->view);
    if (loop->ready != NULL)
        loop->ready(loop->ready_arg);
}

static bool loop_is_over(const struct loop *loop)
{
    if (loop->stopping)
        return true;
    if (!loop->draining)
        return false;
    bool quiet = coordinator_drained(loop->coordinator) && conns_idle(loop->conns);
    return quiet || clock_boot_ms() >= loop->drained_by_ms;
}

/* Takes away what users have no right to any more: looks at LOOKS_A_TURN waiters and locks in each turn. */
static void deny_some(struct loop *loop)
{
    struct loop_denied *denied = &loop->denied;
    if (denied->stage == DENIED_NOTHING && !loop->deny)
        return;
    if (denied->stage == DENIED_NOTHING) {
        loop->deny = false;
        loop_user_denied_begin(denied);
    }
    for (unsigned i = 0; i < LOOKS_A_TURN && denied->stage != DENIED_NOTHING; i++) {
        if (!loop_user_denied_next(&loop->view, loop->now_ms, denied))
            continue;
        loop->event.session = denied->session;
        loop->event.request = denied->request;
        loop->event.what.name = denied->name;
        loop->event.what.token = denied->token;
        loop_step(loop, EVENT_DENY);
    }
    if (denied->stage == DENIED_NOTHING && (denied->locks > 0 || denied->waits > 0))
        log_warn("denied", "locks=%u waits=%u why=\"the configuration took away their users' rights\"",
                 denied->locks, denied->waits);
}

/* ---- places ---- */

/* New masters get their connections, which are not dialled yet. Returns their places. */
static masters_t open_places(struct loop *loop)
{
    masters_t fresh = 0;
    for (unsigned i, left = loop->places.used; place_next(&left, &i);) {
        if (loop->nodes[i] != NULL)
            continue;
        fresh |= masters_bit(i);
        if (loop_open(loop, i))
            continue;
        log_error("no_memory", "what=\"a new master\" node=%s", loop->places.node[i].address.shown);
        exit(EXIT_FAILURE); /* the change has begun, and without this master it would never end */
    }
    return fresh;
}

static void start_places(struct loop *loop, masters_t fresh)
{
    for (unsigned i, left = fresh; place_next(&left, &i);) {
        loop_look_opened(&loop->look, i);
        node_start(loop->nodes[i]);
        node_start(loop->subscribe.nodes[i]);
    }
}

/* Masters leave when the coordinator has no use for them any more. */
static void close_places(struct loop *loop)
{
    masters_t idle = masters_without(loop->places.used, coordinator_places(loop->coordinator));
    for (unsigned i, left = idle; place_next(&left, &i);) {
        loop->event.master = i;
        loop->event.connection = node_connection(loop->nodes[i]);
        loop_close(loop, i);
        loop_step(loop, EVENT_MASTER_LOST);
    }
}

static void look_at_group(struct loop *loop)
{
    close_places(loop);
    group_look(&loop->group, &loop->view, &loop->status.events);
    loop_set_group(&loop->set, &loop->group.row);
    loop_set_look(&loop->set,
                  loop->coordinator); /* a reload may make a key another's, and no state changes */
}

static void end_turn(struct loop *loop)
{
    deny_some(loop);
    queued_work(loop);
    tell_drain(loop);
    loop_flush(loop);
    bool changed = loop_log_masters(&loop->log, &loop->view);
    if (changed)
        loop_set_look(&loop->set, loop->coordinator);
    if (changed && loop->listening)
        loop_log_quorum(&loop->log, &loop->view);
    open_listeners(loop);
    if (loop->now_ms >= loop->log.wall_at_ms)
        loop_log_wall(&loop->log, &loop->view);
    if (changed || loop->now_ms >= loop->group.look_ms ||
        coordinator_step_number(loop->coordinator) != loop->group.row.step)
        look_at_group(loop);
    loop->active |= conns_handshakes(loop->conns);
    arm_timer(loop);
}

/* After a pause (the host was busy, or this process was stopped) time-outs are due while replies may wait
 * in the sockets. The replies are read first, so that no master counts as slow because we were. That is
 * safe, because the validity of a grant counts from the time before its first command was sent. */
static int wait_for_events(struct loop *loop)
{
    loop_clock_sleep(&loop->clock);
    int failed = event_base_loop(loop->base, EVLOOP_ONCE);
    loop->now_ms = clock_boot_ms();
    if (failed >= 0 && coordinator_deadline(loop->coordinator) <= loop->now_ms)
        failed = event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    return failed;
}

int loop_run(struct loop *loop)
{
    if (loop->http_listeners != NULL && listeners_start(loop->http_listeners) < 0)
        return 1; /* the reason was logged */
    for (unsigned i, left = loop->places.used; place_next(&left, &i);)
        node_start(loop->nodes[i]);
    loop_subscribe_start(&loop->subscribe);
    end_turn(loop);
    while (!loop_is_over(loop)) {
        if (wait_for_events(loop) < 0) {
            log_error("loop", "why=\"event_base_loop: %s\"", strerror(errno));
            return 1;
        }
        end_turn(loop);
    }
    loop_daemons_leave(&loop->daemons);
    struct coordinator_stats stats;
    coordinator_stats(loop->coordinator, &stats);
    log_info("stopped", "locks=%" PRIu64, stats.locks);
    return loop->failed;
}

/* ---- what main asks ---- */

struct coordinator_config loop_configuration(const struct loop *loop)
{
    const struct conf *conf = loop->conf;
    struct coordinator_set set, before;
    masters_t no_kill = 0;
    bool fits = group_set(&loop->places, conf, false, &set) && group_set(&loop->places, conf, true, &before);
    assert(fits); /* the check of the configuration, and of each change, sees to that */
    (void)fits;
    for (unsigned i, left = loop->places.used; place_next(&left, &i);)
        no_kill |= loop->places.node[i].no_kill ? masters_bit(i) : 0;
    return (struct coordinator_config){
        .masters = masters_count(loop->places.used),
        .set = set,
        .before = before,
        .begin_at = loop->begin_at,
        .default_ttl_ms = conf->default_ttl_ms,
        .min_ttl_ms = conf->min_ttl_ms,
        .max_ttl_ms = conf->max_ttl_ms,
        .node_timeout_ms = conf->node_timeout_ms,
        .min_validity_ms = conf->min_validity_ms,
        .retry_min_ms = conf->retry_min_ms,
        .retry_max_ms = conf->retry_max_ms,
        .drain_timeout_ms = conf->drain_timeout_ms,
        .restart_guard = conf->restart_guard,
        .fanout_quorum = conf->fanout_quorum,
        .no_kill = no_kill,
        .by_script = getenv("REDLOCKD_BY_SCRIPT") != NULL, /* for tests/bench/work_native.c alone */
        .max_sessions = (uint32_t)conf->max_clients,
        .max_locks = (uint32_t)conf->max_locks,
        .max_waiters = (uint32_t)conf->max_waiters,
        .max_watches = (uint32_t)conf->max_watches,
        .max_watches_per_peer = (uint32_t)conf_share(0, conf->max_watches),
        .max_marks = (uint32_t)conf->max_marks,
        .max_marks_per_peer = (uint32_t)conf_share(0, conf->max_marks),
        .max_keep_ms = conf->max_keep_ms,
        .max_locks_per_client = (uint32_t)conf->max_locks_per_client,
        .max_waits_per_client = (uint32_t)conf->max_waits_per_client,
        .max_locks_per_peer = (uint32_t)conf_share(conf->max_locks_per_peer, conf->max_locks),
        .max_waits_per_peer = (uint32_t)conf_share(conf->max_waits_per_peer, conf->max_waiters),
    };
}

void loop_drain(struct loop *loop)
{
    if (loop->draining)
        return;
    loop->draining = true;
    loop->drained_by_ms = clock_boot_ms() + loop->conf->drain_timeout_ms + LAST_WORDS_MS;
    struct coordinator_stats stats;
    coordinator_stats(loop->coordinator, &stats);
    events_add(&loop->status.events, TONE_WARN, "drain", "this daemon shuts down: %" PRIu64 " locks are held",
               stats.locks);
    log_info("drain", "locks=%" PRIu64 " waiters=%" PRIu64 " timeout=%lld", stats.locks, stats.waiters,
             (long long)loop->conf->drain_timeout_ms);
    loop->drain_told_by_ms = clock_boot_ms() + loop->conf->node_timeout_ms;
    tell_drain(loop);
    loop_step(loop, EVENT_DRAIN);
    loop->active = true;
}

bool loop_change_group(struct loop *loop, const struct conf *fresh)
{
    close_places(loop);
    return group_take(&loop->view, loop->coordinator, fresh);
}

static void loop_reconfigure(struct loop *loop)
{
    places_take(&loop->places, loop->conf->nodes, loop->conf->masters);
    struct coordinator_config config = loop_configuration(loop);
    coordinator_configure(loop->coordinator, &config);
    conns_reconfigure(loop->conns);
    loop->deny = true;
    masters_t fresh = open_places(loop);
    loop_look_again(&loop->look);
    start_places(loop, fresh);
    loop_set_change(&loop->set);
    group_look(&loop->group, &loop->view, &loop->status.events);
    listeners_repair(loop->listeners, loop->conf->unix_mode);
    if (loop->http_listeners)
        listeners_repair(loop->http_listeners, loop->conf->unix_mode);
    loop->active = true;
}

void loop_reloaded(struct loop *loop, bool good)
{
    loop->status.reload_failed = !good;
    if (good)
        events_add(&loop->status.events, TONE_GOOD, "reload", "the configuration was read again");
    else
        events_add(&loop->status.events, TONE_WARN, "reload",
                   "the configuration was read again and refused, so nothing was changed");
    if (good)
        loop_reconfigure(loop);
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

void loop_on_ready(struct loop *loop, void (*ready)(void *arg), void *arg)
{
    loop->ready = ready;
    loop->ready_arg = arg;
}

void loop_summary(const struct loop *loop, char *out, size_t size)
{
    struct coordinator_stats stats;
    coordinator_stats(loop->coordinator, &stats);
    snprintf(out, size, "%s%u/%u masters, %" PRIu64 " locks, %" PRIu64 " waiting",
             loop->draining ? "draining: " : "", coordinator_voters(loop->coordinator),
             loop_masters(&loop->view), stats.locks, stats.waiters);
}

uint16_t loop_port(const struct loop *loop, unsigned listener)
{
    return listeners_port(loop->listeners, listener);
}

uint16_t loop_http_port(const struct loop *loop, unsigned listener)
{
    return listeners_port(loop->http_listeners, listener);
}
