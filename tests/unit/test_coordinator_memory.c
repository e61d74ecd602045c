/* The memory that a held lock costs: there may be a hundred thousand of them. */
#include "tests/unit/trace.h"

#include "daemon/coordinator/data/state.h"

enum {
    HELD = 50,
    LOCK_BYTES =
        408, /* the objects of a session lock, with room for 15 masters: lease, resource, name, deadline */
    ROUND_BYTES = 312, /* ... and while it is renewed */
};

/* Names of 20 bytes, the usual length. */
static void name_of(char out[], unsigned i)
{
    snprintf(out, 32, "stock.warehouse.%04u", i);
}

static void grant_all(void)
{
    char line[64], name[32];
    for (unsigned i = 0; i < HELD; i++) {
        name_of(name, i);
        snprintf(line, sizeof line, "LOCK %s ttl=10s", name);
        grant(1 + i / config.max_locks_per_client, line);
    }
}

static size_t used_bytes(const struct pool *pool)
{
    return pool->used * pool->size;
}

/* The memory that was touched for objects that stay as long as the lock. */
static void is_small(void)
{
    ck_assert_uint_eq(core->leases.used, HELD);
    ck_assert_uint_eq(core->resources.used, HELD);
    ck_assert_uint_eq(core->waits.used + core->queues.used + core->resumes.used + core->releases.used, 0);
    size_t bytes = used_bytes(&core->leases) + used_bytes(&core->resources) +
                   HELD * (sizeof(struct heap_entry) + sizeof(struct pool_age)) + intern_bytes(&core->intern);
    if (bytes > HELD * LOCK_BYTES)
        ck_abort_msg("%zu bytes a lock, not %d", bytes / HELD, LOCK_BYTES);
}

T(a_held_lock_takes_little)
{
    config.max_locks = config.max_waiters = 64;
    start(5);
    grant_all();
    is_small();
    ck_assert_uint_eq(core->rounds.used, 0);
}

/* The same after its renewal, which shares its name. */
T(a_renewed_lock_takes_no_more)
{
    config.max_locks = config.max_waiters = 64;
    start(5);
    grant_all();
    chance(0);
    at(1000 + 3000); /* 3333 - 10 % */
    ck_assert_uint_eq(core->rounds.used, HELD);
    ck_assert_uint_le(core->rounds.size, ROUND_BYTES);
    is_small();
    for (unsigned i = 0; i < HELD; i++)
        vote("0-4", "EXTEND 10000");
    ck_assert_uint_eq(core->rounds.used, 0);
    is_small();
    forget();
}

/* A lock that came by RESUME costs no more, once its client has its token, but for the object that knows
 * the old one. */
T(a_moved_lock_takes_its_old_token_more)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    size_t before = used_bytes(&core->leases) + intern_bytes(&core->intern);
    ask(2, "RESUME job token=T1");
    vote("0-4", "MOVE YES");
    vote("0-4", "EXTEND 10000, ZADD YES");
    forget();
    ck_assert_uint_eq(core->resumes.used, 1);
    ck_assert_uint_eq(used_bytes(&core->leases) + intern_bytes(&core->intern), before);
    release(2);
    work();
    ck_assert_uint_eq(core->resumes.used, 0);
    forget();
}
