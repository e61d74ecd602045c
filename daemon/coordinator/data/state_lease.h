/* Locks: who holds a name, or several as a list, or keeps one. Part of state.h. */
#ifndef REDLOCKD_STATE_LEASE_H
#define REDLOCKD_STATE_LEASE_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/intern.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/table.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/data/state_wait.h"

/* A name's place in a list: one of the lists that it belongs to. */
struct link {
    struct resource *resource; /* (ref) of the single name */
    struct list *list;         /* (ref) */
    struct link *next, *prev;  /* of the same name, in other lists; the one granted last stands first */
};

/* Several names that are locked as one (names.h). The resource of all of them has the queue, the lease and the
 * rounds; here is what joins it to the resources of the single names. The sets have a bit for each place. */
struct list {
    uint64_t id;
    struct heap_item item;     /* due now while names are being passed on, one a step; else at firm_ms */
    struct resource *resource; /* (ref) */
    uint64_t order;            /* of the request that the lease was granted to */
    int64_t firm_ms;           /* until then it stands firm, if it does */
    uint32_t count;
    bool firm;                    /* the heads that came later wait behind it at all of its names */
    uint16_t passed;              /* grants of its names to others since it last stood firm, or was granted */
    uint16_t patience;            /* after so many of them it stands firm */
    uint16_t refused;             /* names in use when it was last refused or blocked */
    uint16_t contended;           /* names that other daemons want: a release must look into their queues */
    uint16_t passing;             /* names whose next daemon is to be woken */
    uint8_t refusals[LIST_NAMES]; /* masters that refused the last attempt because of the name */
    struct link link[LIST_NAMES];
};

/* The holder of a lease: a session, or with hold=lease any client that shows the token. */
struct hold {
    struct session *session; /* (ref) NULL: bound to no session */
    struct hold *session_next, *session_prev;
    uint64_t request;   /* the LOCK or RESUME that was granted */
    struct token token; /* the holder was told this token; the key's value, too, if the lease has no secret */
    uint64_t fence;
    int64_t ends_ms;         /* when max= ends it; INT64_MAX: never */
    uint32_t depth;          /* how often it was locked */
    enum hold_kind kind : 8; /* eight bytes together with depth, warned and peer, to save memory */
    bool warned;             /* !EXPIRING was sent */
    uint16_t peer;           /* the peer whose limits count it, even after its session ended */
    const struct word *note; /* interned; NULL: none */
};

/* The data that a RESUME needs beside its round. The round owns this object until the round is decided; then
 * the lease keeps it until the lease ends, in case the grant cannot be delivered. */
struct resume {
    uint64_t id;
    struct resume *next, *prev; /* in the resource's list, while the RESUME is under way */
    int64_t max_ms;             /* max= of the request; -1: none */
    const struct word *note;    /* interned; NULL: none. The lease takes it over */
    struct token old;
    struct token key; /* if has_key: the secret token that the key may have instead of the old one */
    bool has_key;
    uint64_t order;  /* of a list, as in the request */
    masters_t may;   /* masters that may have the new token */
    bool given_back; /* the old token was given back while the RESUME was under way */
};

/* A lease whose key has a token that no client is told (secret.h), and that may be handed on (hand.h). */
struct secret {
    uint64_t id;
    struct token key;          /* the key's value, until the lease is settled */
    int64_t set_ms;            /* when the key was granted */
    bool settling;             /* the told token takes its place: either may be on a master */
    bool is_settled;           /* Q masters acknowledged that */
    masters_t settled;         /* masters that acknowledged it in their present memory */
    masters_t granting;        /* masters that granted its SET, and have not lost their memory since */
    uint64_t reserving;        /* id of the round that reserves fences; 0: none */
    uint64_t reserved;         /* fences up to this one may be told */
    uint64_t reserved_at_once; /* how many the last reserve brought */
    bool down;                 /* the lease was made a reader's (downgrade.h) */
    bool down_told;            /* ... and its client knows the new token */
    struct token was;          /* ... and the token that was told before, which a key may have, too */
};

/* The place of a reader's lease among those of its name (shared.h), and what joins it to others (join.h). */
struct shared {
    struct lease *next, *prev; /* (ref) a ring */
    uint64_t joins;            /* JOINED: id of the lease that it relies on */
    /* COMMON: */
    int64_t shown_ms;  /* Q masters were asked then or later, and had its key */
    int64_t kept_ms;   /* until then a reader that did not give its part back may believe in it */
    uint32_t memories; /* c->memories when it was granted */
    uint32_t readers;  /* leases that rely on it */
    uint32_t bound;    /* of these: with a session */
    int32_t said_ms;   /* the longest TTL that one of them has named since ... */
    int64_t said_since_ms;
};

/* The readers of a name. */
struct crowd {
    struct lease *latest;   /* (ref) the latest COMMON lease, which readers may join; NULL: none */
    struct lease *home;     /* (ref) the COMMON lease that the readers of the others go over to; NULL: none */
    struct lease *lettered; /* (ref) the next one to be asked about because of a letter; NULL: none */
    uint32_t readers;       /* leases of readers, without the COMMON ones */
};

/* A letter is what other daemons wrote about a name (letter.h). There is one for each slot of the resources. */
struct letter {
    struct heap_item item; /* when its leases are asked, or looked at */
    uint64_t resource;     /* id */
    int64_t first_ms;      /* when this second of letters began */
    int64_t anew_ms;       /* when one was last cut short by letters after a new grant */
    int64_t retry_ms;      /* not before, as they could not be asked */
    int64_t doubted_ms;    /* what Q masters said until then may be over */
    masters_t from;        /* masters that published a letter in this second */
    bool news;             /* a letter came since the leases were asked */
    bool asked;            /* in this second they were asked, by letters of few masters or of many ... */
    bool asked_many;       /* ... by letters of so many that no quorum may be left */
    bool again;            /* one of them could not be asked */
    bool walking;          /* they are being looked at, a few in a step */
};

/* The holder of a lease tells this to others (data.h), or a request that waits wants it told; data.len 0: nothing. */
struct told {
    uint64_t since_ms; /* since when it is held, in ms of the wall clock of the daemon that granted it */
    uint8_t votes;     /* of masters that tell this rather than anything else, behind a RESUME ... */
    bool settled;      /* ... unless the holder has said it */
    struct data data;
};

/* The masters know this of a lease: its key there, and what they acknowledged. */
struct copies {
    masters_t granted; /* masters that acknowledged the key */
    masters_t may;     /* masters that may have the key: asked, and did not refuse */
    /* Masters that were sent the key by the grant and did not refuse it then, that were sent a heal, or that
     * extended the key. Each owes the release, even if it reports later that it has no key. */
    masters_t sent;
    masters_t healing;   /* masters whose acknowledged[] is the deadline of a heal without a reply */
    masters_t confirmed; /* masters whose "extended" counts even in quarantine */
    /* Masters on which another client deleted the key before its TTL ended; the key is never set there
     * again. */
    masters_t released_elsewhere;
    uint32_t memories;  /* c->memories when the masks and acknowledged[] were last brought up to date */
    int32_t longest_ms; /* longest TTL that a master was asked to keep it for */
    /* fanout: quorum: whether the key is still to be set on the masters that were not asked. NOT: all were. */
    enum { SPREAD_NOT, SPREAD_SOON, SPREAD_AGAIN, SPREAD_DONE } spread : 8;
    /* Per master: when the last TTL ends that it acknowledged in its present memory; 0: it acknowledged
     * none. */
    uint32_t acknowledged[];
};

/* A lock that was granted here. There are as many leases as locks, so they are kept small: rare data is
 * stored elsewhere, and times near until_ms are stored as 32-bit distances from it (heal.c). */
struct lease {
    uint64_t id;
    struct heap_item item;     /* the next renewal, warning or deadline */
    struct resource *resource; /* (ref) */
    int64_t granted_ms;        /* when this daemon granted it, or took it over by RESUME */
    int64_t until_ms;          /* the deadline that the holder was told last; never beyond hold.ends_ms */
    int64_t renew_ms;          /* the next renewal; INT64_MAX: none */
    int32_t ttl_ms;
    uint32_t extending : 30; /* EXTEND requests under way */
    bool renewing : 1;       /* a renewal is under way */
    bool lettered : 1;       /* ... because of a letter */
    struct hold hold;
    const struct mode *mode;       /* (ref) */
    const struct keeping *keeping; /* (ref) how it is kept on the masters */
    struct resume *resume;         /* how to set back an undelivered RESUME; NULL: nothing to set back */
    struct secret *secret;         /* NULL: none */
    struct copies copies;          /* the last member, since there is one acknowledged[] for each master */
};

/* A name that is kept though nobody holds it: its key has a token that no client is told, the mark (keep/kept.h). */
struct kept {
    uint64_t id;
    struct heap_item item; /* its end, or a look because of letters; not in the heap before it is told */
    uint32_t hash;         /* of the name */
    uint16_t peer;         /* who asked for it */
    bool told;             /* its client was told, and the mark is in the table */
    bool asking;           /* a round asks the masters about it */
    bool doubted;          /* letters came since it was last asked about */
    int64_t keep_ms;       /* for so long */
    int64_t ends_ms;       /* when it ends on all masters, at the latest; 0: not known yet */
    int64_t asked_ms;      /* when the masters were last asked about it */
    masters_t had;         /* masters that acknowledged the mark in their present memory */
    masters_t healing;     /* masters that were sent a heal without a reply */
    masters_t brief;       /* masters where the mark would end before its time */
    masters_t confirmed;   /* masters whose answer counts even in quarantine */
    masters_t gone;    /* masters that had acknowledged it, or the lock, and lost it: it was released there */
    masters_t sent;    /* masters that were sent it, and so owe its release */
    uint32_t memories; /* c->memories when these sets were last brought up to date */
    struct token token;      /* the mark */
    struct token key, other; /* of the lock: the tokens that its key had ... */
    bool has_other;          /* ... if it had two */
    const struct name *name; /* interned */
};

/* The marks that this daemon made: how they are looked after (keep/kept_look.c). */
struct keeps {
    struct heap_item item; /* the next step of a walk */
    struct table names;    /* of those that were told */
    masters_t extenders;   /* c->extenders and c->memories when a walk last began */
    uint32_t memories;
    uint32_t cursor;  /* the slot of c->kepts that the walk has come to */
    uint32_t asking;  /* rounds under way */
    bool walking;     /* the walk has not come to the end */
    bool unhealed;    /* a mark that it has passed is still missing somewhere */
    int64_t pause_ms; /* before the next walk because of that */
};

/* The size of a lease, with acknowledged[] for each master. */
static inline size_t lease_bytes(unsigned masters)
{
    size_t bytes =
        offsetof(struct lease, copies) + offsetof(struct copies, acknowledged) + masters * sizeof(uint32_t);
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

#endif
