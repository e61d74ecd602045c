/* Tells the service manager how the daemon is, as sd_notify(3) describes it: datagrams of NAME=value lines
 * to the socket that NOTIFY_SOCKET names. Without that variable nothing is sent.
 *
 * A timer in the daemon's own loop sends the signs of life, so that they stop when the loop does. */
#ifndef REDLOCKD_NOTIFY_H
#define REDLOCKD_NOTIFY_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

/* Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment. Call it before a child process
 * can inherit them. */
void notify_take(void);

/* status() writes a line for `systemctl status`, which is sent again when it has changed. False: no memory,
 * which was logged. */
bool notify_start(struct event_base *base, void (*status)(void *arg, char *out, size_t size), void *arg);
void notify_end(void);

void notify_ready(void);
void notify_reload_begins(void);
void notify_reload_ends(void);
/* From now on the manager is asked for more time, for as long as the loop turns. */
void notify_stopping(void);

#endif
