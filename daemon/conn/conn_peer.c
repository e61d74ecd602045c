/* Whom connections come from, as numbers: hashes with a seed, so that nobody can choose an address with the number
 * of another. */
#include <string.h>

#include "daemon/conn/conn_private.h"

enum {
    V4_AT = 12,
    LOOPBACK = 127,
    NETWORK_BYTES = 8, /* one host may use every address of its network: the first half of an IPv6 address */
    SITE_BYTES = 7     /* what a customer is given mostly, with 256 networks */
};

static uint16_t hash(const struct conns *all, uint16_t family, const void *address, size_t len)
{
    const uint8_t *byte = address;
    uint64_t hash = (all->peer_seed ^ family) * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (uint16_t)hash;
}

/* The four bytes of an IPv4 address, also of one that is written as IPv6; NULL: it is none. */
static const uint8_t *v4_of(const struct sockaddr *peer)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)peer;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;

    if (peer->sa_family != AF_INET6)
        return (const uint8_t *)&v4->sin_addr;
    return IN6_IS_ADDR_V4MAPPED(v6) ? &v6->s6_addr[V4_AT] : NULL;
}

static const struct in6_addr *v6_of(const struct sockaddr *peer)
{
    return &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
}

uint16_t peer_number(const struct conns *all, const struct sockaddr *peer, uid_t uid)
{
    if (peer->sa_family == AF_UNIX)
        return hash(all, AF_UNIX, &uid, sizeof uid);
    const uint8_t *v4 = v4_of(peer);
    return v4 ? hash(all, AF_INET, v4, 4) : hash(all, AF_INET6, v6_of(peer), NETWORK_BYTES);
}

uint16_t peer_group(const struct conns *all, const struct sockaddr *peer, uid_t uid)
{
    if (peer->sa_family == AF_UNIX)
        return peer_number(all, peer, uid);
    const uint8_t *v4 = v4_of(peer);
    if (v4 ? v4[0] == LOOPBACK : IN6_IS_ADDR_LOOPBACK(v6_of(peer)))
        return hash(all, AF_UNSPEC, "", 0);
    return v4 ? hash(all, AF_INET, v4, 4) : hash(all, AF_INET6, v6_of(peer), SITE_BYTES);
}

uint16_t conns_group(const struct conns *all, const struct sockaddr *peer)
{
    return peer_group(all, peer, 0);
}
