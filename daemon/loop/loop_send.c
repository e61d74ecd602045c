#include "daemon/loop/loop_send.h"

static void sees_end(struct loop_send *send)
{
    unsigned keys = send->sees.keys;
    size_t len;
    if (keys == 0)
        return;
    const char *bytes = resp_sees_end(&send->sees, &len);
    for (unsigned left = send->see_masters; left != 0; left &= left - 1)
        node_send_sees(send->nodes[__builtin_ctz(left)], bytes, len, send->see_refs, keys);
    send->see_masters = 0;
}

static void send_see(struct loop_send *send, uint16_t masters, const struct command *command)
{
    if (masters != send->see_masters)
        sees_end(send);
    send->see_masters = masters;
    send->see_refs[send->sees.keys] = command->ref;
    resp_sees_add(&send->sees, send->format, command);
    if (send->sees.keys == RESP_BATCH_KEYS)
        sees_end(send);
}

static void extends_end(struct loop_send *send)
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
        extends_end(send);
    send->masters = masters;
    send->refs[send->batch.keys] = command->ref;
    resp_batch_add(&send->batch, send->format, command);
    if (send->batch.keys == RESP_BATCH_KEYS)
        extends_end(send);
}

void loop_send_end(struct loop_send *send)
{
    extends_end(send);
    sees_end(send);
}

void loop_send(struct loop_send *send, uint16_t masters, const struct command *command)
{
    char bytes[RESP_COMMAND_BYTES];
    if (command->verb == COMMAND_EXTEND) {
        send_extend(send, masters, command);
        return;
    }
    if (command->verb == COMMAND_SEE) {
        send_see(send, masters, command);
        return;
    }
    if (masters & send->masters)
        extends_end(send);
    size_t len = resp_command(bytes, send->format, command);
    for (unsigned left = masters; left != 0; left &= left - 1)
        node_send(send->nodes[__builtin_ctz(left)], bytes, len, command->verb, command->ref);
}

void loop_send_forget(struct loop_send *send, unsigned master)
{
    send->masters &= (uint16_t) ~(1u << master);
    send->see_masters &= (uint16_t) ~(1u << master);
}
