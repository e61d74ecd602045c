/* YAML -> users. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "daemon/conf/conf_yaml.h"
#include "proto/line_piece.h"

enum {
    FAULTS_MOST = 100 /* more errors than these are not looked for: aliases could make millions */
};

#define EXAMPLE "{name: billing, uid: 1001, lock: [\"billing/*\"]}"

struct user_reader {
    struct conf_reader *r;
    yaml_document_t *document;
    struct users *users;
    struct user *user;
    const char *key; /* the key in the user's mapping */
};

/* The result is always false. */
static bool user_fault(struct user_reader *u, const yaml_node_t *node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool user_fault(struct user_reader *u, const yaml_node_t *node, const char *fmt, ...)
{
    struct conf_place place = place_of(&node->start_mark);
    char why[CONF_WHY_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (u->user && u->user->name[0] && u->key)
        conf_fault(u->r, &place, "users", "%s of %s: %s", u->key, u->user->name, why);
    else
        conf_fault(u->r, &place, "users", "%s", why);
    return false;
}

/* Returns the text of a single value; NULL: it is none, which was reported. */
static const char *user_text(struct user_reader *u, const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        (void)user_fault(u, node, "wrong type: one value belongs here");
    else if (yaml_is_null(node))
        (void)user_fault(u, node, "there is no value");
    else if (strlen(yaml_text(node)) != node->data.scalar.length)
        (void)user_fault(u, node, "there is a NUL byte in it");
    else
        return yaml_text(node);
    return NULL;
}

static bool number_of(const char *text, int64_t most, int64_t *value)
{
    const char *rest;

    return conf_digits(text, value, &rest) && !*rest && *value <= most;
}

/* ---- marks and patterns ---- */

/* The user that has this mark, up to the one that is being read; NULL: none. A second user could never be found
 * by it. */
static const struct user *mark_owner(const struct users *users, enum user_mark_kind kind, uint32_t id,
                                     const char *text)
{
    for (unsigned i = 0; i <= users->count; i++)
        for (unsigned m = users->list[i].first; m < users->list[i].end; m++) {
            const struct user_mark *mark = &users->marks[m];
            if (mark->kind == kind && mark->id == id &&
                (!text || user_cert_fits(mark->text, text, strlen(text))))
                return &users->list[i];
        }
    return NULL;
}

static bool mark_add(struct user_reader *u, const yaml_node_t *node, enum user_mark_kind kind, uint32_t id,
                     const char *text)
{
    struct users *users = u->users;
    const struct user *owner = kind <= MARK_CERT ? mark_owner(users, kind, id, text) : NULL;

    if (owner)
        return user_fault(u, node, "it is %s's already, who comes first", owner->name);
    if (users->marks_count == USER_MARKS)
        return user_fault(u, node, "too many: all users together have at most %d ids, names and patterns",
                          USER_MARKS);
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return user_fault(u, node, "out of memory");
    users->marks[users->marks_count++] = (struct user_mark){.kind = kind, .id = id, .text = copy};
    u->user->end = (uint16_t)users->marks_count;
    return true;
}

static bool id_add(struct user_reader *u, const yaml_node_t *node, const char *text, enum user_mark_kind kind)
{
    char shown[80];
    int64_t id = -1;

    if (!number_of(text, UINT32_MAX - 1, &id)) {
        const struct passwd *passwd = kind == MARK_UID ? getpwnam(text) : NULL;
        const struct group *group = kind == MARK_GID ? getgrnam(text) : NULL;
        if (!passwd && !group)
            return user_fault(u, node, "%s is no %s of this host", conf_shown(shown, sizeof shown, text),
                              kind == MARK_UID ? "user" : "group");
        id = passwd ? (int64_t)passwd->pw_uid : (int64_t)group->gr_gid;
    }
    if (id == USER_NOBODY)
        return user_fault(u, node, "%d stands for every id that this system does not know: it proves nothing",
                          USER_NOBODY);
    return mark_add(u, node, kind, (uint32_t)id, NULL);
}

static bool uid_add(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return id_add(u, node, text, MARK_UID);
}

static bool gid_add(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return id_add(u, node, text, MARK_GID);
}

static bool cert_add(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    char shown[80];

    for (const char *p = text; *p; p++)
        if (*p <= 0x20 || *p >= 0x7f || *p == '*')
            return user_fault(u, node,
                              "%s is no name of a certificate: a DNS name or URI in visible ASCII, without *",
                              conf_shown(shown, sizeof shown, text));
    return mark_add(u, node, MARK_CERT, 0, text);
}

/* A pattern that no name of a lock can match would look like a right. */
static bool pattern_add(struct user_reader *u, const yaml_node_t *node, const char *text,
                        enum user_mark_kind kind)
{
    size_t len = strlen(text);
    bool open = len > 0 && text[len - 1] == '*';
    struct piece fixed = {text, open ? len - 1 : len};
    char shown[80];

    conf_shown(shown, sizeof shown, text);
    if (memchr(text, ',', len))
        return user_fault(u, node, "%s has a comma, which no name has; write one pattern an item", shown);
    if (memchr(fixed.text, '*', fixed.len))
        return user_fault(u, node, "%s: a * stands only at the end of a pattern, for any rest", shown);
    if (fixed.len > 0 ? !piece_is_word(fixed, NAME_BYTES) : !open)
        return user_fault(u, node,
                          "%s can match no name: a name has 1 to 200 visible characters except , \" = and no "
                          "# or : first",
                          shown);
    return mark_add(u, node, kind, 0, text);
}

static bool lock_add(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return pattern_add(u, node, text, MARK_LOCK);
}

static bool show_add(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return pattern_add(u, node, text, MARK_SHOW);
}

/* ---- single values ---- */

static bool name_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    char shown[80];
    size_t len = strlen(text);

    if (!piece_is_word((struct piece){text, len}, WORD_BYTES) || strchr(text, '*'))
        return user_fault(u, node,
                          "%s is no name of a user: 1 to 64 visible characters except , \" = * and no # or : "
                          "first",
                          conf_shown(shown, sizeof shown, text));
    if (users_named(u->users, text, len))
        return user_fault(u, node, "the user %s stands here twice", text);
    memcpy(u->user->name, text, len + 1);
    return true;
}

/* The file may have been made by sha256sum(1), which writes a name behind the digits. */
static bool secret_file_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    char line[CONF_SECRET_BYTES];
    mode_t mode = 0;

    if (text[0] != '/' || strlen(text) >= sizeof u->r->conf->node_password_file)
        return user_fault(u, node, "it takes the absolute path of a file, which `redlock mkuser` fills");
    if (!secret_is_possible())
        return user_fault(
            u, node, "this redlockd was built without OpenSSL (TLS=no), which secrets need; use uid or gid");
    const char *wrong = conf_secret_read(text, line, sizeof line, &mode);
    if (wrong)
        return user_fault(u, node, "%s: %s", text, wrong);
    if (mode & S_IROTH)
        return user_fault(u, node, "everybody can read %s: chmod o-r it", text);
    bool good = strlen(line) >= SECRET_HEX && (line[SECRET_HEX] == '\0' || line[SECRET_HEX] == ' ') &&
                secret_from_hex(line, u->user->secret);
    explicit_bzero(line, sizeof line);
    if (!good)
        return user_fault(
            u, node,
            "%s: it does not begin with the 64 hex digits of a SHA-256; `redlock mkuser %s` makes "
            "a secret and the line for this file",
            text, u->user->name);
    u->user->secret_file = strdup(text);
    return u->user->secret_file || user_fault(u, node, "out of memory");
}

static bool admin_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    if (strcasecmp(text, "yes") != 0 && strcasecmp(text, "no") != 0 && strcasecmp(text, "true") != 0 &&
        strcasecmp(text, "false") != 0)
        return user_fault(u, node, "write yes or no");
    u->user->admin = strchr("yYtT", text[0]) != NULL;
    return true;
}

static bool limit_set(struct user_reader *u, const yaml_node_t *node, const char *text, int64_t most,
                      int64_t *limit)
{
    char shown[80];

    if (number_of(text, most, limit) && *limit > 0)
        return true;
    return user_fault(u, node, "%s is not allowed: a whole number from 1 to %" PRId64,
                      conf_shown(shown, sizeof shown, text), most);
}

static bool max_locks_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return limit_set(u, node, text, 500000, &u->user->max_locks);
}

static bool max_waits_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return limit_set(u, node, text, 250000, &u->user->max_waits);
}

static bool max_clients_set(struct user_reader *u, const yaml_node_t *node, const char *text)
{
    return limit_set(u, node, text, 100000, &u->user->max_clients);
}

/* ---- one user ---- */

static const struct user_key {
    const char *key;
    bool (*set)(struct user_reader *u, const yaml_node_t *node, const char *text);
    bool list;     /* set() adds one item */
    bool identity; /* the user is found by it */
} user_keys[] = {
    {"name", name_set, false, false},
    {"uid", uid_add, true, true},
    {"gid", gid_add, true, true},
    {"cert", cert_add, true, true},
    {"secret_file", secret_file_set, false, true},
    {"lock", lock_add, true, false},
    {"show", show_add, true, false},
    {"admin", admin_set, false, false},
    {"max_locks", max_locks_set, false, false},
    {"max_waits", max_waits_set, false, false},
    {"max_clients", max_clients_set, false, false},
};

static const struct user_key *user_key_find(const yaml_node_t *node)
{
    for (unsigned i = 0; node->type == YAML_SCALAR_NODE && i < sizeof user_keys / sizeof user_keys[0]; i++)
        if (strcmp(yaml_text(node), user_keys[i].key) == 0)
            return &user_keys[i];
    return NULL;
}

static bool value_read(struct user_reader *u, const struct user_key *key, const yaml_node_t *value)
{
    bool good = true;

    if (!key->list || value->type != YAML_SEQUENCE_NODE) {
        const char *text = user_text(u, value);
        return text && key->set(u, value, text);
    }
    for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(u->document, *i);
        const char *text = u->r->faults < FAULTS_MOST ? user_text(u, item) : NULL;
        good &= text && key->set(u, item, text);
    }
    return good;
}

static bool pair_set(struct user_reader *u, const yaml_node_t *mapping, const yaml_node_pair_t *pair)
{
    const yaml_node_t *key_node = yaml_document_get_node(u->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(u->document, pair->value);
    const struct user_key *key = user_key_find(key_node);
    char shown[80];

    u->key = NULL;
    if (!key)
        return user_fault(
            u, key_node,
            "%s is no key of a user; its keys are name, uid, gid, cert, secret_file, lock, show, "
            "admin, max_locks, max_waits and max_clients",
            key_node->type == YAML_SCALAR_NODE ? conf_shown(shown, sizeof shown, yaml_text(key_node))
                                               : "a list or mapping");
    if (!value || pair_value(u->document, mapping, key->key) != value)
        return user_fault(u, key_node, "%s stands twice in one user", key->key);
    if (key->set == name_set)
        return true; /* the name was read first */
    u->key = key->key;
    if (key->identity && strcmp(u->user->name, USER_ANYONE) == 0)
        return user_fault(u, key_node,
                          "this user is whoever is none of the others, so nothing identifies it");
    return value_read(u, key, value);
}

static bool is_identified(const struct user_reader *u)
{
    if (u->user->secret_file || strcmp(u->user->name, USER_ANYONE) == 0)
        return true;
    for (unsigned i = u->user->first; i < u->user->end; i++)
        if (u->users->marks[i].kind <= MARK_CERT)
            return true;
    return false;
}

static bool user_read(struct user_reader *u, const yaml_node_t *item)
{
    const yaml_node_t *name = item->type == YAML_MAPPING_NODE ? pair_value(u->document, item, "name") : NULL;

    u->key = NULL;
    if (item->type != YAML_MAPPING_NODE)
        return user_fault(u, item, "a user is written as " EXAMPLE);
    if (!name)
        return user_fault(u, item, "the name is missing; write " EXAMPLE);
    const char *text = user_text(u, name);
    if (!text || !name_set(u, name, text))
        return false;
    bool good = true;
    for (yaml_node_pair_t *p = item->data.mapping.pairs.start; p < item->data.mapping.pairs.top; p++)
        good &= u->r->faults < FAULTS_MOST && pair_set(u, item, p);
    u->key = NULL;
    if (good && !is_identified(u))
        good = user_fault(u, item, "nothing identifies %s: give it uid, gid, cert or secret_file", text);
    return good;
}

bool conf_users_read(struct conf_reader *r, yaml_document_t *document, const yaml_node_t *value,
                     const struct conf_place *place)
{
    struct user_reader u = {.r = r, .document = document};
    bool good = true, on = true;

    if (value->type == YAML_SCALAR_NODE && !yaml_is_null(value) && conf_switch(yaml_text(value), &on) &&
        !on) {
        r->conf->users_off = true;
        return true;
    }
    if (value->type != YAML_SEQUENCE_NODE ||
        value->data.sequence.items.start == value->data.sequence.items.top) {
        conf_fault(r, place, "users", "%s; write one user an item, as in \"- " EXAMPLE "\", or off",
                   value->type == YAML_SEQUENCE_NODE ? "the list is empty" : "wrong type: not a list");
        return false;
    }
    u.users = r->conf->users = users_new();
    if (!u.users) {
        conf_fault(r, place, "users", "out of memory");
        return false;
    }
    for (yaml_node_item_t *i = value->data.sequence.items.start;
         i < value->data.sequence.items.top && r->faults < FAULTS_MOST; i++) {
        const yaml_node_t *item = yaml_document_get_node(document, *i);
        if (u.users->count == USERS_MAX) {
            u.user = NULL;
            return user_fault(&u, item, "too many: at most %d users", USERS_MAX);
        }
        u.user = &u.users->list[u.users->count];
        u.user->first = u.user->end = (uint16_t)u.users->marks_count;
        good &= user_read(&u, item);
        u.users->count++;
    }
    users_number(u.users, NULL);
    return good;
}

/* ---- what the kernel can prove ---- */

/* Lines of "inside outside count", as in /proc/self/uid_map. */
bool conf_users_mapped(FILE *map)
{
    char line[128], *at;
    unsigned long known = 0; /* ids below it are mapped; the lines are in no order */
    bool more = true;

    while (more) {
        more = false;
        rewind(map);
        while (fgets(line, sizeof line, map)) {
            unsigned long inside = strtoul(line, &at, 10);
            (void)strtoul(at, &at, 10);
            unsigned long end = inside + strtoul(at, &at, 10);
            if (inside > known || end <= known)
                continue;
            known = end;
            more = true;
        }
    }
    return known > 65535;
}

static void map_check(struct conf_reader *r, enum user_mark_kind kind, const char *path)
{
    FILE *map = users_have(r->conf->users, kind) ? fopen(path, "re") : NULL;

    if (!map)
        return;
    if (!conf_users_mapped(map))
        conf_fault(
            r, conf_place(r, "users"), "users",
            "%s: this process sees other users as 65534, since its user namespace does not map them (%s); "
            "under systemd set PrivateUsers=no, and in containers use secret_file or cert",
            user_mark_word(kind), path);
    fclose(map);
}

void conf_users_check(struct conf_reader *r)
{
    if (!r->conf->users)
        return;
    map_check(r, MARK_UID, "/proc/self/uid_map");
    map_check(r, MARK_GID, "/proc/self/gid_map");
}
