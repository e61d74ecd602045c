#include "daemon/conf/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/conf/pattern.h"
#include "proto/names.h"

struct users *users_new(void)
{
    struct users *users = calloc(1, sizeof *users);

    return users_share(users);
}

struct users *users_share(struct users *users)
{
    if (users)
        users->owners++;
    return users;
}

void users_free(struct users *users)
{
    if (!users || --users->owners > 0)
        return;
    for (unsigned i = 0; i < users->marks_count; i++)
        free(users->marks[i].text);
    for (unsigned i = 0; i < users->count; i++) {
        free(users->list[i].secret_file);
        explicit_bzero(users->list[i].secret, sizeof users->list[i].secret);
    }
    free(users);
}

/* ---- who ---- */

const struct user *users_named(const struct users *users, const char *name, size_t len)
{
    for (unsigned i = 0; i < users->count; i++)
        if (strlen(users->list[i].name) == len && memcmp(users->list[i].name, name, len) == 0)
            return &users->list[i];
    return NULL;
}

bool user_cert_fits(const char *cert, const char *name, size_t len)
{
    bool dns = !strchr(cert, ':');

    return strlen(cert) == len && (dns ? strncasecmp(cert, name, len) : strncmp(cert, name, len)) == 0;
}

static bool is_certified(const char *certificate, const char *cert)
{
    for (const char *line = certificate; line && *line;) {
        const char *lf = strchr(line, '\n');
        if (!lf)
            return false;
        if (user_cert_fits(cert, line, (size_t)(lf - line)))
            return true;
        line = lf + 1;
    }
    return false;
}

static bool mark_fits(const struct user_mark *mark, const struct user_client *client)
{
    switch (mark->kind) {
    case MARK_UID: return client->local && client->uid != USER_NOBODY && mark->id == client->uid;
    case MARK_GID: return client->local && client->gid != USER_NOBODY && mark->id == client->gid;
    case MARK_CERT: return is_certified(client->certificate, mark->text);
    case MARK_LOCK:
    case MARK_SHOW: break;
    }
    return false;
}

static const struct user *users_find_by(const struct users *users, enum user_mark_kind kind,
                                        const struct user_client *client)
{
    for (unsigned u = 0; u < users->count; u++)
        for (unsigned i = users->list[u].first; i < users->list[u].end; i++)
            if (users->marks[i].kind == kind && mark_fits(&users->marks[i], client))
                return &users->list[u];
    return NULL;
}

const struct user *users_find(const struct users *users, const struct user_client *client)
{
    static const enum user_mark_kind order[] = {MARK_CERT, MARK_UID, MARK_GID};

    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        const struct user *user = users_find_by(users, order[i], client);
        if (user)
            return user;
    }
    return users_named(users, USER_ANYONE, strlen(USER_ANYONE));
}

/* ---- what ---- */

static bool user_may_one(const struct users *users, const struct user *user, enum user_mark_kind kind,
                         const char *name, size_t len)
{
    for (unsigned i = user->first; i < user->end; i++)
        if (users->marks[i].kind == kind && pattern_fits(users->marks[i].text, name, len))
            return true;
    return false;
}

/* A list takes the right to each of its names. */
static bool user_may(const struct users *users, const struct user *user, enum user_mark_kind kind,
                     const struct name *list)
{
    const char *name;
    size_t at = 0, len;

    while ((len = names_next(list, &at, &name)) != 0)
        if (!user_may_one(users, user, kind, name, len))
            return false;
    return list->len != 0;
}

bool user_may_lock(const struct users *users, const struct user *user, const struct name *name)
{
    return user_may(users, user, MARK_LOCK, name);
}

bool user_may_show(const struct users *users, const struct user *user, const struct name *name)
{
    return user_may(users, user, MARK_SHOW, name);
}

bool user_shows(const struct users *users, const struct user *user)
{
    for (unsigned i = user->first; i < user->end; i++)
        if (users->marks[i].kind == MARK_SHOW)
            return true;
    return false;
}

bool users_have(const struct users *users, enum user_mark_kind kind)
{
    for (unsigned i = 0; i < users->marks_count; i++)
        if (users->marks[i].kind == kind)
            return true;
    return false;
}

/* ---- a file that was read again ---- */

void users_number(struct users *users, const struct users *before)
{
    uint16_t next = 0;

    memset(users->numbered, 0, sizeof users->numbered);
    for (unsigned i = 0; i < users->count; i++) {
        struct user *user = &users->list[i];
        const struct user *same = before ? users_named(before, user->name, strlen(user->name)) : NULL;
        while (!same && ((before && before->numbered[next]) || users->numbered[next]))
            next++;
        user->number = same ? same->number : next;
        users->numbered[user->number] = user;
    }
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool user_equal(const struct user *a, const struct user *b)
{
    return strcmp(a->name, b->name) == 0 && a->first == b->first && a->end == b->end &&
           a->admin == b->admin && a->max_locks == b->max_locks && a->max_waits == b->max_waits &&
           a->max_clients == b->max_clients && texts_equal(a->secret_file, b->secret_file) &&
           memcmp(a->secret, b->secret, sizeof a->secret) == 0;
}

bool users_equal(const struct users *a, const struct users *b)
{
    if (a == b || !a || !b || a->count != b->count || a->marks_count != b->marks_count)
        return a == b;
    for (unsigned i = 0; i < a->count; i++)
        if (!user_equal(&a->list[i], &b->list[i]))
            return false;
    for (unsigned i = 0; i < a->marks_count; i++) {
        const struct user_mark *left = &a->marks[i], *right = &b->marks[i];
        if (left->kind != right->kind || left->id != right->id || !texts_equal(left->text, right->text))
            return false;
    }
    return true;
}

/* ---- SHOW CONFIG ---- */

/* A user has one row for its single values, and then one for each of its marks. */
static unsigned user_rows(const struct user *user)
{
    return 1u + user->end - user->first;
}

unsigned users_rows(const struct users *users)
{
    return users ? users->count + users->marks_count : 0;
}

const char *user_mark_word(enum user_mark_kind kind)
{
    static const char *const words[] = {
        [MARK_UID] = "uid",   [MARK_GID] = "gid",   [MARK_CERT] = "cert",
        [MARK_LOCK] = "lock", [MARK_SHOW] = "show",
    };
    return words[kind];
}

static void user_row(const struct users *users, const struct user *user, unsigned i, char *out, size_t size)
{
    const struct user_mark *mark = i > 0 ? &users->marks[user->first + i - 1] : NULL;

    if (!mark)
        snprintf(out, size, "%s,admin=%s,max_locks=%lld,max_waits=%lld,max_clients=%lld%s%s", user->name,
                 user->admin ? "yes" : "no", (long long)user->max_locks, (long long)user->max_waits,
                 (long long)user->max_clients, user->secret_file ? ",secret_file=" : "",
                 user->secret_file ? user->secret_file : "");
    else if (mark->text)
        snprintf(out, size, "%s,%s=%s", user->name, user_mark_word(mark->kind), mark->text);
    else
        snprintf(out, size, "%s,%s=%u", user->name, user_mark_word(mark->kind), mark->id);
}

bool users_row(const struct users *users, unsigned i, char *out, size_t size)
{
    for (unsigned u = 0; users && u < users->count; u++) {
        unsigned rows = user_rows(&users->list[u]);
        if (i < rows) {
            user_row(users, &users->list[u], i, out, size);
            return true;
        }
        i -= rows;
    }
    return false;
}
