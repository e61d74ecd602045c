/* Counts the calls of malloc(), calloc() and realloc(), where no sanitizer has replaced them. */
#ifndef REDLOCKD_TESTS_MALLOCS_H
#define REDLOCKD_TESTS_MALLOCS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define COUNTS_MALLOC 1
extern unsigned long mallocs; /* the calls of Check's own assertions are among them */
#endif

#endif
