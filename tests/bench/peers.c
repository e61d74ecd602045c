/* Packaged Redlock libraries, run by peers.js in the same run and on the same masters. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WARM_MS = 500 }; /* includes the compiler's warm-up */

static const char *const peers[] = {"npm-redlock", "redis-kit"};
static bool missing[sizeof peers / sizeof peers[0]];

static bool file_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    return good;
}

/* false: the output has no usable result */
static bool peer_run(struct bench *bench, const char *peer, unsigned workers, bool one_name, int64_t run_ms,
                     char *line, size_t size)
{
    char output[SOCKET_PATH + 16], path[512], words[4][24], ports[BENCH_MASTERS][8];
    const char *argv[16] = {"node", "tests/bench/peers.js", peer};
    const char *environment[] = {path, NULL};
    unsigned n = 3;
    snprintf(output, sizeof output, "%s/peer", bench->places.folder);
    snprintf(path, sizeof path, "NODE_PATH=%s/node_modules", bench->places.peers);
    snprintf(words[0], sizeof words[0], "%u", workers);
    snprintf(words[1], sizeof words[1], "%d", WARM_MS);
    snprintf(words[2], sizeof words[2], "%lld", (long long)run_ms);
    snprintf(words[3], sizeof words[3], "%llu", (unsigned long long)++bench->salt);
    argv[n++] = words[0];
    argv[n++] = words[1];
    argv[n++] = words[2];
    argv[n++] = one_name ? "one" : "distinct";
    argv[n++] = words[3];
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        snprintf(ports[i], sizeof ports[i], "%u", bench->masters.address[i].port);
        argv[n++] = ports[i];
    }
    unlink(output);
    int status = process_wait(process_exec(argv, output, environment));
    return file_line(output, line, size) && status == 0 && strstr(line, "cycles_s=");
}

static void peer_measure(struct bench *bench, unsigned i, struct what what, bool one_name, int64_t run_ms)
{
    char line[1024] = "it said nothing";
    if (missing[i])
        return;
    struct measurement m = measurement_of(what);
    if (peer_run(bench, peers[i], what.size, one_name, run_ms, line, sizeof line)) {
        measurement_read(&m, line);
        record_add(&m);
        return;
    }
    line[strcspn(line, "\n")] = '\0';
    printf("skipped=%s why=\"it does not run: %s\"\n", peers[i], line);
    missing[i] = true;
}

void peers_uncontended(struct bench *bench, unsigned workers)
{
    for (unsigned i = 0; bench->places.peers && i < sizeof peers / sizeof peers[0]; i++)
        peer_measure(bench, i, (struct what){"W1", peers[i], "tcp", workers}, false, bench->scale.run_ms);
}

void peers_contended(struct bench *bench, unsigned workers)
{
    for (unsigned i = 0; bench->places.peers && i < sizeof peers / sizeof peers[0]; i++)
        peer_measure(bench, i, (struct what){"W3", peers[i], "tcp", workers}, true,
                     bench->scale.contended_ms);
}
