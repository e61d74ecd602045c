/* The table of figures, against the two references and what is written for Prometheus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/http_private.h"
#include "tests/unit/suite.h"

enum { FILE_BYTES = 1 << 20, NAME = 64, LINE = 256 };

static char *read_text(const char *path)
{
    char *text = calloc(1, FILE_BYTES);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(file != NULL, "%s", path);
    size_t len = fread(text, 1, FILE_BYTES, file);
    ck_assert(len > 0 && len < FILE_BYTES);
    fclose(file);
    return text;
}

/* The next figure that the reference explains: its name stands ten columns in, and a + follows where it
 * counts. */
static bool next_explained(const char **at, char name[NAME], bool *counts)
{
    char sign;
    while (**at != '\0') {
        const char *line = *at;
        const char *end = strchr(line, '\n');
        *at = end != NULL ? end + 1 : line + strlen(line);
        if (strspn(line, " ") == 10 && sscanf(line, " %63[a-z_] %c", name, &sign) == 2) {
            *counts = sign == '+';
            return true;
        }
    }
    return false;
}

T(the_reference_has_them_in_their_order)
{
    char *text = read_text("proto/protocol.txt");
    char name[NAME];
    bool counts;
    char *section = strstr(text, "\nSTATS     ");
    ck_assert_ptr_nonnull(section);
    *strstr(section, "\n\n\n") = '\0'; /* its end */
    const char *at = strstr(section, "\n\n");
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        const struct figure *f = &figures_table[i];
        if (!f->shown)
            continue;
        ck_assert_msg(next_explained(&at, name, &counts), "proto/protocol.txt, SHOW STATS: there is no %s",
                      f->name);
        ck_assert_msg(strcmp(name, f->name) == 0,
                      "proto/protocol.txt, SHOW STATS: %s stands where daemon/figures.h has %s", name,
                      f->name);
        ck_assert_msg(
            counts == (f->kind != FIGURE_GAUGE),
            "%s: proto/protocol.txt has a + behind it where daemon/figures.h has no COUNTER, or the reverse",
            name);
    }
    ck_assert_msg(!next_explained(&at, name, &counts),
                  "proto/protocol.txt explains %s, which SHOW STATS does not show", name);
    free(text);
}

static const char *total(const struct figure *f)
{
    return f->kind == FIGURE_GAUGE ? "" : "_total";
}

T(the_handbook_has_each_metric)
{
    char *text = read_text("conf/OPERATING.md"), alone[LINE], labelled[LINE];
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        const struct figure *f = &figures_table[i];
        if (f->place == METRICS_NONE)
            continue;
        snprintf(alone, sizeof alone, "`%s%s`", f->family, total(f));
        snprintf(labelled, sizeof labelled, "`%s%s{", f->family, total(f));
        ck_assert_msg(strstr(text, f->labels[0] != '\0' ? labelled : alone) != NULL,
                      "conf/OPERATING.md has no %s", f->labels[0] != '\0' ? labelled : alone);
    }
    free(text);
}

/* Gives each figure a value of its own, its row's number in thousands, and writes all for Prometheus. */
static void write_metrics(struct body *b)
{
    static struct snapshot s;
    static const struct counts counts;
    static const struct histogram histogram;
    s.version = "1";
    s.counts = &counts;
    s.held = s.renewal_left = s.lag = &histogram;
    s.group.state = s.group.why = "";
    for (unsigned i = 0; i < SNAPSHOT_LIMITS; i++)
        s.limits[i].key = "";
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        uint64_t value = (i + 1) * 1000;
        memcpy((char *)&s.figures + figures_table[i].offset, &value, sizeof value);
    }
    metrics_write(b, &s, false);
    ck_assert_int_eq(buffer_append(&b->buffer, "", 1), 0);
}

static void format_sample(unsigned row, char sample[LINE])
{
    const struct figure *f = &figures_table[row];
    bool labelled = f->labels[0] != '\0', in_ms = f->kind == FIGURE_COUNTER_MS;
    snprintf(sample, LINE, "%s%s%s%s%s %u%s\n", f->family, total(f), labelled ? "{" : "", f->labels,
             labelled ? "}" : "", in_ms ? row + 1 : (row + 1) * 1000, in_ms ? ".000000" : "");
}

/* Prometheus wants the samples of a family to stand together, below its HELP and TYPE. */
T(prometheus_is_told_each)
{
    struct body b = {.failed = false};
    char sample[LINE], expected[4 * LINE];
    const struct figure *before[METRICS_PLACES] = {NULL};
    char sample_before[METRICS_PLACES][LINE];
    write_metrics(&b);
    for (unsigned i = 0; i < FIGURES_COUNT; i++) {
        const struct figure *f = &figures_table[i], *neighbour = before[f->place];
        if (f->place == METRICS_NONE)
            continue;
        format_sample(i, sample);
        if (f->help != NULL) {
            const char *type = f->kind == FIGURE_GAUGE ? "gauge" : "counter";
            snprintf(expected, sizeof expected, "\n# HELP %s%s %s\n# TYPE %s%s %s\n%s", f->family, total(f),
                     f->help, f->family, total(f), type, sample);
        } else {
            ck_assert_msg(neighbour != NULL && strcmp(neighbour->family, f->family) == 0,
                          "%s has no help, nor has the row before it in its place the same family", f->name);
            snprintf(expected, sizeof expected, "\n%s%s", sample_before[f->place], sample);
        }
        ck_assert_msg(strstr(b.buffer.bytes, expected) != NULL, "/metrics lacks:%s", expected);
        before[f->place] = f;
        memcpy(sample_before[f->place], sample, sizeof sample);
    }
    body_free(&b);
}
