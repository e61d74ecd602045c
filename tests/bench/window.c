#include "tests/bench/window.h"

#include <string.h>
#include <unistd.h>

#include "tests/bench/process.h"

/* The times are subtracted at the beginning and added at the end. */
static void sample_cpu(struct window *window, int64_t sign)
{
    struct load_result *result = window->result;
    for (unsigned i = 0; i < window->plan->servers; i++)
        result->server_cpu_ns += sign * process_cpu_ns(window->plan->server_pid[i]);
    result->masters_cpu_ns += sign * masters_cpu_ns(window->plan->masters);
    result->load_cpu_ns += sign * process_cpu_ns(getpid());
    result->run_ns += sign * now_ns();
}

/* Counts of other processes, which work meanwhile: each number is whole, and off by a request or two. The answers of
 * the masters take a moment, in which this process serves nobody. */
static void sample_counts(struct window *window, bool end)
{
    const struct counts *now = window->plan->counts;
    struct counts *sum = &window->result->counts;
    if (!now)
        return;
    struct masters_counts *masters = &window->result->masters, all = masters_counted(window->plan->masters);
    masters->commands = all.commands - (end ? masters->commands : 0);
    masters->scripts = all.scripts - (end ? masters->scripts : 0);
    masters->reads = all.reads - (end ? masters->reads : 0);
    sum->syscalls = now->syscalls - (end ? sum->syscalls : 0);
    sum->waits = now->waits - (end ? sum->waits : 0);
    sum->our_mallocs = now->our_mallocs - (end ? sum->our_mallocs : 0);
    sum->lib_mallocs = now->lib_mallocs - (end ? sum->lib_mallocs : 0);
}

void window_open(struct window *window, const struct load_plan *plan, struct load_result *result)
{
    int64_t begin_ns = now_ns() + plan->warm_ms * 1000000;
    *window = (struct window){.plan = plan, .result = result, .begin_ns = begin_ns};
    window->end_ns = begin_ns + plan->run_ms * 1000000;
    memset(result, 0, sizeof *result);
}

bool window_goes_on(struct window *window)
{
    int64_t now = now_ns();
    if (!window->measuring && now >= window->begin_ns) {
        window->measuring = true;
        sample_cpu(window, -1);
        sample_counts(window, false);
    }
    if (now < window->end_ns)
        return true;
    sample_cpu(window, 1);
    sample_counts(window, true);
    return false;
}

void window_locked(struct window *window, unsigned worker, int64_t ns)
{
    struct load_result *result = window->result;
    if (!window->measuring)
        return;
    hist_add(&result->lock, ns);
    result->grants[worker]++;
    result->handovers += window->last_granted != worker + 1;
    window->last_granted = worker + 1;
}

void window_unlocked(struct window *window, int64_t ns)
{
    if (!window->measuring)
        return;
    hist_add(&window->result->unlock, ns);
    window->result->cycles++;
}

void window_refused(struct window *window)
{
    window->result->refused += window->measuring;
}

void window_lost(struct window *window)
{
    window->result->lost += window->measuring;
}
