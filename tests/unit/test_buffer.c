/* Bytes that wait to be written: in at one end, out at the other. */
#include <check.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/buffer.h"
#include "tests/unit/suite.h"

T(keeps_the_order)
{
    struct buffer b = {0};
    int fd[2];
    unsigned char in[64];
    unsigned next_in = 0, next_out = 0;
    size_t most = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    for (unsigned round = 0; round < 3000 || buffer_len(&b); round++) {
        for (unsigned i = 0; i < (round < 3000 ? round % 700 : 0); i++) {
            unsigned char byte = (unsigned char)(next_in++ % 251);
            if (buffer_append(&b, &byte, 1) < 0)
                ck_abort();
        }
        if (buffer_write(&b, fd[0]) < 0)
            ck_abort();
        ssize_t n = recv(fd[1], in, sizeof in, 0);
        for (ssize_t at = 0; at < n; at++) {
            if (in[at] != next_out++ % 251)
                ck_abort_msg("byte %u is another", next_out);
        }
        most = buffer_len(&b) > most ? buffer_len(&b) : most;
    }
    for (ssize_t n; (n = recv(fd[1], in, sizeof in, 0)) > 0;)
        next_out += (unsigned)n;
    ck_assert_uint_eq(next_in, next_out);
    ck_assert_uint_gt(most, 128 * 1024);
    ck_assert_uint_lt(b.capacity, 8 * most);
    buffer_trim(&b, 64 * 1024);
    ck_assert_uint_eq(b.capacity, 0);
    close(fd[1]);
    buffer_append(&b, "x", 1);
    ck_assert_int_eq(buffer_write(&b, fd[0]), -1); /* and no SIGPIPE */
    ck_assert_int_eq(errno, EPIPE);
    buffer_free(&b);
    close(fd[0]);
}
