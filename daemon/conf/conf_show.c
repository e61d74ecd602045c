/* Settings -> text: YAML that can be read again, and the rows of SHOW CONFIG. */
#include <stdarg.h>
#include <string.h>

#include "daemon/conf/conf_private.h"

/* YAML goes to a file; a row, as in "127.0.0.1:1,fin=break", goes to a text. */
struct writer {
    struct conf *conf;
    FILE *yaml; /* NULL: a row */
    char *out;
    size_t size, len;
    bool more; /* a key was written before, so a comma comes next */
};

static void put(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (w->yaml)
        vfprintf(w->yaml, fmt, args);
    else if (w->len < w->size)
        w->len += (size_t)vsnprintf(w->out + w->len, w->size - w->len, fmt, args);
    va_end(args);
}

static void put_text(struct writer *w, const struct conf_kind *kind, const char *text)
{
    bool quoted = w->yaml && kind->quoted;
    put(w, "%s", quoted ? "\"" : "");
    for (; *text; text++)
        put(w, "%s%c", quoted && strchr("\"\\", *text) ? "\\" : "", *text);
    put(w, "%s", quoted ? "\"" : "");
}

/* Writes value i; false: there is none. */
static bool value_text(const struct writer *w, const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct conf_kind *kind = v->row->kind;
    return (w->yaml && kind->print ? kind->print : kind->show)(v, i, out, size);
}

static void put_value(struct writer *w, const struct conf_value *v)
{
    char text[CONF_VALUE_BYTES];
    bool list = w->yaml && v->row->kind->many;
    put(w, "%s", list ? "[" : "");
    for (unsigned i = 0; value_text(w, v, i, text, sizeof text); i++) {
        put(w, "%s", !i ? "" : list ? ", " : "+");
        put_text(w, v->row->kind, text);
    }
    put(w, "%s", list ? "]" : "");
}

/* Whether a value of a mapping is the default, which is not written. */
static bool is_default(const struct writer *w, const struct conf_value *v)
{
    char text[CONF_VALUE_BYTES];
    const char *field = (const char *)v->record + v->row->at;
    if (v->row->kind->many)
        return !value_text(w, v, 0, text, sizeof text);
    for (size_t i = 0; i < v->row->size; i++)
        if (field[i] != 0)
            return false;
    return true;
}

static void put_key(struct writer *w, const char *key)
{
    const char *comma = w->yaml ? ", " : ",";
    put(w, "%s%s%s", w->more ? comma : "", key, w->yaml ? ": " : "=");
    w->more = true;
}

/* The keys of a mapping from the first one on. In a row the keys of a mapping stand beside those of its outer one. */
static void put_keys(struct writer *w, const struct conf_kind *mapping, void *record, unsigned first)
{
    for (unsigned k = first; k < mapping->count; k++) {
        const struct conf_value v = {w->conf, &mapping->rows[k], record};
        const struct conf_kind *inner = v.row->kind->rows ? v.row->kind : NULL;
        if (is_default(w, &v))
            continue;
        if (!inner || w->yaml)
            put_key(w, v.row->key);
        if (!inner) {
            put_value(w, &v);
            continue;
        }
        w->more &= !w->yaml;
        put(w, "%s", w->yaml ? "{" : "");
        put_keys(w, inner, (char *)record + v.row->at, 0);
        put(w, "%s", w->yaml ? "}" : "");
        w->more = true;
    }
}

/* An item is a mapping if more than the value of its first key is to be said. */
static void put_item(struct writer *w, const struct conf_row *row, unsigned i)
{
    const struct conf_kind *list = row->kind;
    const struct conf_value head = {w->conf, list->rows, conf_item(w->conf, row, i)};
    bool mapping = list->users;
    for (unsigned k = 1; k < list->count; k++)
        mapping |= !is_default(w, &(struct conf_value){w->conf, &list->rows[k], head.record});
    if (w->yaml && mapping)
        put(w, "{%s: ", head.row->key);
    put_value(w, &head);
    w->more = true;
    put_keys(w, list, head.record, 1);
    put(w, "%s", w->yaml && mapping ? "}" : "");
}

static void put_setting(struct writer *w, const struct conf_row *row)
{
    const struct conf_value v = {w->conf, row, w->conf};
    if (!row->kind->rows) {
        put_value(w, &v);
        return;
    }
    put(w, "%s", w->yaml ? "{" : "");
    put_keys(w, row->kind, (char *)w->conf + row->at, 0);
    put(w, "%s", w->yaml ? "}" : "");
}

/* Writing changes nothing in the configuration, but a value has no type of its own for what is only read. */
static struct conf *to_write(const struct conf *conf)
{
    return (struct conf *)(uintptr_t)conf;
}

/* ---- rows ---- */

static unsigned setting_rows(const struct conf *conf, const struct conf_kind *kind)
{
    if (kind->users)
        return users_rows(conf->users);
    return kind->most ? conf_items(to_write(conf), kind) : 1;
}

bool conf_show(const struct conf *conf, const struct conf_row *row, unsigned i, char *out, size_t size)
{
    struct writer w = {.conf = to_write(conf), .out = out, .size = size};
    out[0] = '\0';
    if (row->kind->users)
        return users_row(conf->users, i, out, size);
    if (i >= setting_rows(conf, row->kind))
        return false;
    if (row->kind->most)
        put_item(&w, row, i);
    else
        put_setting(&w, row);
    return true;
}

bool conf_row(const struct conf *conf, unsigned i, char *key, size_t key_size, char *value, size_t value_size)
{
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        unsigned rows = setting_rows(conf, conf_settings[k].kind);
        if (i < rows) {
            snprintf(key, key_size, "%s", conf_settings[k].key);
            return conf_show(conf, &conf_settings[k], i, value, value_size);
        }
        i -= rows;
    }
    return false;
}

/* ---- YAML ---- */

static void print_list(struct writer *w, const struct conf_row *row)
{
    unsigned items = conf_items(w->conf, row->kind);
    if (!items && row->kind->users) {
        put(w, "%s", w->conf->users_off ? "users: off\n" : "");
        return;
    }
    put(w, items ? "%s:\n" : "%s: []\n", row->key);
    for (unsigned i = 0; i < items; i++) {
        put(w, "  - ");
        put_item(w, row, i);
        put(w, "\n");
    }
}

void conf_print(const struct conf *conf, FILE *out)
{
    struct writer w = {.conf = to_write(conf), .yaml = out};
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        const struct conf_row *row = &conf_settings[k];
        w.more = false;
        if (row->kind->most) {
            print_list(&w, row);
            continue;
        }
        put(&w, "%s: ", row->key);
        put_setting(&w, row);
        put(&w, "\n");
    }
}
