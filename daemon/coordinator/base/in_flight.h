/* What was sent and waits for replies, in order of time-out.
 *
 * All of a list wait equally long, so that adding at the end keeps the order. An item lives
 * inside its owner. One whose master was lost is stale: it must be looked at again, in a step
 * of its own, before anything else happens to time. */
#ifndef REDLOCKD_IN_FLIGHT_H
#define REDLOCKD_IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct in_flight {
    struct in_flight *next, *prev;
    struct in_flight *stale_next;
    int64_t timeout_ms;
    bool stale;
};

struct in_flight_list {
    struct in_flight *first, *last;
    struct in_flight *stale;
};

void in_flight_add(struct in_flight_list *list, struct in_flight *in_flight);
void in_flight_remove(struct in_flight_list *list, struct in_flight *in_flight); /* also from the stale */
void in_flight_make_stale(struct in_flight_list *list, struct in_flight *in_flight);
/* Every time-out comes later by that. */
void in_flight_delay(struct in_flight_list *list, int64_t by_ms);
void in_flight_hasten(struct in_flight_list *list, int64_t at_ms);   /* none waits any longer than that */
struct in_flight *in_flight_take_stale(struct in_flight_list *list); /* stale no more; NULL: none is */

/* The owner of type, which holds it as its member in_flight. */
#define IN_FLIGHT_OWNER(type, item) ((struct type *)(void *)((char *)(item)-offsetof(struct type, in_flight)))

#endif
