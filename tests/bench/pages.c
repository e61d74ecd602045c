#include "tests/bench/pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/bench/process.h"

enum { LINE = 2100, NS_A_MS = 1000000 };

struct worker {
    const struct pages_plan *plan;
    struct pages_result *result;
    unsigned index;
    int fd;
    char lock[128], unlock[128];
};

/* Returns whether the answer is a +. */
static bool ask(const struct worker *w, const char *request)
{
    char line[LINE], last = '\0';
    size_t len = 0;
    socket_send(w->fd, request, strlen(request));
    while (last != '\n') {
        ssize_t n = len < sizeof line ? recv(w->fd, line + len, sizeof line - len, 0) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the daemon closed a connection: %s", n < 0 ? strerror(errno) : "end");
        len += (size_t)n;
        last = line[len - 1];
    }
    return line[0] == '+';
}

static void worker_begin(struct worker *w, const char *mode)
{
    const struct pages_plan *plan = w->plan;
    unsigned long long salt = plan->salt;
    w->fd = socket_dial(&plan->servers[w->index % plan->count].address, true, SOCKET_NO_SOURCE);
    snprintf(w->lock, sizeof w->lock, "LOCK page.%llu wait=60s%s\n", salt, mode);
    snprintf(w->unlock, sizeof w->unlock, "UNLOCK page.%llu\n", salt);
}

static void reader_run(void *arg)
{
    struct worker *w = arg;
    struct pages_result *result = w->result;
    worker_begin(w, " mode=shared");
    while (!result->stop) {
        if (!ask(w, w->lock)) {
            result->refused++;
            continue;
        }
        int64_t since_ns = now_ns();
        pause_ms(w->plan->section_ms);
        int64_t took_ns = now_ns() - since_ns;
        if (!ask(w, w->unlock))
            result->refused++;
        result->reads[w->index]++;
        if (result->measuring && took_ns > result->longest_ns[w->index])
            result->longest_ns[w->index] = took_ns;
    }
}

static void writer_run(void *arg)
{
    struct worker *w = arg;
    worker_begin(w, "");
    for (int64_t next_ns = now_ns(); !w->result->stop; next_ns += w->plan->every_ms * NS_A_MS) {
        int64_t early_ns = next_ns - now_ns();
        if (early_ns > 0)
            pause_ms(early_ns / NS_A_MS);
        int64_t asked_ns = now_ns();
        bool granted = ask(w, w->lock);
        if (w->result->measuring && granted)
            hist_add(&w->result->write, now_ns() - asked_ns);
        if (!granted || !ask(w, w->unlock))
            w->result->refused++;
    }
}

static uint64_t reads(const struct pages_result *result)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < PAGES_READERS; i++)
        sum += result->reads[i];
    return sum;
}

void pages_run(const struct pages_plan *plan, struct pages_result *result)
{
    pid_t pid[PAGES_READERS + 1];
    unsigned workers = PAGES_READERS + (plan->every_ms > 0);
    for (unsigned i = 0; i < workers; i++) {
        struct worker worker = {.plan = plan, .result = result, .index = i};
        pid[i] = process_fork("bench-page", i < PAGES_READERS ? reader_run : writer_run, &worker);
    }
    pause_ms(plan->warm_ms);
    int64_t begin_ns = now_ns();
    uint64_t before = reads(result);
    result->measuring = true;
    pause_ms(plan->run_ms);
    result->all_reads = reads(result) - before;
    result->run_ns = now_ns() - begin_ns;
    result->stop = true;
    for (unsigned i = 0; i < workers; i++)
        if (process_wait(pid[i]) != 0)
            fail("a reader or the writer of a page failed");
    for (unsigned i = 0; i < PAGES_READERS; i++)
        if (result->longest_ns[i] > result->longest_section_ns)
            result->longest_section_ns = result->longest_ns[i];
}
