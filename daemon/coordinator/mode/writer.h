/* A lock that one client has alone; the other modes begin with what it does. */
#ifndef REDLOCKD_WRITER_H
#define REDLOCKD_WRITER_H

#include "daemon/coordinator/data/state.h"

void writer_begin(struct coordinator *c, struct resource *resource);
void writer_forget(struct queue *queue, bool looks);
void writer_ask(struct coordinator *c, const struct round *round, masters_t masters);
void writer_granted(struct coordinator *c, const struct round *round, struct resource *resource);
bool writer_made(struct coordinator *c, struct resource *resource);
void writer_ends(struct coordinator *c, struct resource *resource);
void writer_queue_ends(struct coordinator *c, struct resource *resource);
bool writer_in_way(const struct resource *resource);
void writer_stands(struct resource *resource, int by);
bool writer_follows(const struct coordinator *c, const struct resource *resource);
bool writer_asks_on(const struct queue *queue);
int64_t writer_along_ms(const struct coordinator *c, const struct resource *resource);
int64_t writer_yields(const struct coordinator *c, struct resource *resource, int64_t at_ms);
void writer_freed(struct resource *resource);
void writer_enter(struct coordinator *c, struct lease *lease);
void writer_leave(struct coordinator *c, struct lease *lease);
void writer_count(struct coordinator *c, const struct lease *lease, int by);
bool writer_beside(const struct lease *other);

#endif
