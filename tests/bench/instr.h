/* The daemon's own loop in one process with its masters and clients, so that a run is the same each time:
 *
 *     clients (instr_clients.c) <== sockets ==> the daemon's loop <== sockets ==> masters (instr_masters.c)
 *
 * A timer of the same loop serves masters and clients, and callgrind does not count there. Time moves only
 * in that timer (instr_clock.c). */
#ifndef REDLOCKD_BENCH_INSTR_H
#define REDLOCKD_BENCH_INSTR_H

#include <stdbool.h>
#include <stdint.h>

enum { INSTR_MASTERS = 5, INSTR_PATH = 100 };

/* These masters grant each lock, and answer everything else as a usual master would. */
void instr_masters_listen(char paths[INSTR_MASTERS][INSTR_PATH], const char *folder);
void instr_masters_serve(void);

/* Workers over that many connections; fewer connections than workers: with tags. */
void instr_clients_dial(const char *path, unsigned workers, unsigned connections);
void instr_clients_serve(void);
uint64_t instr_clients_cycles(void); /* completed cycles */

void instr_clock_pass(int64_t us);
int64_t instr_clock_us(void);     /* the time, without counting a read */
uint64_t instr_clock_reads(void); /* by the daemon */

_Noreturn void instr_fail(const char *what);

#endif
