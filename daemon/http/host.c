/* The header Host: by which name the client thinks that it speaks to us. */
#include <arpa/inet.h>
#include <string.h>

#include "daemon/http/head.h"

enum { HOST_BYTES = 256 };

/* Cuts off ":port", where there is one; false: nothing else is there. */
static bool without_port(struct head_piece *host)
{
    size_t digits = 0;
    while (digits < host->len && strchr("0123456789", host->text[host->len - 1 - digits]))
        digits++;
    if (digits < host->len && host->text[host->len - 1 - digits] == ':')
        host->len -= digits + 1;
    return host->len > 0;
}

static bool is_numeric(const char *host, size_t len)
{
    unsigned char address[16];
    char v6[HOST_BYTES];
    if (host[0] != '[' || host[len - 1] != ']')
        return inet_pton(AF_INET, host, address) == 1;
    memcpy(v6, host + 1, len - 2);
    v6[len - 2] = '\0';
    return inet_pton(AF_INET6, v6, address) == 1;
}

bool head_host_is_known(struct head_piece host, const char *own, const char *const names[], unsigned count)
{
    char text[HOST_BYTES];
    if (!host.text) /* HTTP/1.0: browsers always send it */
        return true;
    if (!without_port(&host) || host.len >= sizeof text || memchr(host.text, 0, host.len))
        return false;
    memcpy(text, host.text, host.len);
    text[host.len] = '\0';
    if (is_numeric(text, host.len) || head_piece_says(host, "localhost") || head_piece_says(host, own))
        return true;
    for (unsigned i = 0; i < count; i++)
        if (head_piece_says(host, names[i]))
            return true;
    return false;
}
