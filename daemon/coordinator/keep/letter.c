#include "daemon/coordinator/keep/letter.h"

#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/renewal.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/wait/resource.h"

enum {
    FEW_MS = 20,      /* letters of fewer masters may be all that come */
    SECOND_MS = 1000, /* in this time a name's leases are asked once for each reason */
    QUARTER = 4,      /* the part of max_renewals that is there for letters */
    LOOKS = 64,       /* readers, or lists of a name, looked at in a step ... */
    ASKS = 8,         /* ... and readers asked about */
};

static bool are_many(const struct coordinator *c, masters_t masters)
{
    return quorum_blocks(&c->quorum, masters);
}

/* ---- when the leases are asked ---- */

static int64_t letter_due_ms(const struct coordinator *c, const struct letter *letter)
{
    if (!letter->news)
        return INT64_MAX;
    if (!letter->asked_many && are_many(c, letter->from))
        return c->now_ms;
    return letter->first_ms + (letter->asked ? SECOND_MS : FEW_MS);
}

static void letter_rearm(struct coordinator *c, struct letter *letter)
{
    int64_t at_ms = letter_due_ms(c, letter);
    if (letter->walking || at_ms < letter->retry_ms)
        at_ms = letter->retry_ms;
    heap_set(&c->deadlines, &letter->item, at_ms < c->now_ms ? c->now_ms : at_ms);
}

/* Letters that come after a second whose leases were asked begin another one, without the right to be asked at once:
 * they may be forged. */
static void letter_second(const struct coordinator *c, struct letter *letter, bool goes_on)
{
    letter->first_ms = c->now_ms;
    letter->from = 0;
    letter->asked = letter->asked_many = goes_on;
}

static bool letter_must_wait(const struct coordinator *c)
{
    uint32_t most = c->config.max_renewals / QUARTER;
    return c->lettered >= (most > 0 ? most : 1) || c->renewing >= c->config.max_renewals;
}

/* ---- asking ---- */

/* After a pause a lease may be over whose own timer has not run yet, and its token may have been released since. */
static bool is_to_ask(const struct coordinator *c, const struct lease *lease)
{
    return renewal_is_wanted(c, lease) && c->now_ms < lease->until_ms;
}

/* Returns false if the lease cannot be asked now: a renewal began before the letter came, or a RESUME moves the key. */
static bool letter_ask(struct coordinator *c, struct lease *lease)
{
    if (!is_to_ask(c, lease))
        return true;
    if (lease->renewing || lease_is_resumed(lease))
        return false;
    extend_renew(c, lease);
    lease->lettered = lease->renewing;
    c->lettered += lease->lettered;
    return true;
}

/* The list that has the name; NULL: none. */
static struct lease *letter_list(const struct resource *resource)
{
    const struct link *link = resource->links;
    if (names_list(resource) != NULL)
        return NULL;
    while (link != NULL &&
           (link->list->resource->lease == NULL || !lease_is_bound(link->list->resource->lease)))
        link = link->next;
    return link != NULL ? link->list->resource->lease : NULL;
}

/* Goes on with the leases of the name: readers may have many. */
static void letter_walk(struct coordinator *c, struct letter *letter, struct crowd *crowd)
{
    unsigned asks = 0;
    for (unsigned i = 0; i < LOOKS && asks < ASKS && crowd->lettered != NULL; i++) {
        struct lease *lease = crowd->lettered;
        crowd->lettered = shared_next(c, lease);
        if (!lease->keeping->has_key || !is_to_ask(c, lease))
            continue;
        asks++;
        letter->again |= !letter_ask(c, lease);
    }
    letter->walking = crowd->lettered != NULL;
}

static bool is_asked_for(const struct resource *resource)
{
    return resource->queue->round != NULL || resource->resumes != NULL;
}

/* Whether masters may have a key of this daemon's that no lease stands for yet: then the letter may be about that. Of
 * the lists that have the name only some are looked at, since letters may be forged. */
static bool letter_is_early(const struct resource *resource)
{
    const struct link *link = resource->links;
    bool early = resource->lease == NULL && is_asked_for(resource);
    for (unsigned i = 0; i < LOOKS && link != NULL && resource->lease == NULL && !early;
         i++, link = link->next)
        early = link->list->resource->lease == NULL && is_asked_for(link->list->resource);
    return early;
}

static void letter_begin(struct coordinator *c, struct letter *letter, struct resource *resource)
{
    struct lease *lease = resource->lease, *list = letter_list(resource);
    if (letter->doubted_ms >= c->now_ms) /* the answers to what is sent from now on will be newer */
        letter->doubted_ms = c->now_ms - 1;
    if (c->now_ms >= letter->first_ms + SECOND_MS)
        letter_second(c, letter, true);
    letter->asked = true;
    letter->asked_many |= are_many(c, letter->from);
    letter->news = false;
    letter->again = letter_is_early(resource);
    if (list != NULL)
        letter->again |= !letter_ask(c, list);
    crowd_of(c, resource)->lettered = lease;
    letter_walk(c, letter, crowd_of(c, resource));
}

/* A lease that could not be asked is to be asked soon. */
static void letter_ends(const struct coordinator *c, struct letter *letter)
{
    if (letter->walking || !letter->again)
        return;
    letter->again = letter->asked = letter->asked_many = false;
    letter->news = true;
    letter->doubted_ms = c->now_ms;
    letter->retry_ms = c->now_ms + FEW_MS;
}

/* Ninety thousand letters may wait: none looks again before it has waited for as long once more. */
static void letter_later(struct coordinator *c, struct letter *letter)
{
    int64_t waited_ms = c->now_ms - letter->first_ms;
    if (waited_ms < FEW_MS)
        waited_ms = FEW_MS;
    if (waited_ms > SECOND_MS)
        waited_ms = SECOND_MS;
    letter->retry_ms = c->now_ms + random_between(c, waited_ms / 2, waited_ms);
}

void letter_timer(struct coordinator *c, struct letter *letter)
{
    struct resource *resource = pool_find(&c->resources, letter->resource);
    heap_remove(&c->deadlines, &letter->item);
    if (resource == NULL || !resource->lettered)
        return;
    bool due = c->now_ms >= letter->retry_ms && (letter->walking || letter_due_ms(c, letter) <= c->now_ms);
    if (due && letter_must_wait(c))
        letter_later(c, letter);
    else if (due && letter->walking)
        letter_walk(c, letter, crowd_of(c, resource));
    else if (due)
        letter_begin(c, letter, resource);
    letter_ends(c, letter);
    letter_rearm(c, letter);
}

/* ---- letters that come ---- */

static void letter_doubt(struct coordinator *c, struct letter *letter, const struct resource *resource)
{
    struct lease *lease = resource->lease;
    letter->doubted_ms = c->now_ms;
    if (lease != NULL && lease->secret != NULL && !lease->secret->settling)
        lease_settle(c, lease);
}

static struct letter *letter_new(struct coordinator *c, struct resource *resource)
{
    struct letter *letter = letter_of(c, resource);
    struct heap_item item = letter->item;
    if (resource->lettered)
        return letter;
    resource->lettered = true;
    *letter = (struct letter){.item = item, .resource = resource->id, .first_ms = INT64_MIN / 2};
    letter->item.kind = ITEM_LETTER;
    crowd_of(c, resource)->lettered = NULL;
    return letter;
}

/* A lock that was granted within a second of letters may be ended within it as well. */
static bool is_granted_since(const struct coordinator *c, const struct resource *resource, int64_t at_ms)
{
    const struct lease *lease = resource->lease; /* of readers with a session the latest */
    const struct lease *common = lease != NULL && lease->mode->shares ? crowd_of(c, resource)->latest : NULL;
    return (lease != NULL && lease->granted_ms >= at_ms) || (common != NULL && common->granted_ms >= at_ms);
}

/* Doubts come with the first letter of a second or of a new grant, and when letters are many, and not with others: else
 * forged ones could keep a crowd in doubt for ever. */
void letter_came(struct coordinator *c, unsigned master, const struct name *name)
{
    struct resource *resource = resource_find(c, name);
    if (resource == NULL)
        return;
    bool early = letter_is_early(resource);
    if (resource->lease == NULL && resource->links == NULL && !early)
        return;
    struct letter *letter = letter_new(c, resource);
    masters_t before = letter->from;
    bool anew = is_granted_since(c, resource, letter->doubted_ms);
    bool again =
        anew && letter->news && c->now_ms >= letter->anew_ms + SECOND_MS && c->now_ms > letter->first_ms;
    bool first = again || (!letter->news && (anew || c->now_ms >= letter->first_ms + SECOND_MS));
    if (again)
        letter->anew_ms = c->now_ms;
    if (first) {
        letter_second(c, letter, false);
        before = 0;
    }
    letter->news = true;
    letter->from |= masters_bit(master);
    if (first || anew || early || (!letter->asked_many && are_many(c, letter->from) && !are_many(c, before)))
        letter_doubt(c, letter, resource);
    letter_rearm(c, letter);
}
