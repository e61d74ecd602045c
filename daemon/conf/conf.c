/* The table of settings, their defaults, and how they are printed. */
#include "daemon/conf/conf.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"

#define AT(field) offsetof(struct conf, field)
#define S         1000
#define H         (3600 * S)
#define K         1024
#define M         (1024 * K)

const struct conf_setting conf_settings[CONF_KEYS] = {
    {"listen", &conf_kind_listen, 0, 0, 0, CONF_RESTART, NULL},
    {"unix_mode", &conf_kind_mode, AT(unix_mode), 0, 0, CONF_RESTART, NULL},
    {"nodes", &conf_kind_nodes, 0, 0, 0, CONF_ALL_RESTART, NULL},
    {"node_user", &conf_kind_user, AT(node_user), 0, 0, CONF_NEXT_LOGIN, "nodes"},
    {"node_password_file", &conf_kind_path, AT(node_password_file), 0, 0, CONF_NEXT_LOGIN, "nodes"},
    {"node_tls", &conf_kind_node_tls, AT(node_tls), 0, 0, CONF_NEXT_LOGIN, "nodes"},
    {"key_prefix", &conf_kind_prefix, AT(key_prefix), 0, 0, CONF_ALL_RESTART, NULL},
    {"default_ttl", &conf_kind_duration, AT(default_ttl_ms), 10, 24 * H, CONF_AT_ONCE, "max_ttl"},
    {"min_ttl", &conf_kind_duration, AT(min_ttl_ms), 10, H, CONF_AT_ONCE, "max_ttl"},
    {"max_ttl", &conf_kind_duration, AT(max_ttl_ms), 2 * S, 24 * H, CONF_ALL_RESTART, NULL},
    {"node_timeout", &conf_kind_duration, AT(node_timeout_ms), 1, 10 * S, CONF_AT_ONCE, "max_ttl"},
    {"min_validity", &conf_kind_duration, AT(min_validity_ms), 1, 10 * S, CONF_AT_ONCE, "max_ttl"},
    {"client_keepalive", &conf_kind_duration, AT(client_keepalive_ms), S, 2 * H, CONF_NEW_CLIENTS, NULL},
    {"node_backlog", &conf_kind_size, AT(node_backlog_bytes), 64 * K, 64 * M, CONF_AT_ONCE, NULL},
    {"retry_min", &conf_kind_duration, AT(retry_min_ms), 1, 10 * S, CONF_AT_ONCE, NULL},
    {"retry_max", &conf_kind_duration, AT(retry_max_ms), 1, 60 * S, CONF_AT_ONCE, NULL},
    {"fanout", &conf_kind_fanout, AT(fanout_quorum), 0, 0, CONF_AT_ONCE, NULL},
    {"restart_guard", &conf_kind_switch, AT(restart_guard), 0, 0, CONF_RESTART, NULL},
    {"drain_timeout", &conf_kind_duration, AT(drain_timeout_ms), 0, H, CONF_AT_ONCE, NULL},
    {"max_clients", &conf_kind_count, AT(max_clients), 1, 100000, CONF_RESTART, NULL},
    {"max_locks", &conf_kind_count, AT(max_locks), 1, 500000, CONF_RESTART, NULL},
    {"max_waiters", &conf_kind_count, AT(max_waiters), 1, 250000, CONF_RESTART, NULL},
    {"max_locks_per_client", &conf_kind_count, AT(max_locks_per_client), 1, 500000, CONF_AT_ONCE, NULL},
    {"max_waits_per_client", &conf_kind_count, AT(max_waits_per_client), 1, 250000, CONF_AT_ONCE, NULL},
    {"max_clients_per_peer", &conf_kind_count, AT(max_clients_per_peer), 0, 100000, CONF_AT_ONCE, NULL},
    {"max_locks_per_peer", &conf_kind_count, AT(max_locks_per_peer), 0, 500000, CONF_AT_ONCE, NULL},
    {"max_waits_per_peer", &conf_kind_count, AT(max_waits_per_peer), 0, 250000, CONF_AT_ONCE, NULL},
    {"max_output", &conf_kind_size, AT(max_output_bytes), 4 * K, 16 * M, CONF_AT_ONCE, NULL},
    {"idle_line_timeout", &conf_kind_duration, AT(idle_line_timeout_ms), 100, H, CONF_AT_ONCE, NULL},
    {"http", &conf_kind_http, 0, 0, 0, CONF_RESTART, NULL},
    {"http_hosts", &conf_kind_hosts, 0, 0, 0, CONF_RESTART, NULL},
    {"allow_break", &conf_kind_switch, AT(allow_break), 0, 0, CONF_AT_ONCE, NULL},
    {"log_level", &conf_kind_level, AT(log_level), 0, 0, CONF_AT_ONCE, NULL},
    {"users", &conf_kind_users, 0, 0, 0, CONF_AT_ONCE, NULL},
};

void conf_defaults(struct conf *conf)
{
    memset(conf, 0, sizeof *conf);
    conf_address_listen(&conf->listen[0].address, "127.0.0.1:7335");
    conf->listeners = 1;
    conf->unix_mode = 0660;
    memcpy(conf->key_prefix, "redlock:", sizeof "redlock:");
    conf->default_ttl_ms = 10 * S;
    conf->min_ttl_ms = 100;
    conf->max_ttl_ms = 60 * S;
    conf->node_timeout_ms = 50;
    conf->min_validity_ms = 1;
    conf->client_keepalive_ms = 10 * S;
    conf->node_backlog_bytes = M;
    conf->retry_min_ms = 20;
    conf->retry_max_ms = 200;
    conf->restart_guard = true;
    conf->drain_timeout_ms = 10 * S;
    conf->max_clients = 10000;
    conf->max_locks = 100000;
    conf->max_waiters = 65536;
    conf->max_locks_per_client = 1024;
    conf->max_waits_per_client = 256;
    conf->max_output_bytes = 64 * K;
    conf->idle_line_timeout_ms = 5 * S;
    conf->log_level = LOG_LEVEL_INFO;
}

void conf_clear(struct conf *conf)
{
    users_free(conf->users);
    explicit_bzero(conf, sizeof *conf);
}

bool conf_row(const struct conf *conf, unsigned i, char *key, size_t key_size, char *value, size_t value_size)
{
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        const struct conf_setting *setting = &conf_settings[k];
        unsigned items = setting->kind->list ? conf_items(conf, setting) : 1;
        if (i < items) {
            snprintf(key, key_size, "%s", setting->key);
            return setting->kind->show(conf, setting, i, value, value_size);
        }
        i -= items;
    }
    return false;
}

bool conf_node_has_own_user(const struct conf *conf, const struct conf_node *node)
{
    if (!node->user[0] && !node->password[0])
        return false;
    return !conf->node_password_file[0] || strcmp(node->user, conf->node_user) != 0;
}

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_scalar(FILE *out, const struct conf_setting *setting, const char *value)
{
    fputc(' ', out);
    if (setting->kind->quoted)
        print_quoted(out, value);
    else
        fputs(value, out);
    fputc('\n', out);
}

/* The keys of TLS as a mapping, behind that text; nothing if there are none. */
static void print_tls(FILE *out, const char *before, const struct wire_settings *tls, enum wire_side side)
{
    char text[CONF_VALUE_BYTES];

    conf_tls_show(tls, side, true, text, sizeof text);
    if (tls->on)
        fprintf(out, "%s{%s}", before, text);
}

/* A master that is a mapping; false: it is a plain URL. */
static bool print_node(FILE *out, const struct conf_node *node, const char *url)
{
    if (!node->own_tls.on && !node->no_kill && !node->name[0])
        return false;
    fprintf(out, " {url: \"%s\"", url);
    if (node->name[0])
        fprintf(out, ", name: \"%s\"", node->name);
    if (node->no_kill)
        fputs(", no_kill: yes", out);
    print_tls(out, ", tls: ", &node->own_tls, WIRE_CLIENT);
    fputs("}\n", out);
    return true;
}

/* An entry that is a mapping; false: it is a plain address. */
static bool print_listener(FILE *out, const struct conf *conf, const struct conf_setting *setting, unsigned i)
{
    char serves[64];
    bool http = setting->kind == &conf_kind_http;
    const struct conf_listener *listener = http ? &conf->http[i] : &conf->listen[i];
    bool chooses = http && listener->serves != CONF_SERVES_ALL;
    if (!chooses && !listener->fin_breaks && !listener->tls.on)
        return false;
    fprintf(out, " {address: \"%s\"%s", listener->address.shown, listener->fin_breaks ? ", fin: break" : "");
    if (chooses) {
        conf_show_serves(listener->serves, ", ", serves, sizeof serves);
        fprintf(out, ", serve: [%s]", serves);
    }
    print_tls(out, ", tls: ", &listener->tls, WIRE_SERVER);
    fputs("}\n", out);
    return true;
}

/* A value that is no scalar; false: it is one. */
static bool print_mapping(FILE *out, const struct conf *conf, const struct conf_setting *setting, unsigned i,
                          const char *value)
{
    char tls[CONF_VALUE_BYTES];

    if (setting->kind == &conf_kind_listen || setting->kind == &conf_kind_http)
        return print_listener(out, conf, setting, i);
    if (setting->kind == &conf_kind_nodes)
        return print_node(out, &conf->nodes[i], value);
    if (setting->kind != &conf_kind_node_tls)
        return false;
    conf_tls_show(&conf->node_tls, WIRE_CLIENT, true, tls, sizeof tls);
    fprintf(out, " {%s}\n", tls);
    return true;
}

static void print_marks(FILE *out, const struct users *users, const struct user *user,
                        enum user_mark_kind kind)
{
    const char *between = ": [";

    for (unsigned i = user->first; i < user->end; i++) {
        const struct user_mark *mark = &users->marks[i];
        if (mark->kind != kind)
            continue;
        if (between[0] == ':')
            fprintf(out, "    %s", user_mark_word(kind));
        fputs(between, out);
        if (mark->text)
            print_quoted(out, mark->text);
        else
            fprintf(out, "%u", mark->id);
        between = ", ";
    }
    if (between[0] != ':')
        fputs("]\n", out);
}

static void print_users(FILE *out, const struct conf *conf)
{
    const struct users *users = conf->users;
    static const char *const keys[] = {"max_locks", "max_waits", "max_clients"};

    if (users)
        fputs("users:\n", out);
    else if (conf->users_off)
        fputs("users: off\n", out);
    for (unsigned i = 0; users && i < users->count; i++) {
        const struct user *user = &users->list[i];
        const int64_t limits[] = {user->max_locks, user->max_waits, user->max_clients};
        fputs("  - name: ", out);
        print_quoted(out, user->name);
        if (user->secret_file) {
            fputs("\n    secret_file: ", out);
            print_quoted(out, user->secret_file);
        }
        fputc('\n', out);
        for (unsigned kind = MARK_UID; kind <= MARK_SHOW; kind++)
            print_marks(out, users, user, (enum user_mark_kind)kind);
        fprintf(out, "    admin: %s\n", user->admin ? "yes" : "no");
        for (unsigned k = 0; k < 3; k++)
            if (limits[k])
                fprintf(out, "    %s: %" PRId64 "\n", keys[k], limits[k]);
    }
}

void conf_print(const struct conf *conf, FILE *out)
{
    char value[CONF_VALUE_BYTES];
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        const struct conf_setting *setting = &conf_settings[k];
        bool list = setting->kind->list;
        if (setting->kind == &conf_kind_users) {
            print_users(out, conf);
            continue;
        }
        fprintf(out, !list ? "%s:" : conf_items(conf, setting) ? "%s:\n" : "%s: []\n", setting->key);
        for (unsigned i = 0; setting->kind->show(conf, setting, i, value, sizeof value); i++) {
            if (setting->kind == &conf_kind_nodes)
                conf_address_url(&conf->nodes[i], conf_node_has_own_user(conf, &conf->nodes[i]), value,
                                 sizeof value);
            if (list)
                fputs("  -", out);
            if (!print_mapping(out, conf, setting, i, value))
                print_scalar(out, setting, value);
        }
    }
}
