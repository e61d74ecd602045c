/* A simulated daemon: a real coordinator, driven by this file instead of daemon/loop/ and daemon/conn/. */
#include <string.h>

#include "tests/sim/sim.h"

enum { CHECK_EVERY = 64, SPINS = 500, FLOOD_RENEWALS = 60 };

/* ---- start and end ---- */

/* The last daemon may have another N or max_ttl than the others, until the operator corrects it. */
void daemon_configure(struct sim_world *w, struct sim_daemon *d)
{
    const int64_t *param = w->plan->param;
    bool odd = d->index == w->daemons - 1 && !w->odd_over;
    d->masters = (unsigned)(odd && param[P_ODD_MASTERS] > 0 ? param[P_ODD_MASTERS] : param[P_MASTERS]);
    d->max_ttl_ms = odd && param[P_ODD_MAX_TTL] > 0 ? param[P_ODD_MAX_TTL] : param[P_MAX_TTL];
    d->quorum = d->masters / 2 + 1;
    d->voters = UINT16_MAX;
    d->first = odd ? (unsigned)param[P_ODD_FIRST] : 0;
    d->masters += d->first;
    d->full_us = (d->max_ttl_ms + (d->max_ttl_ms + 99) / 100 + 2) * 1000; /* max_ttl and its drift */
}

static struct token self_of(const struct sim_daemon *d)
{
    return (struct token){{(uint8_t)(d->index + 1), (uint8_t)d->incarnation, (uint8_t)(d->incarnation >> 8)}};
}

uint32_t daemon_id(const struct sim_daemon *d)
{
    struct token self = self_of(d);
    return store_id(&self);
}

struct coordinator_config daemon_config(const struct sim_world *w, const struct sim_daemon *d)
{
    const int64_t *param = w->plan->param;
    struct coordinator_config config = {
        .masters = d->masters - d->first,
        .set.hash = param[P_ODD_FIRST] > 0 ? 1 + d->first : 0,
        .default_ttl_ms = d->max_ttl_ms,
        .min_ttl_ms = param[P_MIN_TTL],
        .max_ttl_ms = d->max_ttl_ms,
        .node_timeout_ms = param[P_NODE_TIMEOUT],
        .min_validity_ms = param[P_MIN_VALIDITY],
        .retry_min_ms = param[P_RETRY_MIN],
        .retry_max_ms = param[P_RETRY_MAX],
        .drain_timeout_ms = param[P_DRAIN_TIMEOUT],
        .restart_guard = param[P_UNGUARDED] == 0,
        .fanout_quorum =
            param[P_FANOUT] == FANOUT_QUORUM || (param[P_FANOUT] == FANOUT_MIXED && d->index % 2),
        .no_kill = (uint16_t)(param[P_NO_KILL] >> d->first),
        .max_sessions = 128,
        .max_locks = (uint32_t)param[P_MAX_LOCKS],
        .max_waiters = (uint32_t)param[P_MAX_WAITERS],
        .max_watches = 128,
        .max_undo = (uint32_t)param[P_MAX_UNDO],
        .max_renewals = param[P_FLOOD] != FLOOD_NONE                           ? FLOOD_RENEWALS
                        : d->index % 2 == 1 && param[P_CLASS] != CLASS_ROLLING ? 2
                                                                               : 0,
        .join_from = (uint32_t)param[P_JOIN_FROM],
        .max_locks_per_client = 64,
        .max_waits_per_client = 64,
        .self = self_of(d),
    };
    if (generation_class(w))
        generation_config(w, d, &config);
    return config;
}

void daemon_start(struct sim_world *w, struct sim_daemon *d)
{
    daemon_configure(w, d);
    d->incarnation++;
    struct coordinator_config config = daemon_config(w, d);
    d->limits = 0;
    d->shown_step = 0;
    d->core = coordinator_new(&config);
    d->running = true;
    d->draining = false;
    d->random_used = true;
    d->timer_at_us = NEVER;
    d->paused_until_us = -1;
    d->stall.debt_us = d->stall.sum_ms = 0;
    d->stall.within_trial = false;
    d->stall.started_us = w->now_us;
    trace_add(w, TRACE_DAEMON, d->index, d->incarnation, 1, 0, 0, 0, 0);
    d->open = generation_class(w) ? coordinator_places(d->core) : 0;
    node_start(w, d);
}

/* ---- towards clients ---- */

static void tell(struct sim_world *w, uint32_t session, enum tell_kind kind, const struct action *action)
{
    uint32_t index = message_new(w, kind, session, kind == TELL_REPLY ? (uint32_t)action->request : 0);
    if (kind == TELL_REPLY)
        message_at(w, index)->reply = action->u.reply;
    if (kind == TELL_NOTICE)
        message_at(w, index)->notice = action->u.notice;
    message_send(w, session, DOWN, index);
}

void daemon_stop(struct sim_world *w, struct sim_daemon *d)
{
    trace_add(w, TRACE_DAEMON, d->index, d->incarnation, 0, 0, 0, 0, 0);
    for (unsigned i = d->first; i < d->masters; i++) {
        if (d->node[i].conn != 0)
            link_close(w, d->node[i].conn - 1);
        if (d->node[i].ear != 0)
            link_close(w, d->node[i].ear - 1);
        d->node[i].ear = 0;
        d->node[i].conn = 0;
        d->node[i].settled = false;
        d->node[i].settled_number = 0;
    }
    d->running = false;
    d->timer_at_us = NEVER;
    int64_t found_us = d->clock.stopped_us - d->stall.debt_us, behind_ms = coordinator_behind_ms(d->core);
    coordinator_free(d->core);
    d->core = NULL;
    oracle_daemon_gone(w, d);
    for (uint32_t i = 1; i < w->oracle.sessions; i++) {
        struct sim_session *s = &w->oracle.session[i];
        if (s->daemon != d->index || s->incarnation != d->incarnation || s->state == SESSION_ENDED)
            continue;
        s->state = SESSION_ENDED;
        s->found_us = found_us - (behind_ms - s->behind_ms) * 1000;
        tell(w, i, TELL_CLOSED, NULL);
    }
}

static void internal(struct sim_world *w, struct sim_daemon *d, enum line_kind kind, uint32_t session,
                     uint32_t request)
{
    queue_push(w, w->now_us, ITEM_INTERNAL, d->index, message_new(w, kind, session, request), 0);
}

static void replied(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    uint32_t session = (uint32_t)action->session;
    uint32_t request = (uint32_t)action->request;
    oracle_replied(w, d, action);
    struct sim_session *s = &w->oracle.session[session];
    if (s->unanswered == 0 && s->state == SESSION_FINISHING)
        internal(w, d, LINE_RELEASE, session, 0);
    if (s->state >= SESSION_OVER)
        return;
    if (action->u.reply.code == REPLY_LOCKED && w->oracle.asked[request].undelivered) {
        internal(w, d, LINE_UNDELIVERED, session, request);
        return;
    }
    tell(w, session, TELL_REPLY, action);
}

static void ended(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    uint32_t session = (uint32_t)action->session;
    trace_add(w, TRACE_ENDED, d->index, session, 0, 0, 0, 0, 0);
    struct sim_session *s = &w->oracle.session[session];
    if (s->state != SESSION_OVER)
        violation(w, 6, "d%u: session %u ended though it did not end", d->index, session);
    s->state = SESSION_ENDED;
    tell(w, session, TELL_CLOSED, action);
}

/* Tells !CLOCK to all sessions of the daemon. */
static void told_clock(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    trace_add(w, TRACE_BEHIND, d->index, (uint64_t)action->u.clock.stall_ms,
              (uint64_t)action->u.clock.behind_ms, 0, 0, 0, 0);
    oracle_behind(w, d, action->u.clock.stall_ms);
    d->stall.sum_ms += action->u.clock.stall_ms;
    d->stall.told_us = w->now_us;
    if (coordinator_behind_ms(d->core) != d->stall.sum_ms)
        violation(w, 2, "d%u counts %lld ms of stalls, but its clock is behind by %lld ms", d->index,
                  (long long)d->stall.sum_ms, (long long)coordinator_behind_ms(d->core));
    struct action notice = {.kind = ACTION_NOTICE};
    notice.u.notice = (struct notice){.kind = NOTICE_CLOCK, .behind_ms = action->u.clock.behind_ms};
    for (uint32_t i = 1; i < w->oracle.sessions; i++) {
        const struct sim_session *s = &w->oracle.session[i];
        if (s->daemon == d->index && s->incarnation == d->incarnation && s->state <= SESSION_OVER)
            tell(w, i, TELL_NOTICE, &notice);
    }
}

void daemon_master_row(const struct sim_daemon *d, int64_t now_ms, unsigned master, struct master_row *row)
{
    coordinator_master_row(d->core, now_ms, master - d->first, row);
}

enum master_state daemon_master_state(const struct sim_daemon *d, unsigned master)
{
    return coordinator_master_state(d->core, master - d->first);
}

bool daemon_has_in_use(const struct sim_daemon *d, unsigned master)
{
    enum master_state state = daemon_master_state(d, master);
    return state == MASTER_UP || state == MASTER_QUARANTINE || state == MASTER_SLOW;
}

/* ---- a step ---- */

static void daemon_act(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    switch (action->kind) {
    case ACTION_SEND: node_send(w, d, action); return;
    case ACTION_CLOSE_MASTER:
        trace_add(w, TRACE_CLOSE, d->index, action->master, action->why, 0, 0, 0, 0);
        node_close(w, d, action->master);
        return;
    case ACTION_REPLY: replied(w, d, action); return;
    case ACTION_NOTICE:
        oracle_noticed(w, d, action);
        if (w->oracle.session[action->session].state <= SESSION_OVER)
            tell(w, (uint32_t)action->session, TELL_NOTICE, action);
        return;
    case ACTION_CLOCK: told_clock(w, d, action); return;
    case ACTION_SESSION_ENDED: ended(w, d, action); return;
    }
}

void daemon_arm(struct sim_world *w, struct sim_daemon *d)
{
    int64_t deadline_ms = coordinator_deadline(d->core);
    if (deadline_ms == INT64_MAX)
        return;
    bool armed = d->timer_at_us > w->now_us;
    /* It comes before the deadline; to find the deadline's true time takes longer. */
    if (armed && d->timer_at_us != NEVER && clock_us(&d->clock, d->timer_at_us) / 1000 < deadline_ms)
        return;
    int64_t now_ms = clock_ms(&d->clock, w->now_us);
    int64_t at_us = w->now_us + 1, turn_us = w->plan->param[P_TURN];
    if (deadline_ms <= now_ms && turn_us != 0)
        at_us += chance_below(w->seed, d->index, d->steps, CHANCE_TURN, turn_us);
    if (deadline_ms > now_ms) {
        at_us = clock_when(&d->clock, deadline_ms * 1000);
        at_us += chance_below(w->seed, d->index, d->steps, CHANCE_LATE, 900);
    }
    if (armed && d->timer_at_us <= at_us)
        return;
    d->timer_at_us = at_us;
    queue_push(w, at_us, ITEM_TIMER, d->index, 0, 0);
}

static void daemon_quarantines(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct master_row row; /* to fill it in takes longer than all else here */
    daemon_master_row(d, clock_ms(&d->clock, w->now_us), master, &row);
    if (row.why == WHY_CLOCK && w->true_clocks && !w->early_stall)
        violation(w, 9, "d%u keeps m%u out for its clock, which is right", d->index, master);
    oracle_kept_out(w, d, master, row.why);
    d->node[master].quarantined_us = w->now_us;
}

/* Notes when the master comes into service of this daemon, and sends the master a mark: when that arrives,
 * no key that the daemon released before may be left (oracle_mark()). */
static void daemon_settle(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_node *node = &d->node[master];
    if (node->conn == 0)
        return;
    enum master_state state = daemon_master_state(d, master);
    bool serves = daemon_has_in_use(d, master);
    if (state == MASTER_QUARANTINE)
        daemon_quarantines(w, d, master);
    oracle_lacking(w, d, master, state);
    if (serves == node->settled)
        return;
    node->knew = node->knew || serves;
    node->knew_epoch = serves ? w->conn[node->conn - 1].epoch : node->knew_epoch;
    node->settled = serves; /* the master may be refused later, and come back on the same connection */
    if (!serves)
        return;
    node->settled_us = w->now_us;
    struct sim_msg mark = {.kind = MSG_MARK, .number = MARK_SETTLED, .ref = (uint64_t)w->now_us};
    link_send(w, node->conn - 1, UP, &mark);
}

void daemon_step(struct sim_world *w, struct sim_daemon *d, struct coordinator_event *event)
{
    struct actions actions;
    if (d->random_used) {
        uint64_t who = d->index * 1000 + d->incarnation;
        for (unsigned i = 0; i < 4; i++) {
            uint64_t x = chance(w->seed, who, d->randoms * 4 + i, CHANCE_RANDOM);
            memcpy(d->random + 8 * i, &x, 8);
        }
        d->randoms++;
    }
    event->now_ms = clock_ms(&d->clock, w->now_us);
    event->wall_us = WALL_ZERO_US + w->now_us + d->wall_us;
    memcpy(event->random, d->random, sizeof(d->random));
    if (event->kind >= EVENT_MASTER_CONNECTED && event->kind <= EVENT_MASTER_NEWS)
        event->master -= d->first;
    coordinator_step(d->core, event, &actions);
    for (unsigned i = 0; i < actions.count; i++) {
        actions.list[i].masters = (uint16_t)(actions.list[i].masters << d->first);
        actions.list[i].master = (uint8_t)(actions.list[i].master + d->first);
    }
    d->random_used = actions.random_used;
    generation_stepped(w, d);
    if (++d->steps % CHECK_EVERY == 0)
        coordinator_check(d->core);
    if (d->spin_us / 1000 != w->now_us / 1000) {
        d->spin_us = w->now_us;
        d->spins = 0;
    }
    /* After a pause, or from a master that hung, much may arrive at once. An answer to a command of an earlier
     * millisecond is no part of a loop within this one. */
    bool heard = event->kind >= EVENT_MASTER_WOKE && event->kind <= EVENT_MASTER_NEWS;
    heard = heard || (w->heard != NULL && w->heard->sent_us / 1000 < w->now_us / 1000);
    heard = heard || (event->kind == EVENT_REQUEST && w->plan->param[P_FLOOD] != FLOOD_NONE);
    if (!heard && ++d->spins > SPINS)
        violation(w, 11, "d%u: %d steps within a millisecond", d->index, SPINS);
    for (unsigned i = 0; i < actions.count; i++)
        daemon_act(w, d, &actions.list[i]);
    oracle_send_marks(w);
    if (event->kind == EVENT_MASTER_VOTE || event->kind == EVENT_TIMER) {
        for (unsigned i = d->first; i < d->masters; i++)
            daemon_settle(w, d, i);
    }
    daemon_arm(w, d);
}

/* A daemon that was asked to stop has nothing left to wait for: the next one starts. */
void daemon_drained(struct sim_world *w, struct sim_daemon *d)
{
    if (!d->running || !d->draining || !coordinator_drained(d->core))
        return;
    daemon_stop(w, d);
    queue_push(w, w->now_us + 50000, ITEM_DAEMON_BACK, d->index, 0, d->incarnation);
}

void daemon_timer(struct sim_world *w, struct sim_daemon *d)
{
    if (w->now_us != d->timer_at_us || !d->running)
        return;
    if (w->now_us <= d->paused_until_us) {
        d->timer_at_us = d->paused_until_us + 1;
        queue_push(w, d->timer_at_us, ITEM_TIMER, d->index, 0, 0);
        return;
    }
    d->timer_at_us = NEVER;
    if (coordinator_deadline(d->core) > clock_ms(&d->clock, w->now_us)) {
        daemon_arm(w, d);
        return;
    }
    struct coordinator_event event;
    event.kind = EVENT_TIMER;
    event.master = 0;
    daemon_step(w, d, &event);
    daemon_drained(w, d);
}

/* ---- from clients ---- */

static void session_event(struct sim_world *w, struct sim_daemon *d, uint32_t session, enum event_kind kind,
                          uint32_t request)
{
    trace_add(w, TRACE_SESSION, d->index, session, kind, request, 0, 0, 0);
    struct coordinator_event event = {.kind = kind, .session = session, .request = request};
    daemon_step(w, d, &event);
}

static void daemon_request(struct sim_world *w, struct sim_daemon *d, const struct sim_message *message)
{
    struct coordinator_event event = {.kind = EVENT_REQUEST,
                                      .session = message->session,
                                      .request = message->request,
                                      .target = message->target,
                                      .what = message->what};
    if (generation_class(w))
        generation_asked(d, &event.what);
    event.peer = rights_peer(w, d, w->oracle.session[message->session].client);
    w->oracle.session[message->session].unanswered++;
    oracle_asked(w, d, message->request);
    daemon_step(w, d, &event);
}

/* An undelivered answer gives a LOCK up; after a RESUME the holder keeps the old token. */
static void asked_undelivered(struct sim_world *w, uint32_t request)
{
    const struct sim_asked *a = &w->oracle.asked[request];
    if (a->verb == VERB_RESUME) {
        w->oracle.tok[a->tok].undelivered = true;
        w->oracle.tok[a->from].moved = false;
        w->oracle.tok[oracle_other(w, a->from)].moved = false;
    } else {
        w->oracle.tok[a->tok].given_up = true;
    }
}

static void daemon_hears(struct sim_world *w, struct sim_daemon *d, const struct sim_message *message)
{
    struct sim_session *s = &w->oracle.session[message->session];
    uint32_t session = message->session;
    if (s->state >= SESSION_OVER || (s->state == SESSION_FINISHING && message->kind == LINE_FIN))
        return;
    if (s->hello_now_ms == 0) {
        s->hello_now_ms = clock_ms(&d->clock, w->now_us);
        s->behind_ms = coordinator_behind_ms(d->core);
    }
    switch ((enum line_kind)message->kind) {
    case LINE_REQUEST: daemon_request(w, d, message); return;
    case LINE_FIN:
        s->state = SESSION_FINISHING;
        oracle_session_over(w, session, true);
        session_event(w, d, session, EVENT_SESSION_FINISH, 0);
        s = &w->oracle.session[session];
        if (s->unanswered == 0)
            internal(w, d, LINE_RELEASE, session, 0);
        return;
    case LINE_RELEASE:
        s->state = SESSION_OVER;
        oracle_session_over(w, session, true);
        session_event(w, d, session, EVENT_SESSION_RELEASE, 0);
        return;
    case LINE_UNDELIVERED:
        asked_undelivered(w, message->request);
        session_event(w, d, session, EVENT_UNDELIVERED, message->request);
        /* fall through */
    case LINE_RESET:
        s = &w->oracle.session[session];
        s->state = SESSION_OVER;
        oracle_session_over(w, session, false);
        session_event(w, d, session, EVENT_SESSION_DROP, 0);
        return;
    case LINE_BACKLOG: return;
    }
}

static void daemon_backlog(struct sim_world *w, struct sim_daemon *d, uint32_t index)
{
    const struct sim_conn *conn = &w->conn[index];
    if (!conn->open_daemon || !conn->connected)
        return;
    struct coordinator_event event = {
        .kind = EVENT_MASTER_BACKLOG, .master = conn->master, .connection = conn->number};
    daemon_step(w, d, &event);
}

void daemon_line(struct sim_world *w, uint32_t index)
{
    const struct sim_message *message = message_at(w, index);
    bool backlog = message->kind == LINE_BACKLOG;
    unsigned at = backlog ? w->conn[message->session].daemon : w->oracle.session[message->session].daemon;
    struct sim_daemon *d = &w->daemon[at];
    if (!d->running)
        return;
    if (backlog)
        daemon_backlog(w, d, message->session);
    else if (w->oracle.session[message->session].incarnation == d->incarnation)
        daemon_hears(w, d, message);
    daemon_drained(w, d);
}
