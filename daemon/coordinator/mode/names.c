#include "daemon/coordinator/mode/names.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/wait/resource.h"
#include "proto/names.h"

/* A list that so many grants have passed stands firm for a while, so that those who have its names give them back to
 * it. Where that was in vain, since one of them keeps its name for longer or is at another daemon, the list lets twice
 * as many pass before it stands firm again: else it would hold up the others for nothing, again and again. */
enum { PATIENCE = 16, PATIENCE_MAX = 16384, FIRM_MS = 1000 };

/* A look at a name, or at one of a list, is a look at all lists that have it, in one step. */
enum { LISTS_OF_NAME = 64 };

static uint16_t place_bit(const struct link *link)
{
    return (uint16_t)(1u << (link - link->list->link));
}

/* ---- lists ---- */

static void link_insert(struct link *link, struct link *prev)
{
    struct link **at = prev != NULL ? &prev->next : &link->resource->links;
    link->prev = prev;
    link->next = *at;
    if (link->next != NULL)
        link->next->prev = link;
    *at = link;
}

/* A new list stands behind the name's first one, which may hold it. */
static void names_link(struct list *list, struct resource *resource)
{
    struct link *link = &list->link[list->count++];
    link->resource = resource;
    link->list = list;
    link_insert(link, resource->links);
}

static bool is_crowded(const struct resource *single)
{
    unsigned lists = 0;
    for (const struct link *link = single->links; link != NULL; link = link->next)
        lists++;
    return lists >= LISTS_OF_NAME;
}

static void names_unlink(struct link *link)
{
    *(link->prev != NULL ? &link->prev->next : &link->resource->links) = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
}

/* Copies the name that begins at *at, and moves *at on. Returns false if there is none. */
static bool names_take(const struct name *list, size_t *at, struct name *name)
{
    const char *text;
    size_t len = names_next(list, at, &text);
    name->len = len & 0x7ff;
    name->slot = 0;
    name->more = 0;
    if (len != 0)
        memcpy(name->text, text, len);
    return len != 0;
}

const struct slots *names_slots(const struct coordinator *c, const struct name *name)
{
    const struct slots *slots = NULL;
    struct name single;
    size_t at = 0;
    while (slots == NULL && names_take(name, &at, &single)) {
        const struct resource *resource = resource_find(c, &single);
        slots = resource != NULL ? resource->queue->slots : NULL;
    }
    return slots;
}

bool names_join(struct coordinator *c, struct resource *resource)
{
    struct list *list = pool_take(&c->lists);
    struct name name;
    size_t at = 0;
    if (list == NULL)
        return false;
    list->item.kind = ITEM_LIST;
    list->resource = resource;
    list->patience = PATIENCE;
    while (names_take(resource->name, &at, &name)) {
        struct resource *single = resource_find_or_make(c, &name);
        if (single == NULL || single->queue->slots != NULL || is_crowded(single))
            break;
        names_link(list, single);
    }
    resource->links = list->link;
    list->link[0].list = list; /* also where not even the first name has a resource */
    return list->count == resource->name->more + 1u;
}

static bool is_unused(const struct coordinator *c, const struct resource *resource)
{
    return resource->queue == &c->nobody && resource->lease == NULL && resource->giving_back == NULL &&
           resource->resumes == NULL && !names_keep(resource);
}

void names_part(struct coordinator *c, struct resource *resource)
{
    struct list *list = names_list(resource);
    if (list == NULL)
        return;
    names_changed_linked(c, resource);
    for (uint32_t i = 0; i < list->count; i++) {
        struct resource *single = list->link[i].resource;
        names_unlink(&list->link[i]);
        if (is_unused(c, single))
            resource_free(c, single);
    }
    resource->links = NULL;
    heap_remove(&c->deadlines, &list->item);
    pool_give(&c->lists, list);
}

/* ---- who goes first ---- */

static enum names_use use_of(const struct resource *resource)
{
    bool held = resource->lease != NULL && lease_is_bound(resource->lease);
    if (held || resource->queue->round != NULL)
        return NAMES_USED;
    return release_is_awaited(resource) ? NAMES_RELEASED : NAMES_FREE;
}

static bool stands_before(const struct resource *resource, uint64_t wait)
{
    return resource->queue->head != NULL && resource->queue->head->id < wait;
}

/* A list that waits keeps only the names that are in use, unless it stands firm. Where several do, none keeps its free
 * names from the others: else the first of them, which waits for a name that is held for long, would make the firmness
 * of the others vain. */
static bool lets_pass(const struct link *link, const struct list *other)
{
    bool firm = link->list->firm && (other == NULL || !other->firm);
    return !firm && !(link->list->refused & place_bit(link));
}

/* A reader may hold the name several times, and some of these holds may not be bound to the session. */
static bool holds(const struct session *session, const struct resource *resource)
{
    const struct lease *lease = resource->lease;
    if (lease == NULL || !lease_is_bound(lease)) /* bound ones stand first */
        return false;
    if (!lease->mode->shares)
        return lease->hold.session == session;
    struct hold *hold = session->holds;
    while (hold != NULL && (lease_of_hold(hold)->resource != resource || hold->kind != HOLD_SESSION))
        hold = hold->session_next;
    return hold != NULL;
}

/* Whether the session holds one of the list's names, by itself or in another list: then the list waits for it. The list
 * that has a name stands first among its lists. */
static bool holds_one(const struct session *session, const struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct resource *single = list->link[i].resource;
        if (holds(session, single) || holds(session, single->links->list->resource))
            return true;
    }
    return false;
}

/* A request that must not wait, and one whose session the list waits for, pass every list that only waits. */
static bool passes_all(const struct wait *head, const struct list *list)
{
    return head != NULL && (!head->patient || holds_one(head->session, list));
}

static enum names_use more_used(enum names_use a, enum names_use b)
{
    return a > b ? a : b;
}

static uint64_t place_in_order(const struct wait *head)
{
    return head != NULL ? head->id : UINT64_MAX;
}

/* The lists that have this name, but for one. */
static enum names_use use_by_lists(const struct resource *single, const struct list *but,
                                   const struct wait *head)
{
    enum names_use use = NAMES_FREE;
    for (const struct link *link = single->links; link != NULL && use != NAMES_USED; link = link->next) {
        const struct list *list = link->list;
        if (list == but)
            continue;
        bool stands = stands_before(list->resource, place_in_order(head)) && !lets_pass(link, but);
        use = more_used(use, use_of(list->resource));
        if (stands && use != NAMES_USED && !passes_all(head, list))
            use = NAMES_USED;
    }
    return use;
}

/* What stands before the list's head at one of its places. */
static enum names_use use_of_place(const struct link *link, const struct wait *head)
{
    bool before = stands_before(link->resource, place_in_order(head));
    enum names_use use = before ? NAMES_USED : use_of(link->resource);
    return use == NAMES_USED ? use : more_used(use, use_by_lists(link->resource, link->list, head));
}

enum names_use names_use_linked(const struct resource *resource)
{
    const struct list *list = names_list(resource);
    const struct wait *head = resource->queue->head;
    enum names_use use = NAMES_FREE;
    if (list == NULL)
        return use_by_lists(resource, NULL, head);
    for (uint32_t i = 0; i < list->count && use != NAMES_USED; i++)
        use = more_used(use, use_of_place(&list->link[i], head));
    return use;
}

static void look_again(struct coordinator *c, struct resource *resource)
{
    if (resource->queue->head != NULL)
        queue_due(c, resource);
}

static void look_if_after(struct coordinator *c, struct resource *resource, uint64_t wait)
{
    if (resource->queue->head != NULL && resource->queue->head->id > wait)
        look_again(c, resource);
}

static void look_at_lists(struct coordinator *c, const struct resource *single, const struct list *but,
                          uint64_t wait)
{
    for (const struct link *link = single->links; link != NULL; link = link->next)
        if (link->list != but)
            look_if_after(c, link->list->resource, wait);
}

/* The list stands otherwise in these places than it did, for heads that came after this wait. */
static void look_at_places(struct coordinator *c, const struct list *list, uint16_t places, uint64_t wait)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (!(places & place_bit(&list->link[i])))
            continue;
        look_if_after(c, list->link[i].resource, wait);
        look_at_lists(c, list->link[i].resource, list, wait);
    }
}

void names_changed_linked(struct coordinator *c, const struct resource *resource)
{
    const struct list *list = names_list(resource);
    if (list != NULL)
        look_at_places(c, list, UINT16_MAX, 0);
    else
        look_at_lists(c, resource, NULL, 0);
}

void names_blocked(struct coordinator *c, struct resource *resource)
{
    struct list *list = names_list(resource);
    if (list == NULL)
        return;
    uint16_t before = list->refused;
    list->refused = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (use_of_place(&list->link[i], resource->queue->head) != NAMES_FREE)
            list->refused |= place_bit(&list->link[i]);
    look_at_places(c, list, (uint16_t)(before & ~list->refused), resource->queue->head->id);
}

/* ---- lists that are passed by others ---- */

static void list_arm(struct coordinator *c, struct list *list)
{
    if (list->passing != 0)
        heap_set(&c->deadlines, &list->item, c->now_ms);
    else if (list->firm)
        heap_set(&c->deadlines, &list->item, list->firm_ms);
    else
        heap_remove(&c->deadlines, &list->item);
}

static void list_is_firm(struct coordinator *c, struct list *list, bool firm)
{
    list->passed = 0;
    list->firm = firm;
    list->firm_ms = c->now_ms + FIRM_MS;
    list_arm(c, list);
}

static void list_is_passed(struct coordinator *c, struct list *list)
{
    if (list->firm || ++list->passed < list->patience)
        return;
    if (list->patience < PATIENCE_MAX)
        list->patience *= 2;
    list_is_firm(c, list, true);
    look_again(c, list->resource);
}

/* A firm second of this list was in vain. The others at its names had no use of it either, and do not stand firm one
 * after the other now, which would hold up everybody for as many seconds. */
static void others_are_calmed(const struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        for (struct link *link = list->link[i].resource->links; link != NULL; link = link->next) {
            link->list->passed = 0;
            if (link->list->patience < list->patience)
                link->list->patience *= 2;
        }
    }
}

/* Lists may wait for this session from now on, and then its other requests pass them. */
static void look_at_session(struct coordinator *c, const struct session *session)
{
    for (const struct wait *wait = session->waiting; wait != NULL; wait = wait->session_next)
        if (wait->resource->queue->head == wait && wait->resource->links != NULL)
            look_again(c, wait->resource);
}

/* Returns whether other lists wait for the name. */
static bool names_granted_one(struct coordinator *c, const struct resource *single, const struct list *but,
                              uint64_t wait)
{
    bool wanted = false;
    for (const struct link *link = single->links; link != NULL; link = link->next) {
        if (link->list == but || link->list->resource->queue->head == NULL)
            continue;
        wanted = true;
        if (stands_before(link->list->resource, wait))
            list_is_passed(c, link->list);
    }
    return wanted;
}

static bool list_is_granted(struct coordinator *c, struct list *list, uint64_t wait)
{
    bool wanted = false;
    list->patience = PATIENCE;
    list_is_firm(c, list, false);
    for (uint32_t i = 0; i < list->count; i++) {
        struct link *link = &list->link[i];
        names_unlink(link);
        link_insert(link, NULL);
        wanted |= names_granted_one(c, link->resource, list, wait);
    }
    return wanted;
}

void names_granted_linked(struct coordinator *c, const struct resource *resource,
                          const struct session *session, uint64_t wait, uint64_t order)
{
    struct list *list = names_list(resource);
    if (list != NULL)
        list->order = order;
    bool wanted = list != NULL ? list_is_granted(c, list, wait) : names_granted_one(c, resource, NULL, wait);
    if (wanted)
        look_at_session(c, session);
}

void names_asked(struct resource *resource)
{
    struct list *list = names_list(resource);
    if (list == NULL)
        return;
    list->refused = 0;
    memset(list->refusals, 0, sizeof list->refusals);
}

void names_refused(const struct coordinator *c, struct resource *resource, uint64_t place)
{
    struct list *list = names_list(resource);
    if (list != NULL && place < list->count && ++list->refusals[place] >= c->quorum.blocking)
        list->refused |= (uint16_t)(1u << place);
}

/* ---- other daemons ---- */

bool names_wanted(struct resource *resource)
{
    bool here = false;
    for (struct link *link = resource->links; link != NULL; link = link->next) {
        const struct resource *all = link->list->resource;
        if (all->lease == NULL && all->resumes == NULL && all->giving_back == NULL &&
            all->queue->round == NULL)
            continue;
        link->list->contended |= place_bit(link);
        here = true;
    }
    return here;
}

void names_contended(struct resource *resource)
{
    struct list *list = names_list(resource);
    if (list == NULL)
        resource->contended = true;
    else
        list->contended = (uint16_t)((1u << list->count) - 1);
}

void names_pass(struct coordinator *c, struct resource *resource, bool all)
{
    struct list *list = names_list(resource);
    if (list == NULL)
        return;
    for (uint32_t i = 0; i < list->count; i++)
        if (all || list->link[i].resource->contended)
            list->contended |= place_bit(&list->link[i]);
    list->passing |= list->contended;
    list->contended = 0;
    list_arm(c, list);
}

static void pass_one(struct coordinator *c, struct list *list)
{
    unsigned place = 0;
    while (!(list->passing & 1u << place))
        place++;
    list->passing &= (uint16_t) ~(1u << place);
    wake_pass(c, list->link[place].resource->name, c->releasers);
}

struct resource *names_timer(struct coordinator *c, struct list *list)
{
    if (list->passing != 0) {
        pass_one(c, list);
    } else {
        list_is_firm(c, list, false);
        if (list->resource->queue->head != NULL)
            others_are_calmed(list);
        look_at_places(c, list, UINT16_MAX, 0);
    }
    list_arm(c, list);
    return list->passing == 0 ? list->resource : NULL;
}
