#include "daemon/coordinator/names.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/resource.h"
#include "daemon/coordinator/turn.h"
#include "daemon/coordinator/wake.h"
#include "proto/names.h"

static uint16_t place_bit(const struct link *link)
{
    return (uint16_t)(1u << (link - link->list->link));
}

/* ---- lists ---- */

static void names_link(struct list *list, struct resource *resource)
{
    struct link *link = &list->link[list->count++];
    link->resource = resource;
    link->list = list;
    link->next = resource->links;
    if (link->next != NULL)
        link->next->prev = link;
    resource->links = link;
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
    while (names_take(resource->name, &at, &name)) {
        struct resource *single = resource_find_or_make(c, &name);
        if (single == NULL || single->queue->slots != NULL)
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

/* Between two attempts a list keeps only the names that were not free. */
static bool lets_pass(const struct coordinator *c, const struct link *link)
{
    const struct list *list = link->list;
    return c->now_ms < list->resource->retry_ms && !(list->refused & place_bit(link));
}

static enum names_use more_used(enum names_use a, enum names_use b)
{
    return a > b ? a : b;
}

/* The lists that have this name, but for one. */
static enum names_use use_by_lists(const struct coordinator *c, const struct resource *single,
                                   const struct list *but, uint64_t wait)
{
    enum names_use use = NAMES_FREE;
    for (const struct link *link = single->links; link != NULL && use != NAMES_USED; link = link->next) {
        if (link->list == but)
            continue;
        const struct resource *all = link->list->resource;
        bool before = stands_before(all, wait) && !lets_pass(c, link);
        use = before ? NAMES_USED : more_used(use, use_of(all));
    }
    return use;
}

enum names_use names_use_linked(const struct coordinator *c, const struct resource *resource)
{
    const struct list *list = names_list(resource);
    const struct wait *head = resource->queue->head;
    uint64_t wait = head != NULL ? head->id : UINT64_MAX;
    enum names_use use = NAMES_FREE;
    if (list == NULL)
        return use_by_lists(c, resource, NULL, wait);
    for (uint32_t i = 0; i < list->count && use != NAMES_USED; i++) {
        const struct resource *single = list->link[i].resource;
        bool before = stands_before(single, wait) && !mutant(MUTANT_LIST_OVERTAKES);
        use = before ? NAMES_USED : more_used(use, use_of(single));
        use = more_used(use, use_by_lists(c, single, list, wait));
    }
    return use;
}

/* The head may ask when its item is due; resource_advance() says whether it may then. */
static void look_again(struct coordinator *c, struct resource *resource)
{
    struct queue *queue = resource->queue;
    if (queue->head != NULL && queue->round == NULL && !queue->sweeping)
        heap_set(&c->deadlines, &queue->item, c->now_ms);
}

static void look_at_lists(struct coordinator *c, const struct resource *single, const struct list *but)
{
    for (const struct link *link = single->links; link != NULL; link = link->next)
        if (link->list != but)
            look_again(c, link->list->resource);
}

void names_changed_linked(struct coordinator *c, const struct resource *resource)
{
    const struct list *list = names_list(resource);
    if (mutant(MUTANT_LIST_UNCHANGED))
        return;
    if (list == NULL) {
        look_at_lists(c, resource, NULL);
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        look_again(c, list->link[i].resource);
        look_at_lists(c, list->link[i].resource, list);
    }
}

void names_asked(struct resource *resource)
{
    struct list *list = names_list(resource);
    if (list != NULL)
        list->refused = 0;
}

void names_refused(struct resource *resource, uint64_t place)
{
    struct list *list = names_list(resource);
    if (list != NULL && place < list->count)
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
    if (list->passing != 0)
        heap_set(&c->deadlines, &list->item, c->now_ms);
}

struct resource *names_timer(struct coordinator *c, struct list *list)
{
    unsigned place = 0;
    assert(list->passing != 0);
    while (!(list->passing & 1u << place))
        place++;
    list->passing &= (uint16_t) ~(1u << place);
    wake_pass(c, list->link[place].resource->name, c->releasers);
    if (list->passing != 0)
        return NULL;
    heap_remove(&c->deadlines, &list->item);
    return list->resource;
}
