#include "tests/integ/secure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORD_BYTES = 16384 };

static int dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a record is not kept back */
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        _exit(3);
    return fd;
}

static SSL *handshake(int fd, const char *certs, const char *name)
{
    char path[2 * PATH];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    snprintf(path, sizeof path, "%s/ca.pem", certs);
    SSL_CTX_load_verify_file(ctx, path);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (name) {
        snprintf(path, sizeof path, "%s/%s.pem", certs, name);
        SSL_CTX_use_certificate_chain_file(ctx, path);
        snprintf(path, sizeof path, "%s/%s.key", certs, name);
        SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM);
    }
    SSL *ssl = SSL_new(ctx);
    SSL_set1_host(ssl, "localhost");
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) != 1)
        _exit(2);
    return ssl;
}

/* Carries bytes both ways until one side ends. */
static void relay(int fd, SSL *ssl, int test)
{
    char bytes[RECORD_BYTES];

    for (;;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = test, .events = POLLIN}};
        if (!SSL_pending(ssl) && poll(p, 2, -1) < 0 && errno != EINTR)
            _exit(1);
        if (p[1].revents) {
            ssize_t len = read(test, bytes, sizeof bytes);
            if (len <= 0) {
                SSL_shutdown(ssl);
                _exit(0);
            }
            SSL_write(ssl, bytes, (int)len);
        }
        if (SSL_pending(ssl) || p[0].revents) {
            int len = SSL_read(ssl, bytes, sizeof bytes);
            if (len <= 0)
                _exit(SSL_get_error(ssl, len) == SSL_ERROR_ZERO_RETURN ? 0 : 4);
            if (send(test, bytes, (size_t)len, MSG_NOSIGNAL) < 0)
                _exit(0);
        }
    }
}

/* The child's part in TLS: returns only in the parent. */
static void child_start(struct secure *secure, uint16_t port, const char *certs, const char *name,
                        void (*act)(int fd, SSL *ssl, int test))
{
    int pair[2];

    *secure = (struct secure){0};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    secure->pid = fork();
    ck_assert_int_ge(secure->pid, 0);
    if (secure->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        close(pair[0]);
        int fd = dial(port);
        act(fd, handshake(fd, certs, name), pair[1]);
        _exit(0);
    }
    close(pair[1]);
    secure->client.fd = pair[0];
}

void secure_open(struct secure *secure, uint16_t port, const char *certs, const char *name)
{
    child_start(secure, port, certs, name, relay);
}

static void flood(int fd, SSL *ssl, int test)
{
    (void)fd;
    for (unsigned i = 0; i < 200000; i++)
        if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(ssl) != 1)
            return;
    dprintf(test, "nothing ended it\n");
}

void secure_flood(struct secure *secure, uint16_t port, const char *certs)
{
    child_start(secure, port, certs, NULL, flood);
}

static void half(int fd, SSL *ssl, int test)
{
    (void)ssl;
    if (write(fd, "\x17\x03\x03", 3) == 3)
        dprintf(test, "sent\n");
    pause();
}

void secure_half(struct secure *secure, uint16_t port, const char *certs)
{
    child_start(secure, port, certs, NULL, half);
}

void secure_kill(struct secure *secure)
{
    kill(secure->pid, SIGKILL);
    while (waitpid(secure->pid, NULL, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
}

bool secure_was_told(struct secure *secure)
{
    int status = 0;

    while (waitpid(secure->pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    return status == 0;
}

void secure_has_sent(const struct secure *secure)
{
    int left = 1;

    for (int64_t end_ms = now_ms() + WAIT_MS; left > 0; nap()) {
        ck_assert_int_eq(ioctl(secure->client.fd, SIOCOUTQ, &left), 0);
        ck_assert_int_lt(now_ms(), end_ms);
    }
}
