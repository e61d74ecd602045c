/* The coordinator's knowledge of each master, and the trial that compares their clocks. Part of state.h. */
#ifndef REDLOCKD_STATE_MASTER_H
#define REDLOCKD_STATE_MASTER_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"

enum { TIMES = 4 /* most TIME commands under way to one master: the probe's, the handshake's, a trial's */ };

struct time_asked {
    int64_t sent_ms;
    uint32_t trial; /* number of the trial's questions that this TIME belongs to; 0: none */
    bool unsure;    /* a stall of this host was found since, and may lie before or after the sending */
};

/* A time is on this daemon's clock (now_ms), unless its comment says that it is a TIME or on the master's
 * clock. */
struct master {
    struct heap_item item;
    unsigned index;
    enum master_state state;
    enum master_why why;
    int64_t since_ms; /* when it entered this state */
    uint32_t changes; /* how often state, why, clock.backs, or evicts in service changed */

    uint32_t connection; /* number of the present connection, or of the last one; 0: none yet */
    uint64_t client_id;  /* Redis client id of the present connection; 0: not known yet */
    uint64_t killing;    /* client id of the last connection that carried lock commands, until it is killed */
    bool carried;        /* the present connection carried lock commands */
    bool strays;         /* no_kill: commands of a connection that was lost may still run */
    uint32_t places;     /* that commands without a reply take (admission.h) */
    uint64_t sent, heard;           /* commands sent and replies read on the present connection */
    int64_t old_connection_gone_ms; /* since then no command of an earlier connection can run */

    bool known; /* a handshake went well; run_id, version and evicts are from the last such handshake */
    char run_id[RUN_ID_HEX];
    uint32_t version;
    bool evicts;     /* in service it is asked for again now and then, as it is set at run time ... */
    int64_t info_ms; /* ... by INFO, which was last asked for then */

    struct {             /* which server it is, and whether it may be used at all: master_handshake.c */
        bool asking;     /* questions are under way */
        bool has_info;   /* INFO was answered, see info */
        bool waiting;    /* answers are there, but the other masters must be heard before a key is written */
        bool unnamed;    /* the key was there, but without set= ... */
        bool read_back;  /* ... which was added, and the key is being read again */
        bool writing;    /* the key, or its set=, was written and not read back yet */
        bool agreed;     /* waiting: its own key was read, but others' are still being written */
        bool ended_once; /* a first handshake ended, well or not */
        bool untried;    /* it is not known whether scripts work there: see master_try.c */
        unsigned not_loaded;     /* so often in a row the server had to load the script first */
        enum lacking lacks;      /* the command that it lacks, or refuses */
        enum master_why refusal; /* the first reason to refuse it that this handshake found */
        struct master_info info;
        int64_t asked_ms; /* when it was last asked or refused: a time-out or pause counts from here */
        int64_t pause_ms; /* pause after -NOPERM */
    } handshake;

    struct {                 /* how its clock runs compared with this host's: trial.c */
        int64_t time_ms;     /* its last TIME; 0: none */
        int64_t asked_at_ms; /* when that TIME was asked for */
        int64_t told_at_ms;  /* when that TIME came */
        bool unsure;         /* this host stood still before that reading or since: its age is not known */
        int64_t excess_ms;   /* how far that reading was ahead of this host's clock: see trial.h */
        struct {
            int64_t time_ms; /* 0: none yet */
            int64_t sent_ms;
            int64_t rtt_ms;          /* its round trip: TIME may have been read so much after sent_ms */
            int64_t behind_ms;       /* behind_ms of this daemon when it became the base */
            char run_id[RUN_ID_HEX]; /* run_id of the server that answered; all zero: not known */
        } base; /* the reading that later ones are compared with; it outlives connections and restarts */
        bool base_stalled;     /* a stall of this host was found since the base was read */
        bool base_unsure;      /* the last reading must not become the base: it spans a stall of this host */
        int64_t tried_ms;      /* its excess when the last trial ended without a verdict */
        int64_t level_ms;      /* when its last reading that was not ahead was asked for */
        int64_t level_from_ms; /* no reading asked for between this time and level_ms was ahead */
        struct time_asked times[TIMES];
        uint32_t times_asked, times_told;
        int64_t gained_ms; /* how far it is ahead of its base: the handshake prolongs a quarantine by it */
        int64_t beyond_ms; /* when a score there was last beyond what any clock explains; 0: never */
        uint64_t beyond;   /* that score */
        bool jumped;       /* the clock jumped forward: the next handshake doubts the master's memory */
        int64_t jumped_ms; /* when a jump forward was last seen; 0: never */
        uint32_t backs;    /* how often it jumped backward */
        int64_t back_ms;   /* how far it last jumped backward */
    } clock;

    struct {              /* its memory, and from when on it may vote: master_memory.c */
        uint32_t number;  /* c->memories when its present memory began: it may have forgotten what is older */
        uint32_t lost;    /* the same, but a jump of a trusted master's clock does not count */
        bool trusted;     /* the master has voted since it last lost its memory */
        bool was_replica; /* the master was a replica since its memory was last judged */
        int64_t good_ms;  /* its TIME when the group's key there was last known to be right; 0: never */
        int64_t good_at_ms; /* the same moment on this daemon's clock */
        int64_t amiss_ms;   /* its TIME when an unjudged sign of lost memory was first seen; 0: none */
        char amiss_run_id[RUN_ID_HEX]; /* the run in which that was */
        bool heard_once;               /* the group's key was read on it */
        bool strange;           /* the key that was last read there is of another group, or unreadable */
        bool unreadable;        /* the key was unreadable since the master was judged last */
        bool began;             /* this daemon wrote the group's key where there was none */
        bool marked;            /* the master has this group's key, and this daemon did not begin it */
        bool absent;            /* the key was absent although another master has it */
        struct group theirs;    /* WHY_GROUP: the key that was read there */
        struct group shows;     /* the last key that was read there, whoever's ... */
        bool there;             /* ... whether it was there when it was last asked for ... */
        int64_t read_ms;        /* ... and when that was answered */
        uint64_t serial_before; /* doubt_serial() in the last handshake that went well, in the run run_id */
        uint32_t connection_before; /* number of that connection */
        int64_t gone_ms; /* on this daemon's clock: about when the last run answered last; 0: none did */
        int64_t from_ms; /* on its own clock: when it may vote, as far as is known; 0: not known */
        int64_t back_ms; /* its TIME when that was found too far ahead; 0: never */
        int64_t key_ms; /* from= of the key that was read last, if that is of its present run; 0: it is not */
        bool another_key;    /* within its run the key was replaced by another one: see note_time() */
        int64_t shown_ms;    /* from= (on its own clock) when the key was last read ... */
        int64_t shown_at_ms; /* ... when that was asked for, on this daemon's clock ... */
        char shown_run_id[RUN_ID_HEX]; /* ... and the run in which that was */
        int64_t since_ms; /* on this daemon's clock: when that key was written first, as far as it tells */
        bool doubted;     /* that key tells of a doubt */
        int64_t quarantine_until_ms; /* on this daemon's clock: when it may vote; 0: no quarantine */
        enum master_why quarantine_why;
        char by[GROUP_WORD]; /* id of the daemon that keeps it out */
    } memory;

    struct { /* a pass over the releases that it owes: master_undo.c */
        bool under_way;
        bool sets_back;   /* the pass is in its first sweep, which sends only releases that set back */
        uint32_t cursor;  /* the slot of c->releases that the pass has come to */
        uint64_t sent;    /* the pass is answered when heard reaches this */
        int64_t again_ms; /* when refused releases are tried again; INT64_MAX: there are none */
    } undo;

    struct {                 /* whether it answers in time: master.c, and its probe in master_memory.c */
        bool probing;        /* TIME and PROBE are under way */
        int64_t probed_ms;   /* when the last probe was sent; its time-out and the next one count from here */
        int64_t asked_ms;    /* when the group's key was last asked for, by a probe or a handshake */
        int64_t good_ms;     /* the same for the last such question that was answered well: see fresh.h */
        uint64_t probe_sent; /* that probe is answered when heard reaches this */
        uint64_t overdue;    /* the master is slow until heard reaches this */
        uint64_t watched;    /* until heard reaches this, a long silence closes the connection */
        int64_t heard_ms;    /* when its last reply came, or watching began */
        int64_t rtt_us;      /* its smoothed round trip, as the driver measured it; 0: not known */
    } liveness;
};

/* By which masters this daemon votes: see generation.h. */
enum generation_stage {
    GENERATION_OUT,     /* by none: it has not begun, or the masters have gone on without it */
    GENERATION_AT,      /* by those of its step */
    GENERATION_RAISING, /* the same, while the masters are told of the next step */
};

struct generation {
    enum generation_stage stage;
    bool once;        /* it has been at a step: what it owes there is given back even while it is out */
    bool by_word;     /* it began where the operator said, and may write keys until a quorum shows them */
    uint32_t step;    /* s */
    uint64_t before;  /* what its keys say of s-1: its set and max_ttl, as one hash */
    uint32_t highest; /* the highest step that any master has shown */
    /* At step 2g: generation g, g+1 if it is asked for, and g-1 while releases or its max_ttl matter. At step 2g+1:
     * generation g, and g+1. */
    struct coordinator_set here, next, past;
    masters_t left;  /* masters of earlier sets that may still owe releases */
    masters_t moved; /* masters whose place among voters, extenders and releasers is to be judged anew */
    masters_t gone;  /* masters that are not used any more: what they owe runs out there */
    int64_t past_until_ms;
    struct quorum steps[3]; /* of s-1, s and s+1; needed is 0 where the set is not known */
    enum group_why why;     /* OUT: why it does not begin */
    struct coordinator_daemons daemons;
    int64_t
        ready_ms; /* since when only locks of this daemon keep it from the next step; 0: something else does */
    bool told;    /* daemons were told since the change was asked for, or since the start */
};

/* The question whose clock is wrong, a master's or this host's: see trial.h. */
struct trial {
    bool open;
    bool confirming; /* the others are asked once more, before a master is blamed */
    uint32_t number; /* how many rounds of questions there were: the present round has this number */
    struct heap_item item;
    masters_t awaited; /* masters that were asked and have not answered yet */
    masters_t anew;    /* masters whose reading was asked for with the present number, so after the stall */
    masters_t told;    /* masters whose reading is in excess_ms[] and slack_ms[] */
    int64_t excess_ms[MASTERS]; /* how far the master is ahead, at least */
    int64_t slack_ms[MASTERS];  /* how much further it may be ahead: round trips, and slewing */
};

#endif
