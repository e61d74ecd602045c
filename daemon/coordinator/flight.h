/* What was sent and waits for replies, in order of time-out.
 *
 * All of a list wait equally long, so that adding at the end keeps the order. An item lives
 * inside its owner. One whose master was lost is stale: it must be looked at again, in a step
 * of its own, before anything else happens to time. */
#ifndef REDLOCKD_FLIGHT_H
#define REDLOCKD_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight {
    struct flight *next, *prev;
    struct flight *stale_next;
    int64_t timeout_ms;
    bool stale;
};

struct flights {
    struct flight *first, *last;
    struct flight *stale;
};

void flight_add(struct flights *flights, struct flight *flight);
void flight_remove(struct flights *flights, struct flight *flight); /* also from the stale */
void flight_make_stale(struct flights *flights, struct flight *flight);
/* Every time-out comes later by that. */
void flights_delay(struct flights *flights, int64_t by_ms);
void flights_hasten(struct flights *flights, int64_t at_ms); /* none waits any longer than that */
struct flight *flight_take_stale(struct flights *flights);   /* stale no more; NULL: none is */

/* The owner of type, which holds it as its member flight. */
#define FLIGHT_OWNER(type, item) ((struct type *)(void *)((char *)(item)-offsetof(struct type, flight)))

#endif
