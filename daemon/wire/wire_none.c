/* In place of the other files here in a build without OpenSSL (make TLS=no): there is no TLS wire. The
 * configuration refuses rediss:// and tls: by name, so that no context and no TLS wire is ever made. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/wire/wire.h"

static const struct wire_fault none = {.what = "built without TLS", .hint = ""};

bool wire_has_tls(void)
{
    return false;
}

const char *wire_library(void)
{
    return "";
}

struct wire_context *wire_context_new(enum wire_side side, const struct wire_settings *settings,
                                      struct wire_fault *fault)
{
    (void)side, (void)settings;
    *fault = none;
    return NULL;
}

struct wire_context *wire_context_share(struct wire_context *context)
{
    return context;
}

void wire_context_free(struct wire_context *context)
{
    assert(!context);
}

bool wire_context_fits(struct wire_context *context, const struct wire_settings *settings)
{
    (void)context, (void)settings;
    return true;
}

void wire_context_replace(struct wire_context *old, struct wire_context *fresh)
{
    (void)old, (void)fresh;
}

int64_t wire_context_end_s(const struct wire_context *context)
{
    (void)context;
    return INT64_MAX;
}

const char *wire_context_cert(const struct wire_context *context)
{
    (void)context;
    return "";
}

int wire_begin(struct wire *w, struct wire_context *context, const char *host)
{
    (void)w, (void)context, (void)host;
    return -1;
}

enum wire_step wire_handshake(struct wire *w)
{
    (void)w;
    return WIRE_FAILED;
}

const struct wire_fault *wire_fault(void)
{
    return &none;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): with TLS it writes there */
ssize_t wire_tls_read(struct wire *w, char *bytes, size_t size)
{
    (void)w, (void)bytes, (void)size;
    errno = EPROTO;
    return -1;
}

long wire_tls_write(struct wire *w, struct buffer *b)
{
    (void)w, (void)b;
    errno = EPROTO;
    return -1;
}

bool wire_tls_pending(const struct wire *w)
{
    (void)w;
    return false;
}

bool wire_tls_read_wants_write(const struct wire *w)
{
    (void)w;
    return false;
}

void wire_end(struct wire *w)
{
    assert(!w->tls);
}

void wire_finish(struct wire *w)
{
    assert(!w->tls);
}

void wire_close(struct wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

bool wire_is_welcome(struct wire *w)
{
    (void)w;
    return true;
}

bool wire_peer_has_ended(const struct wire *w, int64_t now_s)
{
    (void)w, (void)now_s;
    return false;
}

char *wire_peer_names(const struct wire *w)
{
    (void)w;
    return NULL;
}
