/* The set of masters: their names in small letters, as all daemons write them, and a hash of these. Daemons compare the hash, so
 * that two with as many masters, but not the same ones, never both grant.
 *
 *     redis://user:secret@Redis1.example:6379/2   redis1.example:6379/2
 *     unix:/run/redis.sock, redis://127.0.0.1:1   hosta!/run/redis.sock?db=0, hosta!127.0.0.1:1/0: another server
 *                                                 on each host
 *     {url: "redis://10.9.0.1:6379", name: m1}    m1: for hosts that reach a server by different addresses
 *     vacant                                      vacant: counts in N, and in the hash
 *
 * Patterns of serves: are names of the set, too, written as serves(PATTERN). */
#ifndef REDLOCKD_CONF_SET_H
#define REDLOCKD_CONF_SET_H

#include "daemon/conf/conf.h"

#define CONF_VACANT "vacant"

enum { CONF_SET_BYTES = (MASTERS + CONF_SERVES_MOST) * CONF_NAME_BYTES, CONF_SET_HEX = 16 };

/* The name of a master in the set. */
void conf_set_name(const struct conf_node *node, char out[CONF_NAME_BYTES]);
/* FNV-1a-64 of the sorted names, each with a line's end behind it; never 0. The nodes are those of conf, or those before
 * them. */
uint64_t conf_set_hash(const struct conf *conf, const struct conf_node nodes[], unsigned count);
/* The sorted names with that character between them, without vacant places. */
void conf_set_names(const struct conf *conf, const struct conf_node nodes[], unsigned count, char between,
                    char out[CONF_SET_BYTES]);
/* How many places are not vacant. */
unsigned conf_set_voters(const struct conf_node nodes[], unsigned count);
/* The index of the master with that name; count: there is none. */
unsigned conf_set_find(const struct conf_node nodes[], unsigned count, const char *name);
/* Returns NULL, or what is wrong with a name: in the configuration. */
const char *conf_set_name_wrong(const char *name);

/* The step between two generations, in which the masters vote that both lists have. */
struct conf_between {
    unsigned servers; /* of both lists together */
    unsigned voters;
    unsigned needed; /* more than voters: the step is too big for one generation */
    unsigned keep;   /* so many masters of the first list are to be in the second one too, at least */
};

/* If there are more servers than MASTERS, the other numbers mean nothing. */
struct conf_between conf_set_between(const struct conf_node before[], unsigned before_count,
                                     const struct conf_node after[], unsigned after_count);

#endif
