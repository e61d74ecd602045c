/* Traces: names that are kept though nobody holds them. */
#include "tests/unit/trace.h"

#define HOUR "3600000"

/* Session 1 has "job" by T1, and its time is 1100. */
static void held(unsigned masters)
{
    start(masters);
    grant(1, "LOCK job");
    at(1100);
}

/* Session 1 has kept "job" for an hour, by T2 and with all masters. */
static void kept(unsigned masters)
{
    char all[8];
    snprintf(all, sizeof all, "0-%u", masters - 1);
    held(masters);
    ask(1, "UNLOCK job keep=1h");
    vote(all, "MOVE YES");
    vote(all, "EXTEND " HOUR);
    EXPECT_LAST("s1 #2 +KEPT job until=* confirmed=*");
    forget();
}

static uint64_t kept_names(void)
{
    struct coordinator_stats stats;
    coordinator_stats(core, &stats);
    return stats.kept;
}

/* ---- the two phases ---- */

T(a_mark_takes_the_tokens_place_and_is_extended_then)
{
    held(5);
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-4 MOVE job T1 T2");
    vote("0-1", "MOVE YES");
    EXPECT_NOTHING();
    at(1110);
    vote("2", "MOVE YES");
    EXPECT("m0-4 EXTEND job T2 " HOUR " most=" HOUR);
    vote("0-1", "EXTEND " HOUR);
    EXPECT_NOTHING();
    vote("2", "EXTEND " HOUR);
    EXPECT("s1 #2 +KEPT job until=3565107 confirmed=3/5");
    vote("3-4", "MOVE YES, EXTEND " HOUR);
    EXPECT_NOTHING();
    at(1110 + 3600000 - 1);
    ck_assert_uint_eq(kept_names(), 1);
    at(1110 + 3600000);
    ck_assert_uint_eq(kept_names(), 0);
    EXPECT_REST();
}

/* The lock had more time left than the name is to be kept for. */
T(a_name_is_kept_for_no_longer_than_was_asked)
{
    held(3);
    ask(1, "UNLOCK job keep=2s");
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 MOVE job T1 T2", "m0-2 EXTEND job T2 2000 most=2000");
    vote("0-2", "EXTEND 2000");
    EXPECT("s1 #2 +KEPT job until=3077 confirmed=2/3");
    at(3100);
    ck_assert_uint_eq(kept_names(), 0);
}

T(what_is_left_of_the_first_phase_ends_with_the_lock)
{
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0", "MOVE YES");
    vote("1", "MOVE NO");
    at(1150);
    EXPECT("m0-2 MOVE job T1 T2", "s1 #2 -NOQUORUM job votes=1/3 nodes=+-? *");
    ck_assert_uint_eq(kept_names(), 0);
    vote("2", "MOVE YES"); /* nothing follows: the mark there ends with the lock's TTL */
    EXPECT_REST();
}

T(what_is_left_of_the_second_phase_is_released)
{
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0-1", "MOVE YES");
    vote("0", "EXTEND " HOUR);
    forget();
    at(1150);
    EXPECT("s1 #2 -NOQUORUM job votes=1/3 nodes=+?? *", "m0-2 RELEASE job T2|T1 WAKE");
    vote("1", "EXTEND " HOUR ", RELEASE YES");
    vote("0", "RELEASE YES");
    vote("2", "MOVE YES, EXTEND " HOUR ", RELEASE YES");
    EXPECT_REST();
}

/* It is owed for as long as the name was to be kept. */
T(a_master_that_is_away_gets_that_release_when_it_is_back)
{
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0-2", "MOVE YES");
    lose(2);
    vote("0", "EXTEND " HOUR);
    vote("1", "EXTEND NO");
    work();
    EXPECT("m0-2 MOVE job T1 T2", "m0-2 EXTEND job T2 3600000 *", "s1 #2 -NOQUORUM *",
           "m0-1 RELEASE job T2|T1 WAKE");
    vote("0", "RELEASE YES");
    vote("1", "RELEASE NO");
    at(300000);
    dial(2);
    shake(2);
    vote("2", "KILL 0");
    work();
    EXPECT_LAST("m2 RELEASE job T2|T1 WAKE");
    vote("2", "RELEASE YES");
    forget();
}

T(a_lock_that_was_lost_before_is_not_kept)
{
    held(5);
    ask(1, "UNLOCK job keep=1h");
    vote("0-2", "MOVE NO");
    EXPECT("m0-4 MOVE job T1 T2", "s1 #2 -NOTHELD job : it was lost before this release",
           "m0-4 RELEASE job T2|T1 WAKE");
    vote("0-2", "RELEASE NO");
    vote("3-4", "MOVE YES, RELEASE YES");
    EXPECT_REST();
}

T(a_script_that_is_not_there_is_asked_again)
{
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0", "MOVE NOT_RUN");
    EXPECT("m0-2 MOVE job T1 T2", "m0 MOVE job T1 T2");
    vote("0-1", "MOVE YES");
    vote("1", "EXTEND NOT_RUN");
    EXPECT("m0-2 EXTEND job T2 " HOUR " *", "m1 EXTEND job T2 " HOUR " *");
    vote("0-1", "EXTEND " HOUR);
    EXPECT("s1 #2 +KEPT *");
    vote("2", "MOVE YES, EXTEND " HOUR);
}

/* ---- whose lock, and which ---- */

T(a_depth_counts_down_first)
{
    held(3);
    ask(1, "LOCK job token=T1");
    ask(1, "UNLOCK job keep=1h");
    EXPECT("s1 #2 +LOCKED * depth=2", "s1 #3 +UNLOCKED job confirmed=0/3 depth=1");
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1 T2");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND " HOUR);
    forget();
}

T(who_shows_the_token_may_keep_it)
{
    held(3);
    ask(2, "UNLOCK job token=T1 keep=1h");
    EXPECT("s1 !LOST job token=T1 reason=released", "m0-2 MOVE job T1 T2");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND " HOUR);
    EXPECT("m0-2 EXTEND job T2 " HOUR " *", "s2 #2 +KEPT job *");
}

/* Its daemon is told, which asks then, and tells the holder. */
T(also_where_another_daemon_granted_it)
{
    start(3);
    show_letters = true;
    ask(1, "UNLOCK job token=X keep=1h");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 MOVE job X T1", "m0-2 LETTER job X", "m0-2 EXTEND job T1 " HOUR " *");
    vote("0-1", "LETTER YES, EXTEND " HOUR);
    EXPECT("s1 #1 +KEPT job *");
    vote("2", "MOVE NO, LETTER YES, EXTEND NO");
    work();
    forget();
}

T(both_tokens_of_a_lock_that_settles)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    vote("0-2", "SET YES, ZADD YES");
    at(1060);
    forget();
    vote("0-2", "ZADD YES");
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1|T2 T3", "m0-2 SET job *", "m0-2 ZADD *"); /* behind it: they will be refused */
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 EXTEND job T3 " HOUR " most=" HOUR);
    vote("0-2", "SET NO, ZADD YES, EXTEND " HOUR);
    EXPECT("m0-2 RELEASE job T4", "*", "s1 #3 +KEPT job *");
    forget();
}

T(what_cannot_be_kept)
{
    start(3);
    grant(1, "LOCK licence slots=3");
    ask(1, "UNLOCK licence keep=1h");
    EXPECT_LAST("s1 #2 -BADARG licence : keep= is for *");
    ask(2, "LOCK page mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    forget();
    ask(2, "UNLOCK page keep=1h");
    EXPECT("s2 #4 -BADARG page : keep= is for *");
    ask(3, "UNLOCK job keep=1h");
    EXPECT("s3 #5 -NOTHELD job : this connection does not *");
    grant(3, "LOCK job");
    ask(3, "UNLOCK job keep=25h");
    EXPECT("s3 #7 -BADARG job : keep is at most 24h (max_keep)*");
}

T(no_more_than_max_marks)
{
    config.max_marks = 1;
    kept(3);
    grant(1, "LOCK other");
    ask(1, "UNLOCK other keep=1h");
    EXPECT("s1 #4 -LIMIT other limit=max_marks");
    ask(1, "CHECK other token=T3"); /* nothing was done */
    EXPECT("s1 #5 +HELD other *");
}

T(the_old_token_is_worth_nothing)
{
    kept(3);
    ask(1, "UNLOCK job token=T1");
    vote("0-2", "RELEASE NO");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #3 -NOTHELD job");
    ask(1, "UNLOCK job token=T1 keep=1h");
    vote("0-2", "MOVE NO");
    EXPECT("m0-2 MOVE job T1 T3", "s1 #4 -NOTHELD *", "m0-2 RELEASE job T3|T1 WAKE");
    vote("0-2", "RELEASE NO");
    ck_assert_uint_eq(kept_names(), 1);
}

/* The RESUME came first, so it has the lock; the UNLOCK is too late. */
T(a_lock_that_is_being_resumed_is_not_kept)
{
    held(3);
    ask(2, "RESUME job token=T1");
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1 T2", "m0-2 MOVE job T1 T3");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "MOVE NO");
    EXPECT("s1 #3 -NOTHELD job *", "m0-2 RELEASE job T3|T1 WAKE");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    vote("0-1", "RELEASE NO");
    vote("2", "MOVE YES, MOVE NO, EXTEND 10000, ZADD YES, RELEASE NO");
    forget();
    ck_assert_uint_eq(kept_names(), 0);
}

T(a_lock_whose_time_is_over_is_not_kept)
{
    start(3);
    grant(1, "LOCK job ttl=1s");
    at_without_work(3000);
    ask(1, "UNLOCK job keep=1h");
    EXPECT("s1 #2 -NOTHELD job : its time was over before this request");
    work();
    forget();
}

T(a_daemon_that_drains_keeps_names_and_stays_until_that_is_answered)
{
    held(3);
    drain();
    ask(1, "UNLOCK job keep=1h");
    vote("0-1", "MOVE YES");
    ck_assert(!coordinator_drained(core));
    vote("0-1", "EXTEND " HOUR);
    forget();
    vote("2", "MOVE YES, EXTEND " HOUR);
    release(1);
    work();
    forget();
    ck_assert(coordinator_drained(core));
}

/* ---- those who wait ---- */

T(a_kept_name_is_not_handed_on)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    vote("0-2", "SET YES, ZADD YES");
    vote("0-2", "ZADD YES");
    forget();
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1 T3");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND " HOUR);
    EXPECT("m0-2 EXTEND job T3 " HOUR " most=" HOUR, "s1 #3 +KEPT job *");
    at(1020);
    EXPECT("m0-2 SET job T4 10000", "m0-2 ZADD *");
}

T(who_waits_for_a_kept_name_sleeps_for_a_max_ttl_at_a_time)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job wait=1h");
    vote("0-2", "SET NO, ZADD YES");
    EXPECT("m0-2 SET job *", "m0-2 ZADD *", "m0-2 RELEASE *");
    work();
    EXPECT("m0-2 ENQUEUE job 0");
    vote("0-2", "RELEASE NO, ENQUEUE HEARD:3000000:kept");
    at(1000 + 59999);
    EXPECT_NOTHING();
    at(1000 + 60000);
    EXPECT("m0-2 ENQUEUE job 60000");
    vote("0-2", "ENQUEUE HEARD:20000:kept"); /* and no longer than to its end */
    at(1000 + 80000);
    EXPECT_NOTHING();
    at(1000 + 80001);
    EXPECT("m0-2 ENQUEUE job 80001");
    vote("0-2", "ENQUEUE NO");
    EXPECT("m0-2 SET job *", "m0-2 ZADD *");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *");
}

/* Below a quorum it may be another lock that keeps the name away. */
T(but_not_where_fewer_than_q_say_that_it_is_kept)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job wait=1h");
    vote("0-2", "SET NO, ZADD YES");
    work();
    vote("0-2", "RELEASE NO");
    vote("0", "ENQUEUE HEARD:3000000:kept");
    vote("1-2", "ENQUEUE HEARD:9000");
    forget();
    at(2100);
    EXPECT("m0-2 ENQUEUE *");
}

/* ---- masters that forget ---- */

/* The master has lost its memory, and is in quarantine. */
static void forgets(unsigned master)
{
    restart(master, 1);
    dial(master);
    shake(master);
    forget();
}

T(a_mark_is_set_again_on_a_master_that_forgot_it)
{
    kept(3);
    forgets(2);
    work();
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0-1", "EXTEND 3600000");
    EXPECT_NOTHING();
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T2 1700003601100");
    vote("2", "HEAL YES");
    EXPECT_NOTHING();
    forgets(1); /* the master in quarantine counts: it was healed */
    work();
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0,2", "EXTEND 3600000");
    vote("1", "EXTEND NO");
    EXPECT("m1 HEAL job T2 1700003601100");
    vote("1", "HEAL YES");
}

T(but_only_where_q_masters_have_it)
{
    kept(3);
    forgets(2);
    work();
    vote("0", "EXTEND 3600000");
    vote("1", "EXTEND OOM");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    at(3100); /* it looks again, ever more rarely */
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T2 *");
    vote("2", "HEAL YES");
    at(30000);
    EXPECT_NOTHING();
}

T(a_master_that_was_away_gets_the_mark)
{
    held(3);
    lose(2);
    forget();
    ask(1, "UNLOCK job keep=1h");
    vote("0-1", "MOVE YES");
    vote("0-1", "EXTEND " HOUR);
    EXPECT("m0-1 MOVE job T1 T2", "m0-1 EXTEND job T2 " HOUR " *", "s1 #2 +KEPT job *");
    dial(2);
    shake(2);
    vote("2", "KILL 0");
    forget();
    work();
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO"); /* the lock's key is there: a heal finds it, until its TTL is over */
    EXPECT("m0-2 EXTEND job T2 1 most=0", "m2 HEAL job T2 *");
    vote("2", "HEAL NO");
    at(3100);
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T2 *");
    vote("2", "HEAL YES");
}

/* The mark was told by a quorum just so, and an attempt's key was in its way on another master: no master needs to come
 * back before that one is asked again. */
T(a_heal_that_was_refused_is_tried_again)
{
    start(3);
    ask(1, "LOCK job");
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET NO, ZADD YES");
    at(1100);
    forget();
    ask(1, "UNLOCK job keep=1h");
    vote("0-1", "MOVE YES");
    vote("2", "MOVE NO, EXTEND NO");
    vote("0-1", "EXTEND " HOUR);
    EXPECT("m0-2 MOVE job T1 T2", "m0-2 EXTEND job T2 *", "s1 #2 +KEPT job * confirmed=2/3",
           "m2 HEAL job T2 *");
    vote("2", "HEAL NO");
    at(2090);
    EXPECT_NOTHING();
    at(2100);
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T2 *");
    vote("2", "HEAL YES");
    at(30000);
    EXPECT_NOTHING();
}

/* The session need not show the token of its own lock, also where that may live on only by an EXTEND elsewhere. */
T(a_lock_that_is_over_here_is_kept_by_its_token)
{
    start(3);
    grant(1, "LOCK job hold=lease ttl=1s");
    forget();
    now = 1990; /* the request is handled before what is due */
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1 T2");
    vote("0-2", "MOVE NO");
    EXPECT("s1 #2 -NOTHELD job*", "m0-2 RELEASE job *");
    vote("0-2", "RELEASE NO");
}

/* The master moved the token to the mark, and did not run the EXTEND, so the mark ends there with the lock's TTL. */
T(a_mark_that_would_end_early_is_lengthened)
{
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND " HOUR);
    vote("2", "EXTEND OOM");
    hears("0", "letter job");
    forget();
    at(1120);
    vote("0-1", "EXTEND 3599980");
    vote("2", "EXTEND 9000");
    EXPECT("m0-2 EXTEND job T2 1 most=0", "m2 EXTEND job T2 3599980 most=0");
    vote("2", "EXTEND 3599980");
    at(30000);
    EXPECT_NOTHING();
}

/* ---- BREAK ---- */

T(a_mark_that_was_broken_is_dropped_and_not_set_again)
{
    kept(3);
    hears("0", "letter job");
    hears("1-2", "letter job");
    at(1119);
    EXPECT_NOTHING();
    at(1120);
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    vote("0-2", "EXTEND NO");
    EXPECT("m0-2 RELEASE job T2 WAKE");
    ck_assert_uint_eq(kept_names(), 0);
    vote("0-2", "RELEASE NO");
    EXPECT_REST();
}

T(letters_about_it_prove_nothing_and_cost_a_question_a_second)
{
    kept(3);
    unsigned asked = 0;
    for (; now < 6100; at(now + 20)) {
        hears("0-2", "letter job");
        work();
        if (unanswered(0) == 0)
            continue;
        asked++;
        vote("0-2", "EXTEND 3600000");
        forget();
    }
    ck_assert_uint_ge(asked, 5);
    ck_assert_uint_le(asked, 6);
    ck_assert_uint_eq(kept_names(), 1);
    forget();
}

/* Where one of them had it released, it is not healed; the others go on. */
T(a_master_where_it_was_released_is_not_healed)
{
    kept(3);
    hears("0", "letter job");
    at(1120);
    vote("0", "EXTEND NO");
    vote("1-2", "EXTEND 3600000");
    EXPECT("m0-2 EXTEND job T2 1 most=0");
    at(30000);
    EXPECT_NOTHING();
    ck_assert_uint_eq(kept_names(), 1);
}

/* Two masters missed the lock for as long as a RESUME had moved it. They have its mark, so nobody has released that. */
T(a_lock_that_a_resume_had_moved_was_not_released)
{
    held(3);
    ask(2, "RESUME job token=T1");
    ask(1, "EXTEND job token=T1");
    vote("0-1", "MOVE YES, EXTEND NO");
    vote("2", "MOVE YES, EXTEND NO");
    at(1150);
    EXPECT_LAST("s2 #2 -NOQUORUM *");
    vote("0-2", "EXTEND 10000, ZADD YES, MOVE YES");
    forget();
    ask(1, "UNLOCK job keep=1h");
    EXPECT("m0-2 MOVE job T1 T3");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND " HOUR);
    EXPECT("m0-2 EXTEND job T3 " HOUR " *", "s1 #4 +KEPT job *");
    hears("0", "letter job");
    at(1170);
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T3 1 most=0");
    ck_assert_uint_eq(kept_names(), 1);
}

/* A mark that is there again came with older data, which the next probe will show. */
T(a_mark_that_came_back_where_it_was_released_proves_nothing)
{
    kept(3);
    hears("0", "letter job");
    at(1120);
    vote("0", "EXTEND NO");
    vote("1-2", "EXTEND 3600000");
    hears("0", "letter job");
    at(2120);
    vote("0-1", "EXTEND 3600000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T2 1 most=0", "m0-2 EXTEND job T2 1 most=0", "m0-2 RELEASE job T2 WAKE");
    ck_assert_uint_eq(kept_names(), 0);
}

/* Somebody locked the name since, so the mark was lost. */
T(an_older_mark_of_the_name_makes_way)
{
    kept(3);
    grant(1, "LOCK job");
    ask(1, "UNLOCK job keep=2h");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND 7200000");
    EXPECT("m0-2 MOVE job T3 T4", "m0-2 EXTEND job T4 7200000 *", "s1 #4 +KEPT *",
           "m0-2 RELEASE job T2 WAKE");
    ck_assert_uint_eq(kept_names(), 1);
    vote("2", "EXTEND 7200000");
    vote("0-2", "RELEASE NO");
}

/* ---- many ---- */

T(of_many_marks_64_are_asked_about_at_a_time)
{
    char line[64];
    unsigned begun = 0;
    config.max_locks = 200;
    start(3);
    for (unsigned i = 0; i < 70; i++) {
        snprintf(line, sizeof line, "LOCK job%u", i);
        grant(1, line);
        snprintf(line, sizeof line, "UNLOCK job%u keep=1h", i);
        ask(1, line);
        vote("0-2", "MOVE YES");
        vote("0-2", "EXTEND " HOUR);
    }
    forgets(2);
    work();
    ck_assert_uint_eq(unanswered(0), 64);
    for (; unanswered(0) != 0; begun++) {
        vote("0-1", "EXTEND 3600000");
        vote("2", "EXTEND NO");
        while (strcmp(unanswered_verb(2), "HEAL") == 0)
            vote("2", "HEAL YES");
        if (begun == 63)
            at(now + 1);
    }
    ck_assert_uint_eq(begun, 70);
    forget();
}

/* Marks outlive their sessions: one client alone does not fill the table for all others. */
T(no_more_than_its_share_for_a_peer)
{
    config.max_marks = 4;
    config.max_marks_per_peer = 1;
    held(3);
    ask(1, "UNLOCK job keep=1h");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND " HOUR);
    grant(1, "LOCK other");
    forget();
    ask(1, "UNLOCK other keep=1h");
    EXPECT("s1 #4 -LIMIT other limit=max_marks");
    trace_peer.number = 1;
    grant(2, "LOCK mine");
    forget();
    ask(2, "UNLOCK mine keep=1h");
    EXPECT("m0-2 MOVE mine T4 T5");
}
