/* Several SEEs as one call of the script. */
#include "proto/resp_private.h"
#include "proto/script.h"

/*     bytes: [ head | keys ... | me, channels, names (copied at the end) ]
 *                     ^ RESP_BATCH_HEAD_BYTES */
void resp_sees_add(struct resp_sees *sees, const struct resp_format *format, const struct command *command)
{
    const struct name *name = &command->name;
    assert(command->verb == COMMAND_SEE && sees->keys < RESP_BATCH_KEYS);
    char *from = sees->bytes + RESP_BATCH_HEAD_BYTES + sees->keys_bytes, *out = from;
    if (sees->keys == 0) {
        char *rest = resp_put_id(sees->rest, &command->to);
        rest = resp_put_word(rest, format->channels.text, format->channels.len);
        sees->rest_bytes = (size_t)(rest - sees->rest);
    }
    out = resp_put_key(out, &format->prefix, name->text, name->len);
    out = resp_put_key(out, &format->tells, name->text, name->len);
    out = resp_put_key(out, &format->slots, name->text, name->len);
    sees->keys_bytes += (size_t)(out - from);
    from = sees->rest + sees->rest_bytes;
    sees->rest_bytes += (size_t)(resp_put_word(from, name->text, name->len) - from);
    sees->keys++;
}

const char *resp_sees_end(struct resp_sees *sees, size_t *len)
{
    char head[RESP_BATCH_HEAD_BYTES];
    char *keys = sees->bytes + RESP_BATCH_HEAD_BYTES;
    assert(sees->keys > 0);
    char *out = resp_put_word(resp_put_head(head, '*', 5 + 4 * (size_t)sees->keys), "EVALSHA", 7);
    out = resp_put_word(out, resp_script_sha1((unsigned)resp_script_of(COMMAND_SEE)), RESP_SHA1_HEX);
    out = resp_put_number(out, 3 * (uint64_t)sees->keys);
    size_t head_len = (size_t)(out - head);
    assert(head_len <= sizeof head);
    memcpy(keys - head_len, head, head_len);
    out = resp_put(keys + sees->keys_bytes, sees->rest, sees->rest_bytes);
    *len = (size_t)(out - (keys - head_len));
    sees->keys = 0;
    sees->keys_bytes = 0;
    return keys - head_len;
}
