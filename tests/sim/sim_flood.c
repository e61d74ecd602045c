/* What hostile or mistaken clients send at a high rate: requests for tokens that nobody has, and letters about locks that
 * nobody ended. In worlds of floods nothing else is wrong, masters take time for each command, and daemons admit
 * requests as daemon/conn/conn_admit.c does, but without its turns. There no lock may be lost, and nobody is told that
 * a quorum is missing. */
#include <string.h>

#include "daemon/coordinator/base/token.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum {
    SERVE_US = 300, /* a master's time for a command */
    HELD_US = 500,  /* a request that was held back is looked at again */
    STRANGERS = 8,  /* tokens that a client makes up */
    UNREAD = 2000,  /* requests without an answer that fit into a connection which is not read */
    FORGED_US = 10000 /* between two letters */,
    FIRST_US = 2000000, /* by then the masters vote */
    SECOND_US = 1000000,
    RENEWALS =
        10, /* in a second: 4 of a TTL of 1 s, 3 for letters, and what is on both sides of its borders */
};

static int64_t flood_of(const struct sim_world *w)
{
    return w->plan->param[P_FLOOD];
}

static bool masters_are_slow(const struct sim_world *w)
{
    return flood_of(w) == FLOOD_ONE || flood_of(w) == FLOOD_ALL;
}

/* ---- requests ---- */

static uint32_t made_up(struct sim_world *w, unsigned client, unsigned which)
{
    struct token token = {{0}};
    uint64_t random = chance(w->seed, client, which, CHANCE_RANDOM);
    memset(token.bytes, 0xf0 | (int)(which & 7), TOKEN_RANDOM_AT);
    memcpy(token.bytes + TOKEN_RANDOM_AT, &random, sizeof(random));
    return oracle_tok(w, &token, 0);
}

/* A client cannot send more than its connection takes. */
void flood_begin(struct sim_world *w, struct sim_client *c, int64_t requests)
{
    int64_t room = UNREAD - (int64_t)w->oracle.unanswered[c->index];
    for (int64_t i = 0; i < requests && i < room && w->now_us > FIRST_US && w->daemon[c->home].running; i++) {
        struct request what;
        unsigned which = (unsigned)i % STRANGERS, name = (unsigned)i % w->names;
        uint32_t tok = made_up(w, c->index, which);
        client_words_of(w, &what, i % 3 == 0 ? VERB_UNLOCK : VERB_CHECK, name, tok);
        client_ask(w, c, c->home, &what, 0, tok);
    }
}

static bool asks_masters(enum verb verb)
{
    return verb == VERB_LOCK || verb == VERB_UNLOCK || verb == VERB_EXTEND || verb == VERB_CHECK ||
           verb == VERB_RESUME;
}

int64_t flood_held_us(struct sim_world *w, uint32_t session, const struct sim_message *message)
{
    const struct sim_session *s = &w->oracle.session[session];
    const struct sim_daemon *d = &w->daemon[s->daemon];
    bool heard = d->running && s->incarnation == d->incarnation && s->state < SESSION_OVER;
    if (!masters_are_slow(w) || !heard || message->kind != LINE_REQUEST || !asks_masters(message->what.verb))
        return 0;
    uint16_t peer = rights_peer(w, d, s->client).number;
    if (coordinator_admits(d->core, peer, message->what.verb) == ADMISSION_NOW)
        return 0;
    if (flood_of(w) == FLOOD_ONE && peer != 0)
        violation(w, 5, "d%u holds back a request of c%u, though only c0 floods", d->index, s->client);
    return w->now_us + HELD_US + chance_below(w->seed, session, (uint64_t)w->now_us, CHANCE_LATE, HELD_US);
}

/* ---- masters ---- */

int64_t flood_due_us(const struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    return masters_are_slow(w) && msg->kind == MSG_COMMAND ? m->busy_until_us : 0;
}

void flood_served(const struct sim_world *w, struct sim_master *m, const struct sim_msg *msg)
{
    if (masters_are_slow(w) && msg->kind == MSG_COMMAND)
        m->busy_until_us = w->now_us + SERVE_US;
}

/* ---- letters ---- */

void forge_letter(struct sim_world *w, uint32_t index)
{
    const int64_t *fault = w->plan->fault[index].field;
    const struct sim_master *m = &w->master[(unsigned)fault[F_TARGET] % w->masters];
    struct ear_master at = {w, m};
    unsigned key = (unsigned)fault[F_ARG] % w->keys;
    for (unsigned i = 0; i < w->daemons && m->running; i++)
        ear_publish(&at, daemon_id(&w->daemon[i]), 'g', key_base(key), key_slot(key));
    if (w->now_us + FORGED_US < fault[F_AT] + fault[F_FOR])
        queue_push(w, w->now_us + FORGED_US, ITEM_FORGE, 0, index, 0);
}

/* ---- the oracle ---- */

void oracle_flood_replied(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                          const struct reply *reply)
{
    bool late = w->oracle.asked[request].at_us > FIRST_US; /* else it may pause since its first attempt */
    if (flood_of(w) != FLOOD_NONE && late && reply->code == REPLY_NOQUORUM)
        violation(w, 5, "d%u tells request %u that a quorum is missing, though clients only flood", d->index,
                  request);
}

void oracle_flood_lost(struct sim_world *w, const struct sim_daemon *d, uint32_t tok,
                       const struct notice *notice)
{
    enum lost_reason reason = notice->reason;
    if (flood_of(w) != FLOOD_NONE && (reason == LOST_EXPIRED || reason == LOST_GONE))
        violation(w, 13, "d%u lost T%u (reason %d), though clients only flood", d->index, tok, reason);
}

/* Whoever may PUBLISH costs the masters no more than a few renewals. */
void oracle_flood_sent(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                       uint32_t tok)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    bool renews = command_for_one(action->u.command.verb) == COMMAND_EXTEND && oracle_is_ours(t, d);
    if (flood_of(w) != FLOOD_LETTERS || !renews)
        return;
    if (w->now_us >= t->asked_us + SECOND_US) {
        t->asked_us = w->now_us;
        t->asks = 0;
    }
    if (++t->asks > RENEWALS)
        violation(w, 11, "d%u asks about T%u of n%u more than %d times in a second", d->index, tok, t->name,
                  RENEWALS);
}
