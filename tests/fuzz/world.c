/* Properties of the coordinator's actions that hold whatever the events were. */
#include "tests/fuzz/world.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/token.h"

static struct asked *asked_find(struct world *w, uint64_t request)
{
    for (unsigned i = 0; i < ASKED; i++)
        if (w->asked[i].session != 0 && w->asked[i].request == request)
            return &w->asked[i];
    return NULL;
}

unsigned world_asked(const struct world *w, uint64_t session)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ASKED; i++)
        count += w->asked[i].session != 0 && !w->asked[i].optional &&
                 (session == 0 || w->asked[i].session == session);
    return count;
}

static bool same_token(const struct token *a, const struct token *b)
{
    return memcmp(a->bytes, b->bytes, TOKEN_BYTES) == 0;
}

/* Through this daemon a name is held without slots, or always with so many; another daemon may know no better. */
static bool are_apart(const struct belief *a, const struct belief *b)
{
    bool here = a->session != 0 && b->session != 0;
    bool alike = (a->slot != 0) == (b->slot != 0) && (a->slots == b->slots || a->slots == 0 || b->slots == 0);
    return (a->names & b->names) == 0 || (a->slot != b->slot && (alike || !here));
}

/* Notes a new belief, which excludes those of others. */
static void hold_new(struct world *w, const struct belief *belief)
{
    bool proves = !w->lied && (!w->forgot || w->config.restart_guard);
    for (unsigned i = 0; proves && i < HOLDS; i++) {
        const struct belief *other = &w->holds[i];
        bool share = token_is_shared(&belief->token) && (token_is_shared(&other->token) || other->reader);
        assert(!other->held || are_apart(other, belief) || other->until_ms <= w->now_ms || share);
    }
    w->holds[w->next_hold++ % HOLDS] = *belief;
}

static void check_fence(struct world *w, const struct reply *reply, uint16_t names)
{
    bool shared = token_is_shared(&reply->token); /* readers that share may have one fence */
    for (unsigned name = 0; name < NAMES; name++) {
        if ((names & 1u << name) == 0)
            continue;
        uint64_t *alone = reply->slot != 0 ? &w->slot_fences[name][reply->slot - 1] : &w->alone[name];
        uint64_t *all = reply->slot != 0 ? alone : &w->fences[name];
        assert(w->lied || w->forgot || reply->fence > (shared ? *alone : *all));
        if (reply->fence > *all)
            *all = reply->fence;
        if (!shared)
            *alone = reply->fence;
    }
}

static void hold_granted(struct world *w, const struct action *action, const struct asked *asked)
{
    const struct reply *reply = &action->u.reply;
    uint16_t names = master_names(&reply->name);
    assert(names != 0 && reply->until_ms - w->now_ms >= 0 && reply->fence <= FENCE_MAX);
    assert(reply->slot == 0 || names < 1u << SINGLE_NAMES);
    check_fence(w, reply, names);
    struct belief belief = {
        .held = true,
        .names = names,
        .slot = reply->slot,
        .slots = asked->slots,
        .depth = 1,
        .session = action->session,
        .request = action->request,
        .until_ms = reply->until_ms,
        .token = reply->token,
        .fence = reply->fence,
    };
    hold_new(w, &belief);
    w->tokens[w->next_token++ % TOKENS] = reply->token;
}

void world_taken(struct world *w, unsigned name, unsigned slot, int64_t until_ms)
{
    struct belief belief = {
        .held = true,
        .names = (uint16_t)(1u << name),
        .slot = (uint16_t)slot,
        .depth = 1,
        .until_ms = until_ms,
    };
    hold_new(w, &belief);
}

static void hold_entered(struct world *w, const struct reply *reply)
{
    for (unsigned i = 0; i < HOLDS; i++)
        if (w->holds[i].held && same_token(&w->holds[i].token, &reply->token))
            w->holds[i].depth = reply->depth;
}

static void hold_longer(struct world *w, uint16_t names, const struct token *token, int64_t until_ms)
{
    for (unsigned i = 0; i < HOLDS; i++) {
        struct belief *hold = &w->holds[i];
        if (hold->held && hold->names == names && hold->until_ms > w->now_ms && until_ms > hold->until_ms &&
            same_token(&hold->token, token))
            hold->until_ms = until_ms;
    }
}

void world_downgrade(struct world *w, const struct token *token, bool reader)
{
    for (unsigned i = 0; i < HOLDS; i++)
        if (w->holds[i].held && same_token(&w->holds[i].token, token))
            w->holds[i].reader = reader;
}

/* The lock and its fence are those from before; the token is new. */
static void hold_downgraded(struct world *w, const struct token *before, const struct reply *reply)
{
    for (unsigned i = 0; i < HOLDS; i++) {
        struct belief *hold = &w->holds[i];
        if (!hold->held || !same_token(&hold->token, before))
            continue;
        assert(hold->fence == reply->fence && token_is_shared(&reply->token));
        hold->token = reply->token;
        if (reply->until_ms > hold->until_ms)
            hold->until_ms = reply->until_ms;
    }
    w->tokens[w->next_token++ % TOKENS] = reply->token;
}

void world_forget(struct world *w, uint16_t names, const struct token *token, uint64_t session,
                  uint64_t request)
{
    for (unsigned i = 0; i < HOLDS; i++) {
        struct belief *hold = &w->holds[i];
        bool this_one = token != NULL
                            ? hold->names == names && same_token(&hold->token, token)
                            : hold->session == session && (request == 0 || hold->request == request);
        if (this_one)
            hold->held = false;
    }
}

bool world_leaves(struct world *w, const struct token *token, uint64_t session)
{
    for (unsigned i = 0; i < HOLDS; i++) {
        struct belief *hold = &w->holds[i];
        if (!hold->held || hold->session != session || hold->depth <= 1 || !same_token(&hold->token, token))
            continue;
        hold->depth--;
        return true;
    }
    return false;
}

uint16_t world_give_back(struct world *w, uint16_t names, uint64_t session, bool keeps)
{
    bool sure = !w->unsure;
    for (unsigned i = 1; i <= HOLDS; i++) {
        struct belief *hold = &w->holds[(w->next_hold + HOLDS - i) % HOLDS];
        if (!hold->held || hold->names != names || hold->session != session)
            continue;
        if (hold->slot != 0 && hold->depth > 1) {
            hold->depth--;
            return sure ? hold->slot : 0;
        }
        if (keeps && hold->slot != 0) /* that is refused */
            return 0;
        hold->held = false;
        if (hold->slot != 0 && hold->until_ms > w->now_ms)
            return sure ? hold->slot : 0;
        sure = false;                 /* the daemon may have it still, ... */
        w->unsure |= hold->slot != 0; /* ... and then it has the next one after this request, too */
    }
    return 0;
}

/* The token says which slot it is of. */
static uint16_t slot_of(const struct token *token)
{
    return (uint16_t)(token_slot(token) + 1);
}

static void check_slot(const struct world *w, const struct reply *reply, const struct asked *asked)
{
    bool one = reply->name.more == 0, locked = reply->code == REPLY_LOCKED;
    bool done =
        locked || reply->code == REPLY_UNLOCKED || reply->code == REPLY_EXTENDED || reply->code == REPLY_HELD;
    if (locked)
        assert(reply->slot == slot_of(&reply->token));
    if (locked && asked->verb == VERB_LOCK && !asked->has_token)
        assert((reply->slot != 0) == (asked->slots != 0) && reply->slot <= asked->slots);
    if (done && asked->has_token)
        assert(reply->slot == (one ? slot_of(&asked->token) : 0));
    if (reply->code == REPLY_UNLOCKED && asked->slot != 0) /* after a lie a lease may end without a word */
        assert(reply->slot == asked->slot || w->lied || w->forgot);
    if (reply->code == REPLY_MODE)
        assert(reply->slots <= SLOTS_MAX && (asked->slots == 0 || reply->slots != asked->slots));
}

static void check_reply(struct world *w, const struct action *action)
{
    const struct reply *reply = &action->u.reply;
    struct asked *asked = asked_find(w, action->request);
    assert(asked != NULL && asked->session == action->session);
    assert(reply->code != REPLY_HELLO && reply->code <= REPLY_BADTAG);
    check_slot(w, reply, asked);
    bool resumed = asked->verb == VERB_RESUME;
    if (reply->code == REPLY_LOCKED && resumed) /* the client that had the token before has lost it */
        world_forget(w, master_names(&reply->name), &asked->token, 0, 0);
    if (reply->code == REPLY_LOCKED && asked->down)
        hold_downgraded(w, &asked->token, reply);
    else if (asked->down &&
             (reply->code == REPLY_MODE || reply->code == REPLY_LIMIT || reply->code == REPLY_BADARG))
        world_downgrade(w, &asked->token, false); /* nothing was done */
    else if (reply->code == REPLY_LOCKED && (resumed || asked->verb == VERB_LOCK) && reply->depth <= 1)
        hold_granted(w, action, asked);
    else if (reply->code == REPLY_LOCKED)
        hold_entered(w, reply);
    assert(reply->code != REPLY_NOQUORUM || reply->masters == w->config.masters);
    asked->session = 0;
}

static void check_notice(struct world *w, const struct action *action)
{
    const struct notice *notice = &action->u.notice;
    bool open = false;
    for (unsigned i = 0; i < CLIENTS; i++)
        open |= w->clients[i].session == action->session;
    assert(open);
    if (notice->kind == NOTICE_CLOCK)
        return;
    uint16_t names = master_names(&notice->name);
    assert(names != 0 && notice->slot == slot_of(&notice->token));
    if (notice->kind == NOTICE_LOST)
        world_forget(w, names, &notice->token, 0, 0);
    if (notice->kind == NOTICE_RENEWED)
        hold_longer(w, names, &notice->token, notice->until_ms);
}

static void check_ended(struct world *w, uint64_t session)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        if (client->session != session)
            continue;
        assert(client->closed);
        memset(client, 0, sizeof *client);
        return;
    }
    assert(0 && "the end of a session that is not there");
}

void world_carry_out(struct world *w, const struct action *action)
{
    struct fake_master *m = &w->masters[action->master % MASTERS];
    switch (action->kind) {
    case ACTION_SEND:
        for (unsigned i = 0; i < MASTERS; i++) {
            if (!(action->masters & 1u << i))
                continue;
            assert(i < w->config.masters && w->masters[i].connected);
            master_queue(&w->masters[i], &action->u.command);
        }
        break;
    case ACTION_CLOSE_MASTER:
        assert(action->master < w->config.masters && m->connected);
        master_lose(m, bytes_next(&w->in) & 3, w->now_ms);
        break;
    case ACTION_REPLY: check_reply(w, action); break;
    case ACTION_NOTICE: check_notice(w, action); break;
    case ACTION_CLOCK: break;
    case ACTION_SESSION_ENDED: check_ended(w, action->session); break;
    }
}
