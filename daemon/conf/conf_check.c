/* Rules between settings, and warnings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_serves.h"
#include "daemon/wire/wire.h"

#define QUARANTINE "(max_ttl is also how long a restarted master is kept out)"

/* The place to show for a rule between two keys; NULL: the value of one was refused, so the rule cannot be
 * checked. */
static const struct conf_place *pair_place(struct conf_reader *r, const char *key, const char *other)
{
    const struct conf_place *a = conf_place(r, key), *b = conf_place(r, other);
    if (a->broken || b->broken)
        return NULL;
    return a->line ? a : b;
}

static int64_t number(const struct conf_reader *r, const char *key)
{
    const struct conf_row *row = conf_row_find(&conf_whole, key);
    return *(const int64_t *)(const void *)((const char *)r->conf + row->at);
}

/* low <= high */
static void conf_check_order(struct conf_reader *r, const char *low, const char *high, const char *more)
{
    const struct conf_place *place = pair_place(r, low, high);
    char low_text[32], high_text[32];
    if (!place || number(r, low) <= number(r, high))
        return;
    conf_show_duration(number(r, low), low_text, sizeof low_text);
    conf_show_duration(number(r, high), high_text, sizeof high_text);
    conf_fault(r, place, low, "%s is more than %s, which is %s; allowed is %s <= %s%s", low_text, high,
               high_text, low, high, more);
}

static void conf_check_ttls(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    conf_check_order(r, "min_ttl", "default_ttl", " <= max_ttl " QUARANTINE);
    conf_check_order(r, "default_ttl", "max_ttl", " " QUARANTINE);
    conf_check_order(r, "retry_min", "retry_max", "");

    const struct conf_place *place = pair_place(r, "min_ttl", "node_timeout");
    char text[32], limit[32];
    conf_show_duration(conf->min_ttl_ms, text, sizeof text);
    if (place && conf->min_ttl_ms < 2 * conf->node_timeout_ms) {
        conf_show_duration(2 * conf->node_timeout_ms, limit, sizeof limit);
        conf_fault(
            r, place, "min_ttl",
            "%s is less than two round trips to a master; allowed is 2 x node_timeout = %s to default_ttl "
            "<= max_ttl " QUARANTINE,
            text, limit);
    }
    /* The validity of min_ttl as quorum_until_ms() computes it: less the allowance for clock drift (1 % and
     * 2 ms) and the 1 ms for rounding. */
    int64_t left_ms = conf->min_ttl_ms - (conf->min_ttl_ms + 99) / 100 - 2 - 1;
    place = pair_place(r, "min_validity", "min_ttl");
    if (place && conf->min_validity_ms > left_ms) {
        conf_show_duration(left_ms, limit, sizeof limit);
        conf_fault(r, place, "min_validity",
                   "a lock of min_ttl (%s) could never be granted; allowed is at most %s, which is min_ttl "
                   "less the allowance for clock drift",
                   text, limit);
    }
}

static void conf_check_guard(struct conf_reader *r)
{
    const struct conf_place *place = conf_place(r, "restart_guard");
    if (place->line && !place->broken && !r->conf->restart_guard)
        conf_warn(r, place, "restart_guard", "off: after a restart of masters two clients may hold one lock");
    for (unsigned l = 0; l < CONF_LISTS && !place->broken; l++) {
        struct conf_list list = conf_list(r, l);
        for (unsigned i = 0; i < list.count; i++)
            if (list.nodes[i].no_kill && !r->conf->restart_guard)
                conf_fault(
                    r, &list.places[i], list.key,
                    "no_kill needs restart_guard: on, since a quarantine takes the place of CLIENT KILL");
    }
}

static void conf_check_serves(struct conf_reader *r)
{
    const struct conf_place *place = conf_place(r, "serves");
    if (place->line && !place->broken && !conf_serves_some(r->conf))
        conf_fault(r, place, "serves", "every name is an exception: write \"*\" first, for all others");
}

static void conf_check_break(struct conf_reader *r)
{
    const struct conf_place *place = conf_place(r, "allow_break");
    if (!place->broken && r->conf->allow_break && !r->conf->users)
        conf_warn(r, place, "allow_break",
                  "on: without users, whoever reaches redlockd may take any lock away");
}

static void conf_check_share(struct conf_reader *r, const char *key, const char *whole)
{
    const struct conf_place *place = pair_place(r, key, whole);
    if (place && number(r, key) > number(r, whole))
        conf_fault(r, place, key,
                   "%" PRId64 " is more than %s, which is %" PRId64 "; allowed is 1 to %" PRId64
                   ", or 0 for a quarter of it",
                   number(r, key), whole, number(r, whole), number(r, whole));
}

struct listener {
    const struct conf_listener *listener;
    const struct conf_place *place;
    const char *key;
};

/* Entry i of listen and then http. */
static struct listener listener_at(struct conf_reader *r, unsigned i)
{
    static const char listen[] = "listen", http[] = "http";
    const struct conf *conf = r->conf;
    unsigned k = i - conf->listeners;
    if (i < conf->listeners)
        return (struct listener){&conf->listen[i], &r->listen_places[i], listen};
    return (struct listener){&conf->http[k], &r->http_places[k], http};
}

/* Whether only clients are let in that can prove who they are. */
static bool listener_proves(const struct conf *conf, const struct conf_listener *listener)
{
    const struct wire_settings *tls = &listener->tls;
    return tls->on && (conf->users || (tls->ca[0] && tls->ask != WIRE_ASK_OPTIONAL));
}

static void conf_check_listeners(struct conf_reader *r)
{
    for (unsigned i = 0; i < r->conf->listeners; i++) {
        bool proves = listener_proves(r->conf, &r->conf->listen[i]);
        if (!proves && !conf_address_loopback(&r->conf->listen[i].address))
            conf_warn(r, &r->listen_places[i], "listen",
                      r->conf->users
                          ? "%s can be reached from other machines, and over plain TCP nobody can prove "
                            "to be one of the users: whoever reaches it has the rights of anyone"
                          : "%s can be reached from other machines, and there are no users: whoever "
                            "reaches it can take and release locks",
                      r->conf->listen[i].address.shown);
    }
}

/* A user that no client can prove to be is legal, but seldom meant. */
static void conf_check_proofs(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    const struct conf_place *place = conf_place(r, "users");
    bool sockets = false, certificates = false;
    for (unsigned i = 0; i < conf->listeners + conf->http_listeners; i++) {
        const struct conf_listener *listener = listener_at(r, i).listener;
        sockets |= listener->address.path[0] != '\0';
        certificates |= listener->tls.ca[0] != '\0';
    }
    if (!conf->users || place->broken || conf_place(r, "listen")->broken || conf_place(r, "http")->broken)
        return;
    if (!certificates && users_have(conf->users, MARK_CERT))
        conf_warn(
            r, place, "users",
            "cert: no address in listen or http has tls with client_ca, so nobody is known by a certificate");
    if (!sockets && (users_have(conf->users, MARK_UID) || users_have(conf->users, MARK_GID)))
        conf_warn(r, place, "users",
                  "uid, gid: no address in listen is a Unix socket, so nobody is known by them");
}

/* A name in a certificate says only as much as the CA that signed it: with a CA of its own at each address, a
 * partner's CA could make itself a certificate with another user's name. */
static void conf_check_cas(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    const struct conf_listener *first = NULL;
    if (!conf->users || !users_have(conf->users, MARK_CERT))
        return;
    for (unsigned i = 0; i < conf->listeners + conf->http_listeners; i++) {
        struct listener it = listener_at(r, i);
        if (!it.listener->tls.ca[0])
            continue;
        if (!first)
            first = it.listener;
        if (strcmp(it.listener->tls.ca, first->tls.ca) == 0)
            continue;
        conf_fault(r, it.place, it.key,
                   "client_ca of %s is another than that of %s, so cert: of users could be shown by whoever "
                   "either CA has signed; use one client_ca for all, or secret_file in place of cert",
                   it.listener->address.shown, first->address.shown);
        return;
    }
}

/* The entry before i at whose address i would listen, too; i: none. Port 0 stands for any free port. */
static unsigned same_address(struct conf_reader *r, unsigned i)
{
    const struct conf_address *address = &listener_at(r, i).listener->address;
    unsigned k = 0;
    while (k < i && !conf_address_equal(address, &listener_at(r, k).listener->address))
        k++;
    return address->port || address->path[0] ? k : i;
}

/* Each address is listened on once, be it for clients or for HTTP. */
static void conf_check_addresses(struct conf_reader *r)
{
    for (unsigned i = 0; i < r->conf->listeners + r->conf->http_listeners; i++) {
        struct listener it = listener_at(r, i);
        unsigned k = same_address(r, i);
        if (k < i && listener_at(r, k).key == it.key)
            conf_fault(r, it.place, it.key, "\"%s\": this address stands here twice",
                       it.listener->address.shown);
        else if (k < i)
            conf_fault(r, it.place, it.key, "%s stands in listen already; HTTP needs an address of its own",
                       it.listener->address.shown);
    }
}

/* What an entry of http serves if it does not say so, and who may see that. */
static void conf_check_http(struct conf_reader *r)
{
    struct conf *conf = r->conf;
    for (unsigned i = 0; i < conf->http_listeners; i++) {
        struct conf_listener *http = &conf->http[i];
        if (!http->serves)
            http->serves = CONF_SERVES_ALL;
        if (!conf->users && !listener_proves(conf, http) && http->serves != CONF_PROBES &&
            !conf_address_loopback(&http->address))
            conf_warn(
                r, &r->http_places[i], "http",
                "%s can be reached from other machines, and there are no users: whoever reaches it sees "
                "the names of locks, notes and clients; for a load balancer serve: [probes] is enough",
                http->address.shown);
    }
}

/* ---- TLS ---- */

/* Returns the rule between the keys that is broken, in words; NULL: none is. */
static const char *tls_rules(const struct wire_settings *tls, enum wire_side side)
{
    if (side == WIRE_SERVER && (!tls->cert[0] || !tls->key[0]))
        return "tls needs cert and key, the files of this daemon's certificate and its key";
    if (!tls->cert[0] != !tls->key[0])
        return "cert and key stand together, or neither";
    if (side == WIRE_SERVER && tls->ask && !tls->ca[0])
        return "client_cert needs client_ca, the file of the CA that signs the clients' certificates";
    if (side == WIRE_CLIENT && tls->verify == WIRE_VERIFY_CA && !tls->ca[0])
        return "verify: ca needs ca: with the system's CAs the certificate of any public server would do";
    return NULL;
}

/* Checks the rules between the keys of one mapping, and that its files can be used; false: it was
 * reported. */
static bool conf_check_tls(struct conf_reader *r, const struct conf_place *place, const char *key,
                           const struct wire_settings *tls, enum wire_side side)
{
    struct wire_fault fault;
    const char *wrong = tls_rules(tls, side);

    if (wrong) {
        conf_fault(r, place, key, "%s", wrong);
        return false;
    }
    struct wire_context *context = wire_context_new(side, tls, &fault);
    if (!context)
        conf_fault(r, place, key, "%s", fault.what);
    else if (side == WIRE_CLIENT && tls->verify == WIRE_VERIFY_OFF)
        conf_warn(
            r, place, key,
            "verify: off: whoever is on the way to a master can pretend to be it, and read its password");
    wire_context_free(context);
    return context != NULL;
}

/* Checks the TLS of listen and http. */
static void conf_check_listen_tls(struct conf_reader *r)
{
    for (unsigned i = 0; i < r->conf->listeners + r->conf->http_listeners; i++) {
        struct listener it = listener_at(r, i);
        if (!it.listener->tls.on || conf_place(r, it.key)->broken)
            continue;
        if (it.listener->address.path[0])
            conf_fault(r, it.place, it.key, "a Unix socket needs no TLS: leave tls out");
        else
            conf_check_tls(r, it.place, it.key, &it.listener->tls, WIRE_SERVER);
    }
}

/* A master uses each key of its own, and else the one of node_tls; cert and key go together. */
static void tls_merge(struct wire_settings *tls, const struct wire_settings *own,
                      const struct wire_settings *all)
{
    bool own_cert = own->cert[0] || own->key[0];

    memcpy(tls->ca, own->ca[0] ? own->ca : all->ca, sizeof tls->ca);
    memcpy(tls->cert, own_cert ? own->cert : all->cert, sizeof tls->cert);
    memcpy(tls->key, own_cert ? own->key : all->key, sizeof tls->key);
    memcpy(tls->server_name, own->server_name[0] ? own->server_name : all->server_name,
           sizeof tls->server_name);
    tls->verify = own->verify ? own->verify : all->verify;
}

/* Gives each master of the list its TLS; returns how many have any. */
static unsigned conf_merge_tls(struct conf_reader *r, const struct conf_list *list)
{
    unsigned secure = 0;
    for (unsigned i = 0; i < list->count; i++) {
        struct conf_node *node = &list->nodes[i];
        secure += node->tls.on;
        tls_merge(&node->tls, &node->own_tls, &r->conf->node_tls);
        if (node->own_tls.on && !node->tls.on)
            conf_fault(r, &list->places[i], list->key, "tls belongs to an address with rediss://");
    }
    return secure;
}

static void conf_check_node_tls(struct conf_reader *r)
{
    struct conf *conf = r->conf;
    const struct conf_place *place = conf_place(r, "node_tls");
    struct conf_list now = conf_list(r, 0), before = conf_list(r, 1);
    unsigned secure = conf_merge_tls(r, &now) + conf_merge_tls(r, &before);
    bool good = !place->broken && !conf_place(r, "nodes")->broken && !conf_place(r, "nodes_before")->broken;

    if (conf->node_tls.on && !place->broken)
        good = conf_check_tls(r, place, "node_tls", &conf->node_tls, WIRE_CLIENT);
    if (good && conf->node_tls.on && !secure && conf->masters)
        conf_warn(r, place, "node_tls", "not used: no address in nodes begins with rediss://");
    for (unsigned l = 0; good && l < CONF_LISTS; l++) {
        struct conf_list list = conf_list(r, l);
        for (unsigned i = 0; i < list.count; i++)
            if (list.nodes[i].tls.on && list.nodes[i].own_tls.on)
                conf_check_tls(r, &list.places[i], list.key, &list.nodes[i].tls, WIRE_CLIENT);
    }
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

static void conf_check_users(struct conf_reader *r)
{
    if (!r->conf->users)
        return;
    users_number(r->conf->users, NULL);
    map_check(r, MARK_UID, "/proc/self/uid_map");
    map_check(r, MARK_GID, "/proc/self/gid_map");
}

/* ---- all of it ---- */

void conf_check(struct conf_reader *r)
{
    if (r->faults >= CONF_FAULTS_MOST)
        return;
    conf_check_ttls(r);
    conf_check_masters(r);
    conf_check_guard(r);
    conf_check_serves(r);
    conf_check_break(r);
    conf_check_share(r, "max_clients_per_peer", "max_clients");
    conf_check_share(r, "max_locks_per_peer", "max_locks");
    conf_check_share(r, "max_waits_per_peer", "max_waiters");
    conf_check_listeners(r);
    conf_check_proofs(r);
    conf_check_cas(r);
    conf_check_addresses(r);
    conf_check_http(r);
    conf_check_listen_tls(r);
    conf_check_node_tls(r);
    conf_check_secrets(r);
    conf_check_users(r);
}
