/* Converts the value of a setting: text -> field, field -> text. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"

static void *field(struct conf *conf, const struct conf_setting *setting)
{
    return (char *)conf + setting->offset;
}

static const void *field_const(const struct conf *conf, const struct conf_setting *setting)
{
    return (const char *)conf + setting->offset;
}

const char *conf_shown(char *out, size_t size, const char *text)
{
    if (strchr(text, '@'))
        text = "(hidden)";
    return log_escape(out, size, text, strlen(text));
}

bool conf_value_refuse(char why[CONF_WHY_BYTES], const char *text, const char *allowed)
{
    char shown[80];
    snprintf(why, CONF_WHY_BYTES, "%s is not %s", conf_shown(shown, sizeof shown, text), allowed);
    return false;
}

bool conf_digits(const char *text, int64_t *value, const char **rest)
{
    *value = 0;
    const char *p = text;
    for (; isdigit((unsigned char)*p); p++) {
        if (p - text >= 10)
            return false;
        *value = *value * 10 + (*p - '0');
    }
    *rest = p;
    return p > text;
}

struct unit {
    const char *suffix;
    int64_t factor;
};

/* From the largest unit to the smallest, which has factor 1. */
static const struct unit duration_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit size_units[] = {{"m", 1 << 20}, {"k", 1 << 10}, {"", 1}};
static const struct unit count_units[] = {{"", 1}};

enum { DURATION_UNITS = 4, SIZE_UNITS = 3, COUNT_UNITS = 1 };

static void value_show_units(int64_t value, const struct unit *units, unsigned count, char *out, size_t size)
{
    unsigned i = 0;
    while (i + 1 < count && (value == 0 || value % units[i].factor != 0))
        i++;
    snprintf(out, size, "%" PRId64 "%s", value / units[i].factor, units[i].suffix);
}

static bool value_set_units(struct conf *conf, const struct conf_setting *setting, const char *text,
                            const struct unit *units, unsigned count, const char *allowed,
                            char why[CONF_WHY_BYTES])
{
    int64_t value;
    const char *suffix;
    if (!conf_digits(text, &value, &suffix))
        return conf_value_refuse(why, text, allowed);
    unsigned i = 0;
    while (i < count && *suffix && strcmp(suffix, units[i].suffix) != 0)
        i++;
    if (i == count)
        return conf_value_refuse(why, text, allowed);
    value *= *suffix ? units[i].factor : 1;
    if (value < setting->min || value > setting->max) {
        char low[32], high[32];
        value_show_units(setting->min, units, count, low, sizeof low);
        value_show_units(setting->max, units, count, high, sizeof high);
        bool bare = units == duration_units && *suffix == 0;
        snprintf(why, CONF_WHY_BYTES, "%.16s is out of range; allowed is %s to %s%s", text, low, high,
                 bare ? "; a number without a unit is ms" : "");
        return false;
    }
    *(int64_t *)field(conf, setting) = value;
    return true;
}

static bool value_set_duration(struct conf *conf, const struct conf_setting *s, const char *text,
                               char why[CONF_WHY_BYTES])
{
    return value_set_units(conf, s, text, duration_units, DURATION_UNITS,
                           "a duration: a whole number with ms, s, m or h, as in 10s", why);
}

static bool value_set_size(struct conf *conf, const struct conf_setting *s, const char *text,
                           char why[CONF_WHY_BYTES])
{
    return value_set_units(conf, s, text, size_units, SIZE_UNITS,
                           "a size: a whole number of bytes, or with k or m, as in 64k", why);
}

static bool value_set_count(struct conf *conf, const struct conf_setting *s, const char *text,
                            char why[CONF_WHY_BYTES])
{
    return value_set_units(conf, s, text, count_units, COUNT_UNITS, "a whole number", why);
}

void conf_show_duration(int64_t ms, char *out, size_t size)
{
    value_show_units(ms, duration_units, DURATION_UNITS, out, size);
}

static bool value_show_duration(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                                size_t size)
{
    conf_show_duration(*(const int64_t *)field_const(conf, s), out, size);
    return i == 0;
}

static bool value_show_size(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                            size_t size)
{
    value_show_units(*(const int64_t *)field_const(conf, s), size_units, SIZE_UNITS, out, size);
    return i == 0;
}

static bool value_show_count(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                             size_t size)
{
    value_show_units(*(const int64_t *)field_const(conf, s), count_units, COUNT_UNITS, out, size);
    return i == 0;
}

const struct conf_kind conf_kind_duration = {value_set_duration, value_show_duration, .list = false};
const struct conf_kind conf_kind_size = {value_set_size, value_show_size, .list = false};
const struct conf_kind conf_kind_count = {value_set_count, value_show_count, .list = false};

/* ---- one of several words ---- */

/* People write the booleans of YAML 1.1; its "y" and "n" are refused. */
bool conf_switch(const char *text, bool *on)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes"};
    unsigned i = 0;
    while (i < 6 && strcasecmp(text, words[i]) != 0)
        i++;
    *on = i % 2 == 1;
    return i < 6;
}

static bool value_set_switch(struct conf *conf, const struct conf_setting *s, const char *text,
                             char why[CONF_WHY_BYTES])
{
    return conf_switch(text, field(conf, s)) || conf_value_refuse(why, text, "on or off");
}

static bool value_show_switch(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                              size_t size)
{
    snprintf(out, size, "%s", *(const bool *)field_const(conf, s) ? "on" : "off");
    return i == 0;
}

static const char *const fanouts[] = {"all", "quorum"};

static bool value_set_fanout(struct conf *conf, const struct conf_setting *s, const char *text,
                             char why[CONF_WHY_BYTES])
{
    bool quorum = strcmp(text, fanouts[1]) == 0;
    if (!quorum && strcmp(text, fanouts[0]) != 0)
        return conf_value_refuse(why, text, "all or quorum");
    *(bool *)field(conf, s) = quorum;
    return true;
}

static bool value_show_fanout(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                              size_t size)
{
    snprintf(out, size, "%s", fanouts[*(const bool *)field_const(conf, s)]);
    return i == 0;
}

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static bool value_set_level(struct conf *conf, const struct conf_setting *s, const char *text,
                            char why[CONF_WHY_BYTES])
{
    for (unsigned i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *(enum log_level *)field(conf, s) = (enum log_level)i;
            return true;
        }
    }
    return conf_value_refuse(why, text, "error, warn, info or debug");
}

static bool value_show_level(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                             size_t size)
{
    snprintf(out, size, "%s", level_names[*(const enum log_level *)field_const(conf, s)]);
    return i == 0;
}

static bool value_set_mode(struct conf *conf, const struct conf_setting *s, const char *text,
                           char why[CONF_WHY_BYTES])
{
    static const char allowed[] = "a file mode in octal, \"0600\" to \"0777\"";
    size_t len = strlen(text);
    if (len < 3 || len > 4 || strspn(text, "01234567") != len)
        return conf_value_refuse(why, text, allowed);
    mode_t mode = 0;
    for (const char *p = text; *p; p++)
        mode = mode * 8 + (mode_t)(*p - '0');
    if (mode < 0600 || mode > 0777)
        return conf_value_refuse(why, text, allowed);
    *(mode_t *)field(conf, s) = mode;
    return true;
}

static bool value_show_mode(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                            size_t size)
{
    snprintf(out, size, "%04o", (unsigned)*(const mode_t *)field_const(conf, s));
    return i == 0;
}

const struct conf_kind conf_kind_switch = {value_set_switch, value_show_switch, .list = false};
const struct conf_kind conf_kind_fanout = {value_set_fanout, value_show_fanout, .list = false};
const struct conf_kind conf_kind_level = {value_set_level, value_show_level, .list = false};
const struct conf_kind conf_kind_mode = {value_set_mode, value_show_mode, .quoted = true};

/* ---- strings ---- */

static bool value_set_string(struct conf *conf, const struct conf_setting *s, const char *text, size_t size,
                             bool good, const char *allowed, char why[CONF_WHY_BYTES])
{
    size_t len = strlen(text);
    if (!good || len >= size)
        return conf_value_refuse(why, text, allowed);
    memcpy(field(conf, s), text, len + 1);
    return true;
}

static bool all_visible(const char *text)
{
    while (*text >= 0x21 && *text <= 0x7e)
        text++;
    return *text == 0;
}

/* A prefix has no comma, because a comma right behind the prefix marks the keys that are no locks. With the
 * prefix "a," the lock "group" would have the key of the daemons' agreement under the prefix "a". */
static bool value_set_prefix(struct conf *conf, const struct conf_setting *s, const char *text,
                             char why[CONF_WHY_BYTES])
{
    return value_set_string(conf, s, text, CONF_PREFIX_BYTES + 1, all_visible(text) && !strchr(text, ','),
                            "a key prefix: at most 64 visible ASCII characters, no space and no comma", why);
}

static bool value_set_user(struct conf *conf, const struct conf_setting *s, const char *text,
                           char why[CONF_WHY_BYTES])
{
    return value_set_string(conf, s, text, CONF_SECRET_BYTES, all_visible(text),
                            "a Redis user: at most 255 visible ASCII characters, no space", why);
}

static bool value_set_path(struct conf *conf, const struct conf_setting *s, const char *text,
                           char why[CONF_WHY_BYTES])
{
    bool good = text[0] == '/' || text[0] == 0;
    for (const char *p = text; *p; p++)
        good = good && (unsigned char)*p >= 0x20 && *p != 0x7f;
    if (good && value_set_string(conf, s, text, sizeof conf->node_password_file, true, "", why))
        return true;
    /* The text is not repeated, since it may be the password itself. */
    snprintf(why, CONF_WHY_BYTES,
             "it takes an absolute path of at most 1023 bytes: that of a file which holds the password");
    return false;
}

static bool value_show_string(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                              size_t size)
{
    snprintf(out, size, "%s", (const char *)field_const(conf, s));
    return i == 0;
}

const struct conf_kind conf_kind_prefix = {value_set_prefix, value_show_string, .quoted = true};
const struct conf_kind conf_kind_user = {value_set_user, value_show_string, .quoted = true};
const struct conf_kind conf_kind_path = {value_set_path, value_show_string, .quoted = true};
