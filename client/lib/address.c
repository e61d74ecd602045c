#include "client/lib/address.h"

#include <stdio.h>
#include <string.h>

#include "client/redlock.h"

static bool parse_path(const char *path, struct address *address)
{
    size_t len = strlen(path);

    if (path[0] != '/' || len >= sizeof address->path)
        return false;
    memcpy(address->path, path, len + 1);
    return true;
}

static bool parse_port(const char *text, struct address *address)
{
    size_t len = strlen(text);
    unsigned port = 0;

    if (len < 1 || len >= sizeof address->port)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    memcpy(address->port, text, len + 1);
    return port >= 1 && port <= 65535;
}

static bool take_host(const char *host, size_t len, struct address *address)
{
    if (len < 1 || len >= sizeof address->host)
        return false;
    for (size_t i = 0; i < len; i++)
        if (host[i] <= ' ' || host[i] > '~' || host[i] == '/' || host[i] == '[' || host[i] == ']')
            return false;
    memcpy(address->host, host, len);
    address->host[len] = '\0';
    return true;
}

static bool parse_bracketed(const char *text, struct address *address)
{
    const char *end = strchr(text, ']');

    if (!end || !take_host(text + 1, (size_t)(end - text - 1), address))
        return false;
    return end[1] == '\0' || (end[1] == ':' && parse_port(end + 2, address));
}

bool address_parse(const char *text, struct address *address)
{
    *address = (struct address){0};
    if (strncmp(text, "unix:", 5) == 0)
        return parse_path(text + 5, address);
    if (text[0] == '/')
        return parse_path(text, address);
    address->tls = strncmp(text, "tls:", 4) == 0;
    if (address->tls) /* libredlock wrote it without the slashes before 0.1.0 */
        text += strncmp(text, "tls://", 6) == 0 ? 6 : 4;
    (void)snprintf(address->port, sizeof address->port, "%d",
                   address->tls ? REDLOCK_DEFAULT_TLS_PORT : REDLOCK_DEFAULT_PORT);
    if (text[0] == '[')
        return parse_bracketed(text, address);
    const char *colon = strchr(text, ':');
    if (!colon)
        return take_host(text, strlen(text), address);
    if (strchr(colon + 1, ':')) /* IPv6 without brackets: its end might be a port */
        return take_host(text, strlen(text), address);
    return take_host(text, (size_t)(colon - text), address) && parse_port(colon + 1, address);
}

void address_text(const struct address *address, char out[ADDRESS_BYTES])
{
    const char *tls = address->tls ? "tls://" : "";

    if (address->path[0])
        (void)snprintf(out, ADDRESS_BYTES, "unix:%s", address->path);
    else if (strchr(address->host, ':'))
        (void)snprintf(out, ADDRESS_BYTES, "%s[%s]:%s", tls, address->host, address->port);
    else
        (void)snprintf(out, ADDRESS_BYTES, "%s%s:%s", tls, address->host, address->port);
}
