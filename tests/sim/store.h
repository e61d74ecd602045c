/* What one Redis master keeps, and what its commands and our scripts do to it: the model
 * that test_model.c compares with a real server. Times are the master's own, in ms. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "proto/command.h"
#include "tests/sim/plan.h"

enum { STORE_BUCKETS = 16 };

struct store_key {
    bool there;
    uint32_t tok;       /* stands for a token */
    int64_t expires_ms; /* gone when the clock shows more */
};

struct store {
    struct store_key key[SIM_NAMES];
    unsigned buckets;
    uint32_t bucket[STORE_BUCKETS];
    uint64_t score[STORE_BUCKETS];
};

struct store_command {
    enum command_verb verb;
    unsigned name;
    uint32_t tok;
    uint32_t bucket;
    uint64_t number;
};

/* SET, ZADD, ZSCORE, RELEASE, EXTEND or CHECK */
void store_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote);
bool store_has(const struct store *s, int64_t now_ms, unsigned name); /* a key that is not over */
/* What a planted bug makes of the scripts. */
extern enum mutant store_mutant;

#endif
