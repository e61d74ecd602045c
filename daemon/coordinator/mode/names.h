/* Lists of names.
 *
 * A list is locked under a resource of its own, whose name is the sorted list. Links join it to the resources of
 * its single names:
 *
 *     resource "a,b" -- list --+-- link -- resource "a" -- link -- list -- resource "a,c"
 *                              +-- link -- resource "b"
 *
 * All requests of this daemon have one order of arrival, that of the ids of their waits. Where a list and another
 * use of one of its names meet, the head that came first asks the masters first, and a head waits while the other
 * asks, holds the lock or gives it back. A list that waits lets the heads behind it pass, but for the names that are
 * in use: whoever came later has no business with these. When many have passed, it stands firm at all of its names for
 * a second, so that it is not passed for ever. Whoever holds one of its names passes even then, and so do a request
 * with wait=0 and another list that stands firm.
 *
 * This order only saves attempts and is fair: what keeps two holders apart are the keys on the masters. */
#ifndef REDLOCKD_COORDINATOR_NAMES_H
#define REDLOCKD_COORDINATOR_NAMES_H

#include "daemon/coordinator/data/state.h"

/* The list of a resource; NULL: it is that of a single name. */
static inline struct list *names_list(const struct resource *resource)
{
    struct link *link = resource->links;
    return link != NULL && link->list->resource == resource ? link->list : NULL;
}

/* Whether the resource must stay although nobody uses it. */
static inline bool names_keep(const struct resource *resource)
{
    const struct list *list = names_list(resource);
    return list != NULL ? list->passing != 0 : resource->links != NULL;
}

/* Makes the list of the resource, with a link to each name, which then cannot have slots. Returns false if a name has
 * some, or is in too many lists, or a table is full; the links that were made go with the resource. */
bool names_join(struct coordinator *c, struct resource *resource);
/* The resource is about to be freed: frees its list, if it is that of one, and the resources of names that nobody uses
 * but for it. */
void names_part(struct coordinator *c, struct resource *resource);

/* The reason for a resource's head to wait, as far as other uses of its names go: none, a release that is soon
 * answered, or a holder or another head. */
enum names_use { NAMES_FREE, NAMES_RELEASED, NAMES_USED };
enum names_use names_use_linked(const struct resource *resource);
static inline enum names_use names_use(const struct resource *resource)
{
    return resource->links != NULL ? names_use_linked(resource) : NAMES_FREE;
}

/* The resource's lease, attempt, release or head ended, or was refused: heads that waited for that are looked at
 * again, in steps of their own. */
void names_changed_linked(struct coordinator *c, const struct resource *resource);
static inline void names_changed(struct coordinator *c, const struct resource *resource)
{
    if (resource->links != NULL)
        names_changed_linked(c, resource);
}

/* The head may not ask, by names_use(): a list keeps only those of its names that are in use. */
void names_blocked(struct coordinator *c, struct resource *resource);
/* The lock was granted to the session; wait: its place in the order of arrival, 0 for a RESUME, which passes nobody;
 * order: of a list, as in the request. */
void names_granted_linked(struct coordinator *c, const struct resource *resource,
                          const struct session *session, uint64_t wait, uint64_t order);
static inline void names_granted(struct coordinator *c, const struct resource *resource,
                                 const struct session *session, uint64_t wait, uint64_t order)
{
    if (resource->links != NULL)
        names_granted_linked(c, resource, session, wait, order);
}

/* A list's attempt begins; and a master refused it, since the name in this place was not free there. The name counts as
 * in use when so many masters said so that no quorum can have it: fewer may have met an attempt that failed as well. */
void names_asked(struct resource *resource);
void names_refused(const struct coordinator *c, struct resource *resource, uint64_t place);

/* Another daemon wants this single name. Returns whether a list has it here, or asks for it. */
bool names_wanted(struct resource *resource);
/* Other daemons may want the name, or each name of the list: a release must look into the queues. */
void names_contended(struct resource *resource);
/* A list's keys are being deleted: the daemons that wait for its names are woken, for all names or for those that
 * other daemons are known to want. */
void names_pass(struct coordinator *c, struct resource *resource, bool all);
/* Wakes the next daemon of one name, or ends the second for which the list stood firm. Returns the resource if it is
 * not needed for that any more; else NULL. */
struct resource *names_timer(struct coordinator *c, struct list *list);

/* The slots of the name, or of one of the list's names; NULL: none has any. */
const struct slots *names_slots(const struct coordinator *c, const struct name *name);

#endif
