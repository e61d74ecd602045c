/* The set of masters: their names in small letters, as all daemons write them, and a hash of these. Daemons compare the hash, so
 * that two with as many masters, but not the same ones, never both grant.
 *
 *     redis://user:secret@Redis1.example:6379/2   redis1.example:6379/2
 *     unix:/run/redis.sock, redis://127.0.0.1:1   hosta!/run/redis.sock?db=0, hosta!127.0.0.1:1/0: another server
 *                                                 on each host
 *     {url: "redis://10.9.0.1:6379", name: m1}    m1: for hosts that reach a server by different addresses */
#ifndef REDLOCKD_CONF_SET_H
#define REDLOCKD_CONF_SET_H

#include "daemon/conf/conf.h"

enum { CONF_SET_BYTES = MASTERS * CONF_NAME_BYTES, CONF_SET_HEX = 16 };

/* The name of a master in the set. */
void conf_set_name(const struct conf_node *node, char out[CONF_NAME_BYTES]);
/* FNV-1a-64 of the sorted names, each with a line's end behind it; never 0. */
uint64_t conf_set_hash(const struct conf *conf);
/* The sorted names with that character between them. */
void conf_set_names(const struct conf *conf, char between, char out[CONF_SET_BYTES]);
/* Returns NULL, or what is wrong with a name: in the configuration. */
const char *conf_set_name_wrong(const char *name);

#endif
