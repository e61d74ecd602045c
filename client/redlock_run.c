/* run: a command that lives only while its lock is held. */
#include "client/redlock_run.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    GRACE_MOST_MS = 5000, /* the default is no longer; --grace may be */
    MARGIN_MOST_MS = 1000,
    UNLOCK_MS = 3000,
    GIVE_UP_MS = 1000,
};

/* ---- its beginning ---- */

static const int run_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGTSTP, SIGTTOU, SIGCONT, SIGCHLD, 0};

/* For how long the lock was valid when it was granted. Less is left if we were held up since then, but a
 * given --ttl tells. */
static int64_t valid_when_granted_ms(const struct run *run)
{
    int64_t left_ms = redlock_valid_ms(run->lock), ttl_ms = run->take.options.ttl_ms;
    int64_t at_most_ms = ttl_ms - ttl_ms / 100 - 2; /* the allowance for drift */

    return left_ms > at_most_ms ? left_ms : at_most_ms;
}

/* Renewals come at a third of the TTL, when two thirds are left. With a grace of more than half of it, a
 * renewal that is a little late would bring SIGTERM. */
static bool set_times(struct run *run)
{
    int64_t valid_ms = valid_when_granted_ms(run);
    char grace[DURATION_TEXT], valid[DURATION_TEXT];

    run->span_ms = valid_ms;
    run->until_ms = redlock_until_ms(run->lock); /* before a !CLOCK can change it */
    run->fence = redlock_fence(run->lock);
    if (run->take.options.max_ms)
        run->max_end_ms = redlock_until_ms(run->lock) - valid_ms + run->take.options.max_ms;
    if (run->grace_ms < 0)
        run->grace_ms = earlier_ms(valid_ms / 4, GRACE_MOST_MS);
    if (run->grace_ms > valid_ms / 2) {
        (void)usage("run", "--grace %s is more than half of what the lock is valid for (%s): give --ttl more",
                    duration_text(run->grace_ms, grace), duration_text(valid_ms, valid));
        return false;
    }
    run->margin_ms = earlier_ms(run->grace_ms / 4, MARGIN_MOST_MS);
    if (run->margin_ms < valid_ms / 50)
        run->margin_ms = valid_ms / 50;
    if (run->grace_ms < run->margin_ms)
        run->grace_ms = run->margin_ms;
    return true;
}

static void set_environment(const struct run *run)
{
    char number[32];

    (void)setenv("REDLOCK_NAME", redlock_name(run->lock), 1);
    (void)setenv("REDLOCK_TOKEN", redlock_token(run->lock), 1);
    (void)snprintf(number, sizeof number, "%" PRIu64, redlock_fence(run->lock));
    (void)setenv("REDLOCK_FENCE", number, 1);
    (void)snprintf(number, sizeof number, "%" PRId64, redlock_until_ms(run->lock));
    (void)setenv("REDLOCK_UNTIL", number, 1);
    if (redlock_slot(run->lock) >= 0) {
        (void)snprintf(number, sizeof number, "%d", redlock_slot(run->lock));
        (void)setenv("REDLOCK_SLOT", number, 1);
    } else {
        (void)unsetenv("REDLOCK_SLOT");
    }
    if (run->address)
        (void)setenv("REDLOCK_ADDRESS", run->address, 1);
}

static bool start(struct run *run)
{
    if (!set_times(run))
        return false;
    family_begin();
    terminal_open(&run->terminal);
    /* Look before the guard is started, since the guard is in our group until it has a group of its own. */
    run->foreground = terminal_is_ours(&run->terminal) && !family_has_siblings();
    run->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (run->timer < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        say_line("cannot watch over the command: %s", strerror(errno));
        return false;
    }
    if (!signals_more(run->signals, run_signals))
        return false;
    set_environment(run);
    run->guarded_ms = run_kill_ms(run, run->until_ms);
    const struct start start = {run->argv, &run->terminal, run->foreground, redlock_socket(run->redlock),
                                run->guarded_ms};
    if (run->term) /* before the command is there, which may be sent a signal at once */
        run->term->began = true;
    run->pid = guard_start(&run->guard, &start);
    if (run->term && run->pid <= 0)
        run->term->began = false;
    run->family = (struct family){.root = run->guard.pid, .group = run->pid, .whole = true};
    return run->pid > 0;
}

/* Gives the lock back. If redlockd says only now that the lock was lost, the command may not have been
 * alone. */
static int give_back(struct run *run)
{
    redlock_set_timeout(run->redlock, UNLOCK_MS);
    enum redlock_error error = every_unlock(run);
    if (error == REDLOCK_OK)
        return run->code;
    if (error == REDLOCK_LOST || error == REDLOCK_NOTHELD) {
        say_line("%s: the lock was lost before %s had ended: it may not have been alone", run->take.name,
                 run->argv[0]);
        return CODE_LOST;
    }
    say_line(
        "%s: %s has ended in time, but the lock could not be given back (%s); it is free when its TTL is "
        "over",
        run->take.name, run->argv[0], redlock_error_name(error));
    return run->code;
}

/* The command was ended before the lock's deadline, so the lock is still there, and redlockd would take the end of the
 * connection for the end of the work. */
static void give_up(struct run *run)
{
    bool clock = run->earlier_ms > CLOCK_MS;

    say_line("%s: the lock was lost (%s), so %s was ended", run->take.name, run->why, run->argv[0]);
    if (strcmp(run->why, "expired") != 0)
        return;
    redlock_set_timeout(run->redlock, GIVE_UP_MS);
    (void)redlock_unlock_lost(run->lock, clock ? REDLOCK_LOSS_CLOCK : REDLOCK_LOSS_EXPIRED);
}

static int finish(struct run *run)
{
    bool had_terminal = run->foreground && terminal_is_of(&run->terminal, run->pid);
    int code = CODE_LOST;

    terminal_take(&run->terminal, run->pid);
    guard_end(&run->guard);
    if (run->lost)
        give_up(run);
    else
        code = give_back(run);
    redlock_close(run->redlock);
    /* ^C went to the command's group only. Without redlock our own group, a script or make, would have got
     * it too. */
    if (code == run->code && had_terminal && (run->signal == SIGINT || run->signal == SIGQUIT)) {
        (void)kill(0, run->signal);
        signal_die(run->signal);
    }
    return code;
}

int run_term(struct run *run)
{
    char client[REDLOCK_WORD_BYTES + 1];
    int code = CODE_FAILED;

    if (!run->take.client)
        run->take.client = arg_client(run->argv[0], client);
    run->redlock = arg_open("run", run->address, run->take.client);
    if (!run->redlock)
        return CODE_FAILED;
    run->signals = signals_open(take_signals);
    if (run->signals < 0)
        return CODE_FAILED;
    do
        run->lock = take_lock(run->redlock, &run->take, run->signals, &code);
    while (!run->lock && every_again(run));
    if (!run->lock) {
        code = every_busy(run, code);
        redlock_close(run->redlock);
        return code;
    }
    if (!start(run)) {
        (void)redlock_unlock(run->lock);
        redlock_close(run->redlock);
        return CODE_FAILED;
    }
    run_watch(run);
    if (run->term)
        run->term->lost = run->lost;
    return finish(run);
}

static void run_help(void)
{
    (void)puts(
        "usage: redlock run [option ...] NAME[,NAME ...] [--] COMMAND [argument ...]\n"
        "       redlock run [option ...] NAME[,NAME ...] -c 'COMMAND for sh'\n"
        "\n"
        "Runs COMMAND while it holds the lock NAME, and ends it, and all that it started, when the lock is "
        "lost.\n"
        "\n"
        "  -c, --command LINE     run this line by sh -c\n"
        "  -w, --wait TIME        wait for at most this long (30s, 5m; also --timeout); default: without "
        "end\n"
        "  -n, --nonblock         do not wait\n"
        "  -E, --conflict-exit-code N  exit code when another has it (120, and 121 after a wait)\n"
        "  -q, --quiet            say nothing when another has it\n"
        "  -v, --verbose          say what the wait is for, as on a terminal\n"
        "  -t, --ttl TIME         how long others wait when this host dies; the lock is renewed all the "
        "time\n"
        "      --shared           as one of many readers, while nobody has it as a writer (without "
        "--shared)\n"
        "      --slots N          one of N places; $REDLOCK_SLOT is its number, from 0 on\n"
        "      --every TIME       run it once in each period, on one of many hosts; exit code 0 where "
        "another "
        "has it\n"
        "      --keep TIME        how long nobody may run it again, from its start; default: nine tenths of "
        "--every\n"
        "      --every-try        also if the command failed\n"
        "      --max TIME         renew the lock for at most this long\n"
        "      --grace TIME       between SIGTERM and the lock's end; default: a quarter of the TTL, 5s at "
        "most\n"
        "      --note WORD        for `redlock show locks`\n"
        "      --client WORD      the same; default: user@host:COMMAND/pid\n"
        "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

/* Returns false with the exit code in *code if the options are wrong, or after --help. */
static bool read_options(struct run *run, int argc, char **argv, int *code)
{
    static const struct option options[] = {
        TAKE_LONG,
        {"max", required_argument, NULL, 'm'},
        {"grace", required_argument, NULL, 'g'},
        {"every", required_argument, NULL, EVERY_PERIOD},
        {"keep", required_argument, NULL, EVERY_KEEP},
        {"every-try", no_argument, NULL, EVERY_TRY},
        {"command", required_argument, NULL, 'c'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *code = CODE_FAILED;
    while ((option = getopt_long(argc, argv, "+" TAKE_SHORT "c:a:h", options, NULL)) != -1) {
        int taken = take_option("run", &run->take, option, optarg);
        if (taken < 0)
            return false;
        if (taken)
            continue;
        switch (option) {
        case 'm':
            if (!arg_duration("run", "--max", optarg, &run->take.options.max_ms))
                return false;
            break;
        case 'g':
            if (!arg_duration("run", "--grace", optarg, &run->grace_ms))
                return false;
            break;
        case EVERY_PERIOD:
        case EVERY_KEEP:
        case EVERY_TRY:
            if (!every_option(run, option, optarg))
                return false;
            break;
        case 'a': run->address = optarg; break;
        case 'c':
            run->shell[0] = "sh";
            run->shell[1] = "-c";
            run->shell[2] = optarg;
            break;
        case 'h':
            run_help();
            *code = CODE_OK;
            return false;
        default:
            (void)usage("run", "%s: not an option, or its value is missing", argv[optind - 1]);
            return false;
        }
    }
    return true;
}

int cmd_run(int argc, char **argv)
{
    struct run run = RUN_BEGIN;
    int code;

    if (!read_options(&run, argc, argv, &code))
        return code;
    if (optind >= argc)
        return usage("run", "the lock's NAME is needed, and a COMMAND");
    run.take.name = argv[optind++];
    if (!read_options(&run, argc, argv, &code)) /* options after the name, and "--" */
        return code;
    if (optind < argc && run.shell[0])
        return usage("run", "%s: -c has the whole command, so nothing may follow", argv[optind]);
    if (optind >= argc && !run.shell[0])
        return usage("run", "a COMMAND is needed behind the NAME: redlock run %s -- COMMAND", run.take.name);
    run.argv = run.shell[0] ? run.shell : argv + optind;
    if (!every_begin(&run))
        return CODE_FAILED;
    return run_term(&run);
}
