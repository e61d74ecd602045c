#ifndef SIM_STORE_TOLD_H
#define SIM_STORE_TOLD_H

#include "tests/sim/store.h"

/* DATA and ADOPT; and whether the script comes to its SET. */
void told_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote);
bool told_writes(const struct store *s, int64_t now_ms, const struct store_command *command);
/* SEE; its VOTE_SEEN has the tok in number. */
struct publisher;
void told_see(const struct store *s, int64_t now_ms, const struct store_command *command,
              const struct publisher *to, struct vote *vote);
/* What WHO reads there: of the key's token; NULL: nothing. */
const struct store_told *store_told(const struct store *s, int64_t now_ms, unsigned name);

#endif
