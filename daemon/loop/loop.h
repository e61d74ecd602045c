/* The driver: callbacks become events, actions become I/O, one timer.
 *
 *     conn, node --callback--> event --> coordinator_step() --> actions --> conn, node
 *
 * Only the files of this folder know the coordinator, the masters' connections and the clients. */
#ifndef REDLOCKD_LOOP_H
#define REDLOCKD_LOOP_H

#include <event2/event.h>

#include "daemon/conf/conf.h"

struct loop;

/* Makes the coordinator, the connections and the nodes, and binds the listeners. Returns NULL after it has
 * logged the reason. conf, version and file, the configuration (NULL: --dev), are borrowed and must outlive the loop. begin_at: the operator says that no
 * other daemon runs by another generation of the masters. */
struct loop *loop_new(const struct conf *conf, const char *version, const char *file, bool begin_at);
void loop_free(struct loop *loop);

/* Dials the masters, opens the listeners when each master has answered or failed once, and runs until a
 * drain has ended or loop_stop() is called. 0: stopped as asked; 1: a failure that was logged. */
int loop_run(struct loop *loop);

/* The next four are called from signal callbacks of loop_base(). */
/* Begins the drain: sends !DRAIN, and loop_run() returns when no connection holds a lock, nothing is under
 * way and every answer is written. It returns a second after drain_timeout at the latest. */
void loop_drain(struct loop *loop);
void loop_stop(struct loop *loop); /* stops at once */
/* Whether the change of the generation, the masters and max_ttl to that configuration has begun; logs why not. */
bool loop_change_group(struct loop *loop, const struct conf *fresh);
/* The configuration was read again. good: takes over the settings that conf_update() has changed in conf. */
void loop_reloaded(struct loop *loop, bool good);
struct event_base *loop_base(struct loop *loop);
/* ready(arg) will be called once, when the listeners are open. */
void loop_on_ready(struct loop *loop, void (*ready)(void *arg), void *arg);
/* Writes how it is in a few words: "4/5 masters, 812 locks, 3 waiting". */
void loop_summary(const struct loop *loop, char *out, size_t size);
uint16_t loop_port(const struct loop *loop, unsigned listener); /* as bound */
uint16_t loop_http_port(const struct loop *loop, unsigned listener);

#endif
