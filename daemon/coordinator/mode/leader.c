/* A lock whose holder tells others something (keep/data.h): a writer's, granted only once a quorum of masters has what it
 * tells, and never handed on. */
#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/writer.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

const struct mode mode_leader = {
    .keeping = &keeping_own,
    .grant = lease_grant,
    .token = TOKEN_EXCLUSIVE,
    .tells = true,
    .wakes = true,
    .splits = true,
    .turns = true,
    .begin = writer_begin,
    .forget = writer_forget,
    .ask = writer_ask,
    .granted = writer_granted,
    .refused = resource_refused,
    .made = writer_made,
    .ends = writer_ends,
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
    .woken_in_vain = mark_along, /* a mark of this daemon may have brought the wake */
    .left = wake_leave,
    .got = wake_granted,
    .enter = writer_enter,
    .leave = writer_leave,
    .count = writer_count,
    .beside = writer_beside,
};
