/* Commands and scripts on a real server; the queue and the list of daemons have programs of their own. */
#include <time.h>

#include "proto/group.h"
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

SETUP_ONCE(server_setup, server_teardown);

T(script_sha1s)
{
    load_scripts();
    ck_assert_int_eq(resp_script_of(COMMAND_SET), -1);
    server_say(&server, "SCRIPT FLUSH");
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NOT_RUN);
}

T(a_lock_taken_and_given_back)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_NO);
    struct vote vote = run(COMMAND_CHECK, "job", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_le(vote.number, 5000);
    ck_assert_uint_gt(vote.number, 1000);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_CHECK, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_EXTEND, "job", 5000).kind, VOTE_NO);
}

T(extend_lengthens_only)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    struct vote vote = run(COMMAND_EXTEND, "job", 60000);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 60000);
    vote = run(COMMAND_EXTEND, "job", 20000);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_gt(vote.number, 30000);
    ck_assert_uint_gt(run(COMMAND_CHECK, "job", 0).number, 30000);
}

/* ---- an EXTEND of several keys ---- */

T(keys_of_others_are_left_alone)
{
    char reply[64];
    fresh();
    server_say(&server, "SET t:job another");
    server_say(&server, "LPUSH t:list a");
    static const char *const names[] = {"job", "list", "missing"};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(run(COMMAND_RELEASE, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_EXTEND, names[i], 5000).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_CHECK, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_MOVE, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(release_waking(names[i]).kind, VOTE_NO);
    }
    ck_assert_int_eq(run(COMMAND_SET, "list", 5000).kind, VOTE_NO);
    server_ask(&server, "EXISTS t:job t:list t:missing", reply, sizeof reply);
    ck_assert_str_eq(reply, ":2\r\n");
    server_ask(&server, "PTTL t:job", reply, sizeof reply);
    ck_assert_str_eq(reply, ":-1\r\n");
}

T(our_key_without_a_ttl)
{
    fresh();
    server_say(&server, "SET t:job " TOKEN_TEXT);
    struct vote vote = run(COMMAND_CHECK, "job", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 0);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_YES);
    is_reply("PTTL t:job", ":-1\r\n");
    server_say(&server, "SET t:job " TOKEN_TEXT);
    ck_assert_uint_eq(run(COMMAND_EXTEND, "job", 5000).number, 5000);
}

T(move_keeps_the_ttl)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    long long before = number_of("PEXPIRETIME t:job");
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(number_of("PEXPIRETIME t:job"), before);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_NO); /* the old token is gone */
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NO);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_eq(number_of("PEXPIRETIME t:job"), before);
}

/* Another token, as the secret one of a lease that settles. */
static struct command with_other(enum command_verb verb)
{
    struct command command = command_of(verb, "job", 0);
    command.other = command.token;
    command.token.bytes[0] = 0xee;
    command.has_other = true;
    return command;
}

T(either_token_is_released_or_moved)
{
    fresh();
    struct command release = with_other(COMMAND_RELEASE), move = with_other(COMMAND_MOVE);
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&release).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&release).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_YES);
    command_to(&release); /* the release that looks at the queue */
    release.number = 600;
    ck_assert_int_eq(run_command(&release).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&move).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&move).kind, VOTE_YES);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_gt(number_of("PTTL t:job"), 1000);
}

T(settle_replaces_the_secret_and_extends)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SETTLE, "job", 1000).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    ck_assert_uint_eq(run(COMMAND_SETTLE, "job", 60000).number, 60000);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_uint_gt(run(COMMAND_SETTLE, "job", 1).number,
                      30000); /* again: it is settled, and not shortened */
    ck_assert_int_gt(number_of("PTTL t:job"), 30000);
    ck_assert_int_eq(run(COMMAND_EXTEND, "job", 5000).kind, VOTE_NO);
    server_say(&server, "SET t:job another");
    ck_assert_int_eq(run(COMMAND_SETTLE, "job", 5000).kind, VOTE_NO);
    server_say(&server, "DEL t:job");
    server_say(&server, "LPUSH t:job a");
    ck_assert_int_eq(run(COMMAND_SETTLE, "job", 5000).kind, VOTE_NO);
}

T(settle_runs_without_memory)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 1");
    ck_assert_uint_gt(run(COMMAND_SETTLE, "job", 1).number, 5000);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    server_say(&server, "CONFIG SET maxmemory 0");
}

T(whose_a_key_is)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_GET, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    struct command command = command_of(COMMAND_GET, "job", 0);
    struct vote vote = run_command(&command);
    ck_assert_int_eq(vote.kind, VOTE_TOKEN);
    ck_assert_mem_eq(&vote.token, &command.token, sizeof vote.token);
    server_say(&server, "LPUSH t:list a");
    ck_assert_int_eq(run(COMMAND_GET, "list", 0).kind, VOTE_TOKEN);
    server_say(&server, "SET t:other x");
    ck_assert_int_eq(run(COMMAND_GET, "other", 0).kind, VOTE_TOKEN);
}

T(heal_sets_what_ends_then)
{
    fresh();
    struct vote now = run(COMMAND_TIME, "", 0);
    ck_assert_int_eq(now.kind, VOTE_NUMBER);
    ck_assert_int_eq(run(COMMAND_HEAL, "job", now.number + 60000).kind, VOTE_YES);
    ck_assert_uint_eq((uint64_t)number_of("PEXPIRETIME t:job"), now.number + 60000);
    ck_assert_int_eq(run(COMMAND_HEAL, "job", now.number + 90000).kind, VOTE_NO);
    ck_assert_uint_eq((uint64_t)number_of("PEXPIRETIME t:job"), now.number + 60000);
    /* A HEAL that comes too late sets nothing, although the server answers OK. */
    ck_assert_int_eq(run(COMMAND_HEAL, "late", now.number - 1).kind, VOTE_YES);
    is_reply("EXISTS t:late", ":0\r\n");
}

T(time_is_the_servers)
{
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    struct vote vote = run(COMMAND_TIME, "", 0);
    clock_gettime(CLOCK_REALTIME, &after);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_ge(vote.number, (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / 1000000);
    ck_assert_uint_le(vote.number, (uint64_t)after.tv_sec * 1000 + (uint64_t)after.tv_nsec / 1000000);
}

#define OTHER_RUN "fedcba9876543210fedcba9876543210fedcba98"

static void say_set(const char *text)
{
    char line[400];
    snprintf(line, sizeof line, "SET t:,group \"%s\"", text);
    server_say(&server, line);
}

static int64_t wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

T(group_and_probe)
{
    fresh();
    struct command command = command_of(COMMAND_GROUP_NEW, "", 600000);
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_NO);
    command.verb = COMMAND_GROUP_SET;
    ck_assert_int_eq(run_command(&command).kind, VOTE_NO);
    command.verb = COMMAND_GROUP_NEW;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&command).kind, VOTE_NO);
    ck_assert_int_le(number_of("PTTL t:,group"), 600000);
    struct vote vote = run(COMMAND_GROUP, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    ck_assert_uint_eq(vote.group.masters, 5);
    ck_assert_int_eq(vote.group.max_ttl_ms, 30000);
    ck_assert_int_eq(vote.group.from_ms, 1732200000000);
    ck_assert_mem_eq(vote.group.run_id, RUN_ID, RUN_ID_HEX);

    ck_assert_int_eq(run(COMMAND_PROBE, "", 900000).kind, VOTE_GROUP); /* and keeps it alive */
    ck_assert_int_gt(number_of("PTTL t:,group"), 600000);

    command.verb = COMMAND_GROUP_SET;
    command.group.from_ms++;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_le(number_of("PTTL t:,group"), 600000);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).group.from_ms, command.group.from_ms);
}

/* The rules by which the script writes, beside those that group_and_probe shows. */
static const struct {
    const char *found, *ours; /* behind "1 N=5 max_ttl=30000" */
    enum vote_kind kind;
    const char *then; /* NULL: as it was found */
} written[] = {
    {" run=" RUN_ID " from=1000", " run=" RUN_ID " from=900", VOTE_YES, " run=" RUN_ID " from=1000"},
    {" run=" RUN_ID " from=1000 by=5f0c93aa why=clock", " run=" RUN_ID " from=900 by=00000000 why=memory",
     VOTE_YES, " run=" RUN_ID " from=1000 by=5f0c93aa why=clock"},
    {" run=" RUN_ID " from=1000 by=5f0c93aa why=clock", " run=" RUN_ID " from=1001 why=memory", VOTE_YES,
     " run=" RUN_ID " from=1001 why=memory"},
    {" run=" OTHER_RUN " from=1000", " run=" RUN_ID " from=900", VOTE_YES, " run=" RUN_ID " from=900"},
    {" run=" RUN_ID " from=1000", " run=" RUN_ID " from=900 set=0123456789abcdef", VOTE_YES,
     " run=" RUN_ID " from=1000 set=0123456789abcdef"},
    {" run=" RUN_ID " from=1000 set=0123456789abcdef", " run=" RUN_ID " from=1001", VOTE_YES,
     " run=" RUN_ID " from=1001 set=0123456789abcdef"},
    {" run=" RUN_ID " from=1000 set=0123456789abcdef", " run=" RUN_ID " from=1001 set=0123456789abcdee",
     VOTE_NO, NULL},
    {" run=" RUN_ID " from=1000 back=500", " run=" RUN_ID " from=900", VOTE_YES,
     " run=" RUN_ID " from=1000 back=500"},
    {" run=" RUN_ID " from=1000 back=500", " run=" RUN_ID " from=1001", VOTE_YES,
     " run=" RUN_ID " from=1001"},
    {" run=" RUN_ID " from=1000 later=x later2=y", " run=" RUN_ID " from=900", VOTE_YES,
     " run=" RUN_ID " from=1000"},
    {"0 run=" RUN_ID " from=1000", " run=" RUN_ID " from=1001", VOTE_NO, NULL},
};

static struct command group_command(const char *words)
{
    struct command command = command_of(COMMAND_GROUP_SET, "", 600000);
    char text[256];
    int len = snprintf(text, sizeof text, "1 N=5 max_ttl=30000%s", words);
    ck_assert(group_parse(text, (size_t)len, &command.group));
    command.waited_ms = 30302;
    return command;
}

T_EACH(the_script_writes_the_group, sizeof written / sizeof written[0])
{
    char found[300], then[300];
    const char *text = written[_i].then ? written[_i].then : written[_i].found;
    struct command command = group_command(written[_i].ours);
    fresh();
    snprintf(found, sizeof found, "1 N=5 max_ttl=30000%s", written[_i].found);
    snprintf(then, sizeof then, "$%zu\r\n1 N=5 max_ttl=30000%s\r\n", 19 + strlen(text), text);
    say_set(found);
    ck_assert_int_eq(run_command(&command).kind, written[_i].kind);
    is_reply("GET t:,group", then);
}

#define STEP(s, from, rest)                                                                           \
    "2 step=" #s " max_ttl=30000 run=" RUN_ID " from=" #from " since=" rest " set=00000000000000e" #s \
    " before=00000000000000f" #s

/* The rules for steps: what is found, what is written over it, and what is there then. An S stands for a since= that is
 * TIME. */
static const struct {
    const char *found, *ours;
    enum vote_kind kind;
    const char *then; /* NULL: as it was found */
} raised[] = {
    {"1 N=5 max_ttl=30000 run=" RUN_ID " from=1000 by=5f0c93aa why=clock", STEP(1, 900, "1"), VOTE_YES,
     STEP(1, 1000, "S") " by=5f0c93aa why=clock"},
    {"1 N=4 max_ttl=10 run=" RUN_ID " from=1000 set=00000000000000ff", STEP(1, 1001, "1"), VOTE_YES,
     STEP(1, 1001, "S")},
    {"1 N=5 max_ttl=30000 run=" OTHER_RUN " from=1000", STEP(1, 900, "1"), VOTE_YES, STEP(1, 900, "S")},
    {STEP(1, 1000, "500 settled") " back=800", STEP(2, 900, "1"), VOTE_YES, STEP(2, 1000, "S") " back=800"},
    {STEP(1, 1000, "500"), STEP(2, 900, "1 settled"), VOTE_YES, STEP(2, 1000, "S settled")},
    {STEP(1, 1000, "500"), STEP(1, 900, "1 settled") " why=memory", VOTE_YES, STEP(1, 1000, "500 settled")},
    {STEP(1, 1000, "500 settled"), STEP(1, 1001, "1"), VOTE_YES, STEP(1, 1001, "500 settled")},
    {STEP(1, 1000, "999999999999999"), STEP(1, 1001, "1"), VOTE_YES, STEP(1, 1001, "S")},
    {STEP(2, 1000, "500"), STEP(1, 1001, "1"), VOTE_NO, NULL},
    {STEP(1, 1000, "500"), "1 N=5 max_ttl=30000 run=" RUN_ID " from=1001", VOTE_NO, NULL},
    {STEP(1, 1000, "500"),
     "2 step=1 max_ttl=30000 run=" RUN_ID " from=1001 since=1 set=00000000000000e1"
     " before=00000000000000f2",
     VOTE_NO, NULL},
    {STEP(1, 1000, "500"),
     "2 step=1 max_ttl=30000 run=" RUN_ID " from=1001 since=1 set=00000000000000e2"
     " before=00000000000000f1",
     VOTE_NO, NULL},
    {STEP(1, 1000, "500"),
     "2 step=1 max_ttl=30001 run=" RUN_ID " from=1001 since=1 set=00000000000000e1"
     " before=00000000000000f1",
     VOTE_NO, NULL},
};

T_EACH(the_script_raises_the_step, sizeof raised / sizeof raised[0])
{
    struct group expected;
    struct command command = command_of(COMMAND_GROUP_SET, "", 0);
    const char *then = raised[_i].then != NULL ? raised[_i].then : raised[_i].found;
    const char *now = strchr(then, 'S');
    char text[300];
    fresh();
    say_set(raised[_i].found);
    ck_assert(group_parse(raised[_i].ours, strlen(raised[_i].ours), &command.group));
    command.waited_ms = 30302;
    int64_t before_ms = wall_ms();
    ck_assert_int_eq(run_command(&command).kind, raised[_i].kind);
    struct vote vote = run(COMMAND_GROUP, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    snprintf(text, sizeof text, "%.*s%s%s", now != NULL ? (int)(now - then) : (int)strlen(then), then,
             now != NULL ? "1" : "", now != NULL ? now + 1 : "");
    ck_assert(group_parse(text, strlen(text), &expected));
    if (now != NULL) {
        ck_assert_int_ge(vote.group.since_ms, before_ms);
        ck_assert_int_le(vote.group.since_ms, wall_ms());
        expected.since_ms = vote.group.since_ms;
    }
    ck_assert_mem_eq(&vote.group, &expected, sizeof expected);
    if (raised[_i].kind == VOTE_YES && command.group.step > 0)
        ck_assert_int_eq(number_of("PTTL t:,group"), -1);
}

/* The key that the first step found has a TTL. */
T(a_lasting_probe_takes_the_ttl_away)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_PROBE_LASTING, "", 0).kind, VOTE_NO);
    say_set(STEP(1, 1000, "500"));
    server_say(&server, "PEXPIRE t:,group 600000");
    ck_assert_int_eq(run(COMMAND_PROBE_LASTING, "", 0).group.step, 1);
    ck_assert_int_eq(number_of("PTTL t:,group"), -1);
}

/* The clock was set back since from= was written; set=, back= and why= stand in one text, at its longest. */
T(a_from_too_far_ahead_gets_back)
{
    struct command command = group_command(" run=" RUN_ID " from=1 set=0123456789abcdef");
    char found[300];
    fresh();
    snprintf(found, sizeof found,
             "1 N=5 max_ttl=30000 run=" RUN_ID
             " from=999999999999999 by=0123456789abcde why=123456789012345");
    size_t len = strlen(found);
    memset(found + len, 'x', sizeof found - len);
    memcpy(found + len, " later=", 7);
    found[RESP_TEXT_BYTES] = '\0';
    say_set(found);
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_GROUP);
    int64_t before_ms = wall_ms();
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    struct vote vote = run(COMMAND_PROBE, "", 600000);
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    ck_assert_int_eq(vote.group.from_ms, 999999999999999);
    ck_assert_int_ge(vote.group.back_ms, before_ms);
    ck_assert_int_le(vote.group.back_ms, wall_ms());
    ck_assert(vote.group.set == UINT64_C(0x0123456789abcdef));
    ck_assert_str_eq(vote.group.why, "123456789012345");
    ck_assert_str_eq(vote.group.by, "0123456789abcde");
    int64_t back_ms = vote.group.back_ms;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES); /* once is enough */
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).group.back_ms, back_ms);
    command.group.from_ms = before_ms + 30302; /* a new doubt cannot lower from= */
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).group.from_ms, 999999999999999);
    command.group.from_ms = 999999999999999; /* as long as can be */
    command.group.masters = 999999999;
    command.group.max_ttl_ms = GROUP_MAX_MS;
    command.group.back_ms = GROUP_MAX_MS;
    memcpy(command.group.by, vote.group.by, GROUP_WORD);
    memcpy(command.group.why, vote.group.why, GROUP_WORD);
    char text[GROUP_BYTES];
    ck_assert_uint_lt(group_text(text, &command.group), GROUP_BYTES);
    command.group.step = 999999999;
    command.group.before = command.group.set;
    command.group.since_ms = GROUP_MAX_MS;
    command.group.settled = true;
    len = group_text(text, &command.group);
    ck_assert_uint_lt(len, GROUP_BYTES);
    ck_assert_uint_le(len, RESP_TEXT_BYTES);
    ck_assert(group_parse(text, len, &vote.group));
    command.group.masters = 0;
    ck_assert_mem_eq(&vote.group, &command.group, sizeof vote.group);
}

/* It was found too far ahead before, and the clock was set back once more. */
T(a_back_too_far_ahead_is_set_anew)
{
    struct command command = group_command(" run=" RUN_ID " from=1");
    fresh();
    say_set("1 N=5 max_ttl=30000 run=" RUN_ID " from=99999999999999 back=99999999990000");
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_le(run(COMMAND_GROUP, "", 0).group.back_ms, wall_ms());
}

T(group_by_hand)
{
    fresh();
    server_say(&server, "SET t:,group rubbish");
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_UNREADABLE);
    server_say(&server, "DEL t:,group");
    server_say(&server, "HSET t:,group N 5");
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_GROUP_NEW, "", 600000).kind, VOTE_NO);
    is_reply("TYPE t:,group", "+hash\r\n");
}

T(fences_only_grow)
{
    fresh();
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, 0);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1732200000000001).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1732200000000001).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1700000000000000).kind, VOTE_NO);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, 1732200000000001);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", FENCE_MAX - 1).kind, VOTE_YES);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, FENCE_MAX - 1);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", FENCE_MAX).kind, VOTE_YES);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, FENCE_MAX);
    server_say(&server, "DEL t:,fences");
    server_say(&server, "SET t:,fences x");
    struct vote vote = run(COMMAND_ZADD, "job", 5);
    ck_assert_int_eq(vote.kind, VOTE_ERROR);
    ck_assert_int_eq(vote.error, ERROR_WRONGTYPE);
}

T(a_server_that_refuses_writes)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET min-replicas-to-write 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_EXTEND, "job", 20000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_GROUP_NEW, "", 600000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_ENQUEUE, "job", 600).error, ERROR_NOREPLICAS);
    server_say(&server, "CONFIG SET min-replicas-to-write 0");
    server_say(&server, "REPLICAOF 127.0.0.1 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).error, ERROR_READONLY);
    struct vote vote = run(COMMAND_INFO, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert(vote.info.replica);
    server_say(&server, "REPLICAOF NO ONE");
    /* Out of memory: no new lock is granted, but releases and extensions go on. */
    server_say(&server, "CONFIG SET maxmemory 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 10000).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_ENQUEUE, "job", 600).error, ERROR_OOM);
    is_reply("GET t:job", "$40\r\n" TOKEN_TEXT "\r\n");
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_NO);
    ck_assert_uint_eq(run(COMMAND_EXTEND, "job", 20000).number, 20000);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 0");
}

/* An error of the GET itself does not mean that the key is another's. */
T(a_user_without_get)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    server_say(&server, "ACL SETUSER default -get");
    struct vote release = run(COMMAND_RELEASE, "job", 0), extend = run(COMMAND_EXTEND, "job", 20000),
                check = run(COMMAND_CHECK, "job", 0), move = run(COMMAND_MOVE, "job", 0);
    server_say(&server, "ACL SETUSER default +get");
    ck_assert_int_eq(release.kind, VOTE_ERROR);
    ck_assert_int_eq(extend.kind, VOTE_ERROR);
    ck_assert_int_eq(check.kind, VOTE_ERROR);
    ck_assert_int_eq(move.kind, VOTE_ERROR);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
}

T(handshake_of_a_real_server)
{
    char reply[8192];
    struct vote vote = run(COMMAND_INFO, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_ge(vote.info.version, 0x060200);
    ck_assert_int_lt(vote.info.uptime_s, 3600);
    ck_assert_uint_ge(vote.info.connections, 1);
    ck_assert(!vote.info.replica && !vote.info.cluster && !vote.info.evicts && !vote.info.loading);
    server_ask(&server, "INFO server", reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "run_id:"));
    ck_assert_mem_eq(vote.info.run_id, strstr(reply, "run_id:") + 7, RUN_ID_HEX);
    server_say(&server, "CONFIG SET maxmemory-policy allkeys-lru");
    ck_assert(run(COMMAND_INFO, "", 0).info.evicts);
    server_say(&server, "CONFIG SET maxmemory-policy noeviction");
    vote = run(COMMAND_CLIENT_ID, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_gt(vote.number, 0);
    vote = run(COMMAND_KILL, "", vote.number);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 0); /* that connection was closed already */
}
