/* lock, unlock, extend, check: for scripts, which keep the name and the token in variables. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

/* ---- assignments ---- */

/* Prints the value so that a shell reads it as one word, whatever it contains: in '...' only the ' itself
 * needs care. */
static void print_quoted(const char *key, const char *value)
{
    (void)printf("%s='", key);
    for (; *value; value++)
        if (*value == '\'')
            (void)fputs("'\\''", stdout);
        else
            (void)putchar(*value);
    (void)fputs("'\n", stdout);
}

static void print_until(const struct redlock_lock *lock)
{
    (void)printf("REDLOCK_UNTIL=%" PRId64 "\n", redlock_until_ms(lock));
}

static void print_lock(const struct redlock_lock *lock)
{
    print_quoted("REDLOCK_NAME", redlock_name(lock));
    (void)printf("REDLOCK_TOKEN=%s\n", redlock_token(lock));
    (void)printf("REDLOCK_FENCE=%" PRIu64 "\n", redlock_fence(lock));
    print_until(lock);
    if (redlock_slot(lock) >= 0)
        (void)printf("REDLOCK_SLOT=%d\n", redlock_slot(lock));
    (void)printf("export REDLOCK_NAME REDLOCK_TOKEN REDLOCK_FENCE REDLOCK_UNTIL%s\n",
                 redlock_slot(lock) >= 0 ? " REDLOCK_SLOT" : "");
}

static bool printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    say_line("cannot write the result: %s", strerror(errno));
    return false;
}

/* ---- lock ---- */

static void help_lock(void)
{
    (void)puts(
        "usage: redlock lock --lease [-nqv] [-t ttl] [-w wait] [-E code] [--note word] [--client word]\n"
        "                    [--shared | --slots n] [-a address] NAME[,NAME ...]\n"
        "\n"
        "Takes a lease and prints it as assignments:\n"
        "lease=$(redlock lock --lease -t 60s job) || exit; eval \"$lease\"\n"
        "\n"
        "      --lease            the lock lives for its TTL, and nobody renews it\n"
        "  -t, --ttl TIME         how long it lasts (30s, 5m); default: redlockd's default_ttl\n"
        "  -w, --wait TIME        wait for at most this long (also --timeout); default: without end\n"
        "  -n, --nonblock         do not wait\n"
        "  -E, --conflict-exit-code N  exit code when another has it (120, and 121 after a wait)\n"
        "  -q, --quiet            say nothing when another has it\n"
        "  -v, --verbose          say what the wait is for, as on a terminal\n"
        "      --shared           as one of many readers, while nobody has it as a writer\n"
        "      --slots N          one of N places; REDLOCK_SLOT is its number, from 0 on\n"
        "      --note WORD        for `redlock show locks`\n"
        "      --client WORD      the same; default: user@host:redlock-lock/pid\n"
        "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

static int lease(const char *address, const struct take *take)
{
    int code = CODE_FAILED;
    struct redlock *redlock = arg_open("lock", address, take->client);
    int signals = signals_open(take_signals);

    if (!redlock || signals < 0)
        return CODE_FAILED;
    struct redlock_lock *lock = take_lock(redlock, take, signals, &code);
    if (lock) {
        print_lock(lock);
        code = CODE_OK;
        if (!printed()) { /* nobody knows the token, so nobody else could give the lock back */
            (void)redlock_unlock(lock);
            code = CODE_FAILED;
        }
    }
    redlock_close(redlock);
    return code;
}

static int lock_main(int argc, char **argv)
{
    static const struct option options[] = {
        TAKE_LONG,
        {"lease", no_argument, NULL, 'l'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct take take = {.options = {.wait_ms = REDLOCK_WAIT_LONGEST}, .conflict_code = -1};
    const char *address = NULL;
    int option;

    while ((option = getopt_long(argc, argv, TAKE_SHORT "a:h", options, NULL)) != -1) {
        int taken = take_option("lock", &take, option, optarg);
        if (taken < 0)
            return CODE_FAILED;
        if (taken)
            continue;
        switch (option) {
        case 'l': take.options.hold = REDLOCK_LEASE; break;
        case 'a': address = optarg; break;
        case 'h': help_lock(); return CODE_OK;
        default: return usage_option("lock", argv);
        }
    }
    if (argc - optind != 1)
        return usage("lock", "one NAME is needed");
    take.name = argv[optind];
    if (take.options.hold != REDLOCK_LEASE)
        return usage("lock",
                     "a lock would be free again as soon as this command ends: take a lease (--lease), "
                     "which lives for its TTL, or run your command under the lock: redlock run %s -- ...",
                     take.name);
    return lease(address, &take);
}

int cmd_lock(int argc, char **argv)
{
    int code = lock_main(argc, argv);

    if (code != CODE_OK)
        take_failed(code);
    return code;
}

/* ---- unlock, extend, check ---- */

enum verb { VERB_UNLOCK, VERB_EXTEND, VERB_CHECK };

static const char *const verb_names[] = {"unlock", "extend", "check"};

static void help_verb(enum verb verb)
{
    static const char *const what[] = {
        "Gives a lock back.",
        "Makes a lock last for its TTL again, or for the one given, and prints REDLOCK_UNTIL=.",
        "Asks whether a lock is still held, and prints REDLOCK_UNTIL=.",
    };

    (void)printf("usage: redlock %s [-q]%s [-a address] [NAME [TOKEN]]\n\n%s\n"
                 "NAME and TOKEN are $REDLOCK_NAME and $REDLOCK_TOKEN unless they are given.\n"
                 "TOKEN - is read from standard input: arguments can be seen by others.\n\n",
                 verb_names[verb], verb == VERB_EXTEND ? " [-t ttl]" : "", what[verb]);
    if (verb == VERB_EXTEND)
        (void)puts("  -t, --ttl TIME         how long it lasts from now on (30s, 5m)");
    (void)puts("  -q, --quiet            print nothing; the exit code tells\n"
               "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

struct asking {
    enum verb verb;
    const char *address;
    int64_t ttl_ms;
    bool quiet;
    const char *name;
    const char *token;
};

static enum redlock_error script_ask(const struct asking *asking, struct redlock_lock *lock)
{
    switch (asking->verb) {
    case VERB_UNLOCK: return redlock_unlock(lock);
    case VERB_EXTEND: return redlock_extend(lock, asking->ttl_ms);
    case VERB_CHECK: break;
    }
    return redlock_check(lock);
}

static int script_answer(const struct asking *asking, const struct redlock *redlock,
                         const struct redlock_lock *lock, enum redlock_error error)
{
    if (error == REDLOCK_NOTHELD && asking->quiet)
        return CODE_LOST;
    if (error)
        return say_error(redlock, asking->name);
    if (asking->verb == VERB_UNLOCK || asking->quiet)
        return CODE_OK;
    if (isatty(STDOUT_FILENO)) {
        char left[DURATION_TEXT];
        (void)printf("%s: held for %s more\n", asking->name, duration_text(redlock_valid_ms(lock), left));
    } else {
        print_until(lock);
    }
    return printed() ? CODE_OK : CODE_FAILED;
}

static int ask_about(const struct asking *asking)
{
    struct redlock *redlock = arg_open(verb_names[asking->verb], asking->address, NULL);

    if (!redlock)
        return CODE_FAILED;
    struct redlock_lock *lock = redlock_attach(redlock, asking->name, asking->token);
    int code = CODE_FAILED;
    if (lock)
        code = script_answer(asking, redlock, lock, script_ask(asking, lock));
    else
        (void)say_error(redlock, asking->name);
    redlock_close(redlock);
    return code;
}

/* A token in the arguments can be seen by every user of this host, by ps(1). */
static const char *token_read(char *out, int size)
{
    if (!fgets(out, size, stdin))
        return NULL;
    out[strcspn(out, "\r\n")] = '\0';
    return *out ? out : NULL;
}

static int verb_main(enum verb verb, int argc, char **argv)
{
    static const struct option options[] = {
        {"ttl", required_argument, NULL, 't'},
        {"quiet", no_argument, NULL, 'q'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *subcommand = verb_names[verb];
    static char token[128];
    struct asking asking = {.verb = verb, .name = getenv("REDLOCK_NAME"), .token = getenv("REDLOCK_TOKEN")};
    int option;

    while ((option = getopt_long(argc, argv, "t:qa:h", options, NULL)) != -1)
        switch (option) {
        case 't':
            if (verb != VERB_EXTEND)
                return usage(subcommand, "--ttl is for extend only");
            if (!arg_duration(subcommand, "--ttl", optarg, &asking.ttl_ms))
                return CODE_FAILED;
            break;
        case 'q': asking.quiet = true; break;
        case 'a': asking.address = optarg; break;
        case 'h': help_verb(verb); return CODE_OK;
        default: return usage_option(subcommand, argv);
        }
    if (argc - optind > 2)
        return usage(subcommand, "NAME and TOKEN are all it takes");
    if (optind < argc)
        asking.name = argv[optind++];
    if (optind < argc)
        asking.token = argv[optind];
    if (asking.token && strcmp(asking.token, "-") == 0 && !(asking.token = token_read(token, sizeof token)))
        return usage(subcommand, "TOKEN is -, but standard input has no line with one");
    if (!asking.name || !asking.token)
        return usage(subcommand,
                     "NAME and TOKEN are needed: give them, or set REDLOCK_NAME and REDLOCK_TOKEN "
                     "(eval what redlock lock --lease prints)");
    return ask_about(&asking);
}

int cmd_unlock(int argc, char **argv)
{
    return verb_main(VERB_UNLOCK, argc, argv);
}

int cmd_extend(int argc, char **argv)
{
    return verb_main(VERB_EXTEND, argc, argv);
}

int cmd_check(int argc, char **argv)
{
    return verb_main(VERB_CHECK, argc, argv);
}
