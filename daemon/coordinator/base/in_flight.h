/* Lists of rounds and releases that were sent and wait for replies, in order of time-out.
 *
 * Items that have a time-out wait equally long, so appending keeps the order. An item is embedded in the
 * round or release that owns it. An item whose master was lost is stale: the coordinator looks at it again,
 * in a step of its own, before it handles any time-out. */
#ifndef REDLOCKD_IN_FLIGHT_H
#define REDLOCKD_IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct in_flight {
    struct in_flight *next, *prev;
    struct in_flight *stale_next;
    int64_t timeout_ms; /* the time at which the wait ends, in coordinator time */
    bool stale;
};

struct in_flight_list {
    struct in_flight *first, *last;
    struct in_flight *stale;
};

/* Appends an item whose timeout_ms is set. */
void in_flight_add(struct in_flight_list *list, struct in_flight *in_flight);
/* Removes an item, also from the stale ones. */
void in_flight_remove(struct in_flight_list *list, struct in_flight *in_flight);
/* Marks an item as stale; the item keeps its place and its time-out. */
void in_flight_make_stale(struct in_flight_list *list, struct in_flight *in_flight);
/* Moves every time-out of the list by_ms later. */
void in_flight_delay(struct in_flight_list *list, int64_t by_ms);
/* Moves every time-out that is later than at_ms to at_ms. */
void in_flight_hasten(struct in_flight_list *list, int64_t at_ms);
/* Returns a stale item, which is not stale any more and stays in the list; NULL if no item is stale. */
struct in_flight *in_flight_take_stale(struct in_flight_list *list);

/* The struct type whose member in_flight is the item. */
#define IN_FLIGHT_OWNER(type, item) ((struct type *)(void *)((char *)(item)-offsetof(struct type, in_flight)))

#endif
