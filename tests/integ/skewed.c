/* Programs with clocks of their own: see tests/skew/skew.h. */
#include "tests/integ/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void skew_path(char path[PATH], const char *folder)
{
    ck_assert_int_lt(snprintf(path, PATH, "%s/skew", folder), PATH);
}

struct skew *skew_make(const char *folder)
{
    char path[PATH];
    skew_path(path, folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, sizeof(struct skew)), 0);
    struct skew *skew = mmap(NULL, sizeof *skew, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(skew, MAP_FAILED);
    close(fd);
    return skew;
}

/* skew.so lies beside this program's folder. */
pid_t program_start_skewed(const char *const argv[], const char *output, const char *folder)
{
    char program[512] = "", library[600], path[PATH];
    ck_assert_int_gt(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    *strrchr(program, '/') = '\0';
    snprintf(library, sizeof library, "%s/../skew/skew.so", program);
    ck_assert_msg(access(library, R_OK) == 0, "no %s: make objects", library);
    skew_path(path, folder);
    setenv("SKEW_FILE", path, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0); /* skew.so need not be the first library then */
    setenv("LD_PRELOAD", library, 1);
    pid_t pid = program_start(argv, output);
    unsetenv("LD_PRELOAD");
    return pid;
}
