/* The queue on the masters, in which daemons wait for a name. Each daemon has a place of its own in it,
 * whoever waits there, and its head sleeps until another daemon's release wakes it:
 *
 *     refused --> ENQUEUE --Q have a key, and told its holder--> asleep --woken--> SET --granted
 *                  | |  ^                                          |                '--refused: ENQUEUE
 *                  | |  '----------------- time is over -----------'
 *                  | '--fewer than Q have a key--> SET
 *                  '--few told the holder: nobody may wake the head, and it asks again soon
 *
 * A wake is only a hint: the SETs decide. A lost one costs one sleep. */
#ifndef REDLOCKD_WAKE_H
#define REDLOCKD_WAKE_H

#include "daemon/coordinator/data/state.h"

enum { WAKE_SLEEP_MS = 1000 /* a daemon that sleeps asks again, and says so, within this time */ };

/* Enough masters can wake this daemon. */
bool wake_may_come(const struct coordinator *c);

/* Of a name without slots (struct mode): another daemon wants it, too, so that its release must look into the queue. */
void wake_contended(const struct coordinator *c, struct resource *resource);
bool wake_is_contended(const struct coordinator *c, const struct resource *resource);

/* The head is to join the queue, and to ask there whether there is a key, before it sends SETs. */
bool wake_joins(const struct coordinator *c, const struct resource *resource);
void wake_join(struct coordinator *c, struct resource *resource, uint64_t round);
void wake_joined(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote);

/* The head was refused: when it may ask again. */
int64_t wake_next_ms(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

/* A master woke this daemon: when the head may ask. late: a daemon that polls comes first. */
int64_t wake_woken(struct coordinator *c, struct queue *queue, unsigned master, bool late);

/* The same: nobody waits here any more. */
void wake_leave(struct coordinator *c, struct resource *resource);
/* The same: the head got the name. The release is to look into the queue, and takes this daemon out if nobody else
 * waits here. */
void wake_granted(const struct coordinator *c, struct resource *resource);

/* A command to the queue on those of these masters that are in service. */
void wake_send(struct coordinator *c, enum command_verb verb, const struct name *name, masters_t masters);
/* This daemon does not need the name: the next one may have it. */
void wake_pass(struct coordinator *c, const struct name *name, masters_t masters);

#endif
