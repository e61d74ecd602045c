/* Traces: readers whose TTL differs from that of the lease that they join, and RESUME late or while others ask. */
#include "tests/unit/trace_steps.h"

/* Each master says yes to all its commands. */
static void masters_serve(void)
{
    char master[16], words[32];
    for (unsigned i = 0; i < config.masters; i++) {
        while (unanswered(i) != 0) {
            const struct command *command = &links[i].pending[links[i].first];
            snprintf(master, sizeof master, "%u", i);
            if (command->verb == COMMAND_EXTEND)
                snprintf(words, sizeof words, "EXTEND %u", (unsigned)command->number);
            else
                snprintf(words, sizeof words, "%s YES", unanswered_verb(i));
            vote(master, words);
        }
    }
}

/* Sessions 1 and 2 joined the common lease, whose key is T2, by T3 and T4. It is renewed at 4000, 7000, ... */
static void two_joined(const char *ttl, const char *other_ttl)
{
    char line[80];
    config.join_from = 1;
    start(3);
    ask(9, "LOCK job mode=shared");
    masters_serve();
    snprintf(line, sizeof line, "LOCK job mode=shared ttl=%s", ttl);
    ask(1, line);
    masters_serve();
    EXPECT_LAST("s1 #2 +LOCKED job token=T3 *");
    snprintf(line, sizeof line, "LOCK job mode=shared ttl=%s", other_ttl);
    ask(2, line);
    masters_serve();
    ask(9, "UNLOCK job");
    masters_serve();
    EXPECT_LAST("s9 #4 +UNLOCKED *");
}

static void masters_serve_until(int64_t ms)
{
    masters_serve();
    while (now < ms) {
        int64_t next_ms = coordinator_deadline(core) > now ? coordinator_deadline(core) : now + 1;
        at(next_ms < ms ? next_ms : ms);
        masters_serve();
    }
}

/* No action since the last EXPECT begins so. */
static void expect_none(const char *begin)
{
    for (unsigned i = 0; i < trace_actions; i++)
        if (strncmp(trace_action[i], begin, strlen(begin)) == 0)
            trace_fail("unexpected: %.200s", trace_action[i]);
    forget();
}

/* The common lease must be renewed in time for each reader that was let in. */
/* The second reader comes along with the first, in a step of its own: a third one that comes before that step is
 * refused by nobody. */
T(a_reader_that_comes_while_another_comes_along)
{
    start(3);
    ask(1, "LOCK job mode=shared");
    ask(2, "LOCK job mode=shared");
    vote("0-1", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T1 10000", "m0-2 ZADD *", "s1 #1 +LOCKED job *");
    ask(3, "LOCK job mode=shared");
    EXPECT_NOTHING();
    work();
    EXPECT("m0-2 SHARE job T2 10000", "m0-2 ZADD *");
    vote("2", "SHARE YES, ZADD YES");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job *");
    work();
    EXPECT("m0-2 SHARE job T3 10000", "m0-2 ZADD *");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("s3 #3 +LOCKED job *");
}

T(a_longer_ttl_causes_no_warnings)
{
    two_joined("10s", "19s");
    masters_serve_until(30000);
    expect_none("s2 !EXPIRING");
}

/* The first reader asked for 20 s, so that it outlives a pause of 20 s. Shortly before each look of that reader comes
 * another one, whose lease lasts a little longer, but which is renewed sooner. */
T(no_reader_goes_over_to_much_shorter_leases)
{
    static const unsigned at_ms[] = {6200, 9450, 11450, 12700}, ttl_ms[] = {15000, 11800, 9900, 8700};
    char line[80];
    two_joined("20s", "20s");
    ask(2, "UNLOCK job");
    for (unsigned i = 0; i < 4; i++) {
        masters_serve_until(at_ms[i]);
        snprintf(line, sizeof line, "LOCK job mode=shared ttl=%u", ttl_ms[i]);
        ask(3 + i, line);
    }
    masters_serve_until(40000);
    expect_none("s1 !EXPIRING");
}

T(extend_without_a_quorum_changes_nothing)
{
    two_joined("10s", "10s");
    ask(2, "EXTEND job token=T4 ttl=60s");
    vote("0-2", "EXTEND OOM");
    EXPECT("m0-2 EXTEND job T2 60000", "s2 #5 -NOQUORUM job *");
    masters_serve_until(9000);
    expect_none("s2 !EXPIRING");
}

T(resume_for_a_longer_ttl)
{
    two_joined("10s", "10s");
    ask(5, "RESUME job token=T3 ttl=60s");
    masters_serve_until(9000);
    expect_none("s5 !EXPIRING");
}

/* Nobody renewed the lease after both connections broke. */
static void resume_at(int64_t ms)
{
    two_joined("10s", "10s");
    drop(1);
    drop(2);
    masters_serve_until(ms);
    forget();
    ask(5, "RESUME job token=T3");
    EXPECT("s5 #5 +LOCKED job token=T5 *");
}

T(resume_in_the_middle)
{
    resume_at(5000);
    masters_serve_until(20000);
    expect_none("s5 !EXPIRING");
}

/* Less than a third of the TTL is left, and all masters answer. */
T(resume_shortly_before_the_end)
{
    resume_at(8500);
    masters_serve_until(20000);
    expect_none("s5 !LOST");
}

T(resume_begins_the_time_that_it_is_held)
{
    struct lock_row row;
    struct cursor cursor = {0};
    resume_at(5000);
    while (coordinator_lock_row(core, now, &cursor, &row) && row.session != 5)
        ;
    ck_assert_uint_eq(row.session, 5);
    ck_assert_int_eq(row.held_ms, 0);
}

/* The reader has the name from now on, so the attempt must be undone, whatever the masters answer. */
T(resume_ends_an_attempt_of_a_writer)
{
    two_joined("10s", "10s");
    drop(1);
    drop(2);
    work();
    ask(5, "LOCK job wait=1m");
    ask(6, "RESUME job token=T3");
    EXPECT_LAST("s6 #6 +LOCKED job *");
    masters_serve();
    expect_none("s5 #5 +LOCKED");
}

/* A step has random bytes for one token. The RESUME gives an older lease back, and the next reader is about to ask. */
T(resume_draws_one_token)
{
    two_joined("10s", "10s");
    at(1010);
    ask(3, "LOCK job mode=shared");
    masters_serve();
    ask(2, "UNLOCK job");
    drop(1);
    drop(3);
    work();
    ask(5, "LOCK job mode=shared hold=lease wait=1m");
    ask(7, "LOCK job mode=shared hold=lease wait=1m");
    masters_serve();
    ask(6, "RESUME job token=T3");
    EXPECT_LAST("s6 #9 +LOCKED job *");
    masters_serve_until(1100);
    forget();
}

/* Otherwise its next renewal would come too late for the longest TTL. */
T(a_longer_ttl_is_asked_for_at_once)
{
    two_joined("10s", "10s");
    ask(5, "RESUME job token=T3 ttl=60s");
    work();
    EXPECT_LAST("m0-2 EXTEND job T2 60000");
}

/* By the token before, the client believes until 10897. */
T(a_resume_that_max_shortens_keeps_the_lease)
{
    two_joined("10s", "10s");
    drop(1);
    work();
    uint64_t request = ask(5, "RESUME job token=T3 ttl=2s max=2s");
    undelivered(5, request);
    masters_serve_until(3500);
    ask(2, "UNLOCK job");
    EXPECT_LAST("s2 #6 +UNLOCKED job confirmed=0/3 handed=1");
    masters_serve_until(12000);
    expect_none("m0-2 RELEASE");
}

/* All masters are ahead by 8 s, which counts as a stall of this daemon. The readers have not heard of it yet, and the
 * clocks may have jumped after all. */
T(a_stall_ends_readers_and_keeps_the_lease)
{
    two_joined("10s", "10s");
    masters_serve_until(4100);
    for (unsigned i = 0; i < config.masters; i++)
        markers[i].clock_ms += 8000;
    forget();
    masters_serve_until(5100);
    EXPECT("behind 7998 of 7998", "s1 !LOST job token=T3 reason=expired",
           "s2 !LOST job token=T4 reason=expired");
}

/* After a small stall, the daemon's clock is ahead of now by as much. A broken reader may believe in the lease until its
 * deadline by the clock that stood still, 10897, and the drift of its TTL, and no longer. */
T(after_a_stall_the_lease_is_given_back_all_the_same)
{
    two_joined("10s", "10s");
    masters_serve_until(2000);
    for (unsigned i = 0; i < config.masters; i++)
        markers[i].clock_ms += 200;
    masters_serve_until(4000);
    drop(2);
    masters_serve_until(10900);
    forget();
    ask(1, "UNLOCK job");
    EXPECT("s1 #5 +UNLOCKED job confirmed=0/3 handed=1");
    at(10998);
    EXPECT_NOTHING();
    at(10999);
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

/* Each reader comes so late that the masters are asked for it. */
T(readers_that_keep_coming_soon_share_one_lease)
{
    config.max_locks = 24;
    two_joined("10s", "10s");
    for (unsigned session = 10; session < 28; session++) {
        masters_serve_until(now + 1000);
        ask(session, "LOCK job mode=shared");
        masters_serve();
    }
    expect_none("s27 #22 -");
    masters_serve_until(now + 10000);
    forget();
    masters_serve_until(now + 3000);
    expect_none("m0-2 EXTEND job T5"); /* all went over to T2 */
    expect_none("m0-2 EXTEND job T7");
}

/* A lease whose readers all broke is not renewed, so no reader goes over to it. */
T(a_lease_without_sessions_is_no_home)
{
    two_joined("10s", "10s");
    drop(1);
    drop(2);
    for (unsigned session = 3; session < 5; session++) {
        masters_serve_until(now + 1000);
        ask(session, "LOCK job mode=shared");
        masters_serve();
    }
    forget();
    masters_serve_until(7000);
    EXPECT("m0-2 EXTEND job T5 10000", "s4 !RENEWED *", "m0-2 RELEASE job T7 WAKE", "s3 !RENEWED *");
}

/* The lease T5 with a longer TTL is granted after T2 was renewed: until that is renewed again, a writer might have had
 * the name in between. */
T(readers_go_over_to_a_longer_lease_after_a_renewal)
{
    two_joined("10s", "10s");
    masters_serve_until(4500);
    ask(3, "LOCK job mode=shared ttl=20s");
    masters_serve_until(6000);
    expect_none("m0-2 RELEASE job T2");
    masters_serve_until(8000);
    EXPECT("m0-2 EXTEND job T2 10000", "s1 !RENEWED *", "s2 !RENEWED *", "m0-2 RELEASE job T2 WAKE");
}

/* The last EXTEND of T2 since the last EXPECT. */
static const char *last_extend(void)
{
    const char *last = "";
    for (unsigned i = 0; i < trace_actions; i++)
        if (strncmp(trace_action[i], "m0-2 EXTEND job T2 ", 19) == 0)
            last = trace_action[i] + 19;
    return last;
}

T(the_lease_becomes_shorter_with_its_readers)
{
    two_joined("40s", "10s");
    masters_serve_until(60000);
    ck_assert_str_eq(last_extend(), "40000");
    forget();
    ask(1, "UNLOCK job");
    masters_serve_until(125000);
    ck_assert_str_eq(last_extend(), "10000");
    expect_none("s2 !EXPIRING");
}

T(a_reader_with_a_long_ttl_keeps_it)
{
    two_joined("40s", "1s");
    for (unsigned i = 1; i <= 20; i++) {
        masters_serve_until(16000 * i);
        ck_assert_str_eq(last_extend(), "40000");
        expect_none("s1 !EXPIRING");
    }
}

/* T2 was asked about before T5 was granted, and the answers came together: so nobody knows that the masters had both
 * keys at one moment. */
T(an_answer_shows_the_lease_as_it_was_when_it_was_asked)
{
    two_joined("10s", "10s");
    masters_serve_until(3999);
    at(4000);
    EXPECT_LAST("m0-2 EXTEND job T2 10000");
    at(4005);
    ask(3, "LOCK job mode=shared ttl=20s");
    at(4010);
    masters_serve();
    EXPECT("m0-2 SHARE job T5 20000", "m0-2 ZADD *", "s3 #5 +LOCKED *");
    masters_serve_until(6900);
    expect_none("m0-2 RELEASE job T2");
    masters_serve_until(9000);
    EXPECT_LAST("m0-2 RELEASE job T2 WAKE");
}

/* T2 was not renewed since T5 was granted, so the masters may have forgotten it before. */
T(no_reader_goes_over_to_a_lease_before_its_renewal)
{
    two_joined("10s", "10s");
    masters_serve_until(2000);
    ask(3, "LOCK job mode=shared ttl=5s");
    masters_serve_until(2800);
    forget();
    at(3650); /* the reader has looked, but the masters have not answered */
    EXPECT("m0-2 EXTEND job T2 10000");
    masters_serve_until(4200);
    EXPECT("m0-2 EXTEND job T5 5000", "m0-2 EXTEND job T2 10000", "s3 !RENEWED *",
           "m0-2 RELEASE job T5 WAKE");
}

/* T2 was renewed since T5 was granted, but the reader's EXTEND was answered after that. */
T(no_reader_goes_over_to_a_lease_that_ends_sooner)
{
    two_joined("10s", "10s");
    masters_serve_until(2000);
    ask(3, "LOCK job mode=shared");
    masters_serve_until(4100);
    ask(3, "EXTEND job token=T6");
    masters_serve_until(6999);
    expect_none("m0-2 RELEASE job T5");
    forget();
    masters_serve_until(9000);
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 EXTEND job T5 10000", "s1 !RENEWED *", "s2 !RENEWED *",
           "s3 !RENEWED *", "m0-2 RELEASE job T5 WAKE");
}

/* T2 is gone. */
T(readers_find_another_home)
{
    two_joined("10s", "10s");
    for (unsigned session = 3; session < 5; session++) {
        masters_serve_until(now + 500);
        ask(session, "LOCK job mode=shared");
        masters_serve();
    }
    at(4000);
    vote("0-2", "EXTEND NO");
    forget();
    masters_serve_until(6000);
    EXPECT("s2 !LOST *", "s1 !LOST *", "m0-2 EXTEND job T5 10000", "m0-2 EXTEND job T7 10000",
           "s3 !RENEWED *", "m0-2 RELEASE job T5 WAKE");
}

/* The latest lease is given back, and then the home T2 is lost. */
T(a_lease_that_is_left_becomes_the_home)
{
    two_joined("10s", "10s");
    for (unsigned session = 3; session < 5; session++) {
        masters_serve_until(now + 500);
        ask(session, "LOCK job mode=shared");
        masters_serve();
    }
    ask(4, "UNLOCK job");
    masters_serve();
    EXPECT_LAST("s4 #7 +UNLOCKED *");
    at(4000);
    vote("0-2", "EXTEND NO");
    masters_serve_until(6000);
    ask(5, "LOCK job mode=shared");
    forget();
    masters_serve_until(10000);
    EXPECT("s5 #8 +LOCKED *", "m0-2 EXTEND job T5 10000", "s3 !RENEWED *", "s5 !RENEWED *",
           "m0-2 RELEASE job T9 WAKE");
}

/* The EXTENDs of two readers are under way at once, and the longer one is answered first. */
T(a_shorter_extend_shortens_nothing)
{
    two_joined("10s", "10s");
    ask(1, "EXTEND job token=T3 ttl=60s");
    ask(2, "EXTEND job token=T4");
    EXPECT_LAST("m0-2 EXTEND job T2 10000");
    masters_serve();
    forget();
    masters_serve_until(50000);
    expect_none("m0-2 EXTEND job T2 10000");
}

T(a_lost_lease_answers_before_the_readers_looked)
{
    two_joined("10s", "10s");
    at(4000);
    vote("0-2", "EXTEND NO");
    forget();
    ask(1, "LOCK job mode=shared token=T3");
    EXPECT("s1 #5 -NOTHELD job *");
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 -NOTHELD job : it was lost before this release*");
    work();
    EXPECT("s1 !LOST job token=T3 reason=gone");
}
