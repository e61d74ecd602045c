#include "daemon/http/http_private.h"

void rates_add(struct rates *rates, const struct snapshot_sample *sample)
{
    if (rates->known) {
        struct snapshot_sample *second = &rates->seconds[rates->next];
        *second = *sample;
        second->granted -= rates->last.granted;
        second->refused -= rates->last.refused;
        second->lost -= rates->last.lost;
        rates->next = (rates->next + 1) % RATES;
        rates->count += rates->count < RATES;
    }
    rates->last = *sample;
    rates->known = true;
}

const struct snapshot_sample *rates_second(const struct rates *rates, unsigned i)
{
    return i < rates->count ? &rates->seconds[(rates->next + RATES - 1 - i) % RATES] : NULL;
}
