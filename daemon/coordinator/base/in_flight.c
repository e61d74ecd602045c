#include "daemon/coordinator/base/in_flight.h"

void in_flight_add(struct in_flight_list *list, struct in_flight *in_flight)
{
    in_flight->prev = list->last;
    in_flight->next = NULL;
    *(list->last ? &list->last->next : &list->first) = in_flight;
    list->last = in_flight;
}

/* A linear search is enough: few items are stale at a time, and only after a master was lost. */
static void unstale(struct in_flight_list *list, struct in_flight *in_flight)
{
    struct in_flight **link = &list->stale;
    while (*link != in_flight)
        link = &(*link)->stale_next;
    *link = in_flight->stale_next;
    in_flight->stale = false;
}

void in_flight_remove(struct in_flight_list *list, struct in_flight *in_flight)
{
    if (in_flight->stale)
        unstale(list, in_flight);
    *(in_flight->prev ? &in_flight->prev->next : &list->first) = in_flight->next;
    *(in_flight->next ? &in_flight->next->prev : &list->last) = in_flight->prev;
}

void in_flight_make_stale(struct in_flight_list *list, struct in_flight *in_flight)
{
    if (in_flight->stale)
        return;
    in_flight->stale = true;
    in_flight->stale_next = list->stale;
    list->stale = in_flight;
}

void in_flight_delay(struct in_flight_list *list, int64_t by_ms)
{
    for (struct in_flight *in_flight = list->first; in_flight != NULL; in_flight = in_flight->next)
        in_flight->timeout_ms += by_ms;
}

/* Shortens the time-outs of the tail of the list, so that the list stays in order. */
void in_flight_hasten(struct in_flight_list *list, int64_t at_ms)
{
    for (struct in_flight *in_flight = list->last; in_flight != NULL && in_flight->timeout_ms > at_ms;
         in_flight = in_flight->prev)
        in_flight->timeout_ms = at_ms;
}

struct in_flight *in_flight_take_stale(struct in_flight_list *list)
{
    struct in_flight *in_flight = list->stale;
    if (in_flight != NULL)
        unstale(list, in_flight);
    return in_flight;
}
