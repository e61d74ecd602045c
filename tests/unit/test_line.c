/* Lines in: requests, and the defaults and options that they are read with. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/line_said.h"
#include "tests/unit/suite.h"

#define ck_name(request, expected)                                         \
    do {                                                                   \
        ck_assert_uint_eq((request).name.len, strlen(expected));           \
        ck_assert_mem_eq((request).name.text, expected, strlen(expected)); \
    } while (0)

/* ---- words and spaces ---- */

T(an_empty_line_is_ignored)
{
    struct request request;
    struct refusal refusal;

    ck_assert_int_eq(parse_line("", &request, &refusal), LINE_EMPTY);
    ck_assert_int_eq(parse_line("     ", &request, &refusal), LINE_EMPTY);
}

T(a_lock_without_options_has_the_defaults)
{
    struct request r = accepted("LOCK job");

    ck_assert_int_eq(r.verb, VERB_LOCK);
    ck_name(r, "job");
    ck_assert_int_eq(r.hold, HOLD_SESSION);
    ck_assert_uint_eq(r.tag.len, 0);
    ck_assert_uint_eq(r.note.len, 0);
    ck_assert(!r.has_token);
    ck_assert_int_eq(r.ttl_ms, -1);
    ck_assert_int_eq(r.wait_ms, 0);
    ck_assert_int_eq(r.max_ms, -1);
}

T(a_lock_takes_all_its_options_in_any_order)
{
    struct request r =
        accepted("#a.B_-9 LOCK job note=nightly max=1h wait=30s mode=exclusive ttl=250 hold=lease");

    ck_assert_uint_eq(r.tag.len, 6);
    ck_assert_mem_eq(r.tag.text, "a.B_-9", 6);
    ck_name(r, "job");
    ck_assert_int_eq(r.hold, HOLD_LEASE);
    ck_assert_uint_eq(r.note.len, 7);
    ck_assert_mem_eq(r.note.text, "nightly", 7);
    ck_assert_int_eq(r.max_ms, 3600 * 1000);
    ck_assert_int_eq(r.wait_ms, 30 * 1000);
    ck_assert_int_eq(r.ttl_ms, 250);
}

T(spaces_may_be_many_and_anywhere_between_words)
{
    struct request r = accepted("   #7    LOCK     job      ttl=1s   ");

    ck_assert_uint_eq(r.tag.len, 1);
    ck_name(r, "job");
    ck_assert_int_eq(r.ttl_ms, 1000);
}

T(verbs_and_keys_have_no_case_but_names_and_values_do)
{
    struct request r = accepted("lOcK Job TTL=10s Hold=lease nOtE=Night");

    ck_assert_int_eq(r.verb, VERB_LOCK);
    ck_name(r, "Job");
    ck_assert_int_eq(r.ttl_ms, 10000);
    ck_assert_mem_eq(r.note.text, "Night", 5);
    ck_begins("LOCK job hold=LEASE", "-BADARG job : hold=\"LEASE\" is not allowed");
    ck_begins("LOCK job ttl=10S", "-BADARG job : ttl=\"10S\" is not allowed");
}

T(each_verb_is_known)
{
    struct request r = accepted("UNLOCK job token=" TOKEN);

    ck_assert_int_eq(r.verb, VERB_UNLOCK);
    ck_assert(r.has_token);
    ck_assert_int_eq(accepted("UNLOCK job").verb, VERB_UNLOCK);
    ck_assert(!r.has_lost);
    r = accepted("UNLOCK job lost=clock token=" TOKEN);
    ck_assert(r.has_lost && r.lost == LOST_CLOCK);
    ck_assert_int_eq(accepted("UNLOCK job lost=expired").lost, LOST_EXPIRED);
    ck_assert_int_eq(accepted("UNLOCK job lost=gone").lost, LOST_GONE);
    ck_assert_int_eq(accepted("UNLOCK job keep=1h").keep_ms, 3600000);
    ck_assert_int_eq(accepted("UNLOCK job").keep_ms, 0);
    ck_assert(accepted("UNLOCK job KEPT").kept && !accepted("UNLOCK kept").kept);
    r = accepted("EXTEND job ttl=1m token=" TOKEN);
    ck_assert_int_eq(r.verb, VERB_EXTEND);
    ck_assert_int_eq(r.ttl_ms, 60000);
    ck_assert_int_eq(accepted("CHECK job token=" TOKEN).verb, VERB_CHECK);
    r = accepted("RESUME job note=again token=" TOKEN " max=1h ttl=1m wait=5s");
    ck_assert_int_eq(r.wait_ms, 5000);
    ck_assert_int_eq(r.verb, VERB_RESUME);
    ck_assert(r.has_token && r.ttl_ms == 60000 && r.max_ms == 3600000);
    ck_assert_uint_eq(r.note.len, 5);
    r = accepted("resume job token=" TOKEN);
    ck_assert(r.verb == VERB_RESUME && r.ttl_ms == -1 && r.max_ms == -1 && r.note.len == 0);
    r = accepted("LOCK job token=" TOKEN);
    ck_assert(r.verb == VERB_LOCK && r.has_token);
    r = accepted("LOCK job token=" TOKEN " mode=shared wait=2s");
    ck_assert(r.shared && r.has_token && r.wait_ms == 2000);
    r = accepted("#1 CANCEL 7");
    ck_assert_int_eq(r.verb, VERB_CANCEL);
    ck_assert_uint_eq(r.target.len, 1);
    ck_assert_int_eq(r.target.text[0], '7');
    ck_assert_uint_eq(accepted("CANCEL").target.len, 0);
    ck_assert_int_eq(accepted("ping").verb, VERB_PING);
    ck_assert_int_eq(accepted("help").verb, VERB_HELP);
    ck_assert_int_eq(accepted("quit").verb, VERB_QUIT);
}

T(hello_takes_client_and_events)
{
    struct request r = accepted("HELLO 1");

    ck_assert_int_eq(r.verb, VERB_HELLO);
    ck_assert_uint_eq(r.client.len, 0);
    ck_assert(!r.events_renewed);
    r = accepted("HELLO 1 events=renewed client=worker-3");
    ck_assert_uint_eq(r.client.len, 8);
    ck_assert_mem_eq(r.client.text, "worker-3", 8);
    ck_assert(r.events_renewed);
}

T(show_takes_its_words_in_any_case)
{
    ck_assert_int_eq(accepted("SHOW LOCKS").show, SHOW_LOCKS);
    ck_assert_int_eq(accepted("show waiters").show, SHOW_WAITERS);
    ck_assert_int_eq(accepted("Show Clients").show, SHOW_CLIENTS);
    ck_assert_int_eq(accepted("SHOW nodes").show, SHOW_NODES);
    ck_assert_int_eq(accepted("who job").verb, VERB_WHO);
    ck_assert_int_eq(accepted("BREAK job").slot, -1);
    ck_assert_int_eq(accepted("BREAK job").verb, VERB_BREAK);
    ck_assert_int_eq(accepted("BREAK job slot=0").slot, 0);
    ck_assert_int_eq(accepted("BREAK job SLOT=1023").slot, 1023);
    ck_assert_int_eq(accepted("SHOW daemons").show, SHOW_DAEMONS);
    ck_assert_int_eq(accepted("SHOW STATS").show, SHOW_STATS);
    ck_assert_int_eq(accepted("SHOW CONFIG").show, SHOW_CONFIG);
    ck_assert_int_eq(accepted("SHOW version").show, SHOW_VERSION);
}

T(a_token_is_read_in_either_case)
{
    struct request r = accepted("CHECK job token=" TOKEN);
    char hex[TOKEN_HEX];

    ck_assert_uint_eq(r.token.bytes[0], 0x01);
    ck_assert_uint_eq(r.token.bytes[15], 0xef);
    ck_assert_uint_eq(r.token.bytes[19], 0x67);
    line_token_hex(hex, &r.token);
    ck_assert_mem_eq(hex, "0123456789abcdef0123456789abcdef01234567", TOKEN_HEX);
}
