#include "daemon/acl.h"

#include <string.h>

enum { PATTERN_BYTES = 2 * CONF_PREFIX_BYTES + 10, QUOTED_BYTES = ACL_USER_BYTES, OTHER_BYTES = 440 };
_Static_assert((int)PATTERN_BYTES <= (int)CONF_SECRET_BYTES, "a pattern or a user fits when quoted");
_Static_assert(3 * (int)QUOTED_BYTES + (int)OTHER_BYTES <= (int)ACL_BYTES, "the line fits");

/* Quotes a word for redis-cli, in which quotes may begin anywhere and a backslash escapes only between
 * quotes. */
static const char *quoted(char out[QUOTED_BYTES], const char *word)
{
    size_t n = 0;
    if (!strpbrk(word, "\"'")) {
        snprintf(out, QUOTED_BYTES, "%s", word);
        return out;
    }
    out[n++] = '"';
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            out[n++] = '\\';
        out[n++] = *word;
    }
    out[n++] = '"';
    out[n] = 0;
    return out;
}

/* Writes the Redis pattern of all keys or channels that begin with prefix. */
static const char *pattern(char out[PATTERN_BYTES], char type, const char *prefix, const char *rest)
{
    size_t n = 0;
    out[n++] = type;
    for (; *prefix; prefix++) {
        if (strchr("*?[]\\", *prefix))
            out[n++] = '\\';
        out[n++] = *prefix;
    }
    memcpy(out + n, rest, strlen(rest) + 1);
    return out;
}

const char *acl_user(char out[ACL_USER_BYTES], const struct conf *conf)
{
    return quoted(out, conf->node_user[0] ? conf->node_user : "redlockd");
}

const char *acl_line(char out[ACL_BYTES], const struct conf *conf)
{
    char keys[PATTERN_BYTES], channels[PATTERN_BYTES];
    char user[QUOTED_BYTES], keys_quoted[QUOTED_BYTES], channels_quoted[QUOTED_BYTES];
    snprintf(
        out, ACL_BYTES,
        "ACL SETUSER %s on >... resetkeys %s resetchannels %s -@all +select +client|id +client|kill +info "
        "+time +script|load +evalsha +set +get +getex +pexpire +pexpireat +pttl +del +zadd +zscore +hset "
        "+hget +hscan "
        "+hdel +hlen +zrange +zrem +publish +subscribe +ping",
        acl_user(user, conf), quoted(keys_quoted, pattern(keys, '~', conf->key_prefix, "*")),
        quoted(channels_quoted, pattern(channels, '&', conf->key_prefix, ",wake:*")));
    return out;
}
