/* run --every: a job that many hosts start at about the same time, and that one of them runs.
 *
 * Whoever gets the lock runs the command, and keeps the name until nine tenths of the period after its LOCK: a whole
 * period would refuse the host that fires a little earlier next time, and the job would run every second time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/redlock_run.h"

bool every_option(struct run *run, int option, const char *value)
{
    struct every *every = &run->every;

    if (option == EVERY_TRY)
        every->tries = true;
    if (option == EVERY_KEEP)
        return arg_duration("run", "--keep", value, &every->keep_ms);
    return option != EVERY_PERIOD || arg_duration("run", "--every", value, &every->period_ms);
}

/* Why the options do not go together; NULL: they do. */
static const char *every_fault(const struct run *run)
{
    const struct every *every = &run->every;
    const struct redlock_lock_options *options = &run->take.options;

    if (every->period_ms < 0)
        return "--keep and --every-try are for --every";
    if (every->period_ms == 0)
        return "--every 0s: a period is needed, as 1h";
    if (options->mode == REDLOCK_SHARED || options->slots || strchr(run->take.name, ','))
        return "--every is for the exclusive lock of one name: leave --shared and --slots out, and name one";
    if (every->keep_ms == 0 || every->keep_ms > every->period_ms)
        return "--keep is above 0, and no longer than the period of --every";
    return NULL;
}

bool every_begin(struct run *run)
{
    struct every *every = &run->every;

    if (every->period_ms < 0 && !every->tries && every->keep_ms < 0)
        return true;
    if (every->keep_ms < 0)
        every->keep_ms = every->period_ms - every->period_ms / 10;
    const char *fault = every_fault(run);
    if (fault) {
        (void)usage("run", "%s", fault);
        return false;
    }
    if (run->take.options.wait_ms == REDLOCK_WAIT_LONGEST)
        run->take.options.wait_ms = 0;
    every->waits = run->take.options.wait_ms != 0;
    every->says = run->take.verbose;
    run->take.quiet |= !every->waits;
    every->asked_ms = boot_ms();
    return true;
}

struct seen {
    char mode[16], daemon[16], host[80];
    int64_t left_ms;
};

static void copy(char *out, size_t size, const struct redlock_pair *pair)
{
    (void)snprintf(out, size, "%.*s", (int)pair->value_len, pair->value);
}

static bool is_key(const struct redlock_pair *pair, const char *key)
{
    return pair->key_len == strlen(key) && memcmp(pair->key, key, pair->key_len) == 0;
}

/* The first row is the strongest holder. */
static void see(const char *row, void *user)
{
    struct seen *seen = user;
    struct redlock_pair pair;
    char left[24] = "";

    if (seen->mode[0])
        return;
    while (redlock_next_pair(&row, &pair)) {
        if (is_key(&pair, "mode"))
            copy(seen->mode, sizeof seen->mode, &pair);
        if (is_key(&pair, "daemon"))
            copy(seen->daemon, sizeof seen->daemon, &pair);
        if (is_key(&pair, "host"))
            copy(seen->host, sizeof seen->host, &pair);
        if (is_key(&pair, "left"))
            copy(left, sizeof left, &pair);
    }
    if (left[0] != '\0')
        seen->left_ms = strtoll(left, NULL, 10);
}

/* -v: who has it, and until when. */
static void say_who(struct run *run)
{
    struct seen seen = {.left_ms = -1};
    char left[DURATION_TEXT];

    if (redlock_who(run->redlock, run->take.name, see, &seen) != REDLOCK_OK)
        (void)say_error(run->redlock, run->take.name);
    else if (strcmp(seen.mode, "kept") == 0)
        say_line("%s: it was run, and is kept for %s more (through redlockd %s on %s)", run->take.name,
                 duration_text(seen.left_ms, left), seen.daemon, seen.host);
    else if (seen.mode[0])
        say_line("%s: it is being run (its lock is held through redlockd %s on %s)", run->take.name,
                 seen.daemon, seen.host);
    else
        say_line("%s: another host had it a moment ago", run->take.name);
}

bool every_again(struct run *run)
{
    enum { SPLITS = 5, PAUSE_MS = 200 };
    unsigned pause_ms = 20 + (unsigned)(boot_ms() ^ getpid()) % PAUSE_MS;

    if (run->every.period_ms < 0 || redlock_error(run->redlock) != REDLOCK_BUSY ||
        !strstr(redlock_error_text(run->redlock), " split=1"))
        return false;
    const struct timespec pause = {.tv_nsec = 1000000 * (long)pause_ms};
    return ++run->every.splits < SPLITS && nanosleep(&pause, NULL) == 0;
}

int every_busy(struct run *run, int code)
{
    if (run->every.period_ms < 0 || code != CODE_BUSY || run->every.waits || run->take.conflict_code >= 0)
        return code;
    if (run->every.says)
        say_who(run);
    return CODE_OK;
}

/* Another host may run it again if redlockd does not keep the name; while it is away, nobody has the lock before its time
 * is over. */
static int64_t every_patience_ms(const struct run *run)
{
    enum { LEAST_MS = 3000, MOST_MS = 30000 };
    int64_t valid_ms = redlock_valid_ms(run->lock);

    return valid_ms < LEAST_MS ? LEAST_MS : earlier_ms(valid_ms, MOST_MS);
}

enum redlock_error every_unlock(struct run *run)
{
    const struct every *every = &run->every;
    int64_t left_ms = every->asked_ms + every->keep_ms - boot_ms();

    if (every->period_ms < 0 || left_ms <= 0 || (run->code != CODE_OK && !every->tries))
        return redlock_unlock(run->lock);
    redlock_set_timeout(run->redlock, every_patience_ms(run));
    enum redlock_error error = redlock_unlock_keep(run->lock, left_ms);
    if (error == REDLOCK_OK || error == REDLOCK_LOST || error == REDLOCK_NOTHELD)
        return error;
    const char *text = text_for_people(redlock_error_text(run->redlock));
    say_line("%s: %s has ended, but the next host may run it, too: %s", run->take.name, run->argv[0],
             *text ? text : redlock_error_name(error));
    return REDLOCK_OK;
}
