/* Traces: a lock that is handed on within the daemon, and the settling of its secret token. */
#include "tests/unit/trace.h"

/* Session 2 was granted "job" at 1000, and sessions 3 and 4 wait for it. The key has T2, and session 2 was
 * told T3. Fences up to 1000032 are about to be reserved. */
static void held_in_secret(void)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD job 1000008");
    vote("0-2", "RELEASE YES");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #5 +UNLOCKED job confirmed=2/3",
           "s2 #2 +LOCKED job token=T3 fence=1000008 valid=9897 until=10897", "m0-2 ZADD job 1000032");
    vote("2", "SET YES, ZADD YES");
}

static void held_and_reserved(void)
{
    held_in_secret();
    vote("0-2", "ZADD YES");
}

/* ---- hand-off ---- */

T(it_goes_on_without_asking_anybody)
{
    held_and_reserved();
    at(1010);
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED job confirmed=0/3 handed=1",
           "s3 #3 +LOCKED job token=T4 fence=1000009 valid=9887 until=10897");
    finish(3);
    release(3);
    work();
    EXPECT("s3 !LOST job token=T4 reason=closed",
           "s4 #4 +LOCKED job token=T5 fence=1000010 valid=9887 until=10897", "s3 ended");
    at(1020);
    ask(4, "UNLOCK job"); /* nobody waits */
    EXPECT("m0-2 RELEASE job T2");
    vote("0-2", "RELEASE YES");
    EXPECT("s4 #7 +UNLOCKED job confirmed=2/3");
    EXPECT_REST();
}

T(an_undelivered_lock_goes_on)
{
    held_and_reserved();
    undelivered(2, 2);
    EXPECT("s3 #3 +LOCKED job token=T4 fence=1000009 *");
    ask(9, "UNLOCK job token=T4"); /* by the token alone */
    EXPECT("s3 !LOST job token=T4 reason=released", "s9 #6 +UNLOCKED job confirmed=0/3 handed=1",
           "s4 #4 +LOCKED job token=T5 fence=1000010 *");
}

/* The connection is dying: its next request would not hear of the lock either. */
T(an_undelivered_lock_does_not_go_to_the_same_session)
{
    held_in_secret();
    vote("0-2", "ZADD YES");
    ask(3, "LOCK job wait=1m");
    finish(4); /* only session 3 is left, with two requests */
    release(4);
    work();
    forget();
    ask(2, "UNLOCK job");
    EXPECT("s2 #7 +UNLOCKED job confirmed=0/3 handed=1", "s3 #3 +LOCKED job token=T4 *");
    undelivered(3, 3);
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T5 10000", "m0-2 ZADD job *");
    drop(3);
    work();
    forget();
}

T(a_fence_is_told_once_q_masters_have_stored_the_reserve)
{
    held_in_secret();
    vote("0", "ZADD YES");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T4 10000", "m0-2 ZADD job 1000033", "m0-2 ZADD job *");
    vote("1-2", "ZADD YES");
    vote("0-1", "RELEASE YES, SET YES, ZADD YES, ZADD YES"); /* the next reserve comes with the proposal */
    EXPECT("s2 #6 +UNLOCKED *", "s3 #3 +LOCKED job token=T5 fence=1000033 *");
    ask(3, "UNLOCK job");
    EXPECT("s3 #7 +UNLOCKED job confirmed=0/3 handed=1", "s4 #4 +LOCKED job token=T6 fence=1000034 *");
}

T(a_master_that_did_not_grant_counts_for_no_reserve)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    vote("0-1", "SET YES, ZADD YES");
    forget();
    vote("2", "SET NO, ZADD YES");
    vote("0", "ZADD YES");
    vote("2", "ZADD YES");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T4 10000", "m0-2 ZADD *", "m0-2 ZADD *");
}

/* Sessions 2 and 3 hand the lock to each other, and come back for it. */
static void hand_to_and_fro(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        ask(i % 2 ? 3 : 2, "UNLOCK job");
        ask(i % 2 ? 3 : 2, "LOCK job wait=1m");
    }
    forget();
}

T(more_is_reserved_while_the_last_quarter_is_used)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    vote("0-2", "ZADD YES"); /* 20 fences */
    forget();
    hand_to_and_fro(14);
    ask(2, "UNLOCK job");
    EXPECT("s2 #33 +UNLOCKED * handed=1", "s3 #32 +LOCKED *", "m0-2 ZADD job 1000046");
}

/* Without restart_guard a master votes again at once. What it stores now says nothing about others who had the name
 * there before. */
T(a_master_that_lost_its_memory_since_counts_for_no_reserve)
{
    config.restart_guard = false;
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    vote("0-2", "ZADD YES"); /* 20 fences */
    restart(2, 0);
    dial(2);
    shake(2);
    work();
    EXPECT_MASTER(2, "up");
    hand_to_and_fro(14);
    ask(2, "UNLOCK job");
    EXPECT("s2 #33 +UNLOCKED * handed=1", "s3 #32 +LOCKED *", "m0-2 ZADD job 1000046");
    vote("2", "ZADD YES");
    vote("0", "ZADD YES");
    ask(2, "LOCK job wait=1m");
    for (unsigned i = 0; i < 5; i++) {
        ask(i % 2 ? 2 : 3, "UNLOCK job");
        ask(i % 2 ? 2 : 3, "LOCK job wait=1m");
    }
    forget();
    ask(2, "UNLOCK job"); /* the first reserve is used up, and the second one does not stand */
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job *", "m0-2 ZADD *");
}

T(at_the_turns_end_it_is_released)
{
    held_and_reserved();
    at(1049);
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED * handed=1", "s3 #3 +LOCKED *");
    at(1050);
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE STAY");
    vote("0-1", "RELEASE YES");
    EXPECT("s3 #7 +UNLOCKED *", "m0-2 SET job T5 10000", "m0-2 ZADD *"); /* a new turn: nobody else waits */
}

T(a_lease_of_another_length_is_released)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m ttl=5s"); /* less than what is left */
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    vote("0-2", "ZADD YES");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job *", "m0-2 ZADD *");
}

T(what_waits_for_a_lease_is_not_handed_it)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m hold=lease");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *", "s1 #4 +UNLOCKED *",
           "s2 #2 +LOCKED job token=T2 *"); /* no secret, no reserve */
}

T(a_reset_hands_nothing_on)
{
    held_and_reserved();
    drop(2);
    work();
    EXPECT("s2 ended", "m0-2 SETTLE job T2 T3 1");
}

/* A RESUME of its token began to settle it, so other daemons may know that token by now. */
T(what_settles_is_not_handed_on)
{
    held_and_reserved();
    ask(9, "RESUME job token=T3");
    vote("0-2", "MOVE NO");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2*", "m0-2 SET job *", "m0-2 ZADD job *", "m0-2 ZADD job *");
}

/* The holder may know that the masters forgot the key. */
T(what_its_holder_lost_is_not_handed_on)
{
    held_and_reserved();
    at(1010);
    ask(2, "UNLOCK job lost=gone");
    EXPECT("s2 !LOST job token=T3 reason=gone", "m0-2 RELEASE job T2", "m0-2 SET job *", "m0-2 ZADD job *",
           "m0-2 ZADD job *");
    forget();
}

T(a_daemon_that_drains_hands_nothing_on)
{
    held_and_reserved();
    drain();
    ask(2, "UNLOCK job");
    EXPECT_LAST("m0-2 RELEASE job T2*");
    forget();
}

/* A clock is ahead: how much of the lease is left is not known until the trial is over. */
T(while_a_trial_is_open_nothing_is_handed_on)
{
    held_and_reserved();
    show_probes = true;
    for (unsigned i = 0; i < 3; i++)
        markers[i].clock_ms += 500;
    lose(0);
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("m1-2 RELEASE job T2*", "m1-2 SET job *", "m1-2 ZADD job *", "m1-2 ZADD job *");
    show_probes = false;
    forget();
}

T(a_session_that_has_finished_is_handed_nothing)
{
    held_and_reserved();
    finish(3);
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job *", "m0-2 ZADD job *", "m0-2 ZADD job *");
    forget();
}

T(an_extend_under_way_is_waited_for_by_the_masters)
{
    held_and_reserved();
    ask(2, "EXTEND job token=T3 ttl=20s");
    EXPECT("m0-2 EXTEND job T2 20000");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET *", "m0-2 ZADD *", "m0-2 ZADD *");
    vote("0-1", "EXTEND 20000");
    EXPECT("s2 #6 -NOTHELD job");
}

/* ---- settling ---- */

T(after_50_ms_the_told_token_takes_its_place)
{
    held_and_reserved();
    at(1049);
    EXPECT_NOTHING();
    at(1050);
    EXPECT("m0-2 SETTLE job T2 T3 10000");
    vote("0", "SETTLE 10000");
    ask(2, "UNLOCK job"); /* either token may be there */
    EXPECT("m0-2 RELEASE job T2|T3 WAKE STAY");
    vote("1-2", "SETTLE 10000");
    vote("0-1", "RELEASE YES");
    EXPECT("s2 #6 +UNLOCKED job confirmed=2/3", "m0-2 SET job T4 10000", "m0-2 ZADD *", "m0-2 ZADD *");
}

T(once_settled_it_is_renewed_by_both_tokens)
{
    held_and_reserved();
    at(1050);
    vote("0-2", "SETTLE 10000");
    EXPECT("m0-2 SETTLE job T2 T3 10000", "s2 !RENEWED job *");
    at(4050);
    EXPECT("m0-2 SETTLE job T2 T3 10000");
    vote("0-2", "SETTLE NOT_RUN");
    EXPECT("m0 SETTLE job T2 T3 10000", "m1 SETTLE job T2 T3 10000", "m2 SETTLE job T2 T3 10000");
    vote("0-2", "SETTLE 10000");
    EXPECT("s2 !RENEWED job *");
}

T(settling_that_fails_is_tried_again)
{
    held_and_reserved();
    at(1050);
    vote("0", "SETTLE 10000");
    vote("1-2", "SETTLE OOM");
    EXPECT("m0-2 SETTLE job T2 T3 10000");
    at(2000);
    EXPECT("m0-2 SETTLE job T2 T3 10000");
}

/* Q masters have the told token, and the third cannot be asked: there is nothing to hurry for. */
T(settling_rests_while_the_last_master_is_away)
{
    held_and_reserved();
    drop(3), drop(4);
    work();
    forget();
    lose(2);
    drop(2);
    work();
    EXPECT("s2 ended", "m0-1 SETTLE job T2 T3 1");
    vote("0-1", "SETTLE 9000");
    at(1900);
    EXPECT_NOTHING();
    at(2000);
    EXPECT("m0-1 SETTLE job T2 T3 1");
}

/* Master 2 did not answer the SET, and may have run it. */
T(it_is_settled_also_where_it_may_have_been_granted)
{
    start(3);
    grant(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    ask(3, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    vote("0-1", "SET YES, ZADD YES");
    drop(3);
    drop(2);
    work();
    forget();
    vote("0-1", "ZADD YES, SETTLE 9000"); /* the reserve, and Q masters have settled it */
    EXPECT_NOTHING();
    at(1050);
    EXPECT("m0-* SETTLE job T2 T3 1");
}

T(a_master_that_lost_its_memory_since_has_settled_nothing)
{
    held_and_reserved();
    drain();
    work();
    forget();
    vote("0", "SETTLE 10000");
    restart(0, 0);
    dial(0);
    shake(0);
    vote("1", "SETTLE 10000");
    forget();
    ck_assert(coordinator_settles(core)); /* only master 1 knows the told token */
    vote("2", "SETTLE 10000");
    ck_assert(!coordinator_settles(core));
    forget();
}

T(a_broken_sessions_lock_is_settled_and_checked)
{
    held_and_reserved();
    drop(2);
    work();
    forget();
    ask(9, "CHECK job token=T3");
    EXPECT("m0-2 SETTLE job T2 T3 1");
    vote("0-1", "SETTLE 9000");
    EXPECT_NOTHING();
    vote("0-1", "SETTLE 8000");
    EXPECT("s9 #6 +HELD job valid=7917 *");
}

T(a_resume_takes_either_token)
{
    held_and_reserved();
    ask(5, "RESUME job token=T3");
    EXPECT("m0-2 MOVE job T3|T2 T4");
    ask(2, "UNLOCK job"); /* the RESUME may have moved it already */
    EXPECT("m0-2 RELEASE job T2|T3", "m0-2 SET *", "m0-2 ZADD *", "m0-2 ZADD *");
}

T(a_drain_settles_first)
{
    held_and_reserved();
    drain();
    ck_assert(coordinator_settles(core));
    work();
    EXPECT("s3 #3 -DRAINING job", "s4 #4 -DRAINING job", "m0-2 SETTLE job T2 T3 10000");
    vote("0", "SETTLE 10000");
    ck_assert(coordinator_settles(core));
    vote("1", "SETTLE 10000");
    ck_assert(!coordinator_settles(core));
    EXPECT("s2 !RENEWED job *");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2|T3");
}
