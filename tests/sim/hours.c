/* The table of what was simulated. */
#include "tests/sim/hours.h"

#include <inttypes.h>

static void add(struct hours_row *to, const struct hours_row *row)
{
    to->runs += row->runs;
    to->grants += row->grants;
    to->simulated_s += row->simulated_s;
}

void hours_add(struct hours *hours, const struct sim_world *w, const struct sim_plan *plan)
{
    unsigned set = plan_features(plan) | feature_if(w->oracle.handed != 0, FEATURE_HANDS);
    struct hours_row row = {1, w->oracle.grants, (double)w->now_us / 1e6};
    add(&hours->class[plan->param[P_CLASS]], &row);
    add(&hours->features[__builtin_popcount(set)], &row);
}

void hours_merge(struct hours *to, const struct hours *hours)
{
    for (unsigned i = 0; i < CLASSES; i++)
        add(&to->class[i], &hours -> class[i]);
    for (unsigned i = 0; i <= FEATURES; i++)
        add(&to->features[i], &hours->features[i]);
}

static void print(FILE *file, const char *what, const struct hours_row *row)
{
    if (row->runs != 0)
        fprintf(file, "%-22s %9" PRIu64 " %9.2f %12" PRIu64 "\n", what, row->runs, row->simulated_s / 3600,
                row->grants);
}

void hours_print(const struct hours *hours, FILE *file)
{
    struct hours_row all = {0};
    fprintf(file, "%-22s %9s %9s %12s\n", "class", "runs", "hours", "grants");
    for (unsigned i = 0; i < CLASSES; i++) {
        print(file, class_name(i), &hours->class[i]);
        add(&all, &hours->class[i]);
    }
    fprintf(file, "of readers, lists, slots, hands, fanout and downgrade:\n");
    for (unsigned i = 0; i <= FEATURES; i++) {
        char what[24];
        snprintf(what, sizeof(what), "%u in one world", i);
        print(file, what, &hours->features[i]);
    }
    print(file, "all", &all);
}
