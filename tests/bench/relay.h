/* A daemon without lock logic, over the same libraries (libevent, hiredis): what the daemon would cost if
 * Redlock itself cost nothing.
 *
 *     a line --> relay_client --> the commands to all masters --> relay_master
 *     a line <-- a majority has answered <-- replies, counted, never looked at
 *
 * Like the daemon, the relay writes once a turn of the loop. */
#ifndef REDLOCKD_BENCH_RELAY_H
#define REDLOCKD_BENCH_RELAY_H

#include <event2/event.h>
#include <stdbool.h>

#include "tests/bench/masters.h"
#include "tests/bench/socket.h"

/* relay_client.c */
struct relay_client;
void relay_clients_listen(struct event_base *base, const struct address *address);
/* Writes the answer to a request; tagged_name is as relay_masters_ask() got it. */
void relay_answer(struct relay_client *client, bool unlock, const char *tagged_name, size_t len);
void relay_clients_flush(void);

/* relay_master.c */
enum { RELAY_NAME = 240 };
void relay_masters_dial(struct event_base *base, const struct masters *masters);
/* tagged_name: "#<tag> <name>" or "<name>". The owner of a client that ends must call
 * relay_masters_forget(). */
void relay_masters_ask(struct relay_client *client, bool unlock, const char *tagged_name, size_t len);
void relay_masters_forget(const struct relay_client *client);
void relay_masters_flush(void);

#endif
