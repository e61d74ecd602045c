#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "proto/line.h"
#include "proto/line_piece.h"

int usage(const char *subcommand, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say_line("%s: %s; see `redlock %s --help`", subcommand, text, subcommand);
    return CODE_FAILED;
}

int usage_option(const char *subcommand, char **argv)
{
    return usage(subcommand, "%s: not an option of it, or its value is missing", argv[optind - 1]);
}

static bool ends_in_digit(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && text[len - 1] >= '0' && text[len - 1] <= '9';
}

bool arg_duration(const char *subcommand, const char *option, const char *text, int64_t *ms)
{
    int64_t read_ms = line_duration_ms(text, strlen(text));

    if (read_ms > 0 && ends_in_digit(text)) {
        (void)usage(subcommand, "%s %s: of what? Say %sms or %ss", option, text, text, text);
        return false;
    }
    if (read_ms < 0) {
        (void)usage(subcommand, "%s %s: not a time; write 500ms, 30s, 5m or 2h, 30 days at most", option,
                    text);
        return false;
    }
    *ms = read_ms;
    return true;
}

/* Seconds as flock(1) takes them, "2" or "0.5"; -1: not that. */
static int64_t seconds_ms(const char *text)
{
    char *end;

    if (strspn(text, "0123456789.") != strlen(text) || !ends_in_digit(text))
        return -1;
    double seconds = strtod(text, &end);
    if (*end || seconds * 1000 > (double)DURATION_MAX_MS)
        return -1;
    return (int64_t)(seconds * 1000 + 0.5);
}

bool arg_wait(const char *subcommand, const char *text, int64_t *ms)
{
    *ms = seconds_ms(text);
    return *ms >= 0 || arg_duration(subcommand, "--wait", text, ms);
}

bool arg_word(const char *subcommand, const char *option, const char *text)
{
    if (piece_is_word((struct piece){text, strlen(text)}, REDLOCK_WORD_BYTES))
        return true;
    (void)usage(subcommand,
                "%s %s: 1 to 64 visible characters are allowed, except , \" = and no # or : first", option,
                text);
    return false;
}

bool arg_number(const char *subcommand, const char *option, const char *text, int least, int most,
                int *number)
{
    char *end;

    errno = 0;
    long read = strtol(text, &end, 10);
    if (errno || end == text || *end || read < least || read > most) {
        (void)usage(subcommand, "%s %s: a number from %d to %d is needed", option, text, least, most);
        return false;
    }
    *number = (int)read;
    return true;
}

const char *arg_client(const char *program, char *out)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash && slash[1] ? slash + 1 : program;
    const struct passwd *user = getpwuid(geteuid());
    char host[128] = "";

    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(out, REDLOCK_WORD_BYTES + 1, "%.12s@%.22s:%.17s/%d", user ? user->pw_name : "user",
                   host[0] ? host : "host", base[0] ? base : "-", (int)getpid());
    for (char *c = out; *c; c++)
        if (*c < 0x21 || *c > 0x7e || strchr(",\"=", *c) || (c == out && strchr("#:", *c)))
            *c = '-';
    return out;
}

struct redlock *arg_open(const char *subcommand, const char *address, const char *client)
{
    char program[32], word[REDLOCK_WORD_BYTES + 1];
    struct redlock_options options = {.client = client};

    if (!client) {
        (void)snprintf(program, sizeof program, "redlock-%s", subcommand);
        options.client = arg_client(program, word);
    }

    struct redlock *redlock = redlock_open(address && *address ? address : NULL, &options);
    if (redlock)
        return redlock;
    if (errno == EINVAL)
        (void)usage(subcommand,
                    "%s: not an address; write unix:/path, host:port, [::1]:port or tls://host:port",
                    address && *address ? address : getenv("REDLOCK_ADDRESS"));
    else if (errno == EPROTONOSUPPORT)
        (void)usage(subcommand, "%s: there is no TLS in this redlock: it was built with make TLS=no",
                    address && *address ? address : getenv("REDLOCK_ADDRESS"));
    else
        say_line("cannot begin: %s", strerror(errno));
    return NULL;
}
