/* The masters' keys for slots, and the script that looks at them. */
#include <string.h>

#include "tests/fuzz/masters.h"

struct key *master_slot_key(struct fake_master *m, unsigned name, unsigned slot, int64_t now_ms)
{
    struct slot_key *place = NULL;
    for (unsigned i = 0; i < SLOT_KEYS; i++) {
        struct slot_key *at = &m->slot_keys[i];
        if (at->key.ends_ms <= now_ms)
            place = at;
        else if (at->name == name && at->slot == slot)
            return &at->key;
    }
    if (place == NULL)
        return NULL;
    *place = (struct slot_key){.name = name, .slot = slot};
    return &place->key;
}

/* The number that the first daemon said stands as long as daemons look that say the same. */
static uint16_t agree(struct slots_said *said, const struct sent *sent, int64_t now_ms)
{
    if (said->ends_ms <= now_ms)
        said->slots = sent->slots;
    if (said->slots == sent->slots)
        said->ends_ms = now_ms + (int64_t)sent->number;
    return said->slots;
}

/* How many of the first slots have keys, each of which is put into the bit map; *least_ms gets the shortest TTL. */
static unsigned taken(const struct fake_master *m, const struct sent *sent, int64_t now_ms, uint8_t *map,
                      int64_t *least_ms)
{
    unsigned count = 0;
    *least_ms = INT64_MAX;
    for (unsigned i = 0; i < SLOT_KEYS; i++) {
        const struct slot_key *at = &m->slot_keys[i];
        int64_t left_ms = at->key.ends_ms - now_ms;
        if (at->name != sent->name || at->slot >= sent->slots || left_ms <= 0)
            continue;
        map[at->slot / 8] = (uint8_t)(map[at->slot / 8] | 1u << at->slot % 8);
        *least_ms = left_ms < *least_ms ? left_ms : *least_ms;
        count++;
    }
    return count;
}

/* The map's bytes beyond the slots that were asked for are full. */
void master_look(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    static const struct token nobody;
    bool joins = memcmp(&sent->to, &nobody, sizeof nobody) != 0;
    struct slots_seen *seen = &vote->seen;
    int64_t least_ms;
    vote->kind = VOTE_LOOKED;
    memset(seen->taken, 0xff, sizeof seen->taken);
    memset(seen->taken, 0, (sent->slots + 7u) / 8);
    bool full = taken(m, sent, now_ms, seen->taken, &least_ms) == sent->slots;
    seen->slots = agree(&m->said[sent->name], sent, now_ms);
    seen->heard = !joins || !full || now_ms % 3; /* the holders' daemons are made up */
    vote->number = joins && full ? (uint64_t)least_ms : 0;
}

bool master_has_free(const struct fake_master *m, unsigned name, int64_t now_ms)
{
    struct sent all = {.name = name};
    uint8_t map[SLOTS_MAX / 8] = {0};
    int64_t least_ms;
    if (name < SINGLE_NAMES && m->said[name].ends_ms > now_ms)
        all.slots = m->said[name].slots;
    return all.slots != 0 ? taken(m, &all, now_ms, map, &least_ms) < all.slots
                          : m->keys[name].ends_ms <= now_ms;
}
