#include "client/redlock_rows.h"

#include <stdlib.h>
#include <string.h>

#include "client/redlock_cmd.h"

/* ---- keeping ---- */

void rows_add(struct rows *rows, const char *row)
{
    size_t len = strlen(row) + 1;

    if (rows->len + len > rows->room) {
        size_t room = rows->room ? 2 * rows->room : 4096;
        while (room < rows->len + len)
            room *= 2;
        char *more = room > ROWS_BYTES_MAX ? NULL : realloc(rows->text, room);
        if (!more) {
            rows->failed = true;
            return;
        }
        rows->text = more;
        rows->room = room;
    }
    memcpy(rows->text + rows->len, row, len);
    rows->len += len;
    rows->count++;
}

void rows_free(struct rows *rows)
{
    free(rows->text);
    *rows = (struct rows){0};
}

const char *rows_next(const struct rows *rows, const char *row)
{
    const char *next = row ? row + strlen(row) + 1 : rows->text;

    return rows->count > 0 && next < rows->text + rows->len ? next : NULL;
}

struct ranked {
    const char *row;
    int64_t rank;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    return (left->row > right->row) - (left->row < right->row);
}

void rows_sort(struct rows *rows, const char *key)
{
    struct ranked *all = calloc(rows->count + 1, sizeof *all);
    struct rows sorted = {.failed = rows->failed};
    size_t i = 0;

    if (!all)
        return;
    for (const char *row = rows_next(rows, NULL); row; row = rows_next(rows, row))
        all[i++] = (struct ranked){row, row_number(row, key)};
    qsort(all, i, sizeof *all, by_rank);
    for (size_t j = 0; j < i; j++)
        rows_add(&sorted, all[j].row);
    free(all);
    free(rows->text);
    *rows = sorted;
}

/* ---- values ---- */

struct text {
    const char *at;
    size_t len;
};

static bool is(struct text text, const char *word)
{
    return strlen(word) == text.len && memcmp(word, text.at, text.len) == 0;
}

static struct text row_find(const char *row, const char *key)
{
    struct redlock_pair pair;

    for (const char *at = row; redlock_next_pair(&at, &pair);)
        if (is((struct text){pair.key, pair.key_len}, key))
            return (struct text){pair.value, pair.value_len};
    return (struct text){NULL, 0};
}

const char *row_value(const char *row, const char *key, char *out, size_t size)
{
    struct text value = row_find(row, key);

    (void)snprintf(out, size, "%.*s", (int)value.len, value.at ? value.at : "");
    return out;
}

static bool is_number(struct text text)
{
    size_t i = text.len > 1 && text.at[0] == '-' ? 1 : 0;

    if (text.len == i || text.len > 18)
        return false;
    for (; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return true;
}

static int64_t number_of(struct text text)
{
    int64_t number = 0;

    if (!text.at || !is_number(text))
        return 0;
    bool minus = text.at[0] == '-';
    for (size_t i = minus ? 1 : 0; i < text.len; i++)
        number = number * 10 + (text.at[i] - '0');
    return minus ? -number : number;
}

int64_t row_number(const char *row, const char *key)
{
    return number_of(row_find(row, key));
}

/* ---- what the keys mean ---- */

enum meaning { MEANS_TEXT, MEANS_NUMBER, MEANS_MS };

static enum meaning meaning_of(struct text key)
{
    static const char *const times[] = {"for",       "left",          "valid",   "waited", "idle", "retry",
                                        "uptime_ms", "their_max_ttl", "waiting", "seen",   "clock"};
    static const char *const numbers[] = {"session", "fence", "depth",  "waiters", "position", "locks",
                                          "waits",   "out",   "rtt_us", "pending", "undo",     "errors",
                                          "their_n", "slot",  "more",   "masters"};

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (is(key, times[i]))
            return MEANS_MS;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (is(key, numbers[i]))
            return MEANS_NUMBER;
    return MEANS_TEXT;
}

/* ---- a table ---- */

struct column {
    struct text key;
    size_t width;
    bool right;
};

struct table {
    struct column column[COLUMNS_MAX];
    size_t columns;
    size_t width; /* 0: no limit */
    FILE *out;
};

enum { CELL = 2048, LINE = 16384 };

static const int64_t WAIT_LONGEST_MS = INT64_C(30) * 24 * 3600 * 1000; /* the protocol's longest wait */
enum { ENDLESS_WITHIN_MS = 1000 }; /* the wait may be so much shorter, as connecting took a part of it */

/* Whether a waiter asked for the longest wait there is, which `redlock run` does where no --wait is given. */
static bool is_endless(const char *row)
{
    int64_t waited_ms = row_number(row, "waited"), left_ms = row_number(row, "left");

    return waited_ms > 0 && waited_ms + left_ms >= WAIT_LONGEST_MS - ENDLESS_WITHIN_MS;
}

/* The value as people read it; "-" where the row has none. */
static const char *cell(const char *row, struct text key, struct text value, char out[CELL])
{
    char time[DURATION_TEXT];

    if (!value.at || value.len == 0)
        return "-";
    if (is(key, "left") && (is_endless(row) || is(value, "-1")))
        return "endless";
    if (meaning_of(key) == MEANS_MS && is_number(value))
        (void)snprintf(out, CELL, "%s", duration_text(number_of(value), time));
    else
        (void)snprintf(out, CELL, "%.*s", (int)value.len, value.at);
    return out;
}

static struct column *column_of(struct table *table, struct text key)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].key.len == key.len && memcmp(table->column[i].key.at, key.at, key.len) == 0)
            return &table->column[i];
    if (table->columns == COLUMNS_MAX)
        return NULL;
    struct column *column = &table->column[table->columns++];
    *column = (struct column){key, key.len, meaning_of(key) != MEANS_TEXT};
    return column;
}

static void measure(struct table *table, const char *row)
{
    struct redlock_pair pair;
    char text[CELL];

    for (const char *at = row; redlock_next_pair(&at, &pair);) {
        struct text key = {pair.key, pair.key_len}, value = {pair.value, pair.value_len};
        struct column *column = column_of(table, key);
        if (!column)
            continue;
        size_t width = strlen(cell(row, key, value, text));
        if (width > column->width)
            column->width = width;
    }
}

static void rows_upper(char *text)
{
    for (; *text; text++)
        if (*text >= 'a' && *text <= 'z')
            *text = (char)(*text - 'a' + 'A');
}

/* Prints a row, or for NULL the heads of the columns. */
static void print_line(const struct table *table, const char *row)
{
    char line[LINE], text[CELL];
    size_t len = 0;

    for (size_t i = 0; i < table->columns && len < sizeof line; i++) {
        const struct column *column = &table->column[i];
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)column->key.len, column->key.at);
        const char *shown = row ? cell(row, column->key, row_find(row, name), text) : name;
        if (!row)
            rows_upper(name);
        int width = i + 1 < table->columns || column->right ? (int)column->width : 0;
        len += (size_t)snprintf(line + len, sizeof line - len, "%s%*s", i ? "  " : "",
                                column->right ? width : -width, shown);
    }
    if (len >= sizeof line)
        len = sizeof line - 1;
    if (table->width && len > table->width)
        len = table->width;
    while (len > 0 && line[len - 1] == ' ')
        len--;
    (void)fprintf(table->out, "%.*s\n", (int)len, line);
}

static void print_list(struct table *table, const struct rows *rows, size_t most)
{
    size_t i = 0;

    for (const char *row = rows_next(rows, NULL); row && i < most; row = rows_next(rows, row), i++)
        measure(table, row);
    if (table->columns > 0)
        print_line(table, NULL);
    i = 0;
    for (const char *row = rows_next(rows, NULL); row && i < most; row = rows_next(rows, row), i++)
        print_line(table, row);
}

static void print_figures(const struct rows *rows, size_t most, FILE *out)
{
    size_t width = 0, i = 0;
    struct redlock_pair pair;
    char text[CELL];

    for (const char *row = rows_next(rows, NULL); row; row = rows_next(rows, row))
        if (redlock_next_pair(&(const char *){row}, &pair) && pair.key_len > width)
            width = pair.key_len;
    for (const char *row = rows_next(rows, NULL); row && i < most; row = rows_next(rows, row), i++)
        if (redlock_next_pair(&(const char *){row}, &pair)) {
            struct text key = {pair.key, pair.key_len}, value = {pair.value, pair.value_len};
            (void)fprintf(out, "%-*.*s  %s\n", (int)width, (int)key.len, key.at, cell(row, key, value, text));
        }
}

void rows_table(const struct rows *rows, enum layout layout, size_t width, size_t most, FILE *out)
{
    struct table table = {.width = width, .out = out};

    if (layout == LAYOUT_LIST)
        print_list(&table, rows, most);
    else
        print_figures(rows, most, out);
}

/* ---- JSON ---- */

static void json_string(struct text text, FILE *out)
{
    (void)putc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"' || text.at[i] == '\\')
            (void)putc('\\', out);
        (void)putc(text.at[i], out);
    }
    (void)putc('"', out);
}

/* JSON has no numbers with leading zeros, and many readers are exact up to 2^53 only. A negative value (as of
 * rtt_us before the first measurement) is no figure, and stays a word, except where a clock is behind. */
static bool is_json_number(struct text key, struct text value)
{
    bool may_be_behind = is(key, "clock") || is(key, "wall_ahead_ms");

    return is_number(value) && value.len <= 16 && (value.len == 1 || value.at[0] != '0') &&
           (value.at[0] != '-' || may_be_behind);
}

static void json_value(struct text key, struct text value, bool number, FILE *out)
{
    if (number && is_json_number(key, value))
        (void)fprintf(out, "%.*s", (int)value.len, value.at);
    else
        json_string(value, out);
}

static void json_list(const struct rows *rows, FILE *out)
{
    struct redlock_pair pair;
    const char *between = "";

    (void)putc('[', out);
    for (const char *row = rows_next(rows, NULL); row; row = rows_next(rows, row)) {
        const char *comma = "";
        (void)fprintf(out, "%s{", between);
        for (const char *at = row; redlock_next_pair(&at, &pair);) {
            struct text key = {pair.key, pair.key_len};
            (void)fputs(comma, out);
            json_string(key, out);
            (void)putc(':', out);
            json_value(key, (struct text){pair.value, pair.value_len}, meaning_of(key) != MEANS_TEXT, out);
            comma = ",";
        }
        (void)putc('}', out);
        between = ",\n";
    }
    (void)fputs("]\n", out);
}

/* Keys that may come several times, as nodes= of the configuration, are lists, even if they come once. */
static bool is_plural(struct text key)
{
    return is(key, "nodes") || is(key, "listen");
}

static bool is_first(const struct rows *rows, const char *row, struct text key)
{
    struct redlock_pair pair;

    for (const char *one = rows_next(rows, NULL); one && one != row; one = rows_next(rows, one))
        if (redlock_next_pair(&(const char *){one}, &pair) && pair.key_len == key.len &&
            memcmp(pair.key, key.at, key.len) == 0)
            return false;
    return true;
}

static void json_plural(const struct rows *rows, struct text key, FILE *out)
{
    struct redlock_pair pair;
    const char *comma = "";

    (void)putc('[', out);
    for (const char *row = rows_next(rows, NULL); row; row = rows_next(rows, row)) {
        if (!redlock_next_pair(&(const char *){row}, &pair) || pair.key_len != key.len ||
            memcmp(pair.key, key.at, key.len) != 0)
            continue;
        (void)fputs(comma, out);
        json_string((struct text){pair.value, pair.value_len}, out);
        comma = ",";
    }
    (void)putc(']', out);
}

static void json_object(const struct rows *rows, bool numbers, FILE *out)
{
    struct redlock_pair pair;
    const char *comma = "";

    (void)putc('{', out);
    for (const char *row = rows_next(rows, NULL); row; row = rows_next(rows, row)) {
        if (!redlock_next_pair(&(const char *){row}, &pair))
            continue;
        struct text key = {pair.key, pair.key_len};
        if (!is_first(rows, row, key))
            continue;
        (void)fputs(comma, out);
        json_string(key, out);
        (void)putc(':', out);
        if (is_plural(key))
            json_plural(rows, key, out);
        else
            json_value(key, (struct text){pair.value, pair.value_len}, numbers, out);
        comma = ",\n";
    }
    (void)fputs("}\n", out);
}

void rows_json(const struct rows *rows, enum layout layout, FILE *out)
{
    if (layout == LAYOUT_LIST)
        json_list(rows, out);
    else
        json_object(rows, layout == LAYOUT_FIGURES, out);
}
