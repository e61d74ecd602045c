/* Bytes on their way out: appended at the end, written from the front. */
#ifndef REDLOCKD_BUFFER_H
#define REDLOCKD_BUFFER_H

#include <assert.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t start; /* of what is not written yet */
    size_t end;
    size_t capacity;
};

static inline size_t buffer_len(const struct buffer *b)
{
    return b->end - b->start;
}

/* Makes room for len more bytes at the end and returns it; NULL: no memory. */
char *buffer_make_room(struct buffer *b, size_t len);

/* Room for len more bytes at the end; NULL: no memory. */
static inline char *buffer_reserve(struct buffer *b, size_t len)
{
    if (b->bytes && b->capacity - b->end >= len)
        return b->bytes + b->end;
    return buffer_make_room(b, len);
}

/* len bytes of what buffer_reserve() gave have been filled. */
static inline void buffer_commit(struct buffer *b, size_t len)
{
    assert(b->capacity - b->end >= len);
    b->end += len;
}

/* 0, or -1: no memory. */
int buffer_append(struct buffer *b, const void *bytes, size_t len);

/* Writes what it can to a non-blocking socket (MSG_NOSIGNAL): the number of bytes
 * written, which may be 0 on EAGAIN, or -1 with errno. */
long buffer_write(struct buffer *b, int fd);

/* Gives the memory back when it is empty and holds more than keep bytes. */
void buffer_trim(struct buffer *b, size_t keep);
void buffer_free(struct buffer *b);

#endif
