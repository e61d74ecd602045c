/* Traces: the handshake tries the commands that locks need (master_try.c). */
#include "tests/unit/trace_steps.h"

#include <string.h>

static enum lacking lacks(unsigned master)
{
    struct master_row row;
    coordinator_master_row(core, now, master, &row);
    return row.lacks;
}

/* Answers the handshake; word is the answer to TRY. */
static void shake_tried(unsigned master, const char *word)
{
    char one[4], votes[64];
    snprintf(one, sizeof one, "%u", master);
    snprintf(votes, sizeof votes, "CLIENT_ID OK, INFO OK, TRY %s", word);
    vote(one, votes);
}

T(tried_in_one_go)
{
    show_tries = true;
    start_alone(1);
    dial(0);
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 TRY");
    shake_tried(0, "YES");
    EXPECT_MASTER(0, "up");
    at(3000);
    EXPECT_NOTHING(); /* once is enough */
}

T(refused_by_name)
{
    static const struct {
        const char *word, *is;
        enum lacking lacks;
    } rows[] = {
        {"NO:2", "refused noscript", LACKING_PEXPIRE},    {"NO:6", "refused noscript", LACKING_DEL},
        {"OTHER", "refused noscript", LACKING_EVALSHA},   {"NOPERM", "refused noperm", LACKING_EVALSHA},
        {"NO:99", "refused noscript", LACKING_EVALSHA}, /* of another version */
        {"MISCONF", "refused misconf", LACKING_EVALSHA},  {"BUSY", "refused busy", LACKING_EVALSHA},
        {"READONLY", "refused replica", LACKING_EVALSHA},
    };
    show_tries = true;
    start_alone(8);
    for (unsigned i = 0; i < 8; i++) {
        dial(i);
        shake_tried(i, rows[i].word);
    }
    work();
    for (unsigned i = 0; i < 8; i++) {
        EXPECT_MASTER(i, rows[i].is);
        bool named = strstr(rows[i].is, "noscript") != NULL || strstr(rows[i].is, "noperm") != NULL;
        ck_assert_int_eq(lacks(i), named ? rows[i].lacks : LACKING_NOTHING);
    }
    forget();
    at(2000); /* tried again, as soon as the operator has mended it */
    vote("0", "INFO OK, TRY YES");
    EXPECT_MASTER(0, "up");
    ck_assert_int_eq(lacks(0), LACKING_NOTHING);
    forget();
}

/* A server that has just started has no script yet; the driver loads it, and the question is asked again. */
T(the_script_is_loaded_first)
{
    show_tries = true;
    start_alone(1);
    dial(0);
    forget();
    shake_tried(0, "NOT_RUN");
    EXPECT("m0 INFO", "m0 TRY");
    vote("0", "INFO OK, TRY YES");
    EXPECT_MASTER(0, "up");
}

T(a_script_that_is_never_there)
{
    show_tries = true;
    start_alone(1);
    dial(0);
    shake_tried(0, "NOT_RUN");
    for (unsigned i = 0; i < 3; i++)
        vote("0", "INFO OK, TRY NOT_RUN");
    EXPECT_MASTER(0, "refused noscript");
    forget();
}

/* A full memory proves nothing: the master is tried again with each probe. */
T(tried_again_when_the_memory_was_full)
{
    show_tries = true;
    start_alone(1);
    dial(0);
    shake_tried(0, "OOM");
    EXPECT_MASTER(0, "up");
    vote("0", "TRY OOM");
    forget();
    at(2000);
    EXPECT("m0 TRY");
    vote("0", "TRY NO:2");
    EXPECT_MASTER(0, "refused noscript");
    ck_assert_int_eq(lacks(0), LACKING_PEXPIRE);
}

/* What INFO says is the reason, even where the server refuses all else for it. */
T(a_cluster_node_without_slots)
{
    show_probes = show_tries = true;
    start_alone(1);
    info[0].cluster = true;
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TRY OTHER, TIME OK, GROUP OTHER");
    EXPECT_MASTER(0, "refused cluster");
    forget();
}

/* An error of the first question that failed is told by name, too. */
T(a_probe_that_is_unknown)
{
    show_probes = true;
    start_alone(1);
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OTHER");
    EXPECT_MASTER(0, "refused noperm");
    ck_assert_int_eq(lacks(0), LACKING_GETEX);
    forget();
}
