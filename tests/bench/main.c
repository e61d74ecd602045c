/* bench --daemon <file> [--counting <file>] [--peers <folder>] [--quick] [--only <word,word>]
 *       [--workers <n>] [--run <ms>]     for a closer look at W1: one number of workers, a longer time
 * bench --daemon <file> --before <file> [--quick] [--run <ms>]     two builds of the daemon, and nothing else
 *
 * A guard process waits for the run, which is its child, and then removes its folder, unless the run has
 * failed. */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

static const struct scale full = {
    .reps = 5,
    .warm_ms = 150,
    .run_ms = 800,
    .worker_counts = {1, 16, 64, 256},
    .contended_ms = 2000,
    .page_ms = 4000,
    .hang_ms = 60000,
    .renewed_locks = 100000,
    .renewed_ttl_ms = 10000,
    .renewed_ms = 4000,
    .idle_clients = 10000,
    .held_locks = {10, 1000, 100000},
};

static const struct scale quick = {
    .reps = 5,
    .warm_ms = 40,
    .run_ms = 160,
    .worker_counts = {1, 64},
    .contended_ms = 300,
    .page_ms = 1000,
    .hang_ms = 3000,
    .renewed_locks = 10000,
    .renewed_ttl_ms = 3000,
    .renewed_ms = 1000,
    .idle_clients = 2000,
    .held_locks = {10, 1000, 10000},
};

static const struct part {
    const char *word;
    void (*work)(struct bench *bench);
} parts[] = {
    {"W1", work_uncontended},  {"counts", work_counted}, {"W3", work_contended},
    {"W4", work_masters_away}, {"W8", work_short},       {"fanout", work_fanout},
    {"native", work_native},   {"modes", work_modes},    {"W6", work_held},
};

struct options {
    struct places places;
    bool quick;
    const char *only; /* words, or NULL: all */
    unsigned workers; /* 0: the scale's numbers */
    int64_t run_ms;
};

static pid_t running;

static void on_signal(int number)
{
    (void)number;
    kill(running, SIGKILL);
}

/* ---- the run ---- */

/* Ten thousand clients need as many descriptors, here and in the daemon. */
static unsigned descriptors_raise(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return (unsigned)limit.rlim_cur;
}

static bool is_wanted(const struct options *options, const char *word)
{
    return !options->places.before && (!options->only || strstr(options->only, word));
}

static void run(void *arg)
{
    const struct options *options = arg;
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        fail("no memory");
    signal(SIGINT, SIG_IGN); /* the guard handles it */
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    bench->places = options->places;
    bench->scale = options->quick ? quick : full;
    if (options->workers) {
        bench->scale.worker_counts[0] = options->workers;
        bench->scale.worker_counts[1] = 0;
    }
    if (options->run_ms)
        bench->scale.run_ms = options->run_ms;
    bench->salt = (uint64_t)getpid() * 1000;
    unsigned most = descriptors_raise() - 200;
    if (bench->scale.idle_clients > most)
        bench->scale.idle_clients = most;
    masters_start(&bench->masters);
    daemon_start(&bench->daemon, &bench->places, &bench->masters, NULL, "");
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (is_wanted(options, parts[i].word))
            parts[i].work(bench);
    if (options->places.before)
        work_before(bench);
    server_stop(&bench->daemon);
    masters_stop(&bench->masters);
    record_table(stdout);
    targets_print(&bench->scale, stdout);
    free(bench);
}

/* ---- the guard ---- */

static int file_remove(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat, (void)kind, (void)place;
    return remove(path);
}

static struct options options_parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"daemon", required_argument, NULL, 'd'},
        {"counting", required_argument, NULL, 'c'},
        {"peers", required_argument, NULL, 'p'},
        {"quick", no_argument, NULL, 'q'},
        {"only", required_argument, NULL, 'o'},
        {"workers", required_argument, NULL, 'w'},
        {"run", required_argument, NULL, 'r'},
        {"before", required_argument, NULL, 'b'},
        {0},
    };
    struct options options = {.places = {.daemon = "build/redlockd"}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'd': options.places.daemon = optarg; break;
        case 'b': options.places.before = optarg; break;
        case 'c': options.places.counting = optarg; break;
        case 'p': options.places.peers = optarg; break;
        case 'q': options.quick = true; break;
        case 'o': options.only = optarg; break;
        case 'w': options.workers = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'r': options.run_ms = strtoll(optarg, NULL, 10); break;
        default:
            fail("--only takes words of: W1 (and W2), counts, W3, W4 (and W5), W6 (and W7, W9), W8, "
                 "fanout, native, modes");
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    struct options options = options_parse(argc, argv);
    char folder[] = "/tmp/redlockd-bench-XXXXXX";
    options.places.folder = mkdtemp(folder);
    if (!options.places.folder)
        fail("%s: %s", folder, strerror(errno));
    running = process_fork("bench-run", run, &options);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    int status = process_wait(running);
    if (status != 0 && status != 255) {
        fprintf(stderr, "bench: what it left lies in %s\n", folder);
        return status;
    }
    nftw(folder, file_remove, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}
