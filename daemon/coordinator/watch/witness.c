#include "daemon/coordinator/watch/witness.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/watch/watch.h"

enum {
    REMEMBERED_MS = 3000,
    TOLD_A_STEP = 4,
};

static struct witness *witness_find(const struct coordinator *c, const struct name *name, uint32_t hash)
{
    uint32_t place = table_first(&c->witness_names, hash), slot;
    while (table_next(&c->witness_names, hash, &place, &slot)) {
        struct witness *witness = pool_at(&c->witnesses, slot);
        if (witness->name->len == name->len && memcmp(witness->name->text, name->text, name->len) == 0)
            return witness;
    }
    return NULL;
}

static uint32_t witness_hash(const struct coordinator *c, const struct name *name)
{
    return table_hash(c->config.hash_seed, name->text, name->len);
}

static void witness_free(struct coordinator *c, struct witness *witness)
{
    heap_remove(&c->deadlines, &witness->item);
    table_remove(&c->witness_names, pool_slot(&c->witnesses, witness));
    intern_name_back(&c->intern, witness->name);
    pool_give(&c->witnesses, witness);
}

static struct witness *witness_make(struct coordinator *c, const struct name *name, uint32_t hash)
{
    struct witness *witness = pool_take(&c->witnesses);
    if (witness == NULL)
        return NULL;
    witness->item.kind = ITEM_WITNESS;
    witness->hash = hash;
    witness->name = intern_name(&c->intern, name);
    table_add(&c->witness_names, pool_slot(&c->witnesses, witness));
    return witness;
}

/* The place of that daemon, or of one that is forgotten; WITNESSES: there is none. */
static unsigned place_of(const struct coordinator *c, const struct witness *witness,
                         const struct token *daemon)
{
    unsigned over = WITNESSES;
    for (unsigned i = 0; i < WITNESSES; i++) {
        if (memcmp(witness->daemon[i].bytes, daemon->bytes, TOKEN_ID_BYTES) == 0)
            return i;
        if (c->now_ms >= witness->until_ms[i])
            over = i;
    }
    return over;
}

static int64_t last_ms(const struct witness *witness)
{
    int64_t last = 0;
    for (unsigned i = 0; i < WITNESSES; i++)
        last = witness->until_ms[i] > last ? witness->until_ms[i] : last;
    return last;
}

static void witness_rearm(struct coordinator *c, struct witness *witness)
{
    heap_set(&c->deadlines, &witness->item, witness->telling < WITNESSES ? c->now_ms : last_ms(witness));
}

/* Where there are too many, those that come last look each second. */
void witness_came(struct coordinator *c, const struct name *name, const struct token *daemon)
{
    uint32_t hash = witness_hash(c, name);
    struct witness *witness = witness_find(c, name, hash);
    if (memcmp(daemon->bytes, c->config.self.bytes, TOKEN_ID_BYTES) == 0)
        return;
    if (witness == NULL)
        witness = witness_make(c, name, hash);
    if (witness == NULL)
        return;
    if (last_ms(witness) == 0)
        witness->telling = WITNESSES;
    unsigned place = place_of(c, witness, daemon);
    if (place < WITNESSES) {
        witness->daemon[place] = *daemon;
        witness->until_ms[place] = c->now_ms + REMEMBERED_MS;
    }
    witness_rearm(c, witness);
}

static void witness_tell(struct coordinator *c, struct witness *witness)
{
    for (unsigned told = 0; witness->telling < WITNESSES && told < TOLD_A_STEP; witness->telling++) {
        unsigned i = witness->telling;
        if (c->now_ms >= witness->until_ms[i] || c->releasers == 0)
            continue;
        action_command(c, c->releasers, COMMAND_NEWS, witness->name)->token = witness->daemon[i];
        told++;
    }
}

void witness_timer(struct coordinator *c, struct witness *witness)
{
    if (witness->telling < WITNESSES)
        witness_tell(c, witness);
    if (witness->telling == WITNESSES && c->now_ms >= last_ms(witness))
        witness_free(c, witness);
    else
        witness_rearm(c, witness);
}

void witness_touched(struct coordinator *c, const struct name *name)
{
    struct witness *witness = witness_find(c, name, witness_hash(c, name));
    if (witness != NULL) {
        witness->telling = 0;
        witness_rearm(c, witness);
    }
    watch_news(c, name);
}
