/* A master's answers, fed as they come, in pieces and byte by byte (where the reader's own way for short
 * lines finds no whole line, and hiredis reads all): the replies are the same each time, and become only
 * votes that their command can have. The first byte seeds the sizes of the pieces; byte 1 with n and c
 * stands for 256 n times c, so that small files reach the limits. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/loop/loop_holders.h"
#include "proto/daemons.h"
#include "proto/group.h"
#include "proto/info.h"
#include "proto/line.h"
#include "proto/resp.h"
#include "tests/fuzz/fuzz.h"

enum { REPLIES = 4096, BYTES = 192 * 1024, ALONE_BYTES = 4096 };

static const unsigned kinds[] = {
    [COMMAND_CLIENT_ID] = 1u << VOTE_NUMBER,
    [COMMAND_INFO] = 1u << VOTE_INFO,
    [COMMAND_KILL] = 1u << VOTE_NUMBER,
    [COMMAND_TRY] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_TRY_DELEX] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_TRY_DELIFEQ] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_TRY_IFEQ] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_TRY_MSETEX] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_SET_MSETEX] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_RELEASE_DELEX] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_RELEASE_DELIFEQ] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_MOVE_IFEQ] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_TIME] = 1u << VOTE_NUMBER,
    [COMMAND_GROUP] = 1u << VOTE_GROUP | 1u << VOTE_NO | 1u << VOTE_UNREADABLE,
    [COMMAND_PROBE] = 1u << VOTE_GROUP | 1u << VOTE_NO | 1u << VOTE_UNREADABLE,
    [COMMAND_PROBE_LASTING] = 1u << VOTE_GROUP | 1u << VOTE_NO | 1u << VOTE_UNREADABLE,
    [COMMAND_GROUP_SET] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_GROUP_NEW] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_SET] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_HEAL] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_GET] = 1u << VOTE_TOKEN | 1u << VOTE_NO,
    [COMMAND_ZADD] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_ZSCORE] = 1u << VOTE_NUMBER,
    [COMMAND_DEQUEUE] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_LETTER] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_ENQUEUE] = 1u << VOTE_HEARD | 1u << VOTE_UNHEARD | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_PASS] =
        1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_HEARD | 1u << VOTE_UNHEARD | 1u << VOTE_NOT_RUN,
    [COMMAND_RELEASE] =
        1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_HEARD | 1u << VOTE_UNHEARD | 1u << VOTE_NOT_RUN,
    [COMMAND_EXTEND] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_CHECK] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_SETTLE] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_LOOK] = 1u << VOTE_LOOKED | 1u << VOTE_NOT_RUN,
    [COMMAND_DOWN] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_CUT] = 1u << VOTE_NUMBER | 1u << VOTE_NOT_RUN,
    [COMMAND_DATA] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_ADOPT] = 1u << VOTE_DATA | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_SEE] = 1u << VOTE_SEEN | 1u << VOTE_NOT_RUN,
    [COMMAND_NEWS] = 1u << VOTE_YES | 1u << VOTE_NO,
    [COMMAND_MOVE] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_SHARE] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_SHARE_AT] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_ALONG] =
        1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_HEARD | 1u << VOTE_UNHEARD | 1u << VOTE_NOT_RUN,
    [COMMAND_SET_ALL] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_HEAL_ALL] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_ZADD_ALL] = 1u << VOTE_NUMBER,
    [COMMAND_ZSCORE_ALL] = 1u << VOTE_NUMBER | 1u << VOTE_NOT_RUN,
    [COMMAND_RELEASE_ALL] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_EXTEND_ALL] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_CHECK_ALL] = 1u << VOTE_NUMBER | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
    [COMMAND_MOVE_ALL] = 1u << VOTE_YES | 1u << VOTE_NO | 1u << VOTE_NOT_RUN,
};

/* A reply that was read is written back the same, except for the parts that are passed over. */
static void check_group(const struct resp_reply *reply, const struct group *group)
{
    char text[GROUP_BYTES];
    size_t len = group_text(text, group);
    assert(reply->text_len >= len && memcmp(reply->text, text, len) == 0);
    assert(reply->text_len == len || reply->text[len] == ' ');
    assert((group->masters > 0) != (group->step > 0) && group->max_ttl_ms > 0 && group->from_ms > 0);
    assert(group->max_ttl_ms <= GROUP_MAX_MS && group->from_ms <= GROUP_MAX_MS);
}

static void check_token(const struct resp_reply *reply, const struct token *token)
{
    static const struct token zero;
    char text[TOKEN_HEX];
    line_token_hex(text, token);
    assert(memcmp(token, &zero, sizeof zero) != 0);
    assert(reply->text_len != TOKEN_HEX || strspn(reply->text, "0123456789abcdef") != TOKEN_HEX ||
           strspn(reply->text, "0") == TOKEN_HEX || memcmp(text, reply->text, TOKEN_HEX) == 0);
}

/* Whatever a master lists, a daemon there is made of words. */
static void check_daemons(const struct resp_reply *reply)
{
    struct daemons_page page;
    struct daemon_row row;
    int64_t age_ms;
    unsigned entries = 0;
    assert(reply->whole || reply->type != RESP_STRING);
    if (!reply->whole || !daemons_page_begin(&page, reply->whole, reply->whole_len))
        return;
    while (daemons_page_next(&page, &row, &age_ms)) {
        char again[DAEMONS_WORDS_BYTES];
        daemons_words(again, &row);
        assert(strspn(row.id, "0123456789abcdef") == DAEMONS_ID_HEX && age_ms >= 0 &&
               age_ms < DAEMONS_KEEP_MS);
        entries++;
        assert(row.host[0] && row.version[0] && row.since[0] && row.listen[0]);
        assert(entries <= DAEMONS_ENTRIES);
        for (const char *p = again; *p; p++)
            assert(*p >= 0x20 && *p <= 0x7e);
    }
}

/* Whatever a master says, the holders of a name are of bounded words, and are counted. */
static void check_who(const struct resp_reply *reply)
{
    static struct who_entry entries[WHO_LINES];
    static struct holder holders[WHO_LINES];
    struct who_answer answer;
    unsigned count = 0;
    if (!reply->whole || !who_answer_begin(&answer, reply->whole, reply->whole_len))
        return;
    while (count < WHO_LINES && who_answer_next(&answer, &entries[count])) {
        struct who_entry *entry = &entries[count++];
        entry->master = (uint8_t)(count % MASTERS);
        assert(entry->value[0] && strlen(entry->value) <= WHO_VALUE_BYTES && entry->ms >= -1);
        assert(strspn(entry->value, "0123456789abcdefABCDEF,?") == strlen(entry->value));
        assert(entry->slot >= WHO_NO_SLOT && entry->slot < SLOTS_MAX);
    }
    holders_identify(entries, count);
    unsigned found = holders_list(holders, entries, count, 2);
    assert(found <= count && (found > 0) == (count > 0));
    for (unsigned i = 0; i < found; i++)
        assert(holders[i].masters >= 1 && holders[i].masters <= MASTERS && holders[i].daemon[0]);
    (void)holders_break(entries, count, 2, WHO_NO_SLOT, answer.slots > 0);
    (void)who_deleted(reply->whole, reply->whole_len);
}

static void check_vote(enum command_verb verb, const struct resp_reply *reply)
{
    struct vote vote;
    resp_vote(verb, reply, &vote);
    if (vote.kind == VOTE_ERROR) {
        assert(resp_error_name(vote.error) != NULL);
        return;
    }
    assert(kinds[verb] & 1u << vote.kind);
    bool told = vote.kind == VOTE_UNREADABLE || vote.kind == VOTE_TOKEN; /* WRONGTYPE becomes these, too */
    assert(told || (reply->type == RESP_ERROR) == (vote.kind == VOTE_NOT_RUN));
    if (vote.kind == VOTE_GROUP)
        check_group(reply, &vote.group);
    if (vote.kind == VOTE_TOKEN)
        check_token(reply, &vote.token);
    if (vote.kind == VOTE_NUMBER)
        assert(vote.number <= (verb == COMMAND_ZSCORE ? FENCE_MAX : INT64_MAX));
    if (verb == COMMAND_TIME)
        assert(vote.number >= 1000 && vote.number <= CLOCK_MAX_MS);
    if (vote.kind == VOTE_INFO)
        assert(vote.info.uptime_s >= 0 && vote.info.uptime_s <= INT64_MAX / 1000 &&
               !memchr(vote.info.run_id, 0, RUN_ID_HEX));
}

static uint32_t digest(uint32_t sum, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len-- > 0)
        sum = (sum ^ *at++) * 16777619u; /* FNV-1a */
    return sum;
}

static uint32_t check_reply(const struct resp_reply *reply)
{
    assert(reply->type <= RESP_ARRAY && reply->text_len <= RESP_TEXT_BYTES && !reply->text[reply->text_len]);
    assert(reply->type != RESP_ARRAY || (reply->integer >= 0 && reply->integer <= RESP_ARRAY_ELEMENTS));
    for (unsigned verb = COMMAND_CLIENT_ID; verb < COMMAND_VERBS; verb++)
        check_vote((enum command_verb)verb, reply);
    check_daemons(reply);
    check_who(reply);
    uint32_t sum = digest(2166136261u, reply->text, reply->text_len);
    sum = digest(sum, &reply->has_info, sizeof reply->has_info);
    sum = digest(sum, &reply->whole_len, sizeof reply->whole_len);
    if (reply->type == RESP_ARRAY && (reply->integers || reply->decimals))
        sum = digest(sum, reply->element, (size_t)reply->integer * sizeof reply->element[0]);
    if (reply->type == RESP_ARRAY)
        sum = sum * 4 + reply->integers * 2u + reply->decimals;
    sum = digest(sum, &reply->type, sizeof reply->type);
    return digest(sum, &reply->integer, sizeof reply->integer);
}

enum { AT_ONCE = 0, BYTES_ALONE = 0xffffffff };

static size_t next_piece(uint32_t *seed, size_t left)
{
    if (*seed == AT_ONCE)
        return left;
    if (*seed == BYTES_ALONE)
        return 1;
    *seed = *seed * 1664525u + 1013904223u;
    size_t limit = *seed >> 31 ? 8 : 4096;
    size_t piece = 1 + (*seed >> 8) % limit;
    return piece < left ? piece : left;
}

/* Returns the number of replies and their digests; *broken: the reader gave up. */
static unsigned read_all(const char *bytes, size_t len, uint32_t seed, uint32_t sums[REPLIES], bool *broken)
{
    struct resp_reader *reader = resp_reader_new();
    unsigned replies = 0;
    int got = 0;
    assert(reader);
    for (size_t at = 0; at < len && got >= 0;) {
        size_t piece = next_piece(&seed, len - at);
        char *exact = malloc(piece);
        memcpy(exact, bytes + at, piece);
        assert(exact && resp_reader_feed(reader, exact, piece) == 0);
        free(exact);
        at += piece;
        const struct resp_reply *reply;
        const char *why = NULL;
        while (replies < REPLIES && (got = resp_reader_next(reader, &reply, &why)) > 0)
            sums[replies++] = check_reply(reply);
        assert(got >= 0 || why != NULL);
        if (got < 0) /* and stays broken */
            assert(resp_reader_next(reader, &reply, &why) < 0);
        if (replies == REPLIES)
            break;
    }
    *broken = got < 0;
    resp_reader_free(reader);
    return replies;
}

static size_t expand(struct bytes in, char *out)
{
    size_t len = 0;
    while (in.at < in.end && len < BYTES - 1) {
        uint8_t c = *in.at++;
        size_t times = 1;
        if (c == 1) {
            times = 256 * (size_t)bytes_next(&in);
            c = bytes_next(&in);
        }
        for (; times > 0 && len < BYTES - 1; times--)
            out[len++] = (char)c;
    }
    return len;
}

int HARNESS(fuzz_resp)(const uint8_t *data, size_t size)
{
    static char bytes[BYTES];
    static uint32_t whole[REPLIES], pieces[REPLIES];
    struct bytes in = {data, data + size};
    struct master_info info;
    bool whole_broken, pieces_broken;
    uint32_t seed = bytes_next(&in) + 1u;
    size_t len = expand(in, bytes);

    (void)info_parse(bytes, len, &info);
    unsigned n = read_all(bytes, len, AT_ONCE, whole, &whole_broken);
    unsigned m = read_all(bytes, len, seed, pieces, &pieces_broken);
    assert(n == m && memcmp(whole, pieces, n * sizeof whole[0]) == 0);
    assert(n == REPLIES || whole_broken == pieces_broken);
    if (len > ALONE_BYTES)
        return 0;
    m = read_all(bytes, len, BYTES_ALONE, pieces, &pieces_broken);
    assert(n == m && memcmp(whole, pieces, n * sizeof whole[0]) == 0);
    assert(n == REPLIES || whole_broken == pieces_broken);
    return 0;
}
