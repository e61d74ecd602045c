/* The schema: a table of the settings, with the tables of the mappings in it; and the defaults. */
#include "daemon/conf/conf.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "daemon/conf/conf_private.h"
#include "daemon/wire/wire.h"

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)
#define AT(field)          FIELD(conf, field)
#define S                  1000
#define H                  (3600 * S)
#define K                  1024
#define GENERATION_MAX     400000000 /* its step has nine digits in the group's key */
#define M                  (1024 * K)

/* A key of a mapping within a setting. Its default is 0, and it changes when the setting does. */
#define KEY(key, kind, type, field)   key, &(kind), FIELD(type, field), 0, 0, NULL, CONF_AT_ONCE, NULL
#define LIMIT(key, type, field, most) key, &conf_count, FIELD(type, field), 1, most, NULL, CONF_AT_ONCE, NULL

#define ROWS(table) .rows = (table), .count = sizeof(table) / sizeof((table)[0])
#define ITEMS(limit, size, type, field) \
    .most = (limit), .item = (size), .items_at = offsetof(struct type, field)
#define PLACES(field) .places = offsetof(struct conf_reader, field)

/* ---- TLS ---- */

static const struct conf_row server_rows[] = {
    {KEY("cert", conf_tls_path, wire_settings, cert)},
    {KEY("key", conf_tls_path, wire_settings, key)},
    {KEY("client_ca", conf_tls_path, wire_settings, ca)},
    {KEY("client_cert", conf_client_cert, wire_settings, ask)},
};

static const struct conf_row client_rows[] = {
    {KEY("cert", conf_tls_path, wire_settings, cert)},
    {KEY("key", conf_tls_path, wire_settings, key)},
    {KEY("ca", conf_tls_path, wire_settings, ca)},
    {KEY("server_name", conf_server_name, wire_settings, server_name)},
    {KEY("verify", conf_verify, wire_settings, verify)},
};

static bool tls_is_built(char why[CONF_WHY_BYTES])
{
    snprintf(why, CONF_WHY_BYTES, "there is no TLS in this redlockd: it was built with make TLS=no");
    return wire_has_tls();
}

static bool server_done(const struct conf_value *v, char why[CONF_WHY_BYTES])
{
    struct wire_settings *tls = v->record;
    tls->on = true;
    return tls_is_built(why);
}

/* A mapping without keys is the same as none: masters with rediss:// use TLS all the same. */
static bool client_done(const struct conf_value *v, char why[CONF_WHY_BYTES])
{
    static const struct wire_settings none;
    struct wire_settings *tls = v->record;
    tls->on = !wire_settings_equal(tls, &none);
    return !tls->on || tls_is_built(why);
}

static const struct conf_kind server_tls = {
    ROWS(server_rows),
    .noun = "TLS here",
    .example = "{cert: /etc/redlockd/cert.pem}",
    .done = server_done,
};
static const struct conf_kind client_tls = {
    ROWS(client_rows),
    .noun = "TLS here",
    .example = "{ca: /etc/redlockd/ca.pem}",
    .done = client_done,
};

/* ---- lists ---- */

static const struct conf_row listen_rows[] = {
    {KEY("address", conf_listen_address, conf_listener, address)},
    {KEY("fin", conf_fin, conf_listener, fin_breaks)},
    {KEY("tls", server_tls, conf_listener, tls)},
};

static const struct conf_row http_rows[] = {
    {KEY("address", conf_listen_address, conf_listener, address)},
    {KEY("serve", conf_serve, conf_listener, serves)},
    {KEY("tls", server_tls, conf_listener, tls)},
};

static const struct conf_row host_rows[] = {
    {"name", &conf_host, 0, CONF_HOST_BYTES, 0, 0, NULL, CONF_AT_ONCE, NULL},
};

static const struct conf_row serves_rows[] = {
    {"pattern", &conf_served_name, 0, NAME_BYTES + 3, 0, 0, NULL, CONF_AT_ONCE, NULL},
};

static const struct conf_row node_rows[] = {
    {KEY("url", conf_node_url, conf_node, address)},
    {KEY("name", conf_node_name, conf_node, name)},
    {KEY("no_kill", conf_yes_no, conf_node, no_kill)},
    {KEY("tls", client_tls, conf_node, own_tls)},
};

static const struct conf_row user_rows[] = {
    {KEY("name", conf_user_name, user, name)},
    {KEY("uid", conf_user_uid, user, first)},
    {KEY("gid", conf_user_gid, user, first)},
    {KEY("cert", conf_user_cert, user, first)},
    {KEY("secret_file", conf_user_secret, user, secret_file)},
    {KEY("lock", conf_user_pattern, user, first)},
    {KEY("show", conf_user_pattern, user, first)},
    {KEY("admin", conf_yes_no, user, admin)},
    {LIMIT("max_locks", user, max_locks, 500000)},
    {LIMIT("max_waits", user, max_waits, 250000)},
    {LIMIT("max_clients", user, max_clients, 100000)},
};

#define LISTENER "an address to listen on"
#define USER     "{name: billing, uid: 1001, lock: [\"billing/*\"]}"

static const struct conf_kind listeners = {
    ROWS(listen_rows),
    .noun = LISTENER,
    .example = "{address: 127.0.0.1:7335, fin: break}",
    ITEMS(CONF_LISTENERS, sizeof(struct conf_listener), conf, listeners),
    PLACES(listen_places),
    .things = "addresses",
    .advice = "write one address a line, as in \"- 127.0.0.1:7335\"",
    .lone = true,
};
static const struct conf_kind https = {
    ROWS(http_rows),
    .noun = LISTENER,
    .example = "{address: 127.0.0.1:7337, serve: [probes, metrics]}",
    ITEMS(CONF_LISTENERS, sizeof(struct conf_listener), conf, http_listeners),
    PLACES(http_places),
    .things = "addresses",
    .advice = "write one address a line, as in \"- 127.0.0.1:7337\"",
    .lone = true,
    .empty = true,
};
static const struct conf_kind hosts = {
    ROWS(host_rows),   ITEMS(CONF_HTTP_HOSTS, CONF_HOST_BYTES, conf, http_host_count),
    .things = "names", .advice = "write one name a line, as in \"- locks.example.com\"",
    .lone = true,      .empty = true,
};
static const struct conf_kind serves = {
    ROWS(serves_rows),    ITEMS(CONF_SERVES_MOST, NAME_BYTES + 3, conf, serves_count),
    .things = "patterns", .advice = "write one pattern a line, as in \"- 'jobs/*'\"",
    .lone = true,         .empty = true,
};
/* Nothing can be said of a master that is not there. */
static bool node_done(const struct conf_value *v, char why[CONF_WHY_BYTES])
{
    const struct conf_node *node = v->record;
    snprintf(why, CONF_WHY_BYTES, "a vacant place has no keys besides: write vacant alone");
    return !node->vacant || (!node->name[0] && !node->no_kill && !node->own_tls.on);
}

#define NODES                                                                                     \
    ROWS(node_rows), .noun = "a master",                                                          \
                     .example = "{url: rediss://10.0.0.1:6379, tls: {ca: /etc/redlockd/ca.pem}}", \
                     .done = node_done, .things = "masters",                                      \
                     .advice = "write one address a line, as in \"- redis://10.0.0.1:6379\""

static const struct conf_kind nodes = {NODES, ITEMS(MASTERS, sizeof(struct conf_node), conf, masters),
                                       PLACES(node_places)};
static const struct conf_kind nodes_before = {NODES,
                                              ITEMS(MASTERS, sizeof(struct conf_node), conf, masters_before),
                                              PLACES(before_places), .empty = true};
static const struct conf_kind users = {
    ROWS(user_rows),
    .noun = "a user",
    .example = USER,
    .done = conf_user_done,
    ITEMS(USERS_MAX, sizeof(struct user), users, count),
    .things = "users",
    .advice = "write one user an item, as in \"- " USER "\", or off",
    .users = true,
};

/* ---- the settings ---- */

const struct conf_row conf_settings[] = {
    {"listen", &listeners, AT(listen), 0, 0, "127.0.0.1:7335", CONF_RESTART, NULL},
    {"unix_mode", &conf_mode, AT(unix_mode), 0, 0, "0660", CONF_RESTART, NULL},
    {"generation", &conf_count, AT(generation), 0, GENERATION_MAX, "0", CONF_GENERATION, NULL},
    {"nodes", &nodes, AT(nodes), 0, 0, NULL, CONF_GENERATION, NULL},
    {"nodes_before", &nodes_before, AT(nodes_before), 0, 0, NULL, CONF_AT_ONCE, NULL},
    {"max_ttl_before", &conf_duration, AT(max_ttl_before_ms), 0, 24 * H, NULL, CONF_AT_ONCE, NULL},
    {"node_user", &conf_node_user, AT(node_user), 0, 0, NULL, CONF_NEXT_LOGIN, "nodes"},
    {"node_password_file", &conf_password_path, AT(node_password_file), 0, 0, NULL, CONF_NEXT_LOGIN, "nodes"},
    {"node_tls", &client_tls, AT(node_tls), 0, 0, NULL, CONF_NEXT_LOGIN, "nodes"},
    {"serves", &serves, AT(serves), 0, 0, NULL, CONF_ALL_RESTART, NULL},
    {"key_prefix", &conf_prefix, AT(key_prefix), 0, 0, "redlock:", CONF_ALL_RESTART, NULL},
    {"default_ttl", &conf_duration, AT(default_ttl_ms), 10, 24 * H, "10s", CONF_AT_ONCE, "max_ttl"},
    {"min_ttl", &conf_duration, AT(min_ttl_ms), 10, H, "100ms", CONF_AT_ONCE, "max_ttl"},
    {"max_ttl", &conf_duration, AT(max_ttl_ms), 2 * S, 24 * H, "60s", CONF_GENERATION, NULL},
    {"node_timeout", &conf_duration, AT(node_timeout_ms), 1, 10 * S, "50ms", CONF_AT_ONCE, "max_ttl"},
    {"min_validity", &conf_duration, AT(min_validity_ms), 1, 10 * S, "1ms", CONF_AT_ONCE, "max_ttl"},
    {"client_keepalive", &conf_duration, AT(client_keepalive_ms), S, 2 * H, "10s", CONF_NEW_CLIENTS, NULL},
    {"node_backlog", &conf_size, AT(node_backlog_bytes), 64 * K, 64 * M, "1m", CONF_AT_ONCE, NULL},
    {"retry_min", &conf_duration, AT(retry_min_ms), 1, 10 * S, "20ms", CONF_AT_ONCE, NULL},
    {"retry_max", &conf_duration, AT(retry_max_ms), 1, 60 * S, "200ms", CONF_AT_ONCE, NULL},
    {"fanout", &conf_fanout, AT(fanout_quorum), 0, 0, "all", CONF_AT_ONCE, NULL},
    {"restart_guard", &conf_on_off, AT(restart_guard), 0, 0, "on", CONF_RESTART, NULL},
    {"drain_timeout", &conf_duration, AT(drain_timeout_ms), 0, H, "10s", CONF_AT_ONCE, NULL},
    {"max_clients", &conf_count, AT(max_clients), 1, 100000, "10000", CONF_RESTART, NULL},
    {"max_locks", &conf_count, AT(max_locks), 1, 500000, "100000", CONF_RESTART, NULL},
    {"max_waiters", &conf_count, AT(max_waiters), 1, 250000, "65536", CONF_RESTART, NULL},
    {"max_watches", &conf_count, AT(max_watches), 1, 100000, "10000", CONF_RESTART, NULL},
    {"max_marks", &conf_count, AT(max_marks), 1, 500000, "10000", CONF_RESTART, NULL},
    {"max_keep", &conf_duration, AT(max_keep_ms), S, INT64_C(720) * H, "24h", CONF_AT_ONCE, NULL},
    {"max_locks_per_client", &conf_count, AT(max_locks_per_client), 1, 500000, "1024", CONF_AT_ONCE, NULL},
    {"max_waits_per_client", &conf_count, AT(max_waits_per_client), 1, 250000, "256", CONF_AT_ONCE, NULL},
    {"max_clients_per_peer", &conf_count, AT(max_clients_per_peer), 0, 100000, "0", CONF_AT_ONCE, NULL},
    {"max_locks_per_peer", &conf_count, AT(max_locks_per_peer), 0, 500000, "0", CONF_AT_ONCE, NULL},
    {"max_waits_per_peer", &conf_count, AT(max_waits_per_peer), 0, 250000, "0", CONF_AT_ONCE, NULL},
    {"max_output", &conf_size, AT(max_output_bytes), 4 * K, 16 * M, "64k", CONF_AT_ONCE, NULL},
    {"idle_line_timeout", &conf_duration, AT(idle_line_timeout_ms), 100, H, "5s", CONF_AT_ONCE, NULL},
    {"http", &https, AT(http), 0, 0, NULL, CONF_RESTART, NULL},
    {"http_hosts", &hosts, AT(http_hosts), 0, 0, NULL, CONF_RESTART, NULL},
    {"allow_break", &conf_on_off, AT(allow_break), 0, 0, "off", CONF_AT_ONCE, NULL},
    {"log_level", &conf_level, AT(log_level), 0, 0, "info", CONF_AT_ONCE, NULL},
    {"users", &users, FIELD(users, list), 0, 0, NULL, CONF_AT_ONCE, NULL},
};

_Static_assert(sizeof conf_settings / sizeof conf_settings[0] == CONF_KEYS,
               "CONF_KEYS is the number of rows");

const struct conf_kind conf_whole = {ROWS(conf_settings)};

/* ---- the items of a list ---- */

static char *list_base(struct conf *conf, const struct conf_kind *list)
{
    return list->users ? (char *)conf->users : (char *)conf;
}

static unsigned *list_count(struct conf *conf, const struct conf_kind *list)
{
    return (void *)(list_base(conf, list) + list->items_at);
}

unsigned conf_items(struct conf *conf, const struct conf_kind *list)
{
    return list->users && !conf->users ? 0 : *list_count(conf, list);
}

void *conf_item(struct conf *conf, const struct conf_row *row, unsigned i)
{
    return list_base(conf, row->kind) + row->at + i * row->kind->item;
}

bool conf_items_clear(struct conf *conf, const struct conf_kind *list)
{
    if (list->users)
        conf->users = users_new();
    else
        *list_count(conf, list) = 0;
    return !list->users || conf->users;
}

void *conf_item_new(struct conf *conf, const struct conf_row *row)
{
    unsigned items = conf_items(conf, row->kind);
    assert(items < row->kind->most);
    return memset(conf_item(conf, row, items), 0, row->kind->item);
}

void conf_item_add(struct conf *conf, const struct conf_kind *list)
{
    ++*list_count(conf, list);
}

bool conf_set(struct conf *conf, const struct conf_row *row, const char *text, char why[CONF_WHY_BYTES])
{
    struct conf_value value = {conf, row, conf};
    if (!row->kind->most)
        return row->kind->set(&value, text, why);
    if (!conf_items_clear(conf, row->kind))
        return false;
    value = (struct conf_value){conf, row->kind->rows, conf_item_new(conf, row)};
    if (!value.row->kind->set(&value, text, why))
        return false;
    conf_item_add(conf, row->kind);
    return true;
}

/* ---- the whole ---- */

void conf_defaults(struct conf *conf)
{
    char why[CONF_WHY_BYTES];
    memset(conf, 0, sizeof *conf);
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        bool good =
            !conf_settings[k].initial || conf_set(conf, &conf_settings[k], conf_settings[k].initial, why);
        assert(good);
        (void)good;
    }
}

void conf_clear(struct conf *conf)
{
    users_free(conf->users);
    explicit_bzero(conf, sizeof *conf);
}
