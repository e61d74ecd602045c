/* SEE of several names in one call, on a real server. */
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

enum { MANY = RESP_BATCH_KEYS };

static struct resp_reply see_all(const char *const names[], unsigned count)
{
    static struct resp_sees sees;
    size_t len;
    for (unsigned i = 0; i < count; i++) {
        struct command command = command_of(COMMAND_SEE, names[i], 0);
        command_to(&command);
        resp_sees_add(&sees, format, &command);
    }
    const char *bytes = resp_sees_end(&sees, &len);
    return exchange(bytes, len);
}

static struct vote vote_on(const struct resp_reply *reply, unsigned key, unsigned keys)
{
    struct vote vote;
    resp_vote_seen(reply, key, keys, &vote);
    return vote;
}

SETUP_ONCE(server_setup, server_teardown);

T(see_of_several)
{
    static const char *const names[] = {"free", "held", "readers", "other"};
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "held", 5000).kind, VOTE_YES);
    server_say(&server, "SET t:,data:held \"" TOKEN_TEXT " 17 1000 a:1\"");
    server_say(&server, "ZADD t:readers 1 x");
    server_say(&server, "SET t:other \"another library\"");
    struct resp_reply reply = see_all(names, 4);
    struct vote vote = vote_on(&reply, 0, 4);
    ck_assert(vote.kind == VOTE_SEEN && vote.who.kind == SEEN_NOBODY);
    vote = vote_on(&reply, 1, 4);
    ck_assert(vote.kind == VOTE_SEEN && vote.who.kind == SEEN_TOKEN && vote.who.fence == 17);
    ck_assert(vote.who.data.len == 3 && memcmp(vote.who.data.text, "a:1", 3) == 0);
    ck_assert(vote.who.ttl_ms > 0 && vote.who.ttl_ms <= 5000);
    vote = vote_on(&reply, 2, 4);
    ck_assert(vote.kind == VOTE_SEEN && vote.who.kind == SEEN_READERS);
    vote = vote_on(&reply, 3, 4);
    ck_assert(vote.kind == VOTE_SEEN && vote.who.kind == SEEN_TOKEN && vote.who.data.len == 0);
    ck_assert_int_eq(vote_on(&reply, 0, 3).kind, VOTE_ERROR); /* as many lines as names */
}

T(the_longest_answer_is_read)
{
    static char name[MANY][NAME_BYTES + 1];
    const char *names[MANY];
    char line[1024], data[DATA_BYTES + 1] = "";
    fresh();
    memset(data, 'd', DATA_BYTES);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "%03u", i);
        memset(name[i] + 3, 'n', NAME_BYTES - 3);
        names[i] = name[i];
        ck_assert_int_eq(run(COMMAND_SET, names[i], 5000).kind, VOTE_YES);
        snprintf(line, sizeof line, "SET t:,data:%.*s \"" TOKEN_TEXT " 17 1000 %s\"", NAME_BYTES, name[i],
                 data);
        server_say(&server, line);
    }
    struct resp_reply reply = see_all(names, MANY);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_uint_eq(vote_on(&reply, i, MANY).who.data.len, DATA_BYTES);
}
