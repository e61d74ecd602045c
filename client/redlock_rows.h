/* Rows of SHOW, kept and laid out. */
#ifndef REDLOCK_ROWS_H
#define REDLOCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    ROWS_BYTES_MAX = 256 << 20, /* what is kept of one answer */
    COLUMNS_MAX = 64,
};

struct rows {
    char *text; /* one row after the other, each with NUL */
    size_t len, room;
    size_t count;
    bool failed; /* out of memory, or beyond the limit: the last rows are missing */
};

void rows_add(struct rows *rows, const char *row);
void rows_free(struct rows *rows); /* empty again */
/* The next row: start with NULL; NULL: there is none. */
const char *rows_next(const struct rows *rows, const char *row);

/* The value of key in a row into out (cut to size, NUL at its end): "" where it has none. */
const char *row_value(const char *row, const char *key, char *out, size_t size);
int64_t row_number(const char *row, const char *key); /* 0: it has none */

enum layout {
    LAYOUT_LIST,     /* each row is a thing: locks, waiters, clients, nodes */
    LAYOUT_FIGURES,  /* each row is a key and its number: stats */
    LAYOUT_SETTINGS, /* each row is a key and its word: config, version */
};

/* Into another order: by the number of that key, the highest first, those of one number as they came. */
void rows_sort(struct rows *rows, const char *key);

/* A table with aligned columns, numbers to the right and times as people write them. Lines are cut to
 * `width` columns (0: never). most: so many rows at most. */
void rows_table(const struct rows *rows, enum layout layout, size_t width, size_t most, FILE *out);
/* One JSON value and a line feed: a list of objects, or one object. Numbers are numbers by their key, not by
 * their look: a lock may be called 17. */
void rows_json(const struct rows *rows, enum layout layout, FILE *out);

#endif
