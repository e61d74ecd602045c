/* A client that takes its lock to another connection: at the same daemon or another one, with the
 * old connection open, closed or broken, and again where no answer came.
 *
 *     HOLDING -> RESUMING --+LOCKED-------------------------> HOLDING, by the new token
 *                 |  ^  \--NOTHELD, all answered-------------> lost
 *                 v  |
 *               tries again, until it goes on by the old token
 *
 * The client believes by the old token until it has the new one, since both are its own; but not once it has
 * closed a connection whose FIN gives one of them back. */
#include "tests/sim/sim.h"

enum { RESUME_TRIES = 4, RESUME_SECOND_MS = 3, RESUME_PATIENCE = 3 /* x max_ttl */ };

/* For so long other daemons may not know a token that was just told. */
enum { UNSETTLED_US = 100000 };

static enum resume_how how(const struct sim_world *w, const struct sim_client *c)
{
    return c->tries > 1 ? RESUME_THEN_FIN : (enum resume_how)client_op(w, c)->field[O_RESUME_HOW];
}

/* The RESUME goes by a connection of its own. */
static uint32_t resume_ask(struct sim_world *w, struct sim_client *c, unsigned daemon)
{
    struct request what;
    uint32_t bound = w->oracle.tok[c->tok].session;
    if (c->session[daemon] == bound && bound != 0) {
        c->old = bound;
        c->session[daemon] = 0;
    }
    client_words(w, c, &what, VERB_RESUME, c->tok);
    if (client_op(w, c)->field[O_EXTEND_TTL] > 0)
        what.ttl_ms = client_op(w, c)->field[O_EXTEND_TTL];
    if (what.ttl_ms > w->daemon[daemon].max_ttl_ms)
        what.ttl_ms = -1;
    what.wait_ms = client_op(w, c)->field[O_REPEAT];
    uint32_t request = client_ask(w, c, daemon, &what, 0, c->tok);
    if (request != 0 && how(w, c) == RESUME_UNDELIVERED)
        w->oracle.asked[request].undelivered = true;
    return request;
}

/* Closes the connection that the lock was bound to. */
static void leave_old(struct sim_world *w, struct sim_client *c, enum line_kind line)
{
    uint32_t session = w->oracle.tok[c->tok].session;
    for (unsigned i = 0; i < w->daemons; i++) {
        if (c->session[i] == session)
            c->session[i] = 0;
    }
    if (session != 0 && w->oracle.session[session].client == c->index)
        session_close(w, c, session, line);
}

static void resume_try(struct sim_world *w, struct sim_client *c)
{
    unsigned daemon = (client_via(w, c) + c->tries) % w->daemons;
    c->tries++;
    if (how(w, c) == RESUME_AFTER_RESET)
        leave_old(w, c, LINE_RESET);
    c->request = resume_ask(w, c, daemon);
    c->second = 0;
    if (how(w, c) == RESUME_TWICE && w->daemons > 1)
        c->second = resume_ask(w, c, (daemon + 1) % w->daemons);
    if (how(w, c) == RESUME_AND_FIN)
        leave_old(w, c, LINE_FIN);
    int64_t patience_ms = RESUME_PATIENCE * w->plan->param[P_MAX_TTL];
    bool leaves = how(w, c) == RESUME_AND_LEAVE && c->request != 0;
    c->cancels = c->tries == 1 && c->request != 0 && client_op(w, c)->field[O_REPEAT_END] != 0;
    if (c->cancels && !leaves)
        patience_ms = client_op(w, c)->field[O_REPEAT_END];
    client_after(w, c, leaves ? RESUME_SECOND_MS : c->request + c->second == 0 ? 100 : patience_ms);
}

void resume_begin(struct sim_world *w, struct sim_client *c)
{
    c->state = CLIENT_RESUMING;
    c->tries = 0;
    c->tried_us = w->now_us;
    c->resumes++;
    resume_try(w, c);
}

static void forget_requests(struct sim_world *w, struct sim_client *c, enum line_kind line)
{
    const uint32_t asked[] = {c->request, c->second};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t session = asked[i] == 0 ? 0 : w->oracle.asked[asked[i]].session;
        for (unsigned d = 0; d < w->daemons; d++) {
            if (session != 0 && c->session[d] == session)
                c->session[d] = 0;
        }
        session_close(w, c, session, line);
    }
    c->request = c->second = 0;
}

/* The RESUME is answered all the same. */
static void resume_cancels(struct sim_world *w, struct sim_client *c)
{
    struct request what;
    const struct sim_asked *asked = &w->oracle.asked[c->request];
    c->cancels = false;
    client_words(w, c, &what, VERB_CANCEL, 0);
    what.name.len = 0;
    if (c->session[asked->daemon] == asked->session) {
        w->oracle.asked[c->request].cancelled = true;
        client_ask(w, c, asked->daemon, &what, c->request, 0);
    }
    client_after(w, c, RESUME_PATIENCE * w->plan->param[P_MAX_TTL]);
}

/* No answer came yet, or the client is to try again. */
void resume_timer(struct sim_world *w, struct sim_client *c)
{
    if (how(w, c) == RESUME_AND_LEAVE && c->request != 0) {
        forget_requests(w, c, LINE_RESET);
        client_after(w, c, 1 + w->plan->param[P_NODE_TIMEOUT]);
        return;
    }
    if (c->request != 0 && c->cancels) {
        resume_cancels(w, c);
        return;
    }
    if (c->request + c->second != 0) { /* no answer came in a time in which the daemons end every try */
        oracle_gives_up(w, c->index, c->tok);
        forget_requests(w, c, LINE_FIN);
        client_lost(w, c);
    } else if (c->tries < RESUME_TRIES) {
        resume_try(w, c);
    } else {
        client_holds_on(w, c);
    }
}

static void resumed(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    uint32_t old = w->oracle.tok[c->tok].session;
    c->tok = w->oracle.asked[message->request].tok;
    c->at = w->oracle.session[message->session].daemon;
    client_told(w, c, message->session, c->tok, message->reply.until_ms);
    for (unsigned i = 0; i < w->daemons; i++) {
        if (c->session[i] == old && old != message->session)
            c->session[i] = 0;
    }
    if (old != message->session && w->oracle.session[old].client == c->index)
        session_close(w, c, old, LINE_FIN);
    client_holds_on(w, c);
}

static void refused(struct sim_world *w, struct sim_client *c, bool gone)
{
    if (c->request + c->second != 0)
        return; /* the other RESUME may still be answered */
    if (gone && w->now_us - c->tried_us < UNSETTLED_US && c->tries < RESUME_TRIES) {
        client_after(w, c, 40);
        return;
    }
    if (gone) {
        oracle_hears_lost(w, c->index, c->tok);
        client_lost(w, c);
        return;
    }
    client_after(w, c, 20 + chance_below(w->seed, c->index, (uint64_t)w->now_us, CHANCE_CLIENT, 200));
}

void resume_reply(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    enum reply_code code = message->reply.code;
    bool mine = message->request == c->request || message->request == c->second;
    if (c->state != CLIENT_RESUMING || !mine) {
        /* The answer of a second RESUME came late: its grant belongs to the same client, which has gone
         * on, and which may have asked for something else on the same connection. */
        if (code == REPLY_LOCKED) {
            session_close(w, c, message->session, LINE_FIN);
            client_closed(w, c, message->session);
        }
        return;
    }
    if (message->request == c->request)
        c->request = 0;
    else
        c->second = 0;
    if (code == REPLY_LOCKED)
        resumed(w, c, message);
    else
        refused(w, c, code == REPLY_NOTHELD);
}

/* The client's daemon is gone, or broke the connection: the RESUME's outcome is unknown. */
void resume_closed(struct sim_world *w, struct sim_client *c, uint32_t session)
{
    if (c->state != CLIENT_RESUMING)
        return;
    if (c->request != 0 && w->oracle.asked[c->request].session == session)
        c->request = 0;
    else if (c->second != 0 && w->oracle.asked[c->second].session == session)
        c->second = 0;
    else
        return;
    refused(w, c, false);
}
