/* A client that asks for its exclusive lock to become a shared one, once or again.
 *
 * The client is a reader from the moment on at which it asks, and goes on by its old token until it is told a new
 * one. */
#include "tests/sim/sim.h"

enum { DOWN_AT_ONCE = 2 /* O_DOWN up to that: before all other acts */ };

int64_t down_acts(const int64_t *op)
{
    return op[O_DOWN] > DOWN_AT_ONCE ? op[O_DOWN] - DOWN_AT_ONCE : op[O_DOWN];
}

/* How many acts come before. */
static int64_t down_first(const int64_t *op)
{
    return op[O_DOWN] > DOWN_AT_ONCE ? op[O_EXTENDS] + op[O_CHECKS] : 0;
}

bool down_is_now(const int64_t *op, int64_t act)
{
    return act >= down_first(op) && act < down_first(op) + down_acts(op);
}

int64_t down_without(const int64_t *op, int64_t act)
{
    return act < down_first(op) ? act : act - down_acts(op);
}

bool down_is_asked(const struct sim_world *w, uint32_t tok, const struct request *what)
{
    return what->shared && w->oracle.tok[tok].down_asked;
}

bool down_is_open(const struct sim_world *w, uint32_t tok)
{
    return w->oracle.tok[tok].down_asked;
}

void down_ask(struct sim_world *w, struct sim_client *c)
{
    struct request what;
    const struct sim_tok *t = &w->oracle.tok[c->tok];
    if (c->session[c->at] == 0 || t->session != c->session[c->at])
        return;
    if (!t->shared)
        oracle_down_asked(w, c->tok);
    client_words(w, c, &what, VERB_LOCK, c->tok);
    what.shared = true;
    what.wait_ms = client_op(w, c)->field[O_REPEAT];
    client_ask(w, c, c->at, &what, 0, c->tok);
}

void down_locked(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    uint32_t old = w->oracle.asked[message->request].tok;
    uint32_t tok = oracle_tok(w, &message->reply.token, w->oracle.tok[old].name);
    if (c->tok != old && c->tok != tok)
        return;
    c->tok = tok;
    client_told(w, c, message->session, tok, message->reply.until_ms);
}
