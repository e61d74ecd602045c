/* The data of one Redis master, and the effect of its commands and our scripts on it: the model
 * that test_model.c compares with a real server. The simulator and the coordinator's fuzzer use it. Times are the
 * master's own, in ms. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "proto/command.h"
#include "tests/sim/names.h"

enum { STORE_BUCKETS = 128, STORE_QUEUE = 64, STORE_READERS = 256, STORE_SLOTS = 64 };

struct store_reader {
    uint32_t tok, maker;
    int64_t ends_ms; /* the reader is gone when the clock shows as much */
};

struct store_key {
    bool there;
    uint32_t tok;       /* the number of a token ... */
    uint32_t maker;     /* ... and the id of the daemon that made it */
    uint32_t list;      /* the code of the list whose hash stands behind the token; 0: none does */
    int64_t expires_ms; /* the key is gone when the clock shows more */
    unsigned readers;   /* above 0: a sorted set, and tok and maker say nothing */
    struct store_reader reader[STORE_READERS];
};

/* The key of a slot. */
struct store_slot {
    unsigned name, slot; /* slot: from 1 */
    struct store_key key;
};

/* A writer's mark. */
struct store_mark {
    uint32_t id; /* 0: none */
    int64_t came_ms, expires_ms;
};

/* The queue of the daemons that wait for a name, in order. */
struct store_queue {
    unsigned count;
    uint32_t id[STORE_QUEUE];
    int64_t score_ms[STORE_QUEUE];
    int64_t expires_ms;
};

enum store_group_kind { STORE_GROUP_NONE, STORE_GROUP_OURS, STORE_GROUP_RUBBISH };

struct store_group {
    enum store_group_kind kind;
    int64_t expires_ms; /* INT64_MAX: never */
    struct group group;
};

/* What the holder of a key tells. */
struct store_told {
    bool there;
    uint32_t tok;
    uint64_t fence, since_ms;
    int64_t expires_ms;
    struct data data;
};

struct store {
    struct store_key key[SIM_NAMES];
    unsigned slot_keys;
    struct store_slot slot[STORE_SLOTS]; /* that had a key once: the first slot_keys */
    struct store_queue queue[SIM_NAMES];
    struct store_mark mark[SIM_NAMES];
    struct {
        uint16_t n;
        int64_t expires_ms;
    } slots[SIM_NAMES]; /* <prefix>,slots:<name> */
    struct store_told told[SIM_NAMES];
    struct store_group group;
    unsigned buckets;
    uint32_t bucket[STORE_BUCKETS];
    uint64_t score[STORE_BUCKETS];
};

struct store_command {
    enum command_verb verb;
    enum command_verb native; /* RELEASE, MOVE: done by this native command; 0: by script */
    unsigned name;            /* of several names: the commands are those for lists */
    unsigned slot;            /* of that name, from 1; 0: the name itself */
    uint32_t tok, maker;      /* the token, and the daemon that made it */
    uint32_t to, to_maker;    /* MOVE: the same of the new one */
    uint32_t other,
        third;     /* RELEASE, MOVE, DOWN: the key may have this token instead; 0: none. ADOPT: see there */
    uint32_t self; /* DEQUEUE, ENQUEUE, LOOK, PASS, ALONG, SHARE, RELEASE, SEE: a daemon; 0: none */
    uint64_t waited_ms; /* ENQUEUE, LOOK, SHARE; GROUP_SET, GROUP_NEW: a full quarantine */
    uint64_t most_ms;   /* EXTEND */
    uint16_t slots;     /* LOOK, CUT */
    bool stays;         /* RELEASE */
    bool shared;        /* ENQUEUE */
    uint32_t bucket;    /* ZADD, ZSCORE; for a list: the number of buckets[] */
    uint64_t number;
    uint32_t buckets[LIST_NAMES];
    struct group group; /* GROUP_SET, GROUP_NEW */
    struct data data;   /* DATA */
};

/* PUBLISH to a daemon's channel: what is 'w', 'l', 't', 'g', 'n' or 'v', slot as in a command (of 'v': the daemon that
 * watches); returns how many hear it. */
typedef unsigned store_publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot);

void store_copy(struct store *to, const struct store *from);
/* FLUSHALL; also before the first use. Only what is in use is cleared, since a store is large. */
void store_clear(struct store *s);

/* Runs any command but CLIENT_ID, INFO and KILL. In a VOTE_TOKEN, number is the tok. Where the store has no room, the
 * server's memory is full. */
void store_run(struct store *s, int64_t now_ms, const struct store_command *command, store_publish *publish,
               void *arg, struct vote *vote);
/* Whether a server in that state answers with this error instead; a script is refused where it
 * writes. */
bool store_refuses(const struct store *s, int64_t now_ms, const struct store_command *command,
                   enum vote_error error);
/* The key of a name, or of one of its slots (from 1), there or not. */
const struct store_key *store_key(const struct store *s, unsigned name, unsigned slot);
/* The same, to be written; NULL: the slot has none, and there is no room for more. */
struct store_key *store_place(struct store *s, int64_t now_ms, unsigned name, unsigned slot);
/* There is a key, and it has not run out. */
static inline bool store_there(const struct store_key *key, int64_t now_ms)
{
    return key->there && now_ms <= key->expires_ms;
}
/* A server deletes a key whose time is over when a command comes to it, so it does not come back when the clock is set
 * back: of these names, and the group's. */
void store_expire(struct store *s, int64_t now_ms, unsigned names);
/* Until when the key keeps its name for this token; 0: not at all. */
int64_t store_keeps_ms(const struct store_key *key, int64_t now_ms, uint32_t tok);
/* The token of the key: of several readers', the given one if it is there. 0: no key. */
uint32_t store_tok(const struct store_key *key, int64_t now_ms, uint32_t tok);
/* store_native.c: runs a native command, if it is one. */
bool store_native(struct store_key *key, int64_t now_ms, const struct store_command *command,
                  struct vote *vote);
/* The same for store_refuses(). */
bool store_native_refuses(const struct store_command *command, enum vote_error error, bool *refuses);
/* store_list.c: the same for a command for several names. */
struct publisher;
void store_run_list(struct store *s, int64_t now_ms, const struct store_command *command,
                    const struct publisher *to, struct vote *vote);
bool store_list_writes(const struct store *s, int64_t now_ms, const struct store_command *command,
                       bool *grows);
/* store.c, for store_list.c */
unsigned store_cut(struct store_key *key, int64_t now_ms, int64_t most_ms); /* returns how many were cut */
/* ZADD GT CH of one bucket: YES, NO, or ERROR, since there is no room for more buckets. */
enum vote_kind store_raise(struct store *s, uint32_t bucket, uint64_t score);
uint64_t store_score(struct store *s, uint32_t bucket);
/* The id as a number: numbers are in order as the texts in a real queue are. */
uint32_t store_id(const struct token *token);
/* Whether the tok's token was made by a daemon, and is no mark; NULL: all are. */
extern bool (*store_made)(uint32_t tok);
/* Whether the tok's token is a mark, of a name that is kept though nobody holds it; NULL: none is. */
extern bool (*store_marks)(uint32_t tok);

#endif
