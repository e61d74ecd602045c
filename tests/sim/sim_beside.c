/* A second lock of a client, on the connection of its first one: asked for together with that, or while that is held,
 * which is then kept until the second request is answered. Its UNLOCK and the next LOCK go together, and nobody waits
 * for the answers.
 *
 *     IDLE -> ASKING -> HOLDING -> ASKING ... IDLE */
#include "tests/sim/sim.h"

static bool is_over(const struct sim_world *w, const struct sim_client *c)
{
    return c->beside.session == 0 || c->session[c->home] != c->beside.session ||
           w->oracle.session[c->beside.session].client_gone;
}

static void beside_after(struct sim_world *w, struct sim_client *c, int64_t ms)
{
    c->beside.timer++;
    queue_push(w, w->now_us + ms * 1000, ITEM_BESIDE, c->index, 0, c->beside.timer);
}

static void beside_ask(struct sim_world *w, struct sim_client *c)
{
    struct beside *b = &c->beside;
    struct request what;
    b->state = BESIDE_IDLE;
    if (b->left == 0 || w->healing || !w->daemon[c->home].running)
        return;
    b->left--;
    client_words_of(w, &what, VERB_LOCK, b->name, 0);
    what.ttl_ms = w->daemon[c->home].max_ttl_ms;
    what.wait_ms = b->wait_ms;
    what.slots = (uint16_t)name_slots(w, b->name);
    what.shared = b->shared && what.slots == 0 && !(b->name & SIM_LIST);
    b->request = client_ask(w, c, c->home, &what, 0, 0);
    b->session = c->session[c->home];
    b->state = b->request != 0 ? BESIDE_ASKING : BESIDE_IDLE;
}

void beside_begin(struct sim_world *w, struct sim_client *c, enum beside_when when)
{
    const int64_t *op = client_op(w, c)->field;
    struct beside *b = &c->beside;
    if (op[O_BESIDE] == 0 || op[O_BESIDE_WHEN] != when || (b->state != BESIDE_IDLE && !is_over(w, c)))
        return;
    b->left = (unsigned)op[O_BESIDE];
    b->name = (unsigned)op[O_BESIDE_NAME];
    b->wait_ms = op[O_BESIDE_WAIT];
    b->keep_ms = op[O_BESIDE_KEEP];
    b->shared = op[O_SHARED] != 0;
    beside_ask(w, c);
}

bool beside_is_needed(const struct sim_world *w, const struct sim_client *c)
{
    return c->beside.state == BESIDE_ASKING && client_op(w, c)->field[O_BESIDE_WHEN] == BESIDE_WHILE_HELD &&
           !is_over(w, c) && !w->healing;
}

void beside_timer(struct sim_world *w, struct sim_client *c)
{
    struct beside *b = &c->beside;
    struct request what;
    if (w->now_us <= c->paused_until_us) {
        queue_push(w, c->paused_until_us + 1, ITEM_BESIDE, c->index, 0, b->timer);
        return;
    }
    if (b->state != BESIDE_HOLDING)
        return;
    b->state = BESIDE_IDLE;
    if (is_over(w, c))
        return;
    client_words_of(w, &what, VERB_UNLOCK, b->name, b->tok);
    oracle_gives_up(w, c->index, b->tok);
    client_ask(w, c, c->home, &what, 0, b->tok);
    beside_ask(w, c);
}

bool beside_reply(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    struct beside *b = &c->beside;
    if (b->state != BESIDE_ASKING || message->request != b->request)
        return false;
    b->state = BESIDE_IDLE;
    if (message->reply.code != REPLY_LOCKED)
        return true;
    b->tok = w->oracle.asked[b->request].tok;
    b->state = BESIDE_HOLDING;
    client_told(w, c, message->session, b->tok, message->reply.until_ms);
    beside_after(w, c, b->keep_ms);
    return true;
}

void beside_lost(struct sim_client *c, uint32_t tok)
{
    if (c->beside.state == BESIDE_HOLDING && c->beside.tok == tok)
        c->beside.state = BESIDE_IDLE;
}
