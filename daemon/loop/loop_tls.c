#include "daemon/loop/loop_tls.h"

#include <string.h>

#include "daemon/log.h"

static struct wire_context *context_open(enum wire_side side, const struct wire_settings *settings,
                                         const struct conf_address *address)
{
    char shown[WIRE_WHAT_BYTES];
    struct wire_fault fault;
    struct wire_context *context = wire_context_new(side, settings, &fault);

    if (!context)
        log_error("tls_files", "%s=%s error=%s", side == WIRE_SERVER ? "address" : "node", address->shown,
                  log_escape(shown, sizeof shown, fault.what, strlen(fault.what)));
    return context;
}

/* A master before this one that uses the same files and rules; the master itself: there is none. */
static unsigned same_as(const struct places *places, unsigned index)
{
    const struct wire_settings *tls = &places->node[index].tls;
    unsigned i = 0;

    while (i < index && (!(places->used & masters_bit(i)) || !wire_settings_equal(&places->node[i].tls, tls)))
        i++;
    return i;
}

/* Puts a context in place of the old one. */
static bool context_take(struct wire_context **at, struct wire_context *fresh)
{
    if (!fresh)
        return false;
    wire_context_free(*at);
    *at = fresh;
    return true;
}

static bool fits(struct wire_context *context, const struct wire_settings *settings)
{
    return !settings->on || (context && wire_context_fits(context, settings));
}

enum opened { OPENED_NONE, OPENED_ALL, OPENED_NOT_ALL };

/* Opens the TLS of listen or http. */
static enum opened listeners_open(struct wire_context *contexts[], const struct conf_listener *listeners,
                                  unsigned count)
{
    enum opened opened = OPENED_NONE;

    for (unsigned i = 0; i < count; i++) {
        if (fits(contexts[i], &listeners[i].tls))
            continue;
        struct wire_context *fresh = context_open(WIRE_SERVER, &listeners[i].tls, &listeners[i].address);
        if (fresh && contexts[i])
            wire_context_replace(contexts[i], fresh);
        if (!context_take(&contexts[i], fresh))
            opened = OPENED_NOT_ALL;
        else if (opened == OPENED_NONE)
            opened = OPENED_ALL;
    }
    return opened;
}

static bool node_open(struct loop_tls *tls, const struct places *places, unsigned i)
{
    const struct conf_node *node = &places->node[i];
    unsigned first = same_as(places, i);

    return context_take(&tls->nodes[i], first < i ? wire_context_share(tls->nodes[first])
                                                  : context_open(WIRE_CLIENT, &node->tls, &node->address));
}

enum tls_news loop_tls_open(struct loop_tls *tls, const struct conf *conf, const struct places *places)
{
    enum opened clients = listeners_open(tls->listen, conf->listen, conf->listeners);
    enum opened http = listeners_open(tls->http, conf->http, conf->http_listeners);
    bool good = clients != OPENED_NOT_ALL && http != OPENED_NOT_ALL, nodes = false;

    for (unsigned i, left = places->used; place_next(&left, &i);)
        nodes |= !fits(tls->nodes[i], &places->node[i].tls);
    for (unsigned i, left = nodes ? places->used : 0; place_next(&left, &i);)
        if (places->node[i].tls.on)
            good &= node_open(tls, places, i);
    tls->failed += !good;
    if (!good)
        return TLS_FAILED;
    return clients || http || nodes ? TLS_FRESH : TLS_SAME;
}

/* ---- ends ---- */

enum { DAY_S = 86400, NEAR_DAYS = 14 };

/* Certificates that were looked at: several addresses may show the same one. */
struct seen {
    unsigned count;
    const char *file[2 * CONF_LISTENERS + MASTERS]; /* (ref) */
};

static bool is_seen(struct seen *seen, const char *file)
{
    for (unsigned i = 0; i < seen->count; i++)
        if (strcmp(seen->file[i], file) == 0)
            return true;
    seen->file[seen->count++] = file;
    return false;
}

static void warn_of(const struct wire_context *context, int64_t now_s, struct seen *seen)
{
    int64_t left_s = context ? wire_context_end_s(context) - now_s : INT64_MAX;

    if (left_s > (int64_t)NEAR_DAYS * DAY_S || is_seen(seen, wire_context_cert(context)))
        return;
    if (left_s <= 0)
        log_error("tls_certificate",
                  "file=%s why=\"it has ended\" hint=\"renew it, it is read again by itself\"",
                  wire_context_cert(context));
    else
        log_warn("tls_certificate",
                 "file=%s days=%lld why=\"it ends soon\" hint=\"renew it, it is read again by itself\"",
                 wire_context_cert(context), (long long)(left_s / DAY_S));
}

void loop_tls_warn(struct loop_tls *tls, const struct conf *conf, int64_t now_s)
{
    struct seen seen = {0};

    if (tls->warned_s && now_s - tls->warned_s < DAY_S && now_s >= tls->warned_s)
        return;
    tls->warned_s = now_s;
    for (unsigned i = 0; i < conf->listeners; i++)
        warn_of(tls->listen[i], now_s, &seen);
    for (unsigned i = 0; i < conf->http_listeners; i++)
        warn_of(tls->http[i], now_s, &seen);
    for (unsigned i = 0; i < MASTERS; i++)
        warn_of(tls->nodes[i], now_s, &seen);
}

void loop_tls_forget(struct loop_tls *tls, unsigned place)
{
    wire_context_free(tls->nodes[place]);
    tls->nodes[place] = NULL;
}

void loop_tls_close(struct loop_tls *tls)
{
    for (unsigned i = 0; i < CONF_LISTENERS; i++) {
        wire_context_free(tls->listen[i]);
        wire_context_free(tls->http[i]);
    }
    for (unsigned i = 0; i < MASTERS; i++)
        wire_context_free(tls->nodes[i]);
    memset(tls, 0, sizeof *tls);
}
