#include "daemon/conf/conf_set.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "daemon/conf/conf_address.h"
#include "daemon/coordinator/base/quorum.h"

struct set_names {
    char name[MASTERS + CONF_SERVES_MOST][CONF_NAME_BYTES];
    unsigned count;
};

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static bool is_here(const struct conf_address *address)
{
    struct in6_addr v6;
    return conf_address_loopback(address) ||
           (inet_pton(AF_INET6, address->host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

/* Writes "<hostname>!", or nothing where the address means the same server on every host. */
static size_t put_host(const struct conf_node *node, char out[CONF_NAME_BYTES])
{
    char host[CONF_HOST_BYTES] = "";
    if (!is_here(&node->address))
        return 0;
    if (gethostname(host, sizeof host - 1) < 0)
        snprintf(host, sizeof host, "localhost");
    return (size_t)snprintf(out, CONF_NAME_BYTES, "%.250s!", host);
}

/* An IPv6 address has many texts: they all become one. */
static void put_address(const struct conf_node *node, char *out, size_t size)
{
    char host[CONF_HOST_BYTES];
    struct in6_addr v6;
    snprintf(host, sizeof host, "%s", node->address.host);
    bool is_v6 = inet_pton(AF_INET6, host, &v6) == 1;
    if (is_v6)
        inet_ntop(AF_INET6, &v6, host, sizeof host);
    snprintf(out, size, is_v6 ? "[%s]:%u/%d" : "%s:%u/%d", host, node->address.port, node->db);
}

void conf_set_name(const struct conf_node *node, char out[CONF_NAME_BYTES])
{
    size_t len = node->name[0] || node->vacant ? 0 : put_host(node, out);
    if (node->vacant)
        snprintf(out, CONF_NAME_BYTES, "%s", CONF_VACANT);
    else if (node->name[0])
        snprintf(out, CONF_NAME_BYTES, "%s", node->name);
    else if (node->address.path[0])
        snprintf(out + len, CONF_NAME_BYTES - len, "%s?db=%d", node->address.path, node->db);
    else
        put_address(node, out + len, CONF_NAME_BYTES - len);
    lower(out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* No master's name has a parenthesis. */
static void sorted(const struct conf *conf, const struct conf_node nodes[], unsigned count,
                   struct set_names *names)
{
    for (unsigned i = 0; i < count; i++)
        conf_set_name(&nodes[i], names->name[i]);
    for (unsigned i = 0; i < conf->serves_count; i++)
        snprintf(names->name[count + i], CONF_NAME_BYTES, "serves(%s)", conf->serves[i]);
    names->count = count + conf->serves_count;
    qsort(names->name, names->count, sizeof names->name[0], by_text);
}

uint64_t conf_set_hash(const struct conf *conf, const struct conf_node nodes[], unsigned count)
{
    struct set_names names;
    uint64_t hash = UINT64_C(14695981039346656037);
    sorted(conf, nodes, count, &names);
    for (unsigned i = 0; i < names.count; i++) {
        for (const char *at = names.name[i]; *at; at++)
            hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
        hash = (hash ^ '\n') * UINT64_C(1099511628211);
    }
    return hash != 0 ? hash : 1;
}

void conf_set_names(const struct conf *conf, const struct conf_node nodes[], unsigned count, char between,
                    char out[CONF_SET_BYTES])
{
    struct set_names names;
    size_t len = 0;
    sorted(conf, nodes, count, &names);
    out[0] = '\0';
    for (unsigned i = 0; i < names.count; i++) {
        if (strcmp(names.name[i], CONF_VACANT) == 0)
            continue;
        if (len > 0)
            out[len++] = between;
        len += (size_t)snprintf(out + len, CONF_SET_BYTES - len, "%s", names.name[i]);
    }
}

unsigned conf_set_voters(const struct conf_node nodes[], unsigned count)
{
    unsigned voters = 0;
    for (unsigned i = 0; i < count; i++)
        voters += !nodes[i].vacant;
    return voters;
}

unsigned conf_set_find(const struct conf_node nodes[], unsigned count, const char *name)
{
    char other[CONF_NAME_BYTES];
    for (unsigned i = 0; i < count; i++) {
        conf_set_name(&nodes[i], other);
        if (!nodes[i].vacant && strcmp(other, name) == 0)
            return i;
    }
    return count;
}

/* The masters of the first list have their index as place, and the others of the second one take places that are
 * free. Where there are not enough of these, only `servers` is right. */
struct conf_between conf_set_between(const struct conf_node before[], unsigned before_count,
                                     const struct conf_node after[], unsigned after_count)
{
    masters_t first = 0, second = 0;
    unsigned shared = 0, voters = conf_set_voters(after, after_count);
    char name[CONF_NAME_BYTES];
    for (unsigned i = 0; i < before_count; i++) {
        conf_set_name(&before[i], name);
        bool is_kept = !before[i].vacant && conf_set_find(after, after_count, name) < after_count;
        first |= before[i].vacant ? 0 : masters_bit(i);
        second |= is_kept ? masters_bit(i) : 0;
        shared += is_kept;
    }
    for (unsigned i = 0, left = voters - shared; left > 0 && i < MASTERS; i++)
        if (!((first | second) & masters_bit(i))) {
            second |= masters_bit(i);
            left--;
        }
    struct quorum q1 = quorum_plain(before_count, first), q2 = quorum_plain(after_count, second);
    struct quorum joint = quorum_joint(&q1, &q2);
    return (struct conf_between){.servers = masters_count(first) + voters - shared,
                                 .voters = shared,
                                 .needed = joint.needed,
                                 .keep = quorum_keep(&q1, &q2)};
}

const char *conf_set_name_wrong(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/[]!?=";
    size_t len = strlen(name);
    if (len == 0 || len >= CONF_HOST_BYTES)
        return "has 1 to 255 characters";
    if (strcasecmp(name, CONF_VACANT) == 0)
        return "is none: vacant alone is a place without a master";
    return strspn(name, letters) == len ? NULL : "has only letters, digits and . - _ : / [ ] ! ? =";
}
