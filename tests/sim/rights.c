/* What an operator changes in a running daemon: rights of clients, and the configuration. */
#include "tests/sim/sim.h"

enum { PEERS_OF_CLIENTS = 4, LIMITS = 5, FEW_LOCKS = 3 };

static bool is_known(const struct sim_world *w, const struct sim_client *c, uint32_t session)
{
    const struct sim_daemon *d = &w->daemon[c->home];
    const struct sim_session *s = &w->oracle.session[session];
    return session != 0 && d->running && w->now_us > d->paused_until_us && s->state == SESSION_OPEN &&
           s->incarnation == d->incarnation && s->hello_now_ms != 0;
}

void rights_deny(struct sim_world *w, struct sim_client *c, enum denied what)
{
    uint32_t session = c->session[c->home];
    struct sim_daemon *d = &w->daemon[c->home];
    struct coordinator_event event = {.kind = EVENT_DENY, .session = session};
    if (!is_known(w, c, session))
        return;
    if (what == DENIED_SESSION) {
        event.kind = EVENT_SESSION_DENY;
        w->oracle.session[session].state = SESSION_OVER;
    } else if (what == DENIED_WAIT && c->state == CLIENT_ASKING) {
        event.request = c->request;
    } else if (what == DENIED_LOCK && c->state == CLIENT_HOLDING &&
               w->oracle.tok[c->tok].session == session) {
        unsigned name = w->oracle.tok[c->tok].name;
        client_words_of(w, &event.what, VERB_LOCK, key_base(name), c->tok);
    } else {
        return;
    }
    daemon_step(w, d, &event);
    daemon_drained(w, d);
}

struct peer rights_peer(const struct sim_world *w, const struct sim_daemon *d, unsigned client)
{
    uint16_t number = (uint16_t)(client % PEERS_OF_CLIENTS);
    if (w->plan->param[P_FLOOD] != FLOOD_NONE)
        return (struct peer){.number = (uint16_t)client};
    return (struct peer){.number = number,
                         .is_user = number == 0,
                         .max_locks = d->limits % LIMITS,
                         .max_waits = d->limits / LIMITS % LIMITS};
}

void rights_reload(struct sim_world *w, struct sim_daemon *d, uint32_t limits)
{
    struct coordinator_config config = daemon_config(w, d);
    d->limits = limits;
    if (limits != 0) {
        config.max_locks_per_peer = limits % LIMITS;
        config.max_waits_per_peer = limits / LIMITS % LIMITS;
        config.max_locks_per_client = limits % 2 ? FEW_LOCKS : config.max_locks_per_client;
        config.max_waits_per_client = limits % 3 ? FEW_LOCKS : config.max_waits_per_client;
        config.fanout_quorum = limits % 7 < 3;
        config.retry_max_ms = (config.retry_min_ms + config.retry_max_ms) / 2;
    }
    coordinator_configure(d->core, &config);
    daemon_arm(w, d);
}
