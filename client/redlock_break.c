/* break: takes a lock from its holder. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "client/redlock_cmd.h"

enum { SLOT_LAST = 1023 };

static void break_help(void)
{
    (void)puts(
        "usage: redlock break [--slot N] [-a address] NAME\n"
        "\n"
        "Takes the lock from its holder, who works on until its next renewal: only the fence keeps it out.\n"
        "redlockd does so only with allow_break: yes in its configuration. See who has it: redlock who "
        "NAME.\n"
        "\n"
        "      --slot N           of a name with slots, the one that is meant\n"
        "  -a, --address ADDRESS  of any redlockd: unix:/path, host:port or tls://host:port\n");
}

static int break_lock(const char *address, const char *name, int slot)
{
    struct redlock *redlock = arg_open("break", address, NULL);
    int code = CODE_OK;

    if (!redlock)
        return CODE_FAILED;
    enum redlock_error error = redlock_break(redlock, name, slot);
    const char *text = redlock_error_text(redlock);
    if (error == REDLOCK_OK && strncmp(text, "+BROKEN ", strlen("+BROKEN ")) == 0) {
        (void)printf("name=%s\n", text + strlen("+BROKEN "));
    } else if (error == REDLOCK_NOTHELD) {
        say_line("%s: nothing was broken: %s", name, text_for_people(text));
        code = CODE_LOST;
    } else {
        code = say_error(redlock, name);
    }
    redlock_close(redlock);
    return code;
}

int cmd_break(int argc, char **argv)
{
    static const struct option options[] = {
        {"slot", required_argument, NULL, 's'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *address = NULL;
    int option, slot = -1;

    while ((option = getopt_long(argc, argv, "a:h", options, NULL)) != -1)
        switch (option) {
        case 's':
            if (!arg_number("break", "--slot", optarg, 0, SLOT_LAST, &slot))
                return CODE_FAILED;
            break;
        case 'a': address = optarg; break;
        case 'h': break_help(); return CODE_OK;
        default: return usage_option("break", argv);
        }
    if (argc - optind != 1)
        return usage("break", "one NAME is needed");
    return break_lock(address, argv[optind], slot);
}
