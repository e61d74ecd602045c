/* What the daemons keep on a master about their agreement, as text:
 *
 *     1 N=5 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 by=5f0c93aa why=clock
 *
 * Read strictly as it is written: these words in this order, one space between them, plain decimal numbers above 0
 * without leading zeros, run in hex. by= and why= stand there where a daemon keeps the master out. Whatever else stands there was not written by a daemon, and then nobody may
 * vote. Only further key=value words behind those are passed over, for later versions: what old daemons must not
 * pass over begins with another number than 1. */
#ifndef REDLOCKD_PROTO_GROUP_H
#define REDLOCKD_PROTO_GROUP_H

#include <stddef.h>

#include "proto/command.h"

enum { GROUP_BYTES = 192 }; /* the longest text that is written */

/* Returns the length; no NUL. */
size_t group_text(char out[GROUP_BYTES], const struct group *group);
/* false: unreadable; *group is undefined then. */
bool group_parse(const char *text, size_t len, struct group *group);

#endif
