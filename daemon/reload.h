/* SIGHUP: reads the configuration again while the daemon runs. */
#ifndef REDLOCKD_RELOAD_H
#define REDLOCKD_RELOAD_H

#include "daemon/conf/conf.h"

struct loop;

/* Copies to conf the settings that may change now, and logs every difference; whether the masters of the file may
 * follow those of today, the loop says. A file with an error changes nothing, and each error is logged.
 * read_max_clients is max_clients as the file had it at the start: conf may have less, for lack of descriptors.
 * false: the file had an error, or there was no memory. */
bool reload(struct conf *conf, const char *path, int64_t read_max_clients, struct loop *loop);

#endif
