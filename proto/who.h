/* The holders of a name, as one master sees them: the questions of WHO and BREAK, and the answers to them.
 *
 * The script of WHO writes nothing. It answers with these lines:
 *
 *     ok 5 0                   how many slots the name has (0: none); 1 if there was no room for the rest
 *     x 5f0c93aa00.. 9120      the key: its value, and the TTL that is left in ms (-1: without end)
 *     d 17 1732000000000 a:1   what the holder of that value tells: its fence, since when it holds it (in ms since 1970), and
 *                              the text
 *     s 5f0c93aa01.. 8000      a member of a shared lock
 *     3 5f0c93aa00.. 7000      the key of slot 3
 *     q 5f0c93aa 4711          a daemon in the queue, and for how many ms it has waited
 *
 * A value that has other bytes than hex digits and commas, or more than 64 of them, is shown as "?" and its
 * SHA-1. "?" alone stands for a key that is no lock at all. The script of BREAK gets values as WHO has read them,
 * deletes what still has them, wakes the queue, and answers with "ok" and how many it has deleted. All of this is
 * read from a master, so it may be anything. */
#ifndef REDLOCKD_PROTO_WHO_H
#define REDLOCKD_PROTO_WHO_H

#include <stddef.h>

#include "proto/message.h"

enum {
    WHO_VALUE_BYTES = 64,
    WHO_LINES = 2048, /* that are read of one answer, whatever a master says */
    WHO_NO_SLOT = -1,
};

enum who_kind { WHO_EXCLUSIVE, WHO_SHARED, WHO_WAITS };

struct who_entry {
    enum who_kind kind;
    int16_t slot;   /* WHO_NO_SLOT: the key of the name itself */
    uint8_t master; /* set by the reader's caller */
    bool doomed;    /* BREAK may delete it */
    int64_t ms;     /* what is left (-1: without end); WHO_WAITS: for how long */
    char value[WHO_VALUE_BYTES + 1];
    char owner[WHO_VALUE_BYTES + 1]; /* equal for all values of one holder; filled in by holders_identify() */
};

/* What the holder of the key tells. */
struct who_told {
    char value[WHO_VALUE_BYTES + 1]; /* the key's; "": its holder tells nothing */
    uint64_t fence;
    int64_t since_ms;
    struct data data;
};

struct who_answer {
    uint32_t slots;
    bool cut; /* there was more */
    const char *at, *end;
    unsigned lines;
    char value[WHO_VALUE_BYTES + 1]; /* of the key; "": none was read yet */
    struct who_told told;
};

/* text must live as long as the answer. false: the script has not written it. */
bool who_answer_begin(struct who_answer *answer, const char *text, size_t len);
/* Reads the next entry, and skips what is none; false: there are no more. What is told is in the answer then. */
bool who_answer_next(struct who_answer *answer, struct who_entry *entry);
/* How many BREAK has deleted; -1: the script has not written this. */
int64_t who_deleted(const char *text, size_t len);

/* The bytes of the questions, as those of resp.h. NULL: no memory. */
char *who_question(const char *key_prefix, const struct name *name, size_t *len);

struct who_break {
    enum who_kind kind;
    int slot; /* WHO_NO_SLOT: none */
    uint64_t queue_ttl_ms;
    const char *const *values;
    unsigned count;
};
char *who_break(const char *key_prefix, const struct name *name, const struct who_break *what, size_t *len);

#endif
