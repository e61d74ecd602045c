/* A request -> its answer. */
#include <string.h>
#include <time.h>

#include "daemon/clock.h"
#include "daemon/http/http_private.h"

#define TEXT        "text/plain; charset=utf-8"
#define HTML        "text/html; charset=utf-8"
#define PLAIN       "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum { PAGE_REFRESH_S = 5 };

struct answer {
    int status;
    const char *type;
    bool refresh, challenge;
    struct viewer viewer;
    struct body body;
};

static const struct status {
    int code;
    const char *words;
    const char *text; /* the body of a refusal; NULL: it is none */
} statuses[HTTP_STATUSES] = {
    {200, "OK", NULL},
    {400, "Bad Request", "This is no request of HTTP/1.1 without a body.\n"},
    {401, "Unauthorized",
     "Only users see this: give a user and its secret, over TLS, a Unix socket or from 127.0.0.1; or come "
     "with "
     "a certificate, or by a Unix socket as a uid or gid, of the configuration. The user needs show.\n"},
    {403, "Forbidden", "Another site's page asked for this. Open the address yourself.\n"},
    {404, "Not Found",
     "There are /, /status.json, /metrics, /livez and /readyz, as far as this address serves them.\n"},
    {405, "Method Not Allowed", "Only GET and HEAD are answered here.\n"},
    {421, "Misdirected Request",
     "Ask by address, as localhost, by this host's name, or name it in http_hosts of redlockd.yaml.\n"},
    {431, "Request Header Fields Too Large", "The header of a request has at most 4096 bytes here.\n"},
    {500, "Internal Server Error", "No memory.\n"},
    {503, "Service Unavailable", NULL},
    {505, "HTTP Version Not Supported", "HTTP/1.0 and HTTP/1.1 are spoken here.\n"},
};

static unsigned status_index(int code)
{
    unsigned i = 0;
    while (statuses[i].code != code)
        i++;
    return i;
}

void answer_counts(const struct http *http, struct snapshot *snapshot)
{
    for (unsigned i = 0; i < HTTP_STATUSES; i++)
        snapshot->http_answers[i] = (struct snapshot_answers){statuses[i].code, http->answered[i]};
}

/* ---- what there is ---- */

static void answer_ready(struct answer *a, struct http_conn *c)
{
    const char *unready = c->http->handler->unready(c->http->handler->arg);
    a->status = unready ? 503 : 200;
    body_putf(&a->body, "%s\n", unready ? unready : "ready");
}

static void answer_live(struct answer *a, struct http_conn *c)
{
    (void)c;
    body_put(&a->body, "alive\n");
}

static const struct snapshot *answer_snapshot(const struct answer *a, struct http_conn *c)
{
    return viewer_filter(&a->viewer, http_snapshot(c->http), &c->http->filtered);
}

static void answer_page(struct answer *a, struct http_conn *c)
{
    a->type = HTML;
    a->refresh = true;
    page_write(&a->body, answer_snapshot(a, c), &c->http->rates);
}

static void answer_status(struct answer *a, struct http_conn *c)
{
    a->type = "application/json";
    status_write(&a->body, answer_snapshot(a, c), &c->http->rates);
}

static void answer_plain_metrics(struct answer *a, struct http_conn *c)
{
    a->type = PLAIN;
    metrics_write(&a->body, http_snapshot(c->http), false);
}

static void answer_openmetrics(struct answer *a, struct http_conn *c)
{
    a->type = OPENMETRICS;
    metrics_write(&a->body, http_snapshot(c->http), true);
}

static const struct route {
    const char *path;
    enum conf_serves what;
    void (*answer)(struct answer *a, struct http_conn *c);
    void (*openmetrics)(struct answer *a, struct http_conn *c); /* if Accept asks for it */
} routes[] = {
    {"/livez", CONF_PROBES, answer_live, NULL},
    {"/readyz", CONF_PROBES, answer_ready, NULL},
    {"/metrics", CONF_METRICS, answer_plain_metrics, answer_openmetrics},
    {"/", CONF_PAGE, answer_page, NULL},
    {"/status.json", CONF_PAGE, answer_status, NULL},
};

static int answer_find(struct answer *a, struct http_conn *c, const struct head *head)
{
    for (unsigned i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        if (!head_piece_is(head->path, route->path) || !(c->listener->serves & route->what))
            continue;
        if (!viewer_may_see(&a->viewer, route->what))
            return 401;
        bool open = route->openmetrics && head_wants_openmetrics(head->accept);
        (open ? route->openmetrics : route->answer)(a, c);
        return a->body.failed ? 500 : a->status;
    }
    return 404;
}

/* ---- the answer ---- */

static int answer_head(struct http_conn *c, size_t head_len, struct head *head)
{
    const char *names[CONF_HTTP_HOSTS];
    const struct conf *conf = c->http->conf;
    if (head_len == 0)
        return 431;
    int status = head_read(c->head, head_len, head);
    if (status == 400 || status == 505)
        return status;
    for (unsigned i = 0; i < conf->http_host_count; i++)
        names[i] = conf->http_hosts[i];
    if (status == 200 && !head_host_is_known(head->host, c->http->host, names, conf->http_host_count))
        return 421;
    /* Browsers send Sec-Fetch-Site wherever they trust the address (https, localhost), and no page can forge
     * it. */
    bool own = !head->fetched.text || head_piece_is(head->fetched, "none") ||
               head_piece_is(head->fetched, "same-origin");
    return own ? status : 403;
}

static void write_head(struct body *b, const struct answer *a, const char *words)
{
    char date[64] = "";
    time_t now = clock_wall_us() / 1000000;
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    body_putf(b,
              "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
              "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
              "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors "
              "'none'\r\n",
              a->status, words, date, a->type, buffer_len(&a->body.buffer));
    if (a->status == 405)
        body_put(b, "Allow: GET, HEAD\r\n");
    if (a->challenge)
        body_put(b, "WWW-Authenticate: Basic realm=\"redlockd\"\r\n");
    if (a->refresh)
        body_putf(b, "Refresh: %d\r\n", PAGE_REFRESH_S);
    body_put(b, "\r\n");
}

static void write_answer(struct body *b, struct http *http, struct answer *a, bool head_only)
{
    unsigned status = status_index(a->status);
    http->answered[status]++;
    write_head(b, a, statuses[status].words);
    if (!head_only && buffer_append(&b->buffer, a->body.buffer.bytes, buffer_len(&a->body.buffer)) < 0)
        b->failed = true;
    body_free(&a->body);
}

void answer_write(struct body *b, struct http_conn *c, size_t head_len)
{
    struct answer a = {.type = TEXT};
    struct head head = {.is_head = false};
    a.status = answer_head(c, head_len, &head);
    if (a.status == 200) {
        a.viewer = viewer_find(c, &head);
        a.status = answer_find(&a, c, &head);
    }
    const char *text = statuses[status_index(a.status)].text;
    if (text) {
        bool challenge = a.status == 401 && a.viewer.may_prove;
        body_free(&a.body);
        a = (struct answer){.status = a.status, .type = TEXT, .challenge = challenge};
        body_put(&a.body, text);
    }
    if (a.status == 431 || a.status == 400)
        http_tell(c, "http_refused",
                  a.status == 431 ? "the header of its request is longer than 4096 bytes"
                                  : "it sends no request of HTTP/1.1 without a body");
    write_answer(b, c->http, &a, head.is_head);
}

void answer_refuse(struct body *b, struct http_conn *c, const char *why)
{
    struct answer a = {.status = 400, .type = TEXT};
    body_put(&a.body, why);
    write_answer(b, c->http, &a, false);
}
