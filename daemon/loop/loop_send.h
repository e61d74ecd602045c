/* The coordinator's commands on their way to the masters; each connection gets them in the coordinator's
 * order. Consecutive EXTENDs to the same masters become one script of up to 64 keys, which costs a master
 * half as much as single EXTENDs, and the daemon only one header and one reply. The coordinator knows
 * nothing of batches.
 *
 *     EXTEND -----> open batch --+-- another command to one of its masters, an EXTEND to others, 64 keys, or
 *                                |   the end of the turn: appended to the nodes as one command
 *                                '-- a new connection of a master: the batch no longer goes to that master
 */
#ifndef REDLOCKD_LOOP_SEND_H
#define REDLOCKD_LOOP_SEND_H

#include "daemon/node/node.h"
#include "proto/resp.h"

struct loop_send {
    struct node **nodes;              /* borrowed */
    const struct resp_format *format; /* borrowed */
    uint16_t masters;                 /* to which the open batch goes, a bit each */
    uint64_t refs[RESP_BATCH_KEYS];
    struct resp_batch batch;
    uint16_t see_masters; /* the same of SEEs, whose place among other commands does not matter */
    uint64_t see_refs[RESP_BATCH_KEYS];
    struct resp_sees sees;
};

void loop_send(struct loop_send *send, uint16_t masters, const struct command *command);
/* Appends the open batch to the nodes. Call it before they are flushed. */
void loop_send_end(struct loop_send *send);
/* The master has a new connection: the open batch was meant for the old one. */
void loop_send_forget(struct loop_send *send, unsigned master);

#endif
