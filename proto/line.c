/* Lines -> requests. line_rule.c says what each verb takes. */
#include "proto/line.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "proto/line_names.h"
#include "proto/line_rule.h"
#include "proto/names.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    SHOWN_BYTES = 24, /* a refusal quotes so many of a client's word, at most */
    SLOT_DIGITS = 4,
};

/* ---- refusals ---- */

struct parse {
    const char *at; /* the first byte that was not read yet */
    const char *end;
    struct request *request;
    struct refusal *refusal;
    const struct verb_rule *rule;
    struct tag tag;
    unsigned seen; /* bits of enum option */
    bool named;    /* request->name was read */
};

/* A client's word, quoted for people. */
struct shown {
    char text[2 * SHOWN_BYTES + sizeof "\"...\""];
};

static enum line_result line_refuse(struct parse *p, enum reply_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static enum line_result line_refuse(struct parse *p, enum reply_code code, const char *fmt, ...)
{
    struct refusal *refusal = p->refusal;

    refusal->code = code;
    refusal->tag = p->tag;
    refusal->name.len = 0;
    if (p->named) {
        refusal->name = p->request->name;
        refusal->order = p->request->order;
    }
    refusal->words[0] = '\0';
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(refusal->text, sizeof refusal->text, fmt, args);
    va_end(args);
    return LINE_REFUSED;
}

static struct shown show_piece(struct piece piece)
{
    struct shown shown;
    char *out = shown.text;
    size_t len = piece.len < SHOWN_BYTES ? piece.len : SHOWN_BYTES;

    *out++ = '"';
    for (size_t i = 0; i < len; i++) {
        if (piece.text[i] == '"' || piece.text[i] == '\\')
            *out++ = '\\';
        *out++ = piece.text[i];
    }
    memcpy(out, "...\"", sizeof "...\"");
    if (piece.len <= SHOWN_BYTES)
        memcpy(out, "\"", sizeof "\"");
    return shown;
}

/* ---- options ---- */

static enum line_result bad_value(struct parse *p, enum option option, struct piece value,
                                  const char *allowed)
{
    return line_refuse(p, REPLY_BADARG, "%s=%s is not allowed: %s", rule_option_key(option),
                       show_piece(value).text, allowed);
}

static enum line_result line_set_duration(struct parse *p, enum option option, struct piece value,
                                          int64_t *ms)
{
    *ms = line_duration_ms(value.text, value.len);
    if (*ms < 0)
        return bad_value(p, option, value, "write 250ms, 10s, 5m or 1h; at most 30 days (720h)");
    return LINE_REQUEST;
}

static enum line_result line_set_word(struct parse *p, enum option option, struct piece value,
                                      struct word *word)
{
    if (!piece_is_word(value, WORD_BYTES))
        return bad_value(p, option, value, "1 to 64 visible characters except , \" = and no # or : first");
    word->len = (uint8_t)value.len;
    memcpy(word->text, value.text, value.len);
    return LINE_REQUEST;
}

/* A refusal never repeats a token, since a token is as good as the lock. */
static enum line_result line_set_token(struct parse *p, struct piece value)
{
    if (!piece_token(value, &p->request->token))
        return line_refuse(p, REPLY_BADARG, "token= takes the 40 hex digits of +LOCKED, not these %zu bytes",
                           value.len);
    p->request->has_token = true;
    return LINE_REQUEST;
}

static enum line_result line_set_hold(struct parse *p, struct piece value)
{
    if (piece_is(value, "lease"))
        p->request->hold = HOLD_LEASE;
    else if (!piece_is(value, "session"))
        return bad_value(p, OPTION_HOLD, value, "write session (ends with this connection) or lease");
    return LINE_REQUEST;
}

static enum line_result line_set_mode(struct parse *p, struct piece value)
{
    if (piece_is(value, "shared"))
        p->request->shared = true;
    else if (!piece_is(value, "exclusive"))
        return bad_value(p, OPTION_MODE, value, "write shared (many readers) or exclusive (one writer)");
    return LINE_REQUEST;
}

static enum line_result line_set_slot(struct parse *p, struct piece value)
{
    int64_t slot = piece_number(value, SLOT_DIGITS);

    if (slot < 0 || slot >= SLOTS_MAX)
        return bad_value(p, OPTION_SLOT, value, "write a number from 0 to 1023, as WHO tells it");
    p->request->slot = (int32_t)slot;
    return LINE_REQUEST;
}

static enum line_result line_set_slots(struct parse *p, struct piece value)
{
    int64_t slots = piece_number(value, SLOT_DIGITS);

    if (slots < 1 || slots > SLOTS_MAX || value.text[0] == '0')
        return bad_value(p, OPTION_SLOTS, value, "write a number from 1 to 1024");
    p->request->slots = (uint16_t)slots;
    return LINE_REQUEST;
}

static enum line_result line_set_events(struct parse *p, struct piece value)
{
    if (!piece_is(value, "renewed"))
        return bad_value(p, OPTION_EVENTS, value, "write renewed; all other events come anyway");
    p->request->events_renewed = true;
    return LINE_REQUEST;
}

static enum line_result line_set_lost(struct parse *p, struct piece value)
{
    static const enum lost_reason reasons[] = {LOST_EXPIRED, LOST_CLOCK, LOST_GONE};

    for (size_t i = 0; i < COUNT(reasons); i++)
        if (piece_is(value, line_lost_word(reasons[i]))) {
            p->request->has_lost = true;
            p->request->lost = (uint8_t)reasons[i];
            return LINE_REQUEST;
        }
    return bad_value(p, OPTION_LOST, value, "write expired, clock or gone");
}

static enum line_result line_set_data(struct parse *p, struct piece value)
{
    if (!value.len || value.len > DATA_BYTES)
        return line_refuse(p, REPLY_BADARG, "data= takes 1 to %d bytes, not %zu", DATA_BYTES, value.len);
    if (!piece_is_data(value))
        return bad_value(p, OPTION_DATA, value, "write visible characters except \"");
    p->request->data.len = (uint16_t)value.len;
    memcpy(p->request->data.text, value.text, value.len);
    return LINE_REQUEST;
}

static enum line_result line_set_keep(struct parse *p, struct piece value)
{
    enum line_result result = line_set_duration(p, OPTION_KEEP, value, &p->request->keep_ms);

    if (result == LINE_REQUEST && p->request->keep_ms == 0)
        return bad_value(p, OPTION_KEEP, value, "write at least 1ms, or leave it out");
    return result;
}

static enum line_result line_set_option(struct parse *p, enum option option, struct piece value)
{
    switch (option) {
    case OPTION_TTL: return line_set_duration(p, option, value, &p->request->ttl_ms);
    case OPTION_WAIT: return line_set_duration(p, option, value, &p->request->wait_ms);
    case OPTION_MAX: return line_set_duration(p, option, value, &p->request->max_ms);
    case OPTION_NOTE: return line_set_word(p, option, value, &p->request->note);
    case OPTION_CLIENT: return line_set_word(p, option, value, &p->request->client);
    case OPTION_HOLD: return line_set_hold(p, value);
    case OPTION_TOKEN: return line_set_token(p, value);
    case OPTION_MODE: return line_set_mode(p, value);
    case OPTION_SLOTS: return line_set_slots(p, value);
    case OPTION_SLOT: return line_set_slot(p, value);
    case OPTION_EVENTS: return line_set_events(p, value);
    case OPTION_LOST: return line_set_lost(p, value);
    case OPTION_DATA: return line_set_data(p, value);
    case OPTION_KEEP: return line_set_keep(p, value);
    case OPTION_KEPT: return bad_value(p, option, value, "write kept alone, without =");
    case OPTIONS: break;
    }
    assert(0 && "an option without its case");
    return LINE_REFUSED;
}

static enum line_result no_such_option(struct parse *p, struct piece key)
{
    char known[OPTIONS * sizeof " events="];
    size_t len = 0;

    if (!p->rule->takes)
        return line_refuse(p, REPLY_BADARG, "%s has no options; write %s", p->rule->word, p->rule->example);
    for (unsigned i = 0; i < OPTIONS; i++)
        if (p->rule->takes & OPTION_BIT(i))
            len += (size_t)snprintf(known + len, sizeof known - len,
                                    i == OPTION_KEPT ? " %s" : " %s=", rule_option_key((enum option)i));
    return line_refuse(p, REPLY_BADARG, "%s has no option %s; it has%s", p->rule->word, show_piece(key).text,
                       known);
}

static enum line_result read_option(struct parse *p, struct piece word)
{
    const char *equals = memchr(word.text, '=', word.len);

    if (!equals && rule_option(p->rule, word) == OPTION_KEPT) {
        p->seen |= OPTION_BIT(OPTION_KEPT);
        p->request->kept = true;
        return LINE_REQUEST;
    }
    if (!equals)
        return line_refuse(p, REPLY_BADARG, "%s is a word too many: write %s (options are key=value)",
                           show_piece(word).text, p->rule->example);
    struct piece key = {word.text, (size_t)(equals - word.text)};
    struct piece value = {equals + 1, word.len - key.len - 1};
    enum option option = rule_option(p->rule, key);
    if (option == OPTIONS)
        return no_such_option(p, key);
    if (p->seen & OPTION_BIT(option))
        return line_refuse(p, REPLY_BADARG, "%s= stands twice: write it once", rule_option_key(option));
    p->seen |= OPTION_BIT(option);
    return line_set_option(p, option, value);
}

/* ---- arguments ---- */

static void take_name(struct parse *p, struct piece word)
{
    p->request->name.len = (uint8_t)word.len;
    memcpy(p->request->name.text, word.text, word.len);
    p->named = true;
}

static enum line_result take_names(struct parse *p, struct piece word)
{
    switch (names_read(word, &p->request->name, &p->request->order)) {
    case NAMES_GOOD: p->named = true; return LINE_REQUEST;
    case NAMES_BAD: break;
    case NAMES_MANY:
        return line_refuse(p, REPLY_BADARG, "%s takes at most %d names at once", p->rule->word, LIST_NAMES);
    case NAMES_LONG:
        return line_refuse(p, REPLY_BADARG, "several names have at most %d bytes together, these have %zu",
                           LIST_BYTES, word.len);
    case NAMES_TWICE:
        return line_refuse(p, REPLY_BADARG, "a name stands twice in %s: write each once",
                           show_piece(word).text);
    }
    return line_refuse(
        p, REPLY_BADARG,
        "%s is no list of names: name,name without spaces, and each 1 to 200 visible characters "
        "except , \" = and no # or : first",
        show_piece(word).text);
}

static enum line_result read_name(struct parse *p)
{
    struct piece word = piece_next(&p->at, p->end);

    if (!word.len)
        return line_refuse(p, REPLY_BADARG, "%s needs a name; write %s", p->rule->word, p->rule->example);
    if (p->rule->argument == ARGUMENT_NAMES && memchr(word.text, ',', word.len))
        return take_names(p, word);
    if (word.len > NAME_BYTES)
        return line_refuse(p, REPLY_BADARG, "a name has at most %d bytes, this one has %zu", NAME_BYTES,
                           word.len);
    if (!piece_is_word(word, NAME_BYTES))
        return line_refuse(p, REPLY_BADARG,
                           "%s is not a name: 1 to 200 visible characters except , \" = and no # or : first; "
                           "options follow it",
                           show_piece(word).text);
    take_name(p, word);
    return LINE_REQUEST;
}

static enum line_result read_target(struct parse *p)
{
    struct piece word = piece_next(&p->at, p->end);

    if (word.len && !piece_tag(word, &p->request->target))
        return line_refuse(p, REPLY_BADARG, "%s is not a tag: 1 to 16 of A-Z a-z 0-9 . _ - (here without #)",
                           show_piece(word).text);
    return LINE_REQUEST;
}

static enum line_result read_protocol(struct parse *p)
{
    struct piece word = piece_next(&p->at, p->end);

    if (piece_is(word, "1"))
        return LINE_REQUEST;
    if (!piece_is_digits(word))
        return line_refuse(p, REPLY_BADARG, "HELLO needs the protocol's number first; write HELLO 1");
    enum line_result result = line_refuse(p, REPLY_UNSUPPORTED, "%s", "");
    (void)snprintf(p->refusal->words, sizeof p->refusal->words, "proto=1");
    return result;
}

static const char *const shows[] = {
    [SHOW_LOCKS] = "LOCKS",   [SHOW_WAITERS] = "WAITERS", [SHOW_CLIENTS] = "CLIENTS",
    [SHOW_NODES] = "NODES",   [SHOW_DAEMONS] = "DAEMONS", [SHOW_STATS] = "STATS",
    [SHOW_CONFIG] = "CONFIG", [SHOW_VERSION] = "VERSION", [SHOW_GROUP] = "GROUP",
    [SHOW_RELOAD] = "RELOAD",
};

static enum line_result read_show(struct parse *p)
{
    struct piece word = piece_next(&p->at, p->end);

    for (unsigned i = 0; word.len && i < COUNT(shows); i++)
        if (piece_is_ignoring_case(word, shows[i])) {
            p->request->show = (enum show)i;
            return LINE_REQUEST;
        }
    return line_refuse(p, REPLY_BADARG,
                       "SHOW takes LOCKS, WAITERS, CLIENTS, NODES, DAEMONS, GROUP, STATS, CONFIG, RELOAD or "
                       "VERSION");
}

/* Words that no user or secret can be are as wrong as unknown ones, and get the same answer later. */
static enum line_result read_secret(struct parse *p)
{
    struct piece user = piece_next(&p->at, p->end);
    struct piece secret = piece_next(&p->at, p->end);

    if (!secret.len || piece_next(&p->at, p->end).len)
        return line_refuse(p, REPLY_BADARG, "AUTH takes two words; write AUTH <user> <secret>");
    if (piece_is_word(user, WORD_BYTES)) {
        p->request->user.len = (uint8_t)user.len;
        memcpy(p->request->user.text, user.text, user.len);
    }
    if (secret.len == WORD_BYTES) {
        p->request->secret.len = (uint8_t)secret.len;
        memcpy(p->request->secret.text, secret.text, secret.len);
    }
    return LINE_REQUEST;
}

static enum line_result read_argument(struct parse *p)
{
    switch (p->rule->argument) {
    case ARGUMENT_NONE: return LINE_REQUEST;
    case ARGUMENT_NAME:
    case ARGUMENT_NAMES: return read_name(p);
    case ARGUMENT_TAG: return read_target(p);
    case ARGUMENT_PROTOCOL: return read_protocol(p);
    case ARGUMENT_SHOW: return read_show(p);
    case ARGUMENT_SECRET: return read_secret(p);
    }
    assert(0 && "an argument without its case");
    return LINE_REFUSED;
}

/* ---- lines ---- */

static bool is_bad(char c)
{
    return c < 0x20 || c > 0x7e;
}

/* Looks at eight bytes at a time. The bad byte of the lowest value place sets its high bit in high, since
 * the good bytes below it neither borrow nor carry; a word of good bytes sets none. */
static bool has_bad_bytes(const char *line, size_t len)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word, high = 0;
    bool bad = false;

    for (; len >= sizeof word; line += sizeof word, len -= sizeof word) {
        memcpy(&word, line, sizeof word);
        high |= word | (word - 0x20 * each) | (word + each);
    }
    while (len-- > 0)
        bad |= is_bad(*line++);
    return bad || (high & 0x80 * each) != 0;
}

static enum line_result line_refuse_bytes(struct parse *p)
{
    const char *line = p->at;
    size_t bad = 0;
    struct piece first = piece_next(&p->at, p->end);

    if (first.text[0] == '#')
        (void)piece_tag((struct piece){first.text + 1, first.len - 1}, &p->tag);
    while (!is_bad(line[bad]))
        bad++;
    /* A byte above ASCII may belong to a secret, so it is not echoed. */
    unsigned byte = (unsigned char)line[bad];
    if (byte > 0x7f)
        return line_refuse(p, REPLY_BADLINE,
                           "byte %zu is not ASCII: a line has 0x20 to 0x7e, then LF or CR LF", bad + 1);
    return line_refuse(p, REPLY_BADLINE, "byte %zu is 0x%02x: a line has 0x20 to 0x7e, then LF or CR LF",
                       bad + 1, byte);
}

/* Everything behind the verb. */
static enum line_result read_rest(struct parse *p)
{
    const struct verb_rule *rule = p->rule;

    request_clear(p->request, rule->verb);
    p->request->tag = p->tag;
    if (rule->verb == VERB_BREAK)
        p->request->slot = -1;
    enum line_result result = read_argument(p);
    if (result != LINE_REQUEST)
        return result;
    for (struct piece word = piece_next(&p->at, p->end); word.len; word = piece_next(&p->at, p->end)) {
        result = read_option(p, word);
        if (result != LINE_REQUEST)
            return result;
    }
    if (rule->needs & ~p->seen)
        return line_refuse(p, REPLY_BADARG, "%s needs %s; write %s", rule->word,
                           rule->verb == VERB_DATA ? "data=" : "the lock's token", rule->example);
    bool list = p->request->name.more != 0, slots = p->request->slots != 0;
    if (p->request->shared && (list || slots))
        return line_refuse(p, REPLY_BADARG, "mode=shared is for one name without slots=");
    if (list && slots)
        return line_refuse(p, REPLY_BADARG, "slots= is for one name, not for several at once");
    if (p->request->data.len && (p->request->shared || list || slots || p->request->hold == HOLD_LEASE))
        return line_refuse(p, REPLY_BADARG,
                           "data= is for one exclusive lock of a connection: not with a list, slots=, "
                           "mode=shared or hold=lease");
    if (p->request->kept && p->seen != OPTION_BIT(OPTION_KEPT))
        return line_refuse(p, REPLY_BADARG, "kept stands alone: UNLOCK <name> kept ends what keep= began");
    if (p->request->keep_ms != 0 && p->request->has_lost)
        return line_refuse(p, REPLY_BADARG, "keep= is for a lock that was not lost: leave lost= out");
    if ((p->request->keep_ms != 0 || p->request->kept) && list)
        return line_refuse(p, REPLY_BADARG, "keep= and kept are for one name, not for several at once");
    unsigned beside = p->request->shared ? OPTION_BIT(OPTION_MODE) | (p->seen & OPTION_BIT(OPTION_WAIT)) : 0;
    if (rule->verb == VERB_LOCK && p->request->has_token && p->seen != (OPTION_BIT(OPTION_TOKEN) | beside))
        return line_refuse(
            p, REPLY_BADARG,
            "token= asks for a lock once more and stands alone: its first LOCK's options go on");
    return LINE_REQUEST;
}

enum line_result line_parse(const char *line, size_t len, struct request *request, struct refusal *refusal)
{
    struct parse p = {.at = line, .end = line + len, .request = request, .refusal = refusal};

    if (len > LINE_BYTES - 1)
        return line_refuse(&p, REPLY_TOOLONG, "a line has at most %d bytes with its end", LINE_BYTES);
    if (has_bad_bytes(line, len))
        return line_refuse_bytes(&p);
    struct piece word = piece_next(&p.at, p.end);
    if (!word.len)
        return LINE_EMPTY;
    if (word.text[0] == '#') {
        if (!piece_tag((struct piece){word.text + 1, word.len - 1}, &p.tag))
            return line_refuse(&p, REPLY_BADTAG, "a tag is # and 1 to 16 of A-Z a-z 0-9 . _ -");
        word = piece_next(&p.at, p.end);
    }
    if (!word.len)
        return line_refuse(&p, REPLY_BADVERB, "no verb after the tag; HELP lists them");
    p.rule = rule_verb(word);
    if (!p.rule)
        return line_refuse(&p, REPLY_BADVERB, "%s is not a verb; HELP lists them", show_piece(word).text);
    return read_rest(&p);
}
