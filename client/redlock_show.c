/* show, who: print what redlockd knows, and who has a lock, for people and for programs. */
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
    {"config", LAYOUT_SETTINGS}, {"version", LAYOUT_SETTINGS}, {"group", LAYOUT_LIST},
    {"reload", LAYOUT_LIST},
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

static void show_help(void)
{
    (void)puts(
        "usage: redlock show [--table | --rows | --json] [-a address] WHAT\n"
        "\n"
        "WHAT is locks, waiters, nodes, daemons, group (at which step the masters are), clients, stats,\n"
        "config, reload (what reading the configuration again would change) or version.\n"
        "\n"
        "      --table            aligned columns; the default on a terminal\n"
        "      --rows             key=value words, a row a line; the default elsewhere\n"
        "      --json             one JSON value: a list of objects, or an object; times in ms\n"
        "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

static void who_help(void)
{
    (void)puts("usage: redlock who [--table | --rows | --json] [-a address] NAME\n"
               "\n"
               "Says through which redlockds the lock is held and waited for, by what the masters have.\n"
               "\n"
               "      --table            aligned columns; the default on a terminal\n"
               "      --rows             key=value words, a row a line; the default elsewhere\n"
               "      --json             a list of objects; times in ms\n"
               "  -a, --address ADDRESS  of any redlockd: unix:/path, host:port or tls://host:port\n");
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

struct showing {
    const char *subcommand, *what; /* what: a topic, or the name that `who` asks for */
    enum layout layout;
    enum format format;
    const char *address;
};

static enum redlock_error show_ask(struct redlock *redlock, const struct showing *showing, struct rows *rows)
{
    redlock_row *row = showing->format == FORMAT_ROWS ? print_row : keep_row;

    if (strcmp(showing->subcommand, "who") == 0)
        return redlock_who(redlock, showing->what, row, rows);
    return redlock_show(redlock, showing->what, row, rows);
}

static void show_nothing(const struct showing *showing)
{
    if (strcmp(showing->subcommand, "who") == 0)
        (void)printf("%s: nobody has it or waits for it\n", showing->what);
    else
        (void)printf("no %s here: each redlockd shows only its own\n", showing->what);
}

static int show_print(const struct showing *showing, const struct rows *rows)
{
    if (rows->failed)
        say_line("these are not all: the rest did not fit into memory; use --rows");
    if (showing->format == FORMAT_TABLE && rows->count == 0 && isatty(STDOUT_FILENO))
        show_nothing(showing);
    else if (showing->format == FORMAT_TABLE)
        rows_table(rows, showing->layout, 0, SIZE_MAX, stdout);
    else if (showing->format == FORMAT_JSON)
        rows_json(rows, showing->layout, stdout);
    int code = rows->failed ? CODE_FAILED : CODE_OK;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    say_line("cannot write the result: %s", strerror(errno));
    return CODE_FAILED;
}

static int show(const struct showing *showing)
{
    struct rows rows = {0};
    struct redlock *redlock = arg_open(showing->subcommand, showing->address, NULL);
    bool who = strcmp(showing->subcommand, "who") == 0;

    if (!redlock)
        return CODE_FAILED;
    int code = CODE_OK;
    if (show_ask(redlock, showing, &rows))
        code = say_error(redlock, who ? showing->what : NULL);
    else
        code = show_print(showing, &rows);
    rows_free(&rows);
    redlock_close(redlock);
    return code;
}

/* Reads the options of show and who; false: *code is the exit code. */
static bool show_options(struct showing *showing, int argc, char **argv, int *code)
{
    static const struct option options[] = {
        {"table", no_argument, NULL, 'T'}, {"rows", no_argument, NULL, 'R'},
        {"json", no_argument, NULL, 'j'},  {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},  {NULL, 0, NULL, 0},
    };
    int option;

    showing->format = isatty(STDOUT_FILENO) ? FORMAT_TABLE : FORMAT_ROWS;
    while ((option = getopt_long(argc, argv, "a:h", options, NULL)) != -1)
        switch (option) {
        case 'T': showing->format = FORMAT_TABLE; break;
        case 'R': showing->format = FORMAT_ROWS; break;
        case 'j': showing->format = FORMAT_JSON; break;
        case 'a': showing->address = optarg; break;
        case 'h':
            (strcmp(showing->subcommand, "who") == 0 ? who_help : show_help)();
            *code = CODE_OK;
            return false;
        default: *code = usage_option(showing->subcommand, argv); return false;
        }
    return true;
}

int cmd_who(int argc, char **argv)
{
    struct showing showing = {.subcommand = "who", .layout = LAYOUT_LIST};
    int code;

    if (!show_options(&showing, argc, argv, &code))
        return code;
    if (argc - optind != 1)
        return usage("who", "one NAME is needed");
    showing.what = argv[optind];
    return show(&showing);
}

int cmd_show(int argc, char **argv)
{
    struct showing showing = {.subcommand = "show"};
    unsigned topic = 0;
    int code;

    if (!show_options(&showing, argc, argv, &code))
        return code;
    if (argc - optind != 1)
        return usage("show", "one of locks, waiters, nodes, daemons, group, clients, stats, config, reload, "
                             "version is needed");
    while (topic < TOPICS && strcmp(argv[optind], topics[topic].what) != 0)
        topic++;
    if (topic == TOPICS)
        return usage("show",
                     "%s: nothing to show; locks, waiters, nodes, daemons, group, clients, stats, config, "
                     "reload and version are",
                     argv[optind]);
    showing.what = topics[topic].what;
    showing.layout = topics[topic].layout;
    return show(&showing);
}
