/* The agreement of the daemons as each master keeps it, as text:
 *
 *     1 N=5 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 by=5f0c93aa why=clock
 *     set=8c2f5d11a0b37e49 back=1732100000000
 *
 * or, from the first step on,
 *
 *     2 step=3 max_ttl=30000 run=0123456789abcdef0123456789abcdef01234567 from=1732200000000 since=1732200100000
 *     settled set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75 by=5f0c93aa why=clock back=1732100000000
 *
 * (each is one line). The words up to from= in the first, up to before= in the second, are read strictly: in this order (settled may be left out), with one space between them, plain decimal
 * numbers above 0 without leading zeros, and run in hex. A daemon writes by= and why= behind them while it keeps
 * the master out. set= is the hash of the names of all masters (daemon/conf/conf_set.h); the first daemons did not write it. back= is the master's TIME when from= was found too far ahead, because its clock was set back: the master may
 * vote a full quarantine later, if from= is later still.
 *
 * Further key=value words behind from= are skipped, for later versions. A later version whose words old daemons
 * must not skip begins with another number than 1 or 2.
 *
 * step= counts the changes of the masters: 2g is generation g of the configuration, and between two of these, 2g-1, the
 * masters vote that both have. since= is the master's TIME when its step was raised; set= is the hash of this step's set,
 * before= one of the set and max_ttl of the step before. settled: a daemon votes by this step.
 *
 * Only one script writes the text (proto/lua/group.lua). Old daemons write it by SET, and read it as long as it has at
 * most RESP_TEXT_BYTES. */
#ifndef REDLOCKD_PROTO_GROUP_H
#define REDLOCKD_PROTO_GROUP_H

#include <stddef.h>

#include "proto/command.h"

enum { GROUP_BYTES = 256 }; /* more than the longest text that is written */

/* Returns the length. */
size_t group_text(char out[GROUP_BYTES], const struct group *group);
/* false: unreadable, and *group is undefined. */
bool group_parse(const char *text, size_t len, struct group *group);

#endif
