/* Crowds of readers. The first readers of a name have keys of their own (shared.h). From config.join_from readers on,
 * those of sessions share a lease of the daemon's own, and only the first of them asks the masters:
 *
 *     SHARE is granted --> COMMON lease: its token, the key's, is told to nobody, so no client can end it
 *                           ^      ^
 *                        JOINED  JOINED ...     leases without keys, each with a token that is told
 *
 * A reader joins without asking for JOIN_MS after the masters' answer that no writer of another daemon waits. Its
 * deadline is never beyond the common lease's, which is renewed while a reader with a session has joined it. When it
 * is to be renewed itself, it looks there, and goes over to the crowd's home, which is the first common lease, or a
 * later one with a longer TTL. So a crowd soon has one, also while readers keep coming. The common lease is given back
 * with the last reader that gives its part back. Where a reader's connection broke, or this daemon ended its lock, that
 * reader may believe in it until its deadline: then it is given back after that.
 *
 * The token of a reader that joined is known to this daemon alone. What requests and
 * time do to these leases is in crowd.c. */
#ifndef REDLOCKD_JOIN_H
#define REDLOCKD_JOIN_H

#include "daemon/coordinator/data/state.h"

/* Whether a reader's grant is to be a common lease, which the head joins. */
bool join_is_wanted(const struct coordinator *c, const struct resource *resource);
/* Makes the lease, which is about to be granted, one to join. */
void join_make(struct coordinator *c, struct lease *lease, const struct round *round);
/* The common lease is about to be renewed: for the longest TTL of those that rely on it still. */
void join_renews(struct coordinator *c, struct lease *common);
/* The lease that the head, a reader, may join without asking the masters; NULL: none. */
struct lease *join_found(const struct coordinator *c, const struct resource *resource);

/* The lease that this one joined; NULL: that is over, or it joined none. */
struct lease *join_of(const struct coordinator *c, const struct lease *lease);
/* The lease of a reader, which has its session and its place among the readers, joins the common one. */
void join_enter(struct coordinator *c, struct lease *lease, struct lease *common);
/* A lease that joined gets a session again, and a new TTL; or it loses its session. */
void join_bound(struct coordinator *c, struct lease *lease);
void join_unbound(struct coordinator *c, const struct lease *lease);
/* A lease that joined looks at the common one, which is not over, for a later deadline. Returns the common lease that it
 * left for another one; NULL: none. */
struct lease *join_look(struct coordinator *c, struct lease *lease);
/* The common lease was extended for the reader whose EXTEND this was. Returns its deadline; 0: it ended meanwhile. */
int64_t join_extended(struct coordinator *c, const struct round *round);

/* A lease ends, or gets another deadline, whose reader may believe in it until the present one. Returns the common
 * lease; NULL: it joined none, or that is over. */
struct lease *join_lost(struct coordinator *c, const struct lease *lease);
/* Whether the common lease may be given back: nobody relies on it. */
bool join_is_over(const struct coordinator *c, const struct lease *common);
/* When it may be, if no reader is left; INT64_MAX: now, or there are some. */
int64_t join_kept_ms(const struct coordinator *c, const struct lease *common);
/* A lease that joined is being freed; the common lease is. */
void join_parts(struct coordinator *c, struct lease *lease);
void join_ends(struct coordinator *c, struct lease *common);

#endif
