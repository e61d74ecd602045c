/* The masters' answers to WHO together: who holds a name, who waits for it, and what BREAK may delete. All of it
 * is pure. */
#ifndef REDLOCKD_LOOP_HOLDERS_H
#define REDLOCKD_LOOP_HOLDERS_H

#include "proto/who.h"

enum { HOLDER_ID_HEX = 2 * TOKEN_ID_BYTES };

/* A holder of the name or of a slot, or a daemon that waits. All readers of a daemon are one holder, and so are the
 * two tokens of a lease that is being settled. */
struct holder {
    enum who_kind kind;
    bool kept;        /* nobody holds it: it is kept */
    int slot;         /* WHO_NO_SLOT: none */
    unsigned masters; /* how many have it */
    int64_t ms;       /* for how long a quorum has it, or else the longest (-1: without end); or waited */
    char daemon[HOLDER_ID_HEX + 1]; /* "?": another library, or an earlier version */
    char list[HOLDER_ID_HEX + 1];   /* the hash of the names that are locked together; "": a single one */
};

/* Fills in the owners and sorts the entries; the functions below want them so. */
void holders_identify(struct who_entry *entries, unsigned count);
/* Counts the masters of each holder and returns how many holders there are; list has room for count of them. The
 * holders come by slot, the strongest of a slot first, and then the daemons that wait, the longest wait first. */
unsigned holders_list(struct holder *list, const struct who_entry *entries, unsigned count, unsigned quorum);

/* What the holder tells by most of the masters; NULL: it tells nothing. told has one for each master, of equal length. */
const struct who_told *holder_told(const struct holder *holder, const struct who_told *told,
                                   unsigned masters);

enum breaking {
    BREAKING,         /* what is doomed may be deleted */
    BREAKING_FREE,    /* nobody has it */
    BREAKING_SPLIT,   /* no holder has it on a quorum of masters */
    BREAKING_NO_LOCK, /* a quorum has a key there that is no lock */
    BREAKING_WHICH,   /* the name has slots, and none was given */
};
/* Dooms each value that belongs to a holder whom a quorum has: of a shared lock each member that a quorum has. */
enum breaking holders_break(struct who_entry *entries, unsigned count, unsigned quorum, int slot,
                            bool has_slots);
/* Leaves only the marks of a name that is kept though nobody holds it, and dooms each: nobody believes in one that a quorum
 * does not have. */
enum breaking holders_unkeep(struct who_entry *entries, unsigned *count);

#endif
