/* The loop itself: callbacks -> events -> steps -> actions -> I/O. */
#include "daemon/loop/loop.h"

#include <errno.h>
#include <event2/dns.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conn/conns.h"
#include "daemon/conn/listen.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/http/http.h"
#include "daemon/log.h"
#include "daemon/loop/loop_clock.h"
#include "daemon/loop/loop_log.h"
#include "daemon/loop/loop_look.h"
#include "daemon/loop/loop_send.h"
#include "daemon/loop/loop_show.h"
#include "daemon/loop/loop_status.h"
#include "daemon/loop/loop_subscribe.h"
#include "daemon/loop/loop_user.h"
#include "daemon/node/node.h"
#include "daemon/passed.h"
#include "proto/resp.h"

enum {
    STEPS_A_TURN = 1024, /* of queued work, before I/O gets its turn again */
    LOOKS_A_TURN = 256,  /* for rights that were taken away: few, so that clients can read as many !LOST */
    FLUSHES_A_TURN = 4,
    TIMER_MAX_MS = 1000, /* libevent's timer stands still while the host sleeps: it is late by this at most */
    LAST_WORDS_MS = 1000, /* for clients to read !LOST reason=drain */
};

struct loop {
    const struct conf *conf;
    struct event_base *base;
    struct evdns_base *dns; /* NULL: no master has a name */
    struct coordinator *coordinator;
    struct resp_format *format;
    struct conns *conns;
    struct listeners *listeners;
    struct http *http; /* NULL: the configuration has no http */
    struct listeners *http_listeners;
    struct http_handler http_handler;
    struct loop_look look;
    struct node *nodes[MASTERS];
    struct node_handler node_handler;
    struct loop_subscribe subscribe;
    struct conn_handler conn_handler;
    struct loop_view view;
    struct loop_send send;
    struct loop_clock clock;
    struct event *timer;
    int64_t now_ms;        /* CLOCK_BOOTTIME as it was read last in this turn */
    int64_t armed_ms;      /* when the timer fires; INT64_MAX: it is not set */
    int64_t drained_by_ms; /* when a drain ends at the latest */
    struct loop_log log;
    struct loop_status status;
    bool listening, draining, stopping, failed;
    bool active; /* something is to be flushed */
    bool deny;   /* sessions may hold or wait for what their users have no right to any more ... */
    struct loop_denied
        denied; /* ... and the search for it that is under way, after which the next one begins */
    void (*ready)(void *arg);
    void *ready_arg;
    struct coordinator_event event; /* one is enough, since a step ends before the next one begins */
    struct actions actions;
};

/* ---- actions become I/O ---- */

static void carry_close(struct loop *loop, const struct action *action)
{
    static const char *const words[] = {
        [CLOSE_SILENT] = "silent",
        [CLOSE_BACKLOG] = "backlog",
        [CLOSE_HANDSHAKE] = "handshake",
    };
    node_close(loop->nodes[action->master], words[action->why]);
}

static void carry_reply(struct loop *loop, struct action *action)
{
    struct reply *reply = &action->u.reply;
    reply->valid_ms = loop_clock_left_ms(&loop->clock, &loop->event, reply->valid_ms);
    /* A request was under way when its right was taken away. */
    loop->deny |=
        reply->code == REPLY_LOCKED && !loop_user_may_lock(&loop->view, action->session, &reply->name);
    conns_now(loop->conns, loop->clock.boot_us);
    conns_reply(loop->conns, action->session, action->request, reply);
}

static void carry_out(struct loop *loop, struct action *action)
{
    switch (action->kind) {
    case ACTION_SEND: loop_send(&loop->send, action->masters, &action->u.command); break;
    case ACTION_CLOSE_MASTER: carry_close(loop, action); break;
    case ACTION_REPLY: carry_reply(loop, action); break;
    case ACTION_NOTICE:
        loop_status_lost(&loop->status, &action->u.notice);
        loop_log_lost(&loop->log, &action->u.notice);
        conns_notice(loop->conns, action->session, &action->u.notice);
        break;
    case ACTION_CLOCK:
        loop_log_behind(&loop->log, action->u.clock.stall_ms, action->u.clock.behind_ms);
        conns_clock(loop->conns, action->u.clock.behind_ms);
        break;
    case ACTION_SESSION_ENDED: conns_ended(loop->conns, action->session); break;
    }
}

/* Steps never nest: no function that carries out an action calls a handler of nodes or connections. */
static void loop_step(struct loop *loop, enum event_kind kind)
{
    struct coordinator_event *event = &loop->event;
    struct actions *actions = &loop->actions;
    if (actions->random_used)
        clock_random(event->random);
    event->kind = kind;
    loop_clock_stamp(&loop->clock, event);
    loop->now_ms = event->now_ms;
    coordinator_step(loop->coordinator, event, actions);
    loop->active |= actions->count > 0;
    for (unsigned i = 0; i < actions->count; i++)
        carry_out(loop, &actions->list[i]);
}

/* ---- callbacks become events ---- */

static void on_request(void *arg, uint64_t session, uint64_t request, uint64_t target,
                       const struct request *what)
{
    struct loop *loop = arg;
    loop->event.session = session;
    loop->event.request = request;
    loop->event.peer = loop_user_peer(&loop->view, session);
    loop->event.target = target;
    loop->event.what = *what;
    loop_step(loop, EVENT_REQUEST);
}

static void on_finish(void *arg, uint64_t session)
{
    struct loop *loop = arg;
    loop->event.session = session;
    loop_step(loop, EVENT_SESSION_FINISH);
}

static void on_closed(void *arg, uint64_t session, enum conn_end end)
{
    struct loop *loop = arg;
    loop->event.session = session;
    loop_step(loop, end == CONN_RELEASED ? EVENT_SESSION_RELEASE : EVENT_SESSION_DROP);
}

static void on_undelivered(void *arg, uint64_t session, uint64_t request)
{
    struct loop *loop = arg;
    loop->event.session = session;
    loop->event.request = request;
    loop_step(loop, EVENT_UNDELIVERED);
}

static size_t on_row(void *arg, uint64_t session, enum show show, const struct tag *tag, uint64_t state[8],
                     char *out)
{
    struct loop *loop = arg;
    return loop_show_row(&loop->view, session, show, tag, state, out);
}

static void on_session_counts(void *arg, uint64_t session, uint32_t *locks, uint32_t *waits)
{
    struct loop *loop = arg;
    coordinator_session_counts(loop->coordinator, session, locks, waits);
}

const char *loop_unready(const struct loop *loop)
{
    if (loop->draining || loop->stopping)
        return "draining";
    if (!loop->listening)
        return "starting";
    return coordinator_voters(loop->coordinator) < loop->conf->masters / 2 + 1 ? "noquorum" : NULL;
}

static bool on_ready(void *arg)
{
    return loop_unready(arg) == NULL;
}

static void loop_master_step(struct loop *loop, enum event_kind kind, unsigned index, uint32_t connection)
{
    loop->event.master = index;
    loop->event.connection = connection;
    loop_step(loop, kind);
}

static void on_connected(void *arg, unsigned index, uint32_t connection)
{
    struct loop *loop = arg;
    loop_send_forget(&loop->send, index);
    loop_master_step(loop, EVENT_MASTER_CONNECTED, index, connection);
}

static void on_voted(void *arg, unsigned index, uint32_t connection, enum command_verb verb, uint64_t ref,
                     const struct vote *vote)
{
    struct loop *loop = arg;
    loop->event.verb = verb;
    loop->event.ref = ref;
    loop->event.vote.kind = vote->kind;
    loop->event.vote.error = vote->error;
    loop->event.vote.number = vote->number;
    switch (vote->kind) { /* copies only the bytes that belong to the kind: most votes have none */
    case VOTE_INFO: loop->event.vote.info = vote->info; break;
    case VOTE_GROUP: loop->event.vote.group = vote->group; break;
    case VOTE_TOKEN: loop->event.vote.token = vote->token; break;
    default: break;
    }
    loop_master_step(loop, EVENT_MASTER_VOTE, index, connection);
}

static void on_lost(void *arg, unsigned index, uint32_t connection)
{
    loop_master_step(arg, EVENT_MASTER_LOST, index, connection);
}

static void on_backlog(void *arg, unsigned index, uint32_t connection)
{
    loop_master_step(arg, EVENT_MASTER_BACKLOG, index, connection);
}

static void on_failed(void *arg, unsigned index)
{
    loop_master_step(arg, EVENT_MASTER_LOST, index, 0);
}

static void on_http_accepted(void *arg, int fd, const struct conf_listener *listener,
                             const struct sockaddr *peer, socklen_t peer_len)
{
    struct loop *loop = arg;
    (void)peer, (void)peer_len;
    http_accept(loop->http, fd, listener);
}

static void on_snapshot(void *arg, struct snapshot *snapshot)
{
    struct loop *loop = arg;
    loop_status_snapshot(&loop->view, &loop->status, snapshot);
    snapshot->unready = loop_unready(loop);
    snapshot->draining = loop->draining;
}

static void on_sample(void *arg, struct snapshot_sample *sample)
{
    struct loop *loop = arg;
    loop_status_sample(&loop->view, &loop->status, sample);
}

static const char *on_unready(void *arg)
{
    return loop_unready(arg);
}

static void on_told(void *arg, enum event_kind kind, unsigned master, const struct name *name)
{
    struct loop *loop = arg;
    if (name != NULL)
        loop->event.what.name = *name;
    loop_master_step(loop, kind, master, 0);
}

static void on_accepted(void *arg, int fd, const struct conf_listener *listener, const struct sockaddr *peer,
                        socklen_t peer_len)
{
    struct loop *loop = arg;
    conns_accept(loop->conns, fd, listener, peer, peer_len,
                 loop->look.tls.listen[listener - loop->conf->listen]);
    loop->active = true;
}

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

/* Flushes clients and masters at least once, since connections answer some requests by themselves.
 * Requests that conns_flush() starts and losses that node_flush() finds may need another round. */
static void loop_flush(struct loop *loop)
{
    unsigned n = 0;
    do {
        loop->active = false;
        conns_flush(loop->conns);
        loop_send_end(&loop->send);
        for (unsigned i = 0; i < loop->conf->masters; i++)
            if (node_wants_flush(loop->nodes[i]))
                node_flush(loop->nodes[i]);
        queued_work(loop);
    } while (loop->active && ++n < FLUSHES_A_TURN);
}

static void arm_timer(struct loop *loop)
{
    bool is_due = loop->active || loop->deny || loop->denied.stage != DENIED_NOTHING;
    int64_t at_ms = is_due ? loop->now_ms : coordinator_deadline(loop->coordinator);
    if (loop->draining && loop->drained_by_ms < at_ms)
        at_ms = loop->drained_by_ms;
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

static void loop_on_timer(evutil_socket_t fd, short what, void *arg)
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
    if (loop->listening || coordinator_settled(loop->coordinator) < loop->conf->masters)
        return;
    loop->listening = true;
    if (listeners_start(loop->listeners) < 0) { /* the reason was logged */
        loop->stopping = loop->failed = true;
        return;
    }
    log_info("ready", "voting=%u/%u", coordinator_voters(loop->coordinator), loop->conf->masters);
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
        loop_step(loop, EVENT_DENY);
    }
    if (denied->stage == DENIED_NOTHING && (denied->locks > 0 || denied->waits > 0))
        log_warn("denied", "locks=%u waits=%u why=\"the configuration took away their users' rights\"",
                 denied->locks, denied->waits);
}

static void end_turn(struct loop *loop)
{
    deny_some(loop);
    queued_work(loop);
    loop_flush(loop);
    loop_log_masters(&loop->log, &loop->view);
    if (loop->listening)
        loop_log_quorum(&loop->log, &loop->view);
    open_listeners(loop);
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
    for (unsigned i = 0; i < loop->conf->masters; i++)
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
    struct coordinator_stats stats;
    coordinator_stats(loop->coordinator, &stats);
    log_info("stopped", "locks=%u", stats.locks);
    return loop->failed;
}

/* ---- its life ---- */

static struct coordinator_config configuration(const struct conf *conf)
{
    return (struct coordinator_config){
        .masters = conf->masters,
        .default_ttl_ms = conf->default_ttl_ms,
        .min_ttl_ms = conf->min_ttl_ms,
        .max_ttl_ms = conf->max_ttl_ms,
        .node_timeout_ms = conf->node_timeout_ms,
        .min_validity_ms = conf->min_validity_ms,
        .retry_min_ms = conf->retry_min_ms,
        .retry_max_ms = conf->retry_max_ms,
        .drain_timeout_ms = conf->drain_timeout_ms,
        .restart_guard = conf->restart_guard,
        .max_sessions = (uint32_t)conf->max_clients,
        .max_locks = (uint32_t)conf->max_locks,
        .max_waiters = (uint32_t)conf->max_waiters,
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
    events_add(&loop->status.events, TONE_WARN, "drain", "this daemon shuts down: %u locks are held",
               stats.locks);
    log_info("drain", "locks=%u waiters=%u timeout=%lld", stats.locks, stats.waiters,
             (long long)loop->conf->drain_timeout_ms);
    conns_drain(loop->conns);
    loop_step(loop, EVENT_DRAIN);
    loop->active = true;
}

static void loop_reconfigure(struct loop *loop)
{
    struct coordinator_config config = configuration(loop->conf);
    coordinator_configure(loop->coordinator, &config);
    conns_reconfigure(loop->conns);
    loop->deny = true;
    loop_look_again(&loop->look);
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
    snprintf(out, size, "%s%u/%u masters, %u locks, %u waiting", loop->draining ? "draining: " : "",
             coordinator_voters(loop->coordinator), loop->conf->masters, stats.locks, stats.waiters);
}

uint16_t loop_port(const struct loop *loop, unsigned listener)
{
    return listeners_port(loop->listeners, listener);
}

uint16_t loop_http_port(const struct loop *loop, unsigned listener)
{
    return listeners_port(loop->http_listeners, listener);
}

static struct coordinator *make_coordinator(const struct conf *conf, const uint8_t random[32],
                                            struct token *self)
{
    struct coordinator_config config = configuration(conf);
    memcpy(&config.hash_seed, random, sizeof config.hash_seed);
    memcpy(&config.self, random + sizeof config.hash_seed, sizeof config.self);
    *self = config.self;
    return coordinator_new(&config);
}

/* Called only if a master has a name: without names, resolv.conf and hosts may well be absent. */
static bool make_dns(struct loop *loop)
{
    loop->dns = evdns_base_new(loop->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (loop->dns == NULL)
        return false;
    if (evdns_base_resolv_conf_parse(loop->dns, DNS_OPTIONS_ALL, "/etc/resolv.conf") != 0)
        log_warn(
            "resolv_conf",
            "why=\"/etc/resolv.conf cannot be used: names of masters are looked up in /etc/hosts only\"");
    if (evdns_base_load_hosts(loop->dns, "/etc/hosts") != 0)
        log_warn("hosts", "why=\"/etc/hosts cannot be read\"");
    return true;
}

static bool loop_is_name(const struct conf_address *address)
{
    unsigned char bytes[16];
    return address->path[0] == '\0' && evutil_inet_pton(AF_INET, address->host, bytes) != 1 &&
           evutil_inet_pton(AF_INET6, address->host, bytes) != 1;
}

static bool make_nodes(struct loop *loop, const struct token *self)
{
    for (unsigned i = 0; i < loop->conf->masters; i++)
        if (loop->dns == NULL && loop_is_name(&loop->conf->nodes[i].address) && !make_dns(loop))
            return false;
    for (unsigned i = 0; i < loop->conf->masters; i++) {
        loop->nodes[i] = node_new(loop->base, loop->dns, loop->conf, i, &loop->node_handler);
        if (loop->nodes[i] == NULL)
            return false;
    }
    return loop_subscribe_new(&loop->subscribe, loop->base, loop->dns, loop->conf, self);
}

static bool make_parts(struct loop *loop, const char *version)
{
    struct token self;
    clock_random(loop->event.random);
    loop->base = event_base_new();
    loop->coordinator = make_coordinator(loop->conf, loop->event.random, &self);
    clock_random(loop->event.random);
    loop->format = resp_format_new(loop->conf->key_prefix);
    if (loop->base == NULL || loop->coordinator == NULL || loop->format == NULL)
        return false;
    loop->send.nodes = loop->nodes;
    loop->send.format = loop->format;
    loop->timer = evtimer_new(loop->base, loop_on_timer, loop);
    loop->conns = conns_new(loop->base, loop->conf, version, &loop->conn_handler);
    return loop->timer != NULL && loop->conns != NULL && make_nodes(loop, &self) &&
           loop_look_start(&loop->look, loop->base, loop->conns, loop->nodes, loop->subscribe.nodes);
}

/* Returns false after it has logged the reason. */
static bool make_http(struct loop *loop)
{
    if (loop->conf->http_listeners == 0)
        return true;
    loop->http_handler = (struct http_handler){on_snapshot, on_sample, on_unready, loop};
    loop->http = http_new(loop->base, loop->conf, &loop->http_handler);
    if (loop->http == NULL) {
        log_error("no_memory", "what=http");
        return false;
    }
    loop->http_listeners = listeners_new_http(loop->base, loop->conf, on_http_accepted, loop);
    return loop->http_listeners != NULL;
}

struct loop *loop_new(const struct conf *conf, const char *version)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) {
        log_error("no_memory", "why=\"at the start\"");
        return NULL;
    }
    loop->conf = conf;
    loop->log.events = &loop->status.events;
    loop->armed_ms = INT64_MAX;
    if (!loop_look_files(&loop->look, conf)) {
        loop_free(loop);
        return NULL;
    }
    loop->node_handler = (struct node_handler){
        .connected = on_connected,
        .voted = on_voted,
        .lost = on_lost,
        .backlog = on_backlog,
        .failed = on_failed,
        .arg = loop,
    };
    loop->subscribe.tell = on_told;
    loop->subscribe.arg = loop;
    loop->conn_handler = (struct conn_handler){
        on_request, on_finish, on_closed, on_undelivered, on_row, on_session_counts, on_ready, loop,
    };
    if (!make_parts(loop, version)) {
        log_error("no_memory", "why=\"at the start: lower max_locks, max_waiters or max_clients\"");
        loop_free(loop);
        return NULL;
    }
    loop->listeners = listeners_new(loop->base, conf, on_accepted, loop);
    if (loop->listeners == NULL || !make_http(loop) || !passed_all_claimed()) {
        loop_free(loop);
        return NULL;
    }
    loop->view = (struct loop_view){
        .conf = conf,
        .version = version,
        .coordinator = loop->coordinator,
        .conns = loop->conns,
        .nodes = loop->nodes,
        .subscribers = loop->subscribe.nodes,
        .tls = &loop->look.tls,
        .started_ms = clock_boot_ms(),
    };
    return loop;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->http_listeners != NULL)
        listeners_free(loop->http_listeners);
    http_free(loop->http);
    if (loop->listeners != NULL)
        listeners_free(loop->listeners);
    if (loop->conns != NULL)
        conns_free(loop->conns);
    for (unsigned i = 0; i < loop->conf->masters; i++)
        node_free(loop->nodes[i]);
    loop_subscribe_free(&loop->subscribe);
    loop_look_stop(&loop->look);
    if (loop->dns != NULL)
        evdns_base_free(loop->dns, 0);
    if (loop->timer != NULL)
        event_free(loop->timer);
    if (loop->format != NULL)
        resp_format_free(loop->format);
    coordinator_free(loop->coordinator);
    if (loop->base != NULL)
        event_base_free(loop->base);
    free(loop);
}
