/* A token tells whose it is: the value of a key on a master names the daemon that set it.
 *
 *     | daemon id, 4 | kind, 1 | slot, 2 | random, 9 | FNV-1a-32 of the 16 before, 4 |
 *
 * The id is drawn at each start of a daemon. Tokens of other libraries and of earlier versions look
 * different; their kind is not believed, since their last bytes do not fit. */
#ifndef REDLOCKD_TOKEN_H
#define REDLOCKD_TOKEN_H

#include <stdbool.h>

#include "proto/message.h"

/* TOKEN_MARK: of a name that is kept though nobody holds it (keep/kept.h). */
enum token_kind { TOKEN_EXCLUSIVE, TOKEN_SHARED, TOKEN_NAMES, TOKEN_SLOT, TOKEN_MARK };

/* self: the daemon, of which the first bytes are its id; slot: of TOKEN_SLOT, the number of the slot; of TOKEN_EXCLUSIVE, 0 or
 * TOKEN_TELLS; else 0. */
void token_make(struct token *token, const struct token *self, enum token_kind kind, unsigned slot,
                const uint8_t random[TOKEN_RANDOM_BYTES]);
/* The number of the slot that the token is of; -1: it is of none. */
int token_slot(const struct token *token);
/* Whether a daemon of this version has made it. */
bool token_is_made(const struct token *token);
/* Whether it looks like a token of this daemon and of that kind. Its sum is not looked at: a token that somebody else
 * made up so is as good, for whoever only wants to know whose channel is told of it, and whether readers may have it. */
bool token_is_of(const struct token *token, const struct token *self, enum token_kind kind);
/* Whether a daemon made it for a reader. */
bool token_is_shared(const struct token *token);
/* Whether a daemon made it for a lock whose holder tells others something. To all else such a lock is as any exclusive
 * one, also for daemons of an earlier version: the number of its slot, which it does not have, says so. */
bool token_tells(const struct token *token);
enum { TOKEN_TELLS = 1 /* in place of a slot's number */ };
/* Whether a daemon made it for a name that is kept: it may live for longer than any lock. */
bool token_is_mark(const struct token *token);

#endif
