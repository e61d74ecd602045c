#include "daemon/buffer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BUFFER_MIN_BYTES = 1024 };

char *buffer_make_room(struct buffer *b, size_t len)
{
    size_t used = buffer_len(b);
    if (b->bytes && b->start && b->capacity - used >= len && used <= b->start) {
        /* Half or more of the bytes were taken: move the rest to the front rather than grow. */
        memcpy(b->bytes, b->bytes + b->start, used);
        b->start = 0;
        b->end = used;
        return b->bytes + b->end;
    }
    if (len > SIZE_MAX / 4 || used > SIZE_MAX / 4)
        return NULL;
    size_t capacity = b->capacity < BUFFER_MIN_BYTES ? BUFFER_MIN_BYTES : b->capacity * 2;
    while (capacity < used + len)
        capacity *= 2;
    char *bytes = malloc(capacity);
    if (!bytes)
        return NULL;
    if (b->bytes)
        memcpy(bytes, b->bytes + b->start, used);
    free(b->bytes);
    *b = (struct buffer){.bytes = bytes, .start = 0, .end = used, .capacity = capacity};
    return bytes + used;
}

int buffer_append(struct buffer *b, const void *bytes, size_t len)
{
    if (!len)
        return 0;
    char *room = buffer_reserve(b, len);
    if (!room)
        return -1;
    memcpy(room, bytes, len);
    buffer_commit(b, len);
    return 0;
}

long buffer_write(struct buffer *b, int fd)
{
    size_t len = buffer_len(b);
    if (!len)
        return 0;
    ssize_t n;
    do {
        n = send(fd, b->bytes + b->start, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    b->start += (size_t)n;
    if (b->start == b->end)
        b->start = b->end = 0;
    return n;
}

void buffer_trim(struct buffer *b, size_t keep)
{
    if (!buffer_len(b) && b->capacity > keep)
        buffer_free(b);
}

void buffer_free(struct buffer *b)
{
    free(b->bytes);
    *b = (struct buffer){0};
}
