/* Traces: lists of names. */
#include "proto/line.h"
#include "tests/unit/trace.h"

T(a_list_is_one_lock)
{
    start(3);
    ask(1, "LOCK b,a");
    EXPECT("m0-2 SET a,b T1 10000", "m0-2 ZADD a,b *");
    vote("0-1", "SET YES, ZADD 2");
    EXPECT("s1 #1 +LOCKED a,b token=T1 *");
    ask(2, "LOCK a,b");
    ask(2, "LOCK b,c");
    ask(2, "LOCK a");
    EXPECT("s2 #2 -BUSY a,b", "s2 #3 -BUSY b,c", "s2 #4 -BUSY a");
    vote("2", "SET YES, ZADD 2");
    ask(1, "UNLOCK a,b");
    EXPECT("m0-2 RELEASE a,b T1");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #5 +UNLOCKED a,b confirmed=2/3");
    vote("2", "RELEASE YES");
    EXPECT_REST();
}

/* A fence that is the highest of only some of the buckets is no fence of the list. */
T(the_fence_is_above_those_of_all_names)
{
    start(3);
    ask(1, "LOCK a,b");
    vote("0-1", "SET YES, ZADD 1");
    EXPECT_LAST("m0-1 ZSCORE a,b");
    vote("0-1", "ZSCORE 5000000");
    EXPECT_LAST("m0-1 ZADD a,b 5000001");
    vote("0-1", "ZADD 2");
    EXPECT_LAST("s1 #1 +LOCKED a,b token=T1 fence=5000001 *");
}

T(requests_with_another_list_do_not_find_it)
{
    start(3);
    grant(1, "LOCK a,b");
    ask(1, "UNLOCK a");
    ask(1, "UNLOCK a,b,c");
    EXPECT("s1 #2 -NOTHELD a *", "s1 #3 -NOTHELD a,b,c *");
    ask(1, "CHECK b,a token=T1");
    EXPECT("s1 #4 +HELD a,b *");
    ask(2, "CHECK a,b,c token=T1");
    EXPECT("m0-2 CHECK a,b,c T1");
    vote("0-1", "CHECK NO");
    EXPECT("s2 #5 -NOTHELD a,b,c");
}

/* Nobody is asked for a list, and no list for a name, while the other is held here; each follows the other. */
T(heads_follow_each_other)
{
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    ask(2, "LOCK a,b wait=1m");
    ask(3, "LOCK b wait=1m");
    EXPECT_NOTHING();
    at(2000);
    ask(1, "UNLOCK a");
    vote("0-1", "RELEASE YES");
    work();
    EXPECT("m0-2 RELEASE a T1", "s1 #5 +UNLOCKED a *"); /* b is held still */
    ask(1, "UNLOCK b");
    forget();
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #6 +UNLOCKED b *", "m0-2 SET a,b T3 10000", "m0-2 ZADD a,b *");
    vote("2", "RELEASE YES, RELEASE YES");
    vote("0-1", "SET YES, ZADD 2");
    EXPECT("s2 #3 +LOCKED a,b token=T3 *");
    work();
    EXPECT_NOTHING(); /* the head of b waits for the list */
    ask(2, "UNLOCK b,a");
    vote("2", "SET YES, ZADD 2");
    vote("0-1", "RELEASE YES");
    EXPECT("m0-2 RELEASE a,b T3", "s2 * +UNLOCKED a,b *", "m0-2 SET b T4 10000", "m0-2 ZADD b *");
}

/* The list was refused at b: whoever wants a need not wait for it, whoever wants b must. */
T(a_refused_list_lets_others_pass_at_its_free_names)
{
    start(3);
    ask(1, "LOCK a,b wait=1m");
    chance(1);
    vote("0-2", "SET NO:1, ZADD 2");
    forget();
    ask(2, "LOCK a wait=1m");
    EXPECT("m0-2 SET a T2 10000", "m0-2 ZADD a *");
    ask(3, "LOCK b wait=1m");
    EXPECT_NOTHING();
}

T(a_list_is_not_asked_again_where_the_votes_were_split)
{
    start(3);
    ask(1, "LOCK a,b");
    vote("0", "SET YES, ZADD 2");
    vote("1-2", "SET NO, ZADD 2");
    EXPECT_LAST("s1 #1 -BUSY a,b split=1");
}

/* Another daemon waits for b: when the list is given back, that daemon is woken. */
T(the_release_of_a_list_wakes_who_waits_for_its_names)
{
    start(3);
    grant(1, "LOCK a,b");
    hears("0-1", "told b");
    EXPECT_NOTHING();
    ask(1, "UNLOCK a,b");
    EXPECT("m0-2 RELEASE a,b T1");
    work();
    EXPECT("m0-2 PASS b");
    hears("0", "told c"); /* nothing of it is here */
    EXPECT("m0 PASS c");
}

/* Its keys kept other daemons from the names, and these may sleep. */
T(the_undo_of_a_list_wakes_who_waits_for_its_names)
{
    start(3);
    uint64_t request = ask(1, "LOCK a,b wait=1m");
    vote("0-1", "SET YES, ZADD 1"); /* the fence is to be raised */
    forget();
    cancel(1, request);
    EXPECT("s1 #1 -CANCELLED a,b", "m0-2 RELEASE a,b T1", "s1 #2 +OK");
    work();
    EXPECT("m0-2 PASS a", "m0-2 PASS b");
    ask(1, "LOCK a,b");
    vote("2", "SET YES, ZADD 2, RELEASE YES, PASS OK, PASS OK, SET NO, ZADD 2");
    forget();
    vote("0", "ZSCORE 5, RELEASE YES, PASS OK, PASS OK, SET NO, ZADD 2");
    EXPECT("m0-2 RELEASE a,b T2", "s1 #3 -BUSY a,b"); /* granted by fewer: nobody was kept from them */
    work();
    EXPECT_NOTHING();
}

T(a_list_is_renewed_lost_and_resumed_as_one)
{
    start(3);
    grant(1, "LOCK b,a");
    at(4000);
    EXPECT("m0-2 EXTEND a,b T1 10000");
    vote("0-2", "EXTEND 10000");
    forget();
    ask(2, "RESUME a,b token=T1");
    EXPECT("m0-2 MOVE a,b T1 T2");
    vote("0-1", "MOVE YES");
    EXPECT("m0-2 EXTEND a,b T2 10000", "m0-2 ZADD a,b *");
    vote("0-1", "EXTEND 10000, ZADD 2");
    EXPECT("s1 !LOST b,a token=T1 reason=moved", "s2 #2 +LOCKED a,b token=T2 *");
    vote("2", "MOVE YES, EXTEND 10000, ZADD 2");
    at(7000);
    forget();
    vote("0-1", "EXTEND NO");
    EXPECT("s2 !LOST a,b token=T2 reason=gone");
}

T(a_script_that_is_missing_is_asked_for_again)
{
    start(3);
    ask(1, "LOCK a,b");
    forget();
    vote("0-1", "SET NOT_RUN, ZADD 2");
    EXPECT("m0 SET a,b T1 10000", "m1 SET a,b T1 10000");
    vote("0-1", "SET YES");
    EXPECT("m0-1 ZADD a,b 1000008"); /* another client may have had a name since the first proposal */
    vote("0-1", "ZADD 2");
    EXPECT("s1 #1 +LOCKED a,b token=T1 fence=1000008 *");
}

T(lists_have_limits)
{
    char line[64];
    config.max_locks = 64;
    start(3);
    for (unsigned i = 0; i < 16; i++) {
        snprintf(line, sizeof line, "LOCK a%u,b%u", i, i);
        grant(1 + i / 8, line);
    }
    ask(9, "LOCK c,d");
    EXPECT("s9 #17 -LIMIT c,d limit=max_locks");
    ask(9, "LOCK a1,a2");
    EXPECT("s9 #18 -LIMIT a1,a2 limit=max_locks");
    grant(9, "LOCK c");
}

/* ---- names with slots ---- */

T(a_name_with_slots_is_in_no_list)
{
    start(3);
    grant(1, "LOCK b slots=3");
    ask(2, "LOCK b,a");
    ask(2, "LOCK b,c wait=1m");
    ask(2, "RESUME a,b token=X");
    EXPECT("s2 #2 -MODE a,b slots=3 : one of these names is in use with slots=", "s2 #3 -MODE b,c slots=3 *",
           "s2 #4 -MODE a,b slots=3 *");
    ask(2, "UNLOCK a,b token=X");
    EXPECT("m0-2 RELEASE a,b X LETTER");
    vote("0-2", "RELEASE NO");
    EXPECT("s2 #5 -NOTHELD a,b");
    ask(1, "UNLOCK b");
    vote("0-2", "RELEASE YES");
    forget();
    ask(2, "LOCK a,b");
    EXPECT("m0-2 SET a,b T2 10000", "m0-2 ZADD a,b *");
}

T(a_name_in_a_list_has_no_slots)
{
    start(3);
    grant(1, "LOCK c slots=2");
    grant(1, "LOCK a,b");
    ask(2, "LOCK a slots=3");
    ask(2, "RESUME b token=T1");
    EXPECT("s2 #3 -MODE a : it is in use without slots=*", "s2 #4 -MODE b : it is in use without slots=*");
    ask(1, "UNLOCK b,a");
    vote("0-2", "RELEASE YES");
    forget();
    ask(2, "LOCK a slots=3");
    EXPECT("m0-2 SET a,0 T3 10000", "m0-2 ZADD a,0 *");
}

/* The own name of slot 5 of "3" is the text of the list of "3" and "5". */
static void refused(const char *line, uint16_t slots, bool shared)
{
    struct refusal refusal;
    struct actions actions;
    struct coordinator_event event = {.kind = EVENT_REQUEST, .now_ms = now, .session = 1, .request = 1};
    ck_assert_int_eq(line_parse(line, strlen(line), &event.what, &refusal), LINE_REQUEST);
    event.what.slots = slots;
    event.what.shared = shared;
    coordinator_step(core, &event, &actions);
    ck_assert_uint_eq(actions.count, 1);
    ck_assert_int_eq(actions.list[0].kind, ACTION_REPLY);
    ck_assert_int_eq(actions.list[0].u.reply.code, REPLY_BADARG);
    coordinator_check(core);
}

/* The parser of lines refuses these, too, but the coordinator must not rely on that. */
T(lists_slots_and_readers_do_not_mix)
{
    start(3);
    refused("LOCK a,b", 3, false);
    refused("LOCK a,b", 0, true);
    refused("LOCK a", 3, true);
    EXPECT_REST();
}

T(a_slot_is_not_the_list_of_the_same_text)
{
    start(3);
    for (unsigned i = 0; i < 6; i++)
        grant(1, "LOCK 3 slots=8");
    ask(2, "CHECK 3 token=T6");
    EXPECT("s2 #7 +HELD 3 * slot=5");
    ask(2, "CHECK 3,5 token=T6");
    EXPECT("m0-2 CHECK 3,5 T6");
}
