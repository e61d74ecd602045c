/* The processes: how they are started, paused, killed, started again, and ended.
 *
 *     chaos --+-- redis-server x 5     the masters, empty whenever they start
 *             +-- redis-server         the counters', left alone
 *             +-- proxy                between daemons and masters
 *             +-- redlockd x 3
 *             +-- clients x 28
 *             +-- operator             breaks a lock now and then
 *             +-- broom                removes the folder when all of the above is gone
 *
 * All but the broom die with their parent, however it ends. */
#ifndef CHAOS_WORLD_H
#define CHAOS_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/chaos/change.h"
#include "tests/chaos/client.h"
#include "tests/chaos/plan.h"
#include "tests/chaos/proxy.h"

/* Servers beyond MASTERS are there where masters change. */
enum { SERVERS = MASTERS + 5, LINKS = SERVERS * DAEMONS, CLIENTS = 28, FOLDER = 64 };

_Static_assert((int)LINKS <= (int)PROXY_LINKS, "the proxy has room for each link");

struct process {
    pid_t pid;       /* 0: not running */
    int64_t cont_us; /* stopped until that time; 0: runs */
    int64_t due_us;  /* to be started at that time; 0: not at all */
    int64_t end_us;  /* SIGTERM was sent, and the process has to end by that time; 0: no SIGTERM was sent */
    bool killed;     /* by us */
};

struct trouble { /* until when each fault of a link lasts; 0: there is none */
    int64_t delay_us, rate_us, cut_us, orphan_us;
    int64_t orphan_value_us;
};

struct world {
    struct shared *shared;
    const char *binary;
    char folder[FOLDER];
    char master_path[SERVERS][SOCKET_PATH];
    struct proxy_link link[LINKS]; /* daemon * SERVERS + server */
    uint16_t link_port[LINKS];
    struct trouble trouble[LINKS];
    int orders; /* to the proxy */
    int broom;  /* its closing starts the broom */
    pid_t broom_pid;
    struct process master[SERVERS], counter, proxy, breaker, watch, daemon[DAEMONS], client[CLIENTS];
    struct change change;
    unsigned rolling_left, rolling_next; /* how many masters are still to be restarted, and which is next */
    int64_t rolling_us;                  /* when the next one is to be killed */
    uint32_t who[CLIENTS], whos;
    unsigned started[DAEMONS];
    unsigned faults[FAULT_KINDS];
    bool ending;
};

/* Starts all processes but the clients; false: the reason was printed. */
bool world_start(struct world *world, const char *binary, struct shared *shared, bool change, bool direct);
void world_fault(struct world *world, const struct fault *fault);
/* Does what is due: ends faults that are over, starts processes again; false: a process ended by
 * itself. */
bool world_tick(struct world *world);
void world_calm(struct world *world); /* ends all faults now */
/* Ends the clients, then drains the daemons; false: a process did not end well, or a lock's key stayed. */
bool world_settle(struct world *world);
/* Prints the last lines of a daemon's log to stderr: a failed assertion shows there. */
void world_log_tail(const struct world *world, unsigned daemon);
/* Copies the logs of the daemons and masters. */
void world_keep(const struct world *world, const char *folder);
void world_end(struct world *world); /* kills the remaining processes, waits for them, removes the folder */

/* ---- world.c, for faults.c and settle.c ---- */

void world_start_master(struct world *world, unsigned master);
void world_start_daemon(struct world *world, unsigned daemon);
bool world_configure(struct world *world, unsigned daemon); /* writes a daemon's configuration, as a whole */
void world_start_client(struct world *world, unsigned slot);
void folder_remove(const char *folder);

/* ---- process.c ---- */

/* The program's output goes to the file; the program dies with us. */
pid_t process_exec(const char *const argv[], const char *output);
/* Forks. The child dies with its parent, keeps only the descriptors 0 to 2 and keep[], and sees 0. */
pid_t process_fork(const int *keep, unsigned kept);
void process_stop(struct process *process, int64_t until_us);
void process_kill(struct process *process, int64_t start_us); /* starts it again at that time; 0: never */
/* Kills the process and waits until it is gone. */
void process_end(struct process *process);

/* ---- counter.c ---- */

/* Waits until a redis-server answers; false: no answer. */
bool redis_ready(const char *path);
/* A number, 0 if there is none; -1: no answer. */
int64_t redis_number(const char *path, const char *key, unsigned name);
/* The sum of all balances; -1 also where there is no answer. */
int64_t redis_balances(const char *path);
/* The number of locks' keys: those below the prefix that are not the daemons' own; -1: no answer. */
int64_t redis_locks(const char *path);

#endif
