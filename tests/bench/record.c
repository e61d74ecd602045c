#include "tests/bench/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/process.h"

enum { MEASUREMENTS = 4096, REPETITIONS = 64 };

static const char *const metric_names[METRICS] = {
    [CYCLES_S] = "cycles_s",
    [HANDOVERS_S] = "handovers_s",
    [LOCK_P50_US] = "lock_p50_us",
    [LOCK_P99_US] = "lock_p99_us",
    [LOCK_P999_US] = "lock_p999_us",
    [LOCK_MAX_US] = "lock_max_us",
    [MAX_OF_P50] = "max_of_p50",
    [UNLOCK_P50_US] = "unlock_p50_us",
    [UNLOCK_P99_US] = "unlock_p99_us",
    [UNLOCK_P999_US] = "unlock_p999_us",
    [SERVER_CPU_US] = "server_cpu_us",
    [MASTERS_CPU_US] = "masters_cpu_us",
    [LOAD_CPU_US] = "load_cpu_us",
    [SERVER_CPU_PERCENT] = "server_cpu_percent",
    [SERVER_MEMORY_KB] = "server_memory_kb",
    [GROWN_KB] = "grown_kb",
    [BYTES_EACH] = "bytes_each",
    [JAIN] = "jain",
    [REFUSED] = "refused",
    [LOST] = "lost",
    [SECTION_MAX_US] = "section_max_us",
    [P99_OF_SECTION] = "p99_of_section",
    [SYSCALLS] = "syscalls",
    [WAITS] = "waits",
    [OUR_MALLOCS] = "our_mallocs",
    [LIB_MALLOCS] = "library_mallocs",
    [MASTERS_COMMANDS] = "masters_commands",
    [MASTERS_SCRIPTS] = "masters_scripts",
    [MASTERS_READS] = "masters_reads",
};

static struct measurement all[MEASUREMENTS];
static unsigned count;

struct measurement measurement_of(struct what what)
{
    struct measurement m = {.what = what};
    for (unsigned i = 0; i < METRICS; i++)
        m.value[i] = NAN;
    return m;
}

static bool is_same(struct what a, struct what b)
{
    return strcmp(a.work, b.work) == 0 && strcmp(a.subject, b.subject) == 0 &&
           strcmp(a.transport, b.transport) == 0 && a.size == b.size;
}

static void print_number(FILE *out, double value)
{
    if (fabs(value) >= 100 || value == floor(value))
        fprintf(out, "%.0f", value);
    else
        fprintf(out, "%.*f", fabs(value) >= 10 ? 1 : 3, value);
}

void record_add(const struct measurement *m)
{
    if (count == MEASUREMENTS)
        fail("too many measurements");
    unsigned rep = 1;
    for (unsigned i = 0; i < count; i++)
        rep += is_same(all[i].what, m->what);
    all[count++] = *m;
    printf("work=%s subject=%s transport=%s size=%u rep=%u", m->what.work, m->what.subject, m->what.transport,
           m->what.size, rep);
    for (unsigned i = 0; i < METRICS; i++) {
        if (isnan(m->value[i]))
            continue;
        printf(" %s=", metric_names[i]);
        print_number(stdout, m->value[i]);
    }
    putchar('\n');
    fflush(stdout);
}

void measurement_read(struct measurement *m, const char *words)
{
    for (unsigned i = 0; i < METRICS; i++) {
        size_t len = strlen(metric_names[i]);
        for (const char *at = words; (at = strstr(at, metric_names[i])); at += len)
            if (at[len] == '=' && (at == words || at[-1] == ' '))
                m->value[i] = strtod(at + len + 1, NULL);
    }
}

/* ---- medians ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct range range_of(double *values, unsigned n)
{
    if (n == 0)
        return (struct range){NAN, NAN, NAN};
    qsort(values, n, sizeof *values, ascending);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return (struct range){median, values[0], values[n - 1]};
}

/* The measured values by repetition; NAN where a repetition has none. */
static unsigned values_of(struct what what, enum metric metric, double values[REPETITIONS])
{
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < REPETITIONS; i++)
        if (is_same(all[i].what, what))
            values[n++] = all[i].value[metric];
    return n;
}

static struct range range_of_measured(const double *values, unsigned n)
{
    double kept[REPETITIONS];
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++)
        if (isfinite(values[i]))
            kept[k++] = values[i];
    return range_of(kept, k);
}

struct range record_range(struct what what, enum metric metric)
{
    double values[REPETITIONS];
    return range_of_measured(values, values_of(what, metric, values));
}

struct range record_ratio(struct what what, struct what to, enum metric metric)
{
    double a[REPETITIONS], b[REPETITIONS];
    unsigned n = values_of(what, metric, a), m = values_of(to, metric, b);
    for (unsigned i = 0; i < n && i < m; i++)
        a[i] /= b[i];
    return range_of_measured(a, n < m ? n : m);
}

struct range record_difference(struct what what, struct what to, enum metric metric)
{
    double a[REPETITIONS], b[REPETITIONS];
    unsigned n = values_of(what, metric, a), m = values_of(to, metric, b);
    for (unsigned i = 0; i < n && i < m; i++)
        a[i] -= b[i];
    return range_of_measured(a, n < m ? n : m);
}

/* ---- the table ---- */

static void print_cell(FILE *out, int width, double value)
{
    char text[32];
    FILE *cell = fmemopen(text, sizeof text, "w");
    text[0] = '\0';
    if (cell) {
        if (isnan(value))
            fputc('-', cell);
        else
            print_number(cell, value);
        fclose(cell);
    }
    fprintf(out, " %*s", width, text);
}

static void print_row(FILE *out, struct what what)
{
    static const enum metric columns[] = {LOCK_P50_US,   LOCK_P99_US,     LOCK_P999_US,  UNLOCK_P50_US,
                                          UNLOCK_P99_US, UNLOCK_P999_US,  SERVER_CPU_US, MASTERS_CPU_US,
                                          LOAD_CPU_US,   SERVER_MEMORY_KB};
    char range[48];
    struct range rate = record_range(what, CYCLES_S);
    if (isnan(rate.median))
        return; /* targets_print() prints what was measured instead */
    snprintf(range, sizeof range, "%.0f (%.0f-%.0f)", rate.median, rate.least, rate.most);
    fprintf(out, "%-11s %-12s %-5s %6u %22s", what.work, what.subject, what.transport, what.size, range);
    for (unsigned i = 0; i < sizeof columns / sizeof columns[0]; i++)
        print_cell(out, 8, record_range(what, columns[i]).median);
    fputc('\n', out);
}

static bool is_first(unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (is_same(all[k].what, all[i].what))
            return false;
    return true;
}

void record_table(FILE *out)
{
    fputs("\nMedians; cycles a second with the least and the most; times in us; CPU in us a cycle; memory in "
          "KiB.\n\n",
          out);
    fprintf(out, "%-11s %-12s %-5s %6s %22s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "work", "subject",
            "via", "size", "cycles/s", "lock50", "lock99", "lock999", "unl50", "unl99", "unl999", "server",
            "masters", "load", "memory");
    for (unsigned i = 0; i < count; i++)
        if (is_first(i))
            print_row(out, all[i].what);
}
