/* Log lines about HTTP connections. */
#include <netinet/in.h>
#include <stdio.h>

#include "daemon/clock.h"
#include "daemon/http/http_private.h"
#include "daemon/log.h"

enum { TELL_MS = 1000, ADDRESS_BYTES = 64 };

static void address_text(const struct http_conn *c, char out[ADDRESS_BYTES])
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&peer;
    socklen_t len = sizeof peer;
    char text[INET6_ADDRSTRLEN] = "?";

    if (getpeername(c->wire.fd, (struct sockaddr *)&peer, &len) < 0)
        peer.ss_family = AF_UNSPEC;
    if (peer.ss_family == AF_INET) {
        evutil_inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        snprintf(out, ADDRESS_BYTES, "%s:%u", text, ntohs(v4->sin_port));
    } else if (peer.ss_family == AF_INET6) {
        evutil_inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        snprintf(out, ADDRESS_BYTES, "[%s]:%u", text, ntohs(v6->sin6_port));
    } else {
        snprintf(out, ADDRESS_BYTES, peer.ss_family == AF_UNIX ? "unix" : "?");
    }
}

/* A flood of clients must not become a flood of log lines: log_level debug shows each. */
void http_tell(struct http_conn *c, const char *event, const char *why)
{
    struct http *http = c->http;
    char address[ADDRESS_BYTES];
    int64_t now_ms = clock_boot_ms();
    bool told = !http->told_ms || now_ms - http->told_ms >= TELL_MS;
    void (*log)(const char *, const char *, ...) = told ? log_info : log_debug;

    address_text(c, address);
    log(event, "address=%s why=\"%s\" more=%llu", address, why, (unsigned long long)http->untold);
    http->untold += !told;
    if (!told)
        return;
    http->told_ms = now_ms;
    http->untold = 0;
}
