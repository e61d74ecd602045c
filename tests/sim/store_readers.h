/* Names that readers have, in the data of a simulated master. */
#ifndef SIM_STORE_READERS_H
#define SIM_STORE_READERS_H

#include "tests/sim/store.h"

bool readers_have(const struct store_key *key, int64_t now_ms);
/* The reader with this token, whose time is not over; NULL: there is none. */
const struct store_reader *readers_find(const struct store_key *key, int64_t now_ms, uint32_t tok);
/* Removes those whose time is over. */
void readers_over(struct store_key *key, int64_t now_ms);
void readers_out(struct store_key *key, unsigned at);
/* Removes the token; returns whether it was there. */
bool readers_leave(struct store_key *key, uint32_t tok);
/* Adds the token, or lengthens its time. */
void readers_join(struct store_key *key, uint32_t tok, uint32_t maker, int64_t ends_ms);

/* Ends the time of each at this instant at the latest; returns for how many it made a difference. */
unsigned readers_cut(struct store_key *key, int64_t most_ms);

/* Whether the mark of a writer of another daemon, which came sooner, stands in the way. */
bool readers_barred(const struct store *s, int64_t now_ms, const struct store_command *command);
void readers_share(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote);
void readers_extend(struct store_key *key, int64_t now_ms, const struct store_command *command,
                    struct vote *vote);
/* Whether the command writes; first: whether it needs memory that a full server has not. */
bool readers_write(const struct store_key *key, int64_t now_ms, const struct store_command *command);
bool readers_share_writes(const struct store *s, int64_t now_ms, const struct store_command *command,
                          bool first);

#endif
