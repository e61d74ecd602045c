#include "daemon/coordinator/keep/secret.h"

#include <assert.h>

#include "daemon/coordinator/base/token.h"

enum { SETTLE_MS = 50 };

bool secret_may_pass_to(const struct coordinator *c, const struct wait *wait)
{
    return wait->patient && wait->hold == HOLD_SESSION && wait->mode->hands_on &&
           wait->session->state == SESSION_OPEN && c->now_ms < wait->deadline_ms;
}

bool secret_is_wanted(const struct coordinator *c, const struct wait *head)
{
    return head->hold == HOLD_SESSION && head->mode->hands_on && head->next != NULL &&
           secret_may_pass_to(c, head->next) && !c->draining;
}

void secret_make(struct coordinator *c, struct lease *lease)
{
    struct secret *secret = pool_take(&c->secrets);
    assert(secret != NULL && lease->secret == NULL); /* the pool has one for each possible lease */
    secret->key = lease->hold.token;
    secret->set_ms = lease->granted_ms;
    lease->secret = secret;
    random_token(c, lease->resource, &lease->hold.token, lease->mode);
    c->unsettled++;
}

void secret_downgrade(struct coordinator *c, struct lease *lease)
{
    if (lease->secret == NULL) {
        lease->secret = pool_take(&c->secrets);
        assert(lease->secret != NULL);
        lease->secret->key = lease->hold.token;
        lease->secret->set_ms = lease->granted_ms;
        c->unsettled++;
    }
    struct secret *secret = lease->secret;
    c->unsettled += secret->is_settled;
    secret->was = lease->hold.token;
    secret->down = secret->settling = true;
    secret->is_settled = false;
    secret->settled = 0;
    random_token(c, lease->resource, &lease->hold.token, c->modes[MODE_READER]);
}

void secret_forget(struct coordinator *c, struct lease *lease)
{
    if (lease->secret == NULL)
        return;
    c->unsettled -= !lease->secret->is_settled;
    pool_give(&c->secrets, lease->secret);
    lease->secret = NULL;
}

void secret_settle(struct lease *lease)
{
    if (lease->secret != NULL)
        lease->secret->settling = true;
}

int64_t secret_settle_ms(const struct lease *lease)
{
    bool begins = lease->secret != NULL && !lease->secret->settling;
    return begins ? lease->granted_ms + SETTLE_MS : INT64_MAX;
}

void secret_settled(struct coordinator *c, struct lease *lease, masters_t bit)
{
    struct secret *secret = lease->secret;
    if (secret == NULL || !secret->settling)
        return;
    secret->settled |= bit;
    if (secret->is_settled || !quorum_has(&c->quorum, secret->settled))
        return;
    secret->is_settled = true;
    c->unsettled--;
}

void secret_granted(struct lease *lease, masters_t masters)
{
    if (lease->secret != NULL)
        lease->secret->granting |= masters;
}

void secret_unsettled(struct lease *lease, masters_t bit)
{
    if (lease->secret == NULL)
        return;
    lease->secret->settled = masters_without(lease->secret->settled, bit);
    lease->secret->granting = masters_without(lease->secret->granting, bit);
}

bool secret_is_open(const struct lease *lease)
{
    return lease->secret != NULL && lease->secret->settling && !lease->secret->is_settled;
}

bool secret_is_downgrading(const struct lease *lease)
{
    return secret_is_open(lease) && lease->secret->down;
}

masters_t secret_left(const struct lease *lease)
{
    if (lease->secret == NULL || !lease->secret->settling)
        return 0;
    return masters_without(lease->copies.sent, lease->secret->settled);
}

const struct token *secret_key(const struct lease *lease)
{
    return lease->secret != NULL ? &lease->secret->key : &lease->hold.token;
}

unsigned secret_tokens(const struct lease *lease, struct token tokens[SECRET_TOKENS])
{
    const struct secret *secret = lease->secret;
    bool down = secret != NULL && secret->down;
    unsigned count = 0;
    if (down)
        tokens[count++] = lease->hold.token;
    tokens[count++] = *secret_key(lease);
    if (down)
        tokens[count++] = secret->was;
    else if (secret_other(lease) != NULL)
        tokens[count++] = *secret_other(lease);
    return count;
}

const struct token *secret_heals(const struct lease *lease)
{
    bool settling = lease->secret != NULL && lease->secret->settling;
    return settling ? &lease->hold.token : secret_key(lease);
}

const struct token *secret_other(const struct lease *lease)
{
    bool settling = lease->secret != NULL && lease->secret->settling;
    return settling ? &lease->hold.token : NULL;
}
