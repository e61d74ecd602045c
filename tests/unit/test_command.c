/* Parts of the command `redlock` that need no redlockd: rows laid out, times read and written. */
#include <check.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_rows.h"
#include "tests/unit/suite.h"

static struct rows rows;

static void given(const char *const text[])
{
    rows_free(&rows);
    for (; *text; text++)
        rows_add(&rows, *text);
    ck_assert(!rows.failed);
}
#define GIVEN(...) given((const char *const[]){__VA_ARGS__, NULL})

static void expect_text(char *got, const char *expected)
{
    ck_assert_msg(strcmp(got, expected) == 0, "got:\n%s", got);
    free(got);
}

static char *table(enum layout layout, size_t width, size_t most)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    rows_table(&rows, layout, width, most, out);
    fclose(out);
    return text;
}

static char *json(enum layout layout)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    rows_json(&rows, layout, out);
    fclose(out);
    return text;
}

T(columns_are_aligned)
{
    GIVEN("name=a fence=7 valid=9896 note=", "name=longer fence=1234 valid=123456 note=x");
    expect_text(table(LAYOUT_LIST, 0, SIZE_MAX), "NAME    FENCE  VALID  NOTE\n"
                                                 "a           7   9.8s  -\n"
                                                 "longer   1234  2m03s  x\n");
}

T(keys_that_some_rows_lack)
{
    GIVEN("node=a state=up", "node=b state=down left=1500 why=restart", "state=odd extra=1 word node=c");
    expect_text(table(LAYOUT_LIST, 0, SIZE_MAX), "NODE  STATE  LEFT  WHY      EXTRA\n"
                                                 "a     up        -  -        -\n"
                                                 "b     down   1.5s  restart  -\n"
                                                 "c     odd       -  -        1\n");
}

/* `redlock run` without -w asks for the longest wait of the protocol, 30 days, which is shown as endless. */
T(a_wait_without_end)
{
    GIVEN("name=a waited=300 left=2591999700", "name=b waited=300 left=2591000000", "name=c left=2592000000");
    expect_text(table(LAYOUT_LIST, 0, SIZE_MAX), "NAME  WAITED     LEFT\n"
                                                 "a      300ms  endless\n"
                                                 "b      300ms   29d23h\n"
                                                 "c          -   30d00h\n");
}

T(cut_to_size)
{
    GIVEN("name=abcdef note=x", "name=b note=y", "name=muchlonger note=z");
    expect_text(table(LAYOUT_LIST, 5, 2), "NAME\nabcde\nb\n"); /* hidden columns have no say in the widths */
    GIVEN("name=abcdef note=x");
    expect_text(table(LAYOUT_LIST, 0, 0), "");
    rows_free(&rows);
    expect_text(table(LAYOUT_LIST, 0, SIZE_MAX), "");
}

T(figures_and_settings)
{
    GIVEN("uptime_ms=65000", "grants=12", "refused_busy=3");
    expect_text(table(LAYOUT_FIGURES, 0, SIZE_MAX),
                "uptime_ms     1m05s\ngrants        12\nrefused_busy  3\n");
    expect_text(json(LAYOUT_FIGURES), "{\"uptime_ms\":65000,\n\"grants\":12,\n\"refused_busy\":3}\n");
    GIVEN("listen=a:1", "listen=b:2", "nodes=c", "max_clients=10", "key_prefix=redlock:");
    expect_text(json(LAYOUT_SETTINGS),
                "{\"listen\":[\"a:1\",\"b:2\"],\n\"nodes\":[\"c\"],\n\"max_clients\":\"10\",\n"
                "\"key_prefix\":\"redlock:\"}\n");
}

T(json_of_what_names_may_be)
{
    GIVEN("name=007 fence=9007199254740991 client=\\x\"y valid=-1", "name={} fence=012 depth=1");
    expect_text(json(LAYOUT_LIST), "[{\"name\":\"007\",\"fence\":9007199254740991,\"client\":\"\\\\x\\\"y\","
                                   "\"valid\":\"-1\"},\n"
                                   "{\"name\":\"{}\",\"fence\":\"012\",\"depth\":1}]\n");
    rows_free(&rows);
    expect_text(json(LAYOUT_LIST), "[]\n");
    expect_text(json(LAYOUT_FIGURES), "{}\n");
}

T(sorted_by_number)
{
    GIVEN("name=a waiters=2", "name=b waiters=10", "name=c", "name=d waiters=2");
    rows_sort(&rows, "waiters");
    char names[8] = "", one[8];
    for (const char *row = rows_next(&rows, NULL); row; row = rows_next(&rows, row))
        strcat(names, row_value(row, "name", one, sizeof one));
    ck_assert_str_eq(names, "badc");
}

static void expect_wait(const char *expected)
{
    char text[256] = "";
    bool waits = waiting_for_masters(&rows, text, sizeof text);
    ck_assert_msg(waits == (expected[0] != '\0') && strcmp(text, expected) == 0, "%s", text);
}

T(what_masters_a_lock_waits_for)
{
    GIVEN("state=up", "state=up", "state=down");
    expect_wait("");
    GIVEN("state=up", "state=up", "state=quarantine left=1000", "state=down"); /* three of four are needed */
    expect_wait("too few masters may vote: 1 of 4 is in quarantine for 1.0s more, 1 of 4 is down");
    GIVEN("state=quarantine left=57000", "state=quarantine left=3000", "state=quarantine left=9000");
    expect_wait("too few masters may vote: 3 of 3 are in quarantine for 9.0s more"); /* then two may vote */
    GIVEN("state=up", "state=quarantine left=2000", "state=quarantine left=3000");
    expect_wait("too few masters may vote: 2 of 3 are in quarantine for 2.0s more");
    GIVEN("state=quarantine left=2000", "state=slow", "state=refused", "state=slow", "state=down");
    expect_wait("too few masters may vote: 1 of 5 is in quarantine for 2.0s more, 2 of 5 are slow, 1 of 5 is "
                "down, 1 of 5 is refused");
    GIVEN("state=down", "state=down", "state=down");
    expect_wait("too few masters may vote: 3 of 3 are down");
}

T(many_columns_and_long_values)
{
    char row[2048] = "";
    for (unsigned i = 0; i < 200; i++)
        snprintf(row + strlen(row), sizeof row - strlen(row), "k%u=%u ", i, i);
    GIVEN(row);
    free(table(LAYOUT_LIST, 0, SIZE_MAX));
    memset(row, 'x', sizeof row - 1);
    memcpy(row, "k=", 2);
    GIVEN(row, row, "k=1");
    char *text = table(LAYOUT_LIST, 0, SIZE_MAX);
    ck_assert_uint_gt(strlen(text), 2 * (sizeof row - 4));
    free(text);
}

T(times_written)
{
    static const struct {
        int64_t ms;
        const char *text;
    } all[] = {{0, "0ms"},           {999, "999ms"},        {1000, "1.0s"},     {59999, "59.9s"},
               {60000, "1m00s"},     {3599999, "59m59s"},   {3600000, "1h00m"}, {172799999, "47h59m"},
               {172800000, "2d00h"}, {2592000000, "30d00h"}};
    char out[DURATION_TEXT];
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        ck_assert_str_eq(duration_text(all[i].ms, out), all[i].text);
}

T(times_read)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } all[] = {{"0", 0},
               {"250ms", 250},
               {"30s", 30000},
               {"5m", 300000},
               {"2h", 7200000},
               {"720h", 2592000000},
               {"721h", -1},
               {"30", -1},
               {"1", -1},
               {"", -1},
               {"s", -1},
               {"-1s", -1},
               {"1.5s", -1},
               {"1 s", -1},
               {"1d", -1},
               {"0x1s", -1},
               {"99999999999ms", -1},
               {"1s ", -1}};
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        int64_t ms = -1;
        bool fine = arg_duration("run", "--ttl", all[i].text, &ms);
        ck_assert_msg(fine == (all[i].ms >= 0) && ms == all[i].ms, "%s: %lld", all[i].text, (long long)ms);
    }
}

T(client_word_is_one)
{
    static const char *const programs[] = {
        "backup", "/usr/bin/a b,\"=",
        "/",      "",
        "#x",     "a-name-that-is-much-longer-than-the-protocol-has-room-for"};
    char out[REDLOCK_WORD_BYTES + 1], behind[32];
    snprintf(behind, sizeof behind, "/%d", (int)getpid());
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        arg_client(programs[i], out);
        ck_assert(arg_word("run", "--client", out));
        ck_assert_msg(fnmatch("?*@?*:?*/?*", out, 0) == 0, "%s", out);
        ck_assert_str_eq(strrchr(out, '/'), behind);
    }
    arg_client("/usr/bin/backup", out);
    ck_assert_ptr_nonnull(strstr(out, ":backup/"));
}
