/* The scripts of WHO and BREAK on a real server. */
#include "proto/who.h"
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

#define TOKEN "a1b2c3d400000001020304050607080912d1d9b2"
#define OTHER "a1b2c3d400000009020304050607080912d1d9b2"

static struct name name_of(const char *text)
{
    struct name name = {.len = (uint8_t)strlen(text)};
    memcpy(name.text, text, name.len);
    return name;
}

static const char *told(char *bytes, size_t len)
{
    static char text[RESP_REPLY_BYTES + 1];
    struct resp_reply reply = exchange(bytes, len);
    resp_bytes_free(bytes);
    if (reply.type == RESP_ERROR)
        return strcpy(text, reply.text);
    ck_assert_int_eq(reply.type, RESP_STRING);
    memcpy(text, reply.whole, reply.whole_len);
    text[reply.whole_len] = '\0';
    return text;
}

static const char *who(const char *text)
{
    struct name name = name_of(text);
    size_t len;
    char *bytes = who_question("t:", &name, &len);
    return told(bytes, len);
}

static const char *breaks(const char *text, enum who_kind kind, int slot, const char *one, const char *two)
{
    struct name name = name_of(text);
    size_t len;
    const char *values[] = {one, two};
    const struct who_break what = {
        .kind = kind, .slot = slot, .queue_ttl_ms = 60000, .values = values, .count = two ? 2 : 1};
    char *bytes = who_break("t:", &name, &what, &len);
    return told(bytes, len);
}

static long long master_ms(void)
{
    char reply[64];
    server_ask(&server, "TIME", reply, sizeof reply);
    return atoll(strchr(strchr(reply, '\n') + 1, '\n') + 1) * 1000;
}

static void zadd(const char *key, long long score, const char *member)
{
    char line[256];
    snprintf(line, sizeof line, "ZADD %s %lld %s", key, score, member);
    server_say(&server, line);
}

SETUP_ONCE(server_setup, server_teardown);

T(nobody)
{
    fresh();
    ck_assert_str_eq(who("job"), "ok 0 0");
    server_say(&server, "SET t:,slots:job 3");
    ck_assert_str_eq(who("job"), "ok 3 0");
    static const char *const bad[] = {"0", "-1", "1025", "1.5", "x", "99999", "1e2"};
    for (unsigned i = 0; i < 6; i++) {
        char line[64];
        snprintf(line, sizeof line, "SET t:,slots:job %s", bad[i]);
        server_say(&server, line);
        ck_assert_str_eq(who("job"), "ok 0 0");
    }
    server_say(&server, "DEL t:,slots:job");
    server_say(&server, "HSET t:,slots:job a b");
    ck_assert_str_eq(who("job"), "ok 0 0");
}

T(a_string)
{
    fresh();
    server_say(&server, "SET t:job " TOKEN " PX 60000");
    const char *answer = who("job");
    ck_assert_int_eq(strncmp(answer, "ok 0 0\nx " TOKEN " ", 50), 0);
    long long left = atoll(strrchr(answer, ' '));
    ck_assert(left > 50000 && left <= 60000);
    server_say(&server, "SET t:job " TOKEN ",89abcdef");
    ck_assert_str_eq(who("job"), "ok 0 0\nx " TOKEN ",89abcdef -1");
    server_say(&server, "SET t:job some-value-of-another-library");
    ck_assert_str_eq(who("job"), "ok 0 0\nx ?d00ceac4012cbf1c48eea85c41b8b5987ff2af73 -1");
    server_say(&server, "DEL t:job");
    server_say(&server, "HSET t:job a b");
    ck_assert_str_eq(who("job"), "ok 0 0\nx ? -1");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, "?", NULL), "ok 0");
    is_reply("EXISTS t:job", ":1\r\n");
}

T(a_sorted_set)
{
    fresh();
    long long now_ms = master_ms();
    zadd("t:job", now_ms + 90000, TOKEN);
    zadd("t:job", now_ms - 5000, "over");
    zadd("t:job", now_ms + 60000, OTHER);
    const char *answer = who("job");
    ck_assert_int_eq(strncmp(answer, "ok 0 0\ns " TOKEN " ", 50), 0);
    ck_assert_ptr_nonnull(strstr(answer, "\ns " OTHER " "));
    ck_assert_ptr_null(strstr(answer, "over"));
    is_reply("ZCARD t:job", ":3\r\n"); /* nothing is written */
    server_say(&server, "ZADD t:job inf abc");
    ck_assert_int_eq(strncmp(who("job"), "ok 0 0\ns abc inf\n", 17), 0);
}

T(slots_and_a_queue)
{
    char line[128];
    fresh();
    server_say(&server, "SET t:,slots:job 1024");
    server_say(&server, "SET t:job,0 " TOKEN);
    server_say(&server, "SET t:job,1023 " OTHER);
    server_say(&server, "SET t:job,1024 " OTHER); /* beyond the last one */
    server_say(&server, "HSET t:job,5 a b");
    zadd("t:,queue:job", master_ms() - 5000, "aaaaaaaa");
    zadd("t:,queue:job", master_ms() + 5000, "bbbbbbbb");
    server_say(&server, "ZADD t:,queue:job 0 too-long-for-an-id");
    const char *answer = who("job");
    ck_assert_int_eq(
        strncmp(answer, "ok 1024 0\n0 " TOKEN " -1\n5 ? -1\n1023 " OTHER " -1\nq aaaaaaaa ", 123), 0);
    ck_assert_ptr_nonnull(strstr(answer, "\nq bbbbbbbb 0"));
    ck_assert_ptr_null(strstr(answer, "too-long"));
    server_say(&server, "DEL t:,slots:job"); /* its time is over, and that of the locks is not */
    ck_assert_int_eq(
        strncmp(who("job"), "ok 0 0\n0 " TOKEN " -1\n5 ? -1\n1023 " OTHER " -1\nq aaaaaaaa ", 120), 0);
    server_say(&server, "SET t:job " TOKEN);
    ck_assert_int_eq(strncmp(who("job"), "ok 0 0\nx " TOKEN " -1\nq aaaaaaaa ", 64), 0);
    server_say(&server, "DEL t:job");
    server_say(&server, "SET t:,slots:job 1024");
    for (unsigned i = 0; i < 1024; i++) {
        snprintf(line, sizeof line, "SET t:job,%u %.24s%04u%s PX 86400000", i, TOKEN, i, "000102030405");
        server_say(&server, line);
    }
    answer = who("job");
    ck_assert_uint_lt(strlen(answer), RESP_REPLY_BYTES);
    ck_assert_int_eq(strncmp(answer, "ok 1024 0\n0 ", 12), 0);
    unsigned lines = 0;
    for (const char *at = answer; (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_uint_eq(lines, 1026);
}

/* The script answers all the same, and says that there is more. */
T(more_than_an_answer_takes)
{
    char line[128];
    fresh();
    long long now_ms = master_ms();
    for (unsigned i = 0; i < 600; i++) {
        snprintf(line, sizeof line, "ZADD t:job %lld %.30s%010u", now_ms + 100000 + i, TOKEN, i);
        server_say(&server, line);
    }
    const char *answer = who("job");
    ck_assert_int_eq(strncmp(answer, "ok 0 1\ns ", 9), 0);
    snprintf(line, sizeof line, "%.30s%010u ", TOKEN, 599u); /* those that last longest come first */
    ck_assert_int_eq(strncmp(answer + 9, line, strlen(line)), 0);
}

T(break_of_a_string)
{
    fresh();
    server_say(&server, "SET t:job " TOKEN " PX 60000");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, OTHER, NULL), "ok 0");
    ck_assert_str_eq(breaks("job", WHO_SHARED, WHO_NO_SLOT, TOKEN, NULL), "ok 0");
    is_reply("EXISTS t:job", ":1\r\n");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, TOKEN, NULL), "ok 1");
    is_reply("EXISTS t:job", ":0\r\n");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, TOKEN, NULL), "ok 0");
    server_say(&server, "SET t:job some-value-of-another-library");
    ck_assert_str_eq(
        breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, "?d00ceac4012cbf1c48eea85c41b8b5987ff2af73", NULL), "ok 1");
    server_say(&server, "SET t:job,3 " TOKEN);
    server_say(&server, "SET t:job " TOKEN);
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, 3, TOKEN, NULL), "ok 1");
    is_reply("EXISTS t:job t:job,3", ":1\r\n");
}

/* Only the given members go, and the key never stays without a TTL. */
T(break_of_members)
{
    fresh();
    long long now_ms = master_ms();
    zadd("t:job", now_ms + 90000, TOKEN);
    zadd("t:job", now_ms + 60000, OTHER);
    zadd("t:job", now_ms + 30000, "abc");
    ck_assert_str_eq(breaks("job", WHO_SHARED, WHO_NO_SLOT, TOKEN, "def"), "ok 1");
    long long ttl_ms = number_of("PTTL t:job");
    ck_assert(ttl_ms > 50000 && ttl_ms <= 61000);
    ck_assert_str_eq(breaks("job", WHO_SHARED, WHO_NO_SLOT, OTHER, "abc"), "ok 2");
    is_reply("EXISTS t:job", ":0\r\n");
}

/* The queue's first is woken, whoever asks, and leaves the queue. Nobody listens here, so that all leave it. */
T(break_wakes_the_queue)
{
    fresh();
    server_say(&server, "SET t:job " TOKEN);
    server_say(&server, "ZADD t:,queue:job 1 aaaaaaaa 2 bbbbbbbb");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, OTHER, NULL), "ok 0");
    is_reply("ZCARD t:,queue:job", ":2\r\n");
    ck_assert_str_eq(breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, TOKEN, NULL), "ok 1");
    is_reply("ZCARD t:,queue:job", ":0\r\n");
    long long now_ms = master_ms();
    zadd("t:job", now_ms + 90000, TOKEN);
    zadd("t:job", now_ms + 60000, OTHER);
    server_say(&server, "ZADD t:,queue:job 1 aaaaaaaa");
    ck_assert_str_eq(breaks("job", WHO_SHARED, WHO_NO_SLOT, TOKEN, NULL), "ok 1");
    is_reply("ZCARD t:,queue:job", ":1\r\n"); /* a reader is left */
    ck_assert_str_eq(breaks("job", WHO_SHARED, WHO_NO_SLOT, OTHER, NULL), "ok 1");
    is_reply("ZCARD t:,queue:job", ":0\r\n");
}

T(without_the_rights)
{
    static const char *const rights[] = {"get", "time", "zrange"};
    fresh();
    server_say(&server, "SET t:job " TOKEN);
    for (unsigned i = 0; i < 3; i++) {
        char line[64];
        snprintf(line, sizeof line, "ACL SETUSER default -%s", rights[i]);
        server_say(&server, line);
        const char *answer = who("job");
        snprintf(line, sizeof line, "ACL SETUSER default +%s", rights[i]);
        server_say(&server, line);
        ck_assert_msg(strncmp(answer, "ok", 2) != 0, "without %s: %s", rights[i], answer);
    }
    server_say(&server, "ACL SETUSER default -del");
    const char *answer = breaks("job", WHO_EXCLUSIVE, WHO_NO_SLOT, TOKEN, NULL);
    server_say(&server, "ACL SETUSER default +del");
    ck_assert_msg(strncmp(answer, "ok", 2) != 0, "%s", answer);
}
