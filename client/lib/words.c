/* Names of errors, words of rows, and the version: what needs no handle. */
#include <string.h>

#include "client/lib/answer.h"
#include "client/redlock.h"

const char *redlock_error_name(enum redlock_error error)
{
    static const char *const names[] = {
        [REDLOCK_OK] = "ok",
        [REDLOCK_BUSY] = "busy",
        [REDLOCK_TIMEOUT] = "timeout",
        [REDLOCK_NOQUORUM] = "noquorum",
        [REDLOCK_NOTHELD] = "notheld",
        [REDLOCK_CANCELLED] = "cancelled",
        [REDLOCK_MODE] = "mode",
        [REDLOCK_LIMIT] = "limit",
        [REDLOCK_DRAINING] = "draining",
        [REDLOCK_DENIED] = "denied",
        [REDLOCK_AUTH] = "auth",
        [REDLOCK_BADREQUEST] = "badrequest",
        [REDLOCK_UNSUPPORTED] = "unsupported",
        [REDLOCK_LOST] = "lost",
        [REDLOCK_CONNECT] = "connect",
        [REDLOCK_NOANSWER] = "noanswer",
        [REDLOCK_PROTOCOL] = "protocol",
        [REDLOCK_ARGUMENT] = "argument",
        [REDLOCK_NOMEM] = "nomem",
        [REDLOCK_MISUSE] = "misuse",
        [REDLOCK_CLOSED] = "closed",
    };

    return (unsigned)error < sizeof names / sizeof names[0] ? names[error] : "unknown";
}

bool redlock_next_pair(const char **at, struct redlock_pair *pair)
{
    if (!at || !*at || !pair)
        return false;
    const char *end = *at + strlen(*at);
    for (struct piece word = piece_next(at, end); word.len; word = piece_next(at, end)) {
        if (piece_is(word, ":"))
            break;
        const char *equals = memchr(word.text, '=', word.len);
        if (!equals || equals == word.text)
            continue;
        pair->key = word.text;
        pair->key_len = (size_t)(equals - word.text);
        pair->value = equals + 1;
        pair->value_len = word.len - pair->key_len - 1;
        return true;
    }
    *at = end;
    return false;
}

const char *redlock_version(void)
{
    return REDLOCKD_VERSION;
}
