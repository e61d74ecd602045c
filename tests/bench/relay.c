#include "tests/bench/relay.h"

#include "tests/bench/process.h"
#include "tests/bench/server.h"

struct relay_plan {
    const struct address *address;
    const struct masters *masters;
};

static void relay_run(void *arg)
{
    const struct relay_plan *plan = arg;
    struct event_base *base = event_base_new();
    if (!base)
        fail("relay: no memory");
    relay_masters_dial(base, plan->masters);
    relay_clients_listen(base, plan->address);
    while (event_base_loop(base, EVLOOP_ONCE) >= 0) {
        relay_masters_flush();
        relay_clients_flush();
    }
}

void relay_start(struct server *server, const struct places *places, const struct masters *masters)
{
    server_address(&server->address, places, "r");
    struct relay_plan plan = {&server->address, masters};
    server->pid = process_fork("bench-relay", relay_run, &plan);
    server_wait(server, "the relay");
}
