/* The queue of the daemons that wait for a name, in the data of a simulated master: <prefix>,queue:<name>, and the
 * scripts that look whether anybody has to wait. Each does as its script in proto/lua/ does. */
#ifndef SIM_STORE_QUEUE_H
#define SIM_STORE_QUEUE_H

#include "tests/sim/store.h"

struct publisher {
    store_publish *publish;
    void *arg;
};

void queue_enqueue(struct store *s, int64_t now_ms, const struct store_command *command,
                   const struct publisher *to, struct vote *vote);
void queue_dequeue(struct store *s, const struct store_command *command, struct vote *vote);
void queue_look(struct store *s, int64_t now_ms, const struct store_command *command,
                const struct publisher *to, struct vote *vote);
void queue_pass(struct store *s, int64_t now_ms, const struct store_command *command,
                const struct publisher *to, struct vote *vote);
void queue_along(struct store *s, int64_t now_ms, const struct store_command *command,
                 const struct publisher *to, struct vote *vote);
/* A RELEASE that wakes has deleted the key. */
void queue_released(struct store *s, int64_t now_ms, const struct store_command *command,
                    const struct publisher *to, struct vote *vote);
/* A RELEASE deleted the key, which this daemon had made. */
void queue_letter(const struct store_command *command, const struct publisher *to, uint32_t maker);
/* PUBLISH, about the name of the command; a letter ('g') also names its slot. Returns how many hear it. */
unsigned queue_say(const struct publisher *to, uint32_t id, char what, const struct store_command *command);
/* Whether PASS or ALONG writes: where there is no key and another daemon waits. */
bool queue_writes(const struct store *s, int64_t now_ms, const struct store_command *command);

/* Nobody holds the name, but it is kept: the value is a mark. */
bool queue_is_kept(const struct store_key *key);

#endif
