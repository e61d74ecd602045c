/* modes: one name and three names at once, in turn; and a page that 24 clients of three daemons read, with and
 * without a writer; and a crowd of readers over one connection. */
#include "tests/bench/bench.h"
#include "tests/bench/hold.h"
#include "tests/bench/pages.h"
#include "tests/bench/process.h"

enum { DAEMONS = 3, SECTION_MS = 10, WRITER_MS = 100, WORKERS = 64, CROWD = 10000 };

/* ---- lists ---- */

static void list(struct bench *bench, const char *subject, unsigned names, unsigned workers)
{
    struct load_plan plan = plan_for(bench, &bench->daemon, true, workers);
    plan.names = names;
    measure(bench, (struct what){"names", subject, "unix", workers}, &plan);
}

/* ---- a page ---- */

static void page(struct bench *bench, const struct server *servers, bool written)
{
    const char *subject = written ? "beside-a-writer" : "readers";
    struct measurement m = measurement_of((struct what){"page", subject, "unix", PAGES_READERS});
    struct pages_result *result = shared_new(sizeof *result);
    struct pages_plan plan = {.servers = servers,
                              .count = DAEMONS,
                              .section_ms = SECTION_MS,
                              .every_ms = written ? WRITER_MS : 0,
                              .warm_ms = bench->scale.warm_ms,
                              .run_ms = bench->scale.page_ms,
                              .salt = ++bench->salt};
    pages_run(&plan, result);
    m.value[CYCLES_S] = (double)result->all_reads / ((double)result->run_ns / 1e9);
    m.value[SECTION_MAX_US] = (double)result->longest_section_ns / 1000;
    m.value[REFUSED] = (double)result->refused;
    if (written) {
        m.value[LOCK_P50_US] = hist_us(&result->write, 0.5);
        m.value[LOCK_P99_US] = hist_us(&result->write, 0.99);
        m.value[LOCK_MAX_US] = hist_max_us(&result->write);
        m.value[P99_OF_SECTION] = m.value[LOCK_P99_US] / m.value[SECTION_MAX_US];
    }
    record_add(&m);
    shared_free(result, sizeof *result);
}

/* ---- a crowd ---- */

static void crowd(struct bench *bench, const struct server *server)
{
    struct measurement m = measurement_of((struct what){"crowd", "readers", "unix", CROWD});
    struct hold_plan plan = {.server = server,
                             .connections = 1,
                             .locks = CROWD,
                             .options = "mode=shared ttl=10s wait=60s",
                             .salt = ++bench->salt,
                             .one_name = true};
    struct holder holder;
    int64_t from_ns = now_ns();
    holder_start(&holder, &plan);
    m.value[CYCLES_S] = CROWD / ((double)(now_ns() - from_ns) / 1e9);
    m.value[LOST] = holder.state->lost;
    m.value[REFUSED] = holder.state->refused;
    record_add(&m);
    holder_stop(&holder);
}

void work_modes(struct bench *bench)
{
    struct server servers[DAEMONS] = {bench->daemon};
    for (unsigned i = 1; i < DAEMONS; i++)
        daemon_start(&servers[i], &bench->places, &bench->masters, NULL, "");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        list(bench, "one", 1, 1);
        list(bench, "three", 3, 1);
        list(bench, "one", 1, WORKERS);
        list(bench, "three", 3, WORKERS);
        page(bench, servers, false);
        page(bench, servers, true);
        crowd(bench, &bench->daemon);
    }
    for (unsigned i = 1; i < DAEMONS; i++)
        server_stop(&servers[i]);
}
