/* The rights that the daemon's user needs on the masters. */
#ifndef REDLOCKD_ACL_H
#define REDLOCKD_ACL_H

#include "daemon/conf/conf.h"

enum { ACL_BYTES = 2048, ACL_USER_BYTES = 2 * CONF_SECRET_BYTES + 3 };

/* Writes the name of the user as redis-cli takes it. */
const char *acl_user(char out[ACL_USER_BYTES], const struct conf *conf);

/* Writes the command for redis-cli that makes the user, with "..." in place of the password. Returns out. */
const char *acl_line(char out[ACL_BYTES], const struct conf *conf);

#endif
