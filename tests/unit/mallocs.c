#include <stdlib.h>

#include "tests/unit/mallocs.h"

#ifdef COUNTS_MALLOC
unsigned long mallocs;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

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
