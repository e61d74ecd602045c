/* Lines out: each reply, event and row, byte for byte. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/line_said.h"
#include "tests/unit/suite.h"

#define HEX "0001020304050607ff090a0b0c0d0e0f10111213"

static const struct tag untagged;
static const struct tag seven = {1, "7"};

static struct token a_token(void)
{
    struct token token;

    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        token.bytes[i] = (uint8_t)i;
    token.bytes[8] = 0xff;
    return token;
}

static struct name a_name(const char *text)
{
    struct name name = {.len = (uint8_t)strlen(text)};

    memcpy(name.text, text, name.len);
    return name;
}

/* A reply with a value in each field, so that a field that does not belong to its code would show. */
static struct reply a_reply(enum reply_code code)
{
    struct reply reply = {
        .code = code,
        .name = a_name("job"),
        .token = a_token(),
        .fence = 1700000000000000,
        .valid_ms = 9897,
        .until_ms = 86409897,
        .confirmed = 5,
        .masters = 5,
        .votes = 2,
        .retry_ms = -1,
        .waited_ms = 30001,
        .limit = LIMIT_MAX_LOCKS,
    };

    memcpy(reply.nodes, "+-?!~", 5);
    return reply;
}

static void ck_reply(const struct reply *reply, const char *expected)
{
    char out[SERVER_LINE_BYTES];

    ck_assert_str_eq(as_text(out, line_format_reply(out, &untagged, reply)), expected);
}

static void ck_code(enum reply_code code, const char *expected)
{
    struct reply reply = a_reply(code);

    ck_reply(&reply, expected);
}

/* ---- replies ---- */

T(done)
{
    struct reply reply = a_reply(REPLY_OK);

    ck_code(REPLY_LOCKED, "+LOCKED job token=" HEX " fence=1700000000000000 valid=9897 until=86409897");
    ck_code(REPLY_UNLOCKED, "+UNLOCKED job confirmed=5/5");
    ck_code(REPLY_EXTENDED, "+EXTENDED job valid=9897 until=86409897");
    ck_code(REPLY_HELD, "+HELD job valid=9897 until=86409897");
    reply.name.len = 0;
    ck_reply(&reply, "+OK");
    reply.code = REPLY_PONG;
    ck_reply(&reply, "+PONG ready=0");
    reply.ready = true;
    ck_reply(&reply, "+PONG ready=1");
    reply.code = REPLY_BYE;
    ck_reply(&reply, "+BYE");
}

T(depth)
{
    struct reply reply = a_reply(REPLY_LOCKED);

    reply.depth = 2;
    ck_reply(&reply, "+LOCKED job token=" HEX " fence=1700000000000000 valid=9897 until=86409897 depth=2");
    reply.code = REPLY_UNLOCKED;
    reply.confirmed = 0;
    reply.depth = 1;
    ck_reply(&reply, "+UNLOCKED job confirmed=0/5 depth=1");
}

T(a_reader_is_told_that_it_is_one)
{
    struct reply reply = a_reply(REPLY_LOCKED);

    reply.shared = true;
    ck_reply(&reply,
             "+LOCKED job token=" HEX " fence=1700000000000000 valid=9897 until=86409897 mode=shared");
    reply.depth = 1;
    ck_reply(&reply, "+LOCKED job token=" HEX
                     " fence=1700000000000000 valid=9897 until=86409897 mode=shared depth=1");
    reply.code = REPLY_HELD;
    ck_reply(&reply, "+HELD job valid=9897 until=86409897");
}

T(slots_are_told_from_0_on)
{
    struct reply reply = a_reply(REPLY_LOCKED);
    struct notice notice = {.kind = NOTICE_LOST, .reason = LOST_GONE, .slot = 1024};
    char out[SERVER_LINE_BYTES];

    reply.slot = 1;
    reply.depth = 2;
    ck_reply(&reply,
             "+LOCKED job token=" HEX " fence=1700000000000000 valid=9897 until=86409897 slot=0 depth=2");
    reply = a_reply(REPLY_HELD);
    reply.slot = 8;
    ck_reply(&reply, "+HELD job valid=9897 until=86409897 slot=7");
    notice.name = reply.name;
    ck_assert_ptr_nonnull(strstr(as_text(out, line_format_notice(out, &notice)), " reason=gone slot=1023"));
}

T(numbers_to_their_ends)
{
    struct reply reply = a_reply(REPLY_LOCKED);

    reply.fence = UINT64_MAX;
    reply.valid_ms = INT64_MIN;
    reply.until_ms = INT64_MAX;
    ck_reply(&reply, "+LOCKED job token=" HEX
                     " fence=18446744073709551615 valid=-9223372036854775808 until=9223372036854775807");
    reply.fence = 0;
    reply.valid_ms = -1;
    reply.until_ms = 10;
    ck_reply(&reply, "+LOCKED job token=" HEX " fence=0 valid=-1 until=10");
}

T(tags)
{
    struct reply reply = a_reply(REPLY_HELD);
    struct tag longest = {.len = TAG_BYTES};
    memcpy(longest.text, "abcdefghijklmnop", TAG_BYTES);
    char out[SERVER_LINE_BYTES];

    ck_assert_str_eq(as_text(out, line_format_reply(out, &seven, &reply)),
                     "#7 +HELD job valid=9897 until=86409897");
    ck_assert_str_eq(as_text(out, line_format_end(out, &longest, 0)), "#abcdefghijklmnop +END 0");
    ck_assert_str_eq(as_text(out, line_format_end(out, &untagged, 12345)), "+END 12345");
}

T(not_done)
{
    struct reply reply = a_reply(REPLY_BUSY);

    ck_reply(&reply, "-BUSY job");
    reply.retry_ms = 0;
    ck_reply(&reply, "-BUSY job retry=0");
    reply.retry_ms = 4200;
    reply.split = true;
    ck_reply(&reply, "-BUSY job retry=4200 split=1");
    ck_code(REPLY_TIMEOUT, "-TIMEOUT job waited=30001");
    ck_code(REPLY_NOTHELD, "-NOTHELD job");
    ck_code(REPLY_CANCELLED, "-CANCELLED job");
    ck_code(REPLY_MODE, "-MODE job");
    reply = a_reply(REPLY_MODE);
    reply.slots = 1024;
    ck_reply(&reply, "-MODE job slots=1024");
    ck_code(REPLY_DRAINING, "-DRAINING job");
    ck_code(REPLY_DENIED, "-DENIED job : the right to lock it was taken away");
    ck_code(REPLY_AUTH, "-AUTH job");
    ck_code(REPLY_BADVERB, "-BADVERB job");
    ck_code(REPLY_BADARG, "-BADARG job");
    ck_code(REPLY_BADLINE, "-BADLINE job");
    ck_code(REPLY_TOOLONG, "-TOOLONG job");
    ck_code(REPLY_UNSUPPORTED, "-UNSUPPORTED job");
}

T(cancel_of_nothing)
{
    struct reply reply = a_reply(REPLY_BADTAG);

    reply.name.len = 0;
    ck_reply(&reply, "-BADTAG : nothing waits there, or its grant was already written");
}

T(no_quorum)
{
    struct reply reply = a_reply(REPLY_NOQUORUM);

    ck_reply(
        &reply,
        "-NOQUORUM job votes=2/5 nodes=+-?!~ : 3 votes are needed; 1 master is not connected or refused, "
        "1 is silent, 1 said no, 1 is in quarantine");
    reply.masters = 1;
    reply.votes = 0;
    reply.nodes[0] = '!';
    ck_reply(&reply,
             "-NOQUORUM job votes=0/1 nodes=! : 1 vote is needed; 1 master is not connected or refused");
    reply.masters = MASTERS;
    memcpy(reply.nodes, "+++++-----?????", MASTERS);
    reply.votes = 5;
    ck_reply(&reply,
             "-NOQUORUM job votes=5/15 nodes=+++++-----????? : 8 votes are needed; 5 masters are silent, "
             "5 said no");
    reply.masters = 3; /* a grant whose fence is not sure enough */
    memcpy(reply.nodes, "+++", 3);
    reply.votes = 3;
    ck_reply(&reply, "-NOQUORUM job votes=3/3 nodes=+++ : 2 votes are needed");
    memcpy(reply.nodes, "+!!", 3);
    reply.votes = 1;
    ck_reply(&reply, "-NOQUORUM job votes=1/3 nodes=+!! : 2 votes are needed; 2 masters are not connected or "
                     "refused");
}

T(no_quorum_for_quarantine)
{
    struct reply reply = a_reply(REPLY_NOQUORUM);

    memcpy(reply.nodes, "++~~~", 5);
    reply.quarantined = 3;
    reply.retry_ms = 40001;
    ck_reply(&reply,
             "-NOQUORUM job votes=2/5 nodes=++~~~ retry=40001 : 3 of 5 masters are in quarantine for 41 s "
             "more (see restart_guard)");
    reply.retry_ms = 41000;
    ck_reply(&reply,
             "-NOQUORUM job votes=2/5 nodes=++~~~ retry=41000 : 3 of 5 masters are in quarantine for 41 s "
             "more (see restart_guard)");
    reply.retry_ms = -1;
    reply.quarantined = 1;
    ck_reply(&reply,
             "-NOQUORUM job votes=2/5 nodes=++~~~ : 1 of 5 masters is in quarantine (see restart_guard)");
    memcpy(reply.nodes, "+!~?!", 5);
    reply.votes = 1;
    ck_reply(&reply,
             "-NOQUORUM job votes=1/5 nodes=+!~?! : 1 of 5 masters is in quarantine (see restart_guard), "
             "2 are not connected, 1 is silent");
}

T(limits)
{
    static const struct {
        enum limit limit;
        const char *line;
    } rows[] = {
        {LIMIT_MAX_LOCKS, "-LIMIT job limit=max_locks"},
        {LIMIT_MAX_WAITERS, "-LIMIT job limit=max_waiters"},
        {LIMIT_MAX_LOCKS_PER_CLIENT, "-LIMIT job limit=max_locks_per_client"},
        {LIMIT_MAX_WAITS_PER_CLIENT, "-LIMIT job limit=max_waits_per_client"},
        {LIMIT_MAX_CLIENTS_PER_PEER, "-LIMIT job limit=max_clients_per_peer"},
        {LIMIT_MAX_LOCKS_PER_PEER, "-LIMIT job limit=max_locks_per_peer"},
        {LIMIT_MAX_WAITS_PER_PEER, "-LIMIT job limit=max_waits_per_peer"},
        {LIMIT_MAX_CLIENTS_PER_USER, "-LIMIT job limit=max_clients_per_user"},
        {LIMIT_MAX_LOCKS_PER_USER, "-LIMIT job limit=max_locks_per_user"},
        {LIMIT_MAX_WAITS_PER_USER, "-LIMIT job limit=max_waits_per_user"},
        {LIMIT_MAX_ROUNDS, "-LIMIT job limit=max_rounds"},
        {LIMIT_FENCE, "-LIMIT job limit=fence"},
        {LIMIT_DEPTH, "-LIMIT job limit=depth"},
    };
    struct reply reply = a_reply(REPLY_LIMIT);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reply.limit = rows[i].limit;
        ck_reply(&reply, rows[i].line);
    }
    reply.limit = LIMIT_MAX_CLIENTS;
    reply.name.len = 0;
    ck_reply(&reply, "-LIMIT limit=max_clients");
}

T(texts)
{
    struct reply reply = a_reply(REPLY_BADARG);

    reply.text = TEXT_TTL_TOO_SHORT;
    reply.limit_ms = 100;
    ck_reply(&reply, "-BADARG job : ttl is at least 100ms (min_ttl); a number without a unit is ms");
    reply.text = TEXT_TTL_TOO_LONG;
    reply.limit_ms = 90000;
    ck_reply(&reply,
             "-BADARG job : ttl is at most 90s (max_ttl, which is also the quarantine of restarted masters); "
             "a number without a unit is ms");
    reply.limit_ms = 60000;
    ck_reply(&reply,
             "-BADARG job : ttl is at most 1m (max_ttl, which is also the quarantine of restarted masters); "
             "a number without a unit is ms");
    reply.text = TEXT_MAX_BELOW_TTL;
    reply.limit_ms = 7200000;
    ck_reply(&reply, "-BADARG job : max is at least the ttl, here 2h; a number without a unit is ms");
    reply.limit_ms = 1500;
    ck_reply(&reply, "-BADARG job : max is at least the ttl, here 1500ms; a number without a unit is ms");
    reply.code = REPLY_NOTHELD;
    reply.text = TEXT_LOST_BEFORE_RELEASE;
    ck_reply(&reply, "-NOTHELD job : it was lost before this release");
    reply.text = TEXT_EXPIRED;
    ck_reply(&reply, "-NOTHELD job : its time was over before this request");
    reply.text = TEXT_MAX_OVER;
    ck_reply(&reply, "-NOTHELD job : its max= is over, and nothing extends it; LOCK anew");
    reply.text = TEXT_EXPIRING;
    ck_reply(&reply, "-NOTHELD job : the token is still there, but no time is left");
    reply.text = TEXT_NOT_BOUND;
    ck_reply(&reply,
             "-NOTHELD job : that token is of no session lock of this connection; to take the lock anew, "
             "leave token= out");
    reply.text = TEXT_NOT_YOURS;
    ck_reply(
        &reply,
        "-NOTHELD job : this connection does not hold it, or not any more (was there a !LOST?); to release "
        "it by its token, add token=");
}

T(hello)
{
    char out[SERVER_LINE_BYTES];

    ck_assert_str_eq(as_text(out, line_format_hello(out, &untagged, "0.1.0", 42, 86400000, 0)),
                     "+HELLO proto=1 server=redlockd/0.1.0 session=42 now=86400000 behind=0 "
                     "features=lost,keep,resume-wait,data,watch");
    ck_assert_str_eq(as_text(out, line_format_hello(out, &seven, "0.1\n0", UINT64_MAX, 1, 2750)),
                     "#7 +HELLO proto=1 server=redlockd/0.1?0 session=18446744073709551615 now=1 behind=2750 "
                     "features=lost,keep,resume-wait,data,watch");
}

T(refusals_by_hand)
{
    struct refusal refusal = {.code = REPLY_BADTAG, .words = "tag=7"};
    char out[SERVER_LINE_BYTES];

    ck_assert_str_eq(as_text(out, line_format_refusal(out, &refusal)), "-BADTAG tag=7");
    refusal = (struct refusal){.code = REPLY_BADARG,
                               .tag = {1, "7"},
                               .name = a_name("job"),
                               .words = "a=1 b=2",
                               .text = "so \x01 there\xff\x7f"};
    ck_assert_str_eq(as_text(out, line_format_refusal(out, &refusal)),
                     "#7 -BADARG job a=1 b=2 : so ? there??");
    memset(refusal.words, 'w', sizeof refusal.words); /* not terminated */
    memset(refusal.text, 't', sizeof refusal.text);
    ck_assert_uint_eq(line_format_refusal(out, &refusal), strlen("#7 -BADARG job ") + sizeof refusal.words +
                                                              strlen(" : ") + sizeof refusal.text + 1);
}

T(the_longest_reply_fits)
{
    struct reply reply = a_reply(REPLY_LOCKED);
    struct tag longest = {.len = TAG_BYTES};
    memcpy(longest.text, "abcdefghijklmnop", TAG_BYTES);
    char out[SERVER_LINE_BYTES];

    reply.name.len = NAME_BYTES;
    memset(reply.name.text, 'n', NAME_BYTES);
    reply.depth = UINT32_MAX;
    reply.fence = UINT64_MAX;
    reply.valid_ms = reply.until_ms = INT64_MIN;
    reply.text = TEXT_NOT_BOUND;
    for (int code = REPLY_LOCKED; code <= REPLY_UNSUPPORTED; code++) {
        if (code == REPLY_HELLO)
            continue;
        reply.code = (enum reply_code)code;
        (void)as_text(out, line_format_reply(out, &longest, &reply));
    }
}

/* ---- events ---- */

T(notices)
{
    static const char *const reasons[] = {"expired", "max",    "gone",  "released",
                                          "moved",   "closed", "drain", "denied"};
    struct notice notice = {.kind = NOTICE_EXPIRING, .valid_ms = 3000, .until_ms = 86403000};
    char out[SERVER_LINE_BYTES];
    char expected[256];

    notice.name = a_name("job");
    notice.token = a_token();
    ck_assert_str_eq(as_text(out, line_format_notice(out, &notice)),
                     "!EXPIRING job token=" HEX " valid=3000");
    notice.kind = NOTICE_RENEWED;
    ck_assert_str_eq(as_text(out, line_format_notice(out, &notice)),
                     "!RENEWED job token=" HEX " valid=3000 until=86403000");
    notice.kind = NOTICE_DRAIN;
    ck_assert_str_eq(as_text(out, line_format_notice(out, &notice)), "!DRAIN");
    notice.kind = NOTICE_CLOCK;
    notice.behind_ms = 2750;
    ck_assert_str_eq(as_text(out, line_format_notice(out, &notice)), "!CLOCK behind=2750");
    notice.kind = NOTICE_LOST;
    for (unsigned i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        notice.reason = (enum lost_reason)i;
        (void)snprintf(expected, sizeof expected, "!LOST job token=%s reason=%s", HEX, reasons[i]);
        ck_assert_str_eq(as_text(out, line_format_notice(out, &notice)), expected);
    }
}
