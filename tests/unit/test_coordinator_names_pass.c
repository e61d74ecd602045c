/* Traces: lists that wait, and who passes them. */
#include "tests/unit/trace.h"
#include "tests/unit/trace_steps.h"

enum { PATIENCE = 16, FIRM_MS = 1000 };

/* b is held here, and a list waits for it: a is free, for those who come later, too. */
T(a_list_that_waits_keeps_only_names_in_use)
{
    start(3);
    grant(1, "LOCK b");
    ask(2, "LOCK a,b wait=1m");
    EXPECT_NOTHING();
    ask(3, "LOCK a");
    EXPECT("m0-2 SET a T2 10000", "m0-2 ZADD a *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT_LAST("s3 #3 +LOCKED a *");
    ask(4, "LOCK a,c");
    EXPECT("s4 #4 -BUSY a,c");
    ask(4, "LOCK b,c");
    EXPECT("s4 #5 -BUSY b,c");
    ask(4, "LOCK c wait=1m"); /* of no list that waits */
    EXPECT("m0-2 SET c T3 10000", "m0-2 ZADD c *");
}

/* Another daemon has b, and on one master also a, for an attempt that failed. */
T(a_name_that_few_masters_refuse_is_not_in_use)
{
    start(3);
    ask(2, "LOCK a,b wait=1m");
    chance(100);
    vote("2", "SET NO:0, ZADD 2");
    vote("0-1", "SET NO:1, ZADD 2");
    forget();
    ask(1, "LOCK a wait=1m");
    EXPECT("m0-2 SET a T2 10000", "m0-2 ZADD a *");
}

T(a_list_passes_one_that_waits_for_another_name)
{
    start(3);
    grant(1, "LOCK c");
    ask(2, "LOCK a,b,c wait=1h");
    ask(3, "LOCK a,b wait=1m");
    EXPECT("m0-2 SET a,b T2 10000", "m0-2 ZADD a,b *");
    ask(4, "LOCK a,c wait=1m"); /* behind both */
    EXPECT_NOTHING();
}

/* The list waits for its first client, so that client may have what it asks for. */
T(the_holder_of_a_name_may_ask_for_another)
{
    start(3);
    grant(1, "LOCK b");
    ask(2, "LOCK a,b wait=1m");
    ask(3, "LOCK a,c wait=1m");
    vote("0-2", "SET NO:0, ZADD 2"); /* another daemon has a */
    forget();
    ask(1, "LOCK a wait=1m");
    EXPECT_NOTHING(); /* until the list of a and c asks again, a is its */
    cancel(3, 3);
    EXPECT("s3 #3 -CANCELLED *", "s3 #*", "m0-2 SET a T3 10000", "m0-2 ZADD a *");
}

T(a_session_that_the_list_waits_for_passes_it)
{
    start(3);
    ask(2, "LOCK a,b wait=1m");
    chance(100);
    vote("0-2", "SET NO:0, ZADD 2"); /* another daemon has a */
    forget();
    ask(1, "LOCK a wait=1m");
    EXPECT_NOTHING();
    ask(1, "LOCK b");
    EXPECT("m0-2 SET b T2 10000", "m0-2 ZADD b *");
    vote("0-2", "RELEASE NO, SET YES, ZADD 2");
    EXPECT("s1 #3 +LOCKED b *", "m0-2 SET a T3 10000", "m0-2 ZADD a *");
}

/* Another daemon has b, and who wants b here waits behind the list. Then a comes to be held here: the list is not asked
 * again until that is over, and b is the other's to ask for. */
T(a_name_that_the_list_keeps_no_more_is_asked_for)
{
    start(3);
    ask(1, "LOCK a,b wait=1m");
    chance(100);
    vote("0-2", "SET NO:1, ZADD 2");
    forget();
    ask(2, "LOCK b wait=1m");
    EXPECT_NOTHING();
    ask(3, "LOCK a");
    vote("0-2", "RELEASE NO, SET YES, ZADD 2");
    EXPECT_LAST("s3 #3 +LOCKED a *");
    at(1120);
    EXPECT("m0-2 SET b T3 10000", "m0-2 ZADD b *");
}

static void share(uint64_t session, const char *line)
{
    ask(session, line);
    vote("0-2", "SHARE YES, ZADD YES");
    forget();
}

/* The first reader of b has it until it gives it back, and once more for a while: the list waits for that reader, who
 * may read a. */
T(a_reader_that_has_a_name_twice_may_ask_for_another)
{
    start(3);
    share(1, "LOCK b mode=shared");
    share(1, "LOCK b mode=shared hold=lease");
    share(3, "LOCK a mode=shared");
    ask(2, "LOCK a,b wait=1m");
    EXPECT_NOTHING();
    ask(4, "LOCK a mode=shared wait=1m");
    EXPECT_NOTHING();
    cancel(4, 5);
    forget();
    ask(1, "LOCK a mode=shared wait=1m");
    EXPECT("m0-2 SHARE a T4 10000", "m0-2 ZADD a *");
}

static void lock_and_unlock(uint64_t session, const char *name)
{
    char line[32];
    snprintf(line, sizeof(line), "LOCK %s wait=1m", name);
    grant(session, line);
    snprintf(line, sizeof(line), "UNLOCK %s", name);
    ask(session, line);
    vote("0-2", "RELEASE YES");
    work();
    forget();
}

static void pass(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        lock_and_unlock(3, "a");
}

T(a_list_that_many_passed_stands_firm)
{
    start(3);
    grant(1, "LOCK b");
    ask(2, "LOCK a,b,c wait=1m");
    pass(PATIENCE);
    ask(4, "LOCK a wait=1m");
    EXPECT_NOTHING();
    ask(5, "LOCK a,d"); /* asked for by somebody who came first */
    EXPECT("s5 * -BUSY a,d");
    ask(5, "LOCK c,d"); /* by nobody but the list */
    EXPECT("m0-2 SET c,d * 10000", "m0-2 ZADD c,d *");
    vote("0-2", "SET YES, ZADD 2");
    ask(5, "UNLOCK c,d");
    vote("0-2", "RELEASE YES");
    work();
    forget();
    ask(1, "LOCK c wait=1m"); /* the list waits for this client */
    EXPECT("m0-2 SET c * 10000", "m0-2 ZADD c *");
    vote("0-2", "SET YES, ZADD 2");
    forget();
    ask(1, "UNLOCK b");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE b *", "s1 * +UNLOCKED b *");
    ask(1, "UNLOCK c");
    vote("0-2", "RELEASE YES");
    /* before the request that came later */
    EXPECT("m0-2 RELEASE c *", "m0-2 SET a,b,c * 10000", "m0-2 ZADD a,b,c *", "s1 * +UNLOCKED c *");
}

/* In vain: the others go on after a second, and twice as many as before. */
T(a_list_stands_firm_for_a_second)
{
    start(3);
    grant(1, "LOCK b ttl=1m");
    ask(2, "LOCK a,b wait=1m");
    for (unsigned patience = PATIENCE, done = 0; patience <= 4 * PATIENCE; patience *= 2, done = 1) {
        pass(patience - done); /* the one below is the first of the next ones */
        ask(4, "LOCK a wait=1m");
        EXPECT_NOTHING();
        at(now + FIRM_MS - 1);
        EXPECT_NOTHING();
        at(now + 1);
        EXPECT("m0-2 SET a * 10000", "m0-2 ZADD a *");
        vote("0-2", "SET YES, ZADD 2");
        ask(4, "UNLOCK a");
        vote("0-2", "RELEASE YES");
        work();
        forget();
    }
}

/* Lists behind lists: whoever has a name that the first one waits for gets what the second one asks for, too. */
T(the_holder_of_a_list_passes_lists_behind_lists)
{
    start(3);
    grant(1, "LOCK a,b");
    ask(2, "LOCK b,c wait=1m");
    ask(3, "LOCK c,d wait=1m"); /* c is free, and so is d */
    EXPECT("m0-2 SET c,d T2 10000", "m0-2 ZADD c,d *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s3 #3 +LOCKED c,d *");
    ask(4, "LOCK d,e wait=1m");
    ask(3, "LOCK e wait=1m"); /* the fourth waits for this one */
    EXPECT("m0-2 SET e T3 10000", "m0-2 ZADD e *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s3 #5 +LOCKED e *");
    ask(1, "LOCK f,g wait=1m");
    EXPECT("m0-2 SET f,g T4 10000", "m0-2 ZADD f,g *");
}

/* So does a list that its holder asks for, even where the first one stands firm. */
T(a_list_of_a_holder_passes_one_that_stands_firm)
{
    start(3);
    grant(1, "LOCK b");
    ask(2, "LOCK a,b,c wait=1m");
    pass(PATIENCE);
    ask(5, "LOCK c,e wait=1m");
    EXPECT_NOTHING();
    ask(1, "LOCK a,f wait=1m");
    EXPECT("m0-2 SET a,f * 10000", "m0-2 ZADD a,f *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s1 * +LOCKED a,f *");
    ask(1, "UNLOCK a,f");
    vote("0-2", "RELEASE YES");
    work();
    forget();
    at(now + FIRM_MS);
    EXPECT("m0-2 SET c,e * 10000", "m0-2 ZADD c,e *");
}

/* A session of two threads, one of which waits for a list: that refuses the other nothing. */
T(a_session_passes_its_own_list)
{
    start(3);
    grant(1, "LOCK mine");
    ask(1, "LOCK mine,a,b,c wait=1h");
    EXPECT_NOTHING();
    ask(1, "LOCK a");
    EXPECT("m0-2 SET a T2 10000", "m0-2 ZADD a *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s1 #3 +LOCKED a *");
    ask(2, "LOCK b,c");
    EXPECT("m0-2 SET b,c T3 10000", "m0-2 ZADD b,c *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s2 #4 +LOCKED b,c *");
}

/* Two lists that keep nothing from each other but one name, each for the other's holder: neither waits for the other. */
T(two_holders_that_ask_for_more_in_lists)
{
    start(3);
    grant(1, "LOCK a");
    grant(2, "LOCK b");
    ask(3, "LOCK a,x wait=1m");
    ask(4, "LOCK b,x wait=1m");
    ask(1, "LOCK x,y wait=1m"); /* only the third list waits for this one */
    EXPECT("m0-2 SET x,y * 10000", "m0-2 ZADD x,y *");
    vote("0-2", "SET YES, ZADD 2");
    EXPECT("s1 * +LOCKED x,y *");
    ask(1, "UNLOCK x,y");
    vote("0-2", "RELEASE YES");
    forget();
    work();
    ask(1, "UNLOCK a");
    vote("0-2", "RELEASE YES");
    work();
    EXPECT("m0-2 RELEASE a *", "m0-2 SET a,x * 10000", "m0-2 ZADD a,x *", "s1 * +UNLOCKED a *");
}

/* ---- many lists ---- */

static void have_room(void)
{
    config.max_locks = 4096; /* else fewer lists may be there */
    config.max_waiters = 256;
    start(3);
}

static void ask_for_lists(unsigned count, const char *names)
{
    char line[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof line, "LOCK %s,u%02u wait=1h", names, i);
        ask(100 + i / 8, line);
        EXPECT_NOTHING();
    }
}

static unsigned steps_due(void)
{
    unsigned steps = 0;
    for (; coordinator_deadline(core) <= now; steps++)
        work_once();
    return steps;
}

/* The one that came first is looked at first: what the others may ask for depends on what it keeps. */
T(each_list_that_waits_is_looked_at_once)
{
    have_room();
    grant(1, "LOCK n");
    ask_for_lists(60, "n,y");
    grant(3, "LOCK y");
    ck_assert_uint_le(steps_due(), 60);
    ask(3, "UNLOCK y");
    vote("0-2", "RELEASE YES");
    ck_assert_uint_le(steps_due(), 60);
    ask(4, "LOCK y wait=1m");
    EXPECT_LAST("m0-2 ZADD y *");
}

T(few_lists_may_have_one_name)
{
    have_room();
    grant(1, "LOCK n");
    uint64_t first = last_request + 1;
    ask_for_lists(64, "n,y");
    ask(2, "LOCK y,z wait=1h");
    EXPECT("s2 * -LIMIT y,z limit=max_locks");
    ask(2, "LOCK a,z");
    EXPECT("m0-2 SET a,z * 10000", "m0-2 ZADD a,z *");
    vote("0-2", "SET YES, ZADD 2");
    forget();
    ask(2, "LOCK y"); /* they let it pass */
    EXPECT("m0-2 SET y * 10000", "m0-2 ZADD y *");
    ask(3, "LOCK n,u00,y"); /* one of them */
    EXPECT("s3 * -BUSY n,u00,y");
    cancel(100, first);
    forget();
    ask(3, "LOCK n,y,z wait=1h");
    EXPECT_NOTHING();
}

static int64_t time_of_passing(unsigned times)
{
    int64_t from = now;
    for (unsigned i = 0; i < times; i++) {
        uint64_t request = ask(3, "LOCK y wait=1m");
        if (links[0].count == 0)
            at(now + FIRM_MS);
        vote("0-2", "SET YES, ZADD 2");
        ask(3, "UNLOCK y");
        vote("0-2", "RELEASE YES");
        work();
        ck_assert_uint_eq(last_request, request + 1);
        forget();
    }
    return now - from;
}

/* Each of them was passed once more than the next one, but none holds up y again a moment after another did. */
T(lists_do_not_stand_firm_one_after_the_other)
{
    char line[64];
    config.max_locks = 256;
    start(3);
    grant(1, "LOCK n ttl=1m");
    for (unsigned i = 0; i < 12; i++) {
        snprintf(line, sizeof line, "LOCK n,y,u%u wait=1h", i);
        ask(10 + i, line);
        time_of_passing(1);
    }
    ck_assert_int_le(time_of_passing(3 * PATIENCE), 2 * FIRM_MS);
}

/* The first list waits for n, and keeps y for a second in vain; the other one can have y in that second. */
T(lists_that_stand_firm_pass_each_other)
{
    start(3);
    grant(1, "LOCK n");
    grant(2, "LOCK m");
    ask(4, "LOCK n,y wait=1h");
    ask(5, "LOCK m,y wait=1h");
    time_of_passing(PATIENCE);
    ask(6, "LOCK y wait=1m");
    EXPECT_NOTHING();
    ask(2, "UNLOCK m");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE m *", "m0-2 SET m,y * 10000", "m0-2 ZADD m,y *", "s2 * +UNLOCKED m *");
}

/* The list that waits was there before the one that its client has. */
T(the_holder_of_a_later_list_passes_one_that_stands_firm)
{
    start(3);
    grant(1, "LOCK n");
    ask(2, "LOCK b,n,y wait=1h");
    grant(4, "LOCK b,f");
    time_of_passing(PATIENCE - 1);
    ask(4, "LOCK y wait=1m");
    EXPECT("m0-2 SET y * 10000", "m0-2 ZADD y *");
}
