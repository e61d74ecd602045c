/* SIGHUP: the configuration is read again while the daemon runs. */
#ifndef REDLOCKD_RELOAD_H
#define REDLOCKD_RELOAD_H

#include "daemon/conf/conf.h"

/* Takes into conf what may change now, and logs every difference; a file with an error changes
 * nothing, and each of its errors is logged. read_max_clients: what the file said at the start, since
 * conf may have less, for want of descriptors. false: nothing was taken over. */
bool reload(struct conf *conf, const char *path, int64_t read_max_clients);

#endif
