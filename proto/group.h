/* The agreement of the daemons as each master keeps it, as text:
 *
 *     1 N=5 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 by=5f0c93aa why=clock
 *
 * The words up to from= are read strictly: in this order, with one space between them, plain decimal
 * numbers above 0 without leading zeros, and run in hex. by= and why= follow while a daemon keeps the
 * master out. Any other text was not written by a daemon, and then nobody may vote. Only further key=value
 * words behind from= are skipped, for later versions. A later version whose words old daemons must not
 * skip begins with another number than 1. */
#ifndef REDLOCKD_PROTO_GROUP_H
#define REDLOCKD_PROTO_GROUP_H

#include <stddef.h>

#include "proto/command.h"

enum { GROUP_BYTES = 192 }; /* more than the longest text that is written */

/* Returns the length. */
size_t group_text(char out[GROUP_BYTES], const struct group *group);
/* false: unreadable, and *group is undefined. */
bool group_parse(const char *text, size_t len, struct group *group);

#endif
