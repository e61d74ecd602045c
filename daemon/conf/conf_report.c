/* Errors and warnings, each with its place in the file. */
#include <stdarg.h>
#include <string.h>

#include "daemon/conf/conf_private.h"

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

int conf_key_find(const char *key)
{
    for (int k = 0; k < CONF_KEYS; k++)
        if (strcmp(conf_settings[k].key, key) == 0)
            return k;
    return -1;
}

struct conf_place *conf_place(struct conf_reader *r, const char *key)
{
    return &r->places[conf_key_find(key)];
}
