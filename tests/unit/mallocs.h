/* Counts what is asked of malloc, where no sanitizer has taken its place. Of one source file of a program. */
#ifndef REDLOCKD_TESTS_MALLOCS_H
#define REDLOCKD_TESTS_MALLOCS_H

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS_MALLOC 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
static unsigned long mallocs; /* Check's own assertions are among them */
void *malloc(size_t size)
{
    mallocs++;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    mallocs++;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
    mallocs++;
    return __libc_realloc(old, size);
}
#endif

#endif
