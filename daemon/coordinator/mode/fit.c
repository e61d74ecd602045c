#include "daemon/coordinator/mode/fit.h"

#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/wait/resource.h"
#include "proto/slot.h"

bool fit_request(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    bool list = what->name.more != 0, slots = what->slots != 0;
    if (what->data.len != 0 && (list || slots || what->shared || what->hold == HOLD_LEASE)) {
        action_reply(c, event->session, event->request, REPLY_BADARG, &what->name)->text = TEXT_DATA_ALONE;
        return false;
    }
    if (what->verb != VERB_LOCK || (int)list + slots + what->shared < 2)
        return true;
    struct reply *reply = action_reply(c, event->session, event->request, REPLY_BADARG, &what->name);
    reply->text = what->shared ? TEXT_SLOT_ALONE : TEXT_LIST_ALONE;
    return false;
}

/* ---- LOCK ---- */

static void refuse_limit(struct coordinator *c, const struct session *session, uint64_t request,
                         const struct name *name)
{
    c->stats.refused_limit++;
    action_reply(c, session->key, request, REPLY_LIMIT, name)->limit = LIMIT_MAX_LOCKS;
}

/* None of the names of a list may have slots here. */
static bool list_fits(struct coordinator *c, const struct session *session, uint64_t request,
                      const struct request *what)
{
    const struct slots *slots = names_slots(c, &what->name);
    if (slots != NULL)
        slots_differ(action_reply(c, session->key, request, REPLY_MODE, &what->name), slots);
    return slots == NULL;
}

/* The name is asked for with slots, or has some. */
static bool slots_fit_to(struct coordinator *c, const struct session *session, uint64_t request,
                         const struct request *what, struct resource *resource)
{
    struct slots *slots = resource->queue->slots;
    if (slots != NULL && what->slots != 0 && slots_fit(slots, what->slots))
        return true;
    if (slots != NULL || resource_is_used(resource)) {
        slots_differ(action_reply(c, session->key, request, REPLY_MODE, &what->name), slots);
        return false;
    }
    if (slots_make(c, resource))
        return slots_fit(resource->queue->slots, what->slots);
    refuse_limit(c, session, request, &what->name);
    queue_due(c, resource);
    return false;
}

struct resource *fit_lock(struct coordinator *c, const struct session *session, uint64_t request,
                          const struct request *what)
{
    if (what->name.more != 0 && !list_fits(c, session, request, what))
        return NULL;
    struct resource *resource = resource_find_or_make(c, &what->name);
    if (resource == NULL)
        refuse_limit(c, session, request, &what->name);
    else if ((what->slots != 0 || resource->queue->slots != NULL) &&
             !slots_fit_to(c, session, request, what, resource))
        resource = NULL;
    return resource;
}

/* ---- tokens ---- */

/* A token of a slot cannot be resumed where the name is used without slots, nor another one where the name, or one of a
 * list's names, is used with slots. */
bool fit_resume(struct coordinator *c, const struct coordinator_event *event)
{
    struct name name;
    if (event->what.verb != VERB_RESUME)
        return true;
    bool of_slot = slot_base(&name, &event->what.name) >= 0;
    const struct resource *base = resource_find(c, &name);
    const struct slots *slots = names_slots(c, &name);
    if (of_slot == (slots != NULL) || (base == NULL && slots == NULL))
        return true;
    slots_differ(action_reply(c, event->session, event->request, REPLY_MODE, &event->what.name), slots);
    return false;
}

/* The resource of a slot is made where requests wait for one, that of a list always, since others may wait for its
 * names. A name that has slots here is not held without one. */
struct resource *fit_unlock(struct coordinator *c, const struct request *what)
{
    struct name name;
    struct resource *resource = resource_find(c, &what->name);
    if (what->name.more != 0)
        return resource_find_or_make(c, &what->name);
    if (resource != NULL)
        return resource->queue->slots != NULL && slots_base(resource) == resource ? NULL : resource;
    if (slot_base(&name, &what->name) < 0)
        return NULL;
    const struct resource *base = resource_find(c, &name);
    bool waits = base != NULL && base->queue->slots != NULL && base->queue->head != NULL;
    return waits ? resource_find_or_make(c, &what->name) : NULL;
}
