/* Replies, notices and rows -> lines.
 *
 * The line_put_*() functions that return a pointer write at out and return where the next piece goes. There
 * is always room, since the longest line (a refusal with all its fields) is far shorter than
 * SERVER_LINE_BYTES. Only rows count their bytes, because their values may have any length. */
#include <assert.h>
#include <endian.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/line.h"
#include "proto/line_names.h"

/* ---- small pieces ---- */

static inline char *line_put_bytes(char *out, const char *text, size_t len)
{
    memcpy(out, text, len);
    return out + len;
}

static inline char *line_put(char *out, const char *text)
{
    return line_put_bytes(out, text, strlen(text));
}

static char *line_put_unsigned(char *out, uint64_t value)
{
    char digits[DECIMAL_BYTES];
    const char *first = decimal_digits(value, digits);

    return line_put_bytes(out, first, (size_t)(digits + sizeof digits - first));
}

static char *line_put_signed(char *out, int64_t value)
{
    if (value >= 0)
        return line_put_unsigned(out, (uint64_t)value);
    *out++ = '-';
    return line_put_unsigned(out, 0 - (uint64_t)value);
}

/* Writes at most limit bytes of a string, with ? for unprintable ones. */
static char *line_put_printable(char *out, const char *text, size_t limit)
{
    for (size_t i = 0; i < limit && text[i]; i++)
        *out++ = text[i] >= 0x20 && text[i] <= 0x7e ? text[i] : '?';
    return out;
}

static char *line_put_tag(char *out, const struct tag *tag)
{
    if (!tag->len)
        return out;
    assert(tag->len <= TAG_BYTES);
    *out++ = '#';
    out = line_put_bytes(out, tag->text, tag->len);
    *out++ = ' ';
    return out;
}

static char *line_put_name(char *out, const struct name *name, uint64_t order)
{
    if (!name->len)
        return out;
    assert(name->len <= LIST_BYTES);
    *out++ = ' ';
    if (name->more)
        return out + names_write(out, name, order);
    return line_put_bytes(out, name->text, name->len);
}

static char *line_put_token(char *out, const struct token *token)
{
    out = line_put(out, " token=");
    line_token_hex(out, token);
    return out + TOKEN_HEX;
}

/* Numbers of slots are told from 0 on; 0 here: none. */
static char *line_put_slot(char *out, uint16_t slot)
{
    return slot != 0 ? line_put_unsigned(line_put(out, " slot="), slot - 1u) : out;
}

static char *line_put_until(char *out, int64_t valid_ms, int64_t until_ms)
{
    out = line_put_signed(line_put(out, " valid="), valid_ms);
    return line_put_signed(line_put(out, " until="), until_ms);
}

/* Writes a duration in the largest unit that divides it, as people would. */
static char *line_put_duration(char *out, int64_t ms)
{
    if (ms > 0 && ms % (3600 * 1000) == 0)
        return line_put(line_put_signed(out, ms / (3600 * 1000)), "h");
    if (ms > 0 && ms % (60 * 1000) == 0)
        return line_put(line_put_signed(out, ms / (60 * 1000)), "m");
    if (ms > 0 && ms % 1000 == 0)
        return line_put(line_put_signed(out, ms / 1000), "s");
    return line_put(line_put_signed(out, ms), "ms");
}

static size_t line_put_end(char *line, char *out)
{
    *out++ = '\n';
    assert(out - line <= SERVER_LINE_BYTES);
    return (size_t)(out - line);
}

/* Writes eight digits at a time: four bytes are spread to eight nibbles, and nibbles above 9 are moved up
 * to 'a'. */
static void line_put_hex(char *out, const uint8_t bytes[4])
{
    const uint64_t each = UINT64_C(0x0101010101010101), low = UINT64_C(0x000f000f000f000f);
    uint64_t spread =
        bytes[0] | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 32 | (uint64_t)bytes[3] << 48;
    uint64_t nibbles = (spread >> 4 & low) | (spread & low) << 8;
    uint64_t letters = (nibbles + 6 * each) >> 4 & each;
    uint64_t digits = htole64(nibbles + '0' * each + letters * ('a' - '9' - 1));

    memcpy(out, &digits, sizeof digits);
}

void line_token_hex(char *out, const struct token *token)
{
    static_assert(TOKEN_BYTES % 4 == 0, "a token is whole words");
    for (size_t i = 0; i < TOKEN_BYTES; i += 4)
        line_put_hex(out + 2 * i, token->bytes + i);
}

/* ---- replies ---- */

/* The client libraries in other languages have these numbers from the table. */
#define BOUND(name, value) static_assert((name) == (value), "proto/stubs.def has another " #name);
#include "proto/stubs.def"

const char *line_code_word(enum reply_code code)
{
    static const char *const words[] = {
        [REPLY_LOCKED] = "+LOCKED",     [REPLY_UNLOCKED] = "+UNLOCKED", [REPLY_KEPT] = "+KEPT",
        [REPLY_EXTENDED] = "+EXTENDED", [REPLY_HELD] = "+HELD",         [REPLY_OK] = "+OK",
        [REPLY_HELLO] = "+HELLO",       [REPLY_PONG] = "+PONG",         [REPLY_BROKEN] = "+BROKEN",
        [REPLY_BYE] = "+BYE",
#define REFUSAL(code, class, meaning, more) [REPLY_##code] = "-" #code,
#include "proto/stubs.def"
        [REPLY_DATA] = "+DATA",         [REPLY_WATCHING] = "+WATCHING",
    };

    assert((size_t)code < sizeof words / sizeof words[0]);
    return words[code];
}

/* The word of a limit: its key in the configuration, if it has one. */
const char *line_limit_word(enum limit limit)
{
    static const char *const words[] = {
        [LIMIT_NONE] = "none",
        [LIMIT_MAX_LOCKS] = "max_locks",
        [LIMIT_MAX_WAITERS] = "max_waiters",
        [LIMIT_MAX_LOCKS_PER_CLIENT] = "max_locks_per_client",
        [LIMIT_MAX_WAITS_PER_CLIENT] = "max_waits_per_client",
        [LIMIT_MAX_CLIENTS_PER_PEER] = "max_clients_per_peer",
        [LIMIT_MAX_LOCKS_PER_PEER] = "max_locks_per_peer",
        [LIMIT_MAX_WAITS_PER_PEER] = "max_waits_per_peer",
        [LIMIT_MAX_CLIENTS_PER_USER] = "max_clients_per_user",
        [LIMIT_MAX_LOCKS_PER_USER] = "max_locks_per_user",
        [LIMIT_MAX_WAITS_PER_USER] = "max_waits_per_user",
        [LIMIT_MAX_CLIENTS] = "max_clients",
        [LIMIT_MAX_WATCHES] = "max_watches",
        [LIMIT_MAX_ROUNDS] = "max_rounds",
        [LIMIT_FENCE] = "fence",
        [LIMIT_MAX_MARKS] = "max_marks",
        [LIMIT_DEPTH] = "depth",
    };

    assert((size_t)limit < sizeof words / sizeof words[0]);
    return words[limit];
}

static char *line_put_quorum(char *out, const struct reply *reply)
{
    assert(reply->masters <= MASTERS);
    out = line_put_unsigned(line_put(out, " votes="), reply->votes);
    out = line_put_unsigned(line_put(out, "/"), reply->masters);
    out = line_put(out, " nodes=");
    for (unsigned i = 0; i < reply->masters; i++) {
        assert(memchr("+-?!~", reply->nodes[i], 5));
        *out++ = reply->nodes[i];
    }
    if (reply->retry_ms >= 0)
        out = line_put_signed(line_put(out, " retry="), reply->retry_ms);
    return out;
}

static char *line_put_now(char *out, const struct now *now)
{
    static const char *const states[] = {
        [NOW_UNKNOWN] = "unknown", [NOW_FREE] = "free", [NOW_HELD] = "held", [NOW_KEPT] = "kept"};
    out = line_put(line_put(out, " state="), states[now->state]);
    if (now->state != NOW_HELD)
        return out;
    if (now->shared)
        out = line_put(out, " mode=shared");
    if (now->data.len)
        out = line_put_unsigned(line_put(out, " fence="), now->fence);
    if (now->host[0])
        out = line_put_printable(line_put(out, " host="), now->host, HOST_BYTES);
    if (now->data.len)
        out = line_put_bytes(line_put(out, " data="), now->data.text, now->data.len);
    return out;
}

/* The key=value words that belong to a code. */
static char *line_put_words(char *out, const struct reply *reply)
{
    switch (reply->code) {
    case REPLY_LOCKED:
        out = line_put_token(out, &reply->token);
        out = line_put_unsigned(line_put(out, " fence="), reply->fence);
        out = line_put_until(out, reply->valid_ms, reply->until_ms);
        if (reply->shared)
            out = line_put(out, " mode=shared");
        out = line_put_slot(out, reply->slot);
        return reply->depth ? line_put_unsigned(line_put(out, " depth="), reply->depth) : out;
    case REPLY_UNLOCKED:
        out = line_put_unsigned(line_put(out, " confirmed="), reply->confirmed);
        out = line_put_unsigned(line_put(out, "/"), reply->masters);
        if (reply->handed)
            out = line_put(out, " handed=1");
        out = line_put_slot(out, reply->slot);
        return reply->depth ? line_put_unsigned(line_put(out, " depth="), reply->depth) : out;
    case REPLY_WATCHING: return line_put_now(out, &reply->now);
    case REPLY_DATA:
    case REPLY_KEPT:
        if (reply->code == REPLY_KEPT)
            out = line_put_signed(line_put(out, " until="), reply->until_ms);
        out = line_put_unsigned(line_put(out, " confirmed="), reply->confirmed);
        return line_put_unsigned(line_put(out, "/"), reply->masters);
    case REPLY_EXTENDED:
    case REPLY_HELD: return line_put_slot(line_put_until(out, reply->valid_ms, reply->until_ms), reply->slot);
    case REPLY_BUSY:
        if (reply->retry_ms >= 0)
            out = line_put_signed(line_put(out, " retry="), reply->retry_ms);
        return reply->split ? line_put(out, " split=1") : out;
    case REPLY_PONG: return line_put(out, reply->ready ? " ready=1" : " ready=0");
    case REPLY_TIMEOUT: return line_put_signed(line_put(out, " waited="), reply->waited_ms);
    case REPLY_NOQUORUM: return line_put_quorum(out, reply);
    case REPLY_LIMIT: return line_put(line_put(out, " limit="), line_limit_word(reply->limit));
    case REPLY_MODE:
        return reply->slots != 0 ? line_put_unsigned(line_put(out, " slots="), reply->slots) : out;
    default: return out;
    }
}

static unsigned nodes_count(const struct reply *reply, char sign)
{
    unsigned n = 0;
    for (unsigned i = 0; i < reply->masters; i++)
        n += reply->nodes[i] == sign;
    return n;
}

/* "; 2 masters are silent" for the first count of a text, ", 2 are silent" for the next ones. */
static char *line_put_count(char *out, unsigned n, bool *first, const char *is, const char *are)
{
    if (!n)
        return out;
    out = line_put_unsigned(line_put(out, *first ? "; " : ", "), n);
    if (*first)
        out = line_put(out, n == 1 ? " master" : " masters");
    *first = false;
    return line_put(line_put(out, " "), n == 1 ? is : are);
}

/* " : 3 of 5 masters are in quarantine for 41 s more (see restart_guard), 1 is silent" */
static char *line_put_quarantine(char *out, const struct reply *reply)
{
    bool first = false;

    out = line_put_unsigned(line_put(out, " : "), reply->quarantined);
    out = line_put_unsigned(line_put(out, " of "), reply->masters);
    out = line_put(out, reply->quarantined == 1 ? " masters is in quarantine" : " masters are in quarantine");
    if (reply->retry_ms >= 0) {
        int64_t left_s = reply->retry_ms / 1000 + (reply->retry_ms % 1000 != 0);
        out = line_put(line_put_signed(line_put(out, " for "), left_s), " s more");
    }
    out = line_put(out, " (see restart_guard)");
    out = line_put_count(out, nodes_count(reply, '!'), &first, "is not connected", "are not connected");
    return line_put_count(out, nodes_count(reply, '?'), &first, "is silent", "are silent");
}

/* " : 3 votes are needed; 2 masters are not connected or refused, 1 is silent, 1 said no" */
static char *line_put_needed(char *out, const struct reply *reply)
{
    unsigned needed = reply->needed != 0 ? reply->needed : reply->masters / 2u + 1;
    bool first = true;

    out = line_put_unsigned(line_put(out, " : "), needed);
    out = line_put(out, needed == 1 ? " vote is needed" : " votes are needed");
    out = line_put_count(out, nodes_count(reply, '!'), &first, "is not connected or refused",
                         "are not connected or refused");
    out = line_put_count(out, nodes_count(reply, '?'), &first, "is silent", "are silent");
    out = line_put_count(out, nodes_count(reply, '-'), &first, "said no", "said no");
    return line_put_count(out, nodes_count(reply, '~'), &first, "is in quarantine", "are in quarantine");
}

/* A client that writes ttl=10 probably means 10s. */
#define BARE_NUMBER "; a number without a unit is ms"

static char *line_put_text(char *out, const struct reply *reply)
{
    switch (reply->text) {
    case TEXT_NONE: break;
    case TEXT_LOST_BEFORE_RELEASE: return line_put(out, " : it was lost before this release");
    case TEXT_TTL_TOO_SHORT:
        out = line_put_duration(line_put(out, " : ttl is at least "), reply->limit_ms);
        return line_put(out, " (min_ttl)" BARE_NUMBER);
    case TEXT_TTL_TOO_LONG:
        out = line_put_duration(line_put(out, " : ttl is at most "), reply->limit_ms);
        return line_put(out, " (max_ttl, which is also the quarantine of restarted masters)" BARE_NUMBER);
    case TEXT_MAX_BELOW_TTL:
        return line_put(
            line_put_duration(line_put(out, " : max is at least the ttl, here "), reply->limit_ms),
            BARE_NUMBER);
    case TEXT_EXPIRED: return line_put(out, " : its time was over before this request");
    case TEXT_MAX_OVER: return line_put(out, " : its max= is over, and nothing extends it; LOCK anew");
    case TEXT_EXPIRING: return line_put(out, " : the token is still there, but no time is left");
    case TEXT_NOT_BOUND:
        return line_put(out, " : that token is of no session lock of this connection; to take the lock "
                             "anew, leave token= out");
    case TEXT_IS_SHARED:
        return line_put(out,
                        " : that lock is shared: to take it once more, add mode=shared; alone, UNLOCK it "
                        "and LOCK anew");
    case TEXT_NO_SLOTS: return line_put(out, " : it is in use without slots=, and so are all its locks");
    case TEXT_LIST_OF_SLOTS: return line_put(out, " : one of these names is in use with slots=");
    case TEXT_LIST_ALONE: return line_put(out, " : slots= is for one name, not for several at once");
    case TEXT_SLOT_ALONE: return line_put(out, " : mode=shared is for one name without slots=");
    case TEXT_DATA_ALONE:
        return line_put(out, " : data= is for one exclusive lock with hold=session, without slots=");
    case TEXT_NO_DATA:
        return line_put(out,
                        " : it was taken without data=, so that nothing of it is told: UNLOCK it, and LOCK "
                        "with data=");
    case TEXT_ENTERED_TWICE:
        return line_put(out, " : it was entered more than once, and each of these holders may write: UNLOCK "
                             "until it has depth=1");
    case TEXT_KEEP_TOO_LONG:
        out = line_put_duration(line_put(out, " : keep is at most "), reply->limit_ms);
        return line_put(out, " (max_keep)" BARE_NUMBER);
    case TEXT_KEEP_ALONE:
        return line_put(out, " : keep= is for the exclusive lock of one name without slots=");
    case TEXT_SHARED_NOW:
        return line_put(out, " : it is shared from now on, but too few masters know yet; ask again with the "
                             "same token, or go on reading");
    case TEXT_NOT_SHOWN: return line_put(out, " : the right to show it was taken away");
    case TEXT_NOT_YOURS:
        return line_put(out, " : this connection does not hold it, or not any more (was there a !LOST?); to "
                             "release it by its token, add token=");
    }
    if (reply->code == REPLY_NOQUORUM)
        return reply->quarantined ? line_put_quarantine(out, reply) : line_put_needed(out, reply);
    if (reply->code == REPLY_DENIED) /* the request waited when the right was taken away */
        return line_put(out, " : the right to lock it was taken away");
    if (reply->code == REPLY_BADTAG) /* only CANCEL gets this reply */
        return line_put(out, " : nothing waits there, or its grant was already written");
    return out;
}

size_t line_format_reply(char *out, const struct tag *tag, const struct reply *reply)
{
    assert(reply->code != REPLY_HELLO);
    char *at = line_put(line_put_tag(out, tag), line_code_word(reply->code));
    at = line_put_name(at, &reply->name, reply->order);
    at = line_put_words(at, reply);
    at = line_put_text(at, reply);
    return line_put_end(out, at);
}

size_t line_format_refusal(char *out, const struct refusal *refusal)
{
    char *at = line_put(line_put_tag(out, &refusal->tag), line_code_word(refusal->code));

    at = line_put_name(at, &refusal->name, refusal->order);
    if (refusal->words[0])
        at = line_put_printable(line_put(at, " "), refusal->words, sizeof refusal->words);
    if (refusal->text[0])
        at = line_put_printable(line_put(at, " : "), refusal->text, sizeof refusal->text);
    return line_put_end(out, at);
}

size_t line_format_hello(char *out, const struct tag *tag, const char *version, uint64_t session,
                         int64_t now_ms, int64_t behind_ms)
{
    enum { VERSION_BYTES = 64 };
    char *at = line_put(line_put_tag(out, tag), "+HELLO proto=1 server=redlockd/");

    at = line_put_printable(at, version, VERSION_BYTES);
    at = line_put_unsigned(line_put(at, " session="), session);
    at = line_put_signed(line_put(at, " now="), now_ms);
    at = line_put_signed(line_put(at, " behind="), behind_ms);
    return line_put_end(out, line_put(at, " features=lost,keep,resume-wait,data,watch"));
}

size_t line_format_broken(char *out, const struct tag *tag, const struct name *name, const char *words)
{
    enum { WORDS_BYTES = 256 };
    char *at = line_put(line_put_tag(out, tag), line_code_word(REPLY_BROKEN));

    at = line_put(line_put_name(at, name, 0), " ");
    return line_put_end(out, line_put_printable(at, words, WORDS_BYTES));
}

size_t line_format_end(char *out, const struct tag *tag, uint64_t rows)
{
    char *at = line_put(line_put_tag(out, tag), "+END ");

    return line_put_end(out, line_put_unsigned(at, rows));
}

size_t line_format_help(char *out, const struct tag *tag, unsigned i)
{
    const char *text = line_help(i);

    return text ? line_put_end(out, line_put(line_put(line_put_tag(out, tag), "* "), text)) : 0;
}

/* ---- notices ---- */

const char *line_lost_word(enum lost_reason reason)
{
    static const char *const words[] = {
        [LOST_EXPIRED] = "expired",   [LOST_MAX] = "max",       [LOST_GONE] = "gone",
        [LOST_RELEASED] = "released", [LOST_MOVED] = "moved",   [LOST_CLOSED] = "closed",
        [LOST_DRAIN] = "drain",       [LOST_DENIED] = "denied", [LOST_CLOCK] = "clock",
    };

    assert((size_t)reason < sizeof words / sizeof words[0]);
    return words[reason];
}

size_t line_format_notice(char *out, const struct notice *notice)
{
    char *at = out;

    switch (notice->kind) {
    case NOTICE_EXPIRING:
        at = line_put_token(line_put_name(line_put(at, "!EXPIRING"), &notice->name, notice->order),
                            &notice->token);
        at = line_put_signed(line_put(at, " valid="), notice->valid_ms);
        at = line_put_slot(at, notice->slot);
        break;
    case NOTICE_LOST:
        at = line_put_token(line_put_name(line_put(at, "!LOST"), &notice->name, notice->order),
                            &notice->token);
        at = line_put(line_put(at, " reason="), line_lost_word(notice->reason));
        at = line_put_slot(at, notice->slot);
        break;
    case NOTICE_RENEWED:
        at = line_put_token(line_put_name(line_put(at, "!RENEWED"), &notice->name, notice->order),
                            &notice->token);
        at = line_put_until(at, notice->valid_ms, notice->until_ms);
        at = line_put_slot(at, notice->slot);
        break;
    case NOTICE_NOW:
        at = line_put_now(line_put_name(line_put(at, "!NOW"), &notice->name, 0), &notice->now);
        break;
    case NOTICE_DRAIN: at = line_put(at, "!DRAIN"); break;
    case NOTICE_CLOCK: at = line_put_signed(line_put(at, "!CLOCK behind="), notice->behind_ms); break;
    }
    return line_put_end(out, at);
}

/* ---- rows ---- */

void line_row_begin(struct row *row, char *out, const struct tag *tag)
{
    row->out = out;
    row->len = (size_t)(line_put(line_put_tag(out, tag), "* ") - out);
    row->any = false;
}

/* Writes "key=", behind a space unless it is the first key of the row, if value_bytes more and the LF still
 * fit behind it. Returns whether it did. */
static bool line_row_key(struct row *row, const char *key, size_t value_bytes)
{
    size_t key_len = strlen(key);
    size_t space = row->any ? 1 : 0;

    if (row->len + space + key_len + 1 + value_bytes > SERVER_LINE_BYTES - 1)
        return false;
    char *at = row->out + row->len;
    if (row->any)
        *at++ = ' ';
    at = line_put(line_put_bytes(at, key, key_len), "=");
    row->len = (size_t)(at - row->out);
    row->any = true;
    return true;
}

void line_row_text(struct row *row, const char *key, const char *value, size_t len)
{
    if (!line_row_key(row, key, len ? 1 : 0))
        return;
    for (size_t i = 0; i < len && row->len < SERVER_LINE_BYTES - 1; i++)
        row->out[row->len++] = value[i] >= 0x21 && value[i] <= 0x7e ? value[i] : '?';
}

void line_row_string(struct row *row, const char *key, const char *value)
{
    line_row_text(row, key, value, strlen(value));
}

static void line_row_number(struct row *row, const char *key, const char *digits, size_t len)
{
    if (line_row_key(row, key, len))
        row->len = (size_t)(line_put_bytes(row->out + row->len, digits, len) - row->out);
}

void line_row_signed(struct row *row, const char *key, int64_t value)
{
    char digits[DECIMAL_BYTES];

    line_row_number(row, key, digits, (size_t)(line_put_signed(digits, value) - digits));
}

void line_row_unsigned(struct row *row, const char *key, uint64_t value)
{
    char digits[DECIMAL_BYTES];

    line_row_number(row, key, digits, (size_t)(line_put_unsigned(digits, value) - digits));
}

size_t line_row_end(struct row *row)
{
    return line_put_end(row->out, row->out + row->len);
}
