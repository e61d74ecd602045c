/* The masters change while everything runs (--change): the operator of OPERATING, in a hurry. Generation after
 * generation walks 5 -> 4 -> 3 -> 4 -> 5, replaces each of the five, and begins again; max_ttl goes up and down. Each
 * daemon gets its file with a lag of its own, and SIGHUP; a daemon that is down reads the file when it starts.
 *
 *     STEADY --some time, a new generation--> TOLD --all daemons say steady there--> STEADY
 *
 * A server that comes is empty. A server that has left stays for one generation, and is empty when it comes back. */
#ifndef CHAOS_CHANGE_H
#define CHAOS_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/chaos/client.h"
#include "tests/chaos/plan.h"

struct world;

/* The servers of one generation. */
struct servers {
    unsigned count;
    uint8_t list[MASTERS];
};

struct change {
    bool on, direct; /* direct: from three to five at once */
    unsigned generation;
    struct servers now, before;
    int64_t max_ttl_ms, max_ttl_before_ms;
    bool told;
    int64_t due_us;           /* when the next generation begins */
    int64_t file_us[DAEMONS]; /* when each daemon gets its file; 0: it has it */
    int64_t begun_us, longest_us;
    bool late;       /* one took too long, and that was said */
    unsigned lost;   /* daemons that knew no step when they last answered ... */
    int64_t lost_us; /* ... and all of them do not since then */
    bool word;       /* one daemon is started with --begin-at-generation */
};

void change_begin(struct world *world, bool on, bool direct);
/* Writes the masters' part of a daemon's configuration. */
void change_write(const struct world *world, unsigned daemon, FILE *file);
/* false: a generation does not become steady. */
bool change_tick(struct world *world, int64_t at_us);
/* Whether that daemon is to begin by the operator's word, since no master and no other daemon knows a step. */
bool change_says_begin(const struct change *change, unsigned daemon);
/* No generation begins any more. */
void change_calm(struct world *world);
/* The server that a fault falls on. */
unsigned change_server(const struct change *change, unsigned number);

#endif
