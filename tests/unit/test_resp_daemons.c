/* The list of daemons on a real server. */
#include "proto/daemons.h"
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

static const char words[] = "host=web1 version=1 since=now listen=10.0.0.9:7335";

/* The answer to a daemon that writes itself there; good until the next one. */
static const char *listed(const char *id, const char *cursor)
{
    static char text[RESP_REPLY_BYTES + 1];
    size_t len;
    char *bytes = resp_daemons(format, id, words, cursor, &len);
    struct resp_reply reply = exchange(bytes, len);
    resp_bytes_free(bytes);
    if (reply.type == RESP_ERROR)
        return strcpy(text, reply.text);
    ck_assert_int_eq(reply.type, RESP_STRING);
    memcpy(text, reply.whole, reply.whole_len);
    text[reply.whole_len] = '\0';
    return text;
}

static long long master_ms(void)
{
    char reply[64];
    server_ask(&server, "TIME", reply, sizeof reply);
    return atoll(strchr(strchr(reply, '\n') + 1, '\n') + 1) * 1000;
}

SETUP_ONCE(server_setup, server_teardown);

T(daemons_list_themselves)
{
    char line[256];
    fresh();
    snprintf(line, sizeof line, "ok 0\naaaaaaaa 0 %s", words);
    ck_assert_str_eq(listed("aaaaaaaa", "0"), line);
    ck_assert_int_gt(number_of("PTTL t:,daemons"), 60000);
    const char *both = listed("bbbbbbbb", "0");
    ck_assert(strstr(both, "\naaaaaaaa ") && strstr(both, "\nbbbbbbbb 0 host=web1 "));
    is_reply("HLEN t:,daemons", ":2\r\n");
    /* another one that calls itself so, and the same one again */
    snprintf(line, sizeof line, "HSET t:,daemons aaaaaaaa 'at=%lld host=other'", master_ms());
    server_say(&server, line);
    ck_assert_str_eq(listed("aaaaaaaa", "0"), "taken");
    snprintf(line, sizeof line, "HSET t:,daemons aaaaaaaa 'at=%lld host=other'", master_ms() - 61000);
    server_say(&server, line);
    ck_assert(strstr(listed("aaaaaaaa", "0"), "\naaaaaaaa 0 host=web1 "));
}

/* The script drops old entries, and entries that no daemon has written, whenever a daemon writes itself. */
T(old_daemons_are_dropped)
{
    char line[2048];
    fresh();
    const long long ages[] = {61000, 59000, -5000};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "HSET t:,daemons cccccc0%u 'at=%lld host=x'", i, master_ms() - ages[i]);
        server_say(&server, line);
    }
    server_say(&server, "HSET t:,daemons short x dddddddd nonsense eeeeeeee at=1");
    int len = snprintf(line, sizeof line, "HSET t:,daemons ffffffff 'at=%lld ", master_ms());
    snprintf(line + len, sizeof line - (size_t)len, "%0500d'", 0);
    server_say(&server, line);
    const char *all = listed("aaaaaaaa", "0");
    ck_assert(strstr(all, "\ncccccc01 ") && strstr(all, "\naaaaaaaa 0 "));
    is_reply("HLEN t:,daemons", ":2\r\n");
}

/* A page has about 64 of them; there are never more than 16,384. */
T(many_daemons)
{
    unsigned seen = 0, pages = 0;
    char cursor[DAEMONS_CURSOR_BYTES] = "0";
    fresh();
    char fill[512];
    snprintf(fill, sizeof fill,
             "EVAL \"for i=1,16384 do local id=string.format('%%08x',i) redis.call('HSET',KEYS[1],id,"
             "'at=%lld host='..id..string.rep('x',50)..' version='..string.rep('y',60)) end\" 1 t:,daemons",
             master_ms());
    server_say(&server, fill);
    do {
        struct daemons_page page;
        struct daemon_row row;
        int64_t age_ms;
        const char *text = listed("aaaaaaaa", cursor);
        ck_assert_msg(daemons_page_begin(&page, text, strlen(text)), "%s", text);
        ck_assert(page.full);
        while (daemons_page_next(&page, &row, &age_ms))
            seen++;
        memcpy(cursor, page.next, sizeof cursor);
        pages++;
    } while (strcmp(cursor, "0") != 0);
    ck_assert_uint_ge(seen, 16384);
    ck_assert_uint_ge(pages, 8);
    is_reply("HLEN t:,daemons", ":16384\r\n");
    ck_assert_ptr_nonnull(strstr(listed("00000001", "0"), "taken"));
}

T(a_daemon_writes_itself_without_a_page)
{
    fresh();
    ck_assert_str_eq(listed("aaaaaaaa", "-"), "ok 0");
    ck_assert_ptr_nonnull(strstr(listed("bbbbbbbb", "0"), "\naaaaaaaa "));
    is_reply("HLEN t:,daemons", ":2\r\n");
}

T(a_list_that_is_none)
{
    fresh();
    server_say(&server, "SET t:,daemons x");
    ck_assert_ptr_nonnull(strstr(listed("aaaaaaaa", "0"), "WRONGTYPE"));
    server_say(&server, "DEL t:,daemons");
    static const char *const rights[] = {"hset", "hget", "hlen", "hscan", "hdel"};
    for (unsigned i = 0; i < 5; i++) {
        char line[64];
        server_say(&server, "HSET t:,daemons old x");
        snprintf(line, sizeof line, "ACL SETUSER default -%s", rights[i]);
        server_say(&server, line);
        const char *answer = listed("aaaaaaaa", "0");
        snprintf(line, sizeof line, "ACL SETUSER default +%s", rights[i]);
        server_say(&server, line);
        bool denied = strstr(answer, "NOPERM") || strstr(answer, "can't run") ||
                      strstr(answer, "ACL failure in script");
        ck_assert_msg(denied, "without %s: %s", rights[i], answer);
    }
}
