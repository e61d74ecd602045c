/* Rules about the masters: nodes, nodes_before, and the step between them. */
#include <string.h>

#include "daemon/conf/conf_address.h"
#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_set.h"

struct conf_list conf_list(struct conf_reader *r, unsigned i)
{
    static const char now[] = "nodes", before[] = "nodes_before";
    struct conf *conf = r->conf;
    if (i == 0)
        return (struct conf_list){now, conf->nodes, conf->masters, r->node_places};
    return (struct conf_list){before, conf->nodes_before, conf->masters_before, r->before_places};
}

/* Two addresses or names of one server would be two votes of it, and so would two of its databases. */
static void conf_check_twins(struct conf_reader *r, const struct conf_list *list, unsigned i, unsigned k)
{
    const struct conf_node *node = &list->nodes[i], *other = &list->nodes[k];
    char name[CONF_NAME_BYTES], other_name[CONF_NAME_BYTES];
    if (node->vacant || other->vacant)
        return;
    conf_set_name(node, name);
    conf_set_name(other, other_name);
    if (conf_address_equal(&node->address, &other->address))
        conf_fault(r, &list->places[i], list->key,
                   "%.300s stands here twice; each master is a server of its own", node->address.shown);
    else if (strcmp(name, other_name) == 0)
        conf_fault(r, &list->places[i], list->key,
                   "two masters have the name %.300s; each is a server of its own", name);
}

static void conf_check_names(struct conf_reader *r)
{
    for (unsigned l = 0; l < CONF_LISTS; l++) {
        struct conf_list list = conf_list(r, l);
        for (unsigned i = 0; i < list.count; i++)
            for (unsigned k = 0; k < i; k++)
                conf_check_twins(r, &list, i, k);
    }
}

/* With too many vacant places no lock could ever be granted. */
static void conf_check_vacant(struct conf_reader *r)
{
    for (unsigned l = 0; l < CONF_LISTS; l++) {
        struct conf_list list = conf_list(r, l);
        const struct conf_place *place = conf_place(r, list.key);
        unsigned voters = conf_set_voters(list.nodes, list.count);
        if (place->line && !place->broken && list.count > 0 && voters < list.count / 2 + 1)
            conf_fault(r, place, list.key,
                       "%u of %u places are vacant, so no lock could be granted: that takes %u masters",
                       list.count - voters, list.count, list.count / 2 + 1);
    }
}

/* A server that both lists have is one connection. */
static void conf_check_shared(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    char name[CONF_NAME_BYTES];
    for (unsigned i = 0; i < conf->masters_before; i++) {
        const struct conf_node *before = &conf->nodes_before[i];
        conf_set_name(before, name);
        unsigned k = before->vacant ? conf->masters : conf_set_find(conf->nodes, conf->masters, name);
        if (k < conf->masters && (!conf_address_equal(&before->address, &conf->nodes[k].address) ||
                                  before->no_kill != conf->nodes[k].no_kill))
            conf_fault(r, &r->before_places[i], "nodes_before",
                       "%.300s has another address, or no_kill, in nodes; write it here as it is there",
                       name);
    }
}

/* Whether the masters may follow those of the generation before. */
static void conf_check_between(struct conf_reader *r)
{
    const struct conf *conf = r->conf;
    const struct conf_place *place = conf_place(r, "nodes_before"), *nodes = conf_place(r, "nodes");
    static char names[CONF_SET_BYTES];
    if (conf->masters_before == 0 && conf->max_ttl_before_ms != 0)
        conf_fault(r, conf_place(r, "max_ttl_before"), "max_ttl_before", "it needs nodes_before");
    if (conf->masters_before == 0 || place->broken || nodes->broken)
        return;
    if (conf->generation == 0 && !conf_place(r, "generation")->broken)
        conf_fault(r, place, "nodes_before",
                   "there is no generation before 0; write \"generation: 1\" if the masters have changed, "
                   "or leave nodes_before out");
    conf_check_shared(r);
    struct conf_between step =
        conf_set_between(conf->nodes_before, conf->masters_before, conf->nodes, conf->masters);
    conf_set_names(conf, conf->nodes_before, conf->masters_before, ' ', names);
    if (step.servers > MASTERS)
        conf_fault(r, place, "nodes_before", "it and nodes have %u servers together; at most %u are possible",
                   step.servers, (unsigned)MASTERS);
    else if (step.needed > step.voters)
        conf_fault(
            r, nodes, "nodes",
            "too big a change for one generation: nodes has %u of the masters of nodes_before, and the "
            "step between needs %u votes of these; keep at least %u of %.300s",
            step.voters, step.needed, step.keep, names);
}

static void conf_check_nodes(struct conf_reader *r)
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
    unsigned masters = r->conf->masters, voters = conf_set_voters(r->conf->nodes, masters);
    if (!place->broken && voters > masters / 2 && conf_masters_advice(masters, voters, advice, sizeof advice))
        conf_warn(r, place, "nodes", "%s", advice);
}

bool conf_masters_advice(unsigned masters, unsigned voters, char *out, size_t size)
{
    unsigned quorum = masters / 2 + 1, failures = voters - quorum;
    if (voters < masters) {
        snprintf(out, size, "%u of %u places are vacant: the other masters survive the failure of %u",
                 masters - voters, masters, failures);
        return true;
    }
    if (masters >= 3 && masters % 2 == 1)
        return false;
    snprintf(out, size, "%u master%s survive%s the failure of %u%s", masters, masters == 1 ? "" : "s",
             masters == 1 ? "s" : "", failures,
             masters < 3    ? ": no lock is granted while one is away; three survive one"
             : failures < 2 ? ", as three do; an odd number serves best"
                            : ", as one fewer would; an odd number serves best");
    return true;
}

void conf_check_masters(struct conf_reader *r)
{
    conf_check_nodes(r);
    conf_check_names(r);
    conf_check_vacant(r);
    conf_check_between(r);
}
