/* The kinds of values that only users have. */
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/conf/conf_private.h"
#include "daemon/conf/pattern.h"
#include "proto/line_piece.h"

/* Says in why what is wrong; the result is always false. */
static bool refuse(char why[CONF_WHY_BYTES], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(char why[CONF_WHY_BYTES], const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, CONF_WHY_BYTES, fmt, args);
    va_end(args);
    return false;
}

/* Whether the user may be found by the value; anyone may not. */
static bool may_identify(const struct user *user, char why[CONF_WHY_BYTES])
{
    return strcmp(user->name, USER_ANYONE) != 0 ||
           refuse(why, "this user is whoever is none of the others, so nothing identifies it");
}

/* ---- marks and patterns ---- */

/* The kind of a mark has the word that is its key. */
static enum user_mark_kind mark_kind(const struct conf_value *v)
{
    enum user_mark_kind kind = MARK_UID;
    while (strcmp(user_mark_word(kind), v->row->key) != 0)
        kind++;
    return kind;
}

/* The user that has this mark; NULL: none. A second user could never be found by it. */
static const struct user *mark_owner(const struct users *users, enum user_mark_kind kind, uint32_t id,
                                     const char *text)
{
    for (unsigned i = 0; i < users->count; i++)
        for (unsigned m = users->list[i].first; m < users->list[i].end; m++) {
            const struct user_mark *mark = &users->marks[m];
            if (mark->kind == kind && mark->id == id &&
                (!text || user_cert_fits(mark->text, text, strlen(text))))
                return &users->list[i];
        }
    return NULL;
}

static bool mark_add(const struct conf_value *v, uint32_t id, const char *text, char why[CONF_WHY_BYTES])
{
    struct users *users = v->conf->users;
    struct user *user = v->record;
    enum user_mark_kind kind = mark_kind(v);
    const struct user *owner = kind <= MARK_CERT ? mark_owner(users, kind, id, text) : NULL;

    if (owner)
        return refuse(why, "it is %s's already, who comes first", owner->name);
    if (users->marks_count == USER_MARKS)
        return refuse(why, "too many: all users together have at most %d ids, names and patterns",
                      USER_MARKS);
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return refuse(why, "out of memory");
    users->marks[users->marks_count++] = (struct user_mark){.kind = kind, .id = id, .text = copy};
    user->end = (uint16_t)users->marks_count;
    return true;
}

static bool mark_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct user *user = v->record;
    enum user_mark_kind kind = mark_kind(v);

    for (unsigned m = user->first; m < user->end; m++) {
        const struct user_mark *mark = &v->conf->users->marks[m];
        if (mark->kind != kind || i-- > 0)
            continue;
        if (mark->text)
            snprintf(out, size, "%s", mark->text);
        else
            snprintf(out, size, "%u", mark->id);
        return true;
    }
    return false;
}

/* The id of a number or a name, -1: there is no such name. */
static int64_t id_of(enum user_mark_kind kind, const char *text)
{
    int64_t id;
    const char *rest;
    const struct passwd *passwd;
    const struct group *group;

    if (conf_digits(text, &id, &rest) && !*rest && id < UINT32_MAX)
        return id;
    if (kind == MARK_UID)
        return (passwd = getpwnam(text)) != NULL ? (int64_t)passwd->pw_uid : -1;
    return (group = getgrnam(text)) != NULL ? (int64_t)group->gr_gid : -1;
}

static bool id_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    char shown[80];
    int64_t id = id_of(mark_kind(v), text);

    if (!may_identify(v->record, why))
        return false;
    if (id < 0)
        return refuse(why, "%s is no %s of this host", conf_shown(shown, sizeof shown, text),
                      v->row->kind->allowed);
    if (id == USER_NOBODY)
        return refuse(why, "%d stands for every id that this system does not know: it proves nothing",
                      USER_NOBODY);
    return mark_add(v, (uint32_t)id, NULL, why);
}

static bool cert_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    char shown[80];

    for (const char *p = text; *p; p++)
        if (*p <= 0x20 || *p >= 0x7f || *p == '*')
            return refuse(why,
                          "%s is no name of a certificate: a DNS name or URI in visible ASCII, without *",
                          conf_shown(shown, sizeof shown, text));
    return may_identify(v->record, why) && mark_add(v, 0, text, why);
}

static bool pattern_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    const char *wrong = pattern_wrong(text);
    char shown[80];

    if (wrong)
        return refuse(why, "%s%s", conf_shown(shown, sizeof shown, text), wrong);
    return mark_add(v, 0, text, why);
}

const struct conf_kind conf_user_uid = {id_set, mark_show, "user", .many = true};
const struct conf_kind conf_user_gid = {id_set, mark_show, "group", .many = true};
const struct conf_kind conf_user_cert = {cert_set, mark_show, .quoted = true, .many = true};
const struct conf_kind conf_user_pattern = {pattern_set, mark_show, .quoted = true, .many = true};

/* ---- name and secret ---- */

/* The name is read first: then the user has no marks yet. */
static bool name_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    struct users *users = v->conf->users;
    struct user *user = v->record;
    char shown[80];
    size_t len = strlen(text);

    if (!piece_is_word((struct piece){text, len}, WORD_BYTES) || strchr(text, '*'))
        return refuse(why,
                      "%s is no name of a user: 1 to 64 visible characters except , \" = * and no # or : "
                      "first",
                      conf_shown(shown, sizeof shown, text));
    if (users_named(users, text, len))
        return refuse(why, "the user %s stands here twice", text);
    memcpy(user->name, text, len + 1);
    user->first = user->end = (uint16_t)users->marks_count;
    return true;
}

static bool name_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct user *user = v->record;
    snprintf(out, size, "%s", user->name);
    return i == 0;
}

/* The file may have been made by sha256sum(1), which writes a name behind the digits. */
static bool secret_set(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES])
{
    struct user *user = v->record;
    char line[CONF_SECRET_BYTES];
    mode_t mode = 0;

    if (!may_identify(user, why))
        return false;
    if (!conf_is_path(text) || strlen(text) >= sizeof v->conf->node_password_file)
        return refuse(why,
                      "it takes the absolute path of a file, without control characters; `redlock mkuser` "
                      "fills the file");
    if (!secret_is_possible())
        return refuse(why,
                      "this redlockd was built without OpenSSL (TLS=no), which secrets need; use uid or gid");
    const char *wrong = conf_secret_read(text, line, sizeof line, &mode);
    if (wrong)
        return refuse(why, "%s: %s", text, wrong);
    if (mode & S_IROTH)
        return refuse(why, "everybody can read %s: chmod o-r it", text);
    bool good = strlen(line) >= SECRET_HEX && (line[SECRET_HEX] == '\0' || line[SECRET_HEX] == ' ') &&
                secret_from_hex(line, user->secret);
    explicit_bzero(line, sizeof line);
    if (!good)
        return refuse(why,
                      "%s: it does not begin with the 64 hex digits of a SHA-256; `redlock mkuser %s` makes "
                      "a secret and the line for this file",
                      text, user->name);
    user->secret_file = strdup(text);
    return user->secret_file || refuse(why, "out of memory");
}

static bool secret_show(const struct conf_value *v, unsigned i, char *out, size_t size)
{
    const struct user *user = v->record;
    snprintf(out, size, "%s", user->secret_file);
    return i == 0;
}

const struct conf_kind conf_user_name = {name_set, name_show, .quoted = true};
const struct conf_kind conf_user_secret = {secret_set, secret_show, .quoted = true};

bool conf_user_done(const struct conf_value *v, char why[CONF_WHY_BYTES])
{
    const struct user *user = v->record;

    if (user->secret_file || strcmp(user->name, USER_ANYONE) == 0)
        return true;
    for (unsigned i = user->first; i < user->end; i++)
        if (v->conf->users->marks[i].kind <= MARK_CERT)
            return true;
    return refuse(why, "nothing identifies %s: give it uid, gid, cert or secret_file", user->name);
}
