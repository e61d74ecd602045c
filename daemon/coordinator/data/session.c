#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/mode/slots.h"

static uint32_t session_hash(const struct coordinator *c, uint64_t key)
{
    return table_hash(c->config.hash_seed, &key, sizeof key);
}

struct session *session_find(const struct coordinator *c, uint64_t key)
{
    uint32_t hash = session_hash(c, key), place = table_first(&c->session_keys, hash), slot;
    while (table_next(&c->session_keys, hash, &place, &slot)) {
        struct session *session = pool_at(&c->sessions, slot);
        if (session->key == key)
            return session;
    }
    return NULL;
}

struct session *session_find_or_make(struct coordinator *c, uint64_t key)
{
    struct session *session = session_find(c, key);
    if (session != NULL)
        return session;
    session = pool_take(&c->sessions);
    if (session == NULL)
        return NULL;
    session->item.kind = ITEM_SESSION;
    session->key = key;
    session->hash = session_hash(c, key);
    table_add(&c->session_keys, pool_slot(&c->sessions, session));
    return session;
}

/* ---- waits and holds ---- */

void session_link_wait(struct coordinator *c, struct session *session, struct wait *wait)
{
    c->peer_waits[session->peer]++;
    wait->session = session;
    wait->session_prev = NULL;
    wait->session_next = session->waiting;
    if (session->waiting != NULL)
        session->waiting->session_prev = wait;
    session->waiting = wait;
    session->waits++;
}

void session_unlink_wait(struct coordinator *c, struct wait *wait)
{
    struct session *session = wait->session;
    c->peer_waits[session->peer]--;
    *(wait->session_prev ? &wait->session_prev->session_next : &session->waiting) = wait->session_next;
    if (wait->session_next != NULL)
        wait->session_next->session_prev = wait->session_prev;
    session->waits--;
}

/* How many slots of a name are held here says whether its next request need ask for another one. */
static void session_count(struct coordinator *c, struct hold *hold, uint32_t change)
{
    struct slots *slots = lease_of_hold(hold)->resource->queue->slots;
    if (hold->kind != HOLD_SESSION)
        return;
    c->bound += change;
    if (slots != NULL)
        slots->bound += change;
}

void session_link_hold(struct coordinator *c, struct session *session, struct hold *hold)
{
    hold->session = session;
    hold->session_prev = NULL;
    hold->session_next = session->holds;
    if (session->holds != NULL)
        session->holds->session_prev = hold;
    session->holds = hold;
    session->locks++;
    session_count(c, hold, 1);
}

void session_unlink_hold(struct coordinator *c, struct hold *hold)
{
    struct session *session = hold->session;
    *(hold->session_prev ? &hold->session_prev->session_next : &session->holds) = hold->session_next;
    if (hold->session_next != NULL)
        hold->session_next->session_prev = hold->session_prev;
    hold->session = NULL;
    session->locks--;
    session_count(c, hold, UINT32_MAX);
}

struct wait *session_wait(const struct session *session, uint64_t request)
{
    struct wait *wait = session->waiting;
    while (wait != NULL && wait->request != request)
        wait = wait->session_next;
    return wait;
}

struct lease *session_lease(const struct session *session, uint64_t request)
{
    struct hold *hold = session->holds;
    while (hold != NULL && hold->request != request)
        hold = hold->session_next;
    return hold != NULL ? lease_of_hold(hold) : NULL;
}
