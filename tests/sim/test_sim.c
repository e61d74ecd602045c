/* The simulator's share of `make check`: the plans of old bugs pass, a seed gives one trace,
 * planted bugs are found, and a few hundred seeds find nothing. */
#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/sim.h"
#include "tests/unit/suite.h"

enum { SECONDS = 30, SEEDS = 200, LIMIT_S = 5, MUTANT_SEEDS = 200 };

static struct sim_world *w;
static struct sim_plan *plan;

static void setup(void)
{
    w = calloc(1, sizeof(*w));
    plan = calloc(1, sizeof(*plan));
    ck_assert(w != NULL && plan != NULL);
}

static void teardown(void)
{
    world_free(w);
    free(plan);
}

static void read_plan(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    ck_assert(plan_read(plan, file, path));
    fclose(file);
}

SETUP(setup, teardown);
TIME_LIMIT_S(120);

T(old_bugs_stay_fixed)
{
    glob_t found;
    ck_assert_int_eq(glob("tests/sim/regressions/*.plan", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        read_plan(found.gl_pathv[i]);
        int invariant = run_plan(w, plan);
        ck_assert_msg(invariant == 0, "%s: invariant %d: %s", found.gl_pathv[i], invariant, w->why);
    }
    globfree(&found);
}

T(seeds_find_nothing)
{
    time_t end = time(NULL) + LIMIT_S;
    for (uint64_t seed = 1; seed <= SEEDS && time(NULL) < end; seed++) {
        plan_draw(plan, seed, SECONDS, MUTANT_NONE);
        int invariant = run_plan(w, plan);
        ck_assert_msg(invariant == 0, "seed %d: invariant %d: %s", (int)seed, invariant, w->why);
    }
}

T(a_seed_is_one_trace)
{
    uint64_t other = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        plan_draw(plan, seed, 10, MUTANT_NONE);
        ck_assert_int_eq(run_plan(w, plan), 0);
        uint64_t hash = w->trace.hash;
        ck_assert_uint_gt(w->trace.lines, 100);
        ck_assert(hash != other);
        other = hash;
        ck_assert_int_eq(run_plan(w, plan), 0);
        ck_assert(w->trace.hash == hash);
    }
}

T(a_written_plan_is_the_same_run)
{
    plan_draw(plan, 3, 10, MUTANT_NONE);
    ck_assert_int_eq(run_plan(w, plan), 0);
    uint64_t hash = w->trace.hash;
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    plan_write(plan, file);
    rewind(file);
    memset(plan, 0, sizeof(*plan));
    ck_assert(plan_read(plan, file, "a plan"));
    fclose(file);
    ck_assert_int_eq(run_plan(w, plan), 0);
    ck_assert(w->trace.hash == hash);
}

T_EACH(a_planted_bug_is_found, MUTANT_COUNT - 1)
{
    enum mutant mutant = (enum mutant)(_i + 1); /* 0 is none */
    int invariant = 0;
    for (uint64_t seed = 1; seed <= MUTANT_SEEDS && invariant == 0; seed++) {
        plan_draw(plan, seed, SECONDS, mutant);
        invariant = run_plan(w, plan);
    }
    ck_assert_msg(invariant != 0, "%s: not found", mutant_name(mutant));
}
