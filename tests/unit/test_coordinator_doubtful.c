/* Traces: what a master's clock says while it is in doubt. */
#include "tests/unit/trace.h"

/* A clock that jumped may have ended the key early, so that its "no" does not take the lock from its holder. */
T(a_no_of_a_clock_in_doubt)
{
    start(3);
    grant(1, "LOCK job ttl=30s hold=lease");
    markers[2].clock_ms += 200;
    at(2000);
    EXPECT_MASTER(2, "quarantine clock left=60602");
    forget();
    ask(2, "EXTEND job token=T1 ttl=30s");
    vote("0", "EXTEND 30000");
    vote("1-2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T1 30000", "s2 #2 -NOQUORUM job *");
}

/* The fifth master is in quarantine, and has not answered TIME since the second that this host stood still, if it did;
 * the answers of masters 0 to 2 show whether. Then a lock is granted. */
static void grant_beside_quarantine(bool stalled)
{
    start(5);
    restart(4, 0);
    dial(4);
    shake(4);
    EXPECT_MASTER(4, "quarantine restart left=60602");
    show_probes = true;
    at(now + 1000);
    for (unsigned i = 0; i < 5 && stalled; i++)
        markers[i].clock_ms += 1000;
    vote("0-2", "TIME OK, PROBE OK");
    ck_assert(stalled == (coordinator_behind_ms(core) != 0));
    work();
    ask(1, "LOCK job ttl=30s hold=lease");
    forget();
    for (unsigned i = 0; i < 3; i++) {
        char master[2] = {(char)('0' + i), 0}, word[32];
        while (unanswered(i) != 0) {
            const char *verb = unanswered_verb(i);
            bool lock = strcmp(verb, "SET") == 0 || strcmp(verb, "ZADD") == 0;
            snprintf(word, sizeof word, "%s %s", verb, lock ? "YES" : "OK");
            vote(master, word);
        }
    }
}

T(a_heal_by_a_clock_that_is_known)
{
    grant_beside_quarantine(false);
    EXPECT("m4 HEAL *", "s1 #1 +LOCKED *");
}

/* When the master read its clock is not known, so no key is set by it. */
T(no_heal_by_a_clock_in_doubt)
{
    grant_beside_quarantine(true);
    EXPECT("s1 #1 +LOCKED *");
}
