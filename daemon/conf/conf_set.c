#include "daemon/conf/conf_set.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/conf/conf_address.h"

struct set_names {
    char name[MASTERS][CONF_NAME_BYTES];
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
    size_t len = node->name[0] ? 0 : put_host(node, out);
    if (node->name[0])
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

static void sorted(const struct conf *conf, struct set_names *names)
{
    for (unsigned i = 0; i < conf->masters; i++)
        conf_set_name(&conf->nodes[i], names->name[i]);
    qsort(names->name, conf->masters, sizeof names->name[0], by_text);
}

uint64_t conf_set_hash(const struct conf *conf)
{
    struct set_names names;
    uint64_t hash = UINT64_C(14695981039346656037);
    sorted(conf, &names);
    for (unsigned i = 0; i < conf->masters; i++) {
        for (const char *at = names.name[i]; *at; at++)
            hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
        hash = (hash ^ '\n') * UINT64_C(1099511628211);
    }
    return hash != 0 ? hash : 1;
}

void conf_set_names(const struct conf *conf, char between, char out[CONF_SET_BYTES])
{
    struct set_names names;
    size_t len = 0;
    sorted(conf, &names);
    out[0] = '\0';
    for (unsigned i = 0; i < conf->masters; i++) {
        if (i > 0)
            out[len++] = between;
        len += (size_t)snprintf(out + len, CONF_SET_BYTES - len, "%s", names.name[i]);
    }
}

const char *conf_set_name_wrong(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/[]!?=";
    size_t len = strlen(name);
    if (len == 0 || len >= CONF_HOST_BYTES)
        return "has 1 to 255 characters";
    return strspn(name, letters) == len ? NULL : "has only letters, digits and . - _ : / [ ] ! ? =";
}
