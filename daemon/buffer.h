/* A queue of bytes: appended at the end, taken from the front. */
#ifndef REDLOCKD_BUFFER_H
#define REDLOCKD_BUFFER_H

#include <assert.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t start; /* the first byte in the queue */
    size_t end;
    size_t capacity;
};

static inline size_t buffer_len(const struct buffer *b)
{
    return b->end - b->start;
}

/* The slow half of buffer_reserve(): moves the bytes or takes more memory. */
char *buffer_make_room(struct buffer *b, size_t len);

/* Returns room for len more bytes at the end; NULL: no memory. */
static inline char *buffer_reserve(struct buffer *b, size_t len)
{
    if (b->bytes && b->capacity - b->end >= len)
        return b->bytes + b->end;
    return buffer_make_room(b, len);
}

/* The first len bytes of the room from buffer_reserve() have been filled. */
static inline void buffer_commit(struct buffer *b, size_t len)
{
    assert(b->capacity - b->end >= len);
    b->end += len;
}

/* 0, or -1: no memory. */
int buffer_append(struct buffer *b, const void *bytes, size_t len);

/* Sends as much as a non-blocking socket takes. Returns the number of bytes, which is 0 on EAGAIN, or -1
 * with errno. */
long buffer_write(struct buffer *b, int fd);

/* Frees the memory of an empty buffer if its capacity is more than keep bytes. */
void buffer_trim(struct buffer *b, size_t keep);
void buffer_free(struct buffer *b);

#endif
