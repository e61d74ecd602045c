/* Releases: a token is taken back from all masters, for UNLOCK and FIN and for attempts and RESUMEs that
 * failed.
 *
 * A release goes at once to every master in service (up, slow, in quarantine or undoing), on the same
 * connection behind what was sent there before. A master that may have the key owes the release until it
 * acknowledges that the key is gone, and gets the release again when it comes back. The release stays in the
 * undo list until no master owes it, until the key has expired everywhere for certain, or until a full list
 * needs its place. */
#ifndef REDLOCKD_RELEASE_H
#define REDLOCKD_RELEASE_H

#include "daemon/coordinator/data/state.h"

struct release_order {
    const struct name *name; /* interned; the release takes a reference of its own */
    const struct token *token;
    int64_t ttl_ms;            /* longest TTL that a key of this token can have */
    const struct token *other; /* the key may have this token instead; NULL: none */
    const struct token *third; /* beside other: or this token; NULL: none */
    masters_t may;             /* masters that may have the key, and so owe the release */
    masters_t sent;            /* fanout: quorum: all masters that were sent the key; 0: not known */
    struct resource *resource; /* the resource whose head asks next; NULL: none waits for this release */
    uint64_t session, request; /* the UNLOCK to answer; request 0: nobody is answered */
    const struct token *back;  /* the key is set back to this token, and nobody waits; NULL: it is deleted */
    bool bound;       /* the session's own lock: Q masters without the key are enough for +UNLOCKED */
    bool known;       /* this daemon granted the lock */
    bool one_of_many; /* others may hold the lock as well, at any daemon */
    bool wakes;       /* the release wakes another daemon, if one waits */
    bool stays;       /* if it wakes: requests wait here, too */
};

/* Sends a release to the masters and records it. If every slot is taken by a release that awaits answers,
 * the command is sent without a record, and an UNLOCK is answered with -LIMIT. */
void release_begin(struct coordinator *c, const struct release_order *order);
/* Counts a master's answer; may answer the UNLOCK, let the next head ask, and free the release. */
void release_vote(struct coordinator *c, struct release *release, unsigned master, const struct vote *vote,
                  bool natively);
/* Handles the release's deadline item: no key of it can be left, so the release is forgotten. */
void release_timer(struct coordinator *c, struct release *release);
/* Handles the time-out of the oldest release that is not answered: the silent masters are overdue. */
void release_timeout(struct coordinator *c, struct in_flight *in_flight);
/* Looks again at one release that a lost master made stale; returns false if there is none. */
bool release_look_stale(struct coordinator *c);

/* Sends the release again to a master that owes it, unless an answer is still to come. Returns whether it
 * was sent. A pass over the undo list (master_undo.c) calls this for each release. */
bool release_again(struct coordinator *c, struct release *release, unsigned master);
/* Notes that this master's connection is gone: no release gets an answer from it any more. */
void releases_lost(struct coordinator *c, unsigned master);
/* These masters are not used any more: what they owe runs out there. */
void releases_leave(struct coordinator *c, masters_t masters);

#endif
