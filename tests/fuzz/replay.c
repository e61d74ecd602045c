/* replay [FILE...]: runs the given files, or all of tests/fuzz/corpus (from the top of the source),
 * each in a process of its own, and names the files that their harness did not survive. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define CORPUS "tests/fuzz/corpus"

enum { FILE_BYTES = 1 << 20, PATH_BYTES = 1024, LIMIT_S = 60 };

static const struct harness {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} harnesses[] = {
    {"line", fuzz_line},
    {"conn", fuzz_conn},
    {"resp", fuzz_resp},
    {"conf", fuzz_conf},
    {"coordinator", fuzz_coordinator},
    {"client", fuzz_client},
    {"http", fuzz_http},
    {"wire", fuzz_wire},
};

enum { HARNESSES = sizeof harnesses / sizeof harnesses[0] };

static unsigned checks, failures;

static int run_file(const struct harness *harness, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(FILE_BYTES);
    if (!file || !bytes) {
        perror(path);
        free(bytes);
        return 1;
    }
    size_t len = fread(bytes, 1, FILE_BYTES, file);
    bool all = fgetc(file) == EOF;
    fclose(file);
    if (!all) {
        fprintf(stderr, "%s: longer than %d bytes\n", path, FILE_BYTES);
        free(bytes);
        return 1;
    }
    alarm(LIMIT_S);
    int status = harness->run(bytes, len);
    free(bytes);
    return status;
}

static void check_file(const struct harness *harness, const char *path)
{
    int status = -1;
    checks++;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(run_file(harness, path));
    if (child > 0)
        waitpid(child, &status, 0);
    if (status == 0)
        return;
    failures++;
    if (WIFSIGNALED(status))
        printf("%s: %s\n", path, strsignal(WTERMSIG(status)));
    else
        printf("%s: exit status %d\n", path, WEXITSTATUS(status));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void check_corpus(const struct harness *harness)
{
    struct dirent **entries = NULL;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, CORPUS "/%s", harness->name);
    int count = scandir(path, &entries, is_input, by_name);
    if (count <= 0) {
        printf("%s: no files there\n", path);
        failures++;
        checks++;
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, CORPUS "/%s/%s", harness->name, entries[i]->d_name);
        check_file(harness, path);
        free(entries[i]);
    }
    free(entries);
}

/* Finds the harness by the folder, as in corpus/line/x, or by the name that libFuzzer's runner gives:
 * .../line-crash-... */
static const struct harness *harness_of(const char *path)
{
    for (unsigned i = 0; i < HARNESSES; i++) {
        char folder[64], prefix[64];
        snprintf(folder, sizeof folder, "/%s/", harnesses[i].name);
        snprintf(prefix, sizeof prefix, "/%s-", harnesses[i].name);
        if (strstr(path, folder) || strstr(path, prefix))
            return &harnesses[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc < 2 && i < HARNESSES; i++)
        check_corpus(&harnesses[i]);
    for (int i = 1; i < argc; i++) {
        const struct harness *harness = harness_of(argv[i]);
        if (!harness) {
            fprintf(stderr, "%s: of which harness? Put it into a folder of its name\n", argv[i]);
            return 2;
        }
        check_file(harness, argv[i]);
    }
    unsigned percent = checks ? 100 * (checks - failures) / checks : 0;
    printf("%u%%: Checks: %u, Failures: %u, Errors: 0\n", percent, checks, failures);
    return failures > 0;
}
