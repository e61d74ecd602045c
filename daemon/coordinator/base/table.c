#include "daemon/coordinator/base/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/coordinator/base/pool.h"

/* An entry has slot + 1 in its low bits and, above, as many bits of the hash as there is room for: by these
 * bits, nearly all objects with another hash are passed over without a look at the object itself. */
enum { SLOT_BITS = POOL_SLOT_BITS };
static const uint32_t SLOT_MASK = (UINT32_C(1) << SLOT_BITS) - 1;

enum { SIZE_MIN = 16, SIZE_FIRST = 1024 };

static_assert((SIZE_FIRST << TABLE_GROWTHS) / 4 * 3 > POOL_CAPACITY, "the largest is large enough");

static uint32_t room_in(uint64_t size)
{
    return (uint32_t)(size - size / 4);
}

bool table_init(struct table *table, uint32_t capacity, const void *hashes, size_t apart)
{
    assert(capacity <= SLOT_MASK);
    uint64_t most = SIZE_MIN;
    while (room_in(most) < capacity)
        most *= 2;
    uint64_t size = most < SIZE_FIRST ? most : SIZE_FIRST;
    *table =
        (struct table){.hashes = hashes, .apart = apart, .mask = (uint32_t)(size - 1), .capacity = capacity};
    bool all = (table->entries = calloc(size, sizeof *table->entries)) != NULL;
    for (unsigned i = 0; size < most; i++) {
        size *= 2;
        all &= (table->larger[i] = calloc(size, sizeof *table->entries)) != NULL;
    }
    return all;
}

void table_free(struct table *table)
{
    free(table->entries);
    for (unsigned i = 0; i < TABLE_GROWTHS; i++)
        free(table->larger[i]);
}

static uint32_t table_slot_of(uint32_t entry)
{
    return (entry & SLOT_MASK) - 1;
}

static uint32_t table_slot_hash(const struct table *table, uint32_t slot)
{
    uint32_t hash;
    memcpy(&hash, table->hashes + slot * table->apart, sizeof hash);
    return hash;
}

static uint32_t entry_of(uint32_t hash, uint32_t slot)
{
    return (hash & ~SLOT_MASK) | (slot + 1);
}

static void table_put(struct table *table, uint32_t slot)
{
    uint32_t hash = table_slot_hash(table, slot), place = hash & table->mask;
    while (table->entries[place] != 0)
        place = (place + 1) & table->mask;
    table->entries[place] = entry_of(hash, slot);
}

/* Moves all entries into the next larger array, which was allocated at the start. */
static void grow(struct table *table)
{
    uint32_t *old = table->entries, size = table->mask + 1;
    unsigned i = 0;
    while (table->larger[i] == NULL)
        i++;
    table->entries = table->larger[i];
    table->larger[i] = NULL;
    table->mask = 2 * size - 1;
    for (uint32_t place = 0; place < size; place++)
        if (old[place] != 0)
            table_put(table, table_slot_of(old[place]));
    free(old);
}

void table_add(struct table *table, uint32_t slot)
{
    assert(table->count < table->capacity && slot < SLOT_MASK);
    if (table->count == room_in((uint64_t)table->mask + 1))
        grow(table);
    table_put(table, slot);
    table->count++;
}

/* Moves later entries of the run back into the gap (Knuth 6.4, algorithm R), so that searches meet no
 * tombstones. */
void table_remove(struct table *table, uint32_t slot)
{
    uint32_t hash = table_slot_hash(table, slot), gap = hash & table->mask;
    while (table->entries[gap] != entry_of(hash, slot)) {
        assert(table->entries[gap] != 0);
        gap = (gap + 1) & table->mask;
    }
    for (uint32_t place = (gap + 1) & table->mask; table->entries[place] != 0;
         place = (place + 1) & table->mask) {
        uint32_t home = table_slot_hash(table, table_slot_of(table->entries[place])) & table->mask;
        bool reachable = ((place - home) & table->mask) >= ((place - gap) & table->mask);
        if (reachable) {
            table->entries[gap] = table->entries[place];
            gap = place;
        }
    }
    table->entries[gap] = 0;
    table->count--;
}

uint32_t table_first(const struct table *table, uint32_t hash)
{
    return hash & table->mask;
}

bool table_next(const struct table *table, uint32_t hash, uint32_t *place, uint32_t *slot)
{
    for (;;) {
        uint32_t entry = table->entries[*place];
        if (entry == 0)
            return false;
        *place = (*place + 1) & table->mask;
        *slot = table_slot_of(entry);
        if ((entry & ~SLOT_MASK) == (hash & ~SLOT_MASK) && table_slot_hash(table, *slot) == hash)
            return true;
    }
}

uint32_t table_hash(uint64_t seed, const void *bytes, size_t len)
{
    uint64_t hash = seed ^ UINT64_C(14695981039346656037);
    const uint8_t *p = bytes;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    for (; len > 0; p++, len--)
        hash = (hash ^ *p) * UINT64_C(1099511628211);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32);
}
