/* The parts of the loop: made at the start, freed at the end. */
#include <event2/dns.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/loop/loop_private.h"
#include "daemon/passed.h"

static struct coordinator *make_coordinator(const struct loop *loop, const uint8_t random[32],
                                            struct token *self)
{
    struct coordinator_config config = loop_configuration(loop);
    memcpy(&config.hash_seed, random, sizeof config.hash_seed);
    memcpy(&config.self, random + sizeof config.hash_seed, sizeof config.self);
    *self = config.self;
    return coordinator_new(&config);
}

static bool make_nodes(struct loop *loop, const struct token *self)
{
    loop_subscribe_new(&loop->subscribe, loop->conf, &loop->places, self);
    for (unsigned i, left = loop->places.used; place_next(&left, &i);)
        if (!loop_open(loop, i))
            return false;
    return true;
}

/* The words by which other daemons know this one. */
static void describe(struct loop *loop, const char *version)
{
    struct daemon_row *self = &loop->daemons.self;
    char text[2 * WORD_BYTES] = "", since[32] = "";
    time_t now_s = clock_wall_us() / 1000000;
    struct tm utc;
    unsigned i = 0;
    if (gethostname(text, sizeof text - 1) < 0)
        text[0] = '\0';
    daemons_word(self->host, text, strlen(text));
    daemons_word(self->version, version, strlen(version));
    if (gmtime_r(&now_s, &utc))
        strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &utc);
    daemons_word(self->since, since, strlen(since));
    while (i + 1 < loop->conf->listeners && loop->conf->listen[i].address.path[0])
        i++; /* another host has no use for a Unix socket */
    const struct conf_address *address = &loop->conf->listen[i].address;
    snprintf(text, sizeof text, "%s", address->shown);
    if (!address->path[0] && address->port == 0)
        snprintf(text, sizeof text, "%s:%u", address->host, listeners_port(loop->listeners, i));
    daemons_word(self->listen, text, strlen(text));
}

static bool make_parts(struct loop *loop, const char *version)
{
    struct token self;
    clock_random(loop->event.random);
    loop->base = event_base_new();
    loop->coordinator = make_coordinator(loop, loop->event.random, &self);
    loop_daemons_id(&loop->daemons, &self);
    clock_random(loop->event.random);
    loop->format = resp_format_new(loop->conf->key_prefix);
    if (loop->base == NULL || loop->coordinator == NULL || loop->format == NULL)
        return false;
    loop->send.nodes = loop->nodes;
    loop->send.format = loop->format;
    loop->timer = evtimer_new(loop->base, loop_on_timer, loop);
    loop->conns = conns_new(loop->base, loop->conf, version, &loop->conn_handler);
    return loop->timer != NULL && loop->conns != NULL && make_nodes(loop, &self) &&
           loop_look_start(&loop->look, loop->base, loop->conns, loop->nodes, loop->subscribe.nodes) &&
           loop_daemons_start(&loop->daemons, loop->base, loop->conf, &loop->places, loop->nodes,
                              loop->format) &&
           loop_set_start(&loop->set, loop->base, loop->conf, &loop->places, loop->nodes);
}

/* Returns false after it has logged the reason. */
static bool make_http(struct loop *loop)
{
    if (loop->conf->http_listeners == 0)
        return true;
    loop->http = http_new(loop->base, loop->conf, &loop->http_handler, conns_handshaker(loop->conns));
    if (loop->http == NULL) {
        log_error("no_memory", "what=http");
        return false;
    }
    loop->http_listeners = listeners_new_http(loop->base, loop->conf, loop_on_http_accepted, loop);
    return loop->http_listeners != NULL;
}

struct loop *loop_new(const struct conf *conf, const char *version, const char *file, bool begin_at)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) {
        log_error("no_memory", "why=\"at the start\"");
        return NULL;
    }
    loop->conf = conf;
    loop->begin_at = begin_at;
    loop->log.events = &loop->status.events;
    loop->armed_ms = loop->drain_told_by_ms = INT64_MAX;
    places_take(&loop->places, conf->nodes, conf->masters);
    places_take(&loop->places, conf->nodes_before, conf->masters_before);
    if (!loop_look_files(&loop->look, conf, &loop->places)) {
        loop_free(loop);
        return NULL;
    }
    loop_handlers(loop);
    if (!make_parts(loop, version)) {
        log_error("no_memory", "why=\"at the start: lower max_locks, max_waiters or max_clients\"");
        loop_free(loop);
        return NULL;
    }
    loop->listeners = listeners_new(loop->base, conf, loop_on_accepted, loop);
    if (loop->listeners == NULL || !make_http(loop) || !passed_all_claimed()) {
        loop_free(loop);
        return NULL;
    }
    describe(loop, version);
    loop->view = (struct loop_view){
        .conf = conf,
        .places = &loop->places,
        .version = version,
        .file = file,
        .coordinator = loop->coordinator,
        .conns = loop->conns,
        .nodes = loop->nodes,
        .subscribers = loop->subscribe.nodes,
        .tls = &loop->look.tls,
        .daemons = &loop->daemons,
        .set = &loop->set,
        .started_ms = clock_boot_ms(),
    };
    loop_who_start(&loop->who, loop->base, &loop->view, loop->conns);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->http_listeners != NULL)
        listeners_free(loop->http_listeners);
    http_free(loop->http);
    if (loop->listeners != NULL)
        listeners_free(loop->listeners);
    if (loop->conns != NULL)
        conns_free(loop->conns);
    for (unsigned i = 0; i < MASTERS; i++)
        node_free(loop->nodes[i]);
    loop_subscribe_free(&loop->subscribe);
    loop_daemons_stop(&loop->daemons);
    loop_set_stop(&loop->set);
    loop_who_stop(&loop->who);
    loop_look_stop(&loop->look);
    if (loop->dns != NULL)
        evdns_base_free(loop->dns, 0);
    if (loop->timer != NULL)
        event_free(loop->timer);
    if (loop->format != NULL)
        resp_format_free(loop->format);
    coordinator_free(loop->coordinator);
    if (loop->base != NULL)
        event_base_free(loop->base);
    free(loop);
}
