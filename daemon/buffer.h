/* Bytes on their way out: appended at the end, written from the front. */
#ifndef REDLOCKD_BUFFER_H
#define REDLOCKD_BUFFER_H

#include <stddef.h>

struct buffer {
    char *bytes;
    size_t start; /* of what is not written yet */
    size_t end;
    size_t capacity;
};

/* Room for len more bytes at the end; NULL: no memory. */
char *buffer_reserve(struct buffer *b, size_t len);
/* len bytes of what buffer_reserve() gave have been filled. */
void buffer_commit(struct buffer *b, size_t len);
/* 0, or -1: no memory. */
int buffer_append(struct buffer *b, const void *bytes, size_t len);
size_t buffer_len(const struct buffer *b);

/* Writes what it can to a non-blocking socket (MSG_NOSIGNAL): the number of bytes
 * written, which may be 0 on EAGAIN, or -1 with errno. */
long buffer_write(struct buffer *b, int fd);

/* Gives the memory back when it is empty and holds more than keep bytes. */
void buffer_trim(struct buffer *b, size_t keep);
void buffer_free(struct buffer *b);

#endif
