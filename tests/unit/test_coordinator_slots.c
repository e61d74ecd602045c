/* Traces: names with numbered slots. */
#include "tests/unit/trace.h"

/* Sessions 1 to 3 have the slots 0 to 2 of "job", by the tokens T1 to T3. */
static void three_are_held(void)
{
    start(3);
    hears("0-2", "listens");
    for (uint64_t session = 1; session <= 3; session++)
        grant(session, "LOCK job slots=3");
}

/* "job" has two slots, and other daemons have both. Session 1 waits asleep since 1000. */
static void one_sleeps(void)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job slots=2 wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    work();
    forget();
    vote("0-2", "RELEASE NO, LOOK 11h");
    EXPECT_NOTHING();
}

/* ---- which slot ---- */

T(each_gets_a_slot_of_its_own)
{
    start(3);
    ask(1, "LOCK job slots=2");
    EXPECT("m0-2 SET job,0 T1 10000", "m0-2 ZADD job,0 1000007");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897 slot=0");
    ask(2, "LOCK job slots=2");
    EXPECT("m0-2 SET job,1 T2 10000", "m0-2 ZADD job,1 1000008");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 fence=1000008 valid=9897 until=10897 slot=1");
    ask(3, "LOCK job slots=2"); /* both are held here: no master is asked */
    EXPECT("s3 #3 -BUSY job");
}

T(a_slot_that_was_given_back_is_asked_for_first)
{
    three_are_held();
    ask(4, "LOCK job slots=3 wait=1m");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,1 T2", "m0-2 SET job,1 T4 10000", "m0-2 ZADD job,1 *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #5 +UNLOCKED job confirmed=2/3 slot=1", "s4 #4 +LOCKED job token=T4 * slot=1");
}

T(a_refused_head_looks_and_asks_for_a_free_slot)
{
    start(3);
    ask(1, "LOCK job slots=4");
    EXPECT("m0-2 SET job,0 T1 10000", "m0-2 ZADD job,0 *");
    vote("0-1", "SET NO, ZADD NO");
    EXPECT("m0-2 RELEASE job,0 T1");
    work();
    EXPECT("m0-2 LOOK job 4");
    vote("2", "SET NO, ZADD NO");
    vote("0-1", "RELEASE NO, LOOK 1101");
    EXPECT("m0-2 SET job,2 T2 10000", "m0-2 ZADD job,2 *");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T2 * slot=2");
}

T(a_slot_is_free_where_a_quorum_shows_it_free)
{
    start(3);
    ask(1, "LOCK job slots=3");
    vote("0-1", "SET NO, ZADD NO");
    work();
    vote("2", "SET NO, ZADD NO");
    forget();
    vote("0", "RELEASE NO, LOOK 101");
    vote("1", "RELEASE NO, LOOK 110");
    EXPECT_NOTHING(); /* the third may show one of them free */
    vote("2", "RELEASE NO, LOOK 110");
    EXPECT("m0-2 SET job,2 T2 10000", "m0-2 ZADD job,2 *");
    vote("0-2", "SET YES, ZADD YES");
    forget();
}

T(where_none_is_free_wait_0_is_busy)
{
    start(3);
    ask(1, "LOCK job slots=3");
    vote("0-1", "SET NO, ZADD NO");
    work();
    vote("2", "SET NO, ZADD NO");
    forget();
    vote("0-1", "RELEASE NO, LOOK 111");
    EXPECT("s1 #1 -BUSY job");
}

T(after_four_slots_the_votes_were_split)
{
    start(3);
    ask(1, "LOCK job slots=8");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO, LOOK 00000000");
    forget();
    for (unsigned i = 0; i < 4; i++) {
        vote("0-2", "SET NO, ZADD NO");
        work();
        vote("0-2", "RELEASE NO");
    }
    EXPECT("m0-2 RELEASE job,0 T2", "m0-2 SET job,1 T3 10000", "m0-2 ZADD job,1 *", "m0-2 RELEASE job,1 T3",
           "m0-2 SET job,2 T4 10000", "m0-2 ZADD job,2 *", "m0-2 RELEASE job,2 T4", "m0-2 SET job,3 T5 10000",
           "m0-2 ZADD job,3 *", "m0-2 RELEASE job,3 T5", "s1 #1 -BUSY job split=1");
}

T(a_head_that_waits_looks_again_after_a_pause)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job slots=2 wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO, LOOK 01");
    forget();
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    EXPECT("m0-2 RELEASE job,0 T2");
    at(1020);
    EXPECT("m0-2 LOOK job 2 JOIN");
    vote("0-2", "LOOK 10");
    EXPECT("m0-2 SET job,1 T3 10000", "m0-2 ZADD job,1 *");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T3 * slot=1", "m0-2 DEQUEUE job");
}

T(wait_0_begins_no_round_after_node_timeout)
{
    start(3);
    ask(1, "LOCK job slots=3");
    forget();
    at(1040);
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    at(1060);
    forget();
    vote("0-2", "LOOK 110");
    EXPECT("s1 #1 -BUSY job split=1");
}

T(too_few_answers_are_no_quorum)
{
    start(3);
    ask(1, "LOCK job slots=3");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    forget();
    vote("0", "LOOK 110");
    vote("1-2", "LOOK OOM");
    EXPECT("s1 #1 -NOQUORUM job *");
}

T(a_lost_script_is_asked_for_again)
{
    start(3);
    ask(1, "LOCK job slots=3");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    forget();
    vote("0-1", "LOOK NOT_RUN");
    EXPECT("m0 LOOK job 3", "m1 LOOK job 3");
    vote("0-1", "LOOK 111");
    EXPECT("s1 #1 -BUSY job");
}

T(a_look_serves_the_next_requests)
{
    start(3);
    ask(1, "LOCK job slots=4");
    ask(2, "LOCK job slots=4");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO, LOOK 1100");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    work();
    EXPECT("m0-2 SET job,3 T3 10000", "m0-2 ZADD job,3 *");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T3 * slot=3");
}

/* ---- waiting ---- */

T(a_head_sleeps_until_it_is_woken)
{
    one_sleeps();
    at(1100);
    EXPECT_NOTHING();
    hears("0-1", "woke job"); /* some slot is free: which one? */
    EXPECT("m0-2 LOOK job 2 JOIN");
    vote("0-1", "LOOK 01");
    EXPECT("m0-2 SET job,0 T2 10000", "m0-2 ZADD job,0 *");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T2 * slot=0", "m0-2 DEQUEUE job");
}

T(a_head_that_few_heard_polls)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job slots=2 wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    forget();
    vote("0-2", "RELEASE NO");
    vote("0", "LOOK 11h");
    vote("1-2", "LOOK 11");
    EXPECT_NOTHING();
    at(1200);
    EXPECT("m0-2 LOOK job 2 JOIN");
}

T(a_wake_that_nobody_needs_is_passed_on)
{
    one_sleeps();
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "m0-2 DEQUEUE job", "s1 #2 +OK");
    hears("0", "woke job");
    EXPECT("m0 ALONG job"); /* nothing of the name is here: slots or none */
}

/* The head was woken for a slot, and leaves while it looks which one that is. */
T(a_wake_is_passed_on_by_a_head_that_leaves)
{
    one_sleeps();
    at(1100);
    hears("0-1", "woke job");
    forget();
    cancel(1, 1);
    EXPECT("s1 #1 -CANCELLED job", "m0-2 DEQUEUE job", "m0-1 PASS job", "s1 #2 +OK");
}

/* This daemon has slots, but nobody waits here for another one. */
T(a_holder_passes_a_wake_on)
{
    three_are_held();
    hears("1", "woke job");
    EXPECT("m1 PASS job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,0 T1 WAKE");
}

T(the_release_of_any_slot_wakes_those_who_wait_elsewhere)
{
    three_are_held();
    hears("1", "told job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,0 T1 WAKE");
    ask(9, "UNLOCK job token=T3");
    EXPECT("s3 !LOST *", "m0-2 RELEASE job,2 T3 WAKE");
    forget();
}

T(who_is_told_and_has_nothing_passes_it_on)
{
    start(3);
    hears("1", "told job");
    EXPECT("m1 PASS job");
}

/* ---- one name, one number of slots ---- */

T(another_number_of_slots_is_another_mode)
{
    three_are_held();
    ask(4, "LOCK job slots=4");
    EXPECT("s4 #4 -MODE job slots=3");
    ask(4, "LOCK job");
    EXPECT("s4 #5 -MODE job slots=3");
    ask(4, "RESUME job token=X");
    EXPECT("s4 #6 -MODE job slots=3");
    grant(4, "LOCK other");
    ask(5, "LOCK other slots=3");
    EXPECT("s5 #8 -MODE other : it is in use without slots=*");
}

T(other_daemons_may_say_another_number)
{
    start(3);
    ask(1, "LOCK job slots=3 wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", "RELEASE NO");
    forget();
    vote("0-1", "LOOK 000n8");
    EXPECT("s1 #1 -MODE job slots=8", "m0-2 DEQUEUE job");
}

/* ---- by token ---- */

T(a_token_finds_its_slot)
{
    three_are_held();
    ask(9, "CHECK job token=T2");
    EXPECT("s9 #4 +HELD job valid=9897 until=10897 slot=1");
    ask(9, "EXTEND job token=T3 ttl=20s");
    EXPECT("m0-2 EXTEND job,2 T3 20000");
    vote("0-2", "EXTEND 20000");
    EXPECT("s3 !RENEWED job token=T3 * slot=2", "s9 #5 +EXTENDED job * slot=2");
    ask(2, "LOCK job token=T2");
    EXPECT("s2 #6 +LOCKED job token=T2 * slot=1 depth=2");
    ask(9, "UNLOCK job token=T2");
    EXPECT("s2 !LOST job token=T2 reason=released slot=1", "m0-2 RELEASE job,1 T2");
    forget();
}

T(without_a_token_the_latest_slot_is_given_back)
{
    start(3);
    for (unsigned i = 0; i < 3; i++)
        grant(1, "LOCK job slots=3");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,2 T3");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,1 T2");
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 -NOTHELD job *");
    deny_lock(1, "job", "T1");
    EXPECT("s1 !LOST job token=T1 reason=denied slot=0");
    vote("0-2", "RELEASE YES, RELEASE YES");
    forget();
}

/* Another daemon granted it: only the token says which slot it is. */
T(a_token_of_another_daemon_is_resumed)
{
    three_are_held();
    drop(3);
    work();
    ask(4, "RESUME job token=T3");
    EXPECT("s3 ended", "m0-2 MOVE job,2 T3 T4");
    vote("0-1", "MOVE YES");
    forget();
    vote("2", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s4 #4 +LOCKED job token=T4 * slot=2");
    ask(5, "LOCK job slots=3");
    EXPECT("s5 #5 -BUSY job");
}

/* A daemon that only knows a token does not know how many slots there are. */
T(a_resumed_slot_is_within_the_slots)
{
    three_are_held();
    ask(9, "UNLOCK job token=T1");
    ask(9, "UNLOCK job token=T2");
    vote("0-2", "RELEASE YES, RELEASE YES");
    drop(3);
    at(10900);
    forget();
    ask(4, "RESUME job token=T3");
    EXPECT("m0-2 MOVE job,2 T3 T4");
    ask(5, "LOCK job slots=2");
    EXPECT("s5 #7 -MODE job slots=3");
    ask(5, "LOCK job slots=5");
    EXPECT("m0-2 SET job,0 *", "m0-2 ZADD job,0 *");
}

/* Clients of another daemon named more slots. */
T(a_slot_beyond_the_slots_goes_to_nobody_here)
{
    three_are_held();
    ask(9, "UNLOCK job token=T1");
    ask(9, "UNLOCK job token=T2");
    vote("0-2", "RELEASE YES, RELEASE YES");
    drop(3);
    at(10900);
    ask(5, "LOCK job slots=1 wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    work();
    vote("0-2", "RELEASE NO, LOOK 1h");
    ask(6, "RESUME job token=T3");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    ask(6, "UNLOCK job");
    forget();
    vote("0-1", "RELEASE YES");
    EXPECT("s6 #8 +UNLOCKED job *", "m0-2 LOOK job *");
}

/* Requests that wait here hear of a release by the token of another daemon's slot. */
T(a_release_by_token_lets_the_head_ask)
{
    one_sleeps();
    ask(9, "UNLOCK job token=T1");
    EXPECT("m0-2 RELEASE job,0 T1 WAKE STAY");
    vote("0-1", "RELEASE YES");
    EXPECT("s9 #2 +UNLOCKED job confirmed=2/3 slot=0", "m0-2 SET job,0 *", "m0-2 ZADD job,0 *");
}

/* The head asks for slot 1 when it is handed slot 0; its SETs are good for the next request. */
T(a_head_that_asks_for_one_slot_is_handed_another)
{
    start(3);
    grant(1, "LOCK job slots=2");
    for (uint64_t session = 2; session <= 5; session++)
        ask(session, "LOCK job slots=2 wait=1m");
    EXPECT("m0-2 SET job,1 T2 10000", "m0-2 ZADD job,1 *");
    vote("0-2", "SET YES, ZADD YES"); /* session 2 has slot 1, by a secret token */
    work();
    forget();
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job,0 T1", "m0-2 SET job,0 T4 10000", "m0-2 ZADD job,0 1000009",
           "m0-2 ZADD job,0 1000037"); /* what follows may be handed on, as slot 1 was */
    vote("0-2", "ZADD YES");
    ask(2, "UNLOCK job");
    EXPECT("s2 #7 +UNLOCKED job confirmed=0/3 handed=1 slot=1", "s3 #3 +LOCKED job token=T5 * slot=1");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #6 +UNLOCKED *", "s4 #4 +LOCKED job token=T6 * slot=0");
}

/* ---- hand-off ---- */

T(a_slot_is_handed_on)
{
    start(3);
    grant(1, "LOCK job slots=1");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job slots=1 wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    vote("0-2", "ZADD YES");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED job confirmed=0/3 handed=1 slot=0", "s3 #3 +LOCKED job token=T4 * slot=0");
}
