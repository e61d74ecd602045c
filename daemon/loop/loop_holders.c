#include "daemon/loop/loop_holders.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"
#include "proto/line_piece.h"

/* An owner is written as "5f0c93aa 00 89abcdef": daemon, kind, and the hash of a list; any other value is its own
 * owner. */
enum { KIND_HEX = 2, OWNER_LIST_AT = HOLDER_ID_HEX + 1 + KIND_HEX + 1 };

/* ---- owners ---- */

static bool is_lower(const char *text)
{
    return strpbrk(text, "ABCDEF?") == NULL;
}

/* Whether the value is a token of this version, alone or with the hash of a list behind it. */
static bool is_made(const char *value)
{
    struct token token;
    size_t len = strlen(value);
    bool listed = len == TOKEN_HEX + 1 + HOLDER_ID_HEX && value[TOKEN_HEX] == ',';
    return (len == TOKEN_HEX || listed) && is_lower(value) &&
           piece_token((struct piece){value, TOKEN_HEX}, &token) && token_is_made(&token);
}

static void identify(struct who_entry *entry)
{
    char *out = entry->owner;
    memset(out, 0, sizeof entry->owner);
    if (entry->kind == WHO_WAITS || !is_made(entry->value)) {
        memcpy(out, entry->value, sizeof entry->value);
        return;
    }
    memcpy(out, entry->value, HOLDER_ID_HEX);
    out[HOLDER_ID_HEX] = ' ';
    memcpy(out + HOLDER_ID_HEX + 1, entry->value + HOLDER_ID_HEX, KIND_HEX);
    out[OWNER_LIST_AT - 1] = ' ';
    if (entry->value[TOKEN_HEX] == ',')
        memcpy(out + OWNER_LIST_AT, entry->value + TOKEN_HEX + 1, HOLDER_ID_HEX);
}

static bool is_mark(const struct who_entry *entry)
{
    bool made = entry->kind == WHO_EXCLUSIVE && entry->owner[HOLDER_ID_HEX] == ' ';
    return made && strtoul(entry->owner + HOLDER_ID_HEX + 1, NULL, 16) == TOKEN_MARK;
}

static int by_owner(const struct who_entry *a, const struct who_entry *b)
{
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->owner, b->owner);
}

static int by_value(const void *left, const void *right)
{
    const struct who_entry *a = left, *b = right;
    int order = by_owner(a, b);
    return order != 0 ? order : strcmp(a->value, b->value);
}

void holders_identify(struct who_entry *entries, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        identify(&entries[i]);
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_value);
}

/* ---- holders ---- */

/* Counts a run of entries of one owner. A lock without end, -1, is the longest as an unsigned number. */
static void holder_count(struct holder *holder, const struct who_entry *run, unsigned count, unsigned quorum)
{
    uint64_t ms[MASTERS] = {0};
    masters_t masters = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned master = run[i].master;
        if (!(masters & masters_bit(master)) || (uint64_t)run[i].ms > ms[master])
            ms[master] = (uint64_t)run[i].ms;
        masters |= masters_bit(master);
    }
    holder->masters = masters_count(masters);
    bool lasts = run->kind != WHO_WAITS && holder->masters >= quorum;
    holder->ms = (int64_t)quorum_nth_largest(ms, masters, lasts ? quorum : 1);
}

static void holder_fill(struct holder *holder, const struct who_entry *run, unsigned count, unsigned quorum)
{
    *holder = (struct holder){.kind = run->kind, .slot = run->slot, .daemon = "?"};
    holder_count(holder, run, count, quorum);
    if (run->kind != WHO_WAITS && run->owner[HOLDER_ID_HEX] != ' ')
        return;
    holder->kept = is_mark(run);
    memcpy(holder->daemon, run->owner, HOLDER_ID_HEX);
    if (run->kind != WHO_WAITS)
        memcpy(holder->list, run->owner + OWNER_LIST_AT, HOLDER_ID_HEX);
}

static int by_rank(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    bool a_waits = a->kind == WHO_WAITS, b_waits = b->kind == WHO_WAITS;
    if (a_waits != b_waits)
        return a_waits ? 1 : -1;
    if (a_waits && a->ms != b->ms)
        return a->ms > b->ms ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (!a_waits && a->masters != b->masters)
        return a->masters > b->masters ? -1 : 1;
    return strcmp(a->daemon, b->daemon);
}

unsigned holders_list(struct holder *list, const struct who_entry *entries, unsigned count, unsigned quorum)
{
    unsigned holders = 0;
    for (unsigned i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && by_owner(&entries[i], &entries[end]) == 0;)
            end++;
        holder_fill(&list[holders++], &entries[i], end - i, quorum);
    }
    if (holders > 0)
        qsort(list, holders, sizeof *list, by_rank);
    return holders;
}

/* ---- what a holder tells ---- */

static bool same_told(const struct who_told *a, const struct who_told *b)
{
    return strcmp(a->value, b->value) == 0 && a->fence == b->fence && a->data.len == b->data.len &&
           memcmp(a->data.text, b->data.text, a->data.len) == 0;
}

/* Of as many masters each the higher fence counts: the other one is of before a RESUME. */
const struct who_told *holder_told(const struct holder *holder, const struct who_told *told, unsigned masters)
{
    const struct who_told *best = NULL;
    unsigned most = 0;
    if (holder->kind != WHO_EXCLUSIVE || holder->slot != WHO_NO_SLOT || holder->list[0] != '\0')
        return NULL;
    for (unsigned i = 0; i < masters; i++) {
        unsigned same = 0;
        if (told[i].data.len == 0 || strncmp(told[i].value, holder->daemon, HOLDER_ID_HEX) != 0)
            continue;
        for (unsigned k = 0; k < masters; k++)
            same += same_told(&told[i], &told[k]);
        if (same > most || (same == most && told[i].fence > best->fence)) {
            best = &told[i];
            most = same;
        }
    }
    return best;
}

/* ---- BREAK ---- */

/* Readers are told apart by their members, since each member is deleted by itself. */
static bool same_hold(const struct who_entry *a, const struct who_entry *b)
{
    return (a->kind == WHO_SHARED ? by_value(a, b) : by_owner(a, b)) == 0;
}

static masters_t masters_of(const struct who_entry *run, unsigned count)
{
    masters_t masters = 0;
    for (unsigned i = 0; i < count; i++)
        masters |= masters_bit(run[i].master);
    return masters;
}

enum breaking holders_break(struct who_entry *entries, unsigned count, unsigned quorum, int slot,
                            bool has_slots)
{
    enum breaking result = slot == WHO_NO_SLOT && has_slots ? BREAKING_WHICH : BREAKING_FREE;
    for (unsigned i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && same_hold(&entries[i], &entries[end]);)
            end++;
        if (entries[i].slot != WHO_NO_SLOT && slot == WHO_NO_SLOT && result == BREAKING_FREE)
            result = BREAKING_WHICH;
        if (entries[i].kind == WHO_WAITS || entries[i].slot != slot)
            continue;
        bool agreed = masters_count(masters_of(&entries[i], end - i)) >= quorum;
        bool is_lock = strcmp(entries[i].value, "?") != 0;
        if (agreed && !is_lock)
            return BREAKING_NO_LOCK;
        for (unsigned k = i; k < end; k++)
            entries[k].doomed = agreed;
        if (agreed)
            result = BREAKING;
        else if (result != BREAKING)
            result = BREAKING_SPLIT;
    }
    return result;
}

enum breaking holders_unkeep(struct who_entry *entries, unsigned *count)
{
    unsigned marks = 0;
    for (unsigned i = 0; i < *count; i++)
        if (is_mark(&entries[i])) {
            entries[marks] = entries[i];
            entries[marks++].doomed = true;
        }
    *count = marks;
    return marks > 0 ? BREAKING : BREAKING_FREE;
}
