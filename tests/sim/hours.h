/* How much was simulated, by the class of the world and by the number of features that met in it. */
#ifndef SIM_HOURS_H
#define SIM_HOURS_H

#include "tests/sim/sim.h"

struct hours_row {
    uint64_t runs, grants;
    double simulated_s;
};

struct hours {
    struct hours_row class[CLASSES], features[FEATURES + 1];
};

/* Counts a run that is over. */
void hours_add(struct hours *hours, const struct sim_world *w, const struct sim_plan *plan);
void hours_merge(struct hours *to, const struct hours *hours);
void hours_print(const struct hours *hours, FILE *file);

#endif
