/* The figures: each number of the daemon that counts something, or says how much of it there is now. A figure
 * has one row here. From the rows come the fields in which the parts of the daemon count, the rows of SHOW
 * STATS and the samples of /metrics. Numbers that exist for each master, histograms, and what the status page
 * and its JSON show are written by their own code in http/. proto/protocol.txt and conf/OPERATING.md say what
 * each figure means. */
#ifndef REDLOCKD_FIGURES_H
#define REDLOCKD_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"

enum figure_kind {
    FIGURE_GAUGE,
    FIGURE_COUNTER,
    FIGURE_COUNTER_MS /* in ms, which /metrics tells in seconds */
};

/* The places in metrics.c where figures are written. Where /metrics has another order than SHOW STATS, or a
 * sample that is no figure stands between two, another place begins. */
enum metrics_place {
    METRICS_NONE, /* SHOW STATS alone has the figure */
    METRICS_MASTERS,
    METRICS_LOCKS,
    METRICS_CLIENTS,
    METRICS_OUTCOMES,
    METRICS_ENDS,
    METRICS_AUTH,
    METRICS_TLS,
    METRICS_PLACES /* how many */
};

struct figure {
    const char *name; /* of its field, and in SHOW STATS */
    size_t offset;    /* of its field in struct figures */
    bool shown;       /* SHOW STATS has it */
    enum figure_kind kind;
    enum metrics_place place;
    const char *family; /* in /metrics; a counter's has no _total */
    const char *labels; /* "" if there are none */
    /* NULL if the row before it in the same place has the same family, and with it the help */
    const char *help;
};

/* Each row is PART(name, kind, SHOWN if SHOW STATS has it, METRIC(place, family, labels, help) if /metrics
 * has it). PART is the part of the daemon that counts, and its struct below has the field. SHOW STATS and each
 * place of /metrics keep the order of the rows. */
#define FIGURES(LOOP, CONNS, CORE, HTTP)                                                                     \
    LOOP(uptime_ms, GAUGE, SHOWN)                                                                            \
    LOOP(masters, GAUGE, SHOWN, METRIC(MASTERS, "redlockd_masters", "", "Configured masters."))              \
    LOOP(masters_voting, GAUGE, SHOWN,                                                                       \
         METRIC(MASTERS, "redlockd_masters_voting", "", "Masters that may vote now."))                       \
    CONNS(clients, GAUGE, SHOWN, METRIC(CLIENTS, "redlockd_clients", "", "Connections of clients."))         \
    CONNS(clients_accepted, COUNTER, SHOWN)                                                                  \
    CONNS(clients_refused, COUNTER, SHOWN)                                                                   \
    CONNS(tls_handshakes, COUNTER, SHOWN,                                                                    \
          METRIC(TLS, "redlockd_tls_handshakes", "side=\"client\",result=\"ok\"",                            \
                 "TLS handshakes of clients and of HTTP, and with masters."))                                \
    CONNS(tls_handshakes_failed, COUNTER, SHOWN,                                                             \
          METRIC(TLS, "redlockd_tls_handshakes", "side=\"client\",result=\"failed\"", NULL))                 \
    CONNS(lines, COUNTER, SHOWN)                                                                             \
    CONNS(lines_refused, COUNTER, SHOWN)                                                                     \
    CONNS(held_back, COUNTER, SHOWN)                                                                         \
    CONNS(auth_failed, COUNTER, SHOWN,                                                                       \
          METRIC(AUTH, "redlockd_auth_failures", "method=\"auth\"",                                          \
                 "Secrets that were refused, by AUTH or by HTTP's Basic."))                                  \
    CONNS(denied, COUNTER, SHOWN)                                                                            \
    CORE(locks, GAUGE, SHOWN)                                                                                \
    CORE(waiters, GAUGE, SHOWN, METRIC(LOCKS, "redlockd_waiters", "", "Requests that wait for a lock."))     \
    CORE(watches, GAUGE, SHOWN, METRIC(LOCKS, "redlockd_watches", "", "Watchers of names."))                 \
    CORE(names, GAUGE, SHOWN, METRIC(LOCKS, "redlockd_names", "", "Names of locks in use."))                 \
    CORE(kept, GAUGE, SHOWN,                                                                                 \
         METRIC(LOCKS, "redlockd_kept_names", "", "Names that are kept though nobody holds them."))          \
    CORE(rounds_under_way, GAUGE, SHOWN)                                                                     \
    CORE(releases_under_way, GAUGE, SHOWN)                                                                   \
    CORE(grants, COUNTER, SHOWN)                                                                             \
    CORE(refused_busy, COUNTER, SHOWN)                                                                       \
    CORE(refused_timeout, COUNTER, SHOWN)                                                                    \
    CORE(refused_noquorum, COUNTER, SHOWN)                                                                   \
    CORE(refused_limit, COUNTER, SHOWN)                                                                      \
    CORE(releases, COUNTER, SHOWN)                                                                           \
    CORE(extends, COUNTER, SHOWN)                                                                            \
    CORE(checks, COUNTER, SHOWN)                                                                             \
    CORE(resumes, COUNTER, SHOWN)                                                                            \
    CORE(resumed, COUNTER, SHOWN)                                                                            \
    CORE(renewals, COUNTER, SHOWN)                                                                           \
    CORE(renewals_done, COUNTER,                                                                             \
         METRIC(OUTCOMES, "redlockd_renewals", "result=\"ok\"",                                              \
                "Renewals of held locks that came through, and that did not."))                              \
    CORE(renewals_failed, COUNTER, SHOWN, METRIC(OUTCOMES, "redlockd_renewals", "result=\"failed\"", NULL))  \
    CORE(lost, COUNTER, SHOWN)                                                                               \
    CORE(rounds, COUNTER, SHOWN)                                                                             \
    CORE(fence_raises, COUNTER, SHOWN,                                                                       \
         METRIC(OUTCOMES, "redlockd_fence_raises", "", "Grants that had to raise the fence first."))         \
    CORE(keeps, COUNTER, SHOWN,                                                                              \
         METRIC(OUTCOMES, "redlockd_keeps", "", "Names that were kept when their lock was given back."))     \
    CORE(attempts_undone, COUNTER, SHOWN)                                                                    \
    CORE(attempts_widened, COUNTER, SHOWN)                                                                   \
    CORE(undo_expired, COUNTER, SHOWN,                                                                       \
         METRIC(ENDS, "redlockd_undo_expired", "",                                                           \
                "Releases that a master owed "                                                               \
                "until its key had expired."))                                                               \
    CORE(slept, COUNTER, SHOWN,                                                                              \
         METRIC(OUTCOMES, "redlockd_slept", "",                                                              \
                "Times that a LOCK began to wait for another daemon's word."))                               \
    CORE(woken, COUNTER, SHOWN, METRIC(OUTCOMES, "redlockd_woken", "", "Times that such a word came."))      \
    CORE(handed_on, COUNTER, SHOWN,                                                                          \
         METRIC(OUTCOMES, "redlockd_handed_on", "",                                                          \
                "Grants that took over the lock of the holder before, without asking a master."))            \
    CORE(behind_ms, COUNTER_MS, SHOWN,                                                                       \
         METRIC(ENDS, "redlockd_clock_behind_seconds", "",                                                   \
                "How long this host stood still without counting it."))                                      \
    LOOP(wall_ahead_ms, GAUGE, SHOWN)                                                                        \
    LOOP(wall_late_ms, GAUGE, SHOWN)                                                                         \
    HTTP(basic_failed, COUNTER, METRIC(AUTH, "redlockd_auth_failures", "method=\"basic\"", NULL))            \
    LOOP(handshakes, COUNTER, METRIC(TLS, "redlockd_tls_handshakes", "side=\"master\",result=\"ok\"", NULL)) \
    LOOP(handshakes_failed, COUNTER,                                                                         \
         METRIC(TLS, "redlockd_tls_handshakes", "side=\"master\",result=\"failed\"", NULL))                  \
    HTTP(handshakes, COUNTER, METRIC(TLS, "redlockd_tls_handshakes", "side=\"http\",result=\"ok\"", NULL))   \
    HTTP(handshakes_failed, COUNTER,                                                                         \
         METRIC(TLS, "redlockd_tls_handshakes", "side=\"http\",result=\"failed\"", NULL))                    \
    LOOP(tls_files_refused, COUNTER,                                                                         \
         METRIC(TLS, "redlockd_tls_files_refused", "",                                                       \
                "Times that changed certificates or keys could not be used."))

#define FIGURES_FIELD(name, ...) uint64_t name;
#define FIGURES_NONE(...)

struct loop_stats {
    FIGURES(FIGURES_FIELD, FIGURES_NONE, FIGURES_NONE, FIGURES_NONE)
};

struct conns_stats {
    FIGURES(FIGURES_NONE, FIGURES_FIELD, FIGURES_NONE, FIGURES_NONE)
};

struct coordinator_stats {
    FIGURES(FIGURES_NONE, FIGURES_NONE, FIGURES_FIELD, FIGURES_NONE)
    uint64_t sessions;                /* for tests */
    uint64_t holds[HOLD_LEASE + 1];   /* locks by their kind of hold */
    uint64_t readers[HOLD_LEASE + 1]; /* of these: shared */
};

struct http_stats {
    FIGURES(FIGURES_NONE, FIGURES_NONE, FIGURES_NONE, FIGURES_FIELD)
};

struct figures {
    struct loop_stats loop;
    struct conns_stats conns;
    struct coordinator_stats core;
    struct http_stats http;
};

#define FIGURES_ONE(...) +1
enum { FIGURES_COUNT = FIGURES(FIGURES_ONE, FIGURES_ONE, FIGURES_ONE, FIGURES_ONE) };

extern const struct figure figures_table[FIGURES_COUNT];

uint64_t figures_value(const struct figures *figures, const struct figure *figure);

#endif
