#include "daemon/coordinator/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool table_init(struct table *table, uint32_t capacity)
{
    uint64_t size = 16;
    while (size - size / 4 < capacity)
        size *= 2;
    table->entries = calloc(size, sizeof *table->entries);
    table->mask = (uint32_t)(size - 1);
    table->count = 0;
    table->capacity = capacity;
    return table->entries != NULL;
}

void table_free(struct table *table)
{
    free(table->entries);
}

void table_add(struct table *table, uint32_t hash, uint32_t slot)
{
    assert(table->count < table->capacity);
    uint32_t place = hash & table->mask;
    while (table->entries[place].value != 0)
        place = (place + 1) & table->mask;
    table->entries[place] = (struct table_entry){hash, slot + 1};
    table->count++;
}

/* Moves later entries of the run back into the gap (Knuth 6.4, algorithm R), so that
 * there are no tombstones to step over. */
void table_remove(struct table *table, uint32_t hash, uint32_t slot)
{
    uint32_t gap = hash & table->mask;
    while (table->entries[gap].value != slot + 1) {
        assert(table->entries[gap].value != 0);
        gap = (gap + 1) & table->mask;
    }
    for (uint32_t place = (gap + 1) & table->mask; table->entries[place].value != 0;
         place = (place + 1) & table->mask) {
        uint32_t home = table->entries[place].hash & table->mask;
        bool reachable = ((place - home) & table->mask) >= ((place - gap) & table->mask);
        if (reachable) {
            table->entries[gap] = table->entries[place];
            gap = place;
        }
    }
    table->entries[gap].value = 0;
    table->count--;
}

uint32_t table_first(const struct table *table, uint32_t hash)
{
    return hash & table->mask;
}

bool table_next(const struct table *table, uint32_t hash, uint32_t *place, uint32_t *slot)
{
    for (;; *place = (*place + 1) & table->mask) {
        const struct table_entry *entry = &table->entries[*place];
        if (entry->value == 0)
            return false;
        if (entry->hash == hash) {
            *slot = entry->value - 1;
            *place = (*place + 1) & table->mask;
            return true;
        }
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
