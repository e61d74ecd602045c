#include "daemon/coordinator/wait/woken.h"

#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/wait/resource.h"

/* Whether this daemon has the name, or one of its slots, or a RESUME may bring it. */
static bool is_used(const struct resource *resource)
{
    return resource->lease != NULL || resource->resumes != NULL || slots_are_here(resource);
}

/* Also where this daemon holds the name: it was taken off the queue by somebody who had it before, so others
 * may wait there. Of a name with slots another one is free then. Where nobody waits here, the next daemon is
 * woken, even if a record of the name is here: the lock may have been given back through another daemon. */
void woken(struct coordinator *c, unsigned master, const struct name *name, bool late)
{
    struct resource *resource = resource_find(c, name);
    bool waits = resource != NULL && resource->queue->head != NULL;
    const struct mode *mode = resource != NULL ? resource->mode : c->modes[MODE_WRITER];
    if (waits || (resource != NULL && is_used(resource)))
        mode->contended(c, resource);
    if (!waits) {
        mode->woken_in_vain(c, name, masters_bit(master));
        return;
    }
    int64_t at_ms = wake_woken(c, resource->queue, master, late);
    if (resource->queue->round != NULL || resource->queue->sweeping)
        return; /* looked at when it ends */
    if (resource->queue->verdict.code == REPLY_NOQUORUM && c->now_ms < resource->retry_ms)
        return; /* that the name is free does not help: daemons would wake each other for nothing, without a pause */
    if (at_ms < resource->retry_ms)
        resource->retry_ms = at_ms;
    resource_advance(c, resource);
}

/* If nothing of the name is here, the sender saw a key that is gone by now, or whose record is: the next
 * daemon is woken. */
void woken_told(struct coordinator *c, unsigned master, const struct name *name)
{
    struct resource *resource = resource_find(c, name);
    bool here = resource != NULL &&
                (is_used(resource) || resource->queue->round != NULL || resource->giving_back != NULL);
    if (here)
        resource->mode->contended(c, resource);
    if (resource != NULL && names_wanted(resource))
        here = true;
    if (!here)
        wake_pass(c, name, masters_bit(master));
}
