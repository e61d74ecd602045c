/* A numbered slot of a name (slots.h), as the head's attempt sees it. */
#include "daemon/coordinator/mode/acquire_slots.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/mode/writer.h"

/* The answers to LOOK, and wakes since then, stand while the head asks for slots. */
static void slots_forget(struct queue *queue, bool looks)
{
    if (!looks)
        return;
    queue->slots->passes |= queue->woken;
    writer_forget(queue, looks);
}

/* No master decides whose attempt goes on, since another slot may be free. */
const struct mode mode_slot = {
    .token = TOKEN_SLOT,
    .wakes = true,
    .fans_out = true,
    .one_stops = true,
    .proposes = true,
    .begin = slots_begin,
    .forget = slots_forget,
    .ask = writer_ask,
    .granted = slots_taken,
    .refused = slots_refused,
};
