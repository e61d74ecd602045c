/* A snapshot for Prometheus: its text format 0.0.4, or OpenMetrics 1.0. The two differ in the names of
 * counters (OpenMetrics' family has no _total), and in the last line. Seconds are written to the µs. No
 * label holds what a client chose. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_private.h"
#include "daemon/http/process.h"
#include "proto/line.h"

struct metrics {
    struct body *b;
    const struct snapshot *s;
    bool open; /* OpenMetrics */
};

/* ---- families ---- */

static void family(const struct metrics *m, const char *name, const char *suffix, const char *type,
                   const char *help)
{
    body_putf(m->b, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

static void family_gauge(const struct metrics *m, const char *name, const char *help)
{
    family(m, name, "", "gauge", help);
}

/* name is without _total. */
static void family_counter(const struct metrics *m, const char *name, const char *help)
{
    family(m, name, m->open ? "" : "_total", "counter", help);
}

static void gauge(const struct metrics *m, const char *name, const char *help, uint64_t value)
{
    family_gauge(m, name, help);
    body_putf(m->b, "%s %" PRIu64 "\n", name, value);
}

static void put_seconds(const struct metrics *m, int64_t us)
{
    uint64_t size_us = us < 0 ? -(uint64_t)us : (uint64_t)us;
    body_putf(m->b, "%s%" PRIu64 ".%06" PRIu64 "\n", us < 0 ? "-" : "", size_us / 1000000, size_us % 1000000);
}

static void gauge_seconds(const struct metrics *m, const char *name, const char *help, int64_t us)
{
    family_gauge(m, name, help);
    body_putf(m->b, "%s ", name);
    put_seconds(m, us);
}

static void put_figure(const struct metrics *m, const struct figure *f)
{
    uint64_t value = figures_value(&m->s->figures, f);
    bool counts = f->kind != FIGURE_GAUGE;
    if (f->help && counts)
        family_counter(m, f->family, f->help);
    else if (f->help)
        family_gauge(m, f->family, f->help);
    body_putf(m->b, "%s%s", f->family, counts ? "_total" : "");
    if (f->labels[0])
        body_putf(m->b, "{%s}", f->labels);
    body_put(m->b, " ");
    if (f->kind == FIGURE_COUNTER_MS)
        put_seconds(m, (int64_t)value * 1000);
    else
        body_putf(m->b, "%" PRIu64 "\n", value);
}

static void put_figures(const struct metrics *m, enum metrics_place place)
{
    for (unsigned i = 0; i < FIGURES_COUNT; i++)
        if (figures_table[i].place == place)
            put_figure(m, &figures_table[i]);
}

static void put_label(const struct metrics *m, const char *name, const char *key, const char *value)
{
    body_putf(m->b, "%s{%s=\"", name, key);
    body_label(m->b, value);
    body_put(m->b, "\"");
}

/* label is "" or as in 'verb="lock"'. The bounds are powers of two µs, which need all six digits; zeros at
 * the end are left out, as OpenMetrics wants them. */
static void put_histogram(const struct metrics *m, const char *name, const char *label,
                          const struct histogram *h)
{
    const char *comma = *label ? "," : "";
    uint64_t count = 0;
    for (unsigned i = 0; i < HISTOGRAM_BOUNDS; i++) {
        char bound[32];
        uint64_t us = histogram_bound_us(i);
        int len = snprintf(bound, sizeof bound, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
        while (bound[len - 1] == '0' && bound[len - 2] != '.')
            bound[--len] = '\0';
        count += h->counts[i];
        body_putf(m->b, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, label, comma, bound, count);
    }
    count += h->counts[HISTOGRAM_BOUNDS];
    body_putf(m->b, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, label, comma, count);
    const char *open = *label ? "{" : "", *close = *label ? "}" : "";
    body_putf(m->b, "%s_sum%s%s%s %" PRIu64 ".%06" PRIu64 "\n", name, open, label, close, h->sum_us / 1000000,
              h->sum_us % 1000000);
    body_putf(m->b, "%s_count%s%s%s %" PRIu64 "\n", name, open, label, close, count);
}

static void histogram(const struct metrics *m, const char *name, const char *help, const struct histogram *h)
{
    family(m, name, "", "histogram", help);
    put_histogram(m, name, "", h);
}

/* The protocol's word in small letters, without its sign: "+LOCKED" -> "locked". */
static const char *small(const char *word, char out[32])
{
    size_t len = 0;
    for (word += *word == '+' || *word == '-'; *word && len < 31; word++)
        out[len++] = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
    out[len] = '\0';
    return out;
}

/* ---- masters ---- */

static const char *const states[] = {"up", "slow", "quarantine", "refused", "down"};

static void master_states(const struct metrics *m)
{
    const char *name = "redlockd_master_state";
    family_gauge(m, name, "1 for the state that the master is in: only up may vote.");
    for (unsigned i = 0; i < m->s->master_count; i++) {
        for (unsigned k = 0; k < sizeof states / sizeof states[0]; k++) {
            put_label(m, name, "master", m->s->masters[i].address);
            body_putf(m->b, ",state=\"%s\"} %d\n", states[k], strcmp(m->s->masters[i].state, states[k]) == 0);
        }
    }
}

static void metrics_group(const struct metrics *m)
{
    static const char *const group_states[] = {"steady", "waiting", "joint", "outdated"};
    const struct snapshot_group *group = &m->s->group;
    gauge(m, "redlockd_group_step",
          "The step by which this daemon votes: twice the generation when it is steady.", group->step);
    gauge(m, "redlockd_group_generation", "The generation of the masters in the configuration.",
          group->generation);
    family_gauge(m, "redlockd_group_state", "1 for the state of the change of the masters: steady is none.");
    for (unsigned k = 0; k < sizeof group_states / sizeof group_states[0]; k++)
        body_putf(m->b, "redlockd_group_state{state=\"%s\"} %d\n", group_states[k],
                  strcmp(group->state, group_states[k]) == 0);
}

static uint64_t pending_of(const struct snapshot_master *master)
{
    return master->pending;
}

static uint64_t undo_of(const struct snapshot_master *master)
{
    return master->undo;
}

static uint64_t reconnects_of(const struct snapshot_master *master)
{
    return master->reconnects;
}

static void master_numbers(const struct metrics *m, const char *name,
                           uint64_t (*number)(const struct snapshot_master *))
{
    for (unsigned i = 0; i < m->s->master_count; i++) {
        put_label(m, name, "master", m->s->masters[i].address);
        body_putf(m->b, "} %" PRIu64 "\n", number(&m->s->masters[i]));
    }
}

static void master_rtts(const struct metrics *m)
{
    const char *name = "redlockd_master_rtt_seconds";
    family(m, name, "", "histogram", "Round trips to the master, a sample of them.");
    for (unsigned i = 0; i < m->s->master_count; i++) {
        struct body label = {.failed = false};
        body_put(&label, "master=\"");
        body_label(&label, m->s->masters[i].address);
        body_put(&label, "\"");
        if (buffer_append(&label.buffer, "", 1) == 0 && !label.failed)
            put_histogram(m, name, label.buffer.bytes, &m->s->masters[i].rtts);
        body_free(&label);
    }
}

static void master_errors(const struct metrics *m)
{
    const char *name = "redlockd_master_errors_total";
    family_counter(m, "redlockd_master_errors",
                   "Errors of the master and of the connection to it; code is the word in the log.");
    for (unsigned i = 0; i < m->s->master_count; i++) {
        const struct snapshot_master *master = &m->s->masters[i];
        for (unsigned k = 0; k < master->error_count; k++) {
            put_label(m, name, "master", master->address);
            body_putf(m->b, ",code=\"%s\"} %" PRIu64 "\n", master->errors[k].word, master->errors[k].count);
        }
    }
}

static void metrics_masters(const struct metrics *m)
{
    const struct snapshot *s = m->s;
    put_figures(m, METRICS_MASTERS);
    gauge(m, "redlockd_quorum", "Votes that a lock needs.", s->quorum);
    metrics_group(m);
    master_states(m);
    family_gauge(m, "redlockd_master_quarantine_seconds", "How long the master is still kept out.");
    for (unsigned i = 0; i < s->master_count; i++) {
        put_label(m, "redlockd_master_quarantine_seconds", "master", s->masters[i].address);
        body_put(m->b, "} ");
        put_seconds(m, s->masters[i].left_ms * 1000);
    }
    family_gauge(m, "redlockd_master_pending", "Commands to the master without a reply so far.");
    master_numbers(m, "redlockd_master_pending", pending_of);
    family_gauge(m, "redlockd_master_undo", "Releases that the master still owes.");
    master_numbers(m, "redlockd_master_undo", undo_of);
    master_rtts(m);
    master_errors(m);
    family_counter(m, "redlockd_master_reconnects", "Logins to the master after the first one.");
    master_numbers(m, "redlockd_master_reconnects_total", reconnects_of);
}

/* ---- locks, requests ---- */

static void metrics_locks(const struct metrics *m)
{
    const struct snapshot *s = m->s;
    family_gauge(m, "redlockd_locks", "Locks that are held through this daemon.");
    static const char *const holds[] = {[HOLD_SESSION] = "session", [HOLD_LEASE] = "lease"};
    for (unsigned i = HOLD_SESSION; i <= HOLD_LEASE; i++) {
        body_putf(m->b, "redlockd_locks{mode=\"exclusive\",hold=\"%s\"} %" PRIu64 "\n", holds[i],
                  s->figures.core.holds[i] - s->figures.core.readers[i]);
        body_putf(m->b, "redlockd_locks{mode=\"shared\",hold=\"%s\"} %" PRIu64 "\n", holds[i],
                  s->figures.core.readers[i]);
    }
    put_figures(m, METRICS_LOCKS);
    put_figures(m, METRICS_CLIENTS);
    family_gauge(m, "redlockd_limit", "How many there may be, by the key in the configuration.");
    for (unsigned i = 0; i < SNAPSHOT_LIMITS; i++)
        body_putf(m->b, "redlockd_limit{limit=\"%s\"} %" PRIu64 "\n", s->limits[i].key, s->limits[i].limit);
    gauge_seconds(m, "redlockd_longest_wait_seconds", "How long the oldest request has waited.",
                  s->longest_wait_ms * 1000);
}

/* Only what came at least once: most verbs have few answers. */
static void metrics_requests(const struct metrics *m)
{
    char verb[32], result[32];
    const struct counts *counts = m->s->counts;
    family_counter(m, "redlockd_requests", "Answered requests; verb=bad: lines that are no request.");
    for (unsigned v = 0; v < VERB_COUNT; v++)
        for (unsigned code = 0; code < REPLY_CODES; code++)
            if (counts->answers[v][code] > 0)
                body_putf(m->b, "redlockd_requests_total{verb=\"%s\",result=\"%s\"} %" PRIu64 "\n",
                          small(line_verb_word((enum verb)v), verb),
                          small(line_code_word((enum reply_code)code), result), counts->answers[v][code]);
    for (unsigned code = 0; code < REPLY_CODES; code++)
        if (counts->refused[code] > 0)
            body_putf(m->b, "redlockd_requests_total{verb=\"bad\",result=\"%s\"} %" PRIu64 "\n",
                      small(line_code_word((enum reply_code)code), result), counts->refused[code]);
}

static void metrics_outcomes(const struct metrics *m)
{
    const struct snapshot *s = m->s;
    family_counter(
        m, "redlockd_locks_lost",
        "Locks whose holders were told !LOST; expired, gone and clock are those that nobody wanted to lose.");
    for (unsigned i = 0; i < LOST_REASONS; i++)
        body_putf(m->b, "redlockd_locks_lost_total{reason=\"%s\"} %" PRIu64 "\n",
                  line_lost_word((enum lost_reason)i), s->lost[i]);
    put_figures(m, METRICS_OUTCOMES);
    put_figures(m, METRICS_ENDS);
    if (s->wall_known)
        gauge_seconds(m, "redlockd_wall_clock_ahead_seconds",
                      "How far this host's clock is ahead of the median of the masters' clocks.",
                      s->wall_ahead_ms * 1000);
}

/* ---- secrets and certificates ---- */

static void metrics_safety(const struct metrics *m)
{
    static const char *const uses[SNAPSHOT_CERTS] = {
        [CERT_CLIENTS] = "clients", [CERT_HTTP] = "http", [CERT_MASTERS] = "masters"};
    static const char ends[] = "redlockd_tls_certificate_expiry_timestamp_seconds";
    const struct snapshot *s = m->s;
    put_figures(m, METRICS_AUTH);
    put_figures(m, METRICS_TLS);
    family_gauge(m, ends, "When our certificate for clients, HTTP or masters ends, since 1970.");
    for (unsigned i = 0; i < SNAPSHOT_CERTS; i++)
        if (s->cert_end_s[i] != INT64_MAX)
            body_putf(m->b, "%s{use=\"%s\"} %" PRId64 "\n", ends, uses[i], s->cert_end_s[i]);
}

static void metrics_http(const struct metrics *m)
{
    static const char *const drops[HTTP_DROPS] = {
        [HTTP_DROP_TIME] = "time", [HTTP_DROP_ROOM] = "room", [HTTP_DROP_TLS] = "tls"};
    const struct snapshot *s = m->s;
    family_counter(m, "redlockd_http_answers", "Answered HTTP requests, by status.");
    for (unsigned i = 0; i < HTTP_STATUSES; i++)
        body_putf(m->b, "redlockd_http_answers_total{code=\"%d\"} %" PRIu64 "\n", s->http_answers[i].status,
                  s->http_answers[i].count);
    family_counter(m, "redlockd_http_dropped", "HTTP connections that were closed without an answer.");
    for (unsigned i = 0; i < HTTP_DROPS; i++)
        body_putf(m->b, "redlockd_http_dropped_total{reason=\"%s\"} %" PRIu64 "\n", drops[i],
                  s->http_dropped[i]);
}

static void metrics_times(const struct metrics *m)
{
    const struct snapshot *s = m->s;
    char label[64], verb[32];
    histogram(m, "redlockd_lock_wait_seconds", "From LOCK to the grant, of granted locks.",
              &s->counts->waited);
    histogram(m, "redlockd_lock_held_seconds", "From the grant of a lock to its end here.", s->held);
    family(m, "redlockd_request_seconds", "", "histogram", "From a request to its answer.");
    for (unsigned v = 0; v < COUNTS_TIMED; v++) {
        snprintf(label, sizeof label, "verb=\"%s\"", small(line_verb_word((enum verb)v), verb));
        put_histogram(m, "redlockd_request_seconds", label, &s->counts->seconds[v]);
    }
    histogram(m, "redlockd_renewal_left_seconds", "Validity that was left when a renewal came through.",
              s->renewal_left);
    histogram(m, "redlockd_loop_lag_seconds", "How late the daemon's timer was.", s->lag);
}

/* ---- the process ---- */

static void metrics_process(const struct metrics *m)
{
    struct process process;
    process_read(&process);
    family_counter(m, "process_cpu_seconds", "CPU time, user and system.");
    body_put(m->b, "process_cpu_seconds_total ");
    put_seconds(m, process.cpu_us);
    if (process.resident_bytes > 0)
        gauge(m, "process_resident_memory_bytes", "Memory in RAM.", process.resident_bytes);
    if (process.virtual_bytes > 0)
        gauge(m, "process_virtual_memory_bytes", "Address space.", process.virtual_bytes);
    if (process.descriptors > 0)
        gauge(m, "process_open_fds", "Open descriptors.", process.descriptors);
    gauge(m, "process_max_fds", "Descriptors that may be open.", process.descriptors_max);
    gauge_seconds(m, "process_start_time_seconds", "When the daemon started, since 1970.",
                  (m->s->wall_ms - m->s->up_ms) * 1000);
}

void metrics_write(struct body *b, const struct snapshot *snapshot, bool openmetrics)
{
    const struct metrics m = {b, snapshot, openmetrics};
    family_gauge(&m, "redlockd_build_info", "1; its labels say what runs.");
    put_label(&m, "redlockd_build_info", "version", snapshot->version);
    body_put(b, "} 1\n");
    gauge(&m, "redlockd_draining", "1 while the daemon shuts down in order.", snapshot->draining);
    gauge(&m, "redlockd_config_last_reload_successful", "0 if the file was read again and refused.",
          !snapshot->reload_failed);
    metrics_masters(&m);
    metrics_locks(&m);
    metrics_requests(&m);
    metrics_outcomes(&m);
    metrics_safety(&m);
    metrics_http(&m);
    metrics_times(&m);
    metrics_process(&m);
    if (openmetrics)
        body_put(b, "# EOF\n");
}
