/* Traces: native commands (master/native.h). */
#include "daemon/coordinator/data/state.h"
#include "tests/unit/trace.h"

enum { DELEX = 1, DELIFEQ = 2, IFEQ = 4, MSETEX = 8 };

/* Masters 0 and 1 are of one kind, 2 of another, 3 and 4 know no native command. */
static void start_mixed(void)
{
    trace_natives[0] = trace_natives[1] = DELEX | IFEQ;
    trace_natives[2] = DELIFEQ | IFEQ;
    start(5);
}

T(each_master_gets_the_words_that_it_knows)
{
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    EXPECT("m0-1 RELEASE_DELEX job T1", "m2 RELEASE_DELIFEQ job T1", "m3-4 RELEASE job T1");
    vote("0-1", "RELEASE_DELEX YES");
    EXPECT_NOTHING();
    vote("2", "RELEASE_DELIFEQ NO");
    EXPECT("s1 #2 +UNLOCKED job confirmed=3/5");
    vote("3-4", "RELEASE YES");
    EXPECT_REST();
}

T_EACH(a_refusal_is_no_answer, 3)
{
    static const char *const refusals[] = {"OTHER", "NOPERM", "WRONGTYPE"};
    char refused[40];
    bool of_key = _i == 2; /* readers of one name say nothing of the next one */
    snprintf(refused, sizeof refused, "RELEASE_DELIFEQ %s", refusals[_i]);
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    vote("0", "RELEASE_DELEX YES");
    vote("3", "RELEASE YES");
    forget();
    vote("2", refused);
    EXPECT("m2 RELEASE job T1"); /* at once, and nobody is told anything yet */
    vote("2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=3/5");
    vote("1", "RELEASE_DELEX YES");
    vote("4", "RELEASE YES");
    EXPECT_MASTER(2, "up");
    grant(1, "LOCK other");
    ask(1, "UNLOCK other");
    if (of_key)
        EXPECT("m0-1 RELEASE_DELEX other T2", "m2 RELEASE_DELIFEQ other T2", "m3-4 RELEASE other T2");
    else
        EXPECT("m0-1 RELEASE_DELEX other T2", "m2-4 RELEASE other T2");
    vote("0-1", "RELEASE_DELEX YES");
    vote("2", of_key ? "RELEASE_DELIFEQ YES" : "RELEASE YES");
    vote("3-4", "RELEASE YES");
    forget();
}

T(a_full_memory_or_a_replica_says_nothing_of_the_command)
{
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    forget();
    vote("2", "RELEASE_DELIFEQ MISCONF");
    EXPECT_NOTHING(); /* the script would answer the same: it is asked again later */
    EXPECT_MASTER(2, "up undo=1");
    vote("0-1", "RELEASE_DELEX YES");
    vote("3", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=3/5");
    at(2000);
    EXPECT("m2 RELEASE job T1");
    vote("2", "RELEASE YES");
    vote("4", "RELEASE YES");
    EXPECT_MASTER(2, "up");
}

/* The head's SETs that follow a release ran where the release did not: they are no answers. */
T(a_refusal_before_the_next_head)
{
    trace_natives[0] = trace_natives[1] = trace_natives[2] = DELEX;
    start(3);
    grant(1, "LOCK job ttl=10s");
    ask(2, "LOCK job wait=10s");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE_DELEX job T1", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-2", "RELEASE_DELEX OTHER");
    EXPECT("m0 RELEASE job T1", "m1 RELEASE job T1", "m2 RELEASE job T1");
    vote("0-2", "SET NO, ZADD NO");
    EXPECT("m0-2 RELEASE job T2", "m0-2 ENQUEUE job *");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED *", "m0-2 SET job T3 10000");
    vote("0-1", "RELEASE NO, ENQUEUE UNHEARD, SET YES");
    vote("0-1", "ZADD YES");
    EXPECT("m0-1 ZADD job *", "s2 #2 +LOCKED job token=T3 *");
}

T(nobody_is_left_waiting)
{
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    hears("0-2", "listens");
    hears("0-2", "told job");
    ask(1, "UNLOCK job");
    EXPECT("m0-4 RELEASE job T1 WAKE");
    vote("0-4", "RELEASE YES");
    forget();
    ask(1, "UNLOCK job token=X"); /* which daemons wait is not known */
    EXPECT("m0-4 RELEASE job X WAKE");
    vote("0-4", "RELEASE NO");
    forget();
}

T(readers_lists_and_slots_are_left_to_scripts)
{
    start_mixed();
    ask(1, "LOCK page mode=shared");
    vote("0-4", "SHARE YES, ZADD YES");
    forget();
    ask(1, "UNLOCK page");
    EXPECT("m0-4 RELEASE page T1 WAKE*");
    vote("0-4", "RELEASE YES");
    forget();
    grant(1, "LOCK a,b");
    ask(1, "UNLOCK a,b");
    EXPECT("m0-4 RELEASE a,b T*");
    vote("0-4", "RELEASE YES");
    forget();
}

T(an_attempt_is_undone_natively)
{
    start_mixed();
    ask(1, "LOCK job");
    EXPECT("m0-4 SET job T1 *", "m0-4 ZADD job *");
    vote("0-2", "SET NO, ZADD YES");
    EXPECT("m0-1 RELEASE_DELEX job T1", "m2 RELEASE_DELIFEQ job T1", "m3-4 RELEASE job T1",
           "s1 #1 -BUSY job*");
    vote("0-1", "RELEASE_DELEX NO");
    vote("2", "RELEASE_DELIFEQ NO");
    vote("3-4", "SET YES, ZADD YES, RELEASE YES");
}

T(a_master_that_comes_back_owes_by_script)
{
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    lose(0);
    ask(1, "UNLOCK job");
    EXPECT("m1 RELEASE_DELEX job T1", "m2 RELEASE_DELIFEQ job T1", "m3-4 RELEASE job T1");
    vote("1", "RELEASE_DELEX YES");
    vote("2", "RELEASE_DELIFEQ YES");
    vote("3-4", "RELEASE YES");
    forget();
    dial(0);
    shake(0);
    forget();
    vote("0", "KILL 1");
    forget();
    work();
    EXPECT("m0 RELEASE job T1");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
}

T(another_server_is_asked_anew)
{
    start_mixed();
    trace_natives[0] = 0;
    trace_natives[3] = DELEX | DELIFEQ;
    for (unsigned i = 0; i < 4; i += 3) {
        char one[4] = {(char)('0' + i), 0};
        lose(i);
        dial(i);
        shake(i);
        vote(one, "KILL 1");
        forget();
    }
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    EXPECT("m1,3 RELEASE_DELEX job T1", "m2 RELEASE_DELIFEQ job T1", "m0,4 RELEASE job T1");
    vote("1,3", "RELEASE_DELEX YES");
    vote("2", "RELEASE_DELIFEQ YES");
    forget();
    vote("0,4", "RELEASE YES");
}

/* ---- RESUME ---- */

T(a_token_moves_natively)
{
    start_mixed();
    ask(1, "RESUME job token=X");
    EXPECT("m0-2 MOVE_IFEQ job X T*", "m3-4 MOVE job X T*");
    vote("0", "MOVE_IFEQ YES");
    vote("1", "MOVE_IFEQ WRONGTYPE"); /* readers have the name there */
    vote("2", "MOVE_IFEQ OTHER");
    EXPECT("m1 MOVE job X T*", "m2 MOVE job X T*");
    vote("1", "MOVE NO");
    vote("2", "MOVE YES");
    vote("3", "MOVE YES");
    EXPECT("m0,2-4 EXTEND job T1 10000", "m0,2-4 ZADD job *");
    vote("4", "MOVE YES");
    vote("0,2-4", "EXTEND 10000, ZADD YES");
    forget();
    ask(2, "RESUME other token=Y");
    EXPECT("m0-1 MOVE_IFEQ other T2 T3", "m2-4 MOVE other T2 T3");
    vote("0-1", "MOVE_IFEQ NO");
    vote("2-4", "MOVE NO");
    forget();
}

/* The set-back is a script: it asks the masters that may have either token. */
T(a_move_is_set_back_by_script)
{
    start_mixed();
    ask(1, "RESUME job token=X");
    vote("0", "MOVE_IFEQ YES");
    vote("1-2", "MOVE_IFEQ NO");
    vote("3", "MOVE NO");
    EXPECT("m0-2 MOVE_IFEQ job X T1", "m3-4 MOVE job X T1", "m0-4 MOVE job T1 X", "s1 #1 -NOQUORUM *");
    vote("4", "MOVE YES, MOVE YES");
    vote("0-3", "MOVE YES");
}

/* ---- lists ---- */

T(a_list_is_set_natively_by_who_does_not_wait)
{
    trace_natives[0] = trace_natives[1] = MSETEX;
    start(3);
    ask(1, "LOCK a,b");
    EXPECT("m0-1 SET_MSETEX a,b T1 *", "m2 SET a,b T1 *", "m0-2 ZADD a,b *");
    vote("0", "SET_MSETEX YES, ZADD YES");
    vote("1", "SET_MSETEX NOPERM, ZADD YES");
    EXPECT("m1 SET a,b T1 *");
    vote("2", "SET YES, ZADD YES");
    EXPECT("m0 ZADD a,b *", "m2 ZADD a,b *"); /* anew: one proposal came before its SET */
    vote("0", "ZADD YES");
    vote("2", "ZADD YES");
    EXPECT("s1 #1 +LOCKED a,b *");
    vote("1", "SET YES");
    ask(2, "LOCK c,d wait=10s"); /* it is to know which of them is not free */
    EXPECT("m0-2 SET c,d T2 *", "m0-2 ZADD c,d *");
    forget();
    vote("0-2", "SET NO:0, ZADD YES");
    forget();
}

/* ---- what is denied ---- */

static uint32_t denied(unsigned master)
{
    struct master_row row;
    coordinator_master_row(core, now, master, &row);
    return row.natives_denied;
}

T(a_right_that_is_given_later_is_found)
{
    trace_natives[0] = DELEX;
    start(3);
    handshakes_until(5000);
    ck_assert_uint_eq(denied(0), 0);
    grant(1, "LOCK job ttl=10s");
    uint32_t changes = coordinator_master_changes(core, 0);
    ask(1, "UNLOCK job");
    forget();
    vote("0", "RELEASE_DELEX NOPERM, RELEASE YES");
    vote("1-2", "RELEASE YES");
    forget();
    ck_assert_uint_eq(denied(0), DELEX);
    ck_assert_uint_eq(coordinator_master_changes(core, 0), changes + 1); /* the log tells it */
    handshakes_until(now + 61000); /* the trace's master knows it again */
    ck_assert_uint_eq(denied(0), 0);
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    EXPECT("m0 RELEASE_DELEX job T*", "m1-2 RELEASE job T*");
    vote("0", "RELEASE_DELEX YES");
    vote("1-2", "RELEASE YES");
    forget();
}

T(by_script)
{
    config.by_script = true;
    start_mixed();
    grant(1, "LOCK job ttl=10s");
    ask(1, "UNLOCK job");
    EXPECT("m0-4 RELEASE job T1");
    vote("0-4", "RELEASE YES");
    forget();
}

/* The master refuses the native command from now on, and has forgotten its scripts. */
T(a_script_that_is_not_loaded_follows_a_native_refusal)
{
    trace_natives[0] = trace_natives[1] = trace_natives[2] = 1;
    start(3);
    grant(1, "LOCK job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE_DELEX job T1");
    vote("0-2", "RELEASE_DELEX NOPERM");
    EXPECT("m0 RELEASE job T1", "m1 RELEASE job T1", "m2 RELEASE job T1");
    vote("0-2", "RELEASE NOT_RUN");
    EXPECT("m0 RELEASE job T1", "m1 RELEASE job T1", "m2 RELEASE job T1");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED *");
}

T(a_move_that_is_not_loaded_follows_a_native_refusal)
{
    trace_natives[0] = trace_natives[1] = trace_natives[2] = 4;
    start(3);
    ask(1, "RESUME job token=X");
    EXPECT("m0-2 MOVE_IFEQ job X T1");
    vote("0-2", "MOVE_IFEQ NOPERM");
    EXPECT("m0 MOVE job X T1", "m1 MOVE job X T1", "m2 MOVE job X T1");
    vote("0-2", "MOVE NOT_RUN");
    EXPECT("m0 MOVE job X T1", "m1 MOVE job X T1", "m2 MOVE job X T1");
    forget();
}
