#include "daemon/coordinator/name/fanout.h"

#include <assert.h>

enum {
    ROTATE_MS = 4,        /* attempts within this time ask the same masters first */
    ALIKE_US = 500,       /* round trips are alike up to twice the shorter one and this */
    LATE_RTTS = 3,        /* an answer is late after so many round trips */
    SPREAD_MS = 10,       /* age at which a lease is set on the other masters ... */
    SPREAD_AGAIN_MS = 20, /* ... and where that was refused, once more after this time */
};

/* The longest round trip at which a master is about as fast as the Q fastest are. */
static int64_t alike_us(const struct coordinator *c)
{
    uint64_t rtts_us[MASTERS] = {0};
    for (unsigned i = 0; i < c->config.masters; i++)
        rtts_us[i] = (uint64_t)c->masters[i].liveness.rtt_us;
    unsigned slower = masters_count(c->voters) - c->quorum.needed;
    return (int64_t)quorum_nth_largest(rtts_us, c->voters, slower + 1) * 2 + ALIKE_US;
}

masters_t fanout_first(const struct coordinator *c)
{
    if (!c->config.fanout_quorum || masters_count(c->voters) <= c->quorum.needed)
        return c->voters;
    unsigned fast[MASTERS], count = 0;
    int64_t longest_us = alike_us(c);
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((c->voters & masters_bit(i)) && c->masters[i].liveness.rtt_us <= longest_us)
            fast[count++] = i;
    masters_t first = 0;
    assert(count > 0 && count >= c->quorum.needed); /* the Q fastest are among them */

    unsigned phase = c->config.self.bytes[3]; /* daemons of one host have one clock */
    unsigned from = (unsigned)((c->now_ms / ROTATE_MS + phase) % count);
    for (unsigned i = 0; i < c->quorum.needed; i++)
        first |= masters_bit(fast[(from + i) % count]);
    return first;
}

int64_t fanout_late_ms(const struct coordinator *c, masters_t masters)
{
    int64_t longest_us = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((masters & masters_bit(i)) && c->masters[i].liveness.rtt_us > longest_us)
            longest_us = c->masters[i].liveness.rtt_us;
    int64_t late_ms = (LATE_RTTS * longest_us + 999) / 1000;
    int64_t most_ms = c->config.node_timeout_ms / 2;
    if (late_ms < 1)
        late_ms = 1;
    return c->now_ms + 1 /* the present ms may be over at once */ + earlier_ms(late_ms, most_ms);
}

int64_t fanout_spread_ms(const struct lease *lease)
{
    if (lease->copies.spread == SPREAD_NOT || lease->copies.spread == SPREAD_DONE)
        return INT64_MAX;
    int64_t set_ms = lease->secret != NULL ? lease->secret->set_ms : lease->granted_ms;
    return set_ms + SPREAD_MS + (lease->copies.spread == SPREAD_AGAIN ? SPREAD_AGAIN_MS : 0);
}
