/* The keys of a store: finding one, making room for one, and all of them at once. */
#include <stddef.h>
#include <string.h>

#include "tests/sim/store.h"

/* slot_keys: it has none. */
static unsigned slot_at(const struct store *s, unsigned name, unsigned slot)
{
    unsigned at = 0;
    while (at < s->slot_keys && (s->slot[at].name != name || s->slot[at].slot != slot))
        at++;
    return at;
}

const struct store_key *store_key(const struct store *s, unsigned name, unsigned slot)
{
    static const struct store_key none;
    if (slot == 0)
        return &s->key[name];
    unsigned at = slot_at(s, name, slot);
    return at < s->slot_keys ? &s->slot[at].key : &none;
}

/* Of most keys nobody reads, so that there is little to clear and to copy. */
static void key_clear(struct store_key *key)
{
    memset(key, 0, offsetof(struct store_key, reader));
}

static void key_copy(struct store_key *to, const struct store_key *from)
{
    memcpy(to, from, offsetof(struct store_key, reader) + from->readers * sizeof from->reader[0]);
}

struct store_key *store_place(struct store *s, int64_t now_ms, unsigned name, unsigned slot)
{
    if (slot == 0)
        return &s->key[name];
    unsigned at = slot_at(s, name, slot);
    if (at < s->slot_keys)
        return &s->slot[at].key;
    if (s->slot_keys < STORE_SLOTS)
        s->slot_keys++;
    else
        for (at = 0; at < STORE_SLOTS && store_there(&s->slot[at].key, now_ms);)
            at++;
    if (at == STORE_SLOTS)
        return NULL;
    s->slot[at].name = name;
    s->slot[at].slot = slot;
    key_clear(&s->slot[at].key);
    return &s->slot[at].key;
}

static void key_expire(struct store_key *key, int64_t now_ms)
{
    key->there = store_there(key, now_ms);
}

void store_expire(struct store *s, int64_t now_ms, unsigned names)
{
    FOR_NAMES(n, names)
    {
        key_expire(&s->key[n], now_ms);
        if (now_ms > s->queue[n].expires_ms)
            s->queue[n].count = 0;
        if (now_ms > s->mark[n].expires_ms)
            s->mark[n].id = 0;
        if (now_ms > s->slots[n].expires_ms)
            s->slots[n].n = 0;
        if (now_ms > s->told[n].expires_ms)
            s->told[n].there = false;
    }
    for (unsigned i = 0; i < s->slot_keys; i++)
        if (names_of(names) >> s->slot[i].name & 1)
            key_expire(&s->slot[i].key, now_ms);
    if (now_ms > s->group.expires_ms)
        s->group.kind = STORE_GROUP_NONE;
}

void store_clear(struct store *s)
{
    size_t rest = offsetof(struct store, queue);
    for (unsigned i = 0; i < SIM_NAMES; i++)
        key_clear(&s->key[i]);
    s->slot_keys = 0;
    memset((char *)s + rest, 0, sizeof *s - rest);
}

void store_copy(struct store *to, const struct store *from)
{
    size_t rest = offsetof(struct store, queue);
    for (unsigned i = 0; i < SIM_NAMES; i++)
        key_copy(&to->key[i], &from->key[i]);
    to->slot_keys = from->slot_keys;
    for (unsigned i = 0; i < from->slot_keys; i++) {
        to->slot[i].name = from->slot[i].name;
        to->slot[i].slot = from->slot[i].slot;
        key_copy(&to->slot[i].key, &from->slot[i].key);
    }
    memcpy((char *)to + rest, (const char *)from + rest, sizeof *from - rest);
}
