/* Log lines about clients. */
#include <arpa/inet.h>
#include <stdio.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"
#include "daemon/log.h"

void conn_address(const struct conn *c, char out[ADDRESS_TEXT_BYTES])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (c->local) {
        snprintf(out, ADDRESS_TEXT_BYTES, "unix:pid=%ld", (long)c->peer.cred.pid);
        return;
    }
    inet_ntop(c->peer_family, &c->peer, text, sizeof text);
    snprintf(out, ADDRESS_TEXT_BYTES, c->peer_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, c->peer_port);
}

void conn_tell(struct conn *c, const char *event, const char *why)
{
    struct conns *all = c->all;
    char address[ADDRESS_TEXT_BYTES];

    conn_tell_rest(all, false);
    int64_t now_ms = clock_boot_ms();
    bool told = !all->told_ms || now_ms - all->told_ms >= TELL_MS;
    void (*log)(const char *, const char *, ...) = told ? log_info : log_debug;
    conn_address(c, address);
    log(event, "session=%llu address=%s why=\"%s\"", (unsigned long long)c->session, address, why);
    if (told)
        all->told_ms = now_ms;
    else
        all->untold++;
}

void conn_tell_rest(struct conns *all, bool at_once)
{
    if (!all->untold)
        return;
    int64_t now_ms = clock_boot_ms();
    if (now_ms - all->told_ms < TELL_MS && !at_once)
        return;
    log_info("clients_dropped", "more=%llu why=\"besides the one logged before; log_level debug shows each\"",
             (unsigned long long)all->untold);
    all->told_ms = now_ms;
    all->untold = 0;
}
