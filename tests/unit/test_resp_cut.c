/* Keys that live longer than any lock may, on a real server: EXTEND and CUT shorten their lives. A clock that was set
 * back leaves them behind; here they are set with long lives. */
#include "daemon/coordinator/base/token.h"
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

enum { MOST_MS = 30000, LONG_MS = 7200000 };

static struct token made(enum token_kind kind, uint8_t random)
{
    static const struct token self = {{0xa1, 0xb2, 0xc3, 0xd4}};
    uint8_t bytes[TOKEN_RANDOM_BYTES];
    struct token token;
    memset(bytes, random, sizeof bytes);
    token_make(&token, &self, kind, 0, bytes);
    return token;
}

static void hex(const struct token *token, char out[TOKEN_HEX + 1])
{
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", token->bytes[i]);
}

/* Sets the key to the token and what stands behind it. */
static void set_value(const char *key, const struct token *token, const char *behind)
{
    char line[160], text[TOKEN_HEX + 1];
    hex(token, text);
    snprintf(line, sizeof line, "SET t:%s %s%s PX %d", key, text, behind, LONG_MS);
    server_say(&server, line);
}

static long long left_ms(const char *key)
{
    char line[64];
    snprintf(line, sizeof line, "PTTL t:%s", key);
    return number_of(line);
}

static void is_cut(const char *key)
{
    long long left = left_ms(key);
    ck_assert_msg(left > MOST_MS / 2 && left <= MOST_MS, "t:%s lives for %lld ms", key, left);
}

static void is_long(const char *key)
{
    ck_assert_msg(left_ms(key) > LONG_MS / 2, "t:%s lives for %lld ms", key, left_ms(key));
}

/* ---- EXTEND ---- */

static struct vote extend(const char *name, const struct token *token, uint64_t most_ms)
{
    struct command command = command_of(COMMAND_EXTEND, name, 5000);
    command.token = *token;
    command.most_ms = most_ms;
    return run_command(&command);
}

SETUP_ONCE(server_setup, server_teardown);

T(extend_cuts_the_key_of_its_token)
{
    struct token ours = made(TOKEN_EXCLUSIVE, 1), theirs = made(TOKEN_EXCLUSIVE, 2);
    fresh();
    set_value("job", &ours, "");
    ck_assert_int_eq(extend("job", &theirs, MOST_MS).kind, VOTE_NO);
    is_long("job");
    ck_assert_uint_eq(extend("job", &ours, MOST_MS).number, MOST_MS);
    is_cut("job");
    long long before = number_of("PEXPIRETIME t:job");
    ck_assert_uint_le(extend("job", &ours, MOST_MS).number, MOST_MS); /* a usual one changes nothing */
    ck_assert_int_eq(number_of("PEXPIRETIME t:job"), before);
}

T(extend_of_a_mark_cuts_nothing)
{
    struct token mark = made(TOKEN_MARK, 1);
    fresh();
    set_value("job", &mark, "");
    ck_assert_uint_gt(extend("job", &mark, 0).number, LONG_MS / 2);
    is_long("job");
}

/* A list's value has its hash behind the token: here that of "a,b". */
T(extend_cuts_all_keys_of_a_list)
{
    struct command set = command_of(COMMAND_SET_ALL, "a,b", LONG_MS), check;
    fresh();
    set.name.more = 1;
    ck_assert_int_eq(run_command(&set).kind, VOTE_YES);
    check = set;
    check.verb = COMMAND_CHECK_ALL;
    ck_assert_uint_gt(run_command(&check).number, LONG_MS / 2);
    is_long("a");
    set.verb = COMMAND_EXTEND_ALL;
    set.number = 5000;
    set.most_ms = MOST_MS;
    ck_assert_uint_eq(run_command(&set).number, MOST_MS);
    is_cut("a");
    is_cut("b");
}

static void share(const struct token *token, uint64_t ttl_ms)
{
    struct command command = command_of(COMMAND_SHARE, "job", ttl_ms);
    command.token = *token;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
}

static uint64_t reader_left_ms(const struct token *token)
{
    struct command command = command_of(COMMAND_CHECK, "job", 0);
    command.token = *token;
    return run_command(&command).number;
}

T(extend_cuts_the_time_of_its_reader)
{
    struct token ours = made(TOKEN_SHARED, 1), theirs = made(TOKEN_SHARED, 2);
    fresh();
    share(&ours, LONG_MS);
    share(&theirs, 60000);
    struct vote vote = extend("job", &ours, MOST_MS);
    ck_assert(vote.number > MOST_MS / 2 && vote.number <= MOST_MS);
    ck_assert_uint_le(reader_left_ms(&ours), MOST_MS);
    ck_assert_uint_gt(reader_left_ms(&theirs), MOST_MS); /* another reader's time is its own */
    long long left = left_ms("job");
    ck_assert(left > MOST_MS && left <= 60000);
}

T(extends_of_several_cut_each)
{
    static struct resp_batch batch;
    struct token first = made(TOKEN_EXCLUSIVE, 1), second = made(TOKEN_EXCLUSIVE, 2);
    size_t len;
    fresh();
    set_value("a", &first, "");
    set_value("b", &second, "");
    for (unsigned i = 0; i < 2; i++) {
        struct command command = command_of(COMMAND_EXTEND, i == 0 ? "a" : "b", 5000);
        command.token = i == 0 ? first : second;
        command.most_ms = MOST_MS;
        resp_batch_add(&batch, format, &command);
    }
    const char *bytes = resp_batch_end(&batch, &len);
    struct resp_reply reply = exchange(bytes, len);
    ck_assert_int_eq(reply.integer, 2);
    ck_assert(reply.element[0] == MOST_MS && reply.element[1] == MOST_MS);
    is_cut("a");
    is_cut("b");
}

/* ---- CUT ---- */

static uint64_t cut(const char *name, uint16_t slots)
{
    struct command command = command_of(COMMAND_CUT, name, MOST_MS);
    command.slots = slots;
    struct vote vote = run_command(&command);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    return vote.number;
}

T(what_a_daemon_made_is_cut)
{
    static const enum token_kind kinds[] = {TOKEN_EXCLUSIVE, TOKEN_SHARED, TOKEN_NAMES, TOKEN_SLOT};
    static const char *const behind[] = {"", "", ",0123cdef", ""};
    fresh();
    for (unsigned random = 0; random < 200; random++) { /* each sum is reckoned by the script, too */
        struct token token = made(kinds[random % 4], (uint8_t)random);
        set_value("job", &token, behind[random % 4]);
        ck_assert_uint_eq(cut("job", 0), 1);
        is_cut("job");
        ck_assert_uint_eq(cut("job", 0), 0); /* and not again */
    }
}

T(what_others_made_is_not)
{
    char text[TOKEN_HEX + 1], line[160];
    struct token token = made(TOKEN_EXCLUSIVE, 1), mark = made(TOKEN_MARK, 1),
                 later = made(TOKEN_MARK + 1, 1);
    fresh();
    hex(&token, text);
    static const char *const behind[] = {",0123cde", ",0123cdef0", ",0123cdeg", "0123cdef0", " ", "x"};
    for (unsigned i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        snprintf(line, sizeof line, "SET t:job \"%s%s\" PX %d", text, behind[i], LONG_MS);
        server_say(&server, line);
        ck_assert_uint_eq(cut("job", 0), 0);
        is_long("job");
    }
    set_value("job", &mark, "");
    ck_assert_uint_eq(cut("job", 0), 0);
    set_value("job", &later, "");
    ck_assert_uint_eq(cut("job", 0), 0);
    token.bytes[TOKEN_BYTES - 1] ^= 1; /* 40 digits of another library */
    set_value("job", &token, "");
    ck_assert_uint_eq(cut("job", 0), 0);
    is_long("job");
    server_say(&server, "SET t:job rubbish PX 7200000");
    ck_assert_uint_eq(cut("job", 0), 0);
    is_long("job");
    server_say(&server, "DEL t:job");
    ck_assert_uint_eq(cut("job", 0), 0);
    server_say(&server, "LPUSH t:job a");
    ck_assert_uint_eq(cut("job", 0), 0);
    ck_assert_int_eq(left_ms("job"), -1);
}

T(a_key_without_a_ttl_is_left_alone)
{
    char text[TOKEN_HEX + 1], line[160];
    struct token token = made(TOKEN_EXCLUSIVE, 1);
    fresh();
    hex(&token, text);
    snprintf(line, sizeof line, "SET t:job %s", text);
    server_say(&server, line);
    ck_assert_uint_eq(cut("job", 0), 0);
    ck_assert_int_eq(left_ms("job"), -1);
    server_say(&server, "PEXPIRE t:job 20000"); /* nor is one that lives for less */
    ck_assert_uint_eq(cut("job", 0), 0);
    ck_assert_int_le(left_ms("job"), 20000);
}

T(readers_are_cut_one_by_one)
{
    struct token first = made(TOKEN_SHARED, 1), second = made(TOKEN_SHARED, 2), third = made(TOKEN_SHARED, 3);
    fresh();
    share(&first, LONG_MS);
    share(&second, 20000);
    share(&third, LONG_MS);
    ck_assert_uint_eq(cut("job", 0), 2);
    is_cut("job");
    ck_assert_uint_le(reader_left_ms(&first), MOST_MS);
    ck_assert_uint_le(reader_left_ms(&second), 20000);
    ck_assert_int_eq(number_of("ZCARD t:job"), 3);
    struct token stranger = first;
    stranger.bytes[TOKEN_BYTES - 1] ^= 1;
    share(&stranger, LONG_MS);
    ck_assert_uint_eq(cut("job", 0), 0);
    is_long("job");
}

T(slots_are_cut_one_by_one)
{
    struct token token = made(TOKEN_SLOT, 1);
    fresh();
    set_value("job,0", &token, "");
    set_value("job,3", &token, "");
    set_value("job,4", &token, ""); /* the name has four slots */
    ck_assert_uint_eq(cut("job", 4), 2);
    is_cut("job,0");
    is_cut("job,3");
    is_long("job,4");
}

T(look_tells_which_slot_ends_first_and_last)
{
    struct token token = made(TOKEN_SLOT, 1);
    struct command look = command_of(COMMAND_LOOK, "job", 60000);
    fresh();
    look.slots = 2;
    command_to(&look);
    set_value("job,0", &token, "");
    ck_assert_uint_eq(run_command(&look).seen.longest_ms, 0); /* there is a free one */
    set_value("job,1", &token, "");
    server_say(&server, "PEXPIRE t:job,1 20000");
    struct vote vote = run_command(&look);
    ck_assert_int_eq(vote.kind, VOTE_LOOKED);
    ck_assert(vote.number > 10000 && vote.number <= 20000);
    ck_assert_uint_gt(vote.seen.longest_ms, LONG_MS / 2);
}
