/* Rules between settings, secrets, warnings. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"

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

/* low <= high */
static void conf_check_order(struct conf_reader *r, const char *low, int64_t low_ms, const char *high,
                             int64_t high_ms, const char *more)
{
    const struct conf_place *place = pair_place(r, low, high);
    if (!place || low_ms <= high_ms)
        return;
    char low_text[32], high_text[32];
    conf_show_duration(low_ms, low_text, sizeof low_text);
    conf_show_duration(high_ms, high_text, sizeof high_text);
    conf_fault(r, place, low, "%s is more than %s, which is %s; allowed is %s <= %s%s%s", low_text, high,
               high_text, low, high, *more ? " " : "", more);
}

static void conf_check_ttls(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    conf_check_order(r, "min_ttl", conf->min_ttl_ms, "default_ttl", conf->default_ttl_ms,
                     "<= max_ttl " QUARANTINE);
    conf_check_order(r, "default_ttl", conf->default_ttl_ms, "max_ttl", conf->max_ttl_ms, QUARANTINE);
    conf_check_order(r, "retry_min", conf->retry_min_ms, "retry_max", conf->retry_max_ms, "");

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

static void conf_check_masters(struct conf_reader *r)
{
    const struct conf_place *place = conf_place(r, "nodes");
    if (!place->line) {
        const struct conf_place top = {1, 1, false};
        conf_fault(r, &top, "nodes",
                   "missing; list your independent Redis masters, three or five of them serve best:"
                   " \"nodes: [redis://10.0.0.1:6379, redis://10.0.0.2:6379, redis://10.0.0.3:6379]\""
                   " (redlockd --dev needs none)");
        return;
    }
    char advice[160];
    if (!place->broken && conf_masters_advice(r->conf->masters, advice, sizeof advice))
        conf_warn(r, place, "nodes", "%s", advice);
}

bool conf_masters_advice(unsigned masters, char *out, size_t size)
{
    unsigned quorum = masters / 2 + 1, failures = masters - quorum;
    if (masters >= 3 && masters % 2 == 1)
        return false;
    snprintf(out, size, "%u master%s survive%s the failure of %u%s", masters, masters == 1 ? "" : "s",
             masters == 1 ? "s" : "", failures,
             masters < 3    ? ": no lock is granted while one is away; three survive one"
             : failures < 2 ? ", as three do; an odd number serves best"
                            : ", as one fewer would; an odd number serves best");
    return true;
}

static void conf_check_guard(struct conf_reader *r)
{
    const struct conf_place *place = conf_place(r, "restart_guard");
    if (place->line && !place->broken && !r->conf->restart_guard)
        conf_warn(r, place, "restart_guard", "off: after a restart of masters two clients may hold one lock");
}

static void conf_check_share(struct conf_reader *r, const char *key, int64_t per_peer, const char *whole_key,
                             int64_t whole)
{
    const struct conf_place *place = pair_place(r, key, whole_key);
    if (place && per_peer > whole)
        conf_fault(r, place, key,
                   "%lld is more than %s, which is %lld; allowed is 1 to %lld, or 0 for a quarter of it",
                   (long long)per_peer, whole_key, (long long)whole, (long long)whole);
}

static void conf_check_shares(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    conf_check_share(r, "max_clients_per_peer", conf->max_clients_per_peer, "max_clients", conf->max_clients);
    conf_check_share(r, "max_locks_per_peer", conf->max_locks_per_peer, "max_locks", conf->max_locks);
    conf_check_share(r, "max_waits_per_peer", conf->max_waits_per_peer, "max_waiters", conf->max_waiters);
}

static void conf_check_listeners(struct conf_reader *r)
{
    for (unsigned i = 0; i < r->conf->listeners; i++)
        if (!conf_address_loopback(&r->conf->listen[i].address))
            conf_warn(r, &r->listen_places[i], "listen",
                      r->conf->users
                          ? "%s can be reached from other machines, and over plain TCP nobody can prove "
                            "to be one of the users: whoever reaches it has the rights of anyone"
                          : "%s can be reached from other machines, and there are no users: whoever "
                            "reaches it can take and release locks",
                      r->conf->listen[i].address.shown);
}

/* Whether a socket that waits for clients has this address already. */
static bool is_listened_on(const struct conf *conf, const struct conf_address *address)
{
    for (unsigned i = 0; i < conf->listeners; i++)
        if (conf_address_equal(address, &conf->listen[i].address) && (address->port || address->path[0]))
            return true;
    return false;
}

static void conf_check_http(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    for (unsigned i = 0; i < conf->http_listeners; i++) {
        const struct conf_listener *http = &conf->http[i];
        if (is_listened_on(conf, &http->address))
            conf_fault(r, &r->http_places[i], "http",
                       "%s stands in listen already; HTTP needs an address of its own", http->address.shown);
        if (!conf->users && http->serves != CONF_PROBES && !conf_address_loopback(&http->address))
            conf_warn(
                r, &r->http_places[i], "http",
                "%s can be reached from other machines, and there are no users: whoever reaches it sees "
                "the names of locks, notes and clients; for a load balancer serve: [probes] is enough",
                http->address.shown);
    }
}

/* ---- secrets ---- */

const char *conf_secret_read(const char *path, char secret[CONF_SECRET_BYTES], mode_t *mode)
{
    struct stat stat;
    char text[CONF_SECRET_BYTES + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return strerror(errno);
    if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
        close(fd);
        return "not a file";
    }
    ssize_t len = read(fd, text, sizeof text);
    const char *wrong = len < 0 ? strerror(errno) : NULL;
    close(fd);
    if (wrong)
        return wrong;
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    if (len == 0)
        wrong = "it is empty; write the password into it";
    else if (len >= CONF_SECRET_BYTES)
        wrong = "it is too long; a password has at most 255 bytes";
    else if (memchr(text, 0, (size_t)len) || memchr(text, '\n', (size_t)len))
        wrong = "it holds more than one line";
    if (!wrong) {
        memcpy(secret, text, (size_t)len);
        secret[len] = 0;
    }
    explicit_bzero(text, sizeof text);
    *mode = stat.st_mode;
    return wrong;
}

static void conf_check_own_secrets(struct conf_reader *r)
{
    for (unsigned i = 0; i < r->conf->masters; i++) {
        if (r->conf->nodes[i].password[0] && (r->mode & S_IROTH)) {
            conf_warn(
                r, &r->node_places[i], "nodes",
                "a password in a file that everybody can read: chmod o-r it, or use node_password_file");
            return;
        }
    }
}

/* Gives each master its user and password. A URL keeps its own; a URL with a user alone takes the password
 * of the file. */
static void conf_check_secrets(struct conf_reader *r)
{
    struct conf *conf = r->conf;
    const struct conf_place *user = conf_place(r, "node_user"), *file = conf_place(r, "node_password_file");
    char secret[CONF_SECRET_BYTES] = "";
    conf_check_own_secrets(r);
    if (conf->node_password_file[0]) {
        mode_t mode = 0;
        const char *wrong = conf_secret_read(conf->node_password_file, secret, &mode);
        if (wrong)
            conf_fault(r, file, "node_password_file", "%s: %s", conf->node_password_file, wrong);
        else if (mode & S_IROTH)
            conf_warn(r, file, "node_password_file", "everybody can read %s: chmod o-r it",
                      conf->node_password_file);
    } else if (conf->node_user[0] && !file->broken) {
        conf_fault(r, user, "node_user", "it needs node_password_file, the file with its password");
    }
    for (unsigned i = 0; i < conf->masters; i++) {
        struct conf_node *node = &conf->nodes[i];
        bool own = node->user[0] || node->password[0];
        if (own && !node->password[0] && !conf->node_password_file[0] && !file->broken)
            conf_fault(
                r, &r->node_places[i], "nodes",
                "a user without a password: write redis://user:password@host:port, or node_password_file");
        if (!own)
            memcpy(node->user, conf->node_user, sizeof node->user);
        if (!node->password[0])
            memcpy(node->password, secret, sizeof node->password);
    }
    explicit_bzero(secret, sizeof secret);
}

void conf_check(struct conf_reader *r)
{
    conf_check_ttls(r);
    conf_check_masters(r);
    conf_check_guard(r);
    conf_check_shares(r);
    conf_check_listeners(r);
    conf_check_http(r);
    conf_check_secrets(r);
    conf_users_check(r);
}
