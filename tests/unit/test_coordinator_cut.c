/* Traces: keys that live longer than any lock may, since a master's clock was set back. max_ttl is 60 s. */
#include "tests/unit/trace.h"

/* Session 9 waits for "job", whose key another daemon left behind. */
static void waits_for(const char *line, const char *answer)
{
    start(3);
    hears("0-2", "listens");
    forget();
    ask(9, line);
    vote("0-2", "SET NO, ZADD NO");
    work();
    forget();
    chance(0);
    vote("0-2", answer);
}

T(who_waits_for_a_key_that_lives_too_long_cuts_it)
{
    start(3);
    hears("0-2", "listens");
    forget();
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD NO");
    work();
    forget();
    chance(0);
    vote("0-2", "RELEASE NO");
    vote("0", "ENQUEUE HEARD:7200000");
    EXPECT("m0 CUT job 60000");
    vote("1", "ENQUEUE HEARD:99999999999"); /* beyond what the head can sleep for */
    EXPECT("m1 CUT job 60000");
    vote("0-1", "CUT 1");
    EXPECT_NOTHING();
}

T(a_key_of_the_usual_life_is_left_alone)
{
    waits_for("LOCK job wait=1m", "RELEASE NO, ENQUEUE HEARD:60000");
    EXPECT_NOTHING();
}

/* The answer to one's own LOOK names the slot that ends last, for one that is dead may stand beside others in use. */
T(slots_too)
{
    start(3);
    hears("0-2", "listens");
    ask(1, "LOCK job slots=2 wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    work();
    forget();
    vote("0", "RELEASE NO, LOOK 11l60001");
    EXPECT("m0 CUT job 60000 2");
    vote("1-2", "RELEASE NO, LOOK 11l60000");
    EXPECT_NOTHING();
}

/* Nobody tells such a head how long the key lives. It asks every 200 ms. */
static void polls_for_ten_seconds(const char *set, const char *released)
{
    chance(180);
    vote("0-2", "SET NO, ZADD NO");
    work();
    vote("0-2", released);
    for (unsigned i = 0; i < 49; i++) {
        at(now + 200);
        vote("0-2", "SET NO");
        vote("0-2", released);
    }
    forget();
    at(now + 200);
    EXPECT(set);
    vote("0-2", "SET NO");
}

T(a_head_that_none_can_wake_cuts_every_ten_seconds)
{
    start(3);
    ask(9, "LOCK job wait=1m");
    polls_for_ten_seconds("m0-2 SET job *", "RELEASE NO, ENQUEUE UNHEARD:7200000");
    EXPECT("m0-2 RELEASE job *", "m0-2 ENQUEUE job *", "m0-2 CUT job 60000");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD:7200000, CUT 1");
    at(now + 200);
    EXPECT("m0-2 SET job *");
    vote("0-2", "SET NO");
    EXPECT("m0-2 RELEASE job *", "m0-2 ENQUEUE job *");
}

T(so_does_a_list)
{
    start(3);
    hears("0-2", "listens");
    ask(9, "LOCK a,b wait=1m");
    polls_for_ten_seconds("m0-2 SET a,b *", "RELEASE NO");
    EXPECT("m0-2 RELEASE a,b *", "m0-2 CUT a,b 60000");
}

/* Each master has a slot to give, but no slot is free on two of them: none tells how long its keys live. */
T(so_does_a_head_that_finds_no_slot_free_on_a_quorum)
{
    start(3);
    hears("0-2", "listens");
    chance(180);
    ask(9, "LOCK job slots=3 wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    work();
    vote("0", "RELEASE NO, LOOK 110");
    vote("1", "RELEASE NO, LOOK 011");
    vote("2", "RELEASE NO, LOOK 101");
    for (unsigned i = 0; i < 49; i++) {
        at(now + 200);
        vote("0", "LOOK 110");
        vote("1", "LOOK 011");
        vote("2", "LOOK 101");
    }
    forget();
    at(now + 200);
    EXPECT("m0-2 LOOK job 3 JOIN");
    vote("0", "LOOK 110");
    vote("1", "LOOK 011");
    vote("2", "LOOK 101");
    EXPECT("m0-2 CUT job 60000 3");
}

/* m0 shows a fence that no clock explains. So m2 is needed, and its key wakes and tells nobody. */
T(so_does_a_head_that_one_key_keeps_from_a_quorum)
{
    start(3);
    chance(180);
    ask(9, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    work();
    for (unsigned i = 0; i < 50; i++) {
        vote("0-2", "RELEASE YES");
        if (unanswered(0) != 0)
            vote("0-2", "ENQUEUE UNHEARD:9000");
        forget();
        at(now + 200);
        vote("2", "SET NO");
        vote("0-1", "SET YES");
        vote("1", "ZADD YES");
        vote("0", "ZADD NO");
        vote("0", "ZSCORE 9007199254740000");
        work();
    }
    EXPECT_LAST("m0-2 CUT job 60000");
}

/* Slot 0 is free on m0 and m1, but m0 shows a fence that no clock explains: each attempt ends without a quorum. */
T(so_does_a_head_that_one_slots_key_keeps_from_a_quorum)
{
    start(3);
    hears("0-2", "listens");
    chance(180);
    ask(9, "LOCK job slots=2 wait=1m");
    for (unsigned i = 0; i < 51; i++) {
        vote("2", "SET NO");
        vote("0-1", "SET YES");
        vote("1-2", "ZADD YES");
        vote("0", "ZADD NO");
        vote("0", "ZSCORE 9007199254740000");
        work();
        if (i == 50)
            break;
        vote("0-2", "RELEASE YES");
        forget();
        at(now + 200);
        vote("0-1", "LOOK 00");
        vote("2", "LOOK 11l9000");
        work();
    }
    EXPECT_LAST("m0-2 CUT job 60000 2");
}
