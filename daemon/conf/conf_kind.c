/* Kinds of values: text -> field, field -> text. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_serves.h"
#include "daemon/conf/conf_set.h"

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

static void *field(const struct conf_value *v)
{
    return (char *)v->record + v->row->at;
}

/* ---- numbers ---- */

static void number_write(const struct conf_unit *unit, int64_t value, char *out, size_t size)
{
    while (unit->factor > 1 && (value == 0 || value % unit->factor != 0))
        unit++;
    snprintf(out, size, "%" PRId64 "%s", value / unit->factor, unit->suffix);
}

/* The unit of a number with that suffix; without a suffix it is the last unit. NULL: no such unit. */
static const struct conf_unit *unit_find(const struct conf_unit *unit, const char *suffix)
{
    while (unit->factor > 1 && strcmp(suffix, unit->suffix) != 0)
        unit++;
    return !*suffix || strcmp(suffix, unit->suffix) == 0 ? unit : NULL;
}

static bool number_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    const struct conf_unit *units = v->row->kind->units;
    int64_t value;
    const char *suffix;
    const struct conf_unit *unit = conf_digits(text, &value, &suffix) ? unit_find(units, suffix) : NULL;
    if (!unit)
        return conf_value_refuse(why, text, v->row->kind->allowed);
    value *= unit->factor;
    if (value < v->row->min || value > v->row->max) {
        char low[32], high[32];
        number_write(units, v->row->min, low, sizeof low);
        number_write(units, v->row->max, high, sizeof high);
        snprintf(why, CONF_WHY_BYTES, "%.16s is out of range; allowed is %s to %s%s", text, low, high,
                 *unit->suffix && !*suffix ? "; a number without a unit is ms" : "");
        return false;
    }
    *(int64_t *)field(v) = value;
    return true;
}

static bool number_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    number_write(v->row->kind->units, *(const int64_t *)field(v), out, size);
    return i == 0;
}

static const struct conf_unit ms_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct conf_unit byte_units[] = {{"m", 1 << 20}, {"k", 1 << 10}, {"", 1}};
static const struct conf_unit no_units[] = {{"", 1}};

const struct conf_kind conf_duration = {
    number_set, number_show, "a duration: a whole number with ms, s, m or h, as in 10s", .units = ms_units};
const struct conf_kind conf_size = {number_set, number_show,
                                    "a size: a whole number of bytes, or with k or m, as in 64k",
                                    .units = byte_units};
const struct conf_kind conf_count = {number_set, number_show, "a whole number", .units = no_units};

void conf_show_duration(int64_t ms, char *out, size_t size)
{
    number_write(ms_units, ms, out, size);
}

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

static bool switch_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    return conf_switch(text, field(v)) || conf_value_refuse(why, text, v->row->kind->allowed);
}

/* The index of a word; the index of the NULL at the end: it is none of them. */
static unsigned word_find(const char *const *words, const char *text)
{
    unsigned i = 0;
    while (words[i] && (!*text || strcmp(text, words[i]) != 0))
        i++;
    return i;
}

/* The field is a bool, or an enum with one value for each word. */
static bool word_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    unsigned i = word_find(v->row->kind->words, text);
    if (!v->row->kind->words[i])
        return conf_value_refuse(why, text, v->row->kind->allowed);
    if (v->row->size == sizeof(bool))
        *(bool *)field(v) = i;
    else
        memcpy(field(v), &i, sizeof i);
    return true;
}

static bool word_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    unsigned value;
    if (v->row->size == sizeof(bool))
        value = *(const bool *)field(v);
    else
        memcpy(&value, field(v), sizeof value);
    snprintf(out, size, "%s", v->row->kind->words[value]);
    return i == 0;
}

/* Each word is a bit of an unsigned. */
static bool flag_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    unsigned i = word_find(v->row->kind->words, text);
    if (!v->row->kind->words[i])
        return conf_value_refuse(why, text, v->row->kind->allowed);
    *(unsigned *)field(v) |= 1u << i;
    return true;
}

/* All flags stand for none: that is the default. */
static bool flag_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    unsigned flags = *(const unsigned *)field(v), bit = 0;
    if (flags == CONF_SERVES_ALL)
        return false;
    for (; v->row->kind->words[bit]; bit++)
        if (flags & 1u << bit && i-- == 0)
            break;
    snprintf(out, size, "%s", v->row->kind->words[bit] ? v->row->kind->words[bit] : "");
    return v->row->kind->words[bit] != NULL;
}

#define WORDS(...)                 \
    .words = (const char *const[]) \
    {                              \
        __VA_ARGS__, NULL          \
    }

const struct conf_kind conf_on_off = {switch_set, word_show, "on or off", WORDS("off", "on")};
const struct conf_kind conf_yes_no = {switch_set, word_show, "yes or no", WORDS("no", "yes")};
const struct conf_kind conf_fanout = {word_set, word_show, "all or quorum", WORDS("all", "quorum")};
const struct conf_kind conf_level = {word_set, word_show, "error, warn, info or debug",
                                     WORDS("error", "warn", "info", "debug")};
const struct conf_kind conf_fin = {word_set, word_show, "release or break", WORDS("release", "break")};
const struct conf_kind conf_verify = {word_set, word_show,
                                      "full (the CA and the name), ca (not the name) or off",
                                      WORDS("", "full", "ca", "off")};
const struct conf_kind conf_client_cert = {word_set, word_show, "required or optional",
                                           WORDS("", "required", "optional")};
const struct conf_kind conf_serve = {flag_set,
                                     flag_show,
                                     "probes, metrics or page, as in serve: [probes, metrics]",
                                     WORDS("probes", "metrics", "page"),
                                     .many = true,
                                     .filled = true};

/* ---- strings ---- */

static bool string_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    size_t len = strlen(text);
    if (len < v->row->size && v->row->kind->fits(text)) {
        memcpy(field(v), text, len + 1);
        return true;
    }
    if (!v->row->kind->hidden)
        return conf_value_refuse(why, text, v->row->kind->allowed);
    snprintf(why, CONF_WHY_BYTES, "it takes %s", v->row->kind->allowed);
    return false;
}

static bool string_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    snprintf(out, size, "%s", (const char *)field(v));
    return i == 0;
}

static bool is_visible(const char *text)
{
    while (*text >= 0x21 && *text <= 0x7e)
        text++;
    return *text == 0;
}

/* A prefix has no comma, because a comma right behind the prefix marks the keys that are no locks. With the
 * prefix "a," the lock "group" would have the key of the daemons' agreement under the prefix "a". */
static bool is_prefix(const char *text)
{
    return is_visible(text) && !strchr(text, ',');
}

bool conf_is_path(const char *text)
{
    bool good = text[0] == '/';
    for (const char *p = text; *p; p++)
        good = good && (unsigned char)*p >= 0x20 && *p != 0x7f;
    return good;
}

static bool is_password_path(const char *text)
{
    return !text[0] || conf_is_path(text);
}

static bool is_tls_name(const char *text)
{
    return text[0] && is_visible(text) && !strpbrk(text, "\"\\,");
}

static bool is_tls_path(const char *text)
{
    return text[0] == '/' && is_tls_name(text);
}

static bool is_host(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return text[0] && text[strspn(text, letters)] == '\0';
}

#define STRING string_set, string_show

const struct conf_kind conf_prefix = {
    STRING, "a key prefix: at most 64 visible ASCII characters, no space and no comma", .fits = is_prefix,
    .quoted = true};
const struct conf_kind conf_node_user = {STRING,
                                         "a Redis user: at most 255 visible ASCII characters, no space",
                                         .fits = is_visible, .quoted = true};
/* The text may be the password itself. */
const struct conf_kind conf_password_path = {
    STRING, "an absolute path of at most 1023 bytes: that of a file which holds the password",
    .fits = is_password_path, .quoted = true, .hidden = true};
const struct conf_kind conf_tls_path = {
    STRING,
    "the absolute path of a file: at most 255 visible ASCII characters, no space, quote, backslash or comma",
    .fits = is_tls_path, .quoted = true, .hidden = true};
const struct conf_kind conf_server_name = {
    STRING, "the name in the certificate: at most 255 visible ASCII characters", .fits = is_tls_name,
    .quoted = true, .hidden = true};
const struct conf_kind conf_host = {STRING, "the name of a host, without a port, as in locks.example.com",
                                    .fits = is_host, .quoted = true};

static bool serves_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    const char *wrong = conf_serves_wrong(text);
    char shown[80];
    if (wrong)
        snprintf(why, CONF_WHY_BYTES, "%s%s", conf_shown(shown, sizeof shown, text), wrong);
    else
        memcpy(field(v), text, strlen(text) + 1);
    return !wrong;
}

const struct conf_kind conf_served_name = {serves_set, string_show, .quoted = true};

static bool node_name_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    const char *wrong = conf_set_name_wrong(text);
    char shown[80];
    if (wrong)
        snprintf(why, CONF_WHY_BYTES, "%s: a master's name %s", conf_shown(shown, sizeof shown, text), wrong);
    else
        memcpy(field(v), text, strlen(text) + 1);
    return !wrong;
}

const struct conf_kind conf_node_name = {node_name_set, string_show, .quoted = true};

static bool mode_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    size_t len = strlen(text);
    mode_t mode = 0;
    for (const char *p = text; *p && len <= 4; p++)
        mode = mode * 8 + (mode_t)(*p - '0');
    if (len < 3 || len > 4 || strspn(text, "01234567") != len || mode < 0600 || mode > 0777)
        return conf_value_refuse(why, text, v->row->kind->allowed);
    *(mode_t *)field(v) = mode;
    return true;
}

static bool mode_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    snprintf(out, size, "%04o", (unsigned)*(const mode_t *)field(v));
    return i == 0;
}

const struct conf_kind conf_mode = {mode_set, mode_show, "a file mode in octal, \"0600\" to \"0777\"",
                                    .quoted = true};

/* ---- addresses ---- */

/* Whether a refused text, such as "/run/x.sock" or "10.0.0.1:6379", is an address once a prefix is put
 * before it. A text with '@' is not tried, because it must not be repeated. */
static bool address_guess(const char *text, const char *tcp, char *guess, size_t size)
{
    struct conf_address address;
    const char *prefix = text[0] == '/' ? "unix:" : tcp;
    if (!*prefix || strchr(text, '@') || strlen(text) > CONF_HOST_BYTES)
        return false;
    snprintf(guess, size, "%s%s", prefix, text);
    return strncmp(text, "unix:", 5) != 0 && !conf_address_listen(&address, text[0] == '/' ? guess : text);
}

static bool listen_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    char shown[80], guess[CONF_HOST_BYTES + 16];
    const char *wrong = conf_address_listen(field(v), text);
    conf_shown(shown, sizeof shown, text);
    if (wrong && address_guess(text, "", guess, sizeof guess))
        snprintf(why, CONF_WHY_BYTES, "%s: did you mean %s?", shown, guess);
    else if (wrong)
        snprintf(why, CONF_WHY_BYTES, "%s: %s", shown, wrong);
    return !wrong;
}

static bool listen_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct conf_address *address = field(v);
    snprintf(out, size, "%s", address->shown);
    return i == 0;
}

/* A URL is the address of a master, its user, password and database, and whether it has TLS. */
static bool url_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    char guess[CONF_HOST_BYTES + 16];
    struct conf_node *node = v->record;
    if (strcmp(text, CONF_VACANT) == 0) {
        memset(node, 0, sizeof *node);
        node->vacant = true;
        return true;
    }
    const char *wrong = conf_address_node(node, text);
    if (wrong && address_guess(text, "redis://", guess, sizeof guess))
        snprintf(why, CONF_WHY_BYTES, "not an address of a Redis master; did you mean %s?", guess);
    else if (wrong)
        snprintf(why, CONF_WHY_BYTES, "%s", wrong);
    return !wrong;
}

static bool url_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct conf_node *node = v->record;
    if (node->vacant)
        snprintf(out, size, "%s", CONF_VACANT);
    else
        conf_address_url(node, false, out, size);
    return i == 0;
}

/* A master is printed with its user and password if the user is another than node_user, or if there is no
 * node_password_file. */
static bool url_print(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct conf_node *node = v->record;
    if (node->vacant)
        return url_show(v, i, out, size);
    bool own = (node->user[0] || node->password[0]) &&
               (!v->conf->node_password_file[0] || strcmp(node->user, v->conf->node_user) != 0);
    conf_address_url(node, own, out, size);
    return i == 0;
}

const struct conf_kind conf_listen_address = {listen_set, listen_show, .quoted = true};
const struct conf_kind conf_node_url = {url_set, url_show, .print = url_print, .quoted = true};
