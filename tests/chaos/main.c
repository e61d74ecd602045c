/* chaos: real masters, daemons and clients under faults drawn from a seed, and a verdict. */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/chaos/verdict.h"
#include "tests/chaos/world.h"

enum { TICK_MS = 5, SETTLE_S = 60, QUIET_US = 8000000, FIRST_US = 5000000 };
enum { ALL_KINDS = (1u << FAULT_KINDS) - 1 };

struct options {
    uint64_t seed;
    int64_t seconds;
    uint32_t kinds;
    const char *binary, *keep;
    bool plan, change, direct;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* A process hangs. The children and the folder end with this process. */
static void on_alarm(int signal)
{
    static const char text[] = "chaos: it took far too long\n";
    (void)signal;
    if (write(2, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

static _Noreturn void usage(int status)
{
    fprintf(status == 0 ? stdout : stderr, "usage: chaos [--seed N] [--seconds T] [--daemon PATH] [--only "
                                           "FAULT[,FAULT]] [--keep FOLDER] [--change | --direct] [--plan]\n");
    exit(status);
}

static uint32_t kinds_parse(char *text)
{
    uint32_t kinds = 0;
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        if (strcmp(word, "none") == 0)
            continue;
        if (fault_named(word) == FAULT_KINDS) {
            fprintf(stderr, "chaos: no fault is named %s\n", word);
            exit(2);
        }
        kinds |= 1u << fault_named(word);
    }
    return kinds;
}

/* Whether these faults leave masters and daemons alone: then no change of masters may cost a lock. */
static bool spares(uint32_t kinds)
{
    return (kinds & ~(1u << FAULT_CLIENT_STOP | 1u << FAULT_CLIENT_KILL)) == 0;
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option longs[] = {
        {"seed", 1, NULL, 's'}, {"seconds", 1, NULL, 't'}, {"daemon", 1, NULL, 'd'}, {"only", 1, NULL, 'o'},
        {"keep", 1, NULL, 'k'}, {"plan", 0, NULL, 'p'},    {"change", 0, NULL, 'c'}, {"direct", 0, NULL, '3'},
        {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct options options = {.seed = (uint64_t)time(NULL) % 1000000,
                              .seconds = 60,
                              .kinds = ALL_KINDS,
                              .binary = "build/redlockd"};
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (option) {
        case 's': options.seed = strtoull(optarg, NULL, 10); break;
        case 't': options.seconds = strtoll(optarg, NULL, 10); break;
        case 'd': options.binary = optarg; break;
        case 'o': options.kinds = kinds_parse(optarg); break;
        case 'k': options.keep = optarg; break;
        case '3': options.direct = true; /* fall through */
        case 'c': options.change = true; break;
        case 'p': options.plan = true; break;
        default: usage(option == 'h' ? 0 : 2);
        }
    }
    if (options.seconds < 1 || options.seconds > 86400 || optind < argc)
        usage(2);
    return options;
}

/* ---- the run ---- */

static struct fault plan[FAULTS_PLANNED];

static bool wrong_seen(const struct history *history, uint32_t *seen)
{
    for (uint32_t used = atomic_load(&history->used); *seen < used && *seen < RECORDS; ++*seen)
        if (atomic_load(&history->record[*seen].kind) == RECORD_WRONG)
            return true;
    return false;
}

/* False: a process ended by itself. Stops early when a promise was broken. */
static bool run(struct world *world, unsigned faults, int64_t calm_us, int64_t end_us)
{
    int64_t start_us = now_us();
    unsigned next = 0;
    uint32_t seen = 0;
    bool calm = false;
    for (int64_t at_us = 0; at_us < end_us && !interrupted; at_us = now_us() - start_us) {
        if (!world_tick(world))
            return false;
        for (; next < faults && plan[next].at_us <= at_us; next++)
            world_fault(world, &plan[next]);
        if (!calm && at_us >= calm_us)
            world_calm(world);
        calm = at_us >= calm_us;
        if (wrong_seen(&world->shared->history, &seen) || history_full(&world->shared->history))
            break;
        poll(NULL, 0, TICK_MS);
    }
    return true;
}

/* The data that the locks protect: they must contain each accepted increment. */
static unsigned updates_lost(const struct shared *shared, const struct verdict *verdict)
{
    unsigned lost = 0;
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        int64_t count = redis_number(shared->counter_path, "count", name);
        int64_t done = redis_number(shared->counter_path, "done", name);
        /* A client that was killed in the middle does not know whether its write was accepted. */
        if (count == done && done >= verdict->written[name] && done <= verdict->writing[name])
            continue;
        printf("LOST UPDATES of n%u: the counter is %" PRId64 " after %" PRId64
               " accepted increments; clients know of %u, and began %u\n",
               name, count, done, verdict->written[name], verdict->writing[name]);
        lost += count < done ? (unsigned)(done - count) : 1;
    }
    return lost;
}

/* A transfer takes from one account what it adds to another. */
static bool sum_is_kept(const struct shared *shared)
{
    int64_t sum = redis_balances(shared->counter_path);
    if (sum != 0)
        printf("THE SUM of the balances is %" PRId64 " and not 0, or it cannot be read\n", sum);
    return sum == 0;
}

static void tally_print(const char *title, const struct tally *tally)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < tally->words; i++)
        sum += tally->word[i].count;
    printf("  %-14s %7u", title, sum);
    for (unsigned i = 0; i < tally->words; i++)
        printf("%s %.*s %u", i ? "," : "  ", RECORD_TEXT, tally->word[i].text, tally->word[i].count);
    printf("\n");
}

static void table_print(const struct world *world, const struct verdict *verdict, double seconds,
                        unsigned lost)
{
    unsigned faults = 0, written = 0;
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        faults += world->faults[i];
    for (unsigned i = 0; i < CHAOS_NAMES; i++)
        written += verdict->written[i];
    printf("\n  %-14s %7.0f  %d masters, %d daemons, %d clients, %d names\n", "seconds", seconds, MASTERS,
           DAEMONS, CLIENTS, FIRST_SLOT + 1);
    printf("  %-14s %7u  of them by RESUME %u, to readers %u (beside another %u), of lists %u, of slots %u\n "
           " %-14s %7u\n",
           "grants", verdict->grants, verdict->resumed, verdict->shared, verdict->beside, verdict->lists,
           verdict->slots, "handed over", verdict->handed_over);
    tally_print("refused", &verdict->refused);
    tally_print("given up", &verdict->given_up);
    tally_print("!LOST", &verdict->lost);
    printf("  %-14s %7u ", "faults", faults);
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        printf("%s %s %u", i ? "," : "", fault_name((enum fault_kind)i), world->faults[i]);
    if (world->change.on)
        printf("\n  %-14s %7u  the longest took %" PRId64 " s; fewest grants between two steps %u",
               "generations", world->change.generation - world->change.told,
               world->change.longest_us / 1000000, verdict->fewest);
    printf("\n  %-14s %7u", "broken", verdict->broken);
    printf("\n  %-14s %7u  refused by their fence %u\n", "increments", written, verdict->fenced);
    printf("  %-14s %7" PRId64 "  ms\n", "longest wait", verdict->max_wait_us / 1000);
    printf("  %-14s %7u\n", "overlaps", verdict->violations[VIOLATION_OVERLAP]);
    printf("  %-14s %7u\n", "lost updates", lost);
    printf("  %-14s %7u  fences %u, tokens %u, starved %u, lost %u, renewed though broken %u, seen by "
           "clients %u\n",
           "other wrongs",
           verdict->violations[VIOLATION_FENCE] + verdict->violations[VIOLATION_TOKEN] +
               verdict->violations[VIOLATION_STARVED] + verdict->violations[VIOLATION_LOST] +
               verdict->violations[VIOLATION_BROKEN] + verdict->violations[VIOLATION_SEEN],
           verdict->violations[VIOLATION_FENCE], verdict->violations[VIOLATION_TOKEN],
           verdict->violations[VIOLATION_STARVED], verdict->violations[VIOLATION_LOST],
           verdict->violations[VIOLATION_BROKEN], verdict->violations[VIOLATION_SEEN]);
}

static void keep(const struct options *options, const struct world *world, const struct history *history,
                 int64_t start_us)
{
    char path[512];
    mkdir(options->keep, 0700);
    world_keep(world, options->keep);
    snprintf(path, sizeof path, "%s/history", options->keep);
    FILE *out = fopen(path, "we");
    uint32_t used = atomic_load(&history->used);
    for (uint32_t i = 0; out != NULL && i < used && i < RECORDS; i++)
        record_print(out, &history->record[i], start_us);
    if (out == NULL || fclose(out) != 0)
        fprintf(stderr, "chaos: cannot write %s\n", path);
}

static int plan_print(unsigned faults)
{
    for (unsigned i = 0; i < faults; i++)
        printf("%9.3f %-14s master %u daemon %u client %2u for %4d ms, value %d\n",
               (double)plan[i].at_us / 1e6, fault_name(plan[i].kind), plan[i].master, plan[i].daemon,
               plan[i].client, (int)(plan[i].for_us / 1000), (int)plan[i].value);
    return 0;
}

static void signals_set(int64_t seconds)
{
    struct sigaction interrupt = {.sa_handler = on_interrupt}, late = {.sa_handler = on_alarm};
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &interrupt, NULL);
    sigaction(SIGHUP, &interrupt, NULL);
    sigaction(SIGALRM, &late, NULL);
    signal(SIGPIPE, SIG_IGN);
    alarm((unsigned)seconds + SETTLE_S);
}

static struct shared *shared_make(uint64_t seed)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "chaos: no memory for the history\n");
        exit(1);
    }
    shared->seed = seed;
    return shared;
}

/* The masters are young: no daemon grants before their first quarantine is over. */
static bool begin(struct world *world, const struct options *options, struct shared *shared)
{
    if (!world_start(world, options->binary, shared, options->change, options->direct))
        return false;
    for (int64_t end_us = now_us() + FIRST_US / 2; now_us() < end_us && !interrupted;)
        poll(NULL, 0, TICK_MS);
    for (unsigned i = 0; i < CLIENTS; i++)
        world_start_client(world, i);
    return true;
}

int main(int argc, char **argv)
{
    static struct world world;
    static struct verdict verdict;
    struct options options = options_parse(argc, argv);
    int64_t length_us = options.seconds * 1000000;
    int64_t calm_us = length_us > 2 * QUIET_US ? length_us - QUIET_US : length_us / 2;
    verdict_prove();
    bool spare = options.change && !options.direct && options.kinds == ALL_KINDS;
    unsigned faults = plan_make(plan, options.seed, calm_us, options.kinds, DAEMONS, CLIENTS, spare);
    if (options.plan)
        return plan_print(faults);
    struct shared *shared = shared_make(options.seed);
    shared->long_holds = verdict.keeps =
        options.kinds == 1u << FAULT_ROLLING || (options.change && spares(options.kinds));
    printf("chaos: seed %" PRIu64 ", %" PRId64 " s, the last %" PRId64 " of them without faults\n",
           options.seed, options.seconds, (length_us - calm_us) / 1000000);
    fflush(stdout);
    signals_set(options.seconds);
    bool well = begin(&world, &options, shared);
    int64_t start_us = now_us();
    well = well && run(&world, faults, calm_us, length_us);
    double seconds = (double)(now_us() - start_us) / 1e6;
    well = well && !interrupted && world_settle(&world);
    verdict_find(&verdict, &shared->history);
    unsigned lost = well ? updates_lost(shared, &verdict) : 0;
    bool kept = !well || sum_is_kept(shared);
    if (options.keep != NULL)
        keep(&options, &world, &shared->history, start_us);
    world_end(&world);
    verdict_explain(stdout, &verdict, &shared->history, start_us);
    table_print(&world, &verdict, seconds, lost);
    if (well && kept && lost == 0 && verdict_clean(&verdict))
        return 0;
    printf("\nchaos: FAILED%s; again with SEED=%" PRIu64 "\n", interrupted ? " (interrupted)" : "",
           options.seed);
    return 1;
}
