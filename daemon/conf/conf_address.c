/* Addresses and URLs, and what is wrong with one. */
#include "daemon/conf/conf_address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "daemon/wire/wire.h"

#define NODE_FORM   "write redis://[user[:password]@]host:port[/db] (rediss:// with TLS) or unix:/path[?db=n]"
#define LISTEN_FORM "write host:port, [v6]:port or unix:/path"

enum { DB_MAX = 65535 }; /* far beyond any server's `databases` */

/* A decimal number up to 65535 of at most five digits; -1: no such number. */
static int small_number(const char *text, size_t len)
{
    if (len < 1 || len > 5)
        return -1;
    int value = 0;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value <= 65535 ? value : -1;
}

static bool is_visible(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x21 || text[i] > 0x7e)
            return false;
    return true;
}

static const char *host_check(const char *host, bool bracketed)
{
    unsigned char parsed[sizeof(struct in6_addr)];
    if (bracketed)
        return inet_pton(AF_INET6, host, parsed) == 1 ? NULL : "what stands in [ ] is not an IPv6 address";
    if (strspn(host, "0123456789.") == strlen(host))
        return inet_pton(AF_INET, host, parsed) == 1
                   ? NULL
                   : "the host is not an IPv4 address, which has four numbers";
    for (const char *p = host; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.' && *p != '_')
            return *p == ':' ? "an IPv6 address stands in brackets: [::1]:port"
                             : "a host name has only letters, digits, '-', '.' and '_'";
    return NULL;
}

/* host:port or [v6]:port; len excludes the rest of a URL. */
static const char *address_host_port(struct conf_address *a, const char *text, size_t len, const char *form)
{
    bool bracketed = len > 0 && text[0] == '[';
    const char *host = text, *colon = NULL;
    size_t host_len = 0;
    if (bracketed) {
        const char *end = memchr(text, ']', len);
        if (!end)
            return "the ']' after an IPv6 address is missing";
        host = text + 1;
        host_len = (size_t)(end - host);
        if (end + 1 < text + len && end[1] == ':')
            colon = end + 1;
    } else {
        colon = memrchr(text, ':', len);
        host_len = colon ? (size_t)(colon - text) : len;
    }
    if (!colon)
        return form;
    if (host_len == 0)
        return "the host before the port is missing";
    if (host_len >= sizeof a->host)
        return "the host is too long: at most 255 bytes";
    memcpy(a->host, host, host_len);
    a->host[host_len] = 0;
    const char *wrong = host_check(a->host, bracketed);
    if (wrong)
        return wrong;
    int port = small_number(colon + 1, (size_t)(text + len - colon - 1));
    if (port < 0)
        return "the port is not a number up to 65535";
    a->port = (uint16_t)port;
    snprintf(a->shown, sizeof a->shown, bracketed ? "[%s]:%d" : "%s:%d", a->host, port);
    return NULL;
}

static const char *address_path(struct conf_address *a, const char *path, size_t len)
{
    if (len >= 3 && memcmp(path, "///", 3) == 0) { /* unix:///path, the form of other programs */
        path += 2;
        len -= 2;
    }
    if (len < 2 || path[0] != '/' || path[1] == '/')
        return "a Unix socket has an absolute path: unix:/path";
    if (len >= sizeof a->path)
        return "the path of a Unix socket has at most 103 bytes";
    if (!is_visible(path, len))
        return "the path of a Unix socket has only visible ASCII characters, no space";
    memcpy(a->path, path, len);
    a->path[len] = 0;
    snprintf(a->shown, sizeof a->shown, "unix:%s", a->path);
    return NULL;
}

const char *conf_address_listen(struct conf_address *address, const char *text)
{
    memset(address, 0, sizeof *address);
    if (strncmp(text, "unix:", 5) == 0)
        return address_path(address, text + 5, strlen(text + 5));
    if (text[0] == ':' || text[0] == '*')
        return "for every interface write 0.0.0.0:port or [::]:port";
    return address_host_port(address, text, strlen(text), "the port is missing; " LISTEN_FORM);
}

static int address_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986, 2.1 */
static const char *percent_decode(char out[CONF_SECRET_BYTES], const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            int high = i + 2 < len ? address_hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? address_hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0)
                return "'%' in the user or password begins a byte in hex (%25 is '%' itself, %00 is refused)";
            c = high * 16 + low;
            i += 2;
        }
        if (n + 1 >= CONF_SECRET_BYTES)
            return "user and password have at most 255 bytes each";
        out[n++] = (char)c;
    }
    out[n] = 0;
    return NULL;
}

static const char *node_userinfo(struct conf_node *node, const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? (size_t)(colon - text) : len;
    const char *wrong = percent_decode(node->user, text, user_len);
    if (!wrong && colon)
        wrong = percent_decode(node->password, colon + 1, len - user_len - 1);
    if (!wrong && node->user[0] == 0 && node->password[0] == 0)
        wrong = "there is no user and no password before the '@'";
    return wrong;
}

static const char *node_db(struct conf_node *node, const char *text)
{
    node->db = small_number(text, strlen(text));
    return node->db < 0 || node->db > DB_MAX ? "the database is not a number up to 65535" : NULL;
}

static const char *node_tcp(struct conf_node *node, const char *text)
{
    /* The last '@' ends the user and password, and a '/' before it was left unescaped by mistake. */
    const char *at = strrchr(text, '@');
    if (at) {
        if (memchr(text, '/', (size_t)(at - text)))
            return "write '/' in a user or password as %2F, '@' as %40 and ':' as %3A";
        const char *wrong = node_userinfo(node, text, (size_t)(at - text));
        if (wrong)
            return wrong;
        text = at + 1;
    }
    size_t len = strcspn(text, "/?#");
    if (text[len] == '?' || text[len] == '#')
        return "nothing may follow the database; " NODE_FORM;
    const char *wrong = address_host_port(&node->address, text, len, "the port is missing; " NODE_FORM);
    if (!wrong && node->address.port == 0)
        wrong = "a master's port is 1 to 65535";
    if (wrong || text[len] == 0 || text[len + 1] == 0)
        return wrong;
    return node_db(node, text + len + 1);
}

static const char *node_unix(struct conf_node *node, const char *text)
{
    size_t len = strcspn(text, "?");
    const char *wrong = address_path(&node->address, text, len);
    if (wrong || text[len] == 0)
        return wrong;
    if (strncmp(text + len, "?db=", 4) != 0)
        return "after '?' only db=<number> may stand: unix:/path?db=1";
    return node_db(node, text + len + 4);
}

/* The names of hosts are the same in capitals. */
static const char *node_host(struct conf_node *node, const char *text)
{
    const char *wrong = node_tcp(node, text);
    for (char *at = node->address.host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (char *at = node->address.shown; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return wrong;
}

const char *conf_address_node(struct conf_node *node, const char *url)
{
    memset(node, 0, sizeof *node);
    if (strncmp(url, "rediss://", 9) == 0) {
        node->tls.on = true;
        return wire_has_tls() ? node_host(node, url + 9)
                              : "rediss:// needs TLS, without which this redlockd was built (make TLS=no)";
    }
    if (strncmp(url, "redis://", 8) == 0)
        return node_host(node, url + 8);
    if (strncmp(url, "unix:", 5) == 0)
        return node_unix(node, url + 5);
    return "not an address of a Redis master; " NODE_FORM;
}

bool conf_address_equal(const struct conf_address *a, const struct conf_address *b)
{
    if (a->path[0] || b->path[0])
        return strcmp(a->path, b->path) == 0;
    return a->port == b->port && strcasecmp(a->host, b->host) == 0;
}

bool conf_address_loopback(const struct conf_address *address)
{
    return address->path[0] || strncmp(address->host, "127.", 4) == 0 || strcmp(address->host, "::1") == 0 ||
           strcasecmp(address->host, "localhost") == 0;
}

static void percent_encode(char *out, size_t size, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (; *text && n + 4 <= size; text++) {
        unsigned char c = (unsigned char)*text;
        if (isalnum(c) || strchr("-._~", c)) {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex[c >> 4];
        out[n++] = hex[c & 15];
    }
    out[n] = 0;
}

void conf_address_url(const struct conf_node *node, bool with_user, char *out, size_t size)
{
    if (node->address.path[0]) {
        snprintf(out, size, node->db ? "unix:%s?db=%d" : "unix:%s", node->address.path, node->db);
        return;
    }
    char user[3 * CONF_SECRET_BYTES] = "";
    if (with_user)
        percent_encode(user, sizeof user, node->user);
    bool secret = with_user && node->password[0];
    snprintf(out, size, "redis%s://%s%s%s%s/%d", node->tls.on ? "s" : "", user, secret ? ":***" : "",
             user[0] || secret ? "@" : "", node->address.shown, node->db);
}
