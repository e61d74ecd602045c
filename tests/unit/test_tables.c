/* Heap, table and pool: random operations, each compared with the naive way. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/pool.h"
#include "daemon/coordinator/base/table.h"
#include "daemon/coordinator/keep/ended.h"
#include "tests/unit/suite.h"

enum { ITEMS = 300, SLOTS = 64 };

static uint64_t chance_state;

static uint64_t chance(uint64_t below)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (chance_state >> 33) % below;
}

/* ---- heap ---- */

/* The heap's content as a list: at_ms[i] of item i; INT64_MAX: not in it. */
static struct heap heap;
static struct heap_item items[ITEMS];
static int64_t at_ms[ITEMS];

static void heap_fresh(uint32_t capacity)
{
    ck_assert(heap_init(&heap, capacity));
    memset(items, 0, sizeof items);
    for (unsigned i = 0; i < ITEMS; i++)
        at_ms[i] = INT64_MAX;
}

static void heap_compare(void)
{
    int64_t first_ms = INT64_MAX;
    unsigned count = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        count += at_ms[i] != INT64_MAX;
        first_ms = at_ms[i] < first_ms ? at_ms[i] : first_ms;
        if (heap_at_ms(&heap, &items[i]) != at_ms[i])
            ck_abort_msg("item %u is elsewhere", i);
    }
    heap_check(&heap);
    ck_assert_uint_eq(heap.count, count);
    ck_assert_int_eq(heap_next_ms(&heap), first_ms);
    if (count == 0)
        ck_assert_ptr_null(heap_top(&heap));
    else
        ck_assert_int_eq(at_ms[heap_top(&heap) - items], first_ms);
}

T(heap_does_as_a_list)
{
    heap_fresh(ITEMS);
    heap_compare();
    for (unsigned run = 0; run < 30000; run++) {
        unsigned i = (unsigned)chance(ITEMS);
        switch (chance(8)) {
        case 0:
            heap_remove(&heap, &items[i]); /* there or not */
            at_ms[i] = INT64_MAX;
            break;
        case 1:
            heap_set(&heap, &items[i], INT64_MAX);
            at_ms[i] = INT64_MAX;
            break;
        case 2: heap_set(&heap, &items[i], at_ms[i]); break; /* to where it is */
        default: at_ms[i] = (int64_t)chance(run % 2 ? 10 : 1000000) - 5; heap_set(&heap, &items[i], at_ms[i]);
        }
        if (run % 16 == 0)
            heap_compare();
    }
    heap_free(&heap);
}

T(heap_gives_all_in_order)
{
    heap_fresh(ITEMS);
    for (unsigned i = 0; i < ITEMS; i++) /* full to its last place */
        heap_set(&heap, &items[i], at_ms[i] = (int64_t)chance(100));
    heap_compare();
    int64_t last_ms = -1;
    for (unsigned left = ITEMS; left > 0; left--) {
        struct heap_item *top = heap_top(&heap);
        ck_assert_int_ge(heap_next_ms(&heap), last_ms);
        last_ms = heap_next_ms(&heap);
        heap_remove(&heap, top);
        ck_assert_uint_eq(top->place, 0);
        heap_check(&heap);
    }
    ck_assert_int_eq(heap_next_ms(&heap), INT64_MAX);
    heap_free(&heap);
}

/* ---- table ---- */

/* The table's content as a list: hashes[slot], where there[slot]. */
static uint32_t hashes[SLOTS];
static bool there[SLOTS];

static void table_compare(const struct table *table)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        count += there[slot];
    ck_assert_uint_eq(table->count, count);
    for (uint32_t of = 0; of < SLOTS; of++) {
        uint32_t place = table_first(table, hashes[of]), slot;
        bool seen[SLOTS] = {false};
        while (table_next(table, hashes[of], &place, &slot)) {
            if (slot >= SLOTS || seen[slot])
                ck_abort_msg("slot %u twice, or none of ours", slot);
            seen[slot] = true;
        }
        for (slot = 0; slot < SLOTS; slot++)
            if (seen[slot] != (there[slot] && hashes[slot] == hashes[of]))
                ck_abort_msg("slot %u: %s", slot, seen[slot] ? "found, though removed" : "lost");
    }
}

/* Hashes that collide, also over the end of the array: runs grow long, and removals leave gaps in
 * them. */
static uint32_t crowded_hash(const struct table *table)
{
    uint32_t near_the_end = (uint32_t)(table->mask - 3 + chance(8));
    return chance(2) ? near_the_end & table->mask : (uint32_t)chance(UINT32_MAX);
}

T(table_does_as_a_list)
{
    struct table table;
    ck_assert(table_init(&table, SLOTS, hashes, sizeof hashes[0]));
    memset(there, 0, sizeof there);
    for (unsigned run = 0; run < 20000; run++) {
        uint32_t slot = (uint32_t)chance(SLOTS);
        bool fill = run / 1000 % 2 == 0;
        if (!there[slot] && (fill || chance(4) == 0)) {
            hashes[slot] = crowded_hash(&table);
            table_add(&table, slot);
            there[slot] = true;
        } else if (there[slot] && (!fill || chance(4) == 0)) {
            table_remove(&table, slot);
            there[slot] = false;
        }
        if (run % 16 == 0)
            table_compare(&table);
    }
    table_free(&table);
}

T(table_full_of_one_hash)
{
    struct table table;
    ck_assert(table_init(&table, SLOTS, hashes, sizeof hashes[0]));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        hashes[slot] = UINT32_MAX;
        there[slot] = true;
        table_add(&table, slot);
    }
    table_compare(&table);
    uint32_t place = table_first(&table, 7), slot; /* a search for an unknown hash ends in a full table too */
    ck_assert(!table_next(&table, 7, &place, &slot));
    for (slot = 0; slot < SLOTS; slot += 2) {
        table_remove(&table, slot);
        there[slot] = false;
    }
    table_compare(&table);
    table_free(&table);
}

static bool table_has(const struct table *table, uint32_t hash, uint32_t wanted)
{
    uint32_t place = table_first(table, hash), slot, times = 0;
    while (table_next(table, hash, &place, &slot))
        times += slot == wanted;
    ck_assert_uint_le(times, 1);
    return times == 1;
}

T(table_grows_with_what_is_in_it)
{
    enum { MANY = 20000 };
    static uint32_t many[MANY];
    struct table table;
    ck_assert(table_init(&table, MANY, many, sizeof many[0]));
    uint32_t small = table.mask;
    for (uint32_t slot = 0; slot < MANY; slot++) {
        many[slot] = (uint32_t)chance(slot % 3 ? UINT32_MAX : 50); /* and some hashes that many items share */
        table_add(&table, slot);
        ck_assert(table_has(&table, many[slot / 2], slot / 2)); /* before and behind a move */
        ck_assert_uint_le(table.count, table.mask + 1 - (table.mask + 1) / 4);
    }
    ck_assert_uint_gt(table.mask, small);
    for (uint32_t slot = 0; slot < MANY; slot += 2)
        table_remove(&table, slot);
    for (uint32_t slot = 0; slot < MANY; slot += 97)
        ck_assert_int_eq(table_has(&table, many[slot], slot), slot % 2);
    ck_assert_uint_eq(table.count, MANY / 2);
    table_free(&table);
}

T(table_hash_depends_on_each_byte_and_the_seed)
{
    char bytes[40] = "a name of forty bytes, or nearly so....";
    for (size_t len = 1; len <= sizeof bytes; len++) {
        uint32_t hash = table_hash(1, bytes, len);
        ck_assert_uint_eq(table_hash(1, bytes, len), hash);
        ck_assert_uint_ne(table_hash(2, bytes, len), hash);
        for (size_t i = 0; i < len; i++) {
            bytes[i] ^= 0x20;
            if (table_hash(1, bytes, len) == hash)
                ck_abort_msg("byte %zu of %zu does not count", i, len);
            bytes[i] ^= 0x20;
        }
    }
    /* Names that count up spread over the table: no bucket of 256 gets ten times its share. */
    unsigned share[256] = {0};
    for (unsigned i = 0; i < 25600; i++) {
        int len = snprintf(bytes, sizeof bytes, "job:%u", i);
        share[table_hash(99, bytes, (size_t)len) & 255]++;
    }
    for (unsigned i = 0; i < 256; i++)
        if (share[i] >= 1000)
            ck_abort_msg("%u of 25600 in one of 256", share[i]);
}

/* ---- pool ---- */

struct thing {
    uint64_t id;
    uint64_t content;
};

enum { IDS = 20000 };

static uint64_t old_ids[IDS]; /* all ids that were ever given */
static unsigned old_count;

static bool is_old(uint64_t id)
{
    for (unsigned i = 0; i < old_count; i++)
        if (old_ids[i] == id)
            return true;
    return false;
}

static struct thing *take(struct pool *pool)
{
    struct thing *thing = pool_take(pool);
    if (thing == NULL)
        return NULL;
    ck_assert_uint_eq(thing->content, 0); /* zeroed, whatever was there */
    ck_assert_uint_ne(thing->id, 0);
    ck_assert(!is_old(thing->id));
    ck_assert_uint_lt(old_count, IDS);
    old_ids[old_count++] = thing->id;
    thing->content = ~thing->id;
    return thing;
}

T(pool_never_reuses_an_id)
{
    struct pool pool;
    uint64_t live[SLOTS] = {0};
    unsigned used = 0;
    old_count = 0;
    ck_assert(pool_init(&pool, sizeof(struct thing), SLOTS));
    for (unsigned run = 0; run < 3000; run++) {
        unsigned i = (unsigned)chance(SLOTS);
        struct thing *thing = pool_find(&pool, live[i]);
        ck_assert_int_eq(thing != NULL, live[i] != 0);
        if (thing != NULL) {
            ck_assert_uint_eq(thing->content, ~live[i]);
            ck_assert_ptr_eq(pool_at(&pool, pool_slot(&pool, thing)), thing);
            uint32_t slot = pool_slot(&pool, thing);
            pool_give(&pool, thing);
            ck_assert_ptr_null(pool_at(&pool, slot));
            ck_assert_ptr_null(pool_find(&pool, live[i])); /* a late id finds nothing */
            live[i] = 0;
            used--;
        } else {
            live[i] = take(&pool)->id;
            used++;
        }
        ck_assert_uint_eq(pool.used, used);
    }
    for (unsigned i = 0; i < old_count; i++) {
        bool lives = false;
        for (unsigned k = 0; k < SLOTS; k++)
            lives |= live[k] == old_ids[i];
        ck_assert_int_eq(pool_find(&pool, old_ids[i]) != NULL, lives);
    }
    pool_free(&pool);
}

T(pool_is_full_and_has_room_again)
{
    struct pool pool;
    struct thing *things[SLOTS];
    old_count = 0;
    ck_assert(pool_init(&pool, sizeof(struct thing), SLOTS));
    for (unsigned i = 0; i < SLOTS; i++)
        ck_assert_ptr_nonnull(things[i] = take(&pool));
    ck_assert_ptr_null(take(&pool));
    ck_assert_uint_eq(pool.used, SLOTS);
    for (unsigned i = 0; i < SLOTS; i++)
        ck_assert_ptr_eq(pool_find(&pool, old_ids[i]), things[i]);
    pool_give(&pool, things[17]);
    struct thing *thing = take(&pool);
    ck_assert_ptr_eq(thing, things[17]); /* its place, another id */
    ck_assert_ptr_null(take(&pool));
    ck_assert_ptr_null(pool_find(&pool, old_ids[17]));
    pool_free(&pool);
}

T(pool_finds_nothing_by_chance)
{
    struct pool pool;
    old_count = 0;
    ck_assert(pool_init(&pool, sizeof(struct thing), SLOTS));
    ck_assert_ptr_null(pool_find(&pool, 0));
    struct thing *thing = take(&pool);
    ck_assert_ptr_null(pool_find(&pool, 0));
    ck_assert_ptr_null(pool_find(&pool, 1));
    ck_assert_ptr_null(pool_find(&pool, thing->id + 1)); /* a slot that was never used */
    ck_assert_ptr_null(pool_find(&pool, UINT64_MAX));
    pool_give(&pool, thing);
    for (uint64_t id = 0; id < 4096; id++) /* nor by the links of the free list */
        if (pool_find(&pool, id) != NULL)
            ck_abort_msg("id %u finds something", (unsigned)id);
    pool_free(&pool);
    ck_assert(pool_init(&pool, sizeof(struct thing), 0));
    ck_assert_ptr_null(pool_take(&pool));
    pool_free(&pool);
}

/* ---- tokens that have ended ---- */

static struct ended ended;

static struct token drawn_token(void)
{
    struct token token;
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        token.bytes[i] = (uint8_t)chance(256);
    return token;
}

T(ended_until_their_time)
{
    struct token one = drawn_token(), other = drawn_token();
    memset(&ended, 0, sizeof ended);
    ck_assert(!ended_has(&ended, &one, 1));
    ended_note(&ended, &one, 1000, 2000);
    ck_assert(ended_has(&ended, &one, 1999));
    ck_assert(!ended_has(&ended, &other, 1999));
    ck_assert(!ended_has(&ended, &one, 2000));
    ended_note(&ended, &other, 1000, 3000);
    ck_assert(!ended_has(&ended, &one, 2000) && ended_has(&ended, &other, 2000));
}

/* More than there is room for: the last ones are kept. */
T(ended_keeps_the_last_ones)
{
    enum { MANY = 3 * ENDED, LAST = ENDED / 4 };
    static struct token tokens[MANY];
    unsigned found = 0;
    memset(&ended, 0, sizeof ended);
    for (unsigned i = 0; i < MANY; i++) {
        tokens[i] = drawn_token();
        ended_note(&ended, &tokens[i], i, i + 100000);
        ck_assert(ended_has(&ended, &tokens[i], i));
    }
    for (unsigned i = 0; i < MANY; i++)
        found += ended_has(&ended, &tokens[i], MANY);
    ck_assert_uint_gt(found, ENDED * 3 / 4);
    ck_assert_uint_le(found, ENDED);
    for (unsigned i = 1; i <= LAST; i++)
        ck_assert(ended_has(&ended, &tokens[MANY - i], MANY));
}

static void setup(void)
{
    chance_state = 7;
}

SETUP(setup, NULL);
