/* Taking over the changes of a file that was read again. */
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_set.h"

struct update {
    struct conf *conf;
    const struct conf *fresh;
    void (*told)(void *arg, const struct conf_change *change);
    void *arg;
    bool login_told; /* told() has heard of a change of node_user or node_password_file */
    char from[CONF_VALUE_BYTES], to[CONF_VALUE_BYTES];
};

/* Whether a setting differs. For a scalar, from and to are then its two values. */
static bool differs(struct update *u, const struct conf_row *setting)
{
    for (unsigned i = 0;; i++) {
        bool before = conf_show(u->conf, setting, i, u->from, sizeof u->from);
        bool after = conf_show(u->fresh, setting, i, u->to, sizeof u->to);
        if (before != after)
            return true;
        if (!before)
            return false;
        if (strcmp(u->from, u->to) != 0)
            return true;
    }
}

/* Whether other masters, or other databases of theirs, are meant. How they are reached is another matter. */
static bool masters_differ(const struct update *u)
{
    bool same = u->conf->masters == u->fresh->masters;
    for (unsigned i = 0; same && i < u->conf->masters; i++)
        same = conf_address_equal(&u->conf->nodes[i].address, &u->fresh->nodes[i].address) &&
               u->conf->nodes[i].db == u->fresh->nodes[i].db;
    return !same;
}

/* Whether no_kill differs on any of the masters, which are the same in both configurations. */
static bool kills_differ(const struct update *u)
{
    for (unsigned i = 0; i < u->conf->masters; i++)
        if (u->conf->nodes[i].no_kill != u->fresh->nodes[i].no_kill)
            return true;
    return false;
}

/* Other daemons care only for the set: not in which order the masters stand here, nor how they are reached. */
static enum conf_when nodes_when(const struct update *u)
{
    if (conf_set_hash(u->conf) != conf_set_hash(u->fresh))
        return CONF_ALL_RESTART;
    return masters_differ(u) || kills_differ(u) ? CONF_RESTART : CONF_NEXT_LOGIN;
}

/* The TTLs of the file fit the max_ttl of the file. They may not fit the present max_ttl, which only a
 * restart changes. Then every changed key that depends on max_ttl is held back. */
static bool ttls_held_back(const struct update *u)
{
    return u->fresh->default_ttl_ms > u->conf->max_ttl_ms;
}

static bool is_held_back(const struct update *u, const struct conf_row *setting)
{
    if (!setting->with)
        return false;
    return strcmp(setting->with, "nodes") == 0 ? masters_differ(u) : ttls_held_back(u);
}

static enum conf_when takes_effect(const struct update *u, const struct conf_row *setting, bool held)
{
    if (strcmp(setting->key, "nodes") == 0)
        return nodes_when(u);
    return held ? conf_row_find(&conf_whole, setting->with)->when : setting->when;
}

/* The items of lists are not taken: logins_update() and users_update() take what a reload may change of them. */

static void setting_update(struct update *u, const struct conf_row *setting)
{
    bool held = is_held_back(u, setting), list = setting->kind->most > 0;
    if (!differs(u, setting))
        return;
    const struct conf_change change = {
        .key = setting->key,
        .when = takes_effect(u, setting, held),
        .with = held ? setting->with : NULL,
        .from = list ? NULL : u->from,
        .to = list ? NULL : u->to,
    };
    if (change.when == CONF_NEXT_LOGIN)
        u->login_told = true;
    if (change.when < CONF_RESTART && !list)
        memcpy((char *)u->conf + setting->at, (const char *)u->fresh + setting->at, setting->size);
    u->told(u->arg, &change);
}

static bool logins_differ(const struct conf *a, const struct conf *b)
{
    for (unsigned i = 0; i < a->masters; i++)
        if (strcmp(a->nodes[i].user, b->nodes[i].user) != 0 ||
            strcmp(a->nodes[i].password, b->nodes[i].password) != 0)
            return true;
    return false;
}

/* Takes over users, passwords and TLS. A connection that is logged in stays so, since Redis does not end it
 * either. */
static void logins_update(struct update *u)
{
    static const struct conf_change change = {.key = "password", .when = CONF_NEXT_LOGIN};
    bool differ = logins_differ(u->conf, u->fresh);
    bool same_set = conf_set_hash(u->conf) == conf_set_hash(u->fresh);
    if (masters_differ(u))
        return;
    for (unsigned i = 0; i < u->conf->masters; i++) {
        struct conf_node *node = &u->conf->nodes[i];
        if (same_set)
            memcpy(node->name, u->fresh->nodes[i].name, sizeof node->name);
        node->own_tls = u->fresh->nodes[i].own_tls;
        node->tls = u->fresh->nodes[i].tls;
        memcpy(node->user, u->fresh->nodes[i].user, sizeof node->user);
        memcpy(node->password, u->fresh->nodes[i].password, sizeof node->password);
        node->password_of_file = u->fresh->nodes[i].password_of_file;
    }
    if (differ && !u->login_told)
        u->told(u->arg, &change);
}

/* Users are compared as a whole, since no row tells of a new secret in the same file. */
static void users_update(struct update *u)
{
    static const struct conf_change change = {.key = "users", .when = CONF_AT_ONCE};
    struct users *before = u->conf->users;

    u->conf->users_off = u->fresh->users_off;
    if (users_equal(before, u->fresh->users))
        return;
    if (u->fresh->users)
        users_number(u->fresh->users, before);
    u->conf->users = users_share(u->fresh->users);
    users_free(before);
    u->told(u->arg, &change);
}

bool conf_loses_users(const struct conf *conf, const struct conf *fresh)
{
    return conf->users && !fresh->users && !fresh->users_off;
}

void conf_update(struct conf *conf, const struct conf *fresh,
                 void (*told)(void *arg, const struct conf_change *change), void *arg)
{
    struct update u = {.conf = conf, .fresh = fresh, .told = told, .arg = arg};
    for (unsigned k = 0; k < CONF_KEYS; k++)
        if (!conf_settings[k].kind->users)
            setting_update(&u, &conf_settings[k]);
    users_update(&u);
    logins_update(&u);
}
