/* The TLS contexts of the configuration: one for each address of listen and http with TLS, and one for each master
 * with rediss://. */
#ifndef REDLOCKD_LOOP_TLS_H
#define REDLOCKD_LOOP_TLS_H

#include "daemon/conf/conf.h"
#include "daemon/loop/loop_places.h"
#include "daemon/wire/wire.h"

struct loop_tls {
    struct wire_context *listen[CONF_LISTENERS]; /* NULL: without TLS */
    struct wire_context *http[CONF_LISTENERS];
    struct wire_context *nodes[MASTERS]; /* several masters may have the same one */
    int64_t warned_s;                    /* when ends that are near were told last */
    uint64_t failed;                     /* how often new files could not be used */
};

enum tls_news {
    TLS_SAME,
    TLS_FRESH, /* at least one context is new */
    TLS_FAILED, /* the files of at least one address could not be used, which was logged; its old context stays */
};

/* Makes the contexts that are missing, or whose settings or files have changed. */
enum tls_news loop_tls_open(struct loop_tls *tls, const struct conf *conf, const struct places *places);
/* The master leaves its place. */
void loop_tls_forget(struct loop_tls *tls, unsigned place);
/* Warns once a day of own certificates that end within 14 days. */
void loop_tls_warn(struct loop_tls *tls, const struct conf *conf, int64_t now_s);
void loop_tls_close(struct loop_tls *tls);

#endif
