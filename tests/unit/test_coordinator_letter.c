/* Traces: letters of other daemons, which ended a lock of this one. */
#include "tests/unit/trace.h"

/* Session 1 has "job" by T1 since 1000, and session 2 waits for it here. */
static void held(unsigned masters, const char *line)
{
    start(masters);
    grant(1, line);
    ask(2, "LOCK job wait=1m");
    at(1100);
    EXPECT_NOTHING();
}

static void count_extends(unsigned *count)
{
    *count = 0;
    for (unsigned i = 0; i < config.masters; i++)
        *count += unanswered(i) != 0 && strcmp(unanswered_verb(i), "EXTEND") == 0;
}

/* ---- when the lease is asked ---- */

T(letters_of_many_masters_are_looked_into_at_once)
{
    held(3, "LOCK job");
    hears("0-1", "letter job");
    work();
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("0-1", "EXTEND NO");
    EXPECT("s1 !LOST job token=T1 reason=gone", "m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(letters_of_few_are_after_20_ms)
{
    held(5, "LOCK job");
    hears("0,3", "letter job");
    at(1119);
    EXPECT_NOTHING();
    at(1120);
    EXPECT("m0-4 EXTEND job T1 10000");
    hears("1", "letter job"); /* now a quorum cannot have the key any more */
    work();
    EXPECT_NOTHING(); /* the first question is not answered yet */
    vote("0,3", "EXTEND NO");
    vote("1-2", "EXTEND 10000");
    at(1139);
    EXPECT_NOTHING();
    at(1140);
    vote("4", "EXTEND 10000");
    EXPECT("s1 !RENEWED *");
    at(1160);
    EXPECT("m0-4 EXTEND job T1 10000");
    vote("0-1,3", "EXTEND NO");
    EXPECT("s1 !LOST job token=T1 reason=gone", "m0-4 SET job *", "m0-4 ZADD *");
}

T(a_letter_proves_nothing)
{
    held(3, "LOCK job");
    hears("0-2", "letter job");
    work();
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    at(3900); /* the next renewal is as far away as ever */
    EXPECT_NOTHING();
}

/* Whoever may PUBLISH can write letters without end. */
T(forged_letters_cost_a_renewal_a_second)
{
    unsigned asked = 0, sent;
    held(3, "LOCK job");
    for (; now < 6100; at(now + 20)) {
        hears("0-2", "letter job");
        work();
        count_extends(&sent);
        asked += sent != 0;
        if (sent != 0)
            vote("0-2", "EXTEND 10000");
        forget();
    }
    forget();
    ck_assert_uint_ge(asked, 5);
    ck_assert_uint_le(asked, 6);
}

T(and_no_more_than_a_quarter_of_all_renewals_at_once)
{
    char line[32];
    config.max_renewals = 8;
    start(3);
    for (unsigned i = 1; i <= 5; i++) {
        snprintf(line, sizeof line, "LOCK n%u", i);
        grant(i, line);
    }
    for (unsigned i = 1; i <= 5; i++) {
        snprintf(line, sizeof line, "letter n%u", i);
        hears("0-2", line);
    }
    work();
    EXPECT("m0-2 EXTEND n* 10000", "m0-2 EXTEND n* 10000");
    vote("0-2", "EXTEND 10000");
    EXPECT("s* !RENEWED *");
    at(1020);
    EXPECT("m0-2 EXTEND n* 10000");
    vote("0-2", "EXTEND 10000, EXTEND 10000");
    EXPECT("s* !RENEWED *", "s* !RENEWED *");
    at(1040);
    EXPECT("m0-2 EXTEND n* 10000", "m0-2 EXTEND n* 10000");
    vote("0-2", "EXTEND 10000, EXTEND 10000");
    EXPECT("s* !RENEWED *", "s* !RENEWED *");
}

/* Letters about all locks may come at once, and each look takes time from the renewals that are due. */
T(letters_that_must_wait_look_ever_more_rarely)
{
    unsigned looks = 0;
    config.max_renewals = 4;
    config.node_timeout_ms = 10000;
    start(3);
    grant(1, "LOCK a ttl=1m");
    grant(2, "LOCK b ttl=1m");
    hears("0-1", "letter a");
    work();
    EXPECT("m0-2 EXTEND a T1 60000"); /* no answer comes */
    hears("0-1", "letter b");
    for (int64_t end_ms = now + 5000; now < end_ms; looks++)
        at(coordinator_deadline(core) > now ? coordinator_deadline(core) : now + 1);
    ck_assert_uint_lt(looks, 60); /* the probes' time-outs among them */
    forget();
}

/* After a pause a letter may be due before the timer of the lease, which is over. */
T(a_lease_that_is_over_is_not_asked_behind_its_release)
{
    start(3);
    grant(1, "LOCK job");
    at(1100);
    hears("0-2", "letter job");
    work();
    vote("0-2", "EXTEND 10000");
    at(1200);
    hears("0-2", "letter job"); /* the lease is asked again at 2100 */
    work();
    forget();
    at_without_work(15000);
    ask(2, "UNLOCK job token=T1");
    work();
    EXPECT("m0-2 RELEASE job T1 *", "s1 !LOST job token=T1 reason=expired");
}

/* A master that did not run a command is not asked again, behind the release, for a lease that is over. */
T(a_renewal_that_was_not_run_is_not_repeated_behind_a_release)
{
    start(3);
    grant(1, "LOCK job");
    at(1100);
    hears("0-2", "letter job");
    work();
    forget();
    at_without_work(15000);
    ask(2, "UNLOCK job token=T1");
    vote("0", "EXTEND NOT_RUN");
    work();
    EXPECT("m0-2 RELEASE job T1 *", "s1 !LOST job token=T1 reason=expired");
}

T(nor_is_the_key_of_a_list_set_behind_its_release)
{
    start(3);
    ask(1, "LOCK a,b");
    vote("0-1", "SET YES, ZADD 2");
    forget();
    at_without_work(15000);
    ask(2, "UNLOCK a,b token=T1");
    vote("2", "SET NOT_RUN");
    work();
    EXPECT("m0-2 RELEASE a,b T1", "s1 !LOST a,b token=T1 reason=expired");
}

T(nothing_is_asked_where_nothing_is_held)
{
    start(3);
    hears("0-2", "letter job");
    ask(1, "LOCK job hold=lease");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    hears("0-2", "letter job"); /* its holder is bound to no session, and stands in nobody's way */
    at(2000);
    EXPECT_NOTHING();
}

/* A lock that was ended elsewhere again and again is not waited for a second each time. */
T(letters_about_the_lock_before_do_not_count)
{
    held(3, "LOCK job");
    hears("0-1", "letter job");
    work();
    vote("0-2", "EXTEND NO");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    at(1110);
    hears("0-1", "letter job");
    work();
    EXPECT("m0-2 EXTEND job T2 10000");
}

/* ---- letters that come before the grant ---- */

/* BREAK elsewhere may find the key before this daemon has all its answers. */
T(a_letter_that_comes_before_the_grant_is_looked_into)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=1m");
    vote("0-1", "SET YES");
    at(1005);
    hears("0-1", "letter job");
    at(1010);
    vote("0-1", "ZADD YES");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD *", "s1 #1 +LOCKED job token=T1 *");
    vote("2", "SET YES, ZADD YES");
    at(1030);
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("0-1", "EXTEND NO");
    EXPECT("s1 !LOST job token=T1 reason=gone", "m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(nor_is_such_a_lock_handed_on)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    hears("1", "letter job");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD *");
}

T(letters_from_before_the_attempt_mean_nothing)
{
    held(3, "LOCK job");
    hears("0-1", "letter job");
    work();
    at(1101);
    vote("0-2", "EXTEND NO");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    at(1200);
    EXPECT_NOTHING();
}

T(a_letter_before_the_grant_of_a_list)
{
    start(3);
    ask(1, "LOCK b,a");
    vote("0-1", "SET YES");
    hears("2", "letter a");
    vote("0-1", "ZADD 2");
    vote("2", "SET YES, ZADD 2");
    forget();
    at(1020);
    EXPECT("m0-2 EXTEND a,b T1 10000");
}

T(a_letter_before_the_grant_of_a_slot)
{
    start(3);
    ask(1, "LOCK job slots=1");
    vote("0-1", "SET YES");
    hears("2", "letter job,0");
    vote("0-1", "ZADD YES");
    vote("2", "SET YES, ZADD YES");
    forget();
    at(1020);
    EXPECT("m0-2 EXTEND job,0 T1 10000");
}

T(a_letter_before_the_grant_of_readers)
{
    config.join_from = 0;
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-1", "SHARE YES");
    hears("2", "letter job");
    vote("0-1", "ZADD YES");
    vote("2", "SHARE YES, ZADD YES");
    forget();
    ask(3, "LOCK job mode=shared"); /* joins nobody whose key may be gone */
    EXPECT("m0-2 SHARE job * 10000", "m0-2 ZADD *");
    cancel(3, 3);
    forget();
    at(1040);
    EXPECT("m0-2 EXTEND job * 10000");
}

T(a_letter_before_a_resume_is_granted)
{
    start(3);
    ask(1, "RESUME job token=X");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND 10000");
    hears("0-1", "letter job");
    work();
    vote("0-1", "ZADD YES");
    vote("2", "EXTEND 10000, ZADD YES");
    forget();
    at(1040);
    EXPECT("m0-2 EXTEND job T1 10000");
}

/* ---- what is told from memory meanwhile ---- */

static void handed_on(void)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    vote("0-2", "SET YES, ZADD YES");
    vote("0-2", "ZADD YES");
    forget();
    ask(2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED job confirmed=0/3 handed=1", "s3 #3 +LOCKED job token=T4 *");
}

T(it_is_not_handed_on_any_more)
{
    handed_on();
    hears("1", "letter job");
    work();
    EXPECT("m0-2 SETTLE job T2 T4 10000");
    ask(3, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2|T4", "m0-2 SET job *", "m0-2 ZADD *");
}

T(a_crowd_takes_no_more_readers)
{
    config.join_from = 1;
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(2, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(3, "LOCK job mode=shared");
    EXPECT_LAST("s3 #3 +LOCKED job token=T4 *");
    at(1001);
    hears("2", "letter job");
    ask(4, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T5 10000", "m0-2 ZADD *");
    ask(5, "RESUME job token=T4");
    EXPECT("s5 #5 -NOQUORUM job * retry=* : *");
    vote("0-2", "SHARE YES, ZADD YES");
    at(1021);
    forget();
    vote("0-2", "EXTEND 10000, EXTEND 10000"); /* T1 and T2 */
    at(1022);
    forget();
    ask(5, "RESUME job token=T4");
    EXPECT("s3 !LOST job token=T4 reason=moved", "s5 #6 +LOCKED job token=T7 *");
}

/* The question follows the letters in the same millisecond: its answer ends the doubt. */
T(the_answer_to_letters_of_many_ends_the_doubt)
{
    config.join_from = 1;
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(2, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(3, "LOCK job mode=shared");
    EXPECT_LAST("s3 #3 +LOCKED job token=T4 *");
    at(1001);
    forget();
    hears("0-1", "letter job");
    work();
    EXPECT("m0-2 EXTEND job T* 10000", "m0-2 EXTEND job T* 10000");
    ask(5, "RESUME job token=T4");
    EXPECT("s5 #* -NOQUORUM job * retry=* : *");
    vote("0-2", "EXTEND 10000, EXTEND 10000");
    at(1002);
    forget();
    ask(5, "RESUME job token=T4");
    EXPECT("s3 !LOST job token=T4 reason=moved", "s5 #* +LOCKED job token=T* *");
}

/* ---- other locks than of one name ---- */

/* The letters that came behind those of a quorum wait until the second is over. */
T(a_reader_that_is_ended_within_the_second_of_another_is_asked_at_once)
{
    start(3);
    ask(1, "LOCK job mode=shared hold=lease");
    vote("0-2", "SHARE YES, ZADD YES");
    hears("0-2", "letter job");
    at(1100);
    ask(2, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(3, "LOCK job wait=1m");
    forget();
    at(1200);
    hears("0-2", "letter job");
    work();
    EXPECT("m0-2 EXTEND job T2 10000");
}

/* Within the second of letters about the crowd before. */
T(a_crowd_that_is_broken_as_soon_as_it_is_there)
{
    config.join_from = 1;
    start(3);
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(2, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    at(1001);
    hears("0-1", "letter job");
    work();
    vote("0-2", "EXTEND NO, EXTEND NO");
    ask(3, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(4, "LOCK job mode=shared");
    EXPECT_LAST("s4 #4 +LOCKED job token=*");
    at(1002);
    hears("0-1", "letter job");
    forget();
    ask(5, "LOCK job mode=shared");
    EXPECT("m0-2 SHARE job T* 10000", "m0-2 ZADD *");
}

T(readers_are_asked_each)
{
    start(3);
    for (unsigned i = 1; i <= 3; i++) {
        ask(i, "LOCK job mode=shared");
        vote("0-2", "SHARE YES, ZADD YES");
    }
    forget();
    at(1100);
    hears("0-1", "letter job");
    work();
    EXPECT("m0-2 EXTEND job T3 10000", "m0-2 EXTEND job T2 10000", "m0-2 EXTEND job T1 10000");
    vote("0-1", "EXTEND 10000, EXTEND NO, EXTEND 10000");
    EXPECT("s3 !RENEWED *", "s2 !LOST job token=T2 reason=gone", "s1 !RENEWED *");
}

T(one_name_stands_for_a_list)
{
    start(3);
    grant(1, "LOCK b,a");
    ask(2, "LOCK b wait=1m");
    hears("0-1", "letter a");
    work();
    EXPECT("m0-2 EXTEND a,b T1 10000");
    vote("0-1", "EXTEND NO");
    work();
    EXPECT("s1 !LOST b,a token=T1 reason=gone", "m0-2 SET b T2 10000", "m0-2 ZADD b *");
}

T(a_slot_is_asked_alone)
{
    start(3);
    for (uint64_t session = 1; session <= 3; session++)
        grant(session, "LOCK job slots=3");
    ask(4, "LOCK job slots=3 wait=1m");
    hears("0-1", "letter job,1");
    work();
    EXPECT("m0-2 EXTEND job,1 T2 10000");
    vote("0-1", "EXTEND NO");
    work();
    EXPECT("s2 !LOST job token=T2 reason=gone slot=1", "m0-2 SET job,* T4 10000", "m0-2 ZADD *");
}

/* ---- letters to others ---- */

T(a_resume_writes_to_the_daemon_that_had_the_lock)
{
    show_letters = true;
    start(3);
    ask(1, "RESUME job token=X");
    EXPECT("m0-2 MOVE job X T1");
    vote("0-2", "MOVE YES");
    vote("0-1", "EXTEND 10000, ZADD YES"); /* not before: it might have to be set back */
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 ZADD *", "s1 #1 +LOCKED job token=T1 *", "m0-2 LETTER job X");
    vote("2", "EXTEND 10000, ZADD YES");
    vote("0-2", "LETTER YES");
    ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES"); /* to oneself nothing is written */
    EXPECT("m0-2 MOVE *", "m0-2 EXTEND *", "m0-2 ZADD *", "s1 !LOST job token=T1 reason=moved",
           "s2 #2 +LOCKED *");
}

T(a_resume_that_fails_writes_nothing)
{
    show_letters = true;
    start(3);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    vote("1-2", "MOVE NO");
    EXPECT("m0-2 MOVE job X T1", "m0-2 MOVE job T1 X", "s1 #1 -NOQUORUM *");
}

T(unless_the_lock_was_given_back_meanwhile)
{
    show_letters = true;
    start(3);
    ask(1, "RESUME job token=X");
    vote("0", "MOVE YES");
    ask(2, "UNLOCK job token=X");
    EXPECT("m0-2 MOVE job X T1", "m0-2 RELEASE job X WAKE");
    vote("1-2", "MOVE NO");
    EXPECT("m0-2 RELEASE job T1", "m0-2 LETTER job X", "s1 #1 -NOQUORUM *");
    vote("0", "RELEASE NO, RELEASE YES");
    forget();
}

T(a_list_is_told_by_its_first_name)
{
    show_letters = true;
    start(3);
    ask(2, "RESUME b,a token=X");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD 2");
    EXPECT("m0-2 MOVE a,b X T1", "m0-2 EXTEND a,b T1 10000", "m0-2 ZADD *", "s2 #1 +LOCKED a,b token=T1 *",
           "m0-2 LETTER a X");
    vote("0-2", "LETTER YES");
    ask(2, "UNLOCK b,a"); /* by a token of this daemon's */
    EXPECT("m0-2 RELEASE a,b T1");
    vote("0-2", "RELEASE YES");
    forget();
    ask(2, "UNLOCK b,a token=Y");
    EXPECT("m0-2 RELEASE a,b T2 LETTER");
}
