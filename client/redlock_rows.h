/* Keeps rows of SHOW and lays them out. */
#ifndef REDLOCK_ROWS_H
#define REDLOCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    ROWS_BYTES_MAX = 256 << 20, /* the most that is kept of one answer */
    COLUMNS_MAX = 64,
};

struct rows {
    char *text; /* one row after the other, each with its NUL */
    size_t len, room;
    size_t count;
    bool failed; /* out of memory, or beyond the limit: rows are missing */
};

void rows_add(struct rows *rows, const char *row);
void rows_free(struct rows *rows); /* the rows are empty afterwards */
/* Returns the row after the given one, or the first for NULL; NULL: there is none. */
const char *rows_next(const struct rows *rows, const char *row);

/* Copies the value of key to out, cut to size, with NUL at its end; "" if the row has none. Returns out. */
const char *row_value(const char *row, const char *key, char *out, size_t size);
int64_t row_number(const char *row, const char *key); /* 0 if the row has no such key, or no number there */

enum layout {
    LAYOUT_LIST,     /* each row is a thing: locks, waiters, clients, nodes */
    LAYOUT_FIGURES,  /* each row is a key and its number: stats */
    LAYOUT_SETTINGS, /* each row is a key and its word: config, version */
};

/* Sorts by the number of that key, the highest first; rows with the same number stay in order. */
void rows_sort(struct rows *rows, const char *key);

/* Prints a table with aligned columns, numbers to the right and times as people write them. Lines are cut to
 * `width` columns (0: never), and at most `most` rows are printed. */
void rows_table(const struct rows *rows, enum layout layout, size_t width, size_t most, FILE *out);
/* Prints one JSON value, a list of objects or one object, and a line feed. In a list, only values of certain
 * keys become numbers, since a lock may be called 17. */
void rows_json(const struct rows *rows, enum layout layout, FILE *out);

#endif
