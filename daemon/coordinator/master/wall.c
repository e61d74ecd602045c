#include "daemon/coordinator/master/wall.h"

#include "daemon/coordinator/master/fresh.h"

#define DAY_US  (INT64_C(86400) * 1000000)
#define HOUR_MS (INT64_C(3600) * 1000)
#define LEVEL   (UINT64_C(1) << 62)

/* A clock is its distance from this daemon's, which may be below 0, and so stands on LEVEL. Old readings tell it as
 * well, until the two may have drifted apart. */
static masters_t clocks_read(const struct coordinator *c, uint64_t clock_ms[MASTERS])
{
    masters_t set = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        clock_ms[i] = 0;
        if (m->clock.time_ms == 0 || m->clock.unsure || m->clock.told_at_ms + HOUR_MS < c->now_ms)
            continue;
        clock_ms[i] = LEVEL + (uint64_t)(m->clock.time_ms - m->clock.told_at_ms);
        set |= masters_bit(i);
    }
    return set & c->quorum.of;
}

static masters_t read_lately(const struct coordinator *c, masters_t set)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].clock.told_at_ms + fresh_limit_ms(c) < c->now_ms)
            set = masters_without(set, masters_bit(i));
    return set;
}

void wall_told(struct coordinator *c)
{
    uint64_t clock_ms[MASTERS], told_ms[MASTERS];
    masters_t set = clocks_read(c, clock_ms), fresh = read_lately(c, set);
    c->wall.own_ms = c->event->wall_us / 1000 - c->now_ms;
    if (!quorum_has(&c->quorum, fresh))
        return;
    for (unsigned i = 0; i < c->config.masters; i++)
        told_ms[i] = (uint64_t)c->masters[i].clock.told_at_ms;
    /* A minority may be behind without consequence, even where only a quorum has told its TIME: a clock that is behind
     * would let fences fall. If all told theirs, that is the median. */
    unsigned minority = c->quorum.blocking - 1;
    c->wall.median_ms = (int64_t)(quorum_nth_largest(clock_ms, set, masters_count(set) - minority) - LEVEL);
    c->wall.until_ms = (int64_t)quorum_nth_largest(told_ms, fresh, c->quorum.needed) + fresh_limit_ms(c);
}

static bool is_known(const struct coordinator *c, int64_t now_ms)
{
    return c->wall.until_ms != 0 && now_ms <= c->wall.until_ms;
}

bool wall_is_known(const struct coordinator *c)
{
    return is_known(c, c->now_ms);
}

static int64_t median_us(const struct coordinator *c)
{
    return (c->wall.median_ms + c->now_ms) * 1000;
}

static int64_t own_us(const struct coordinator *c)
{
    return c->event->wall_us > 0 ? c->event->wall_us : 0;
}

uint64_t wall_proposal_us(const struct coordinator *c)
{
    int64_t us = own_us(c) + (int64_t)c->lead_us;
    int64_t most_us = median_us(c) + c->longest_ttl_ms * 1000 / 2;
    bool bounds = wall_is_known(c) && us > most_us;
    return (uint64_t)(bounds ? most_us : us);
}

uint64_t wall_most_us(const struct coordinator *c)
{
    int64_t us = own_us(c);
    if (wall_is_known(c) && us > median_us(c))
        us = median_us(c);
    return (uint64_t)(us + c->longest_ttl_ms * 1000 / 2);
}

uint64_t wall_bound_us(const struct coordinator *c)
{
    int64_t us = own_us(c);
    if (wall_is_known(c) && us < median_us(c))
        us = median_us(c);
    uint64_t bound_us = (uint64_t)(us + c->longest_ttl_ms * 1000 + DAY_US);
    return bound_us < FENCE_MAX ? bound_us : FENCE_MAX;
}

bool wall_ahead(const struct coordinator *c, int64_t now_ms, int64_t *ahead_ms)
{
    *ahead_ms = c->wall.own_ms - c->wall.median_ms;
    return is_known(c, now_ms);
}
