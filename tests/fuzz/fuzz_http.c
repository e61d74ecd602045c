/* The head of an HTTP request, which is copied into memory of its own so that a sanitizer sees a read
 * beyond it. What is accepted must be a GET or HEAD, and lie within the head; a Host that no name allows is
 * an address. The same bytes as a name of a lock must not break out of HTML, JSON or a label. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/body.h"
#include "daemon/http/head.h"
#include "tests/fuzz/fuzz.h"

static void check_piece(const struct head_piece *piece, const char *bytes, size_t len)
{
    assert(!piece->text || (piece->text >= bytes && piece->text + piece->len <= bytes + len));
}

static void check_head(const char *bytes, size_t len)
{
    struct head head;
    int status = head_read(bytes, len, &head);
    assert(status == 200 || status == 400 || status == 405 || status == 505);
    if (status != 200)
        return;
    assert(memcmp(bytes, head.is_head ? "HEAD /" : "GET /", head.is_head ? 6 : 5) == 0);
    assert(head.path.len > 0 && head.path.text[0] == '/');
    check_piece(&head.path, bytes, len);
    check_piece(&head.host, bytes, len);
    check_piece(&head.accept, bytes, len);
    check_piece(&head.fetched, bytes, len);
    head_wants_openmetrics(head.accept);
    if (head.host.text && head.host.len > 0 && head_host_is_known(head.host, "h", NULL, 0))
        assert(strchr("0123456789[lLhH", head.host.text[0]));
}

static void check_escapes(const char *bytes, size_t len)
{
    struct body html = {.failed = false}, json = {.failed = false};
    body_html(&html, bytes, len);
    for (size_t i = 0; i < buffer_len(&html.buffer); i++)
        assert(!strchr("<>\"'", html.buffer.bytes[html.buffer.start + i]));
    body_json(&json, bytes, len);
    assert(json.buffer.bytes[0] == '"' && json.buffer.bytes[buffer_len(&json.buffer) - 1] == '"');
    for (size_t i = 1; i + 1 < buffer_len(&json.buffer); i++)
        assert(!strchr("<>&\"'\n", json.buffer.bytes[i]));
    body_free(&html);
    body_free(&json);
}

int HARNESS(fuzz_http)(const uint8_t *data, size_t size)
{
    if (size > HEAD_BYTES)
        size = HEAD_BYTES;
    if (size == 0)
        return 0;
    char *bytes = malloc(size);
    assert(bytes);
    memcpy(bytes, data, size);
    size_t len = head_end(bytes, size);
    assert(len <= size);
    if (len > 0) {
        char *head = malloc(len);
        assert(head);
        memcpy(head, bytes, len);
        check_head(head, len);
        free(head);
    }
    check_escapes(bytes, size);
    free(bytes);
    return 0;
}
