/* replay [FILE...]: runs the given files, or all of tests/fuzz/corpus (from the top of the source), each in a process
 * of its own, and names the inputs that their harness did not survive. Beside the folder of a harness, whose files
 * have names that say what they are about, lie the inputs that reach most of its code, one a line, in hex.
 *
 * replay --unpack NAME FOLDER: writes these into files of their own, for libFuzzer. */
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

/* In memory of its very length, so that a sanitizer sees who reads beyond it. */
static int run_bytes(const struct harness *harness, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len + (len == 0));
    if (!copy) {
        perror(harness->name);
        return 1;
    }
    memcpy(copy, bytes, len);
    alarm(LIMIT_S);
    int status = harness->run(copy, len);
    free(copy);
    return status;
}

static int run_file(const struct harness *harness, const char *path)
{
    static uint8_t bytes[FILE_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t len = fread(bytes, 1, sizeof bytes, file);
    bool all = fgetc(file) == EOF;
    fclose(file);
    if (!all) {
        fprintf(stderr, "%s: longer than %d bytes\n", path, FILE_BYTES);
        return 1;
    }
    return run_bytes(harness, bytes, len);
}

/* Begins a check: 0 in the child, which exits with what the harness returned. */
static pid_t check_begin(void)
{
    checks++;
    fflush(stdout);
    return fork();
}

static void check_end(pid_t child, const char *what)
{
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    if (status == 0)
        return;
    failures++;
    if (WIFSIGNALED(status))
        printf("%s: %s\n", what, strsignal(WTERMSIG(status)));
    else
        printf("%s: exit status %d\n", what, WEXITSTATUS(status));
}

static void check_file(const struct harness *harness, const char *path)
{
    pid_t child = check_begin();
    if (child == 0)
        exit(run_file(harness, path));
    check_end(child, path);
}

/* ---- inputs in hex ---- */

static void is_bad(const char *what)
{
    failures++;
    checks++;
    printf("%s\n", what);
}

/* Returns the number of bytes that a line of so many digits stands for, which take their place; -1: it is no hex. */
static ssize_t from_hex(char *line, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    if (len % 2 != 0 || strspn(line, digits) != len)
        return -1;
    for (size_t i = 0; i < len; i += 2)
        line[i / 2] =
            (char)((strchr(digits, line[i]) - digits) * 16 + (strchr(digits, line[i + 1]) - digits));
    return (ssize_t)(len / 2);
}

/* The whole file, since children would move a position in it that they share with us. */
static char *read_hex(const struct harness *harness)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, CORPUS "/%s.hex", harness->name);
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    if (getdelim(&text, &size, '\0', file) < 0)
        is_bad(path);
    fclose(file);
    return text;
}

/* Calls what() with each input that lies there in hex. */
static void each_line(const struct harness *harness, const char *folder,
                      void (*what)(const struct harness *, const char *folder, const char *name,
                                   const uint8_t *bytes, size_t len))
{
    char name[PATH_BYTES], *text = read_hex(harness), *rest = text, *line;
    for (unsigned number = 1; text && (line = strsep(&rest, "\n")) && rest; number++) {
        snprintf(name, sizeof name, "%s.hex:%u", harness->name, number);
        ssize_t len = from_hex(line, strlen(line));
        if (len < 0)
            is_bad(name);
        else
            what(harness, folder, name, (const uint8_t *)line, (size_t)len);
    }
    free(text);
}

static void check_bytes(const struct harness *harness, const char *folder, const char *name,
                        const uint8_t *bytes, size_t len)
{
    (void)folder;
    pid_t child = check_begin();
    if (child == 0)
        exit(run_bytes(harness, bytes, len));
    check_end(child, name);
}

static void write_bytes(const struct harness *harness, const char *folder, const char *name,
                        const uint8_t *bytes, size_t len)
{
    char path[2 * PATH_BYTES];
    (void)harness;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- the corpus ---- */

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
        printf("%s: ", path);
        is_bad("no files there");
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, CORPUS "/%s/%s", harness->name, entries[i]->d_name);
        check_file(harness, path);
        free(entries[i]);
    }
    free(entries);
    each_line(harness, NULL, check_bytes);
}

static int unpack(const char *name, const char *folder)
{
    for (unsigned i = 0; i < HARNESSES; i++)
        if (strcmp(harnesses[i].name, name) == 0)
            each_line(&harnesses[i], folder, write_bytes);
    return failures > 0;
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
    if (argc == 4 && strcmp(argv[1], "--unpack") == 0)
        return unpack(argv[2], argv[3]);
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
