/* The agreement of the daemons as each master keeps it, as text:
 *
 *     1 N=5 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 by=5f0c93aa why=clock
 *
 * The words up to from= are read strictly: in this order, with one space between them, plain decimal numbers
 * above 0 without leading zeros, and run in hex. A daemon writes by= and why= behind from= while it keeps the
 * master out. Further key=value words behind from= are skipped, for later versions. No daemon of this version
 * wrote any other text: if one master has such a text, no master may vote. A later version whose words old
 * daemons must not skip begins with another number than 1. */
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
