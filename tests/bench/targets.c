/* The daemon's targets beside the other servers of the same run, and whether it met them. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/pages.h"

static FILE *out;

static const char *const transports[] = {"tcp", "unix"};

static void row(const char *verdict, struct range range, const char *bound, const char *format,
                va_list arguments) __attribute__((format(printf, 4, 0)));

/* More digits would be noise. */
static void row(const char *verdict, struct range range, const char *bound, const char *format,
                va_list arguments)
{
    char text[160];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(out, "%-7s %-62s %9.4g  (%.4g to %.4g)  %s\n", verdict, text, range.median, range.least,
            range.most, bound);
}

static void at_least(struct range range, double bound, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void at_most(struct range range, double bound, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void shown(struct range range, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void at_least(struct range range, double bound, const char *format, ...)
{
    char text[32];
    va_list arguments;
    if (isnan(range.median))
        return;
    snprintf(text, sizeof text, ">= %.4g", bound);
    va_start(arguments, format);
    row(range.median >= bound ? "met" : "MISSED", range, text, format, arguments);
    va_end(arguments);
}

static void at_most(struct range range, double bound, const char *format, ...)
{
    char text[32];
    va_list arguments;
    if (isnan(range.median))
        return;
    snprintf(text, sizeof text, "<= %.4g", bound);
    va_start(arguments, format);
    row(range.median <= bound ? "met" : "MISSED", range, text, format, arguments);
    va_end(arguments);
}

static void shown(struct range range, const char *format, ...)
{
    va_list arguments;
    if (isnan(range.median))
        return;
    va_start(arguments, format);
    row("", range, "", format, arguments);
    va_end(arguments);
}

/* ---- ratios ---- */

static void ratios(const struct scale *scale)
{
    static const char *const others[] = {"ceiling", "no-fence", "relay", "echo", "npm-redlock", "redis-kit"};
    for (const unsigned *workers = scale->worker_counts; *workers; workers++)
        for (unsigned t = 0; t < 2; t++) {
            struct what daemon = {"W1", "daemon", transports[t], *workers};
            for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
                bool serves = strcmp(others[i], "relay") == 0 || strcmp(others[i], "echo") == 0;
                struct what other = {"W1", others[i], serves ? transports[t] : "tcp", *workers};
                shown(record_ratio(daemon, other, CYCLES_S), "W1 %u workers, %s: cycles/s, of the %s",
                      *workers, transports[t], others[i]);
            }
            struct what relay = {"W1", "relay", transports[t], *workers};
            shown(record_ratio(relay, (struct what){"W1", "ceiling", "tcp", *workers}, CYCLES_S),
                  "W1 %u workers, %s: the relay's cycles/s, of the ceiling", *workers, transports[t]);
            shown(record_difference(daemon, relay, SERVER_CPU_US),
                  "W1 %u workers, %s: CPU us a cycle above the relay", *workers, transports[t]);
        }
    for (unsigned t = 0; t < 2; t++) {
        struct what daemon = {"W8", "daemon", transports[t], 16};
        shown(record_ratio(daemon, (struct what){"W8", "relay", transports[t], 16}, CYCLES_S),
              "W8 connect to close, %s: cycles/s, of the relay", transports[t]);
    }
}

/* ---- targets ---- */

static void uncontended(void)
{
    static const struct what ceiling = {"W1", "ceiling", "tcp", 1},
                             tagged_ceiling = {"W1-tags", "ceiling", "tcp", 64};
    for (unsigned t = 0; t < 2; t++) {
        const char *via = transports[t];
        struct what one = {"W1", "daemon", via, 1}, many = {"W1", "daemon", via, 64};
        at_least(record_ratio(many, (struct what){"W1", "relay", via, 64}, CYCLES_S), 0.85,
                 "W1 64 workers, %s: cycles/s, of the relay", via);
        at_least(record_ratio(many, (struct what){"W1", "npm-redlock", "tcp", 64}, CYCLES_S), 5,
                 "W1 64 workers, %s: cycles/s, of npm redlock", via);
        at_least(record_ratio(many, (struct what){"W1", "redis-kit", "tcp", 64}, CYCLES_S), 2,
                 "W1 64 workers, %s: cycles/s, of @redis-kit/lock", via);
        at_least(record_ratio((struct what){"W1-tags", "daemon", via, 64}, tagged_ceiling, CYCLES_S), 0.75,
                 "W1 64 tags over 4 connections, %s: cycles/s, of the ceiling", via);
        at_most(record_difference(many, (struct what){"W1", "echo", via, 64}, SERVER_CPU_US), 8,
                "W1 64 workers, %s: CPU us a cycle above the echo", via);
        at_most(record_ratio(one, ceiling, LOCK_P50_US), 1.5, "W2 one worker, %s: lock p50, of the ceiling",
                via);
    }
    struct what each = {"counts", "daemon", "unix", 64}, tags = {"counts-tags", "daemon", "unix", 64};
    at_most(record_range(tags, SYSCALLS), 2, "W1 64 tags over 4 connections: system calls a cycle");
    shown(record_range(each, SYSCALLS), "W1 64 workers: system calls a cycle");
    at_most(record_range(each, OUR_MALLOCS), 0.001, "W1 64 workers: allocations of the daemon's own a cycle");
    shown(record_range(each, LIB_MALLOCS), "W1 64 workers: allocations of its libraries a cycle");
}

static void counted(void)
{
    static const unsigned workers[] = {16, 64};
    static const char *const kinds[] = {"slots", "names"};
    for (unsigned i = 0; i < 4; i++) {
        struct what what = {"counts", "daemon", transports[i % 2], workers[i / 2]};
        shown(record_range(what, WAITS), "W1 %u workers, %s: turns of the loop a cycle", what.size,
              what.transport);
        shown(record_range(what, MASTERS_READS), "... reads of all masters a cycle");
    }
    for (unsigned i = 0; i < 2; i++) {
        struct what what = {i ? "counts-names" : "counts-slots", "daemon", "unix", 64};
        shown(record_range(what, MASTERS_COMMANDS), "W3 64 workers on 16 %s: commands of all masters a cycle",
              kinds[i]);
        shown(record_range(what, MASTERS_SCRIPTS), "... their scripts a cycle");
    }
}

static void fanout(void)
{
    struct what quorum = {"fanout", "quorum", "unix", 64}, all = {"fanout", "all", "unix", 64};
    struct what quorum_apart = {"fanout-apart", "quorum", "unix", 256};
    struct what all_apart = {"fanout-apart", "all", "unix", 256};
    shown(record_ratio(quorum, all, CYCLES_S), "fanout: quorum: cycles/s, of all");
    shown(record_ratio(quorum, all, MASTERS_CPU_US), "fanout: quorum: masters' CPU a cycle, of all");
    at_least(record_ratio(quorum_apart, all_apart, CYCLES_S), 1.3,
             "fanout: quorum, masters on a core of their own: cycles/s, of all");
    at_most(record_ratio(quorum_apart, all_apart, MASTERS_CPU_US), 0.65,
            "fanout: quorum, masters on a core of their own: their CPU a cycle");
}

static void native(void)
{
    struct what apart = {"native-apart", "native", "unix", 256};
    struct what scripts_apart = {"native-apart", "scripts", "unix", 256};
    for (unsigned t = 0; t < 2; t++) {
        struct what by = {"native", "native", transports[t], 64},
                    scripts = {"native", "scripts", transports[t], 64};
        at_most(record_ratio(by, scripts, MASTERS_CPU_US), 0.70,
                "native commands, 64 workers, %s: masters' CPU a cycle, of scripts'", transports[t]);
        shown(record_ratio(by, scripts, CYCLES_S), "native commands, 64 workers, %s: cycles/s, of scripts'",
              transports[t]);
    }
    at_most(record_ratio(apart, scripts_apart, MASTERS_CPU_US), 0.70,
            "native commands, masters on a core of their own: their CPU a cycle");
    at_least(record_ratio(apart, scripts_apart, CYCLES_S), 1.15,
             "native commands, masters on a core of their own: cycles/s");
}

static void modes(void)
{
    static const unsigned workers[] = {1, 64};
    struct what beside = {"page", "beside-a-writer", "unix", PAGES_READERS};
    struct what readers = {"page", "readers", "unix", PAGES_READERS};
    at_most(record_ratio((struct what){"names", "three", "unix", 1}, (struct what){"names", "one", "unix", 1},
                         LOCK_P50_US),
            1.6, "modes: lock p50 of three names at once, of one name's");
    for (unsigned i = 0; i < 2; i++)
        shown(record_ratio((struct what){"names", "three", "unix", workers[i]},
                           (struct what){"names", "one", "unix", workers[i]}, CYCLES_S),
              "modes: three names at once, %u workers: cycles/s, of one name's", workers[i]);
    at_least(record_range((struct what){"crowd", "readers", "unix", 10000}, CYCLES_S), 20000,
             "modes: 10,000 readers of one name over one connection: joins/s");
    at_most(record_range(beside, P99_OF_SECTION), 3,
            "modes: a writer's p99, of the longest section of a reader");
    at_least(record_ratio(beside, readers, CYCLES_S), 0.5,
             "modes: readers beside a writer each 100 ms: reads/s, of without it");
}

static void contended(void)
{
    struct what one = {"W3", "daemon", "unix", 64}, three = {"W3", "3-daemons", "unix", 64};
    struct what core = {"W3", "one-core", "unix", 64}, echo = {"W3", "echo", "unix", 1};
    shown(record_range(one, HANDOVERS_S), "W3 64 workers on one name: hand-overs/s");
    at_least(record_range(core, HANDOVERS_S), 20000,
             "W3: hand-overs/s, the daemon and the workers on one core");
    shown(record_ratio(one, echo, CYCLES_S), "W3: hand-overs/s, of the cycles of one worker with an echo");
    at_least(record_range(one, JAIN), 0.99, "W3: Jain's index");
    at_most(record_range(one, MAX_OF_P50), 3, "W3: longest wait, of the median");
    struct what slots = {"W3-slots", "daemon", "unix", 64}, names = {"W3-names", "daemon", "unix", 64};
    at_least(record_ratio(slots, names, CYCLES_S), 0.7, "W3 64 workers on 16 slots: cycles/s, of 16 names");
    shown(record_range((struct what){"W3-slots", "3-daemons", "unix", 64}, CYCLES_S),
          "W3 64 workers on 16 slots, through three daemons: cycles/s");
    shown(record_range(three, HANDOVERS_S), "W3 through three daemons: hand-overs/s");
    shown(record_range(three, JAIN), "W3 through three daemons: Jain's index");
    shown(record_range(three, MAX_OF_P50), "W3 through three daemons: longest wait, of the median");
}

static void before(void)
{
    struct what distinct = {"W1", "daemon", "unix", 64}, one_name = {"W3", "daemon", "unix", 64};
    at_least(record_ratio(distinct, (struct what){"W1", "before", "unix", 64}, CYCLES_S), 0.97,
             "W1 64 workers: cycles/s, of the build before");
    at_least(record_ratio(one_name, (struct what){"W3", "before", "unix", 64}, HANDOVERS_S), 0.97,
             "W3 64 workers on one name: hand-overs/s, of the build before");
}

static void masters_away(void)
{
    struct what healthy4 = {"W4", "healthy", "unix", 16}, hangs = {"W4", "one-hangs", "unix", 16};
    struct what healthy5 = {"W5", "healthy", "unix", 16}, dead = {"W5", "two-dead", "unix", 16};
    at_least(record_ratio(hangs, healthy4, CYCLES_S), 0.95, "W4 one master hangs: cycles/s, of the healthy");
    at_most(record_ratio(hangs, healthy4, LOCK_P99_US), 2, "W4 one master hangs: lock p99, of the healthy");
    at_most(record_range((struct what){"W4-long", "one-hangs", "unix", 16}, GROWN_KB), 8192,
            "W4 the daemon's memory grows by KiB");
    at_least(record_ratio(dead, healthy5, CYCLES_S), 0.95, "W5 two masters dead: cycles/s, of the healthy");
    at_most(record_ratio(dead, healthy5, LOCK_P99_US), 2, "W5 two masters dead: lock p99, of the healthy");
}

static void held(const struct scale *scale)
{
    struct what renewed = {"W6", "daemon", "unix", scale->renewed_locks};
    struct what idle = {"W7", "daemon", "unix", scale->idle_clients};
    struct what few = {"W9", "daemon", "unix", scale->held_locks[0]};
    at_most(record_range(renewed, SERVER_CPU_PERCENT), 35, "W6 %u renewed locks: %% of a core",
            scale->renewed_locks);
    at_most(record_range(renewed, BYTES_EACH), 400, "W6 %u renewed locks: bytes of memory each",
            scale->renewed_locks);
    at_most(record_range(renewed, LOST), 0, "W6 %u renewed locks: lost", scale->renewed_locks);
    at_most(record_range(idle, BYTES_EACH), 2048, "W7 %u idle clients: bytes of memory each",
            scale->idle_clients);
    for (unsigned i = 1; i < 3; i++) {
        struct what many = {"W9", "daemon", "unix", scale->held_locks[i]};
        at_most(record_ratio(many, few, SERVER_CPU_US), 1.15,
                "W9 CPU a cycle beside %u held locks, of beside %u", scale->held_locks[i],
                scale->held_locks[0]);
    }
}

void targets_print(const struct scale *scale, FILE *to)
{
    out = to;
    fputs("\nRatios and differences, by repetition: median (least to most).\n\n", out);
    ratios(scale);
    fputs("\nTargets.\n\n", out);
    uncontended();
    counted();
    fanout();
    native();
    modes();
    contended();
    before();
    masters_away();
    held(scale);
}
