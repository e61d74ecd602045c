/* Server lines, addresses, clocks and words: the parts of the client library that stand alone. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/address.h"
#include "client/lib/answer.h"
#include "client/lib/sample.h"
#include "client/redlock.h"
#include "tests/unit/suite.h"

#define TOKEN_A "5f0e5f0e5f0e5f0e5f0e5f0e5f0e5f0e5f0e5f0e"

static struct answer answer;

static bool parse(const char *line)
{
    return answer_parse(line, strlen(line), &answer);
}

static void is(struct piece piece, const char *text)
{
    ck_assert_uint_eq(piece.len, strlen(text));
    ck_assert(memcmp(piece.text, text, piece.len) == 0);
}

/* ---- lines ---- */

T(a_grant)
{
    ck_assert(parse("#a.1 +LOCKED job token=" TOKEN_A " fence=1731934500123456 valid=9890 until=86409890"));
    ck_assert_int_eq(answer.code, ANSWER_LOCKED);
    is((struct piece){answer.tag.text, answer.tag.len}, "a.1");
    is(answer.name, "job");
    ck_assert_uint_eq(answer.fence, 1731934500123456u);
    ck_assert_int_eq(answer.until_ms, 86409890);
    ck_assert_int_eq(answer.token.bytes[0], 0x5f);
    is(answer.rest, "+LOCKED job token=" TOKEN_A " fence=1731934500123456 valid=9890 until=86409890");
}

T(words_in_any_order_and_unknown_ones)
{
    ck_assert(
        parse("+LOCKED job slot=3 until=5 new=x fence=1 token=" TOKEN_A " valid=-3 : token=no fence=2"));
    ck_assert_uint_eq(answer.fence, 1);
    ck_assert_int_eq(answer.until_ms, 5);
    ck_assert_int_eq(answer.tag.len, 0);
}

T(refusals)
{
    ck_assert(parse("#7 -NOQUORUM job votes=2/5 nodes=++!!? retry=40600 : 3 votes are needed"));
    ck_assert_int_eq(answer.code, ANSWER_REFUSED);
    ck_assert_int_eq(answer.refusal, REPLY_NOQUORUM);
    ck_assert_int_eq(answer.retry_ms, 40600);
    is(answer.rest, "-NOQUORUM job votes=2/5 nodes=++!!? retry=40600 : 3 votes are needed");
    ck_assert(parse("-LIMIT limit=max_clients"));
    ck_assert_int_eq(answer.refusal, REPLY_LIMIT);
    is(answer.limit, "max_clients");
    ck_assert(parse("#7 -BUSY job"));
    ck_assert_int_eq(answer.retry_ms, -1);
    ck_assert(parse("#7 -SOMETHING-NEW job"));
    ck_assert_int_eq(answer.code, ANSWER_REFUSED);
    ck_assert_int_eq(answer.refusal, REPLY_BADARG);
}

T(pongs)
{
    ck_assert(parse("#1 +PONG ready=0"));
    ck_assert_int_eq(answer.ready, 0);
    ck_assert(parse("+PONG later=1 ready=1"));
    ck_assert_int_eq(answer.ready, 1);
    ck_assert(parse("+PONG ready=no"));
    ck_assert_int_eq(answer.ready, -1);
    ck_assert(parse("+PONG"));
    ck_assert_int_eq(answer.ready, -1);
}

T(rows_and_events)
{
    ck_assert(parse("#1 * name=job : =x"));
    ck_assert_int_eq(answer.code, ANSWER_ROW);
    is(answer.rest, "name=job : =x");
    ck_assert(parse("*"));
    is(answer.rest, "");
    ck_assert(parse("!LOST job token=" TOKEN_A " reason=gone"));
    ck_assert_int_eq(answer.code, ANSWER_LOST);
    is(answer.reason, "gone");
    ck_assert(parse("!RENEWED job token=" TOKEN_A " valid=1 until=2"));
    ck_assert(parse("!DRAIN"));
    ck_assert(parse("!CLOCK behind=2750 new=x"));
    ck_assert_int_eq(answer.code, ANSWER_CLOCK);
    ck_assert_int_eq(answer.behind_ms, 2750);
    ck_assert(parse("!CLOCK behind=-1"));
    ck_assert_int_eq(answer.behind_ms, -1);
    ck_assert(parse("!SOMETHING new=1"));
    ck_assert_int_eq(answer.code, ANSWER_OTHER);
}

T(what_is_no_line_of_ours)
{
    static const char *const bad[] = {
        "",
        "   ",
        "HTTP/1.1 400 Bad Request",
        "220 mail.example.org ESMTP",
        "+",
        "-",
        "+FINE",
        "#",
        "# +OK",
        "#12345678901234567 +OK",
        "#a$ +OK",
        "#1",
        "+OK\t",
        "+OK \x80",
        "+LOCKED",
        "+LOCKED job",
        "+LOCKED job token=" TOKEN_A " fence=1",
        "+LOCKED job token=" TOKEN_A " until=1",
        "+LOCKED job token=" TOKEN_A " fence=0 until=1",
        "+LOCKED job fence=1 until=1",
        "+LOCKED token=" TOKEN_A " fence=1 until=1",
        "+LOCKED job token=5f0e fence=1 until=1",
        "+LOCKED job token=" TOKEN_A "0 fence=1 until=1",
        "+LOCKED job token=" TOKEN_A " fence=1 until=-1",
        "+LOCKED job token=" TOKEN_A " fence=1x until=1",
        "+LOCKED job token=" TOKEN_A " fence=1 until=9999999999999999999",
        "+LOCKED job token=" TOKEN_A " fence=1 until=1 until=2",
        "+LOCKED job token=" TOKEN_A " token=" TOKEN_A " fence=1 until=1",
        "+LOCKED job token=" TOKEN_A " fence=1 : until=1",
        "+EXTENDED job valid=1",
        "+HELLO proto=1 server=x",
        "+HELLO now=1",
        "!CLOCK behind=1 behind=2",
        "!LOST job",
        ("!RENEWED job token=" TOKEN_A),
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!parse(bad[i]), "\"%s\" was taken", bad[i]);
}

/* The parser may read only bytes before the cut: AddressSanitizer finds each byte too many. */
T(lines_cut_anywhere)
{
    static const char line[] = "#a.1 +LOCKED job token=" TOKEN_A " fence=17 valid=9890 until=86409890";

    for (size_t len = 0; len < sizeof line - 1; len++) {
        char *cut = malloc(len ? len : 1);
        memcpy(cut, line, len);
        bool taken = answer_parse(cut, len, &answer);
        ck_assert_msg(!taken || len > strlen(line) - strlen("86409890"), "cut behind %zu bytes", len);
        free(cut);
    }
}

/* ---- clocks ---- */

T(one_clock)
{
    struct sample sample = {0};

    ck_assert(sample_take(&sample, 1000, 1001, 1002, true));
    ck_assert(sample.same);
    ck_assert_int_eq(sample_deadline_ms(&sample, 5000), 5000);
}

/* A Unix socket can lead elsewhere, and a container can have a clock of its own. */
T(not_one_clock)
{
    struct sample sample = {0};

    ck_assert(sample_take(&sample, 1000, 1003, 1002, true));
    ck_assert(!sample.same);
    ck_assert(sample_take(&sample, 1004, 1003, 1005, true));
    ck_assert(!sample.same);
    sample = (struct sample){0};
    ck_assert(sample_take(&sample, 1000, 5000, 9000, true)); /* so slow an answer proves nothing */
    ck_assert(!sample.same);
    sample = (struct sample){0};
    ck_assert(sample_take(&sample, 1000, 1001, 1002, false)); /* TCP may be a tunnel */
    ck_assert(!sample.same);
}

/* The daemon's clock is ahead by any number, runs faster or slower by up to 0.1 %, and is read at any time
 * between the request and its answer: no deadline may be later than the daemon meant. */
T(never_later_than_the_daemon)
{
    srand(1);
    for (int i = 0; i < 100000; i++) {
        struct sample sample = {0};
        double rate = 1 + (rand() % 2001 - 1000) / 1000000.0; /* theirs to ours */
        double ahead_ms = rand() % 1000000 + (rand() % 1000) / 1000.0;
        double sent_ms = 1000 + rand() % 1000 + (rand() % 1000) / 1000.0;
        double there_ms = sent_ms + (rand() % 3 ? rand() % 5 : rand() % 20000) + (rand() % 1000) / 1000.0;
        double back_ms = there_ms + rand() % 5000;
        double theirs_ms = ahead_ms + there_ms * rate;
        double until_ms = (double)(int64_t)theirs_ms + rand() % 3600000;
        double truth_ms = there_ms + (until_ms - theirs_ms) / rate;
        sample_take(&sample, (int64_t)sent_ms, (int64_t)theirs_ms, (int64_t)back_ms, false);
        int64_t deadline_ms = sample_deadline_ms(&sample, (int64_t)until_ms);
        ck_assert_msg((double)deadline_ms <= truth_ms, "%lld is later than %f", (long long)deadline_ms,
                      truth_ms);
        /* The deadline loses only the way there, 0.1 % for drift, up to 0.1 % by the true rate, and what is
         * rounded off. */
        double least_ms = truth_ms - (there_ms - sent_ms) - 0.0021 * (until_ms - theirs_ms) - 5;
        ck_assert_msg((double)deadline_ms >= least_ms, "%lld is far before %f", (long long)deadline_ms,
                      truth_ms);
    }
}

T(the_better_sample_stays)
{
    struct sample sample = {0};

    sample_take(&sample, 1000, 500000, 1001, false);
    int64_t before_ms = sample_deadline_ms(&sample, 600000);
    ck_assert(!sample_take(&sample, 2000, 504000, 6000, false)); /* four seconds on the way */
    ck_assert_int_eq(sample_deadline_ms(&sample, 600000), before_ms);
    ck_assert(sample_take(&sample, 11000, 510000, 11001, false)); /* newer: less for drift */
    ck_assert_int_gt(sample_deadline_ms(&sample, 600000), before_ms);
}

/* The client's clock stood still for a minute (a virtual machine was paused): the old sample gives too late
 * a time. */
T(a_clock_that_stood_still)
{
    struct sample sample = {0};

    sample_take(&sample, 1000, 500000, 1001, false);
    ck_assert(sample_take(&sample, 2000, 561000, 2001, false));
    ck_assert_int_le(sample_deadline_ms(&sample, 570000), 2000 + 9000);
    sample = (struct sample){0};
    sample_take(&sample, 1000, 1000, 1001, true);
    ck_assert(sample.same);
    ck_assert(sample_take(&sample, 2000, 62000, 2001, true));
    ck_assert(!sample.same);
}

/* ---- addresses ---- */

T(addresses)
{
    static const char *const good[][2] = {
        {"unix:/run/x.sock", "unix:/run/x.sock"},
        {"/run/x.sock", "unix:/run/x.sock"},
        {"127.0.0.1:7000", "127.0.0.1:7000"},
        {"127.0.0.1", "127.0.0.1:7335"},
        {"locks.example.org", "locks.example.org:7335"},
        {"[::1]:9", "[::1]:9"},
        {"[::1]", "[::1]:7335"},
        {"::1", "[::1]:7335"},
        {"fe80::1:7335", "[fe80::1:7335]:7335"},
        {"tls://locks.example.org", "tls://locks.example.org:7336"},
        {"tls:locks.example.org:9", "tls://locks.example.org:9"},
        {"tls://[::1]:9", "tls://[::1]:9"},
        {"tls://127.0.0.1:7000", "tls://127.0.0.1:7000"},
    };
    static const char *const bad[] = {
        "",        "unix:", "unix:x", ":7335",  "host:",    "host:0",     "host:x",  "h:65536",
        "[::1",    "[]:1",  "[::1]7", "h ost",  "a/b",      "[::1]:",     "host:-1", "host:123456",
        "[a]b]:1", "tls:",  "tls://", "tls:/x", "tls:///x", "tls:unix:/x"};
    struct address address;
    char text[ADDRESS_BYTES];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_msg(address_parse(good[i][0], &address), "%s", good[i][0]);
        address_text(&address, text);
        ck_assert_str_eq(text, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!address_parse(bad[i], &address), "%s", bad[i]);
    char longest[400];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    ck_assert(!address_parse(longest, &address));
    longest[0] = '/';
    ck_assert(!address_parse(longest, &address));
    longest[ADDRESS_PATH_BYTES - 1] = '\0';
    ck_assert(address_parse(longest, &address));
}

/* ---- words ---- */

T(names_of_errors)
{
    ck_assert_str_eq(redlock_error_name(REDLOCK_OK), "ok");
    ck_assert_str_eq(redlock_error_name(REDLOCK_MISUSE), "misuse");
    for (int i = REDLOCK_OK; i <= REDLOCK_MISUSE; i++)
        ck_assert_str_ne(redlock_error_name((enum redlock_error)i), "unknown");
    ck_assert_str_eq(redlock_error_name((enum redlock_error)(REDLOCK_CLOSED + 1)), "unknown");
    ck_assert_str_eq(redlock_error_name((enum redlock_error) - 1), "unknown");
}

T(pairs_of_a_row)
{
    const char *at = "-NOQUORUM job votes=2/5 =x nodes= retry=7 : a=b";
    struct redlock_pair pair;

    ck_assert(redlock_next_pair(&at, &pair));
    is((struct piece){pair.key, pair.key_len}, "votes");
    is((struct piece){pair.value, pair.value_len}, "2/5");
    ck_assert(redlock_next_pair(&at, &pair));
    is((struct piece){pair.key, pair.key_len}, "nodes");
    ck_assert_uint_eq(pair.value_len, 0);
    ck_assert(redlock_next_pair(&at, &pair));
    is((struct piece){pair.value, pair.value_len}, "7");
    ck_assert(!redlock_next_pair(&at, &pair));
    ck_assert(!redlock_next_pair(&at, &pair));
    at = NULL;
    ck_assert(!redlock_next_pair(&at, &pair));
    ck_assert(!redlock_next_pair(NULL, NULL));
}
