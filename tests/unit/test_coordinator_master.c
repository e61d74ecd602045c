/* Traces: the commands that a master may be sent, and from when on. */
#include "tests/unit/trace_steps.h"

#include <string.h>

/* ---- handshake ---- */

T(handshake_before_anything_else)
{
    start_alone(1);
    ck_assert_uint_eq(coordinator_settled(core), 0);
    ask(1, "LOCK job");
    EXPECT("s1 #1 -NOQUORUM job votes=0/1 nodes=! *");
    dial(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO");
    EXPECT_MASTER(0, "handshake");
    ck_assert_uint_eq(coordinator_settled(core), 0);
    ask(1, "LOCK job");
    EXPECT("s1 #2 -NOQUORUM job votes=0/1 nodes=! *");
    shake(0);
    EXPECT_MASTER(0, "up");
    ck_assert_uint_eq(coordinator_settled(core), 1);
    ask(1, "LOCK job");
    EXPECT("m0 SET job T1 10000", "m0 ZADD job *");
}

T(handshake_that_takes_too_long)
{
    start_alone(2);
    lose(1); /* could not be reached */
    dial(0);
    vote("0", "CLIENT_ID OK");
    forget();
    at(1999);
    EXPECT_NOTHING();
    at(2000);
    EXPECT("close m0 handshake");
    EXPECT_MASTER(0, "down timeout");
    ck_assert_uint_eq(coordinator_settled(core), 2);
    dial(0);
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO"); /* the connection carried nothing: there is nothing to kill */
    EXPECT_MASTER(0, "up");
}

T(handshake_that_is_not_allowed)
{
    start_alone(3);
    dial(0);
    dial(1);
    dial(2);
    vote("0", "CLIENT_ID NOPERM, INFO OK"); /* a connection that could not be killed later */
    vote("1", "CLIENT_ID OK, INFO NOAUTH");
    vote("2", "CLIENT_ID OK, INFO LOADING");
    EXPECT_MASTER(0, "refused noperm");
    EXPECT_MASTER(1, "refused noperm");
    EXPECT_MASTER(2, "refused loading");
    forget();
    at(2000); /* asked again on the same connection */
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m1 INFO", "m2 INFO");
    vote("0", "CLIENT_ID OK, INFO OK");
    vote("1-2", "INFO OK");
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "up");
    EXPECT_MASTER(2, "up");
}

T(commands_that_are_not_allowed)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    vote("0", "SET NOPERM, ZADD NOPERM");
    EXPECT_MASTER(0, "refused noperm");
    vote("1-2", "SET YES, ZADD YES");
    work();
    EXPECT("s1 #1 +LOCKED job *");
    ask(1, "LOCK other hold=lease");
    EXPECT("m1-2 SET other *", "m1-2 ZADD other *");
    vote("1-2", "SET YES, ZADD YES");
    at(1999);
    forget();
    at(2000);
    EXPECT_LAST("m0 INFO");
    vote("0", "INFO OK");
    EXPECT_MASTER(0, "up");
    ask(1, "LOCK third hold=lease");
    vote("0", "SET NOPERM, ZADD NOPERM"); /* still: the pause doubles */
    vote("1-2", "SET YES, ZADD YES");
    at(3999);
    EXPECT_MASTER(0, "refused noperm");
    forget();
    at(4000);
    EXPECT("m0 INFO", "m1-2 EXTEND job T1 10000");
    vote("0", "INFO OK");
    forget();
}

T(refused_and_asked_again_each_second)
{
    start_alone(6);
    info[0].replica = true;
    info[1].cluster = true;
    info[2].version = 0x060163; /* 6.1.99 */
    info[3].version = 0x060200;
    memcpy(info[4].run_id, info[3].run_id, RUN_ID_HEX); /* one server by two names */
    info[5].loading = true;
    for (unsigned i = 0; i < 6; i++) {
        dial(i);
        shake(i);
    }
    work();
    EXPECT_MASTER(0, "refused replica");
    EXPECT_MASTER(1, "refused cluster");
    EXPECT_MASTER(2, "refused version");
    EXPECT_MASTER(3, "up");
    EXPECT_MASTER(4, "refused twin");
    EXPECT_MASTER(5, "refused loading");
    ask(1, "LOCK job");
    EXPECT_LAST("s1 #1 -NOQUORUM job votes=1/6 nodes=!!!+!! *");
    info[5].loading = false;
    at(2000);
    EXPECT("m* INFO", "m* INFO", "m* INFO", "m* INFO", "m* INFO");
    vote("0-2,4-5", "INFO OK");
    EXPECT_MASTER(0, "refused replica");
    EXPECT_MASTER(4, "refused twin");
    EXPECT_MASTER(5, "up");
    at(3000);
    at(4000); /* no answer to that within a second */
    EXPECT_LAST("close m* handshake");
}

/* ---- quarantine ---- */

T(quarantine_by_uptime)
{
    static const struct {
        int64_t uptime_s;
        const char *is;
    } rows[] = {{-5, "quarantine restart left=60602"}, /* full: max_ttl and its drift */
                {0, "quarantine restart left=60602"},
                {62, "quarantine restart left=60602"}, /* the uptime may be two seconds too long */
                {63, "up"}};
    start_alone(4);
    for (unsigned i = 0; i < 4; i++) {
        info[i].uptime_s = rows[i].uptime_s;
        dial(i);
        shake(i);
    }
    work();
    for (unsigned i = 0; i < 4; i++)
        EXPECT_MASTER(i, rows[i].is);
    forget();
    ask(1, "LOCK job"); /* three of four are a quorum: retry= is the end of the second of three quarantines */
    EXPECT("s1 #1 -NOQUORUM job votes=1/4 nodes=~~~+ retry=60602 : 3 of 4 masters are in quarantine *");
    at(61601);
    EXPECT_MASTER(0, "quarantine restart left=1");
    at(61602);
    EXPECT_MASTER(0, "up");
    ck_assert_uint_eq(coordinator_voters(core), 4);
}

T(quarantine_by_another_run_id)
{
    start(3);
    restart(2, 1000000); /* another server, however long it runs */
    dial(2);
    shake(2);
    EXPECT("m2 CLIENT_ID", "m2 INFO"); /* a kill would hit a stranger */
    EXPECT_MASTER(2, "quarantine restart left=60602");
    at(30000);
    lose(2); /* the same run comes back: the rest of its quarantine stays the same */
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    EXPECT("m2 CLIENT_ID", "m2 INFO", "m2 KILL 302");
    EXPECT_MASTER(2, "quarantine restart left=31602");
    ask(1, "LOCK job");
    EXPECT("m0-1 SET job T1 10000", "m0-1 ZADD job *");
    vote("0-1", "SET YES, ZADD YES");
    ask(1, "UNLOCK job"); /* heals and releases go to a master in quarantine */
    EXPECT("m2 HEAL job T1 1700000039897", "s1 #1 +LOCKED *", "m0-2 RELEASE job T1");
}

T(quarantine_after_having_been_a_replica)
{
    start(3);
    lose(1);
    info[1].replica = true;
    dial(1);
    shake(1);
    EXPECT_MASTER(1, "refused replica");
    at(2000);
    vote("1", "INFO OK");
    EXPECT_MASTER(1, "refused replica");
    info[1].replica = false; /* promoted, with another's memory */
    at(3000);
    vote("1", "INFO OK");
    EXPECT_MASTER(1, "killing");
    vote("1", "KILL 0");
    EXPECT_MASTER(1, "quarantine demoted left=60602");
    forget();
}

T(quarantine_after_readonly)
{
    start(3);
    ask(1, "LOCK job ttl=20s");
    vote("1", "SET READONLY");
    EXPECT_MASTER(1, "refused replica");
    vote("1", "ZADD READONLY");
    work();
    vote("0,2", "SET YES, ZADD YES");
    forget();
    ask(1, "UNLOCK job");
    EXPECT("m0,2 RELEASE job T1");
    vote("0,2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=2/3");
    EXPECT_MASTER(
        1,
        "refused replica undo=1"); /* a command that did not run may still run, as far as the daemon knows */
    at(2000);
    vote("1", "INFO OK");
    work();
    EXPECT("m1 INFO", "m1 RELEASE job T1");
    vote("1", "RELEASE READONLY");
    EXPECT_MASTER(1, "refused replica undo=1");
    at(3000);
    vote("1", "INFO OK");
    work();
    vote("1", "RELEASE NO");
    EXPECT("m1 INFO", "m1 RELEASE job T1");
    EXPECT_MASTER(1, "quarantine demoted left=60602");
}

T(restart_guard_off)
{
    config.restart_guard = false;
    start(3);
    restart(0, 0);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "up");
    forget();
}

/* ---- the old connection ---- */

T(kill_is_repeated_until_acknowledged)
{
    start(3);
    lose(0);
    dial(0);
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 101");
    EXPECT_MASTER(0, "killing");
    lose(0);
    dial(0); /* the second connection carried no lock command, so the first is killed */
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 101");
    at(2000); /* no answer within a second */
    EXPECT("close m0 handshake");
    dial(0);
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 101");
    ask(1, "LOCK job");
    EXPECT("m1-2 SET job *", "m1-2 ZADD job *");
    vote("0", "KILL 0"); /* the connection was gone */
    EXPECT_MASTER(0, "up");
    lose(0);
    dial(0);
    shake(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 104");
}

T(undo_list_goes_before_lock_commands)
{
    start(3);
    config.max_locks = 16;
    for (unsigned i = 0; i < 10; i++) {
        char line[32];
        snprintf(line, sizeof line, "LOCK job%u", i);
        grant(1 + i / 8, line);
    }
    lose(0);
    release(1);
    release(2);
    work();
    for (unsigned i = 0; i < 10; i++)
        vote("1-2", "RELEASE YES");
    dial(0);
    shake(0);
    EXPECT_LAST("m0 KILL 101");
    vote("0", "KILL 1");
    work_once(); /* each step sends some of them */
    ck_assert_uint_eq(unanswered(0), 8);
    work();
    ck_assert_uint_eq(unanswered(0), 10);
    for (unsigned i = 0; i < 9; i++)
        vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "undoing undo=1");
    forget();
    ask(3, "LOCK other");
    EXPECT("m1-2 SET other *", "m1-2 ZADD other *");
    vote("0", "RELEASE YES");
    EXPECT_MASTER(0, "up");
}

T(votes_of_an_old_connection_are_none)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    vote("0", "SET YES, ZADD YES");
    struct command set = links[1].pending[0];
    lose(1);
    dial(1);
    shake(1);
    vote("1", "KILL 1");
    forget();
    struct coordinator_event event = {.kind = EVENT_MASTER_VOTE,
                                      .master = 1,
                                      .connection = 1,
                                      .verb = COMMAND_SET,
                                      .ref = set.ref,
                                      .vote = {.kind = VOTE_YES}};
    step(&event);
    event.verb = COMMAND_ZADD;
    step(&event);
    work();
    EXPECT_NOTHING();
    EXPECT_MASTER(1, "up");
    vote("2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *");
}

/* ---- silence ---- */

T(slow_and_up_again)
{
    start(3);
    grant(1, "LOCK held");
    ask(1, "LOCK job ttl=10s");
    vote("0-1", "SET YES, ZADD YES");
    forget();
    at(1049);
    EXPECT_MASTER(2, "up");
    at(1050); /* granted long ago, but that reply is overdue */
    EXPECT_MASTER(2, "slow silent");
    ask(1, "LOCK other");
    EXPECT("m0-1 SET other *", "m0-1 ZADD other *");
    ask(1, "UNLOCK held"); /* releases go to it */
    EXPECT("m0-2 RELEASE held *");
    vote("2", "SET YES");
    EXPECT_MASTER(2, "slow silent");
    vote("2", "ZADD YES"); /* every answer that was overdue has come */
    EXPECT_MASTER(2, "up");
    vote("2", "RELEASE YES");
}

T(silent_and_closed)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    vote("0-1", "SET YES, ZADD YES");
    forget();
    at(2049); /* 20 x node_timeout since it was found slow */
    EXPECT_NOTHING();
    at(2050);
    EXPECT("close m2 silent");
    EXPECT_MASTER(2, "down silent");
    at(3999);
    EXPECT_NOTHING(); /* a master that owes nothing may be silent */
}

T(each_answer_gives_a_slow_master_time)
{
    start(3);
    ask(1, "LOCK job ttl=10s");
    vote("0-1", "SET YES, ZADD YES");
    forget();
    at(2000);
    vote("2", "SET YES");
    at(2999);
    EXPECT_NOTHING();
    at(3000);
    EXPECT("close m2 silent");
}

T(backlog_closes)
{
    start(3);
    ask(1, "LOCK job");
    forget();
    backlog(2);
    EXPECT("close m2 backlog");
    EXPECT_MASTER(2, "down backlog");
    work();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED *");
    dial(2);
    shake(2);
    EXPECT("m2 CLIENT_ID", "m2 INFO", "m2 KILL 301");
}

T(a_policy_that_is_set_in_service)
{
    struct master_row row;
    start(3);
    at(60999); /* the trace answered the probes, and shows none */
    EXPECT_NOTHING();
    uint32_t changes = coordinator_master_changes(core, 1);
    show_probes = true;
    info[1].evicts = true;
    at(61000);
    EXPECT("m2 INFO", "m2 TIME", "m2 PROBE *", "m0 INFO", "m0 TIME", "m0 PROBE *", "m1 INFO", "m1 TIME",
           "m1 PROBE *");
    vote("0", "INFO NOPERM, TIME OK, PROBE OK"); /* which no lock needs */
    vote("1-2", "INFO OK, TIME OK, PROBE OK");
    ck_assert_uint_eq(coordinator_master_changes(core, 1), changes + 1); /* which is logged */
    for (unsigned i = 0; i < 3; i++) {
        coordinator_master_row(core, now, i, &row);
        ck_assert(row.evicts == (i == 1));
        EXPECT_MASTER(i, "up");
    }
}
