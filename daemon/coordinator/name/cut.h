/* Keys that live longer than any lock may. While a master's clock is ahead, keys get the instant at which they end
 * by that clock; once it is set back, they live on until it shows that instant again. EXTEND cuts the keys of its
 * own token. The keys of holders that are gone are cut where somebody waits for them. */
#ifndef REDLOCKD_CUT_H
#define REDLOCKD_CUT_H

#include "daemon/coordinator/data/state.h"

/* For how long a key with this token may live; 0: for as long as it likes. */
uint64_t cut_most_ms(const struct coordinator *c, const struct token *token);
/* A master told the head of the resource's queue that a key of the name lives for so long. */
void cut_if_long(struct coordinator *c, const struct resource *resource, unsigned master, uint64_t left_ms);
/* The head of the resource's queue polls, and not every master told it how long its keys live. */
void cut_while_polling(struct coordinator *c, const struct resource *resource);

#endif
