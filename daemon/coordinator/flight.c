#include "daemon/coordinator/flight.h"

void flight_add(struct flights *flights, struct flight *flight)
{
    flight->prev = flights->last;
    flight->next = NULL;
    *(flights->last ? &flights->last->next : &flights->first) = flight;
    flights->last = flight;
}

/* Few are stale at a time, and only after a master was lost. */
static void unstale(struct flights *flights, struct flight *flight)
{
    struct flight **link = &flights->stale;
    while (*link != flight)
        link = &(*link)->stale_next;
    *link = flight->stale_next;
    flight->stale = false;
}

void flight_remove(struct flights *flights, struct flight *flight)
{
    if (flight->stale)
        unstale(flights, flight);
    *(flight->prev ? &flight->prev->next : &flights->first) = flight->next;
    *(flight->next ? &flight->next->prev : &flights->last) = flight->prev;
}

void flight_make_stale(struct flights *flights, struct flight *flight)
{
    if (flight->stale)
        return;
    flight->stale = true;
    flight->stale_next = flights->stale;
    flights->stale = flight;
}

void flights_delay(struct flights *flights, int64_t by_ms)
{
    for (struct flight *flight = flights->first; flight != NULL; flight = flight->next)
        flight->timeout_ms += by_ms;
}

/* What is cut stays in order: it is the tail of the list. */
void flights_hasten(struct flights *flights, int64_t at_ms)
{
    for (struct flight *flight = flights->last; flight != NULL && flight->timeout_ms > at_ms;
         flight = flight->prev)
        flight->timeout_ms = at_ms;
}

struct flight *flight_take_stale(struct flights *flights)
{
    struct flight *flight = flights->stale;
    if (flight != NULL)
        unstale(flights, flight);
    return flight;
}
