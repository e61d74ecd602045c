/* The processes: who is started, paused, killed and started again, and how all end.
 *
 *     chaos --+-- redis-server x 5     the masters, empty whenever they start
 *             +-- redis-server         the counter's, left alone
 *             +-- proxy                between daemons and masters
 *             +-- redlockd x 3
 *             +-- clients x 28
 *             +-- broom                removes the folder when all of the above is gone
 *
 * All die with their parent, however it ends. */
#ifndef CHAOS_WORLD_H
#define CHAOS_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/chaos/client.h"
#include "tests/chaos/plan.h"
#include "tests/chaos/proxy.h"

enum { LINKS = MASTERS * DAEMONS, CLIENTS = 28, FOLDER = 64 };

struct process {
    pid_t pid;       /* 0: not running */
    int64_t cont_us; /* stopped until then; 0: runs */
    int64_t due_us;  /* to be started then; 0: is not */
    int64_t end_us;  /* SIGTERM was sent: has to have ended by then; 0: it was not */
    bool killed;     /* by us */
};

struct trouble { /* of a link: until when */
    int64_t delay_us, rate_us, cut_us, orphan_us;
    int64_t orphan_value_us;
};

struct world {
    struct shared *shared;
    const char *binary;
    char folder[FOLDER];
    char master_path[MASTERS][SOCKET_PATH];
    struct proxy_link link[LINKS]; /* daemon * MASTERS + master */
    uint16_t link_port[LINKS];
    struct trouble trouble[LINKS];
    int orders; /* to the proxy */
    int broom;  /* its closing starts the broom */
    pid_t broom_pid;
    struct process master[MASTERS], counter, proxy, daemon[DAEMONS], client[CLIENTS];
    unsigned rolling_left, rolling_next; /* masters to be restarted, and which is next ... */
    int64_t rolling_us;                  /* ... and when */
    uint32_t who[CLIENTS], whos;
    unsigned started[DAEMONS];
    unsigned faults[FAULT_KINDS];
    bool ending;
};

/* All but the clients; true, or it has said why not. */
bool world_start(struct world *world, const char *binary, struct shared *shared);
void world_fault(struct world *world, const struct fault *fault);
/* What is due: faults that are over, processes to start again; false: something ended by itself. */
bool world_tick(struct world *world);
void world_calm(struct world *world); /* all faults are over now */
/* Clients leave, then daemons drain; false: somebody did not. */
bool world_settle(struct world *world);
/* The last lines of what a daemon logged, to stderr: an assertion that failed is there. */
void world_log_tail(const struct world *world, unsigned daemon);
/* Copies what the daemons and masters logged. */
void world_keep(const struct world *world, const char *folder);
void world_end(struct world *world); /* kills what is left, waits for it, removes the folder */

/* ---- world.c, for faults.c and settle.c ---- */

void world_start_master(struct world *world, unsigned master);
void world_start_daemon(struct world *world, unsigned daemon);
void world_start_client(struct world *world, unsigned slot);
void folder_remove(const char *folder);

/* ---- process.c ---- */

/* Output goes to the file; dies with us. */
pid_t process_exec(const char *const argv[], const char *output);
/* Forks; in the child: dies with the parent, holds no descriptors but 0 to 2 and keep[], returns 0. */
pid_t process_fork(const int *keep, unsigned kept);
void process_stop(struct process *process, int64_t until_us);
void process_kill(struct process *process, int64_t start_us); /* to be started again then; 0: never */
/* Waits until it is gone. */
void process_end(struct process *process);

/* ---- counter.c ---- */

/* Waits until a redis-server answers; false: it does not. */
bool redis_ready(const char *path);
/* A number, 0 if there is none; -1: no answer. */
int64_t redis_number(const char *path, const char *key, unsigned name);
/* How many locks' keys there are: keys below the prefix that are not the daemons' own; -1: no answer. */
int64_t redis_locks(const char *path);

#endif
