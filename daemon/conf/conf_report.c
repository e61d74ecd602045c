/* Errors and warnings, each with its place in the file, and which key may have been meant. */
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "daemon/conf/conf_private.h"

enum { KEY_BYTES = 64 };

static void __attribute__((format(printf, 5, 0)))
conf_report(struct conf_reader *r, const struct conf_place *place, const char *key, const char *kind,
            const char *fmt, va_list args)
{
    fprintf(r->errors, "%s:%u:%u: %s: %s", r->name, place->line, place->column, key, kind);
    vfprintf(r->errors, fmt, args);
    fputc('\n', r->errors);
}

void conf_fault(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    conf_report(r, place, key, "", fmt, args);
    va_end(args);
    r->faults++;
}

void conf_warn(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    conf_report(r, place, key, "warning: ", fmt, args);
    va_end(args);
}

const struct conf_row *conf_row_find(const struct conf_kind *mapping, const char *key)
{
    for (unsigned k = 0; k < mapping->count; k++)
        if (strcmp(mapping->rows[k].key, key) == 0)
            return &mapping->rows[k];
    return NULL;
}

struct conf_place *conf_place(struct conf_reader *r, const char *key)
{
    return &r->places[conf_row_find(&conf_whole, key) - conf_settings];
}

/* ---- unknown keys ---- */

/* Levenshtein's distance: only one row of its table is kept. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[KEY_BYTES + 1];
    unsigned len = (unsigned)strlen(b);
    for (unsigned j = 0; j <= len; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= len; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[len];
}

/* Our key for a word that other daemons use; NULL: unknown. */
static const char *key_elsewhere(const char *key)
{
    static const char *const pairs[][2] = {{"bind", "listen"},
                                           {"port", "listen"},
                                           {"address", "listen"},
                                           {"socket", "listen"},
                                           {"masters", "nodes"},
                                           {"servers", "nodes"},
                                           {"user", "node_user"},
                                           {"username", "node_user"},
                                           {"password", "node_password_file"},
                                           {"node_password", "node_password_file"},
                                           {"prefix", "key_prefix"},
                                           {"ttl", "default_ttl"}};
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcasecmp(key, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

/* The nearest setting, of which at most a third of the key is mistyped, or two letters; NULL: there is none. */
static const char *key_meant(const char *key)
{
    const char *meant = key_elsewhere(key);
    unsigned len = (unsigned)strlen(key), nearest = len / 3 > 2 ? len / 3 + 1 : 3;
    if (meant || len > KEY_BYTES)
        return meant;
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        unsigned distance = edit_distance(key, conf_settings[k].key);
        if (distance >= nearest)
            continue;
        meant = conf_settings[k].key;
        nearest = distance;
    }
    return meant;
}

/* Writes all keys of a mapping, with that text before the last one. */
static void keys_list(const struct conf_kind *mapping, const char *last, char *out, size_t size)
{
    const char *between = "";
    size_t len = 0;
    for (unsigned k = 0; k < mapping->count && len < size; k++) {
        len += (size_t)snprintf(out + len, size - len, "%s%s", between, mapping->rows[k].key);
        between = k + 2 < mapping->count ? ", " : last;
    }
}

void conf_key_unknown(struct conf_reader *r, const struct conf_place *place, const struct conf_kind *mapping,
                      const char *of, const char *key)
{
    char shown[KEY_BYTES + 2], all[CONF_WHY_BYTES];
    const char *meant = of ? NULL : key_meant(key);
    conf_shown(shown, sizeof shown, key);
    keys_list(mapping, of ? " and " : ", ", all, sizeof all);
    if (of)
        conf_fault(r, place, of, "%s is no key of %s; its keys are %s", shown, mapping->noun, all);
    else if (meant)
        conf_fault(r, place, shown, "unknown key; did you mean %s?", meant);
    else if (r->listed)
        conf_fault(r, place, shown, "unknown key");
    else
        conf_fault(r, place, shown, "unknown key; the keys are %s", all);
    r->listed |= !of && !meant;
}
