/* sim: runs seeds, plans and planted bugs. */
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/hours.h"
#include "tests/sim/sim.h"

enum { LAST_LINES = 60, MUTANT_SEEDS = 200, TWICE_EVERY = 16 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct options {
    uint64_t seed, runs;
    int64_t seconds, time_s;
    unsigned jobs;
    enum mutant mutant, aim;
    bool trace, shrink, mutants;
    const char *out;
};

static struct sim_world *world_new(void)
{
    struct sim_world *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        fprintf(stderr, "sim: no memory\n");
        exit(1);
    }
    return w;
}

static struct sim_plan *plan_new(void)
{
    struct sim_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        fprintf(stderr, "sim: no memory\n");
        exit(1);
    }
    return plan;
}

static void report(const struct sim_world *w, const struct sim_plan *plan)
{
    fflush(stdout);
    trace_print_last(w, stderr, LAST_LINES);
    fprintf(stderr, "\nseed %" PRIu64 ": invariant %d broken at %.6f: %s\n", plan->seed, w->invariant,
            (double)w->now_us / 1e6, w->why);
}

/* ---- seeds ---- */

struct tally {
    uint64_t runs, items, grants, handed, joined, requests;
    double simulated_s;
    struct hours hours;
};

static bool same_twice(struct sim_world *w, const struct sim_plan *plan)
{
    uint64_t hash = w->trace.hash;
    int invariant = w->invariant;
    if (run_plan(w, plan) == invariant && w->trace.hash == hash)
        return true;
    w->invariant = 12;
    snprintf(w->why, sizeof(w->why), "the same seed gave another trace");
    return false;
}

static int fail(const struct options *options, struct sim_world *w, struct sim_plan *plan)
{
    report(w, plan);
    if (options->shrink && w->invariant != 12) {
        const char *path = options->out != NULL ? options->out : "shrunk.plan";
        shrink(w, plan);
        run_plan(w, plan);
        report(w, plan);
        FILE *file = fopen(path, "w");
        if (file != NULL) {
            fprintf(file, "# invariant %d: %s\n", w->invariant, w->why);
            plan_write(plan, file);
            fclose(file);
            fprintf(stderr, "plan written to %s\n", path);
        }
    }
    return 1;
}

static int run_seeds(const struct options *options, uint64_t first, uint64_t step, struct tally *tally)
{
    struct sim_world *w = world_new();
    struct sim_plan *plan = plan_new();
    double end_s = now_s() + (double)options->time_s;
    int failed = 0;
    w->trace.print = options->trace;
    for (uint64_t i = first; failed == 0; i += step) {
        if (options->time_s > 0 ? now_s() > end_s : i >= options->runs)
            break;
        plan_draw(plan, options->seed + i, options->seconds, options->aim);
        plan->mutant = options->mutant;
        failed = run_plan(w, plan);
        tally->runs++;
        tally->items += w->items;
        tally->grants += w->oracle.grants;
        tally->handed += w->oracle.handed;
        tally->joined += w->oracle.joined;
        tally->requests += w->oracle.requests;
        tally->simulated_s += (double)w->now_us / 1e6;
        hours_add(&tally->hours, w, plan);
        w->oracle.grants = w->oracle.handed = w->oracle.joined = w->oracle.requests = 0;
        if (failed == 0 && i % TWICE_EVERY == 0 && !options->trace && !same_twice(w, plan))
            failed = 12;
        if (failed != 0)
            failed = fail(options, w, plan);
    }
    world_free(w);
    free(plan);
    return failed;
}

static void tally_add(struct tally *all, const struct tally *one)
{
    all->runs += one->runs;
    all->items += one->items;
    all->grants += one->grants;
    all->handed += one->handed;
    all->joined += one->joined;
    all->requests += one->requests;
    all->simulated_s += one->simulated_s;
    hours_merge(&all->hours, &one->hours);
}

static int run_forked(const struct options *options, struct tally *all)
{
    int failed = 0, pipes[2];
    if (pipe(pipes) != 0)
        return 1;
    for (unsigned i = 0; i < options->jobs; i++) {
        if (fork() != 0)
            continue;
        struct tally tally = {0};
        int status = run_seeds(options, i, options->jobs, &tally);
        fflush(stdout);
        if (write(pipes[1], &tally, sizeof(tally)) != sizeof(tally))
            status = 1;
        _exit(status);
    }
    close(pipes[1]);
    struct tally tally;
    while (read(pipes[0], &tally, sizeof(tally)) == sizeof(tally))
        tally_add(all, &tally);
    for (int status; wait(&status) > 0;)
        failed |= status != 0;
    close(pipes[0]);
    return failed;
}

/* A single job runs in this process, where debuggers and coverage see it. */
static int run_jobs(const struct options *options)
{
    double begin_s = now_s();
    struct tally all = {0};
    int failed = options->jobs == 1 ? run_seeds(options, 0, 1, &all) : run_forked(options, &all);
    double took_s = now_s() - begin_s;
    hours_print(&all.hours, stdout);
    printf("%" PRIu64 " runs, %.2f simulated hours, %" PRIu64 " requests, %" PRIu64 " grants (%" PRIu64
           " handed on, %" PRIu64 " joined), %" PRIu64 " happenings in %.1f s: %.0f x real time%s\n",
           all.runs, all.simulated_s / 3600, all.requests, all.grants, all.handed, all.joined, all.items,
           took_s, all.simulated_s / took_s, failed ? "; FAILED" : ", nothing found");
    return failed != 0;
}

static bool can_plant(bool asked, const char *where)
{
    if (!asked || mutants_linked)
        return true;
    fprintf(stderr,
            "sim: %s asks for a planted bug, and this program has the daemon's own coordinator, without any: "
            "use sim_planted, which `make mutants` builds beside it\n",
            where);
    return false;
}

static int run_read(const struct options *options, struct sim_world *w, struct sim_plan *plan,
                    const char *path)
{
    w->trace.print = options->trace;
    if (options->mutant != MUTANT_NONE)
        plan->mutant = options->mutant;
    if (!can_plant(plan->mutant != MUTANT_NONE, path))
        return 1;
    int failed = run_plan(w, plan);
    if (failed != 0)
        failed = fail(options, w, plan);
    printf("%s: %s\n", path, failed ? "FAILED" : "passed");
    return failed;
}

static int run_file(const struct options *options, const char *path)
{
    struct sim_world *w = world_new();
    struct sim_plan *plan = plan_new();
    FILE *file = fopen(path, "r");
    int failed = 1;
    if (file == NULL)
        perror(path);
    else if (plan_read(plan, file, path))
        failed = run_read(options, w, plan, path);
    if (file != NULL)
        fclose(file);
    world_free(w);
    free(plan);
    return failed;
}

/* ---- planted bugs ---- */

struct found {
    int mutant;
    int invariant; /* 0: no violation was found */
    int seeds;
    double took_s;
    char why[160];
};

static void hunt(const struct options *options, enum mutant mutant, struct found *found)
{
    struct sim_world *w = world_new();
    struct sim_plan *plan = plan_new();
    double begin_s = now_s();
    found->mutant = (int)mutant;
    for (found->seeds = 1; found->seeds <= MUTANT_SEEDS && found->invariant == 0; found->seeds++) {
        plan_draw(plan, options->seed + (uint64_t)found->seeds - 1, options->seconds, mutant);
        found->invariant = run_plan(w, plan);
    }
    found->seeds--;
    snprintf(found->why, sizeof(found->why), "%.*s", (int)sizeof(found->why) - 1, w->why);
    found->took_s = now_s() - begin_s;
    world_free(w);
    free(plan);
}

static int hunt_all(const struct options *options)
{
    struct found found[MUTANT_COUNT] = {{0}};
    unsigned running_jobs = 0, next = 1;
    int pipes[2], missed = 0;
    double begin_s = now_s();
    if (pipe(pipes) != 0)
        return 1;
    while (next < MUTANT_COUNT || running_jobs > 0) {
        while (next < MUTANT_COUNT && running_jobs < options->jobs) {
            if (fork() == 0) {
                struct found one = {0};
                if (freopen("/dev/null", "w", stderr) == NULL)
                    _exit(1);
                hunt(options, (enum mutant)next, &one);
                _exit(write(pipes[1], &one, sizeof(one)) != sizeof(one));
            }
            next++;
            running_jobs++;
        }
        struct found one;
        if (wait(NULL) > 0 && read(pipes[0], &one, sizeof(one)) == sizeof(one))
            found[one.mutant] = one;
        running_jobs--;
    }
    printf("%-24s %6s %10s %7s  %s\n", "planted bug", "seeds", "invariant", "s", "found as");
    for (unsigned i = 1; i < MUTANT_COUNT; i++) {
        const struct found *f = &found[i];
        char invariant[16] = "assertion";
        if (f->invariant != INVARIANT_ASSERT)
            snprintf(invariant, sizeof(invariant), "%d", f->invariant);
        printf("%-24s %6d %10s %7.1f  %s\n", mutant_name((enum mutant)i), f->seeds,
               f->invariant == 0 ? "NOT FOUND" : invariant, f->took_s, f->invariant == 0 ? "" : f->why);
        missed += f->invariant == 0;
    }
    printf("%d planted bugs, %d not found, %.0f s\n", MUTANT_COUNT - 1, missed, now_s() - begin_s);
    return missed != 0;
}

/* ---- options ---- */

static const char usage[] =
    "usage: sim [--seed S] [--runs N | --time SECONDS] [--seconds T] [--jobs J] [--mutant NAME]\n"
    "           [--class NAME] [--trace] [--shrink [--out FILE]] [PLAN ...]\n"
    "       sim --mutants | --list-mutants\n"
    "  --mutant NAME plants a bug and draws the faults that show it; --aim NAME draws them only\n"
    "  --class NAME  only worlds of that class: ordinary, memory, clock, rolling, disagree, turns, split,\n"
    "                modes, lists, slots, generation\n"
    "  --readers     clients of every world share locks\n"
    "  --old         in ordinary, memory and clock worlds one daemon is of the version before\n"
    "                the queue, now and then\n"
    "  --seconds T   faults last T simulated seconds of each run (30)\n"
    "  --shrink      make a failing plan small and write it to FILE (shrunk.plan)\n";

static bool parse(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {{"seed", 1, NULL, 's'},    {"runs", 1, NULL, 'n'},
                                          {"seconds", 1, NULL, 't'}, {"time", 1, NULL, 'T'},
                                          {"jobs", 1, NULL, 'j'},    {"mutant", 1, NULL, 'm'},
                                          {"aim", 1, NULL, 'a'},     {"list-mutants", 0, NULL, 'l'},
                                          {"mutants", 0, NULL, 'M'}, {"trace", 0, NULL, 'v'},
                                          {"shrink", 0, NULL, 'S'},  {"plan", 1, NULL, 'p'},
                                          {"out", 1, NULL, 'o'},     {"class", 1, NULL, 'c'},
                                          {"readers", 0, NULL, 'r'}, {"old", 0, NULL, 'O'},
                                          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 's': options->seed = strtoull(optarg, NULL, 10); break;
        case 'n': options->runs = strtoull(optarg, NULL, 10); break;
        case 't': options->seconds = strtoll(optarg, NULL, 10); break;
        case 'T': options->time_s = strtoll(optarg, NULL, 10); break;
        case 'j': options->jobs = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'm': options->mutant = options->aim = mutant_by_name(optarg); break;
        case 'a': options->aim = mutant_by_name(optarg); break;
        case 'M': options->mutants = true; break;
        case 'v': options->trace = true; break;
        case 'S': options->shrink = true; break;
        case 'o': options->out = optarg; break;
        case 'c':
            plan_class_drawn = class_by_name(optarg);
            if (plan_class_drawn == CLASSES)
                return false;
            break;
        case 'r': plan_readers = true; break;
        case 'O': plan_old = true; break;
        case 'p': optind--; return true;
        case 'l':
            for (unsigned i = 1; i < MUTANT_COUNT; i++)
                printf("%-24s %s\n", mutant_name((enum mutant)i), mutant_text((enum mutant)i));
            exit(0);
        default: return false;
        }
    }
    return options->jobs >= 1 && options->jobs <= 64 && options->seconds >= 1 &&
           options->mutant != MUTANT_COUNT && options->aim != MUTANT_COUNT;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1, .runs = 1, .seconds = 30, .jobs = 1};
    /* Each daemon's tables come as fresh pages, which are zero; clearing old ones would touch all of
     * them. */
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    if (!parse(&options, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!can_plant(options.mutants || options.mutant != MUTANT_NONE, "the command line"))
        return 2;
    if (options.mutants)
        return hunt_all(&options);
    int failed = 0;
    for (int i = optind; i < argc; i++)
        failed |= run_file(&options, argv[i]);
    return optind < argc ? failed : run_jobs(&options);
}
