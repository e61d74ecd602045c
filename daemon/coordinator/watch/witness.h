/* The daemons that watch names whose locks are held here. A look of theirs says so, and is remembered for 3 s. */
#ifndef REDLOCKD_WITNESS_H
#define REDLOCKD_WITNESS_H

#include "daemon/coordinator/data/state.h"

/* That daemon watches a name whose key is, or was, this daemon's. */
void witness_came(struct coordinator *c, const struct name *name, const struct token *daemon);
/* Writes news to a few of them; or the last of them is forgotten. */
void witness_timer(struct coordinator *c, struct witness *witness);

/* A lock of the name began or ended here, or what its holder tells has changed. */
void witness_touched(struct coordinator *c, const struct name *name);
static inline void witness_touch(struct coordinator *c, const struct name *name)
{
    if (c->watched.used != 0 || c->witnesses.used != 0)
        witness_touched(c, name);
}

#endif
