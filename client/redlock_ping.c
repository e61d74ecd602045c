/* ping: whether redlockd answers, and whether it can grant locks. For probes, and for scripts that wait. */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>

#include "client/redlock_cmd.h"

enum { PAUSE_MS = 100 };

struct ping {
    const char *address;
    int64_t wait_ms;
    bool ready, quiet;
};

static void ping_help(void)
{
    (void)puts("usage: redlock ping [--ready] [-q] [-w TIME] [-a ADDRESS]\n"
               "\n"
               "Exits with 0 if redlockd answers, and with 123 if it does not.\n"
               "\n"
               "      --ready            only if it can also grant locks now: else 122\n"
               "  -w, --wait TIME        go on asking for so long: 30s, 5m\n"
               "  -q, --quiet            print nothing\n"
               "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

/* Asks once. */
static enum redlock_error ping_ask(const struct ping *ping, struct redlock *redlock)
{
    enum redlock_error error = redlock_ping(redlock);

    return error == REDLOCK_NOQUORUM && !ping->ready ? REDLOCK_OK : error;
}

static int ping_run(const struct ping *ping, struct redlock *redlock)
{
    int64_t end_ms = boot_ms() + ping->wait_ms;
    enum redlock_error error = ping_ask(ping, redlock);

    for (int64_t left_ms; error && (left_ms = end_ms - boot_ms()) > 0; error = ping_ask(ping, redlock))
        (void)poll(NULL, 0, left_ms < PAUSE_MS ? (int)left_ms : PAUSE_MS);
    if (ping->quiet)
        return error ? error_code(error) : CODE_OK;
    if (!error) {
        (void)puts(ping->ready ? "redlockd is ready" : "redlockd answers");
        return CODE_OK;
    }
    if (error == REDLOCK_NOQUORUM) {
        say_line(
            "redlockd answers, but grants no locks now: `redlock show nodes` says why, or it is shutting "
            "down");
        return CODE_NOQUORUM;
    }
    return say_error(redlock, NULL);
}

int cmd_ping(int argc, char **argv)
{
    static const struct option options[] = {
        {"ready", no_argument, NULL, 'r'}, {"wait", required_argument, NULL, 'w'},
        {"quiet", no_argument, NULL, 'q'}, {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},  {NULL, 0, NULL, 0},
    };
    struct ping ping = {.wait_ms = 0};
    int option;

    while ((option = getopt_long(argc, argv, "w:qa:h", options, NULL)) != -1)
        switch (option) {
        case 'r': ping.ready = true; break;
        case 'q': ping.quiet = true; break;
        case 'a': ping.address = optarg; break;
        case 'h': ping_help(); return CODE_OK;
        case 'w':
            if (!arg_wait("ping", optarg, &ping.wait_ms))
                return CODE_FAILED;
            break;
        default: return usage_option("ping", argv);
        }
    if (optind < argc)
        return usage("ping", "%s: it takes no arguments", argv[optind]);
    struct redlock *redlock = arg_open("ping", ping.address, NULL);
    if (!redlock)
        return CODE_FAILED;
    int code = ping_run(&ping, redlock);
    redlock_close(redlock);
    return code;
}
