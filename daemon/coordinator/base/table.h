/* A hash table from 32-bit hashes to slots of a pool: open addressing, fixed capacity,
 * at most three quarters full: then, and only then, one that is not there costs eight looks
 * in a row (Knuth 6.4). It begins small, since what is in use together should lie together
 * in the cache, and doubles in one step (a millisecond or two at 100,000). Whoever asks compares the keys:
 *
 *     uint32_t place = table_first(t, hash), slot;
 *     while (table_next(t, hash, &place, &slot))
 *         if (objects[slot] is the one) ... */
#ifndef REDLOCKD_TABLE_H
#define REDLOCKD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_GROWTHS = 12 };

struct table {
    uint32_t *entries; /* slot + 1, below the first bits of its hash; 0: empty */
    const char
        *hashes; /* (ref) of slot 0: the uint32_t that an object keeps; slot 1's is apart bytes behind */
    size_t apart;
    uint32_t mask;
    uint32_t count;
    uint32_t capacity;
    uint32_t *larger[TABLE_GROWTHS]; /* what entries become when they are full, one after the other */
};

/* Each object keeps its hash while it is in the table. false: no memory. */
bool table_init(struct table *table, uint32_t capacity, const void *hashes, size_t apart);
void table_free(struct table *table);
void table_add(struct table *table, uint32_t slot);
void table_remove(struct table *table, uint32_t slot); /* it is there */
uint32_t table_first(const struct table *table, uint32_t hash);
bool table_next(const struct table *table, uint32_t hash, uint32_t *place, uint32_t *slot);

/* Seeded, so that nobody who chooses names can make them collide. */
uint32_t table_hash(uint64_t seed, const void *bytes, size_t len);

#endif
