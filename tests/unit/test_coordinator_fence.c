/* Traces: how a grant gets a fence above every earlier one. */
#include "proto/command.h"
#include "tests/unit/trace.h"

T(refused_proposal_is_raised_above_the_highest_score)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    forget();
    vote("0-1", "SET YES, ZADD NO");
    EXPECT("m0-1 ZSCORE job");
    vote("0", "ZSCORE 1700000");
    EXPECT_NOTHING();
    at(1030);
    vote("1", "ZSCORE 1500000");
    EXPECT("m0-1 ZADD job 1700001");
    at(1060); /* each phase has its own node_timeout; validity counts from the SET all the same */
    vote("1", "ZADD YES");
    EXPECT_NOTHING();
    vote("0", "ZADD NO"); /* another daemon's higher fence stands on a quorum, too */
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1700001 valid=9837 until=10897");
}

/* A master that accepted the proposal counts with it as its score, and is not asked. */
T(raise_reads_q_of_those_that_granted)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("3", "SET NO, ZADD NO"); /* master 3 did not grant, so its score does not count */
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET YES, ZADD NO");
    EXPECT("m2 ZSCORE job");
    vote("2", "ZSCORE 1000009");
    EXPECT("m0-2 ZADD job 1000010");
    vote("4", "SET YES, ZADD YES"); /* a late answer to the proposal: the raise is sent there now */
    EXPECT("m4 ZADD job 1000010");
    vote("0-1", "ZADD YES");
    EXPECT_NOTHING();
    vote("2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000010 *");
}

/* A master that refused a proposal has a score that is no lower. If the master then shows a lower score, it
 * forgot its scores in between, and nobody knows how high they were. */
T(a_score_below_the_refused_proposal_is_no_vote)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0-2", "SET YES, ZADD NO");
    vote("0", "ZSCORE 0");
    EXPECT("m0-1 ZSCORE job", "m2 ZSCORE job");
    vote("1", "ZSCORE 1000050");
    EXPECT_NOTHING();
    vote("2", "ZSCORE 1000040");
    EXPECT("m1-2 ZADD job 1000051");
    vote("1-2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000051 *");
}

T(raise_that_fails_is_undone)
{
    start(3);
    ask(1, "LOCK a");
    ask(2, "LOCK b");
    ask(3, "LOCK c");
    vote("0-1", "SET YES, ZADD NO, SET YES, ZADD NO, SET YES, ZADD NO");
    vote("2", "SET NO, ZADD NO, SET NO, ZADD NO, SET NO, ZADD NO");
    forget();
    vote("0-1", "ZSCORE 1700000, ZSCORE 1700000");
    EXPECT("m0-1 ZADD a 1700001", "m0-1 ZADD b 1700001");
    vote("0", "ZSCORE OOM"); /* of c */
    EXPECT("m0-2 RELEASE c T3 WAKE", "s3 #3 -NOQUORUM c votes=0/3 nodes=!?- *");
    vote("0", "ZADD LOADING"); /* of a */
    EXPECT("m0-2 RELEASE a T1 WAKE", "s1 #1 -NOQUORUM a votes=0/3 nodes=!?- *");
    at(1050);
    EXPECT("m0-2 RELEASE b T2 WAKE", "s2 #2 -NOQUORUM b votes=0/3 nodes=?"
                                     "?- *");
}

T(retry_sends_set_alone_and_then_a_fresh_proposal)
{
    start(5);
    ask(1, "LOCK job wait=1m");
    vote("0-4", "SET NO, ZADD YES");
    vote("0-4", "RELEASE NO, ENQUEUE UNHEARD");
    forget();
    at(1020);
    EXPECT("m0-4 SET job T2 10000"); /* a retry that loses stores no fence */
    vote("0-4", "SET NO");
    vote("0-4", "RELEASE NO");
    EXPECT("m0-4 RELEASE job T2");
    at(1040);
    vote("0", "SET NO");
    vote("1-3", "SET YES");
    EXPECT("m0-4 SET job T3 10000", "m1-3 ZADD job 1040007");
    vote("4", "SET YES"); /* late, but in time for the fence */
    EXPECT("m4 ZADD job 1040007");
    vote("1-2", "ZADD YES");
    EXPECT_NOTHING();
    vote("3", "ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T3 fence=1040007 valid=9897 until=10937");
}

T(retry_that_is_refused_its_fresh_proposal_is_raised)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    at(1020);
    vote("0-1", "SET YES");
    forget();
    vote("0-1", "ZADD NO");
    EXPECT("m0-1 ZSCORE job");
    vote("0-1", "ZSCORE 5000000");
    vote("0-1", "ZADD YES");
    EXPECT("m0-1 ZADD job 5000001", "s1 #1 +LOCKED job token=T2 fence=5000001 *");
}

/* A hybrid clock: it follows the fastest daemon's, to half of max_ttl, and never goes back. */
T(proposals_follow_the_fastest_clock)
{
    start(3);
    ask(1, "LOCK a hold=lease");
    vote("0-2", "SET YES, ZADD NO");
    vote("0-2", "ZSCORE 6000007"); /* 5 s ahead of us */
    vote("0-2", "ZADD YES");
    forget();
    ask(1, "LOCK b hold=lease");
    EXPECT("m0-2 SET b T2 10000", "m0-2 ZADD b 6000007");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    at(2000);
    ask(1, "LOCK c");
    EXPECT("m0-2 SET c T3 10000", "m0-2 ZADD c 7000007");
}

T(proposals_lead_by_half_of_max_ttl_at_most)
{
    start(3);
    ask(1, "LOCK a hold=lease");
    vote("0-2", "SET YES, ZADD NO");
    vote("0-2", "ZSCORE 41000007"); /* 40 s ahead */
    vote("0-2", "ZADD YES");
    forget();
    at(21000);
    ask(1, "LOCK b");
    EXPECT("m0-2 SET b T2 10000", "m0-2 ZADD b 51000007"); /* 30 s, not 40 */
}

T(proposals_grow_when_the_wall_clock_is_set_back)
{
    start(3);
    ask(1, "LOCK a");
    EXPECT("m0-2 SET a T1 10000", "m0-2 ZADD a 1000007");
    wall_offset_us = -900000;
    ask(1, "LOCK b");
    EXPECT("m0-2 SET b T2 10000", "m0-2 ZADD b 1000008");
    wall_offset_us = -INT64_C(1000000000000); /* before 1970 */
    ask(1, "LOCK c");
    EXPECT("m0-2 SET c T3 10000", "m0-2 ZADD c 1000009");
}

T(no_fence_above_what_a_score_can_tell_apart)
{
    for (unsigned i = 0; i < 3; i++) /* clocks that are wrong by centuries; this daemon's is not, as yet */
        markers[i].clock_ms = (int64_t)(FENCE_MAX / 1000) - now - 29000;
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0-1", "SET YES, ZADD NO");
    vote("0", "ZSCORE 9007199254740991");
    vote("1", "ZSCORE 9007199254740991"); /* 2^53 - 1 */
    EXPECT("m0-1 ZSCORE job", "m0-2 RELEASE job T1 WAKE", "s1 #1 -LIMIT job limit=fence");
    wall_offset_us = (int64_t)FENCE_MAX - now * 1000 - 7 - 30000000; /* the fence read made us lead by 30 s */
    ask(1, "LOCK other");
    EXPECT("m0-2 SET other T2 10000", "m0-2 ZADD other 9007199254740991");
    ask(1, "LOCK one-more");
    EXPECT_LAST("s1 #3 -LIMIT one-more limit=fence");
}

/* ---- clocks that bound fences: a day and a minute after the later of two clocks; here the masters' is later ---- */

#define MASTERS_MS INT64_C(1700000001000)
#define BOUND_US   ((MASTERS_MS + 86400000 + 60000) * 1000)

/* Masters 0 to 2 grant, all of them ask for a raise, and these are their scores; UINT64_MAX: it does not answer. */
static void raise_with(uint64_t first, uint64_t second, uint64_t third)
{
    uint64_t scores[] = {first, second, third};
    start(3);
    ask(1, "LOCK job");
    vote("0-2", "SET YES, ZADD NO");
    forget();
    for (unsigned i = 0; i < 3; i++) {
        char master[2] = {(char)('0' + i), 0}, word[40];
        snprintf(word, sizeof word, "ZSCORE %" PRIu64, scores[i]);
        if (strcmp(unanswered_verb(i), "ZSCORE") == 0 && scores[i] != UINT64_MAX)
            vote(master, word);
    }
}

T(a_score_that_no_clock_explains_is_no_vote)
{
    raise_with(9007199254740000, 5000000, 6000000);
    vote("1-2", "ZADD YES");
    EXPECT("m1-2 ZADD job 6000001", "s1 #1 +LOCKED job token=T1 fence=6000001 *");
    EXPECT_MASTER(0, "up fence");
    ask(1, "LOCK other"); /* other names are as ever */
    EXPECT("m0-2 SET other T2 10000", "m0-2 ZADD other 6000000");
    vote("0-2", "SET YES, ZADD YES");
    release(1);
    work();
    vote("0-2", "RELEASE YES, RELEASE YES");
    at(61001);
    EXPECT_MASTER(0, "up");
    forget();
}

T(the_highest_score_that_a_clock_explains)
{
    raise_with(BOUND_US - 1, 5000000, UINT64_MAX);
    char zadd[64];
    snprintf(zadd, sizeof zadd, "m0-2 ZADD job %" PRId64, BOUND_US);
    EXPECT(zadd);
    raise_with(BOUND_US, 5000000, UINT64_MAX);
    EXPECT_NOTHING(); /* the third decides which it is */
    vote("2", "ZSCORE 7000000");
    EXPECT("m1-2 ZADD job 7000001");
}

/* Q masters have it, so such a fence was granted: no fence may be below it. */
T(a_fence_of_a_quorum_is_real)
{
    raise_with(8000000000000000, 5000000, 8000000000000005);
    EXPECT("m0-2 ZADD job 8000000000000006");
    vote("0-2", "ZADD YES");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    forget();
    at(2000);
    ask(1, "LOCK other"); /* and the clock of fences does not follow it by more than half of max_ttl */
    EXPECT("m0-2 SET other T2 10000", "m0-2 ZADD other 32000007");
}

/* Neither of both is a quorum, and no more can come. */
T(a_split_between_clocks_is_no_quorum)
{
    start(3);
    ask(1, "LOCK job");
    vote("0-1", "SET YES, ZADD NO");
    vote("2", "SET NO, ZADD NO");
    forget();
    vote("0", "ZSCORE 9007199254740000");
    vote("1", "ZSCORE 5000000");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job *");
}

T(a_clock_that_is_ahead_enters_no_fence)
{
    char zadd[64];
    start(3);
    wall_offset_us = MASTERS_MS * 1000 + INT64_C(3600000000); /* an hour ahead of the masters */
    ask(1, "LOCK job");
    snprintf(zadd, sizeof zadd, "m0-2 ZADD job %" PRId64, MASTERS_MS * 1000 + 30000000);
    EXPECT("m0-2 SET job T1 10000", zadd);
    vote("0-2", "SET YES, ZADD YES");
    forget();
    int64_t ahead_ms;
    at(2000);
    ck_assert(coordinator_wall_ahead(core, now, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 3601000);
    wall_offset_us = MASTERS_MS * 1000 - now * 1000 - 7; /* right again: what was proposed before stands */
    ask(1, "LOCK other");
    snprintf(zadd, sizeof zadd, "m0-2 ZADD other %" PRId64, MASTERS_MS * 1000 + 30000001);
    EXPECT_LAST(zadd);
}

/* Their hosts have no clock that runs on without power, and began in 1970, after this host was switched on. */
T(masters_clocks_that_are_younger_than_this_host)
{
    for (unsigned i = 0; i < 3; i++)
        markers[i].clock_ms = -900;
    start(3);
    wall_offset_us = MASTERS_MS * 1000;
    ask(1, "LOCK job");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 30100000");
}

/* A master that is away has told its TIME, which shows for an hour which of the two in reach is right. */
T(a_master_that_is_away_has_told_its_clock)
{
    char zadd[64];
    markers[0].clock_ms += 20000;
    start(3);
    wall_offset_us = MASTERS_MS * 1000 + INT64_C(3600000000);
    lose(2);
    at(61000);
    ask(1, "LOCK job");
    snprintf(zadd, sizeof zadd, "m0-1 ZADD job %" PRId64, (MASTERS_MS + 60000) * 1000 + 30000000);
    EXPECT_LAST(zadd);
    vote("0-1", "SET YES, ZADD YES");
    ask(1, "UNLOCK job");
    vote("0-1", "RELEASE YES");
    at(3700000);
    ask(1, "LOCK other");
    snprintf(zadd, sizeof zadd, "m0-1 ZADD other %" PRId64, (MASTERS_MS + 3699000 + 20000) * 1000 + 30000000);
    EXPECT_LAST(zadd);
}

/* After a pause the masters' clocks are not known: the proposal waits for them, or this host's would enter it. */
T(without_the_masters_clocks)
{
    start(3);
    show_probes = true;
    wall_offset_us = INT64_C(1800000000000000) - 7;
    at_without_work(5000);
    ask(1, "LOCK job");
    EXPECT("m0-2 SET job T1 10000");
    vote("0-2", "SET YES");
    work();
    forget();
    vote("0-2", "TIME OK, PROBE OK");
    work();
    EXPECT("m0-2 ZADD job 1700000035000000");
}

/* The master granted, but can be asked nothing more. */
T(raise_without_a_master_that_was_lost_meanwhile)
{
    start(5);
    ask(1, "LOCK job");
    forget();
    vote("0-1", "SET YES, ZADD NO");
    lose(0);
    work();
    vote("2", "SET YES, ZADD NO");
    EXPECT_NOTHING(); /* only two of the masters that granted can be asked */
    vote("3", "SET YES, ZADD YES");
    EXPECT("m1-2 ZSCORE job");
    vote("1-2", "ZSCORE 1500000");
    vote("1-3", "ZADD YES");
    EXPECT("m1-3 ZADD job 1500001", "s1 #1 +LOCKED job token=T1 fence=1500001 *");
}

/* A master in quarantine never counts for a fence. */
T(raise_without_a_master_that_restarted_meanwhile)
{
    config.node_timeout_ms = 1000;
    start(3);
    ask(1, "LOCK job");
    vote("0", "SET YES, ZADD NO");
    restart(0, 0);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine restart left=60602");
    work();
    forget();
    vote("1", "SET YES, ZADD NO");
    EXPECT_NOTHING();
    at(2000);
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job *");
}

/* A slow master gets releases only. */
T(raise_without_a_master_that_became_slow)
{
    start(5);
    ask(1, "LOCK job");
    at(1001);
    ask(1, "LOCK other");
    at(1040);
    vote("0", "SET YES, ZADD YES");
    vote("1-2", "SET YES, ZADD NO");
    EXPECT_LAST("m1-2 ZSCORE job");
    vote("1-2", "SET NO, ZADD NO");
    at(1051); /* the time-out of the attempt for "other" */
    EXPECT_MASTER(0, "slow silent");
    forget();
    vote("1-2", "ZSCORE 1500000");
    vote("3-4", "SET NO, ZADD NO");
    EXPECT("m0-4 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job *"); /* the two that are left are no quorum */
}
