/* Callbacks of clients, masters and watchers -> events -> steps -> actions -> I/O. */
#include <string.h>

#include "daemon/clock.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/log.h"
#include "daemon/loop/loop_private.h"
#include "proto/names.h"

/* ---- actions become I/O ---- */

static void carry_close(struct loop *loop, const struct action *action)
{
    static const char *const words[] = {
        [CLOSE_SILENT] = "silent",
        [CLOSE_BACKLOG] = "backlog",
        [CLOSE_HANDSHAKE] = "handshake",
    };
    node_close(loop->nodes[action->master], words[action->why]);
    loop_daemons_lost(&loop->daemons, action->master);
}

/* The right may have been taken away since the request began. */
static void carry_watching(struct loop *loop, uint64_t session, struct reply *reply)
{
    loop_user_host(&loop->view, &reply->now);
    if (loop_user_sees(&loop->view, session, 0, NULL, &reply->name))
        return;
    reply->code = REPLY_DENIED;
    reply->text = TEXT_NOT_SHOWN;
}

static void carry_reply(struct loop *loop, struct action *action)
{
    struct reply *reply = &action->u.reply;
    reply->valid_ms = loop_clock_left_ms(&loop->clock, &loop->event, reply->valid_ms);
    if (reply->code == REPLY_LOCKED) {
        reply->shared = token_is_shared(&reply->token);
        /* A request was under way when its right was taken away. */
        loop->deny |= !loop_user_may_lock(&loop->view, action->session, &reply->name);
    }
    if (reply->code == REPLY_NOQUORUM)
        loop_noquorum(&loop->view, reply);
    if (reply->code == REPLY_WATCHING)
        carry_watching(loop, action->session, reply);
    if (reply->code == REPLY_LIMIT && reply->limit == LIMIT_FENCE)
        loop_log_fence(&loop->log);
    conns_now(loop->conns, loop->clock.boot_us);
    conns_reply(loop->conns, action->session, action->request, reply);
}

/* A right that was taken away since is missed here. */
static void carry_now(struct loop *loop, struct action *action)
{
    struct notice *notice = &action->u.notice;
    loop_user_host(&loop->view, &notice->now);
    if (loop_user_sees(&loop->view, action->session, 0, NULL, &notice->name))
        conns_notice(loop->conns, action->session, notice);
}

static void carry_out(struct loop *loop, struct action *action)
{
    switch (action->kind) {
    case ACTION_SEND: loop_send(&loop->send, action->masters, &action->u.command); break;
    case ACTION_CLOSE_MASTER: carry_close(loop, action); break;
    case ACTION_REPLY: carry_reply(loop, action); break;
    case ACTION_NOTICE:
        if (action->u.notice.kind == NOTICE_NOW) {
            carry_now(loop, action);
            break;
        }
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

void loop_step(struct loop *loop, enum event_kind kind)
{
    struct coordinator_event *event = &loop->event;
    struct actions *actions = &loop->actions;
    if (actions->random_used)
        clock_random(event->random);
    event->kind = kind;
    loop_clock_stamp(&loop->clock, event);
    loop->now_ms = event->now_ms;
    coordinator_step(loop->coordinator, event, actions);
    if (actions->count == 0)
        return;
    loop->active = true;
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
    request_copy(&loop->event.what, what);
    loop_step(loop, EVENT_REQUEST);
}

static enum admission on_admits(void *arg, uint64_t session, enum verb verb)
{
    struct loop *loop = arg;
    return coordinator_admits(loop->coordinator, loop_user_peer(&loop->view, session).number, verb);
}

static void on_finish(void *arg, uint64_t session)
{
    struct loop *loop = arg;
    loop->event.session = session;
    loop_step(loop, EVENT_SESSION_FINISH);
}

static void on_closed(void *arg, uint64_t session, enum conn_end end)
{
    static const enum event_kind kinds[] = {
        [CONN_RELEASED] = EVENT_SESSION_RELEASE,
        [CONN_DROPPED] = EVENT_SESSION_DROP,
        [CONN_DENIED] = EVENT_SESSION_DENY,
    };
    struct loop *loop = arg;
    loop->event.session = session;
    loop_step(loop, kinds[end]);
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

static void on_look_up(void *arg, uint64_t session, uint64_t request, const struct request *what)
{
    struct loop *loop = arg;
    loop_who_ask(&loop->who, session, request, what);
    loop->active = true;
}

/* Why this daemon can grant no lock now, as one word; NULL: it can. */
static const char *unready(const struct loop *loop)
{
    if (loop->draining || loop->stopping)
        return "draining";
    if (!loop->listening)
        return "starting";
    return coordinator_voters(loop->coordinator) < loop_quorum(&loop->view).needed ? "noquorum" : NULL;
}

static bool on_ready(void *arg)
{
    return unready(arg) == NULL;
}

static void master_step(struct loop *loop, enum event_kind kind, unsigned index, uint32_t connection)
{
    loop->event.master = index;
    loop->event.connection = connection;
    loop_step(loop, kind);
}

static void on_connected(void *arg, unsigned index, uint32_t connection)
{
    struct loop *loop = arg;
    loop_send_forget(&loop->send, index);
    loop_set_connected(&loop->set, index);
    master_step(loop, EVENT_MASTER_CONNECTED, index, connection);
    loop_daemons_connected(&loop->daemons, index); /* behind the first questions of the handshake */
}

static void on_answered(void *arg, unsigned index, uint64_t ref, const struct resp_reply *reply)
{
    struct loop *loop = arg;
    if (loop_set_answered(&loop->set, index, ref, reply))
        return;
    if (ref != 0)
        loop_who_answered(&loop->who, index, ref, reply);
    else
        loop_daemons_answered(&loop->daemons, index, reply);
    loop->active = true;
}

/* Clients come when all masters have answered or failed, and so this answer came before: it follows the
 * handshake's first question. Later another id would make this daemon's tokens those of two daemons. */
static void on_taken(void *arg, unsigned master)
{
    struct loop *loop = arg;
    struct token self;
    uint8_t random[32];
    bool late = loop->listening || loop->draining;
    log_warn("daemon_id", "id=%s node=%s why=\"another daemon has it\" doing=\"%s\"", loop->daemons.self.id,
             loop->places.node[master].address.shown,
             late ? "nothing: restart this daemon, whose clients may wait longer" : "draw another one");
    if (late)
        return;
    clock_random(random);
    memcpy(&self, random, sizeof self);
    coordinator_rename(loop->coordinator, &self);
    loop_subscribe_rename(&loop->subscribe, loop->conf, &self);
    loop_daemons_id(&loop->daemons, &self);
    loop_daemons_write(&loop->daemons);
}

static void on_known(void *arg)
{
    struct loop *loop = arg;
    group_daemons(&loop->view, loop->coordinator);
    conns_rows_known(loop->conns);
    loop->active = true;
}

/* A vote that has more than a number. Only the bytes that belong to its kind are copied. */
__attribute__((noinline)) static void voted_more(struct loop *loop, unsigned index, uint32_t connection,
                                                 const struct vote *vote)
{
    struct vote *to = &loop->event.vote;
    switch (vote->kind) {
    case VOTE_INFO: to->info = vote->info; break;
    case VOTE_GROUP: to->group = vote->group; break;
    case VOTE_TOKEN: to->token = vote->token; break;
    case VOTE_LOOKED: to->seen = vote->seen; break;
    case VOTE_DATA: data_copy(&to->data, &vote->data); break;
    case VOTE_SEEN: to->who = vote->who; break;
    default: break;
    }
    master_step(loop, EVENT_MASTER_VOTE, index, connection);
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
    if (verb == COMMAND_TIME)
        loop->event.rtt_us = node_rtt_us(loop->nodes[index]);
    if (vote->kind <= VOTE_NUMBER)
        master_step(loop, EVENT_MASTER_VOTE, index, connection);
    else
        voted_more(loop, index, connection, vote);
}

static void on_lost(void *arg, unsigned index, uint32_t connection)
{
    struct loop *loop = arg;
    loop_daemons_lost(&loop->daemons, index);
    master_step(loop, EVENT_MASTER_LOST, index, connection);
}

static void on_backlog(void *arg, unsigned index, uint32_t connection)
{
    master_step(arg, EVENT_MASTER_BACKLOG, index, connection);
}

static void on_failed(void *arg, unsigned index)
{
    master_step(arg, EVENT_MASTER_LOST, index, 0);
}

void loop_on_http_accepted(void *arg, int fd, const struct conf_listener *listener,
                           const struct sockaddr *peer, socklen_t peer_len)
{
    struct loop *loop = arg;
    struct wire_context *tls = loop->look.tls.http[listener - loop->conf->http];
    (void)peer_len;
    http_accept(loop->http, fd, listener, tls, tls ? conns_group(loop->conns, peer) : 0);
}

static void on_snapshot(void *arg, struct snapshot *snapshot)
{
    struct loop *loop = arg;
    loop_status_snapshot(&loop->view, &loop->status, snapshot);
    snapshot->unready = unready(loop);
    snapshot->draining = loop->draining;
}

static void on_sample(void *arg, struct snapshot_sample *sample)
{
    struct loop *loop = arg;
    loop_status_sample(&loop->view, &loop->status, sample);
}

static const char *on_unready(void *arg)
{
    return unready(arg);
}

static void on_told(void *arg, enum event_kind kind, unsigned master, const struct name *name,
                    const struct token *daemon)
{
    struct loop *loop = arg;
    if (name != NULL)
        loop->event.what.name = *name;
    if (daemon != NULL)
        loop->event.what.token = *daemon;
    master_step(loop, kind, master, 0);
}

void loop_on_accepted(void *arg, int fd, const struct conf_listener *listener, const struct sockaddr *peer,
                      socklen_t peer_len)
{
    struct loop *loop = arg;
    conns_accept(loop->conns, fd, listener, peer, peer_len,
                 loop->look.tls.listen[listener - loop->conf->listen]);
    loop->active = true;
}

void loop_handlers(struct loop *loop)
{
    loop->node_handler = (struct node_handler){
        .connected = on_connected,
        .voted = on_voted,
        .lost = on_lost,
        .backlog = on_backlog,
        .failed = on_failed,
        .answered = on_answered,
        .arg = loop,
    };
    loop->daemons.taken = on_taken;
    loop->daemons.known = on_known;
    loop->daemons.arg = loop;
    loop->subscribe.tell = on_told;
    loop->subscribe.arg = loop;
    loop->conn_handler = (struct conn_handler){
        on_request,        on_finish, on_closed, on_undelivered, on_row,
        on_session_counts, on_admits, on_ready,  on_look_up,     loop,
    };
    loop->http_handler = (struct http_handler){on_snapshot, on_sample, on_unready, loop};
}
