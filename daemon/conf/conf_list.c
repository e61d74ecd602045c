/* The lists of the configuration: listen, http, http_hosts, nodes; and users, which are only shown here. */
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_set.h"

unsigned conf_items(const struct conf *conf, const struct conf_setting *setting)
{
    if (setting->kind == &conf_kind_nodes)
        return conf->masters;
    if (setting->kind == &conf_kind_users)
        return users_rows(conf->users);
    if (setting->kind == &conf_kind_http)
        return conf->http_listeners;
    return setting->kind == &conf_kind_hosts ? conf->http_host_count : conf->listeners;
}

void conf_items_clear(struct conf *conf, const struct conf_setting *setting)
{
    if (setting->kind == &conf_kind_listen)
        conf->listeners = 0;
}

/* ---- addresses to listen on ---- */

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

static bool listener_append(struct conf_listener *list, unsigned *count, const char *text,
                            char why[CONF_WHY_BYTES])
{
    if (*count == CONF_LISTENERS) {
        snprintf(why, CONF_WHY_BYTES, "too many: at most %d addresses", CONF_LISTENERS);
        return false;
    }
    char shown[80];
    struct conf_listener *listener = &list[*count];
    struct conf_address *address = &listener->address;
    const char *wrong = conf_address_listen(address, text);
    for (unsigned i = 0; !wrong && i < *count; i++)
        if (conf_address_equal(address, &list[i].address) && (address->port || address->path[0]))
            wrong = "this address stands here twice";
    if (wrong) {
        char guess[CONF_HOST_BYTES + 16];
        conf_shown(shown, sizeof shown, text);
        if (address_guess(text, "", guess, sizeof guess))
            snprintf(why, CONF_WHY_BYTES, "%s: did you mean %s?", shown, guess);
        else
            snprintf(why, CONF_WHY_BYTES, "%s: %s", shown, wrong);
        return false;
    }
    listener->fin_breaks = false;
    listener->serves = CONF_SERVES_ALL;
    memset(&listener->tls, 0, sizeof listener->tls);
    ++*count;
    return true;
}

static bool value_set_listen(struct conf *conf, const struct conf_setting *s, const char *text,
                             char why[CONF_WHY_BYTES])
{
    (void)s;
    return listener_append(conf->listen, &conf->listeners, text, why);
}

static bool value_set_http(struct conf *conf, const struct conf_setting *s, const char *text,
                           char why[CONF_WHY_BYTES])
{
    (void)s;
    return listener_append(conf->http, &conf->http_listeners, text, why);
}

struct conf_listener *conf_last_listener(struct conf *conf, const struct conf_setting *setting)
{
    if (setting->kind == &conf_kind_http)
        return &conf->http[conf->http_listeners - 1];
    return &conf->listen[conf->listeners - 1];
}

static const struct {
    const char *word;
    unsigned bit;
} serve_words[] = {{"probes", CONF_PROBES}, {"metrics", CONF_METRICS}, {"page", CONF_PAGE}};

enum { SERVE_WORDS = sizeof serve_words / sizeof serve_words[0] };

static bool listener_serve(struct conf_listener *listener, const char *text, char why[CONF_WHY_BYTES])
{
    unsigned i = 0;
    while (i < SERVE_WORDS && strcmp(text, serve_words[i].word) != 0)
        i++;
    if (i == SERVE_WORDS)
        return conf_value_refuse(why, text, "probes, metrics or page, as in serve: [probes, metrics]");
    listener->serves |= serve_words[i].bit;
    return true;
}

void conf_show_serves(unsigned serves, const char *separator, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < SERVE_WORDS; i++)
        if (serves & serve_words[i].bit && len < size)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len ? separator : "", serve_words[i].word);
}

static bool listener_fin(struct conf_listener *listener, const char *text, char why[CONF_WHY_BYTES])
{
    listener->fin_breaks = strcmp(text, "break") == 0;
    return listener->fin_breaks || strcmp(text, "release") == 0 ||
           conf_value_refuse(why, text, "release or break");
}

bool conf_listener_set(struct conf_listener *listener, const struct conf_setting *setting, const char *key,
                       const char *text, char why[CONF_WHY_BYTES])
{
    bool http = setting->kind == &conf_kind_http;
    if (strcmp(key, http ? "serve" : "fin") == 0)
        return http ? listener_serve(listener, text, why) : listener_fin(listener, text, why);
    char shown[80];
    conf_shown(shown, sizeof shown, key);
    snprintf(why, CONF_WHY_BYTES, "%s is no key of an address to listen on; its keys are address%s", shown,
             http ? ", serve and tls" : ", fin and tls");
    return false;
}

/* Appends the keys of TLS to what stands in out. */
static void show_tls(const struct conf_listener *listener, char *out, size_t size)
{
    size_t len = strlen(out);
    if (!listener->tls.on || len + 1 >= size)
        return;
    out[len++] = ',';
    conf_tls_show(&listener->tls, WIRE_SERVER, false, out + len, size - len);
}

static bool value_show_listen(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                              size_t size)
{
    (void)s;
    if (i >= conf->listeners)
        return false;
    const struct conf_listener *listener = &conf->listen[i];
    snprintf(out, size, "%s%s", listener->address.shown, listener->fin_breaks ? ",fin=break" : "");
    show_tls(listener, out, size);
    return true;
}

static bool value_show_http(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                            size_t size)
{
    char serves[64];
    (void)s;
    if (i >= conf->http_listeners)
        return false;
    const struct conf_listener *listener = &conf->http[i];
    conf_show_serves(listener->serves, "+", serves, sizeof serves);
    if (listener->serves == CONF_SERVES_ALL)
        snprintf(out, size, "%s", listener->address.shown);
    else
        snprintf(out, size, "%s,serve=%s", listener->address.shown, serves);
    show_tls(listener, out, size);
    return true;
}

/* ---- http_hosts ---- */

static bool value_set_hosts(struct conf *conf, const struct conf_setting *s, const char *text,
                            char why[CONF_WHY_BYTES])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t len = strlen(text);
    (void)s;
    if (conf->http_host_count == CONF_HTTP_HOSTS) {
        snprintf(why, CONF_WHY_BYTES, "too many: at most %d names", CONF_HTTP_HOSTS);
        return false;
    }
    if (len == 0 || len >= CONF_HOST_BYTES || strspn(text, letters) != len)
        return conf_value_refuse(why, text, "the name of a host, without a port, as in locks.example.com");
    memcpy(conf->http_hosts[conf->http_host_count++], text, len + 1);
    return true;
}

static bool value_show_hosts(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                             size_t size)
{
    (void)s;
    if (i >= conf->http_host_count)
        return false;
    snprintf(out, size, "%s", conf->http_hosts[i]);
    return true;
}

/* ---- masters ---- */

static bool value_set_nodes(struct conf *conf, const struct conf_setting *s, const char *text,
                            char why[CONF_WHY_BYTES])
{
    (void)s;
    if (conf->masters == MASTERS) {
        snprintf(why, CONF_WHY_BYTES, "too many: at most %d masters", MASTERS);
        return false;
    }
    struct conf_node *node = &conf->nodes[conf->masters];
    const char *wrong = conf_address_node(node, text);
    if (wrong) {
        char guess[CONF_HOST_BYTES + 16];
        bool guessed = address_guess(text, "redis://", guess, sizeof guess);
        if (guessed)
            snprintf(why, CONF_WHY_BYTES, "not an address of a Redis master; did you mean %s?", guess);
        else
            snprintf(why, CONF_WHY_BYTES, "%s", wrong);
        return false;
    }
    /* Another database does not help: two votes of one server would not be independent. */
    for (unsigned i = 0; i < conf->masters; i++) {
        if (conf_address_equal(&node->address, &conf->nodes[i].address)) {
            snprintf(why, CONF_WHY_BYTES, "%.300s stands here twice; each master is a server of its own",
                     node->address.shown);
            return false;
        }
    }
    conf->masters++;
    return true;
}

static bool node_name_set(struct conf_node *node, const char *text, char why[CONF_WHY_BYTES])
{
    const char *wrong = conf_set_name_wrong(text);
    char shown[80];
    if (wrong) {
        snprintf(why, CONF_WHY_BYTES, "%s: a master's name %s", conf_shown(shown, sizeof shown, text), wrong);
        return false;
    }
    memcpy(node->name, text, strlen(text) + 1);
    return true;
}

bool conf_node_set(struct conf *conf, const char *key, const char *text, char why[CONF_WHY_BYTES])
{
    char shown[80];
    struct conf_node *node = &conf->nodes[conf->masters - 1];
    if (strcmp(key, "no_kill") == 0)
        return conf_switch(text, &node->no_kill) ||
               conf_value_refuse(why, text, "yes or no, as in {url: redis://10.0.0.1:6379, no_kill: yes}");
    if (strcmp(key, "name") == 0)
        return node_name_set(node, text, why);
    snprintf(why, CONF_WHY_BYTES, "%s is no key of a master; its keys are url, name, tls and no_kill",
             conf_shown(shown, sizeof shown, key));
    return false;
}

static bool value_show_node(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                            size_t size)
{
    (void)s;
    if (i >= conf->masters)
        return false;
    conf_address_url(&conf->nodes[i], false, out, size);
    size_t len = strlen(out);
    const char *name = conf->nodes[i].name;
    snprintf(out + len, size - len, "%s%s%s%s", name[0] ? ",name=" : "", name,
             conf->nodes[i].no_kill ? ",no_kill=yes" : "", conf->nodes[i].own_tls.on ? "," : "");
    len = strlen(out);
    conf_tls_show(&conf->nodes[i].own_tls, WIRE_CLIENT, false, out + len, size - len);
    return true;
}

static bool value_show_users(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                             size_t size)
{
    (void)s;
    return users_row(conf->users, i, out, size);
}

/* ---- TLS ---- */

static struct wire_settings *value_listen_tls(struct conf *conf)
{
    return &conf->listen[conf->listeners - 1].tls;
}

static struct wire_settings *value_http_tls(struct conf *conf)
{
    return &conf->http[conf->http_listeners - 1].tls;
}

static struct wire_settings *value_node_own_tls(struct conf *conf)
{
    return &conf->nodes[conf->masters - 1].own_tls;
}

static struct wire_settings *value_node_tls(struct conf *conf)
{
    return &conf->node_tls;
}

static bool value_show_node_tls(const struct conf *conf, const struct conf_setting *s, unsigned i, char *out,
                                size_t size)
{
    (void)s;
    conf_tls_show(&conf->node_tls, WIRE_CLIENT, false, out, size);
    return i == 0;
}

const struct conf_kind conf_kind_users = {NULL, value_show_users, .list = true}; /* conf_users.c reads them */
const struct conf_kind conf_kind_listen = {value_set_listen,   value_show_listen, .list = true,
                                           .quoted = true,     .head = "address", .tls = value_listen_tls,
                                           .side = WIRE_SERVER};
const struct conf_kind conf_kind_http = {value_set_http,     value_show_http,   .list = true,
                                         .quoted = true,     .head = "address", .tls = value_http_tls,
                                         .side = WIRE_SERVER};
const struct conf_kind conf_kind_hosts = {value_set_hosts, value_show_hosts, .list = true, .quoted = true};
const struct conf_kind conf_kind_nodes = {value_set_nodes,    value_show_node, .list = true,
                                          .quoted = true,     .head = "url",   .tls = value_node_own_tls,
                                          .side = WIRE_CLIENT};
const struct conf_kind conf_kind_node_tls = {NULL, value_show_node_tls, .quoted = true, .tls = value_node_tls,
                                             .side = WIRE_CLIENT};
