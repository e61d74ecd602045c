/* Masters for fuzz_coordinator: each is a queue of commands in the order in which they were sent, and
 * the state that a Redis server would keep. A command runs when it is answered. A command whose
 * connection was lost runs at any time until that connection is killed, or never. */
#ifndef REDLOCKD_TESTS_FUZZ_MASTERS_H
#define REDLOCKD_TESTS_FUZZ_MASTERS_H

#include "proto/command.h"

/* The clock of a master is ahead of the daemon's by this. */
#define CLOCK_MS INT64_C(1700000000000)

/* The first names are also locked one by one, with slots or without; the others are part of lists only. */
enum { QUEUE = 512, GHOSTS = 64, NAMES = LIST_NAMES, SINGLE_NAMES = 3, SLOT_KEYS = 64, SCORES = 96 };

struct sent {
    enum command_verb verb;
    unsigned name;   /* the first one, from 0 */
    int slot;        /* of that name; -1: the name itself */
    uint16_t names;  /* bit i: the name i */
    uint16_t slots;  /* of LOOK */
    uint32_t bucket; /* of ZADD and ZSCORE */
    uint64_t ref, number, waited_ms;
    uint64_t client_id; /* the connection that the command came by */
    struct token token, to, other, third;
    bool has_other, has_third;
    struct group group;
};

/* How many slots a name has, as the first daemon said it. */
struct slots_said {
    uint16_t slots;
    int64_t ends_ms;
};

struct score {
    uint32_t bucket;
    uint64_t highest; /* 0: a free place */
};

enum { READERS = 8 };

struct key {
    struct token token;
    uint16_t names;  /* of the list that it is part of; 0: of none */
    int64_t ends_ms; /* 0: there is none */
    unsigned readers;
    struct token reader[READERS]; /* whose times are over together here */
};

struct slot_key {
    unsigned name, slot;
    struct key key;
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
    struct key keys[NAMES];
    struct group group; /* the value of its key ... */
    int64_t group_ends_ms;
    struct slot_key slot_keys[SLOT_KEYS];
    struct slots_said said[SINGLE_NAMES];
    struct score scores[SCORES];
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
/* The names "a" to "p" as bits. */
uint16_t master_names(const struct name *list);
/* The highest score of a bucket, to be read and written; NULL: it has none, and there is no memory for more. */
uint64_t *master_score(struct fake_master *m, uint32_t bucket);
/* The bucket of one of the names "a" to "p". */
uint32_t master_bucket(unsigned name);
/* masters_list.c: commands for lists. */
void master_run_list(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote);
/* masters_slots.c: the key of a slot, there or not; NULL: it is not there, and there is no memory for more. */
struct key *master_slot_key(struct fake_master *m, unsigned name, unsigned slot, int64_t now_ms);
void master_look(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote);
/* Whether the name, or one of its slots if it has some, has no key. */
bool master_has_free(const struct fake_master *m, unsigned name, int64_t now_ms);
void master_info(const struct fake_master *m, int64_t now_ms, struct master_info *info);

#endif
