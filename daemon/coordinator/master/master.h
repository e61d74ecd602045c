/* One Redis master: what it may be used for, and since when. */
#ifndef REDLOCKD_MASTER_H
#define REDLOCKD_MASTER_H

#include "daemon/coordinator/state.h"

void master_init(struct coordinator *c, unsigned index);

/* Events of its connection. */
void master_connected(struct coordinator *c, struct master *m, uint32_t connection);
void master_lost(struct coordinator *c, struct master *m);
void master_backlog(struct coordinator *c, struct master *m);
void master_timer(struct coordinator *c, struct master *m);

/* Any reply: it is alive. Then what it says, for CLIENT ID, INFO and KILL ... */
void master_heard(struct coordinator *c, struct master *m);
void master_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
/* ... or for lock commands that it refused. */
void master_refused(struct coordinator *c, struct master *m, enum command_verb verb, enum vote_error error);

/* These masters did not answer within node_timeout. */
void masters_overdue(struct coordinator *c, masters_t masters);
/* node_timeout is another one now. */
void masters_reconfigured(struct coordinator *c);

#endif
