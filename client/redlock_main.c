#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

static const struct {
    const char *name;
    subcommand_main *run;
    const char *what;
} subcommands[] = {
    {"run", cmd_run, "run a command under a lock"},
    {"lead", cmd_lead, "run a command on one of many hosts, while that one leads"},
    {"lock", cmd_lock, "take a lease, for a script"},
    {"unlock", cmd_unlock, "give it back"},
    {"extend", cmd_extend, "make it last longer"},
    {"check", cmd_check, "ask whether it is still held"},
    {"show", cmd_show, "locks, waiters, nodes, daemons, group, clients, stats, config, reload, version"},
    {"who", cmd_who, "who has a lock, through whichever redlockd, and who waits for it"},
    {"watch", cmd_watch, "who has a lock, and when that changes"},
    {"break", cmd_break, "take a lock from its holder, as a last resort"},
    {"ping", cmd_ping, "ask whether it answers, and grants locks"},
    {"top", cmd_top, "the same, live"},
    {"mkuser", cmd_mkuser, "make a secret for a user"},
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static int main_help(void)
{
    (void)puts("usage: redlock SUBCOMMAND [option ...] [argument ...]\n");
    for (unsigned i = 0; i < SUBCOMMANDS; i++)
        (void)printf("  %-8s %s\n", subcommands[i].name, subcommands[i].what);
    (void)puts("\n`redlock SUBCOMMAND --help` tells its options; all of it is in redlock(1).\n"
               "Exit codes: 120 another has the lock, 121 and the wait is over, 122 too few masters,\n"
               "123 no redlockd, or it is shutting down, 124 lost or not held, 125 wrong usage; of run, else "
               "the command's own.");
    return CODE_OK;
}

/* Opens /dev/null in place of a closed stdin, stdout or stderr, so that no descriptor of ours gets its
 * number. For the command they stay closed, since these are close-on-exec. */
static void keep_standard_places(void)
{
    for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0 && fd <= STDERR_FILENO;)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Takes -a ADDRESS from before the subcommand, where other commands have it. Returns how many arguments that was, or
 * -1 after it has said what is wrong. */
static int leading_address(int argc, char **argv)
{
    static const struct option options[] = {{"address", required_argument, NULL, 'a'}, {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "+:a:", options, NULL)) == 'a')
        if (setenv("REDLOCK_ADDRESS", optarg, 1) < 0)
            return -1;
    int taken = optind - 1;
    if (option == -1) {
        optind = 0; /* makes getopt(3) begin anew */
        return taken;
    }
    say_line("%s: only -a ADDRESS may stand before a subcommand; see `redlock --help`", argv[optind - 1]);
    return -1;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        say_line(
            "a subcommand is needed: run, lead, lock, unlock, extend, check, show, who, watch, break, ping, "
            "top or "
            "mkuser; see `redlock --help`");
        return CODE_FAILED;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return main_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        (void)printf("redlock %s\n", redlock_version());
        return CODE_OK;
    }
    opterr = 0; /* we print the errors */
    keep_standard_places();
    int taken = leading_address(argc, argv);
    if (taken < 0)
        return CODE_FAILED;
    argc -= taken;
    argv += taken;
    for (unsigned i = 0; argc > 1 && i < SUBCOMMANDS; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    say_line("%s: no such subcommand; see `redlock --help`", argc > 1 ? argv[1] : "(none)");
    return CODE_FAILED;
}
