/* The rules are those of RFC 9112, without what only helps old or careless clients: a line ends in CR LF,
 * a header stands on one line, and no request has a body. */
#include "daemon/http/head.h"

#include <string.h>
#include <strings.h>

size_t head_end(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    return end ? (size_t)(end - bytes) + 4 : 0;
}

bool head_piece_is(struct head_piece piece, const char *text)
{
    return piece.text && piece.len == strlen(text) && memcmp(piece.text, text, piece.len) == 0;
}

bool head_piece_says(struct head_piece piece, const char *text)
{
    return piece.text && piece.len == strlen(text) && strncasecmp(piece.text, text, piece.len) == 0;
}

/* A method or the name of a header. */
static bool is_token(struct head_piece piece)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < piece.len; i++) {
        unsigned char c = (unsigned char)piece.text[i], letter = c | 0x20;
        bool good = (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || (c && strchr(marks, c));
        if (!good)
            return false;
    }
    return piece.len > 0;
}

static bool is_visible(struct head_piece piece)
{
    for (size_t i = 0; i < piece.len; i++)
        if ((unsigned char)piece.text[i] <= 0x20 || (unsigned char)piece.text[i] == 0x7f)
            return false;
    return piece.len > 0;
}

/* The next line without its CR LF, cut off the front of *rest. The caller has made sure that there is one. */
static struct head_piece next_line(struct head_piece *rest)
{
    const char *end = memmem(rest->text, rest->len, "\r\n", 2);
    struct head_piece line = {rest->text, (size_t)(end - rest->text)};
    rest->text += line.len + 2;
    rest->len -= line.len + 2;
    return line;
}

/* The part of *rest before the separator, which is cut off with it; all of it if there is none. */
static struct head_piece cut(struct head_piece *rest, char separator)
{
    const char *end = rest->len > 0 ? memchr(rest->text, separator, rest->len) : NULL;
    struct head_piece part = {rest->text, end ? (size_t)(end - rest->text) : rest->len};
    size_t used = part.len + (end != NULL);
    rest->text += used;
    rest->len -= used;
    return part;
}

static struct head_piece trim(struct head_piece piece)
{
    while (piece.len > 0 && strchr(" \t", piece.text[0])) {
        piece.text++;
        piece.len--;
    }
    while (piece.len > 0 && strchr(" \t", piece.text[piece.len - 1]))
        piece.len--;
    return piece;
}

/* ---- the request line ---- */

static int read_request_line(struct head_piece line, struct head *head, bool *needs_host)
{
    struct head_piece method = cut(&line, ' '), target = cut(&line, ' ');
    if (!is_token(method) || !is_visible(target) || target.text[0] != '/')
        return is_token(method) && head_piece_is(target, "*") ? 405 : 400;
    if (line.len != 8 || memcmp(line.text, "HTTP/", 5) != 0)
        return 400;
    *needs_host = line.text[7] != '0';
    if (line.text[5] != '1' || line.text[6] != '.' || line.text[7] < '0' || line.text[7] > '9')
        return 505;
    head->is_head = head_piece_is(method, "HEAD");
    head->path = cut(&target, '?');
    return head->is_head || head_piece_is(method, "GET") ? 200 : 405;
}

/* ---- headers ---- */

/* A value has no control characters but tabs: a NUL or a lone CR is read differently by different programs. */
static bool is_value(struct head_piece value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.text[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* Keeps a header that is ours to look at; false: it was there already. */
static bool keep(struct head_piece *place, struct head_piece value)
{
    if (place->text)
        return false;
    *place = value;
    return true;
}

static bool read_header(struct head_piece line, struct head *head)
{
    size_t whole = line.len;
    struct head_piece name = cut(&line, ':');
    if (name.len == whole || !is_token(name) || !is_value(line))
        return false;
    struct head_piece value = trim(line);
    if (head_piece_says(name, "Host"))
        return keep(&head->host, value);
    if (head_piece_says(name, "Sec-Fetch-Site"))
        return keep(&head->fetched, value);
    if (head_piece_says(name, "Authorization"))
        return keep(&head->authorization, value);
    if (head_piece_says(name, "Accept") && !head->accept.text)
        head->accept = value;
    if (head_piece_says(name, "Content-Length"))
        return head_piece_is(value, "0");
    return !head_piece_says(name, "Transfer-Encoding");
}

int head_read(const char *bytes, size_t len, struct head *head)
{
    struct head_piece rest = {bytes, len};
    bool needs_host = false;
    memset(head, 0, sizeof *head);
    int status = read_request_line(next_line(&rest), head, &needs_host);
    if (status != 200)
        return status;
    for (struct head_piece line = next_line(&rest); line.len > 0; line = next_line(&rest))
        if (!read_header(line, head))
            return 400;
    return needs_host && !head->host.text ? 400 : 200;
}

/* ---- Accept ---- */

/* The q= of an item, in thousandths: "application/openmetrics-text;version=1.0.0;q=0.5". */
static int quality(struct head_piece parameters)
{
    while (parameters.len > 0) {
        struct head_piece value = trim(cut(&parameters, ';'));
        struct head_piece name = trim(cut(&value, '='));
        if (!head_piece_says(name, "q") || value.len == 0)
            continue;
        int q = value.text[0] == '1' ? 1000 : 0;
        for (size_t i = 2, worth = 100; i < value.len && i < 5 && value.text[0] == '0'; i++, worth /= 10)
            if (value.text[i] >= '0' && value.text[i] <= '9')
                q += (value.text[i] - '0') * (int)worth;
        return q;
    }
    return 1000;
}

bool head_wants_openmetrics(struct head_piece accept)
{
    int open = 0, plain = 0;
    while (accept.len > 0) {
        struct head_piece item = cut(&accept, ',');
        struct head_piece type = trim(cut(&item, ';'));
        int *best = head_piece_says(type, "application/openmetrics-text") ? &open
                    : head_piece_says(type, "text/plain")                 ? &plain
                                                                          : NULL;
        int q = quality(item);
        if (best && q > *best)
            *best = q;
    }
    return open > 0 && open >= plain;
}
