/* failing.so, for LD_PRELOAD: the fallible call with the number failing.at fails, once.
 * See failing.h. */
#include "tests/fail/failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct failing *failing;

static void __attribute__((constructor)) failing_open(void)
{
    const char *path = getenv("FAIL_STATE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *state = mmap(NULL, sizeof *failing, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (state != MAP_FAILED)
        failing = state;
}

static bool fails(const char *what, int error)
{
    if (!failing || ++failing->calls != failing->at)
        return false;
    strncpy(failing->what, what, sizeof failing->what - 1);
    if (getenv("FAIL_TRACE")) {
        void *frames[32];
        backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
    }
    errno = error;
    return true;
}

/* The libc function that this one replaces. */
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define FAIL(type, name, parameters, arguments, result, error)  \
    type name parameters;                                       \
    type name parameters                                        \
    {                                                           \
        static __typeof__(name) *real;                          \
        if (!real)                                              \
            *(void **)&real = next(#name);                      \
        return fails(#name, error) ? (result) : real arguments; \
    }

FAIL(void *, malloc, (size_t size), (size), NULL, ENOMEM)
FAIL(void *, calloc, (size_t count, size_t size), (count, size), NULL, ENOMEM)
FAIL(void *, realloc, (void *old, size_t size), (old, size), NULL, ENOMEM)

FAIL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1, EMFILE)
FAIL(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), -1,
     EMFILE)
FAIL(int, bind, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len), -1, EADDRINUSE)
FAIL(int, listen, (int fd, int backlog), (fd, backlog), -1, EADDRINUSE)
FAIL(int, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags), -1, EMFILE)
FAIL(int, connect, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len), -1, ECONNREFUSED)
FAIL(int, getsockname, (int fd, struct sockaddr *a, socklen_t *len), (fd, a, len), -1, ENOBUFS)
FAIL(int, getpeername, (int fd, struct sockaddr *a, socklen_t *len), (fd, a, len), -1, ENOTCONN)
FAIL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len), -1, ENOPROTOOPT)
FAIL(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *len),
     (fd, level, name, value, len), -1, ENOBUFS)
FAIL(ssize_t, send, (int fd, const void *bytes, size_t len, int flags), (fd, bytes, len, flags), -1,
     ECONNRESET)
FAIL(ssize_t, recv, (int fd, void *bytes, size_t len, int flags), (fd, bytes, len, flags), -1, ECONNRESET)
FAIL(ssize_t, sendto,
     (int fd, const void *bytes, size_t len, int flags, const struct sockaddr *a, socklen_t a_len),
     (fd, bytes, len, flags, a, a_len), -1, ENETUNREACH)
FAIL(ssize_t, recvfrom, (int fd, void *bytes, size_t len, int flags, struct sockaddr *a, socklen_t *a_len),
     (fd, bytes, len, flags, a, a_len), -1, ECONNREFUSED)
FAIL(int, getaddrinfo,
     (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found),
     (node, service, hints, found), EAI_MEMORY, ENOMEM)

FAIL(int, epoll_create1, (int flags), (flags), -1, EMFILE)
FAIL(int, epoll_ctl, (int fd, int op, int other, struct epoll_event *event), (fd, op, other, event), -1,
     ENOSPC)
FAIL(int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout), (fd, events, max, timeout),
     -1, EINTR)
FAIL(int, eventfd, (unsigned first, int flags), (first, flags), -1, EMFILE)
FAIL(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)
FAIL(int, sigaction, (int number, const struct sigaction *new, struct sigaction *old), (number, new, old), -1,
     EINVAL)

FAIL(ssize_t, getrandom, (void *bytes, size_t len, unsigned flags), (bytes, len, flags), -1, ENOSYS)
FAIL(ssize_t, read, (int fd, void *bytes, size_t len), (fd, bytes, len), -1, EIO)
/* The names that _FORTIFY_SOURCE gives to these calls. */
FAIL(ssize_t, __read_chk, (int fd, void *bytes, size_t len, size_t room), (fd, bytes, len, room), -1, EIO)
FAIL(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1, EIO)
FAIL(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
FAIL(int, getifaddrs, (struct ifaddrs * *found), (found), -1, EMFILE)
FAIL(int, fstat, (int fd, struct stat *stat), (fd, stat), -1, EIO)
FAIL(int, lstat, (const char *path, struct stat *stat), (path, stat), -1, EACCES)
FAIL(int, unlink, (const char *path), (path), -1, EACCES)
FAIL(int, getrlimit, (__rlimit_resource_t which, struct rlimit *limit), (which, limit), -1, EPERM)
FAIL(int, setrlimit, (__rlimit_resource_t which, const struct rlimit *limit), (which, limit), -1, EPERM)

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!real)
        *(void **)&real = next("open");
    return fails("open", EMFILE) ? -1 : real(path, flags, mode);
}

int fcntl(int fd, int what, ...)
{
    static int (*real)(int, int, ...);
    va_list args;
    va_start(args, what);
    void *more = va_arg(args, void *);
    va_end(args);
    if (!real)
        *(void **)&real = next("fcntl");
    return fails("fcntl", EINVAL) ? -1 : real(fd, what, more);
}
