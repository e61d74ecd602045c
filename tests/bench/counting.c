/* counting.so, for LD_PRELOAD: counts system calls, and allocations by the program and by its libraries. */
#include "tests/bench/counting.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static struct counts nowhere;
static struct counts *counts = &nowhere;
static uintptr_t program_begin, program_end;

/* The first object is the program; the rest are libraries. */
static int program_find(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        program_begin = info->dlpi_addr + part->p_vaddr;
        program_end = program_begin + part->p_memsz;
    }
    return 1;
}

static void __attribute__((constructor)) counting_open(void)
{
    const char *path = getenv("BENCH_COUNTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    dl_iterate_phdr(program_find, NULL);
    if (fd < 0)
        return;
    void *file = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file != MAP_FAILED)
        counts = file;
}

static void allocated(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at >= program_begin && at < program_end)
        counts->our_mallocs++;
    else
        counts->lib_mallocs++;
}

/* glibc's own names, since dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    allocated(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocated(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    allocated(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

#define COUNT_AS(also, type, name, parameters, arguments) \
    type name parameters                                  \
    {                                                     \
        static __typeof__(name) *real;                    \
        if (!real)                                        \
            *(void **)&real = dlsym(RTLD_NEXT, #name);    \
        counts->syscalls++;                               \
        also;                                             \
        return real arguments;                            \
    }
#define COUNT(type, name, parameters, arguments) COUNT_AS((void)0, type, name, parameters, arguments)

COUNT(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len))
COUNT(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len))
COUNT(ssize_t, readv, (int fd, const struct iovec *to, int count), (fd, to, count))
COUNT(ssize_t, writev, (int fd, const struct iovec *from, int count), (fd, from, count))
COUNT(ssize_t, recv, (int fd, void *to, size_t len, int flags), (fd, to, len, flags))
COUNT(ssize_t, send, (int fd, const void *from, size_t len, int flags), (fd, from, len, flags))
COUNT(ssize_t, recvmsg, (int fd, struct msghdr *to, int flags), (fd, to, flags))
COUNT(ssize_t, sendmsg, (int fd, const struct msghdr *from, int flags), (fd, from, flags))
COUNT_AS(counts->waits++, int, epoll_wait, (int epoll, struct epoll_event *events, int most, int ms),
         (epoll, events, most, ms))
COUNT(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event), (epoll, what, fd, event))
COUNT(ssize_t, getrandom, (void *to, size_t len, unsigned flags), (to, len, flags))
COUNT(int, accept4, (int fd, struct sockaddr *peer, socklen_t *len, int flags), (fd, peer, len, flags))
COUNT(int, close, (int fd), (fd))
