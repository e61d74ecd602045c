/* How a lease is kept on the masters. As a rule it has a key of its own. Where the readers of a name are many, they have
 * none, and rely on the key of a lease that no client holds (mode/crowd.h). What differs between these is here; all other
 * files ask lease->keeping. */
#ifndef REDLOCKD_KEEPING_H
#define REDLOCKD_KEEPING_H

#include "daemon/coordinator/data/state.h"

struct keeping {
    bool told;    /* a client was told the lease's token, and holds it */
    bool has_key; /* else this daemon alone knows its token, and it relies on the key of another lease */

    /* Whether the key that it relies on is there still, as far as is known here. */
    bool (*stands)(const struct coordinator *c, const struct lease *lease);
    /* Whether this daemon is to renew it. */
    bool (*is_renewed)(const struct coordinator *c, const struct lease *lease);
    /* A renewal of its key begins; Q masters extended its key in this round. */
    void (*renews)(struct coordinator *c, struct lease *lease);
    void (*extended)(struct coordinator *c, struct lease *lease, const struct round *round);
    /* When look() is to come at the latest; INT64_MAX: no sooner than the deadline or the renewal. */
    int64_t (*looks_ms)(const struct coordinator *c, const struct lease *lease);
    /* The lease's time has come, for whichever reason, before its deadline. Returns whether nothing else is to be done. */
    bool (*look)(struct coordinator *c, struct lease *lease);

    /* EXTEND. Returns the round, which is still to be sent; NULL: the request was answered. */
    struct round *(*extend)(struct coordinator *c, uint64_t session, uint64_t request,
                            const struct request *what, struct lease *lease, int64_t ttl_ms);
    /* RESUME, only where it has no key. */
    void (*resume)(struct coordinator *c, struct session *session, uint64_t request,
                   const struct request *what, struct lease *lease);
    /* Frees the lease and begins its release. The session and request are of the UNLOCK to answer; request 0 means that
     * nobody is answered. bound: the rule for a lock of the session itself decides the answer, see release_order. */
    void (*give_back)(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                      bool bound);
    /* Undoes a RESUME whose +LOCKED could not be delivered: the key gets its old token again on all masters. */
    void (*set_back)(struct coordinator *c, struct lease *lease);
    /* The lease is lost, and its keys are left to expire: frees it. Returns whether that began a release, of the key that
     * the lease relied on. */
    bool (*run_out)(struct coordinator *c, struct lease *lease);
    /* The lease is about to lose its session; the lease is about to be freed. */
    void (*unbinds)(struct coordinator *c, const struct lease *lease);
    void (*parts)(struct coordinator *c, struct lease *lease);
};

extern const struct keeping keeping_own; /* a key of its own: own.c */

/* give_back() of a lease that has a key. */
void own_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                   bool bound);

#endif
