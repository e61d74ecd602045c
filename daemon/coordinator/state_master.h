/* What the coordinator knows of each master, and of all their clocks. Part of state.h. */
#ifndef REDLOCKD_STATE_MASTER_H
#define REDLOCKD_STATE_MASTER_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"

enum { TIMES = 4 /* TIME commands under way to one master: the probe's, the handshake's, a trial's */ };

struct time_asked {
    int64_t sent_ms;
    uint32_t trial; /* asked in this trial; 0: in none */
    bool unsure;    /* this daemon stood still before it was asked, or after that */
};

struct master {
    struct heap_item item; /* must be the first member */
    unsigned index;
    enum master_state state;
    enum master_why why;
    int64_t since_ms;
    uint32_t changes; /* of state, why and clock.backs */

    uint32_t connection;  /* the present one's number, or the last one's; 0: none yet */
    uint64_t client_id;   /* of the present connection; 0: not known yet */
    uint64_t killing;     /* client id of the connection before that carried lock commands; 0: none */
    bool carried;         /* the present connection carried lock commands */
    uint64_t sent, heard; /* commands and replies on the present connection */
    int64_t fenced_ms;    /* nothing sent before on earlier connections can run after this */

    bool known;              /* run_id is that of a handshake that went well */
    char run_id[RUN_ID_HEX]; /* this and what follows is from the last such handshake */
    uint32_t version;
    bool evicts;

    struct {             /* which server it is, and whether it may be used at all: master_handshake.c */
        bool asking;     /* its questions are under way ... */
        bool has_info;   /* ... and INFO was answered by info ... */
        bool waiting;    /* ... or they are answered, but first every other master must be heard */
        bool ended_once; /* a first handshake ended, well or not */
        enum master_why refusal; /* the first that was found in this handshake */
        struct master_info info;
        int64_t asked_ms; /* when it was asked or refused last: a time-out or pause counts from here */
        int64_t pause_ms; /* after -NOPERM */
    } handshake;

    struct {                 /* how its clock runs beside ours: trial.c */
        int64_t time_ms;     /* its TIME, the last one; 0: none ... */
        int64_t asked_at_ms; /* ... when it was asked ... */
        int64_t told_at_ms;  /* ... and answered */
        bool unsure;         /* this daemon stood still, before that reading or after it */
        int64_t excess_ms;   /* that reading was ahead of this daemon's clock by so much: see trial.h */
        struct {
            int64_t time_ms; /* 0: none yet */
            int64_t sent_ms;
            int64_t rtt_ms;          /* until it was told: TIME may have been read that much later */
            char run_id[RUN_ID_HEX]; /* of the server that told it; all zero: not known */
        } base; /* the reading that later ones are measured against; it outlives connections and runs */
        bool base_stalled;     /* this daemon was found to have stood still since the base was read */
        bool base_unsure;      /* the last reading is no base: when it was asked for is not known */
        int64_t tried_ms;      /* how far ahead of its base it was when a trial ended without a verdict */
        int64_t level_ms;      /* its last reading that was not ahead was asked for then ... */
        int64_t level_from_ms; /* ... and since this one none was ahead, over all bases */
        struct time_asked times[TIMES];
        uint32_t times_asked, times_told;
        bool jumped;       /* forward: the next handshake is to doubt it */
        int64_t jumped_ms; /* when it was seen to jump last; 0: never */
        uint32_t backs;    /* how often it jumped backward, and how far last */
        int64_t back_ms;
    } clock;

    struct {                 /* what it may have forgotten, and when it may vote: master_memory.c */
        uint32_t number;     /* what it knew before c->memories was this, it may have forgotten ... */
        uint32_t lost;       /* ... and before it was this, for another reason than that its clock jumped */
        bool trusted;        /* it has voted since it lost its memory last */
        bool was_replica;    /* since it was judged last */
        int64_t good_ms;     /* its TIME when its memory was found good last; 0: never ... */
        int64_t good_at_ms;  /* ... and ours */
        int64_t amiss_ms;    /* its TIME when it was seen amiss first and could not be judged; 0: never */
        bool heard_once;     /* its group's key was read ... */
        bool strange;        /* ... and was not one of ours, last */
        bool began;          /* this daemon wrote the group's key where there was none */
        bool marked;         /* the key was there, and of this group, and another daemon or run began it */
        bool absent;         /* the key was absent though another master has it */
        struct group theirs; /* WHY_GROUP: what was read there */
        uint64_t client_id_before;  /* in the known run, of the last handshake that went well ... */
        uint32_t connection_before; /* ... and the number of that connection */
        int64_t from_ms;            /* of its own clock: when it may vote, as far as we know; 0: not known */
        bool receded;               /* its key showed an earlier time than before in this run */
        int64_t shown_ms;           /* the same, as its key showed it last in this run */
        int64_t quarantine_ms;      /* the same by our clock; 0: none */
        enum master_why quarantine_why;
        char by[GROUP_WORD]; /* the daemon that keeps it out */
    } memory;

    struct { /* a pass over the releases that it owes us: master_undo.c */
        bool under_way;
        bool sets_back;   /* so far only of what is to be set back */
        uint32_t cursor;  /* it has come to this slot */
        uint64_t sent;    /* it is answered when heard reaches this */
        int64_t again_ms; /* refused releases are tried again then; INT64_MAX: none */
    } undo;

    struct {                 /* does it answer in time? master.c, and its probe in master_memory.c */
        bool probing;        /* TIME and PROBE are under way */
        int64_t probed_ms;   /* when the last probe was sent ... */
        uint64_t probe_sent; /* ... which is answered when heard reaches this */
        uint64_t overdue;    /* it is slow until heard reaches this */
        uint64_t watched;    /* until heard reaches this, long silence closes the connection */
        int64_t heard_ms;    /* last reply, or when watching began */
    } liveness;
};

/* Whose clock was it? See trial.h. */
struct trial {
    bool open;
    unsigned confirms; /* how often the others were asked once more, before a master is blamed */
    uint32_t number;   /* of the questions that are asked now */
    struct heap_item item;
    masters_t awaited; /* masters that were asked, and have not told yet */
    masters_t anew;    /* masters whose reading was asked for with this number, so after the stall */
    masters_t told;    /* masters that told; excess_ms[] says by how much each is ahead */
    int64_t excess_ms[MASTERS];
    int64_t slack_ms[MASTERS]; /* what both readings' round trips, and slewing, may hide beyond that */
};

#endif
