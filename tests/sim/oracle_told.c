/* What holders tell others: invariant 10. The text is the number of the request that brought it. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"
#include "tests/sim/store_told.h"

void oracle_tells(struct request *what, uint32_t request)
{
    if (what->data.len != 0)
        what->data.len = (uint16_t)snprintf(what->data.text, sizeof what->data.text, "%u", request);
}

uint32_t oracle_teller(const struct data *data)
{
    char text[16] = "";
    for (unsigned i = 0; i < data->len && i < sizeof text - 1; i++)
        text[i] = data->text[i];
    return (uint32_t)strtoul(text, NULL, 10);
}

/* Whoever asks now is told this, together with the key's token. */
void oracle_ran_told(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    const struct store_told *told = store_told(&m->store, clock_ms(&m->clock, w->now_us), msg->name);
    const struct sim_tok *t = &w->oracle.tok[msg->tok];
    if (told == NULL || told->tok != msg->tok)
        return;
    uint32_t request = oracle_teller(&told->data);
    if (request < w->oracle.asks)
        w->oracle.asked[request].had |= oracle_bit(m->index);
    if (!t->granted)
        return;
    if (told->fence != t->fence)
        violation(w, 10, "m%u tells of T%u of n%u with fence %llu, which is not its own", m->index, msg->tok,
                  msg->name, (unsigned long long)told->fence);
    if (request == 0 || request >= w->oracle.asks ||
        oracle_family(w, w->oracle.asked[request].tok) != oracle_family(w, msg->tok))
        violation(w, 10, "m%u tells of T%u of n%u what request %u wanted told, which was another holder's",
                  m->index, msg->tok, msg->name, request);
}

/* Masters that have the token's key, and have lost nothing since it was set, have what is told as well: but for so many
 * that no quorum lacks it. */
void oracle_told_granted(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    unsigned without = 0;
    for (unsigned i = d->first; i < d->masters; i++) {
        const struct sim_master *m = &w->master[i];
        int64_t now_ms = clock_ms(&m->clock, w->now_us);
        bool has = m->running && store_keeps_ms(master_key(m, t->name), now_ms, tok) != 0;
        bool lost = m->lost_us >= t->set_us || m->set_back;
        without += has && !lost && store_told(&m->store, now_ms, t->name) == NULL;
    }
    if (without >= d->masters - d->first - d->quorum + 1)
        violation(w, 10, "T%u of n%u is granted, but %u masters that have it tell nothing of it", tok,
                  t->name, without);
}
