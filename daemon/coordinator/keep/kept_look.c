/* Marks that were told: they are looked after until they end.
 *
 *     a master is new, or came back --> a walk over all marks: which of them may be missing there?
 *     letters about a name -----------> 20 ms later, once a second: its mark
 *          |
 *          v
 *     EXTEND by 1 ms, which lengthens no TTL, of at most 64 marks at a time: the driver makes one command of them
 *          |   \-- N-Q+1 lost what they had acknowledged: somebody released it; it is dropped
 *          | Q masters have it
 *     HEAL where it was forgotten, EXTEND where it would end before the others
 *
 * Where a mark is left unhealed, since a clock is not known or the master refused, a walk comes after a second, then after
 * two, four, up to a minute; each second while masters are changed. */
#include <assert.h>
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/kept.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

enum {
    ASKED_AT_ONCE = 64, /* as many EXTENDs fit into one command */
    SCANNED = 64,       /* marks passed in a step of a walk */
    LETTERS_MS = 20,    /* letters of other masters may follow the first one */
    LETTERS_AGAIN_MS = 1000,
    PAUSE_MS = 1000,
    LONGEST_PAUSE_MS = 60000,
};

/* Ids of marks are none of leases, since the reply to a heal may be for either. */
static const uint64_t KEPT_SERIALS = (uint64_t)1 << 41;

/* ---- the table ---- */

bool kept_init(struct coordinator *c)
{
    uint32_t most = c->config.max_marks;
    c->keeps.item.kind = ITEM_KEPT_WALK;
    c->keeps.pause_ms = PAUSE_MS;
    if (!pool_init(&c->kepts, sizeof(struct kept), most))
        return false;
    c->kepts.serial = KEPT_SERIALS;
    return table_init(&c->keeps.names, most, c->kepts.slots + offsetof(struct kept, hash), c->kepts.size);
}

void kept_free_all(struct coordinator *c)
{
    pool_free(&c->kepts);
    table_free(&c->keeps.names);
}

static struct kept *kept_find(const struct coordinator *c, const struct name *name)
{
    uint32_t hash = table_hash(c->config.hash_seed, name->text, name->len), slot;
    uint32_t place = table_first(&c->keeps.names, hash);
    while (table_next(&c->keeps.names, hash, &place, &slot)) {
        struct kept *kept = pool_at(&c->kepts, slot);
        bool alike = memcmp(kept->name, name, offsetof(struct name, text)) == 0;
        if (alike && memcmp(kept->name->text, name->text, name->len) == 0)
            return kept;
    }
    return NULL;
}

void kept_free(struct coordinator *c, struct kept *kept)
{
    if (kept->told)
        table_remove(&c->keeps.names, pool_slot(&c->kepts, kept));
    heap_remove(&c->deadlines, &kept->item);
    c->peer_marks[kept->peer]--;
    intern_name_back(&c->intern, kept->name);
    pool_give(&c->kepts, kept);
}

/* The waiters of the name here, whose head is to ask when the release is answered; NULL: none. */
static struct resource *waiting_for(const struct coordinator *c, const struct name *name)
{
    struct resource *resource = resource_find(c, name);
    if (resource == NULL || resource->queue->slots != NULL)
        return NULL;
    return resource->lease != NULL && lease_is_bound(resource->lease) ? NULL : resource;
}

/* A mark that was not told may not be there yet: then the lock's tokens are. */
void kept_drop(struct coordinator *c, struct kept *kept)
{
    struct kept was = *kept;
    const struct name *name = intern_name_again(&c->intern, kept->name);
    kept_free(c, kept);
    struct release_order order = {.name = name,
                                  .token = &was.token,
                                  .other = was.told ? NULL : &was.key,
                                  .third = was.told || !was.has_other ? NULL : &was.other,
                                  .ttl_ms = was.keep_ms > c->longest_ttl_ms ? was.keep_ms : c->longest_ttl_ms,
                                  .may = was.sent,
                                  .resource = waiting_for(c, name),
                                  .known = true,
                                  .wakes = true};
    release_begin(c, &order);
    intern_name_back(&c->intern, name);
}

static void kept_rearm(struct coordinator *c, struct kept *kept)
{
    int64_t look_ms = kept->asked_ms + LETTERS_AGAIN_MS;
    if (look_ms < c->now_ms + LETTERS_MS)
        look_ms = c->now_ms + LETTERS_MS;
    bool looks = kept->doubted && !kept->asking;
    heap_set(&c->deadlines, &kept->item, looks ? earlier_ms(look_ms, kept->ends_ms) : kept->ends_ms);
}

void kept_begins(struct coordinator *c, struct kept *kept)
{
    struct kept *older = kept_find(c, kept->name);
    if (older != NULL)
        kept_drop(c, older); /* the name was locked since, so it was lost or released */
    kept->told = true;
    table_add(&c->keeps.names, pool_slot(&c->kepts, kept));
    kept_rearm(c, kept);
}

/* ---- what the masters have ---- */

void kept_refresh(struct coordinator *c, struct kept *kept)
{
    if (kept->memories == c->memories)
        return;
    for (unsigned i = 0; i < c->config.masters; i++) {
        masters_t bit = masters_bit(i);
        if (c->masters[i].memory.number <= kept->memories)
            continue;
        /* If only the master's clock jumped, a key that is still there was there all the time. */
        if (c->masters[i].memory.lost > kept->memories)
            kept->confirmed = masters_without(kept->confirmed, bit);
        kept->had = masters_without(kept->had, bit);
        kept->healing = masters_without(kept->healing, bit);
        kept->gone = masters_without(kept->gone, bit);
    }
    kept->memories = c->memories;
}

static void kept_again(struct coordinator *c, bool unhealed)
{
    struct keeps *keeps = &c->keeps;
    keeps->unhealed |= unhealed;
    if (unhealed && !keeps->walking && keeps->item.place == 0)
        heap_set(&c->deadlines, &keeps->item, c->now_ms + keeps->pause_ms);
}

void kept_heal(struct coordinator *c, struct kept *kept, masters_t masters)
{
    masters = masters_without(masters & c->extenders, kept->healing);
    masters_t sent = heal_send(c, kept->name, &kept->token, kept->id, kept->ends_ms, masters);
    kept->healing |= sent;
    kept->sent |= sent;
    kept_again(c, sent != masters);
}

void kept_healed(struct coordinator *c, uint64_t ref, unsigned master, const struct vote *vote)
{
    struct kept *kept = pool_find(&c->kepts, ref);
    masters_t bit = masters_bit(master);
    if (kept == NULL)
        return;
    kept_refresh(c, kept);
    kept->healing = masters_without(kept->healing, bit);
    kept_again(c, vote->kind != VOTE_YES);
    if (vote->kind == VOTE_YES) {
        kept_is_at(kept, bit);
        kept->confirmed |= bit;
    }
}

/* Masters in service that may be without it although nobody released it there. */
static masters_t kept_lacks(struct coordinator *c, struct kept *kept)
{
    kept_refresh(c, kept);
    return masters_without(c->extenders, kept->had | kept->gone);
}

/* ---- looking ---- */

/* Returns false if there is no room for another question now. */
static bool kept_look(struct coordinator *c, struct kept *kept)
{
    if (kept->asking)
        return true;
    if (c->keeps.asking >= ASKED_AT_ONCE)
        return false;
    struct round *round = round_begin(c, ROUND_CHECKING, kept->name, &kept->token, 0);
    if (round == NULL)
        return false;
    kept_refresh(c, kept);
    round->purpose = ROUND_KEEP;
    round->kept = kept->id;
    round->votes = c->renewers | (masters_without(kept->confirmed, c->fast) & c->extenders);
    round->tally.asked = c->extenders;
    kept->asking = true;
    kept->doubted = false;
    kept->asked_ms = c->now_ms;
    c->keeps.asking++;
    kept_ask(c, round, c->extenders);
    kept_rearm(c, kept);
    return true;
}

/* The answers of all masters are awaited, so that each is healed in the same look. */
void kept_looked(struct coordinator *c, struct kept *kept, struct round *round, bool late)
{
    masters_t granted = masters_without(round->tally.granted, round->voided);
    bool stands = quorum_has(&c->quorum, kept_yes(c, round));
    masters_t refused = round->tally.refused;
    if (!late && round_silent(round) != 0)
        return;
    if (stands)
        kept_lengthen(c, kept, round, kept->brief & c->extenders);
    round_decided(c, round);
    c->keeps.asking--;
    kept->asking = false;
    if (generation_denies(c, kept->gone)) {
        kept_drop(c, kept);
        return;
    }
    if (stands) {
        kept->confirmed |= granted;
        kept_heal(c, kept, masters_without(refused, kept->had | kept->gone));
    }
    kept_again(c, masters_without(kept_lacks(c, kept), kept->healing) != 0);
    kept_rearm(c, kept);
}

void kept_timer(struct coordinator *c, struct kept *kept)
{
    if (c->now_ms >= kept->ends_ms)
        kept_free(c, kept);
    else if (!kept->doubted || kept_look(c, kept))
        kept_rearm(c, kept);
    else
        heap_set(&c->deadlines, &kept->item, earlier_ms(c->now_ms + LETTERS_MS, kept->ends_ms));
}

void kept_doubt(struct coordinator *c, struct kept *kept)
{
    if (kept->doubted)
        return;
    kept->doubted = true;
    kept_rearm(c, kept);
}

void kept_letter(struct coordinator *c, const struct name *name)
{
    struct kept *kept = c->kepts.used != 0 ? kept_find(c, name) : NULL;
    if (kept != NULL)
        kept_doubt(c, kept);
}

/* ---- walks ---- */

static void walk_begin(struct coordinator *c)
{
    c->keeps.walking = true;
    c->keeps.unhealed = false;
    c->keeps.cursor = 0;
}

static void walk_end(struct coordinator *c)
{
    c->keeps.walking = false;
    if (!c->keeps.unhealed) {
        heap_remove(&c->deadlines, &c->keeps.item);
        return;
    }
    heap_set(&c->deadlines, &c->keeps.item, c->now_ms + c->keeps.pause_ms);
    if (c->generation.stage != GENERATION_RAISING) /* else the step waits for them */
        c->keeps.pause_ms = earlier_ms(2 * c->keeps.pause_ms, LONGEST_PAUSE_MS);
}

void kept_walk_timer(struct coordinator *c)
{
    struct keeps *keeps = &c->keeps;
    if (!keeps->walking)
        walk_begin(c);
    for (unsigned i = 0; i < SCANNED && keeps->cursor < c->kepts.fresh; i++) {
        struct kept *kept = pool_at(&c->kepts, keeps->cursor);
        bool lacks = kept != NULL && kept->told && masters_without(kept_lacks(c, kept), kept->healing) != 0 &&
                     !kept->asking;
        if (lacks && !kept_look(c, kept)) {
            heap_set(&c->deadlines, &keeps->item, c->now_ms + 1);
            return;
        }
        keeps->cursor++;
        if (lacks)
            break; /* one question a step */
    }
    if (keeps->cursor < c->kepts.fresh)
        heap_set(&c->deadlines, &keeps->item, c->now_ms);
    else if (keeps->asking != 0)
        heap_set(&c->deadlines, &keeps->item,
                 c->now_ms + PAUSE_MS); /* what the last questions bring counts, too */
    else
        walk_end(c);
}

void kept_step(struct coordinator *c)
{
    struct keeps *keeps = &c->keeps;
    bool came = masters_without(c->extenders, keeps->extenders) != 0 || c->memories != keeps->memories;
    keeps->extenders = c->extenders;
    keeps->memories = c->memories;
    if (!came || c->kepts.used == 0)
        return;
    walk_begin(c);
    keeps->pause_ms = PAUSE_MS;
    heap_set(&c->deadlines, &keeps->item, c->now_ms);
}

/* ---- check ---- */

void kept_check(const struct coordinator *c)
{
    uint32_t used = 0, told = 0, asking = 0, making = 0;
    for (const struct in_flight *i = c->rounds_pending.first; i != NULL; i = i->next) {
        const struct round *round = IN_FLIGHT_OWNER(round, i);
        if (round->purpose != ROUND_KEEP || round->phase == ROUND_DECIDED)
            continue;
        const struct kept *kept = pool_find(&c->kepts, round->kept);
        bool looks = round->phase == ROUND_CHECKING;
        assert(looks || (kept != NULL && !kept->told && round->request != 0));
        asking += looks;
        making += !looks;
    }
    for (uint32_t slot = 0; slot < c->kepts.fresh; slot++) {
        const struct kept *kept = pool_at(&c->kepts, slot);
        if (kept == NULL)
            continue;
        used++;
        told += kept->told;
        assert(kept->told == (kept->item.place != 0) && (!kept->told || kept_find(c, kept->name) == kept));
        assert(masters_without(kept->had | kept->healing, kept->sent) == 0 && (kept->had & kept->gone) == 0);
    }
    assert(used == c->kepts.used && told == c->keeps.names.count && used - told == making);
    assert(asking == c->keeps.asking);
}
