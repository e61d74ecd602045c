/* Redlock as redlockd runs it, for the model checker SPIN: three masters, and two daemons whose clients want one
 * name. `make spec` (spec.sh) names the worlds that are checked, and what may happen in each of them.
 *
 * Sources. "Distributed Locks with Redis" (redis.io), here the Redlock page: SET NX PX, the quorum, the validity that
 * counts from before the first SET, the release that compares the token, extensions, delayed restarts. "How to do
 * distributed locking" (Martin Kleppmann): fencing tokens, and what delays and forgetful masters do. redlockd's own:
 * the undo list, the group's marker, and fences without a replicated counter.
 *
 * Time. Whatever ends has a number of ticks that are left. No clock counts up, so a world whose length has no bound has
 * finitely many states all the same. A tick may come between any two steps.
 *
 * Messages. The commands on their way from a daemon to a master are a set of bits, of which the lowest runs first. The
 * daemon sends them in that order, so the set is a FIFO. A slow command is one that runs late, a slow answer is a
 * daemon that decides late, and a lost answer is that of a command that runs after its connection broke.
 *
 * Tokens. A daemon has one token at a time, and begins another attempt when nothing of that token is left anywhere. So
 * the daemon's number stands for the token. */

#define N 3
#define D 2
#define Q (N / 2 + 1)
#define VALID (PLANT == NO_DRIFT -> TTL : TTL - DRIFT) /* for how long a client may rely on the lock, from t0 on */
#define KEY_LIVES (TTL - DRIFT) /* the master's clock gains all of the drift; a longer life would only refuse more */
#define QUARANTINE TTL          /* a full one is max_ttl and the drift; the master's clock may gain the drift */

mtype = { NOTHING, /* -DPLANT=: a mistake that must be found */
    NO_GUARD, NO_MARKER, NO_DRIFT, RELEASE_BY_NAME, UNDO_WHERE_GRANTED, LATE_SET_STAYS, EXTEND_FROM_ANSWER,
    LAPSED_REVIVED, FENCE_BELOW_QUORUM };

/* Commands. ZADD carries the proposal of a fence; READ asks for the score, the highest fence that the master was sent;
 * RAISE is a ZADD of more. STALE is an EXTEND whose round is over: it runs, but its answer counts no more. */
#define SET 1
#define ZADD 2
#define READ 4
#define RAISE 8
#define STALE 16
#define EXTEND 32
#define RELEASE 64

/* The life of a token. ASKING: SETs were sent. READING, RAISING: a quorum granted, and the fence is open. UNDOING: the
 * attempt was given up, or the lock given back. LAPSED: the deadline passed; the keys expire by themselves. ORPHAN:
 * the daemon was restarted and knows nothing of it, but its client still believes until the deadline. */
#define FREE 0
#define ASKING 1
#define READING 2
#define RAISING 3
#define HELD 4
#define UNDOING 5
#define LAPSED 6
#define ORPHAN 7

typedef Link {               /* between a daemon and a master */
    unsigned sent : 7;       /* commands that have not run, also those of a connection that broke */
    bit up;                  /* the daemon is connected, and the handshake is over */
    bit met;                 /* this process of the daemon has met the master */
    bit may;                 /* the master may have the token's key, so a release is due to it */
    bit voted;               /* it said yes in the round under way: granted, or extended */
    bit answered;            /* it answered the ZADD, or the RAISE */
    bit known                /* it stored the proposal, or its score was read */
}
typedef Master {
    unsigned key : 2;        /* whose token the lock's key has: the daemon's number + 1; 0: there is no key */
    unsigned ttl : 3;
    bit marked;              /* it has the group's marker, which says from when on it may vote: when `quiet` is 0 */
    unsigned quiet : 3;      /* without a marker: until its uptime shows that all locks that it forgot are over */
    unsigned score : 4;
    Link link[D]
}
typedef Daemon {
    unsigned phase : 3;
    unsigned valid : 3;      /* what is left of the validity of the round under way, from its own t0; 0: no round */
    unsigned told : 3;       /* until the deadline that the client was told; 0: the client does not believe */
    unsigned proposal : 4;   /* the fence that this attempt proposed */
    unsigned high : 4;       /* the highest score that was read; then the fence that it was raised to */
    unsigned lead : 2        /* by how much proposals are ahead of the wall clock */
}
Master master[N];
Daemon daemon[D];
unsigned last : 4;           /* the last fence that was granted */
unsigned attempts : 3;       /* how many may still begin, where fences bound the world */
byte i, j, k;                 /* of loops, and 0 between steps */

#define name(d) ('A' + d)
#define LINK(m, d) master[m].link[d]
#define may_vote(m, d) (LINK(m, d).up && (master[m].quiet == 0 || PLANT == NO_MARKER && !LINK(m, d).met))
#define voted(m, d) LINK(m, d).voted
#define count(what, d) (what(0, d) + what(1, d) + what(2, d))
#define pass(ticks) ticks = (ticks > 0 -> ticks - 1 : 0)
#define lower(fence) fence = (fence > TICK -> fence - TICK : 0)
#define MUST(condition, words) if :: condition -> skip :: else -> printf(words); assert(false) fi

inline send(d, command, where) { /* where: whether master i gets it */
    for (i : 0 .. N - 1) { if :: where -> LINK(i, d).sent = LINK(i, d).sent | command :: else fi }
}

/* ---- a daemon's attempt ---- */
/* t0 lies before the first byte. Masters in quarantine are not asked. */
inline begin(d) {
    daemon[d].phase = ASKING;
    daemon[d].valid = VALID;
    send(d, SET, may_vote(i, d));
    for (i : 0 .. N - 1) { LINK(i, d).may = may_vote(i, d) && PLANT != UNDO_WHERE_GRANTED }
}

inline acquires(d) {
    daemon[d].phase == FREE; printf("step: %c sends SET\n", name(d)); begin(d)
}

/* The decision may come late, but not when the validity is over. What is left of it is what the client is told. */
inline grant(d) {
    daemon[d].phase = HELD;
    daemon[d].told = daemon[d].valid;
    daemon[d].valid = 0
}

inline granted(d) {
    daemon[d].phase == ASKING && daemon[d].valid > 0 && count(voted, d) >= Q;
    printf("step: a quorum granted: %c tells its client the deadline\n", name(d));
    grant(d)
}

/* The release goes to each master that may have the key, also if it did not answer: behind the SET on the same
 * connection it undoes a SET that is late. A master that is away gets it after the next handshake: the undo list. */
inline undo(d) {
    daemon[d].phase = UNDOING;
    daemon[d].valid = 0;
    daemon[d].told = 0;
    send(d, RELEASE, LINK(i, d).may && LINK(i, d).up);
    for (i : 0 .. N - 1) { LINK(i, d).may = LINK(i, d).may && (LINK(i, d).up || PLANT != LATE_SET_STAYS) }
}

/* A quorum is out of reach, or the time is over, or the client is gone. */
inline gives_up(d) {
    daemon[d].phase >= ASKING && daemon[d].phase <= RAISING; printf("step: %c gives up: RELEASE\n", name(d));
    undo(d)
}

inline unlocks(d) {
    daemon[d].phase == HELD; printf("step: the client of %c unlocks: RELEASE\n", name(d)); undo(d)
}

/* ---- a daemon extends ---- */
/* A round of its own, with its own t0 (Redlock page). Masters in quarantine are asked, too. */
inline extends(d) {
    daemon[d].phase == HELD && daemon[d].valid == 0; printf("step: %c sends EXTEND\n", name(d));
    daemon[d].valid = VALID;
    send(d, EXTEND, LINK(i, d).up)
}

inline extended(d) {
    (daemon[d].phase == HELD || PLANT == LAPSED_REVIVED && daemon[d].phase == LAPSED) &&
        daemon[d].valid > 0 && count(voted, d) >= Q;
    printf("step: a quorum extended: %c tells its client a later deadline\n", name(d));
    daemon[d].told = (PLANT == EXTEND_FROM_ANSWER -> VALID : daemon[d].valid);
    daemon[d].valid = 0
}

inline ends_round(d) {
    daemon[d].phase == HELD && daemon[d].valid > 0; printf("step: %c does not wait for EXTEND any longer\n", name(d));
    daemon[d].valid = 0
}

#ifdef FENCES
#include "fence.pml"
#endif

/* ---- a master runs a command; its answer counts if it can arrive and its round is still open ---- */
inline run_set(m, d) {
    if
    :: master[m].key == 0 ->
        printf("step: m%d runs SET of %c: granted\n", m + 1, name(d));
        master[m].key = d + 1;
        master[m].ttl = KEY_LIVES;
        if
        :: LINK(m, d).up && daemon[d].valid > 0 && daemon[d].phase <= RAISING ->
            LINK(m, d).voted = 1;
            LINK(m, d).may = 1;
            if :: daemon[d].phase == RAISING -> LINK(m, d).sent = LINK(m, d).sent | RAISE :: else fi
        :: else
        fi
    :: else ->
        printf("step: m%d runs SET of %c: refused\n", m + 1, name(d));
        LINK(m, d).may = LINK(m, d).may && !LINK(m, d).up
    fi
}

/* PEXPIRE if the key has the token, and never SET. */
inline run_extend(m, d, counts) {
    if
    :: master[m].key == d + 1 ->
        printf("step: m%d runs EXTEND of %c: extended\n", m + 1, name(d));
        master[m].ttl = KEY_LIVES;
        LINK(m, d).voted = LINK(m, d).voted || (counts && LINK(m, d).up)
    :: else -> printf("step: m%d runs EXTEND of %c: not its key\n", m + 1, name(d))
    fi
}

/* Delete if the key has the token (Redlock page). */
inline run_release(m, d) {
    printf("step: m%d runs RELEASE of %c\n", m + 1, name(d));
    if
    :: master[m].key == d + 1 || PLANT == RELEASE_BY_NAME && master[m].key != 0 ->
        MUST(master[m].key == d + 1, "violated: a release deletes nobody else's key\n");
        master[m].key = 0
    :: else
    fi;
    LINK(m, d).may = LINK(m, d).may && !LINK(m, d).up
}

inline runs(m, d) {
    LINK(m, d).sent != 0;
    k = LINK(m, d).sent;
    LINK(m, d).sent = k & (k - 1);
    k = k - LINK(m, d).sent; /* the lowest bit */
    if
    :: k == SET -> run_set(m, d)
#ifdef FENCES
    :: k == ZADD -> run_zadd(m, d)
    :: k == READ -> run_read(m, d)
    :: k == RAISE -> run_raise(m, d)
#endif
    :: k == STALE -> run_extend(m, d, false)
    :: k == EXTEND -> run_extend(m, d, true)
    :: k == RELEASE -> run_release(m, d)
    fi
}

/* ---- what goes wrong, and what follows ---- */
/* What was sent may still run; the answer is lost. */
inline breaks(m, d) {
    LINK(m, d).up; printf("step: the connection from %c to m%d breaks\n", name(d), m + 1);
    LINK(m, d).up = 0
}

/* The handshake first kills the daemon's old connection, so that nothing of it can run any more. Then it judges the
 * master's memory (delayed restart: Redlock page), and sends the releases that are due. The marker tells all daemons,
 * also those that start later. A long uptime is enough only for a daemon that never knew the master. */
inline connects(m, d) {
    !LINK(m, d).up;
    printf("step: %c connects to m%d\n", name(d), m + 1);
    LINK(m, d).up = 1;
    LINK(m, d).sent = (daemon[d].phase == ORPHAN -> LINK(m, d).sent : 0);
    if
    :: !master[m].marked && (LINK(m, d).met || PLANT != NO_MARKER) ->
        master[m].marked = 1;
        master[m].quiet = (PLANT == NO_GUARD || master[m].quiet == 0 && !LINK(m, d).met -> 0 : QUARANTINE)
    :: else
    fi;
    LINK(m, d).met = LINK(m, d).met || PLANT != NO_MARKER;
    LINK(m, d).voted = LINK(m, d).voted && may_vote(m, d);
    LINK(m, d).sent = (daemon[d].phase == UNDOING && LINK(m, d).may -> RELEASE : LINK(m, d).sent)
}

/* A restart without data. What it answered before counts until the daemon has noticed, which is in the handshake. */
inline forgets(m) {
    printf("step: m%d restarts and has forgotten all\n", m + 1);
    master[m].key = 0;
    master[m].score = 0;
    master[m].marked = 0;
    master[m].quiet = QUARANTINE;
    for (j : 0 .. D - 1) { LINK(m, j).up = 0; LINK(m, j).sent = 0; LINK(m, j).may = 0 }
}

/* The new process cannot kill the connections of the old one: what these had sent runs, or is lost with them. */
inline restarts(d) {
    printf("step: %c is killed and starts again\n", name(d));
    daemon[d].phase = (daemon[d].phase == FREE -> FREE : ORPHAN);
    daemon[d].valid = 0;
    for (i : 0 .. N - 1) { LINK(i, d).up = 0; LINK(i, d).met = 0; LINK(i, d).may = 0 }
}

inline loses(m, d) {
    daemon[d].phase == ORPHAN && LINK(m, d).sent != 0;
    printf("step: what %c had sent to m%d is lost\n", name(d), m + 1);
    LINK(m, d).sent = 0
}

inline ticks() {
    printf("step: time passes\n");
    for (i : 0 .. N - 1) {
        pass(master[i].ttl);
        pass(master[i].quiet);
        lower(master[i].score);
        master[i].key = (master[i].ttl == 0 -> 0 : master[i].key)
    }
    for (j : 0 .. D - 1) {
        pass(daemon[j].valid);
        pass(daemon[j].told);
        lower(daemon[j].proposal);
        lower(daemon[j].high);
        if
        :: daemon[j].phase == HELD && daemon[j].told == 0 -> /* !LOST; nothing is deleted (daemon/README.md) */
            daemon[j].phase = LAPSED;
            daemon[j].valid = (PLANT == LAPSED_REVIVED -> daemon[j].valid : 0)
        :: else
        fi
    }
    lower(last)
}

/* ---- after each step ---- */
/* A value that nothing can read any more becomes 0, so that worlds that differ in nothing else are one state. A token
 * of which nothing is left makes room for the next one. */
inline tidy() {
    for (j : 0 .. D - 1) {
        k = daemon[j].told;
        for (i : 0 .. N - 1) {
            if
            :: daemon[j].valid == 0 ->
                LINK(i, j).voted = 0; LINK(i, j).answered = 0; LINK(i, j).known = 0;
                if :: LINK(i, j).sent & EXTEND -> LINK(i, j).sent = (LINK(i, j).sent - EXTEND) | STALE :: else fi
            :: daemon[j].valid > 0 && !LINK(i, j).voted && !(LINK(i, j).sent & SET) ->
                LINK(i, j).answered = 0; LINK(i, j).known = 0
            :: else
            fi;
            if :: daemon[j].phase != READING -> LINK(i, j).sent = LINK(i, j).sent & (127 - READ) :: else fi;
            LINK(i, j).may = LINK(i, j).may && daemon[j].phase != LAPSED;
            master[i].ttl = (master[i].key == 0 -> 0 : master[i].ttl);
            k = k + LINK(i, j).sent + LINK(i, j).may + (daemon[j].phase != UNDOING && master[i].key == j + 1)
        }
        if
        :: daemon[j].phase >= UNDOING && k == 0 -> daemon[j].phase = FREE; daemon[j].proposal = 0; daemon[j].high = 0
        :: else
        fi
    }
}

inline check() {
    k = 0;
    for (j : 0 .. D - 1) {
        k = k + (daemon[j].told > 0);
        MUST(daemon[j].phase != LAPSED || daemon[j].told == 0, "violated: a lapsed lease is never revived\n");
        for (i : 0 .. N - 1) {
            MUST(master[i].key != j + 1 || daemon[j].phase != FREE && daemon[j].phase != UNDOING ||
                     LINK(i, j).may && (!LINK(i, j).up || LINK(i, j).sent & RELEASE),
                "violated: a key that was given up or given back has a release pending\n")
        }
    }
    MUST(k <= 1, "violated: at most one client believes that it holds the lock\n")
}

#ifdef SORT /* masters are alike, and so are daemons: sort.inc makes one state of states that differ in order */
c_code {
    \#include "tests/spec/sort.inc"
}
#define sort() c_code { sort_all(); }
#else
#define sort() skip
#endif

inline tell() {
#ifdef STORY
    for (i : 0 .. N - 1) { printf("master: %d %d %d\n", master[i].key, master[i].ttl, master[i].quiet) }
    for (j : 0 .. D - 1) { printf("daemon: %d\n", daemon[j].told) }
#else
    skip
#endif
}

#define STEP(what) :: d_step { what; tidy(); tell(); check(); i = 0; j = 0; k = 0; sort() }
#define DAEMON(step) STEP(step(0)) STEP(step(1))
#define MASTER(step) STEP(step(0)) STEP(step(1)) STEP(step(2))
#define BOTH(step) STEP(step(0, 0)) STEP(step(0, 1)) STEP(step(1, 0)) STEP(step(1, 1)) STEP(step(2, 0)) STEP(step(2, 1))

active proctype world()
{
    d_step {
        for (i : 0 .. N - 1) {
            master[i].marked = 1;
            for (j : 0 .. D - 1) { LINK(i, j).up = 1; LINK(i, j).met = 1 }
        };
#ifdef FENCES
        attempts = ATTEMPTS;
#endif
        i = 0; j = 0
    }
    do
    STEP(ticks())
    BOTH(runs) DAEMON(gives_up) DAEMON(unlocks)
#ifdef FENCES
    DAEMON(proposes) DAEMON(proposes_more) DAEMON(stands) DAEMON(reads) DAEMON(raises) DAEMON(raised)
#else
    DAEMON(acquires) DAEMON(granted)
#endif
#ifdef EXTENDS
    DAEMON(extends) DAEMON(extended) DAEMON(ends_round)
#endif
    BOTH(connects)
#ifdef BREAKS
    BOTH(breaks)
#endif
#ifdef FORGETS
    MASTER(forgets)
#endif
#ifdef RESTARTS
    DAEMON(restarts) BOTH(loses)
#endif
    od
}
