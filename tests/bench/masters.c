#include "tests/bench/masters.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/process.h"

enum { START_MS = 10000, POLL_MS = 5, INFO_BYTES = 64 * 1024 };

static void master_launch(struct masters *masters, unsigned i)
{
    char port[8];
    if (!masters->address[i].port)
        masters->address[i].port = socket_port_free();
    snprintf(port, sizeof port, "%u", masters->address[i].port);
    const char *argv[] = {
        "redis-server", "--port", port,           "--bind", "127.0.0.1",  "--save",  "",  "--dir", "/",
        "--appendonly", "no",     "--maxclients", "64",     "--loglevel", "warning", NULL};
    masters->pid[i] = process_exec(argv, NULL, NULL);
}

static bool master_answers(const struct masters *masters, unsigned i, const char *command)
{
    char answer[64];
    if (!socket_answers(&masters->address[i], false))
        return false;
    int fd = socket_dial(&masters->address[i], false, SOCKET_NO_SOURCE);
    bool good = socket_ask(fd, command, answer, sizeof answer) > 0 && answer[0] == '+';
    close(fd);
    return good;
}

void masters_start(struct masters *masters)
{
    int64_t end_ns = now_ns() + START_MS * INT64_C(1000000);
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        if (!masters->pid[i])
            master_launch(masters, i);
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        while (!master_answers(masters, i, "PING\r\n")) {
            if (!process_runs(masters->pid[i]))
                fail("redis-server ended at once: is it installed, and 127.0.0.1:%u free?",
                     masters->address[i].port);
            if (now_ns() > end_ns)
                fail("redis-server on port %u does not answer", masters->address[i].port);
            pause_ms(POLL_MS);
        }
}

void masters_stop(struct masters *masters)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        master_kill(masters, i);
}

void masters_flush(const struct masters *masters)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        if (masters->pid[i] && !master_answers(masters, i, "FLUSHALL\r\n"))
            fail("redis-server on port %u does not answer", masters->address[i].port);
}

void master_hang(const struct masters *masters, unsigned i)
{
    kill(masters->pid[i], SIGSTOP);
}

void master_wake(const struct masters *masters, unsigned i)
{
    kill(masters->pid[i], SIGCONT);
}

void master_kill(struct masters *masters, unsigned i)
{
    process_end(masters->pid[i]);
    masters->pid[i] = 0;
}

int64_t masters_cpu_ns(const struct masters *masters)
{
    int64_t sum_ns = 0;
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        if (masters->pid[i])
            sum_ns += process_cpu_ns(masters->pid[i]);
    return sum_ns;
}

static uint64_t number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? strtoull(at + strlen(words), NULL, 10) : 0;
}

struct masters_counts masters_counted(const struct masters *masters)
{
    struct masters_counts sum = {0};
    char answer[INFO_BYTES];
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        if (!masters->pid[i])
            continue;
        int fd = socket_dial(&masters->address[i], false, SOCKET_NO_SOURCE);
        socket_ask(fd, "INFO commandstats\r\n", answer, sizeof answer);
        sum.scripts += number_behind(answer, "cmdstat_evalsha:calls=");
        socket_ask(fd, "INFO stats\r\n", answer, sizeof answer);
        sum.commands += number_behind(answer, "total_commands_processed:");
        sum.reads += number_behind(answer, "total_reads_processed:");
        close(fd);
    }
    return sum;
}
