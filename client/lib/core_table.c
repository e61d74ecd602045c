/* The core's two tables: requests by the number in their tag, and session locks by token. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

enum {
    SLOTS_FIRST = 16,
    SLOTS_MOST = REDLOCK_LOCKS_MAX + REDLOCK_REQUESTS_MAX,
    BUCKETS_FIRST = 64, /* a power of two */
    BUCKETS_MOST = REDLOCK_LOCKS_MAX,
};

/* ---- requests by number ---- */

static bool slots_grow(struct core *core)
{
    uint32_t size = core->slots_size ? 2 * core->slots_size : SLOTS_FIRST;
    struct ask **slots = realloc(core->slots, size * sizeof(struct ask *));

    if (!slots)
        return false;
    memset(slots + core->slots_size, 0, (size - core->slots_size) * sizeof(struct ask *));
    core->slots = slots;
    core->slots_hint = core->slots_size;
    core->slots_size = size;
    return true;
}

bool slot_take(struct core *core, struct ask *ask, enum redlock_error *error)
{
    if (core->slots_used >= SLOTS_MOST) {
        *error = REDLOCK_LIMIT;
        return false;
    }
    if (core->slots_used == core->slots_size && !slots_grow(core)) {
        *error = REDLOCK_NOMEM;
        return false;
    }
    while (core->slots[core->slots_hint])
        core->slots_hint = (core->slots_hint + 1) % core->slots_size;
    ask->slot = core->slots_hint;
    core->slots[ask->slot] = ask;
    core->slots_used++;
    return true;
}

void slot_leave(struct core *core, struct ask *ask)
{
    assert(core->slots[ask->slot] == ask);
    core->slots[ask->slot] = NULL;
    core->slots_used--;
    core->slots_hint = ask->slot;
}

static bool read_hex(const char **at, const char *end, char stop, uint32_t *number)
{
    uint64_t read = 0;
    const char *start = *at;

    for (; *at < end && **at != stop; (*at)++) {
        char c = **at;
        if (c >= '0' && c <= '9')
            read = read * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            read = read * 16 + (uint64_t)(c - 'a' + 10);
        else
            return false;
        if (read > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)read;
    return *at > start;
}

/* A tag is "<slot>.<serial>". Any other tag finds nothing, nor does the tag of a request that is not SENT any
 * more. */
struct ask *slot_find(const struct core *core, const struct tag *tag)
{
    const char *at = tag->text;
    const char *end = tag->text + tag->len;
    uint32_t slot = 0;
    uint32_t serial = 0;

    if (!read_hex(&at, end, '.', &slot) || at == end)
        return NULL;
    at++;
    if (!read_hex(&at, end, '.', &serial) || at != end || slot >= core->slots_size)
        return NULL;
    struct ask *ask = core->slots[slot];
    return ask && ask->state == ASK_SENT && ask->serial == serial ? ask : NULL;
}

/* ---- session locks by token ---- */

static struct redlock_lock **bucket_of(const struct core *core, const struct token *token)
{
    uint32_t hash;

    memcpy(&hash, token->bytes + TOKEN_RANDOM_AT, sizeof hash);
    return &core->buckets[hash & (core->buckets_size - 1)];
}

bool buckets_new(struct core *core)
{
    core->buckets = calloc(BUCKETS_FIRST, sizeof(struct redlock_lock *));
    core->buckets_size = BUCKETS_FIRST;
    return core->buckets != NULL;
}

/* If there is no memory for more buckets, the lists in the old buckets just get longer. */
static void buckets_grow(struct core *core)
{
    uint32_t old_size = core->buckets_size;
    struct redlock_lock **old = core->buckets;
    struct redlock_lock **grown = calloc(2 * (size_t)old_size, sizeof(struct redlock_lock *));

    if (!grown)
        return;
    core->buckets = grown;
    core->buckets_size = 2 * old_size;
    for (uint32_t i = 0; i < old_size; i++)
        while (old[i]) {
            struct redlock_lock *lock = old[i];
            struct redlock_lock **to = bucket_of(core, &lock->token);
            old[i] = lock->next;
            lock->next = *to;
            *to = lock;
        }
    free(old);
}

void bucket_add(struct core *core, struct redlock_lock *lock)
{
    assert(!lock->listed);
    if (core->sessions >= core->buckets_size && core->buckets_size < BUCKETS_MOST)
        buckets_grow(core);
    struct redlock_lock **bucket = bucket_of(core, &lock->token);
    lock->next = *bucket;
    *bucket = lock;
    lock->listed = true;
    core->sessions++;
}

void bucket_remove(struct core *core, struct redlock_lock *lock)
{
    if (!lock->listed)
        return;
    struct redlock_lock **at = bucket_of(core, &lock->token);
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    lock->listed = false;
    core->sessions--;
}

struct redlock_lock *bucket_find(const struct core *core, struct piece name, const struct token *token)
{
    struct redlock_lock *lock = *bucket_of(core, token);

    while (lock && !(memcmp(&lock->token, token, sizeof *token) == 0 && piece_is(name, lock->name)))
        lock = lock->next;
    return lock;
}
