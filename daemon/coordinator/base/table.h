/* A hash table from 32-bit hashes to slots of a pool: open addressing with linear probing and a fixed
 * capacity.
 *
 * The table is at most three quarters full; even then an unsuccessful search takes 8.5 probes on average,
 * and they are neighbours in memory (Knuth 6.4). The table starts small, so that the entries in use share
 * cache lines, and doubles in one step (a millisecond or two at 100,000 entries). Several objects may have
 * the same hash, so the caller compares the keys:
 *
 *     uint32_t place = table_first(t, hash), slot;
 *     while (table_next(t, hash, &place, &slot))
 *         if (the key of objects[slot] is equal) ... */
#ifndef REDLOCKD_TABLE_H
#define REDLOCKD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_GROWTHS = 12 };

struct table {
    uint32_t *entries;  /* slot + 1 in the low bits, upper bits of the hash above; 0: empty */
    const char *hashes; /* borrowed: the hash of the object in slot 0 ... */
    size_t apart;       /* ... and the bytes from one object's hash to the next */
    uint32_t mask;      /* entries - 1; their number is a power of two */
    uint32_t count;
    uint32_t capacity;
    uint32_t *larger[TABLE_GROWTHS]; /* the arrays that replace entries in turn; NULL: used, or not needed */
};

/* Allocates all sizes of the table at once, for capacity objects in the end. The objects are in an array
 * whose elements are apart bytes apart; hashes points to the uint32_t hash in the first one, and an
 * object's hash must not change while the object is in the table. Returns false when there is no memory;
 * table_free() is allowed even then. */
bool table_init(struct table *table, uint32_t capacity, const void *hashes, size_t apart);
void table_free(struct table *table);
/* Adds the object in this slot, by the hash that it contains. */
void table_add(struct table *table, uint32_t slot);
/* Removes the object in this slot, which must be in the table. */
void table_remove(struct table *table, uint32_t slot);
/* The place where a search for this hash begins. */
uint32_t table_first(const struct table *table, uint32_t hash);
/* Sets slot to the next object with this hash and moves place behind it; returns false if there is none. */
bool table_next(const struct table *table, uint32_t hash, uint32_t *place, uint32_t *slot);

/* Hashes len bytes. The seed is secret, so that clients cannot choose names that collide. */
uint32_t table_hash(uint64_t seed, const void *bytes, size_t len);

#endif
