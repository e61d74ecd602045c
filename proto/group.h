/* The agreement of the daemons as each master keeps it, as text:
 *
 *     1 N=5 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 by=5f0c93aa why=clock
 *     set=8c2f5d11a0b37e49 back=1732100000000
 *
 * (one line). The words up to from= are read strictly: in this order, with one space between them, plain decimal
 * numbers above 0 without leading zeros, and run in hex. A daemon writes by= and why= behind from= while it keeps
 * the master out. set= is the hash of the names of all masters (daemon/conf/conf_set.h); the first daemons did not write it. back= is the master's TIME when from= was found too far ahead, because its clock was set back: the master may
 * vote a full quarantine later, if from= is later still.
 *
 * Further key=value words behind from= are skipped, for later versions. A later version whose words old daemons
 * must not skip begins with another number than 1.
 *
 * Only one script writes the text (proto/lua/group.lua). Old daemons write it by SET, and read it as long as it has at
 * most RESP_TEXT_BYTES. */
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
