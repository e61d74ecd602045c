/* What the masters must allow the daemon's user. */
#ifndef REDLOCKD_ACL_H
#define REDLOCKD_ACL_H

#include "daemon/conf/conf.h"

enum { ACL_BYTES = 1536 };

/* One line for redis-cli that makes that user, with "..." in place of its password. Returns out. */
const char *acl_line(char out[ACL_BYTES], const struct conf *conf);

#endif
