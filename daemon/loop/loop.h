/* The driver: callbacks become events, actions become I/O, one timer.
 *
 *     conn, node --callback--> event --> coordinator_step() --> actions --> conn, node
 *
 * Only this file knows the coordinator, the masters' transports and the clients. */
#ifndef REDLOCKD_LOOP_H
#define REDLOCKD_LOOP_H

#include <event2/event.h>

#include "daemon/conf/conf.h"

struct loop;

/* Binds the listeners and makes everything; NULL: the reason was logged. conf is
 * borrowed and must outlive it. */
struct loop *loop_new(const struct conf *conf, const char *version);
void loop_free(struct loop *loop);

/* Dials the masters, opens the listeners when each has answered or failed once, and
 * runs until loop_drain() is done or loop_stop(). 0: stopped as asked; 1: a failure that was logged. */
int loop_run(struct loop *loop);

/* From signal callbacks of loop_base(). */
void loop_drain(struct loop *loop); /* say !DRAIN, wait for the holders, then stop */
void loop_stop(struct loop *loop);  /* now */
/* conf was changed where conf_update() may: from now on that counts. */
void loop_reconfigure(struct loop *loop);
struct event_base *loop_base(struct loop *loop);
/* Called once when the listeners are open. */
void loop_on_ready(struct loop *loop, void (*ready)(void *arg), void *arg);
uint16_t loop_port(const struct loop *loop, unsigned listener); /* as bound */

#endif
