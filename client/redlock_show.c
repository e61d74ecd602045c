/* show: prints what redlockd knows, for people and for programs. */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_rows.h"

enum format { FORMAT_TABLE, FORMAT_ROWS, FORMAT_JSON };

static const struct {
    const char *what;
    enum layout layout;
} topics[] = {
    {"locks", LAYOUT_LIST},      {"waiters", LAYOUT_LIST},     {"nodes", LAYOUT_LIST},
    {"daemons", LAYOUT_LIST},    {"clients", LAYOUT_LIST},     {"stats", LAYOUT_FIGURES},
    {"config", LAYOUT_SETTINGS}, {"version", LAYOUT_SETTINGS},
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

static void show_help(void)
{
    (void)puts("usage: redlock show [--table | --rows | --json] [-a address] WHAT\n"
               "\n"
               "WHAT is locks, waiters, nodes, daemons, clients, stats, config or version.\n"
               "\n"
               "      --table            aligned columns; the default on a terminal\n"
               "      --rows             key=value words, a row a line; the default elsewhere\n"
               "      --json             one JSON value: a list of objects, or an object; times in ms\n"
               "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls:host:port\n");
}

static void print_row(const char *row, void *user)
{
    (void)user;
    (void)puts(row);
}

static void keep_row(const char *row, void *user)
{
    rows_add(user, row);
}

static int show(struct redlock *redlock, unsigned topic, enum format format)
{
    struct rows rows = {0};
    bool kept = format != FORMAT_ROWS;

    if (redlock_show(redlock, topics[topic].what, kept ? keep_row : print_row, &rows)) {
        rows_free(&rows);
        return say_error(redlock, NULL);
    }
    if (rows.failed)
        say("these are not all: the rest did not fit into memory; use --rows");
    if (format == FORMAT_TABLE && rows.count == 0 && isatty(STDOUT_FILENO))
        (void)printf("no %s here: each redlockd shows only its own\n", topics[topic].what);
    else if (format == FORMAT_TABLE)
        rows_table(&rows, topics[topic].layout, 0, SIZE_MAX, stdout);
    else if (format == FORMAT_JSON)
        rows_json(&rows, topics[topic].layout, stdout);
    int code = rows.failed ? CODE_FAILED : CODE_OK;
    rows_free(&rows);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    say("cannot write the result: %s", strerror(errno));
    return CODE_FAILED;
}

int cmd_show(int argc, char **argv)
{
    static const struct option options[] = {
        {"table", no_argument, NULL, 'T'}, {"rows", no_argument, NULL, 'R'},
        {"json", no_argument, NULL, 'j'},  {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},  {NULL, 0, NULL, 0},
    };
    enum format format = isatty(STDOUT_FILENO) ? FORMAT_TABLE : FORMAT_ROWS;
    const char *address = NULL;
    unsigned topic = 0;
    int option;

    while ((option = getopt_long(argc, argv, "a:h", options, NULL)) != -1)
        switch (option) {
        case 'T': format = FORMAT_TABLE; break;
        case 'R': format = FORMAT_ROWS; break;
        case 'j': format = FORMAT_JSON; break;
        case 'a': address = optarg; break;
        case 'h': show_help(); return CODE_OK;
        default: return usage_option("show", argv);
        }
    if (argc - optind != 1)
        return usage("show",
                     "one of locks, waiters, nodes, daemons, clients, stats, config, version is needed");
    while (topic < TOPICS && strcmp(argv[optind], topics[topic].what) != 0)
        topic++;
    if (topic == TOPICS)
        return usage(
            "show",
            "%s: nothing to show; locks, waiters, nodes, daemons, clients, stats, config and version are",
            argv[optind]);
    struct redlock *redlock = arg_open("show", address, NULL);
    if (!redlock)
        return CODE_FAILED;
    int code = show(redlock, topic, format);
    redlock_close(redlock);
    return code;
}
