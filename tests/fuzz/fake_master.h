/* A master for fuzz_coordinator: the simulator's store behind a queue of commands in the order in which they were
 * sent. A command runs when it is answered. A command whose connection was lost runs at any time until that connection
 * is killed, or never. */
#ifndef REDLOCKD_TESTS_FUZZ_FAKE_MASTER_H
#define REDLOCKD_TESTS_FUZZ_FAKE_MASTER_H

#include "tests/sim/store.h"

/* The clock of a master is ahead of the daemon's by this. */
#define CLOCK_MS INT64_C(1700000000000)

/* The first names are also locked one by one, with slots or without; the others are part of lists only. */
enum { QUEUE = 512, GHOSTS = 64, NAMES = SIM_NAMES, SINGLE_NAMES = 3 };

struct sent {
    enum command_verb verb;
    uint64_t ref;
    uint64_t client_id; /* the connection that the command came by */
    struct token token;
    struct store_command what;
};

struct fake_master {
    unsigned index;
    bool connected, full;
    uint32_t connection;
    uint64_t client_id, next_client_id;
    struct sent queue[QUEUE];
    unsigned first, count;
    struct sent ghosts[GHOSTS]; /* of lost connections */
    unsigned ghost_count;
    unsigned run;
    int64_t started_ms;
    struct store store;
};

void master_start(struct fake_master *m, unsigned index, int64_t started_ms);
void master_restart(struct fake_master *m, int64_t now_ms); /* the master comes back empty */
void master_connect(struct fake_master *m);                 /* the master must not be connected */
/* The first `ran` commands without an answer run; some others may later. */
void master_lose(struct fake_master *m, unsigned ran, int64_t now_ms);
void master_queue(struct fake_master *m, const struct command *command);
/* The oldest command; there must be one. */
struct sent master_next(struct fake_master *m);
void master_run(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote);
void master_run_ghosts(struct fake_master *m, int64_t now_ms);
void master_info(const struct fake_master *m, int64_t now_ms, struct master_info *info);
/* The names "a" to "p" as bits. */
uint16_t master_names(const struct name *list);

/* The store knows tokens by numbers: the number of a token, which it gets when it is seen first. */
uint32_t token_number(const struct token *token);
void token_numbers_clear(void);

#endif
