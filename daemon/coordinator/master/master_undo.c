/* A pass over the undo list: sends a master the releases that it owes, before any lock command on a new
 * connection, and again after it refused some. */
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/master/master_private.h"

enum {
    UNDO_SCAN = 256, /* slots scanned in one step */
    UNDO_SEND = 8,   /* releases sent in one step */
};

/* If some releases set a key back, they are sent first, in a sweep of their own: the old token that they
 * restore may have been given back since, and its release must run behind. */
void undo_begin(struct coordinator *c, struct master *m)
{
    m->undo.under_way = true;
    m->undo.sets_back = c->setting_back != 0;
    m->undo.cursor = 0;
    m->undo.again_ms = INT64_MAX;
    m->undo.sent = m->sent;
    master_watch(c, m);
}

void undo_step(struct coordinator *c, struct master *m)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < UNDO_SCAN && m->undo.cursor < c->releases.fresh && sent < UNDO_SEND; i++) {
        struct release *release = pool_at(&c->releases, m->undo.cursor++);
        bool its_turn = release != NULL && (release->sets_back || !m->undo.sets_back);
        if (its_turn && release_again(c, release, m->index))
            sent++;
    }
    if (m->undo.sets_back && m->undo.cursor >= c->releases.fresh) {
        m->undo.sets_back = false;
        m->undo.cursor = 0;
    }
    if (sent == 0)
        return;
    m->undo.sent = m->sent;
    master_watch(c, m);
}

void undo_look(struct coordinator *c, struct master *m)
{
    if (m->undo.cursor < c->releases.fresh)
        return;
    if (m->state != MASTER_UNDOING)
        m->undo.under_way = false;
    else if (m->heard >= m->undo.sent) {
        m->undo.under_way = false;
        master_enter_service(c, m);
    }
}
