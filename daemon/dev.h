/* redlockd --dev: throw-away masters, so that a first try needs no server and no file.
 *
 *     redlockd ---- socket pair ----> watcher ---- parent of ----> redis-server x N
 *
 * The watcher lives in a session of its own, so that ^C in the terminal ends the daemon first and the
 * masters last. The watcher kills the masters and removes their folder as soon as the daemon's end of the
 * socket pair is closed, even if the daemon was killed by SIGKILL. */
#ifndef REDLOCKD_DEV_H
#define REDLOCKD_DEV_H

#include "daemon/conf/conf.h"

struct dev;

/* Starts the masters, waits until each answers, and fills *conf. NULL: the reason was
 * printed to stderr, and nothing is left behind. */
struct dev *dev_start(struct conf *conf, unsigned masters);

/* Prints the masters and addresses, one a line. port is the port to which conf->listen[0] was bound. */
void dev_print(const struct dev *dev, uint16_t port, uint16_t http_port, FILE *out);

/* Ends the masters and frees dev. Returns when the masters and their folder are gone. */
void dev_stop(struct dev *dev);

#endif
