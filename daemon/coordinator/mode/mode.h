/* What kinds of locks differ in. A request names what it wants; each of the rooms of this folder says with one const
 * struct how that is asked for and given back, and all other files ask that struct:
 *
 *     writer.c         one client has the name: SET of its key
 *                      leader: the same, and its holder tells others something (keep/data.h)
 *     reader.c         other readers may have the name as well: SHARE (shared.h, join.h)
 *     slot.c           one of the numbered slots of a name, each a lock of its own (slots.h, acquire_slots.h)
 *     list.c           several names, all or none (names.h)
 *
 * A name's resource, a wait, a round and a lease each point to their mode: a reader's are of mode_reader, though the
 * name's resource is of mode_writer, since readers and writers may want the same name. */
#ifndef REDLOCKD_MODE_H
#define REDLOCKD_MODE_H

#include <stdbool.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"

struct coordinator;
struct resource;
struct lease;
struct round;
struct queue;
struct verdict;
struct keeping;

struct mode {
    enum token_kind token;         /* of the tokens that are drawn for it ... */
    unsigned number;               /* ... and their number; of a slot it is the slot's */
    const struct keeping *keeping; /* of its leases, as a rule (keep/keeping.h) */
    bool shares;                   /* two of this mode are not in each other's way */
    bool tells; /* its holder tells others something: a grant waits until a quorum has that (keep/data.h) */
    bool wakes; /* its releases look into the queue on the masters; a list's names do that one by one */
    bool hands_on;  /* its leases go to the next holder without a word to the masters */
    bool fans_out;  /* with fanout: quorum, an attempt asks a quorum of masters first */
    bool splits;    /* where votes are split, one master decides whose attempt goes on */
    bool once;      /* an attempt that only some masters granted is not asked again */
    bool one_stops; /* one key of an attempt that failed may have sent others to sleep */
    bool proposes;  /* each SET proposes a fence, also that of a head that asks again */
    bool turns;     /* where masters wake nobody, daemons take turns at the name */

    /* The head asks the masters: its quorum and the limits were checked. */
    void (*begin)(struct coordinator *c, struct resource *resource);
    /* A round of the head begins: what an earlier one was told is forgotten. looks: it is no attempt yet. */
    void (*forget)(struct queue *queue, bool looks);
    /* Asks these masters for the key of the round. */
    void (*ask)(struct coordinator *c, const struct round *round, masters_t masters);
    /* The round was granted, and its lease is about to be made; makes the lease, and answers the head. */
    void (*granted)(struct coordinator *c, const struct round *round, struct resource *resource);
    struct lease *(*grant)(struct coordinator *c, struct resource *resource, const struct round *round,
                           uint64_t fence, int64_t until_ms);
    /* The round failed with this verdict, and was undone. */
    void (*refused)(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

    /* A resource of this mode was made, and has a name: it joins what else there is of that. Returns false if a table is
     * full, or another use of the name is in the way. It is about to be freed. */
    bool (*made)(struct coordinator *c, struct resource *resource);
    void (*ends)(struct coordinator *c, struct resource *resource);
    /* The last wait has left the queue. */
    void (*queue_ends)(struct coordinator *c, struct resource *resource);
    /* Whether holders here keep a wait of this mode from asking the masters. */
    bool (*in_way)(const struct resource *resource);
    /* Whether the head must not ask before a release here was answered. */
    bool (*awaits)(const struct resource *resource);
    /* A lease was granted here. Whether the head goes on with what it does all the same; else when the next head asks;
     * INT64_MAX: it waits for that lease. */
    bool (*asks_on)(const struct queue *queue);
    int64_t (*along_ms)(const struct coordinator *c, const struct resource *resource);
    /* The lock is free, but the head is to ask at at_ms only, since other daemons want the name: returns when it asks. */
    int64_t (*yields)(const struct coordinator *c, struct resource *resource, int64_t at_ms);
    /* The lease of the name that the session took last; NULL: it has none. */
    struct lease *(*lease_of)(const struct coordinator *c, const struct resource *resource, uint64_t session);
    /* Whether the resource must stay though nobody holds it or waits for it, and no release stands before it. */
    bool (*stays)(const struct resource *resource);
    /* A release begins to stand before the next head (1), or does no more (-1). */
    void (*stands)(struct resource *resource, int by);
    /* Whether the head's SETs may follow a release at once. */
    bool (*follows)(const struct coordinator *c, const struct resource *resource);
    /* The lock may be free now. */
    void (*freed)(struct resource *resource);
    /* Other daemons want the name; and whether they do: then a release must look into the queue on the masters. */
    void (*contended)(const struct coordinator *c, struct resource *resource);
    bool (*is_contended)(const struct coordinator *c, const struct resource *resource);
    /* A wake came though nobody waits here: the next daemon is woken. */
    void (*woken_in_vain)(struct coordinator *c, const struct name *name, masters_t masters);
    /* The last head has left; or the head got the name. */
    void (*left)(struct coordinator *c, struct resource *resource);
    void (*got)(const struct coordinator *c, struct resource *resource);

    /* A lease, which is bound by now if it will be, comes to those of its resource, or goes from them. */
    void (*enter)(struct coordinator *c, struct lease *lease);
    void (*leave)(struct coordinator *c, struct lease *lease);
    /* A holder's lease comes (1) or goes (-1). */
    void (*count)(struct coordinator *c, const struct lease *lease, int by);
    /* Whether a grant of this mode leaves this lease of the same resource in place. */
    bool (*beside)(const struct lease *other);
};

/* The modes stand in c->modes: coordinator.c alone knows their rooms, which may call all others. */
enum mode_kind { MODE_WRITER, MODE_READER, MODE_SLOT, MODE_LIST, MODE_LEADER, MODES };

extern const struct mode mode_writer, mode_reader, mode_slot, mode_list, mode_leader;

#endif
