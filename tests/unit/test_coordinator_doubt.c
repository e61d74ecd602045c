/* Traces: doubts about a master's memory, in cases that the simulator found. */
#include "tests/unit/trace.h"

#include <string.h>

/* All masters answer their handshakes, until this one is refused no more. */
static void answer_until_judged(unsigned master)
{
    while (coordinator_master_state(core, master) == MASTER_REFUSED && now < 9000)
        handshakes_until(now + 1000);
}

T(a_newcomer_hides_no_flush)
{
    start(3);
    at(2000);
    EXPECT_MASTER(1, "up");
    at(2500); /* FLUSHALL, and a daemon starts before our next probe */
    newcomer_writes(1);
    at(3000);
    EXPECT_MASTER(1, "quarantine memory left=60602");
    forget();
}

T(a_newcomer_hides_no_other_server)
{
    start(3);
    lose(1);
    memset(info[1].run_id, 'f', RUN_ID_HEX); /* up for long, and it knows nothing */
    at(3000);
    newcomer_writes(1);
    dial(1);
    shake(1);
    EXPECT_MASTER(1, "quarantine promoted left=60602");
    forget();
}

/* The master's quarantine may have come and gone. */
T(who_was_away_for_long_cannot_tell)
{
    start(3);
    lose(1);
    at(1000 + 60602);
    newcomer_writes(1);
    dial(1);
    shake(1);
    vote("1", "KILL 1");
    EXPECT_MASTER(1, "up");
    forget();
}

T(a_replica_that_is_busy_too)
{
    start(3);
    show_probes = true;
    at(2000);
    forget();
    vote("1", "TIME BUSY");
    EXPECT_MASTER(1, "refused busy");
    vote("1", "PROBE READONLY");
    at(3000);
    show_probes = false;
    vote("1", "INFO OK");
    EXPECT_MASTER(1, "quarantine demoted left=60602");
    forget();
}

T(a_replica_that_is_refused_for_something_else)
{
    start_alone(1);
    show_probes = true;
    info[0].replica = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NOPERM");
    EXPECT_MASTER(0, "refused noperm");
    info[0].replica = false;
    show_probes = false;
    newcomer_writes(0);
    forget();
    at(2000);
    vote("0", "INFO OK");
    EXPECT_MASTER(0, "quarantine promoted left=60602");
    forget();
}

T(a_replica_at_the_handshakes_last_word)
{
    start_alone(1);
    show_probes = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO, GROUP_NEW READONLY");
    EXPECT_MASTER(0, "refused replica");
    show_probes = false;
    forget();
    at(2000);
    vote("0", "INFO OK");
    EXPECT_MASTER(0, "quarantine demoted left=60602");
    forget();
}

T(a_clock_that_jumped_while_the_probe_is_refused)
{
    start(3);
    show_probes = true;
    at(2000);
    markers[1].clock_ms += 2000;
    forget();
    vote("1", "TIME OK, PROBE NOPERM");
    EXPECT_MASTER(1, "refused noperm");
    vote("0,2", "TIME OK, PROBE OK, TIME OK");
    vote("0,2", "TIME OK"); /* asked once more before master 1 is blamed */
    forget();
    at(3000);
    vote("1", "INFO OK, TIME OK, GROUP OK, GROUP_SET OK");
    EXPECT_MASTER(1, "quarantine clock left=60602");
    forget();
}

/* A handshake that waits for other masters is judged with an old TIME: a doubt counts from now all the
 * same. */
T(a_doubt_after_a_handshake_that_waited)
{
    start_alone(2);
    show_probes = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP NO");
    at(5000);
    lose(1);
    work();
    vote("0", "INFO OK, TIME OK, GROUP NO, GROUP_NEW NO");
    newcomer_writes(0);
    memset(markers[0].group.run_id, 'f', RUN_ID_HEX); /* another run's: it came back from a disk */
    vote("0", "GROUP OK, GROUP_SET OK");
    EXPECT_MASTER(0, "quarantine promoted left=60602");
    forget();
}

/* This daemon knows neither master, and nothing is judged while master 1 has another group's key. Meanwhile an older key
 * of master 0 came back, with other data. */
static void key_recedes_unjudged(bool in_another_run)
{
    start_alone(2);
    newcomer_writes(0);
    markers[0].group.from_ms += 30000; /* another daemon keeps it out */
    newcomer_writes(1);
    markers[1].group.max_ttl_ms = 1000;
    dial(1);
    shake(1);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "refused group");
    if (in_another_run) {
        lose(0);
        memset(info[0].run_id, 'f', RUN_ID_HEX);
    }
    newcomer_writes(0);
    newcomer_writes(1);
    if (in_another_run) {
        dial(0);
        shake(0);
    }
    answer_until_judged(0);
    forget();
}

T(a_time_that_an_unjudged_handshake_read_is_not_forgotten)
{
    key_recedes_unjudged(false);
    EXPECT_MASTER(0, "quarantine promoted left=60602");
}

T(a_time_that_was_read_in_another_run_says_nothing)
{
    key_recedes_unjudged(true);
    EXPECT_MASTER(0, "up");
}

/* ---- a handshake that is refused, and read the key ---- */

/* This daemon has just started, and the master lacks a command until it is asked again. */
static void refused(void)
{
    show_tries = true;
    start_alone(1);
    newcomer_writes(0);
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TRY OTHER");
    EXPECT_MASTER(0, "refused noscript");
    forget();
}

static void asked_again(void)
{
    at(now + 1000);
    vote("0", "INFO OK, TRY YES");
    forget();
}

T(a_key_that_a_refused_handshake_read_and_the_next_does_not)
{
    refused();
    markers[0].there = false; /* FLUSHALL */
    asked_again();
    EXPECT_MASTER(0, "quarantine memory left=60602");
}

T(a_newcomer_hides_no_flush_after_a_refused_handshake)
{
    refused();
    at(now + 900);
    newcomer_writes(0);
    asked_again();
    EXPECT_MASTER(0, "quarantine promoted left=60602");
}

T(another_server_without_the_key_after_a_refused_handshake)
{
    refused();
    lose(0);
    memset(info[0].run_id, 'f', RUN_ID_HEX);
    markers[0].there = false;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TRY YES");
    EXPECT_MASTER(0, "quarantine restart left=60602");
    forget();
}

/* The key may have run out, while no other daemon was there. */
T(a_key_that_was_read_long_ago_in_a_refused_handshake)
{
    refused();
    lose(0);
    at(now + 600000);
    markers[0].there = false;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TRY YES");
    EXPECT_MASTER(0, "up");
    forget();
}

/* The key is gone while this daemon may write none, since another master has the key of other daemons. A
 * newcomer writes it anew. */
T(what_was_seen_amiss_while_it_could_not_write_is_not_forgotten)
{
    start(3);
    lose(1);
    markers[1].there = false; /* FLUSHALL */
    newcomer_writes(2);
    markers[2].group.max_ttl_ms = 1000;
    at(2000);
    EXPECT_MASTER(2, "refused group");
    dial(1);
    shake(1);
    EXPECT_MASTER(1, "refused group");
    newcomer_writes(1);
    newcomer_writes(2);
    answer_until_judged(1);
    vote("1", "KILL 1");
    EXPECT_MASTER(1, "quarantine memory left=60602");
    forget();
}

/* Another daemon writes a doubt of master 1. */
static void doubted_elsewhere(void)
{
    newcomer_writes(1);
    markers[1].group.from_ms += 60602;
    strcpy(markers[1].group.why, "memory");
}

/* The key goes twice while another master has the key of other daemons. A daemon sees the first time and keeps the
 * master out, and only a newcomer sees the second time. */
static void lost_once_unjudged(void)
{
    start(3);
    lose(1);
    markers[1].there = false; /* FLUSHALL */
    newcomer_writes(2);
    markers[2].group.max_ttl_ms = 1000;
    at(2000);
    dial(1);
    shake(1);
    doubted_elsewhere();
    handshakes_until(3000);
    EXPECT_MASTER(1, "refused group");
}

static void judged_at_last(void)
{
    newcomer_writes(2);
    handshakes_until(now + 2000);
    vote("1", "KILL 1");
}

T(a_second_loss_is_not_forgotten_while_nothing_is_judged)
{
    lost_once_unjudged();
    handshakes_until(70000);
    newcomer_writes(1);
    markers[1].group.from_ms += 1040; /* just after TIME is answered */
    handshakes_until(72000);
    judged_at_last();
    EXPECT_MASTER(1, "quarantine memory left=60602");
    forget();
}

T(a_quarantine_that_nobody_saw_is_no_second_loss)
{
    lost_once_unjudged();
    lose(1);
    handshakes_until(66000);
    markers[1].group.from_ms += 3000; /* a later doubt, which is over by now */
    dial(1);
    shake(1);
    judged_at_last();
    EXPECT_MASTER(1, "up");
    forget();
}

/* Another daemon's doubt is read when it is nearly over, and began just after this daemon had looked there. */
T(a_quarantine_that_is_seen_at_its_end_is_no_second_loss)
{
    lost_once_unjudged();
    lose(1);
    at(3001);
    doubted_elsewhere();
    handshakes_until(63001);
    at(63560);
    dial(1);
    shake(1);
    judged_at_last();
    EXPECT_MASTER(1, "up");
    forget();
}

/* Another server comes with another group's key, and later yet another server, before the key was sound. */
T(what_was_seen_amiss_counts_from_the_last_run)
{
    start(3);
    for (unsigned i = 0; i < 2; i++) {
        lose(1);
        memset(info[1].run_id, i == 0 ? 'e' : 'f', RUN_ID_HEX);
        newcomer_writes(1);
        markers[1].group.max_ttl_ms = 1000;
        at(now + 70000);
        dial(1);
        shake(1);
        EXPECT_MASTER(1, "refused group");
    }
    newcomer_writes(1);
    while (unanswered(1) == 0)
        at(now + 100);
    vote("1", "INFO OK");
    work();
    EXPECT_MASTER(1, "quarantine promoted left=60602");
    forget();
}

/* A doubt that came once, and was judged, hides no later doubt. */
T(a_second_loss_is_seen_as_the_first_was)
{
    start(3);
    at(1500);
    markers[1].there = false;
    at(2000);
    at(64500);
    EXPECT_MASTER(1, "up");
    forget();
    newcomer_writes(1);
    markers[1].group.max_ttl_ms = 1000;
    at(66000);
    EXPECT_MASTER(1, "refused group");
    newcomer_writes(1);
    while (coordinator_master_state(core, 1) == MASTER_REFUSED && now < 75000) {
        at(now + 500);
        for (unsigned i = 0; i < 3; i++)
            if (strcmp(unanswered_verb(i), "INFO") == 0)
                vote(i == 0 ? "0" : i == 1 ? "1" : "2", "INFO OK");
    }
    work();
    forget();
    EXPECT_MASTER(1, "quarantine memory left=60602");
}

/* A machine that was set back to a snapshot deals the same client ids again, in the same run. */
T(a_smaller_client_id_is_an_older_memory)
{
    start(3);
    lose(1);
    dial(1);
    vote("1", "CLIENT_ID 201, INFO OK, KILL 0"); /* as before it was set back */
    EXPECT_MASTER(1, "quarantine memory left=60602");
    forget();
}

T(a_larger_client_id_is_not)
{
    start(3);
    lose(1);
    dial(1);
    shake(1);
    vote("1", "KILL 0");
    EXPECT_MASTER(1, "up");
    forget();
}

/* FLUSHALL on one master while the only daemon restarts: the new process does not know the master, which is
 * up for long. */
T(a_flush_while_no_daemon_ran_shows_by_the_others)
{
    start_alone(3);
    newcomer_writes(0);
    newcomer_writes(1);
    reach_all();
    work();
    EXPECT_MASTER(2, "refused memory");
    at(1100);
    vote("2", "INFO OK");
    EXPECT_MASTER(0, "up");
    EXPECT_MASTER(1, "up");
    EXPECT_MASTER(2, "quarantine memory left=60602");
    forget();
}

/* Daemons that start together: the other daemon's key comes a moment later. */
T(a_key_that_is_on_its_way_is_waited_for)
{
    start_alone(3);
    newcomer_writes(0);
    reach_all();
    work();
    EXPECT_MASTER(1, "refused memory");
    newcomer_writes(1);
    newcomer_writes(2);
    at(1100);
    vote("1-2", "INFO OK");
    EXPECT_MASTER(1, "up");
    EXPECT_MASTER(2, "up");
    forget();
}
