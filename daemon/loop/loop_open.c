/* The connections to a master: made when it comes, ended when it leaves. */
#include <event2/dns.h>

#include "daemon/log.h"
#include "daemon/loop/loop_private.h"

/* Without names, resolv.conf and hosts may well be absent. */
static bool make_dns(struct loop *loop)
{
    loop->dns = evdns_base_new(loop->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (loop->dns == NULL)
        return false;
    if (evdns_base_resolv_conf_parse(loop->dns, DNS_OPTIONS_ALL, "/etc/resolv.conf") != 0)
        log_warn(
            "resolv_conf",
            "why=\"/etc/resolv.conf cannot be used: names of masters are looked up in /etc/hosts only\"");
    if (evdns_base_load_hosts(loop->dns, "/etc/hosts") != 0)
        log_warn("hosts", "why=\"/etc/hosts cannot be read\"");
    return true;
}

static bool loop_is_name(const struct conf_address *address)
{
    unsigned char bytes[16];
    return address->path[0] == '\0' && evutil_inet_pton(AF_INET, address->host, bytes) != 1 &&
           evutil_inet_pton(AF_INET6, address->host, bytes) != 1;
}

bool loop_open(struct loop *loop, unsigned place)
{
    const struct conf_node *node = &loop->places.node[place];
    if (loop->dns == NULL && loop_is_name(&node->address) && !make_dns(loop))
        return false;
    loop->nodes[place] = node_new(loop->base, loop->dns, loop->conf, node, place, &loop->node_handler);
    return loop->nodes[place] != NULL &&
           loop_subscribe_open(&loop->subscribe, loop->base, loop->dns, loop->conf, place);
}

void loop_close(struct loop *loop, unsigned place)
{
    log_info("master_gone", "node=%s why=\"it is in no list any more\"",
             loop->places.node[place].address.shown);
    node_free(loop->nodes[place]);
    loop->nodes[place] = NULL;
    loop_subscribe_close(&loop->subscribe, place);
    loop_send_forget(&loop->send, place);
    loop_daemons_forget(&loop->daemons, place);
    loop_set_forget(&loop->set, place);
    loop_tls_forget(&loop->look.tls, place);
    places_free(&loop->places, place);
}
