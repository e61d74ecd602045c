/* The coordinator's commands on their way to the masters, in its order on each connection. EXTENDs to the same
 * masters that follow each other become one script of up to 64 keys: at a master it costs half of what they cost
 * one by one, and us one header and one reply. The coordinator knows nothing of that.
 *
 *     EXTEND -----> open batch --+-- any other command to one of its masters, an EXTEND to others, 64 keys, or
 *                                |   the end of the turn: appended to the nodes as one command
 *                                '-- a new connection of a master: not for that one
 */
#ifndef REDLOCKD_LOOP_SEND_H
#define REDLOCKD_LOOP_SEND_H

#include "daemon/node/node.h"
#include "proto/resp.h"

struct loop_send {
    struct node **nodes; /* borrowed, as is: */
    const struct resp_format *format;
    uint16_t masters; /* of the open batch; 0: there is none */
    uint64_t refs[RESP_BATCH_KEYS];
    struct resp_batch batch;
};

void loop_send(struct loop_send *send, uint16_t masters, const struct command *command);
/* What is open goes to the nodes: before they are flushed. */
void loop_send_end(struct loop_send *send);
/* The master has another connection: what it has not got yet was meant for the one before. */
void loop_send_forget(struct loop_send *send, unsigned master);

#endif
