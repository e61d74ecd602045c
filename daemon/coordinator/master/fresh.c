#include "daemon/coordinator/master/fresh.h"

#include "daemon/coordinator/round/round.h"

enum { LEAST_MS = 3000, PROBES_MS = 1000 };

int64_t fresh_limit_ms(const struct coordinator *c)
{
    int64_t limit_ms = PROBES_MS + 2 * c->config.node_timeout_ms;
    return limit_ms > LEAST_MS ? limit_ms : LEAST_MS;
}

bool fresh_is(const struct coordinator *c, const struct master *m)
{
    return m->liveness.good_ms + fresh_limit_ms(c) >= c->now_ms;
}

masters_t fresh_of(const struct coordinator *c, masters_t masters)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (!fresh_is(c, &c->masters[i]))
            masters = masters_without(masters, masters_bit(i));
    return masters;
}

void fresh_begin(struct coordinator *c, struct master *m)
{
    c->fresh_until_ms = earlier_ms(c->fresh_until_ms, m->liveness.good_ms + fresh_limit_ms(c));
}

/* A probe that was under way before the pause gets its time-out anew, since its answer may have come long
 * ago. It tells nothing of the pause, so another one follows it. */
static void probe_at_once(struct coordinator *c, struct master *m)
{
    m->liveness.probed_ms = m->liveness.probing ? c->now_ms : INT64_MIN / 2;
    heap_set(&c->deadlines, &m->item, 0); /* before all else that is due */
}

masters_t fresh_look(struct coordinator *c)
{
    masters_t asked = c->voters | c->extenders, silent = 0;
    c->fresh_until_ms = INT64_MAX;
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (!(masters_without(asked, c->stale) & masters_bit(i)))
            continue;
        if (fresh_is(c, m)) {
            fresh_begin(c, m);
            continue;
        }
        if (m->heard < m->liveness.overdue) /* in quarantine */
            silent |= masters_bit(i);
        c->stale |= masters_bit(i);
        probe_at_once(c, m);
    }
    return silent;
}

void fresh_end(struct coordinator *c, const struct master *m)
{
    if (!(c->stale & masters_bit(m->index)))
        return;
    c->stale = masters_without(c->stale, masters_bit(m->index));
    rounds_look_again(c);
}

void fresh_told(struct coordinator *c, struct master *m)
{
    m->liveness.good_ms = m->liveness.asked_ms;
    if (!fresh_is(c, m)) {
        if (c->stale & masters_bit(m->index))
            probe_at_once(c, m);
        return;
    }
    fresh_end(c, m);
    if ((c->voters | c->extenders) & masters_bit(m->index))
        fresh_begin(c, m);
}
