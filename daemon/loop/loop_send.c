#include "daemon/loop/loop_send.h"

void loop_send_end(struct loop_send *send)
{
    unsigned keys = send->batch.keys;
    size_t len;
    if (keys == 0)
        return;
    const char *bytes = resp_batch_end(&send->batch, &len);
    for (unsigned left = send->masters; left != 0; left &= left - 1)
        node_send_extends(send->nodes[__builtin_ctz(left)], bytes, len, send->refs, keys);
    send->masters = 0;
}

static void send_extend(struct loop_send *send, uint16_t masters, const struct command *command)
{
    if (masters != send->masters || command->most_ms != send->batch.most_ms)
        loop_send_end(send);
    send->masters = masters;
    send->refs[send->batch.keys] = command->ref;
    resp_batch_add(&send->batch, send->format, command);
    if (send->batch.keys == RESP_BATCH_KEYS)
        loop_send_end(send);
}

void loop_send(struct loop_send *send, uint16_t masters, const struct command *command)
{
    char bytes[RESP_COMMAND_BYTES];
    if (command->verb == COMMAND_EXTEND) {
        send_extend(send, masters, command);
        return;
    }
    if (masters & send->masters)
        loop_send_end(send);
    size_t len = resp_command(bytes, send->format, command);
    for (unsigned left = masters; left != 0; left &= left - 1)
        node_send(send->nodes[__builtin_ctz(left)], bytes, len, command->verb, command->ref);
}

void loop_send_forget(struct loop_send *send, unsigned master)
{
    send->masters &= (uint16_t) ~(1u << master);
}
