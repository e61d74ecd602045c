#include "proto/group.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_DIGITS = 9, MS_DIGITS = 15 /* GROUP_MAX_MS has so many */, SET_HEX = 16 };

struct rest {
    const char *at, *end;
};

size_t group_text(char out[GROUP_BYTES], const struct group *group)
{
    assert(group->max_ttl_ms > 0 && group->from_ms > 0);
    bool first = group->step == 0;
    int len = snprintf(out, GROUP_BYTES, "%s=%" PRIu32 " max_ttl=%" PRId64 " run=%.*s from=%" PRId64,
                       first ? "1 N" : "2 step", first ? group->masters : group->step, group->max_ttl_ms,
                       RUN_ID_HEX, group->run_id, group->from_ms);
    if (!first)
        len += snprintf(out + len, GROUP_BYTES - (size_t)len,
                        " since=%" PRId64 "%s set=%016" PRIx64 " before=%016" PRIx64, group->since_ms,
                        group->settled ? " settled" : "", group->set, group->before);
    if (group->by[0] != '\0')
        len += snprintf(out + len, GROUP_BYTES - (size_t)len, " by=%s", group->by);
    if (group->why[0] != '\0')
        len += snprintf(out + len, GROUP_BYTES - (size_t)len, " why=%s", group->why);
    if (first && group->set != 0)
        len += snprintf(out + len, GROUP_BYTES - (size_t)len, " set=%016" PRIx64, group->set);
    if (group->back_ms != 0)
        len += snprintf(out + len, GROUP_BYTES - (size_t)len, " back=%" PRId64, group->back_ms);
    assert(len > 0 && len < GROUP_BYTES);
    return (size_t)len;
}

static bool take_text(struct rest *rest, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(rest->end - rest->at) < len || memcmp(rest->at, text, len) != 0)
        return false;
    rest->at += len;
    return true;
}

static bool take_number(struct rest *rest, unsigned digits, int64_t *number)
{
    unsigned n = 0;
    if (rest->at == rest->end || *rest->at == '0')
        return false;
    for (*number = 0; rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9'; rest->at++, n++) {
        if (n == digits)
            return false;
        *number = *number * 10 + (*rest->at - '0');
    }
    return n > 0;
}

static bool take_run_id(struct rest *rest, char run_id[RUN_ID_HEX])
{
    if (rest->end - rest->at < RUN_ID_HEX)
        return false;
    for (unsigned i = 0; i < RUN_ID_HEX; i++) {
        if (!memchr("0123456789abcdefABCDEF", rest->at[i], 22))
            return false;
    }
    memcpy(run_id, rest->at, RUN_ID_HEX);
    rest->at += RUN_ID_HEX;
    return true;
}

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!memchr("0123456789abcdef", text[i], 16))
            return false;
    return true;
}

static bool is_key(const char *key, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(key, word, len) == 0;
}

/* 16 digits in hex; 0: it is something else. */
static uint64_t set_of(const char *text, size_t len)
{
    uint64_t set = 0;
    if (len != SET_HEX || !is_hex(text, len))
        return 0;
    for (size_t i = 0; i < len; i++)
        set = set << 4 | (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    return set;
}

static int64_t back_of(const char *text, const char *end)
{
    struct rest rest = {text, end};
    int64_t back_ms;
    return take_number(&rest, MS_DIGITS, &back_ms) && rest.at == end ? back_ms : 0;
}

static bool take_hash(struct rest *rest, uint64_t *hash)
{
    if (rest->end - rest->at < SET_HEX)
        return false;
    *hash = set_of(rest->at, SET_HEX);
    rest->at += SET_HEX;
    return *hash != 0;
}

/* Takes by=, why=, set= and back=. A later version may write longer words than this one can hold: these are left
 * out. */
static void know_word(struct group *group, const char *key, const char *equals, const char *end)
{
    size_t key_len = (size_t)(equals - key), len = (size_t)(end - equals - 1);
    char *to = NULL;
    if (is_key(key, key_len, "set") && group->step == 0)
        group->set = set_of(equals + 1, len);
    else if (is_key(key, key_len, "back"))
        group->back_ms = back_of(equals + 1, end);
    else if (is_key(key, key_len, "by"))
        to = group->by;
    else if (is_key(key, key_len, "why"))
        to = group->why;
    if (to == NULL || len >= GROUP_WORD || (to == group->by && !is_hex(equals + 1, len)))
        return;
    memcpy(to, equals + 1, len);
    to[len] = '\0';
}

/* " key=value": key and value have at least one byte each, all of them printable. */
static bool take_word(struct rest *rest, struct group *group)
{
    const char *equals = NULL;
    if (*rest->at != ' ')
        return false;
    const char *key = ++rest->at;
    for (; rest->at < rest->end && *rest->at != ' '; rest->at++) {
        if (*rest->at < 0x21 || *rest->at > 0x7e)
            return false;
        if (*rest->at == '=' && equals == NULL)
            equals = rest->at;
    }
    if (equals == NULL || equals == key || equals + 1 == rest->at)
        return false;
    know_word(group, key, equals, rest->at);
    return true;
}

static bool take_step(struct rest *rest, struct group *group)
{
    if (!take_text(rest, " since=") || !take_number(rest, MS_DIGITS, &group->since_ms))
        return false;
    group->settled = take_text(rest, " settled");
    return take_text(rest, " set=") && take_hash(rest, &group->set) && take_text(rest, " before=") &&
           take_hash(rest, &group->before);
}

bool group_parse(const char *text, size_t len, struct group *group)
{
    struct rest rest = {text, text + len};
    int64_t number;
    bool first = take_text(&rest, "1 N=");
    memset(group, 0, sizeof *group);
    if ((!first && !take_text(&rest, "2 step=")) || !take_number(&rest, NUMBER_DIGITS, &number) ||
        !take_text(&rest, " max_ttl=") || !take_number(&rest, MS_DIGITS, &group->max_ttl_ms) ||
        !take_text(&rest, " run=") || !take_run_id(&rest, group->run_id) || !take_text(&rest, " from=") ||
        !take_number(&rest, MS_DIGITS, &group->from_ms))
        return false;
    *(first ? &group->masters : &group->step) = (uint32_t)number;
    if (!first && !take_step(&rest, group))
        return false;
    while (rest.at < rest.end) {
        if (!take_word(&rest, group))
            return false;
    }
    return true;
}
