/* What people are told of generations: each state and each reason has a word, and a text that says what to do. */
#include "daemon/loop/loop_group.h"

#include "daemon/clock.h"
#include "daemon/conf/conf_set.h"
#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

static struct places places;

T(words)
{
    for (unsigned i = GROUP_STEADY; i <= GROUP_OUTDATED; i++)
        ck_assert_str_ne(group_state_name((enum group_state)i), "");
    ck_assert_str_eq(group_why_name(GROUP_WHY_NONE), "");
    for (unsigned i = GROUP_WHY_NONE + 1; i <= GROUP_WHY_OTHER_LIST; i++) {
        char text[GROUP_TEXT_BYTES];
        struct group_row row = {.why = (enum group_why)i, .generation = 8, .their_step = 11, .host = "web3"};
        ck_assert_str_ne(group_why_name(row.why), "");
        group_why_text(&row, text);
        ck_assert_msg(strchr(text, '"') == NULL, "%s: it stands between quotes in the log", text);
        ck_assert_msg(strlen(text) > 20 && strlen(text) < 310, "%s: %s", group_why_name(row.why), text);
    }
}

static const char *text_of(enum group_why why, uint32_t their_step, const char *host)
{
    static char text[GROUP_TEXT_BYTES];
    struct group_row row = {.why = why, .generation = 8, .their_step = their_step};
    snprintf(row.host, sizeof row.host, "%s", host);
    group_why_text(&row, text);
    return text;
}

/* The step between two generations belongs to the later one. */
T(what_to_do)
{
    ck_assert_ptr_nonnull(strstr(text_of(GROUP_WHY_LOAD_FIRST, 10, ""), "load generation 5 first"));
    ck_assert_ptr_nonnull(strstr(text_of(GROUP_WHY_LOAD_FIRST, 11, ""), "load generation 6 first"));
    ck_assert_ptr_nonnull(strstr(text_of(GROUP_WHY_NEEDS_BEFORE, 14, ""), "the list of generation 7"));
    ck_assert_ptr_nonnull(strstr(text_of(GROUP_WHY_DAEMON, 14, "web3"), "the daemon on web3 has not"));
    ck_assert_ptr_nonnull(strstr(text_of(GROUP_WHY_DAEMON, 14, ""), "are still being read"));
}

/* What passes by itself in every change alarms nobody. */
T(what_is_usual)
{
    ck_assert(group_is_usual(&(struct group_row){.state = GROUP_JOINT, .why = GROUP_WHY_SINCE}));
    ck_assert(group_is_usual(&(struct group_row){.state = GROUP_WAITING, .why = GROUP_WHY_DAEMON}));
    ck_assert(!group_is_usual(&(struct group_row){.state = GROUP_WAITING, .why = GROUP_WHY_NEEDS_BEFORE}));
    ck_assert(!group_is_usual(&(struct group_row){.state = GROUP_STEADY, .why = GROUP_WHY_OTHER_LIST}));
    ck_assert(!group_is_usual(&(struct group_row){.state = GROUP_OUTDATED}));
}

/* The servers of a list are places; vacant places count in N only. */
T(sets)
{
    struct coordinator_set set;
    parse("generation: 3\nmax_ttl: 30s\nmax_ttl_before: 20s\nnode_tls: {verify: off}\n"
          "nodes: [redis://c:1, vacant, {url: 'redis://d:1', no_kill: yes}, redis://a:1]\n"
          "nodes_before: [redis://a:1, redis://b:1, redis://c:1]\n");
    ck_assert_msg(faults == 0, "%s", said);
    ck_assert_uint_eq(places_take(&places, conf.nodes_before, conf.masters_before), 7);
    ck_assert(group_set(&places, &conf, false, &set));
    ck_assert_uint_eq(set.generation, 3);
    ck_assert_uint_eq(set.masters, 4);
    ck_assert_uint_eq(set.of, 1 << 2 | 1 << 3 | 1 << 0);
    ck_assert_uint_eq(set.no_kill, 1 << 3);
    ck_assert_int_eq(set.max_ttl_ms, 30000);
    ck_assert(set.hash == conf_set_hash(&conf, conf.nodes, 4));
    ck_assert(group_set(&places, &conf, true, &set));
    ck_assert_uint_eq(set.generation, 2);
    ck_assert_uint_eq(set.of, 7);
    ck_assert_int_eq(set.max_ttl_ms, 20000);
    parse_more("");
    ck_assert(group_set(&places, &conf, true, &set));
    ck_assert_uint_eq(set.masters, 0);
}

/* ---- the masters' lists of daemons ---- */

enum { ALL = 3, READ_AT_MS = 10 };

static struct coordinator_config three(uint32_t generation)
{
    struct coordinator_config config = {
        .masters = ALL + 1,
        .set = {.generation = generation, .masters = ALL, .of = (uint16_t)(7u << generation)},
        .max_ttl_ms = 10000,
        .default_ttl_ms = 10000,
        .min_ttl_ms = 500,
        .node_timeout_ms = 50,
        .max_locks = 10,
        .max_waiters = 10,
    };
    config.set.hash = generation + 1;
    config.set.max_ttl_ms = config.max_ttl_ms;
    return config;
}

/* What masters say of the other daemons counts when so many lists were read that no daemon can be on none of them. */
T(lists_of_fewer_masters_than_vote_are_not_believed)
{
    static struct loop_daemons daemons;
    static struct daemons_entry entry = {
        .row = {.id = "aaaaaaaa", .host = "web2", .at = {.marker = DAEMONS_MARKER}}};
    const struct coordinator_config config = three(0), next = three(1);
    struct coordinator *core = coordinator_new(&config);
    struct loop_view view = {.daemons = &daemons, .coordinator = core};
    struct group_row row;
    ck_assert_ptr_nonnull(core);
    ck_assert_int_eq(coordinator_reload(core, &next.set).group, RELOAD_TAKEN);
    places.used = masters_all(ALL);
    daemons.places = &places;
    daemons.read_ms = READ_AT_MS;
    for (unsigned i = 0; i < ALL; i++)
        memset(daemons.of[i].heads, 0xff, sizeof daemons.of[i].heads);
    entry.next = UINT32_MAX;
    entry.written_ms = clock_boot_ms();
    daemons.of[0].list = &entry;
    daemons.of[0].count = 1;
    for (unsigned read = 0; read < ALL; read++) {
        group_daemons(&view, core);
        coordinator_group_row(core, &row);
        ck_assert_int_eq(row.why, GROUP_WHY_DAEMON);
        ck_assert_str_eq(row.host, read < 2 ? "" : "web2");
        daemons.of[read].whole_ms = READ_AT_MS;
    }
    coordinator_free(core);
}
