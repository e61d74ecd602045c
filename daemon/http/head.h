/* The head of an HTTP request: bytes -> what is asked. It works on the caller's memory, without state. */
#ifndef REDLOCKD_HTTP_HEAD_H
#define REDLOCKD_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { HEAD_BYTES = 4096 /* a longer head is refused */ };

/* A piece of the head; NULL: the header was not there. */
struct head_piece {
    const char *text;
    size_t len;
};

struct head {
    bool is_head;              /* HEAD, not GET */
    struct head_piece path;    /* without its query */
    struct head_piece host;    /* Host */
    struct head_piece accept;  /* Accept */
    struct head_piece fetched; /* Sec-Fetch-Site */
    struct head_piece authorization;
};

/* The length of a complete head, up to and with its empty line; 0: it is not complete yet. */
size_t head_end(const char *bytes, size_t len);

/* Reads a complete head. Returns 200 if *head was filled, else the status to refuse it with: 400, 405 or
 * 505. */
int head_read(const char *bytes, size_t len, struct head *head);

bool head_piece_is(struct head_piece piece, const char *text);
/* The same in any case. */
bool head_piece_says(struct head_piece piece, const char *text);

/* Whether Accept asks for OpenMetrics rather than for plain text. */
bool head_wants_openmetrics(struct head_piece accept);

/* Whether Host is an address, localhost, own, or one of the names, or not there (HTTP/1.0). A web page
 * elsewhere could let its own name point to this host, but not an address. */
bool head_host_is_known(struct head_piece host, const char *own, const char *const names[], unsigned count);

#endif
