/* A list of names (names.h), as the head's attempt sees it. */
#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/master/native.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/writer.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* MSETEX does not tell which of the names is not free. Whoever does not wait for it need not know. */
static void list_ask(struct coordinator *c, const struct round *round, masters_t masters)
{
    bool waits = round->resource == NULL || round->resource->queue->head->patient;
    masters_t natively = waits ? 0 : native_of(c, COMMAND_SET_MSETEX, masters);
    round_send(c, round, COMMAND_SET_MSETEX, natively, (uint64_t)round->ttl_ms);
    writer_ask(c, round, masters_without(masters, natively));
}

const struct mode mode_list = {
    .keeping = &keeping_own,
    .grant = lease_grant,
    .token = TOKEN_NAMES,
    .once = true,
    .begin = acquire_set,
    .forget = writer_forget,
    .ask = list_ask,
    .granted = writer_granted,
    .refused = resource_refused,
    .made = names_join,
    .ends = names_part,
    .queue_ends = writer_queue_ends,
    .in_way = writer_in_way,
    .awaits = release_is_awaited,
    .stays = names_keep,
    .stands = writer_stands,
    .follows = writer_follows,
    .asks_on = writer_asks_on,
    .along_ms = writer_along_ms,
    .yields = writer_yields,
    .lease_of = resource_lease_of,
    .freed = writer_freed,
    .contended = wake_contended,
    .is_contended = wake_is_contended,
    .left = wake_leave,
    .got = wake_granted,
    .enter = writer_enter,
    .leave = writer_leave,
    .count = writer_count,
    .beside = writer_beside,
};
