/* The rights that the daemon's user needs on the masters. */
#ifndef REDLOCKD_ACL_H
#define REDLOCKD_ACL_H

#include "daemon/conf/conf.h"

enum { ACL_BYTES = 2048 };

/* Writes the command for redis-cli that makes the user, with "..." in place of the password. Returns out. */
const char *acl_line(char out[ACL_BYTES], const struct conf *conf);

#endif
