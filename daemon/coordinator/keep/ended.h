/* Tokens of locks that max= ended a short while ago. Their keys live on for up to a TTL, and an EXTEND
 * that found them would give the holder more time than max= allows.
 *
 * A token has a few places, chosen by its own bytes, which are random. If all are taken, the token that
 * would be forgotten first is overwritten. So a daemon on which thousands of locks end by max= within a
 * TTL forgets some of them, mostly the oldest. An EXTEND of a forgotten token asks the masters, as an
 * EXTEND through another daemon does. */
#ifndef REDLOCKD_ENDED_H
#define REDLOCKD_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

enum { ENDED = 4096 };

struct ended {
    int64_t last_ms; /* no token is remembered longer than until then */
    struct ended_token {
        int64_t until_ms;
        struct token token;
    } list[ENDED];
}; /* all zero: no token */

/* Remembers the token until until_ms. */
void ended_note(struct ended *ended, const struct token *token, int64_t now_ms, int64_t until_ms);
/* Whether the token is remembered. */
bool ended_has(const struct ended *ended, const struct token *token, int64_t now_ms);

#endif
