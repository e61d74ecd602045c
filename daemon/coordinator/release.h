/* Taking a token back: UNLOCK, FIN, and the undoing of attempts and RESUMEs that failed.
 *
 * A release goes to every connected master at once, behind what was sent there before.
 * What a master owes us (it may have the key and did not acknowledge) is kept until it
 * does, or until the key is over there for certain. */
#ifndef REDLOCKD_RELEASE_H
#define REDLOCKD_RELEASE_H

#include "daemon/coordinator/state.h"

struct release_order {
    const struct name *name; /* a kept one */
    const struct token *token;
    int64_t ttl_ms;            /* longest that a key of this token can live */
    masters_t may;             /* masters that may have the key by us */
    struct resource *resource; /* its head comes next; NULL: nobody does */
    uint64_t session, request; /* UNLOCK's; request 0: nobody is told */
    const struct token *back;  /* not deleted: set back to this one; NULL: deleted */
    bool bound;                /* answered by the rule for a lock bound here */
    bool known;                /* of a lock that was granted here */
};

void release_begin(struct coordinator *c, const struct release_order *order);
void release_vote(struct coordinator *c, struct release *release, unsigned master, const struct vote *vote);
void release_timer(struct coordinator *c, struct release *release);       /* its item */
void release_timeout(struct coordinator *c, struct in_flight *in_flight); /* the oldest that is not late */
bool release_look_stale(struct coordinator *c); /* one that lost a master; false: there is none */

/* A pass over the undo list: sends it again if that master owes it; says whether. */
bool release_again(struct coordinator *c, struct release *release, unsigned master);
void releases_lost(struct coordinator *c, unsigned master);

#endif
