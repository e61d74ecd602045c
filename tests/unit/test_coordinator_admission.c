/* Traces: which requests may be put to the masters. With max_renewals 120, a master has 164 places; a renewal
 * takes one of them, any other command 4. */
#include "tests/unit/trace.h"

enum { FLOODER = 7, OTHER = 8, SHARE = 11, ALL = 41 };

static void begin(void)
{
    config.max_renewals = 120;
    start(3);
}

static enum admission admits(uint16_t peer, enum verb verb)
{
    return coordinator_admits(core, peer, verb);
}

/* So many CHECKs of tokens that nobody has, each by a session of its own. */
static void flood(uint16_t peer, unsigned from, unsigned requests)
{
    trace_peer.number = peer;
    for (unsigned i = from; i < from + requests; i++)
        ask(1000 + i, "CHECK job token=X");
    forget();
}

T(a_peer_has_a_quarter_of_the_places)
{
    begin();
    flood(FLOODER, 0, SHARE - 1);
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_NOW);
    flood(FLOODER, SHARE, 1);
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_PEER);
    ck_assert_int_eq(admits(FLOODER, VERB_UNLOCK), ADMISSION_PEER);
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
    vote("0-1", "CHECK NO"); /* one is answered */
    EXPECT("s1000 #1 -NOTHELD job");
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_NOW);
}

T(what_a_peer_is_charged_for_ends_with_each_answer)
{
    begin();
    trace_peer.number = FLOODER;
    flood(FLOODER, 0, SHARE - 1);
    ask(1, "UNLOCK other token=Y");
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_PEER);
    for (unsigned i = 0; i < SHARE - 1; i++)
        vote("0-1", "CHECK NO");
    vote("0-1", "RELEASE NO");
    forget();
    ask(2, "LOCK job");
    flood(FLOODER, 0, SHARE - 2);
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_NOW);
    ask(3, "RESUME elsewhere token=X");
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_PEER);
    at(now + 60000); /* no answer comes: all are refused */
    ck_assert_int_eq(admits(FLOODER, VERB_CHECK), ADMISSION_NOW);
    coordinator_check(core); /* counts them anew */
    forget();
}

/* Those that wait for a lock ask nothing of the masters meanwhile. */
T(a_wait_takes_no_place)
{
    begin();
    trace_peer.number = FLOODER;
    grant(1, "LOCK job");
    for (unsigned i = 0; i < SHARE + 5; i++)
        ask(2 + i, "LOCK job wait=10s");
    forget();
    ck_assert_int_eq(admits(FLOODER, VERB_LOCK), ADMISSION_NOW);
}

/* Further attempts take no more places than the requests of a peer may, whose UNLOCK is next. */
T(those_that_poll_leave_room)
{
    enum { NAMES = SHARE + 5 };
    begin();
    trace_peer.number = FLOODER;
    char line[64];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(line, sizeof line, "LOCK job%u wait=10s", i);
        ask(2 + i, line);
    }
    for (unsigned i = 0; i < NAMES; i++)
        vote("0-2", "SET NO, ZADD YES");
    for (unsigned i = 0; i < NAMES; i++)
        vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    forget();
    for (unsigned i = 0; i < 200; i++) {
        at(now + 1);
        ck_assert_uint_le(unanswered(0), 2 * SHARE); /* SET and ZADD, or RELEASE and ENQUEUE */
    }
    ck_assert_uint_gt(unanswered(0), 0);
    forget();
}

static void fill(void)
{
    for (unsigned i = 0; i < ALL / SHARE + 1; i++)
        flood((uint16_t)(100 + i), i * SHARE, SHARE);
}

T(nobody_goes_on_while_fewer_than_a_quorum_have_room)
{
    begin();
    fill();
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_MASTERS);
    for (unsigned i = 0; i < SHARE; i++)
        vote("0", "CHECK NO");
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_MASTERS);
    for (unsigned i = 0; i < SHARE; i++)
        vote("2", "CHECK NO");
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
    forget();
}

/* Whoever asks is refused at once then. */
T(slow_masters_hold_nobody_back)
{
    begin();
    fill();
    at(now + 51);
    EXPECT_MASTER(0, "slow silent");
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
    forget();
}

/* Nor do they in quarantine, where they are not called slow. */
T(silent_masters_in_quarantine_hold_nobody_back)
{
    begin();
    for (unsigned i = 0; i < 2; i++) {
        restart(i, 0);
        dial(i);
        shake(i);
    }
    EXPECT_MASTER(0, "quarantine restart left=60602");
    EXPECT_MASTER(1, "quarantine restart left=60602");
    for (unsigned i = 0; i <= ALL; i++) {
        trace_peer.number = (uint16_t)(100 + i / SHARE);
        ask(1000 + i, "UNLOCK job token=X"); /* for which a master in quarantine is asked, too */
        vote("2", "RELEASE NO");
    }
    ck_assert_int_eq(admits(OTHER, VERB_UNLOCK), ADMISSION_MASTERS);
    at(now + 51);
    EXPECT_MASTER(0, "quarantine restart left=60551 undo=42");
    ck_assert_int_eq(admits(OTHER, VERB_UNLOCK), ADMISSION_NOW);
    forget();
}

T(a_lost_master_has_all_its_places_again)
{
    begin();
    fill();
    for (unsigned i = 0; i < 3; i++)
        lose(i);
    reach_all();
    work();
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
    ck_assert_int_eq(admits(100, VERB_LOCK), ADMISSION_NOW);
    forget();
}

/* As they are refused without asking any master. */
T(a_drain_refuses_new_locks_at_once)
{
    begin();
    fill();
    drain();
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
    ck_assert_int_eq(admits(100, VERB_RESUME), ADMISSION_NOW);
    ck_assert_int_eq(admits(OTHER, VERB_UNLOCK), ADMISSION_MASTERS);
}

/* Many thousand may be due at once: they leave a quarter of the places. */
T(renewals_leave_room)
{
    enum { LOCKS = 200 };
    config.max_locks = LOCKS;
    config.max_locks_per_client = LOCKS;
    begin();
    char line[64];
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(line, sizeof line, "LOCK job%u ttl=10s", i);
        grant(1, line);
    }
    at_without_work(now + 4500);
    work();
    forget();
    ck_assert_uint_gt(unanswered(0), 100);
    ck_assert_int_eq(admits(OTHER, VERB_LOCK), ADMISSION_NOW);
}
