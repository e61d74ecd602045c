/* Turns a line into its answer, or into a request for the handler. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_serves.h"
#include "daemon/conn/conn_private.h"

bool request_overtakes(enum line_result result, const struct request *what, const struct refusal *refusal)
{
    if (result == LINE_REFUSED)
        return refusal->tag.len > 0;
    return what->tag.len > 0 || what->verb == VERB_CANCEL || what->verb == VERB_QUIT;
}

void request_refuse(struct conn *c, const struct refusal *refusal)
{
    c->all->stats.lines_refused++;
    c->all->counts.refused[refusal->code]++;
    output_done(c, line_format_refusal(output_line(c), refusal));
}

static void request_refuse_duplicate(struct conn *c, const struct tag *tag)
{
    struct refusal refusal = {.code = REPLY_BADTAG, .text = "a request with this tag is not answered yet"};

    snprintf(refusal.words, sizeof refusal.words, "tag=%.*s", tag->len, tag->text);
    request_refuse(c, &refusal);
}

static void request_greet(struct conn *c, const struct request *what)
{
    if (what->client.len) {
        if (!c->client && !(c->client = malloc(sizeof *c->client))) {
            c->doom = "no memory";
            conn_ready(c);
            return;
        }
        *c->client = what->client;
    }
    if (what->events_renewed)
        c->renewed = true;
    c->all->counts.answers[VERB_HELLO][REPLY_HELLO]++;
    output_done(c, line_format_hello(output_line(c), &what->tag, c->all->version, c->session, clock_boot_ms(),
                                     c->all->behind_ms));
}

static void request_quit(struct conn *c, const struct request *what)
{
    c->quits = true;
    c->quit_tag = what->tag;
    conn_finish(c);
    conn_ready(c);
}

/* The id of the LOCK or RESUME that a CANCEL names; 0: there is none, or the tag is that of another command. */
static uint64_t cancel_target(const struct conn *c, const struct request *what)
{
    const struct pending *pending = what->target.len ? pending_tagged(c, &what->target) : c->untagged;

    return pending && (pending->verb == VERB_LOCK || pending->verb == VERB_RESUME) ? pending->id : 0;
}

/* NULL: it was refused, or there is no memory. */
static struct pending *request_begin(struct conn *c, const struct request *what)
{
    if (c->pending_count >= (uint64_t)c->all->conf->max_waits_per_client + TAGGED_SPARE) {
        output_code(c, what->verb, &what->tag, REPLY_LIMIT, LIMIT_MAX_WAITS_PER_CLIENT);
        return NULL;
    }
    struct pending *pending = pending_begin(c, what);
    if (!pending) {
        c->doom = "no memory";
        conn_ready(c);
    }
    return pending;
}

static void request_look_up(struct conn *c, const struct request *what)
{
    const struct conn_handler *handler = c->all->handler;
    const struct pending *pending = request_begin(c, what);

    if (pending)
        handler->look_up(handler->arg, c->session, pending->id, what);
}

static void request_hand_over(struct conn *c, const struct request *what)
{
    const struct conn_handler *handler = c->all->handler;
    uint64_t target = what->verb == VERB_CANCEL ? cancel_target(c, what) : 0;
    uint64_t session = c->session;
    const struct pending *pending = request_begin(c, what);

    if (!pending)
        return;
    c->known = true;
    handler->request(handler->arg, session, pending->id, target, what);
    if (c->state == CONN_FINISHING && !c->told) { /* the first request came out of the queue after the FIN */
        c->told = true;
        handler->finish(handler->arg, session);
    }
}

/* Another redlockd has the masters of the other names. What was taken here before a restart ends there, too. */
static bool request_is_served(struct conn *c, const struct request *what)
{
    if (what->name.len == 0 || conf_serves_name(c->all->conf, &what->name))
        return true;
    output_refusal(c, what, REPLY_DENIED,
                   "this redlockd does not serve that name (serves: in its configuration): ask the redlockd "
                   "of its masters");
    return false;
}

void request_start(struct conn *c, struct request *what)
{
    if (what->tag.len && pending_tagged(c, &what->tag)) {
        request_refuse_duplicate(c, &what->tag);
        return;
    }
    if (!user_allows(c, what) || !request_is_served(c, what))
        return;
    if (what->kept) { /* nobody holds the name: the masters know whether it is kept */
        request_look_up(c, what);
        return;
    }
    switch (what->verb) {
    case VERB_HELLO: request_greet(c, what); return;
    case VERB_PING: output_code(c, what->verb, &what->tag, REPLY_PONG, LIMIT_NONE); return;
    case VERB_QUIT: request_quit(c, what); return;
    case VERB_HELP:
    case VERB_SHOW: show_start(c, what); return;
    case VERB_AUTH: user_auth(c, what); return;
    case VERB_WHO:
    case VERB_BREAK: request_look_up(c, what); return;
    case VERB_LOCK:
    case VERB_UNLOCK:
    case VERB_EXTEND:
    case VERB_CHECK:
    case VERB_RESUME:
    case VERB_DATA:
    case VERB_WATCH:
    case VERB_UNWATCH:
    case VERB_CANCEL: request_hand_over(c, what); return;
    }
}
