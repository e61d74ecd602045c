/* The names that this daemon serves. Where a fleet has two sets of masters, each daemon routes some of the names to its
 * set; what a set serves is a part of its identity (conf_set.h), so that two daemons that route names differently are
 * refused by the masters instead of both granting.
 *
 *     serves: "jobs:*"           these only
 *     serves: ["*", "!jobs:*"]   all but these */
#ifndef REDLOCKD_CONF_SERVES_H
#define REDLOCKD_CONF_SERVES_H

#include "daemon/conf/conf.h"

/* Whether it serves the name, of a list each one. */
bool conf_serves_name(const struct conf *conf, const struct name *name);
/* Returns NULL, or what is wrong with an item. */
const char *conf_serves_wrong(const char *item);
/* Whether some item says which names are served, and not only which are not. */
bool conf_serves_some(const struct conf *conf);

#endif
