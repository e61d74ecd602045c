/* The data of one Redis master, and the effect of its commands and our scripts on it: the model
 * that test_model.c compares with a real server. Times are the master's own, in ms. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "proto/command.h"
#include "tests/sim/plan.h"

enum { STORE_BUCKETS = 16 };

struct store_key {
    bool there;
    uint32_t tok;       /* the number of a token */
    int64_t expires_ms; /* the key is gone when the clock shows more */
};

enum store_group_kind { STORE_GROUP_NONE, STORE_GROUP_OURS, STORE_GROUP_RUBBISH };

struct store_group {
    enum store_group_kind kind;
    int64_t expires_ms; /* INT64_MAX: never */
    struct group group;
};

struct store {
    struct store_key key[SIM_NAMES];
    struct store_key want[SIM_NAMES]; /* tok: of the daemon */
    struct store_group group;
    unsigned buckets;
    uint32_t bucket[STORE_BUCKETS];
    uint64_t score[STORE_BUCKETS];
};

struct store_command {
    enum command_verb verb;
    unsigned name;
    uint32_t tok;
    uint32_t to; /* MOVE: a token; WANT, RELEASE: a daemon */
    uint32_t bucket;
    uint64_t number;
    struct group group; /* GROUP_SET, GROUP_NEW */
};

/* Runs any command but CLIENT_ID, INFO and KILL. In a VOTE_TOKEN, number is the tok. */
void store_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote);
/* Whether a server in that state answers with this error instead; a script is refused where it
 * writes. */
bool store_refuses(const struct store *s, int64_t now_ms, const struct store_command *command,
                   enum vote_error error);
bool store_has(const struct store *s, int64_t now_ms,
               unsigned name); /* there is a key, and it has not run out */
/* The planted bug that changes the scripts. */
extern enum mutant store_mutant;

#endif
