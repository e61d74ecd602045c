/* watch: says who has a name, and again whenever that changes. (redlock_watch.c watches a command.) */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

struct watching {
    const char *name;
    const char *address;
    bool json;
    bool told;   /* a state was printed */
    int code;    /* the exit code; -1: it goes on */
    int written; /* errno of what could not be printed; 0: all was */
};

static void watch_help(void)
{
    (void)puts(
        "usage: redlock watch [--json] [-a address] NAME\n"
        "\n"
        "Prints a line that says who has the lock, and another one at each change, until it is ended.\n"
        "\n"
        "      --json             one JSON object a line\n"
        "  -a, --address ADDRESS  of any redlockd: unix:/path, host:port or tls://host:port\n");
}

/* ---- lines ---- */

static const char *state_word(enum redlock_now_state state)
{
    switch (state) {
    case REDLOCK_NOW_FREE: return "free";
    case REDLOCK_NOW_HELD: return "held";
    case REDLOCK_NOW_KEPT: return "kept";
    case REDLOCK_NOW_UNKNOWN: break;
    }
    return "unknown";
}

static void print_words(const char *name, const struct redlock_now *now)
{
    (void)printf("name=%s state=%s", name, state_word(now->state));
    if (now->mode == REDLOCK_SHARED)
        (void)printf(" mode=shared");
    if (now->fence)
        (void)printf(" fence=%" PRIu64, now->fence);
    if (now->host)
        (void)printf(" host=%s", now->host);
    if (now->data)
        (void)printf(" data=%s", now->data);
    (void)putchar('\n');
}

/* The library gives visible characters of ASCII only. */
static void print_string(const char *key, const char *text)
{
    (void)printf("\"%s\":\"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)putchar('\\');
        (void)putchar(*text);
    }
    (void)putchar('"');
}

static void print_object(const char *name, const struct redlock_now *now)
{
    (void)putchar('{');
    print_string("name", name);
    (void)putchar(',');
    print_string("state", state_word(now->state));
    if (now->mode == REDLOCK_SHARED)
        (void)printf(",\"mode\":\"shared\"");
    if (now->fence)
        (void)printf(",\"fence\":%" PRIu64, now->fence);
    if (now->host) {
        (void)putchar(',');
        print_string("host", now->host);
    }
    if (now->data) {
        (void)putchar(',');
        print_string("data", now->data);
    }
    (void)puts("}");
}

/* ---- what happens ---- */

static void watch_changed(struct watching *watching, const struct redlock_now *now)
{
    watching->told = true;
    signals_pass(true);
    (watching->json ? print_object : print_words)(watching->name, now);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        watching->written = errno;
        watching->code = CODE_FAILED;
    }
    signals_pass(false);
}

static void watch_happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct watching *watching = user;

    (void)redlock;
    if (watching->code >= 0)
        return;
    if (event->kind == REDLOCK_ON_DOWN && watching->told)
        say_line("%s: %s; watching goes on when redlockd is back", watching->name,
                 text_for_people(event->text));
    if (event->kind != REDLOCK_ON_NOW)
        return;
    if (event->error)
        watching->code = say_result(event->error, event->text, watching->name);
    else
        watch_changed(watching, redlock_now(event->watch));
}

static int watch_name(struct watching *watching, struct redlock *redlock, int signals)
{
    int number = 0;

    redlock_set_callback(redlock, watch_happened, watching);
    if (!redlock_watch_begin(redlock, watching->name))
        watching->code = say_error(redlock, watching->name);
    while (watching->code < 0 && !(number = signal_next(signals))) {
        struct pollfd fds[] = {{.fd = redlock_fd(redlock), .events = redlock_events(redlock)},
                               {.fd = signals, .events = POLLIN},
                               {.fd = STDOUT_FILENO}}; /* whether anybody still reads it */
        (void)poll(fds, 3, redlock_timeout_ms(redlock));
        (void)redlock_process(redlock);
        if (fds[2].revents & (POLLERR | POLLHUP)) {
            watching->written = EPIPE;
            break;
        }
    }
    redlock_close(redlock);
    if (number || watching->written == EPIPE)
        signal_die(number ? number : SIGPIPE);
    if (watching->written)
        say_line("cannot write the result: %s", strerror(watching->written));
    return watching->code;
}

int cmd_watch(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct watching watching = {.code = -1};
    int option;

    while ((option = getopt_long(argc, argv, "a:h", options, NULL)) != -1)
        switch (option) {
        case 'j': watching.json = true; break;
        case 'a': watching.address = optarg; break;
        case 'h': watch_help(); return CODE_OK;
        default: return usage_option("watch", argv);
        }
    if (argc - optind != 1)
        return usage("watch", "one NAME is needed");
    watching.name = argv[optind];
    int signals = signals_open(take_signals);
    if (signals < 0)
        return CODE_FAILED;
    struct redlock *redlock = arg_open("watch", watching.address, NULL);
    return redlock ? watch_name(&watching, redlock, signals) : CODE_FAILED;
}
