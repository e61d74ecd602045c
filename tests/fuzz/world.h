/* The state of fuzz_coordinator's world, and what each client believes. */
#ifndef REDLOCKD_TESTS_FUZZ_WORLD_H
#define REDLOCKD_TESTS_FUZZ_WORLD_H

#include "daemon/coordinator/coordinator.h"
#include "tests/fuzz/fake_master.h"
#include "tests/fuzz/fuzz.h"

enum {
    CLIENTS = 4,
    ASKED = 64,
    HOLDS = 64,
    TOKENS = 8,
};

struct asked {
    uint64_t session, request; /* session 0: a free place */
    enum verb verb;
    bool optional; /* its session has ended: no client reads the answer */
    struct token token;
    bool has_token;
    bool down;      /* LOCK of a reader, with a token */
    uint16_t slots; /* LOCK slots= */
    uint16_t slot;  /* UNLOCK without a token: 1 + the latest slot of the session; 0: not known, or none */
};

struct client {
    uint64_t session; /* 0: none */
    bool finished, closed;
};

/* A client's belief that it holds a name, or a slot of it, from the grant to the end that the client knows of. */
struct belief {
    bool held;
    uint16_t names;
    uint16_t slot;  /* as in a reply */
    uint16_t slots; /* of how many; 0: not known, or none */
    uint32_t depth; /* of a slot */
    uint64_t session, request;
    int64_t until_ms;
    struct token token;
    uint64_t fence;
    bool reader; /* its client has asked to be one, and was not told that nothing was done */
};

struct world {
    struct coordinator *c;
    struct coordinator_config config;
    struct coordinator_event event;
    struct actions actions;
    struct bytes in;
    int64_t now_ms, wall_ahead_us;
    uint64_t random, last_session, last_request;
    struct client clients[CLIENTS];
    struct asked asked[ASKED];
    struct belief holds[HOLDS];
    unsigned next_hold;
    struct token tokens[TOKENS]; /* that were granted */
    unsigned next_token;
    uint64_t fences[NAMES], alone[NAMES]; /* the highest fences: of all grants, and of those to writers */
    uint64_t slot_fences[SINGLE_NAMES][SLOTS_MAX];
    bool lied;   /* no vote proves anything any more */
    bool forgot; /* a master restarted */
    bool unsure; /* a session gave a slot back, and which of its slots that was is not known */
    bool draining;
    struct fake_master masters[MASTERS]; /* the last, since only master_start() clears them */
};

/* Checks one action of the step and carries it out. */
void world_carry_out(struct world *w, const struct action *action);

/* Replaces the vote by any other that proto/resp could make of a reply to this command. */
void world_lie(struct world *w, const struct sent *sent);

/* The number of unanswered requests whose answer is still read, of one session or (0) of all. */
unsigned world_asked(const struct world *w, uint64_t session);

/* The client that holds by the token has asked to be a reader; reader: false: in vain. */
void world_downgrade(struct world *w, const struct token *token, bool reader);

/* Ends beliefs in that name or list and token, or (token NULL) in locks of that session and of one of its requests
 * (0: all). */
void world_forget(struct world *w, uint16_t names, const struct token *token, uint64_t session,
                  uint64_t request);

/* The session has the lock more than once, and gives it back once; false: it has it once, or not at all. */
bool world_leaves(struct world *w, const struct token *token, uint64_t session);
/* The session gives back the name or list without a token: of several slots the latest, which is returned as in a
 * reply; 0: it is not known, or there is none. keeps: UNLOCK keep=, which is refused of a slot. */
uint16_t world_give_back(struct world *w, uint16_t names, uint64_t session, bool keeps);

/* Another daemon gets a slot of a name (from 1), or the name (0), until then, by keys on a quorum. */
void world_taken(struct world *w, unsigned name, unsigned slot, int64_t until_ms);

#endif
