/* A TCP proxy between daemons and masters, in a process of its own: one listener for each pair, so
 * that each pair can have its own faults.
 *
 *     daemon d --TCP--> listener of link d x m --> queue, delay, cut --> master m's Unix socket
 *
 * A link behaves as TCP does: bytes keep their order and are never lost in the middle. A cut holds
 * the bytes (and the news that a side has closed) until it is over; only a reset loses bytes. One connection
 * of the daemon is one connection to the master: a restarted master is never hidden. */
#ifndef CHAOS_PROXY_H
#define CHAOS_PROXY_H

#include <stdint.h>

enum { PROXY_LINKS = 30 }; /* at most */

enum order_kind {
    ORDER_DELAY,  /* value: µs, each way, give or take a half; 0: none */
    ORDER_RATE,   /* value: bytes a second, each way; 0: any */
    ORDER_CUT,    /* value: CUT_* together; 0: none */
    ORDER_RESET,  /* resets all connections on both sides; queued bytes are lost */
    ORDER_ORPHAN, /* resets the daemon's side; the bytes that it sent reach the master value µs later */
};

enum { CUT_TO_MASTER = 1, CUT_TO_DAEMON = 2 };

struct order {
    uint32_t kind;
    uint32_t link;
    int64_t value;
};

struct proxy_link {
    int listener;          /* non-blocking */
    char master_path[104]; /* the path of the master's Unix socket */
};

/* Serves until orders (a pipe of struct order) is closed; never returns. */
_Noreturn void proxy_run(const struct proxy_link *links, unsigned count, int orders, uint64_t seed);

#endif
