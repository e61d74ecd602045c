#include "daemon/coordinator/base/quorum.h"

#include <assert.h>

#include "proto/command.h"
#include "proto/names.h"

static struct quorum quorum_make(masters_t of, unsigned needed)
{
    unsigned count = masters_count(of);
    unsigned blocking = needed <= count ? count - needed + 1 : 1; /* else no quorum is possible at all */
    return (struct quorum){of, (uint8_t)needed, (uint8_t)blocking};
}

struct quorum quorum_plain(unsigned masters, masters_t of)
{
    assert(masters_count(of) <= masters);
    return quorum_make(of, quorum_of(masters));
}

/* As many as block a set meet each of its quorums. */
struct quorum quorum_joint(const struct quorum *before, const struct quorum *after)
{
    masters_t both = before->of & after->of;
    unsigned needed = quorum_of(masters_count(both)), keep = quorum_keep(before, after);
    return quorum_make(both, needed > keep ? needed : keep);
}

int64_t quorum_drift_ms(int64_t ttl_ms)
{
    return (ttl_ms + 99) / 100 + 2;
}

int64_t quorum_until_ms(int64_t t0_ms, int64_t ttl_ms)
{
    return t0_ms + ttl_ms - quorum_drift_ms(ttl_ms) - 1;
}

uint64_t quorum_nth_largest(const uint64_t *values, masters_t set, unsigned rank)
{
    assert(rank >= 1 && masters_count(set) >= rank);
    for (unsigned i = 0; i < MASTERS; i++) {
        if (!(set & masters_bit(i)))
            continue;
        unsigned larger = 0, equal = 0;
        for (unsigned k = 0; k < MASTERS; k++) {
            if (!(set & masters_bit(k)))
                continue;
            larger += values[k] > values[i];
            equal += values[k] == values[i];
        }
        if (larger < rank && rank <= larger + equal)
            return values[i];
    }
    assert(0 && "one of them has that rank");
    return 0;
}

static uint32_t bucket_of(const char *text, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash & (FENCE_BUCKETS - 1);
}

uint32_t quorum_bucket(const struct name *name)
{
    return bucket_of(name->text, name->len);
}

unsigned quorum_buckets(const struct name *list, uint32_t buckets[LIST_NAMES])
{
    const char *text;
    unsigned count = 0;
    size_t at = 0, len;
    while ((len = names_next(list, &at, &text)) != 0) {
        uint32_t bucket = bucket_of(text, len);
        unsigned i = 0;
        while (i < count && buckets[i] != bucket)
            i++;
        buckets[i] = bucket;
        count += i == count;
    }
    return count;
}
