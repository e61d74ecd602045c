/* Taking over the changes of a file that was read again. */
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_set.h"

struct update {
    struct conf *conf;
    const struct conf *fresh;
    bool group; /* the generation, the masters and max_ttl are taken as well */
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

static uint64_t set_of(const struct conf *conf)
{
    return conf_set_hash(conf, conf->nodes, conf->masters);
}

/* The names that are served belong to the set, and no change of masters changes them: until a restart the file is taken
 * to say what it said. */
void conf_keep_serves(const struct conf *conf, struct conf *fresh,
                      void (*told)(void *arg, const struct conf_change *change), void *arg)
{
    if (conf->serves_count == fresh->serves_count &&
        memcmp(conf->serves, fresh->serves, sizeof conf->serves) == 0)
        return;
    memcpy(fresh->serves, conf->serves, sizeof fresh->serves);
    fresh->serves_count = conf->serves_count;
    told(arg, &(struct conf_change){.key = "serves", .when = CONF_ALL_RESTART});
}

/* The master of the other configuration with the name of this one; NULL: it has none. */
static const struct conf_node *same_master(const struct conf_node *node, const struct conf *other)
{
    char name[CONF_NAME_BYTES];
    conf_set_name(node, name);
    unsigned i = node->vacant ? other->masters : conf_set_find(other->nodes, other->masters, name);
    return i < other->masters ? &other->nodes[i] : NULL;
}

/* How a master is reached: its users, passwords and TLS are another matter. */
static bool is_moved(const struct conf_node *a, const struct conf_node *b)
{
    return !conf_address_equal(&a->address, &b->address) || a->db != b->db;
}

static bool moves(const struct conf *conf, const struct conf *fresh, bool kills, char name[CONF_NAME_BYTES])
{
    for (unsigned i = 0; i < conf->masters; i++) {
        const struct conf_node *node = &conf->nodes[i], *other = same_master(node, fresh);
        if (!other || (!is_moved(node, other) && (!kills || node->no_kill == other->no_kill)))
            continue;
        conf_set_name(node, name);
        return true;
    }
    return false;
}

bool conf_master_moved(const struct conf *conf, const struct conf *fresh, char name[CONF_NAME_BYTES])
{
    return moves(conf, fresh, true, name);
}

bool conf_group_differs(const struct conf *conf, const struct conf *fresh)
{
    return conf->generation != fresh->generation || conf->max_ttl_ms != fresh->max_ttl_ms ||
           set_of(conf) != set_of(fresh);
}

/* Whether other masters, or other databases of theirs, are meant, and are not taken. */
static bool masters_stay(const struct update *u)
{
    char name[CONF_NAME_BYTES];
    return !u->group && (set_of(u->conf) != set_of(u->fresh) || moves(u->conf, u->fresh, false, name));
}

/* Other daemons care only for the set: not in which order the masters stand here, nor how they are reached. */
static enum conf_when nodes_when(const struct update *u)
{
    char name[CONF_NAME_BYTES];
    if (set_of(u->conf) != set_of(u->fresh))
        return u->group ? CONF_STEPS : CONF_GENERATION;
    return moves(u->conf, u->fresh, true, name) ? CONF_RESTART : CONF_NEXT_LOGIN;
}

/* The TTLs of the file fit the max_ttl of the file. They may not fit the present max_ttl, if the file's is not
 * taken. Then every changed key that depends on max_ttl is held back. */
static bool ttls_held_back(const struct update *u)
{
    return !u->group && u->fresh->default_ttl_ms > u->conf->max_ttl_ms;
}

static bool is_held_back(const struct update *u, const struct conf_row *setting)
{
    if (!setting->with)
        return false;
    return strcmp(setting->with, "nodes") == 0 ? masters_stay(u) : ttls_held_back(u);
}

static enum conf_when takes_effect(const struct update *u, const struct conf_row *setting, bool held)
{
    if (strcmp(setting->key, "nodes") == 0)
        return nodes_when(u);
    enum conf_when when = held ? conf_row_find(&conf_whole, setting->with)->when : setting->when;
    return when == CONF_GENERATION && u->group ? CONF_STEPS : when;
}

/* The items of lists are not taken: masters_update() and users_update() take what a reload may change of them. */

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
    for (unsigned i = 0; i < a->masters; i++) {
        const struct conf_node *node = &a->nodes[i], *other = same_master(node, b);
        if (other && (strcmp(node->user, other->user) != 0 || strcmp(node->password, other->password) != 0))
            return true;
    }
    return false;
}

/* Takes over the list with its users, passwords and TLS. A connection that is logged in stays so, since Redis does
 * not end it either. What needs a restart stays as it was in each master. */
static void masters_update(struct update *u)
{
    static const struct conf_change change = {.key = "password", .when = CONF_NEXT_LOGIN};
    static struct conf_node nodes[MASTERS];
    bool differ = logins_differ(u->conf, u->fresh);
    if (masters_stay(u))
        return;
    memcpy(nodes, u->fresh->nodes, sizeof nodes);
    for (unsigned i = 0; i < u->fresh->masters; i++) {
        const struct conf_node *before = same_master(&nodes[i], u->conf);
        if (before)
            nodes[i].no_kill = before->no_kill;
    }
    memcpy(u->conf->nodes, nodes, sizeof nodes);
    u->conf->masters = u->fresh->masters;
    explicit_bzero(nodes, sizeof nodes);
    if (differ && !u->login_told)
        u->told(u->arg, &change);
}

/* This list is needed at the next start only. */
static void before_update(struct update *u)
{
    memcpy(u->conf->nodes_before, u->fresh->nodes_before, sizeof u->conf->nodes_before);
    u->conf->masters_before = u->fresh->masters_before;
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

void conf_update(struct conf *conf, const struct conf *fresh, bool group,
                 void (*told)(void *arg, const struct conf_change *change), void *arg)
{
    struct update u = {.conf = conf, .fresh = fresh, .group = group, .told = told, .arg = arg};
    for (unsigned k = 0; k < CONF_KEYS; k++)
        if (!conf_settings[k].kind->users)
            setting_update(&u, &conf_settings[k]);
    users_update(&u);
    masters_update(&u);
    before_update(&u);
}
