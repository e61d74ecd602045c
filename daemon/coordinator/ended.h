/* Tokens whose lock ended by its max= a short while ago. The keys live on for up to a TTL, and an EXTEND that finds them
 * would give the holder more time than max= allows.
 *
 * A place for a token is looked for among a few, which its own random bytes choose; where all are taken, the one that
 * would be forgotten first makes room. So a daemon on which thousands of locks end by max= within a TTL forgets some
 * of them, the oldest mostly. An EXTEND of these asks the masters, as one through another daemon does. */
#ifndef REDLOCKD_ENDED_H
#define REDLOCKD_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

enum { ENDED = 4096 };

struct ended {
    int64_t last_ms; /* all are forgotten then */
    struct ended_token {
        int64_t until_ms;
        struct token token;
    } list[ENDED];
}; /* all zero: there is none */

void ended_note(struct ended *ended, const struct token *token, int64_t now_ms, int64_t until_ms);
bool ended_has(const struct ended *ended, const struct token *token, int64_t now_ms);

#endif
