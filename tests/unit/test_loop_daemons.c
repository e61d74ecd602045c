/* When the masters are asked for the list of daemons, whatever they answer. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/node/node.h"
#include "tests/unit/suite.h"

/* The masters of this test: what they are asked is noted instead of sent. */
static bool fake_ask(struct node *node, char *bytes, size_t len, unsigned script, uint64_t ref);
#define node_ask fake_ask
#include "daemon/loop/loop_daemons.c" /* NOLINT: its masters are fakes */

enum { ALL = 3 };

static struct conf conf;
static struct places places;
static struct resp_format *format;
static struct event_base *base;
static struct loop_daemons daemons;
static char masters[ALL];
static struct node *nodes[MASTERS];
static bool connected[ALL];
static char cursor[ALL][32]; /* of the question that awaits its answer; "": none does */
static unsigned asked[ALL], known;

static bool fake_ask(struct node *node, char *bytes, size_t len, unsigned script, uint64_t ref)
{
    unsigned master = (unsigned)((char *)node - masters);
    (void)script, (void)ref;
    ck_assert_str_eq(cursor[master], "");
    bytes[len - 2] = '\0'; /* the cursor is the last word */
    if (connected[master]) {
        snprintf(cursor[master], sizeof cursor[master], "%s", strrchr(bytes, '\n') + 1);
        asked[master]++;
    }
    resp_bytes_free(bytes);
    return connected[master];
}

static void on_known(void *arg)
{
    (void)arg;
    known++;
}

static void answer(unsigned master, const char *text)
{
    struct resp_reply reply = {.type = RESP_STRING, .whole = text, .whole_len = strlen(text)};
    ck_assert_str_ne(cursor[master], "");
    cursor[master][0] = '\0';
    loop_daemons_answered(&daemons, master, &reply);
}

static void setup(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    conf_defaults(&conf);
    places.used = masters_all(ALL);
    for (unsigned i = 0; i < ALL; i++)
        nodes[i] = (struct node *)(void *)&masters[i];
    base = event_base_new();
    format = resp_format_new("t:");
    daemons.known = on_known;
    ck_assert(loop_daemons_start(&daemons, base, &conf, &places, nodes, format));
    for (unsigned i = 0; i < ALL; i++) {
        connected[i] = true;
        loop_daemons_connected(&daemons, i);
        ck_assert_str_eq(cursor[i], "0"); /* of a small fleet the first page is all */
        answer(i, "ok 0\naaaaaaaa 0 host=one");
    }
}

static void teardown(void)
{
    loop_daemons_stop(&daemons);
    resp_format_free(format);
    event_base_free(base);
}

SETUP(setup, teardown);

/* What a daemon says of its step: of all that any master lists, but of this one. */
T(steps_of_the_others)
{
    struct coordinator_daemons seen;
    memcpy(daemons.self.id, "5e1f5e1f", 9);
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 0); /* pages were read, and no whole list */
    ck_assert(!seen.knows_steps);
    ck_assert(!loop_daemons_read_since(&daemons, 0));
    answer(0,
           "ok 0\naaaaaaaa 0 host=one step=3 marker=2 node_timeout=50\n5e1f5e1f 0 host=me step=1 marker=2");
    answer(1,
           "ok 0\naaaaaaaa 0 host=one step=3 marker=2\nbbbbbbbb 0 host=two step=2 marker=2 node_timeout=70");
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 2);
    ck_assert(!seen.knows_steps); /* the third master has an entry without a step */
    answer(2, "ok 0\naaaaaaaa 0 host=one step=3 marker=2");
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 3);
    ck_assert(seen.knows_steps);
    ck_assert_uint_eq(seen.lowest_step, 2);
    ck_assert_str_eq(seen.lowest_host, "two");
    ck_assert_int_eq(seen.node_timeout_ms, 70);
    /* Another step is no other daemon. */
    unsigned count;
    loop_daemons_list(&daemons, &count);
    ck_assert_uint_eq(count, 1);
}

/* Two entries of host one, the first of which is at step 1, and the second at step 2: the lowest step that counts. */
static uint32_t lowest_step(const char *age, const char *first, const char *second)
{
    struct coordinator_daemons seen;
    char text[512];
    snprintf(text, sizeof text,
             "ok 0\nbbbbbbbb %s host=one %s step=1 marker=2\ncccccccc 0 host=one %s step=2 marker=2", age,
             first, second);
    memcpy(daemons.self.id, "aaaaaaaa", 9);
    for (unsigned i = 0; i < ALL; i++)
        loop_daemons_forget(&daemons, i);
    loop_daemons_read_since(&daemons, 0);
    for (unsigned i = 0; i < ALL; i++)
        answer(i, text);
    loop_daemons_steps(&daemons, &seen);
    return seen.lowest_step;
}

/* A daemon that was killed is not waited for any more when it runs again. */
T(steps_of_a_daemon_that_was_restarted)
{
    ck_assert_uint_eq(lowest_step("13000", "since=1 listen=/s", "since=2 listen=/s"), 2);
    ck_assert_uint_eq(lowest_step("13000", "since=1 listen=/s", "since=1 listen=/s"), 2);
}

/* The first one runs still, was started later, is another one on that host, or does not say where it listens. */
T(steps_of_daemons_that_were_not_restarted)
{
    ck_assert_uint_eq(lowest_step("11000", "since=1 listen=/s", "since=2 listen=/s"), 1);
    ck_assert_uint_eq(lowest_step("13000", "since=3 listen=/s", "since=2 listen=/s"), 1);
    ck_assert_uint_eq(lowest_step("13000", "since=1 listen=/s", "since=2 listen=/t"), 1);
    ck_assert_uint_eq(lowest_step("13000", "since=1", "since=2"), 1);
}

/* A daemon that ended took its entry away: it is forgotten with the next whole reading, and not with a page. */
T(who_said_goodbye)
{
    unsigned count;
    ck_assert(!loop_daemons_read(&daemons));
    for (unsigned i = 0; i < ALL; i++)
        answer(i, "ok 0\nbbbbbbbb 0 host=two");
    loop_daemons_list(&daemons, &count);
    ck_assert_uint_eq(count, 1);
    loop_daemons_read_since(&daemons, 0);
    for (unsigned i = 0; i < ALL; i++) {
        answer(i, "ok 17\ncccccccc 0 host=three");
        loop_daemons_list(&daemons, &count);
        ck_assert_uint_eq(count, i + 1 >= 2 ? 2 : 1);
    }
    answer(0, "ok 0");
    answer(1, "nonsense");
    answer(2, "ok 0");
    loop_daemons_list(&daemons, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(loop_daemons_host(&daemons, "bbbbbbbb"), "?");
    ck_assert_str_eq(loop_daemons_host(&daemons, "cccccccc"), "three");
}

/* What a master said before it died holds up nobody for a minute. */
T(steps_that_a_dead_master_told_last)
{
    struct coordinator_daemons seen;
    loop_daemons_read_since(&daemons, 0);
    answer(0, "ok 0\naaaaaaaa 0 host=one step=3 marker=2 node_timeout=90");
    for (unsigned i = 1; i < ALL; i++)
        answer(i, "ok 0\naaaaaaaa 0 host=one step=4 marker=2 node_timeout=50\n"
                  "bbbbbbbb 0 host=two step=5 marker=2");
    loop_daemons_lost(&daemons, 0);
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 3);
    ck_assert_uint_eq(seen.lowest_step, 4);
    ck_assert_str_eq(seen.lowest_host, "one");
    ck_assert_int_eq(seen.node_timeout_ms, 50);
}

/* A daemon that knows no steps is the one that is waited for, whoever else is at step 0. */
T(who_knows_no_steps)
{
    struct coordinator_daemons seen;
    loop_daemons_read_since(&daemons, 0);
    for (unsigned i = 0; i < ALL; i++)
        answer(i, "ok 0\naaaaaaaa 0 host=one step=0 marker=2\nbbbbbbbb 0 host=two\n"
                  "cccccccc 0 host=three step=0 marker=2");
    loop_daemons_steps(&daemons, &seen);
    ck_assert(!seen.knows_steps);
    ck_assert_str_eq(seen.lowest_host, "two");
}

/* An answer that is no page has told nothing, and a reading that is not over neither. */
T(steps_of_lists_that_were_not_read)
{
    struct coordinator_daemons seen;
    loop_daemons_read_since(&daemons, 0);
    answer(0, "nonsense");
    answer(1, "ok 17\naaaaaaaa 0 step=1 marker=2");
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 0);
    answer(1, "ok 0");
    ck_assert_uint_eq(loop_daemons_steps(&daemons, &seen), 1);
}

/* A daemon that is alone waits for nobody. */
T(no_others)
{
    struct coordinator_daemons seen;
    memcpy(daemons.self.id, "aaaaaaaa", 9);
    loop_daemons_steps(&daemons, &seen);
    ck_assert(seen.knows_steps);
    ck_assert_uint_eq(seen.lowest_step, UINT32_MAX);
}

T(a_daemon_that_nobody_asks_only_writes_itself)
{
    for (unsigned i = 0; i < 5; i++) {
        loop_daemons_write(&daemons);
        for (unsigned k = 0; k < ALL; k++) {
            ck_assert_str_eq(cursor[k], "-");
            answer(k, "ok 0");
        }
    }
}

T(who_asks_gets_all_pages)
{
    unsigned count;
    ck_assert(!loop_daemons_read(&daemons));
    for (unsigned i = 0; i < ALL; i++) {
        answer(i, "ok 17\naaaaaaaa 0 host=one\nbbbbbbbb 0 host=two");
        ck_assert_str_eq(cursor[i], "17");
    }
    for (unsigned i = 0; i < ALL; i++) {
        ck_assert(!loop_daemons_read(&daemons)); /* another one that asks waits for the same */
        answer(i, "ok 0\ncccccccc 0 host=three");
        ck_assert_uint_eq(known, i == ALL - 1);
    }
    ck_assert(loop_daemons_read(&daemons)); /* it is fresh: nobody is asked again */
    ck_assert_str_eq(cursor[0], "");
    loop_daemons_list(&daemons, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(loop_daemons_from(&daemons, 0xbbbbbbbb), 1);
    ck_assert_uint_eq(loop_daemons_from(&daemons, 0xcccccccd), 3);
    ck_assert_str_eq(loop_daemons_host(&daemons, "cccccccc"), "three");
    ck_assert_str_eq(loop_daemons_host(&daemons, "bbbbbbbc"), "?");
}

T(a_list_without_an_end_is_read_no_further)
{
    ck_assert(!loop_daemons_read(&daemons));
    answer(0, "ok 0");
    answer(1, "ok 0");
    unsigned before = asked[2];
    while (cursor[2][0] && asked[2] - before < 10000)
        answer(2, "ok 7");
    ck_assert_uint_le(asked[2] - before, PAGES);
    ck_assert_uint_eq(known, 1);
    ck_assert(loop_daemons_read(&daemons));
}

T(a_master_that_is_lost_is_not_waited_for)
{
    ck_assert(!loop_daemons_read(&daemons));
    answer(0, "ok 0");
    answer(2, "ok 3");
    connected[1] = connected[2] = false;
    loop_daemons_lost(&daemons, 1);
    ck_assert_uint_eq(known, 0);
    loop_daemons_lost(&daemons, 2);
    ck_assert_uint_eq(known, 1);
}

T(without_masters_nothing_is_waited_for)
{
    for (unsigned i = 0; i < ALL; i++)
        connected[i] = false;
    ck_assert(loop_daemons_read(&daemons));
}
