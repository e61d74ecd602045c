/* lead: a command that runs on one of many hosts, as long as that one leads.
 *
 *     redlock lead --- redlock, for one term --- guard --- CMD      a term is what `redlock run` does once
 *
 *     +-----------------------------------------------------------------------+
 *     v                                                                       |
 *   a term --the lock was lost, and CMD ended in time-------------------------+
 *     |    --CMD ended, --restart: the lock is given up--> pause -------------+
 *     |    --no redlockd, or too few masters-------------> pause -------------+
 *     +----CMD ended by itself---------------------------> exit with its code
 *
 * Each term is a process of its own, so that nothing of a term is left in the next one. If this process is killed, the
 * kernel kills the term's, whose guard then ends the command, and lets go of the lock. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/redlock_run.h"

enum {
    PAUSE_MS =
        1000, /* the first pause, in which another host may lead; each further one is twice as long ... */
    PAUSE_MOST_MS = 60000,
    STEADY_MS = 60000,   /* ... unless the command ran for so long */
    AWAY_MOST_MS = 5000, /* the longest pause while redlockd is away or too few masters may vote */
};

struct lead {
    struct run run;
    bool restart;
    char data[REDLOCK_WORD_BYTES + 1];
    sigset_t watched, before;     /* the signals that this process reads; its mask when it was started */
    struct sigaction child, pipe; /* as they were then, for SIGCHLD and SIGPIPE */
    int signal;                   /* the last one that is to end us; 0: none */
    int64_t pause_ms;             /* the next pause after the command's end ... */
    int64_t away_ms;              /* ... and the next one before redlockd is asked again */
};

/* ---- signals ---- */

static const int lead_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, 0};

static void lead_watch_signals(struct lead *lead)
{
    struct sigaction action;

    /* As redlock_signals.c has it: a process that ignores SIGCHLD cannot wait for its children, and a closed stderr must
     * not end us. */
    (void)sigaction(SIGCHLD, NULL, &lead->child);
    (void)sigaction(SIGPIPE, NULL, &lead->pipe);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&lead->watched);
    for (const int *number = lead_signals; *number; number++)
        if (*number == SIGCHLD || (sigaction(*number, NULL, &action) == 0 && action.sa_handler != SIG_IGN))
            (void)sigaddset(&lead->watched, *number);
    (void)sigprocmask(SIG_BLOCK, &lead->watched, &lead->before);
}

/* Waits for a signal for so long; 0: none came. The term's process is in our group, so it has those of the terminal
 * already. SIGUSR1 and SIGUSR2 are for the command: they would end a term that still waits for the lock. */
static int lead_hear(struct lead *lead, int64_t timeout_ms, pid_t term)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ms / 1000),
                               .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    siginfo_t info = {0};
    int number = sigtimedwait(&lead->watched, &info, &timeout);

    if (number <= 0 || number == SIGCHLD)
        return number > 0 ? number : 0;
    if (number == SIGUSR1 || number == SIGUSR2)
        term = lead->run.term->began ? term : 0;
    else
        lead->signal = number;
    if (term > 0 && info.si_code != SI_KERNEL)
        (void)kill(term, number);
    return number;
}

/* Pauses for *pause_ms, which becomes twice as long, but not longer than most_ms. */
static void lead_pause(struct lead *lead, int64_t *pause_ms, int64_t most_ms)
{
    int64_t end_ms = boot_ms() + *pause_ms;

    for (int64_t left_ms = *pause_ms; left_ms > 0 && !lead->signal; left_ms = end_ms - boot_ms())
        (void)lead_hear(lead, left_ms, 0);
    if (lead->signal)
        signal_die(lead->signal);
    *pause_ms = earlier_ms(2 * *pause_ms, most_ms);
}

/* ---- a term ---- */

__attribute__((noreturn)) static void term_run(const struct lead *lead, pid_t leader)
{
    struct run run = lead->run;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != leader)
        _exit(CODE_FAILED);
    (void)sigaction(SIGCHLD, &lead->child, NULL);
    (void)sigaction(SIGPIPE, &lead->pipe, NULL);
    (void)sigprocmask(SIG_SETMASK, &lead->before, NULL);
    int code = run_term(&run);
    (void)fflush(NULL);
    _exit(code);
}

/* Returns the status of the term's process, as of waitpid(2); -1: it could not be started. */
static int term_of(struct lead *lead)
{
    pid_t leader = getpid(), term = fork();
    int status = 0;

    if (term == 0)
        term_run(lead, leader);
    if (term < 0) {
        say_line("cannot begin: %s", strerror(errno));
        return -1;
    }
    while (waitpid(term, &status, WNOHANG) == 0)
        (void)lead_hear(lead, 3600000, term);
    return status;
}

static bool may_help(int code)
{
    return code == CODE_CONNECT || code == CODE_NOQUORUM || code == CODE_TIMEOUT;
}

/* Whether there is another term; else *code is the exit code. */
static bool lead_again(struct lead *lead, int status, int64_t began_ms, int *code)
{
    const struct term *term = lead->run.term;
    char pause[DURATION_TEXT];

    if (term->began)
        lead->away_ms = PAUSE_MS;
    if (term->began && boot_ms() - began_ms >= STEADY_MS)
        lead->pause_ms = PAUSE_MS;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : CODE_SIGNAL + WTERMSIG(status);
    if (lead->signal || (WIFSIGNALED(status) && !term->began))
        return false;
    if (term->lost) {
        say_line("%s: waiting for it again", lead->run.take.name);
        return true;
    }
    if (term->began ? !lead->restart : !may_help(*code))
        return false;
    if (!term->began) {
        lead_pause(lead, &lead->away_ms, AWAY_MOST_MS);
        return true;
    }
    say_line("%s: %s has ended (exit code %d): the lock is given up, and asked for again in %s",
             lead->run.take.name, lead->run.argv[0], *code, duration_text(lead->pause_ms, pause));
    lead_pause(lead, &lead->pause_ms, PAUSE_MOST_MS);
    return true;
}

static int lead_on(struct lead *lead)
{
    struct term *term = mmap(NULL, sizeof *term, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, code = CODE_FAILED;
    int64_t began_ms;

    if (term == MAP_FAILED) {
        say_line("cannot begin: %s", strerror(errno));
        return CODE_FAILED;
    }
    lead->run.term = term;
    lead_watch_signals(lead);
    do {
        *term = (struct term){0};
        began_ms = boot_ms();
        status = term_of(lead);
        if (status < 0)
            return CODE_FAILED;
    } while (lead_again(lead, status, began_ms, &code));
    if (lead->signal && !term->began) /* also where the term ended by itself meanwhile */
        signal_die(lead->signal);
    if (WIFSIGNALED(status))
        signal_die(WTERMSIG(status));
    return code;
}

/* ---- its beginning ---- */

static void lead_help(void)
{
    (void)puts("usage: redlock lead [option ...] NAME [--] COMMAND [argument ...]\n"
               "       redlock lead [option ...] NAME -c 'COMMAND for sh'\n"
               "\n"
               "Waits until it leads, which is to hold the lock NAME, and runs COMMAND while it does. When "
               "it leads no more, it\n"
               "ends COMMAND, and waits again. `redlock who NAME` tells who leads.\n"
               "\n"
               "      --data TEXT        what `redlock who` tells of the leader, as host:port; default: "
               "user@host:COMMAND/pid\n"
               "      --restart          when COMMAND ends by itself: give the lock up, pause (1s to 60s), "
               "and wait again;\n"
               "                         without it: exit with its code\n"
               "  -c, --command LINE     run this line by sh -c\n"
               "  -q, --quiet            say nothing when another has it\n"
               "  -v, --verbose          say what the wait is for, as on a terminal\n"
               "  -t, --ttl TIME         how long others wait when this host dies; the lock is renewed all "
               "the time\n"
               "      --max TIME         lead for at most this long at a time\n"
               "      --grace TIME       between SIGTERM and the lock's end; default: a quarter of the TTL, "
               "5s at most\n"
               "      --note WORD        for `redlock show locks`\n"
               "      --client WORD      the same; default: user@host:COMMAND/pid\n"
               "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

static bool is_data(const char *text)
{
    size_t len = strnlen(text, REDLOCK_DATA_BYTES + 1);

    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x21 || text[i] > 0x7e || text[i] == '"')
            return false;
    return len >= 1 && len <= REDLOCK_DATA_BYTES;
}

/* Returns false after it has said what is wrong. */
static bool lead_option(struct lead *lead, int option, const char *value)
{
    struct run *run = &lead->run;

    switch (option) {
    case 'D':
        run->take.options.data = value;
        if (is_data(value))
            return true;
        (void)usage("lead", "--data takes 1 to 256 visible characters except \"");
        return false;
    case 'R': lead->restart = true; return true;
    case 'm': return arg_duration("lead", "--max", value, &run->take.options.max_ms);
    case 'g': return arg_duration("lead", "--grace", value, &run->grace_ms);
    case 'a': run->address = value; return true;
    case 'c':
        run->shell[0] = "sh";
        run->shell[1] = "-c";
        run->shell[2] = (char *)(uintptr_t)value;
        return true;
    default: return take_option("lead", &run->take, option, value) > 0;
    }
}

/* As for run. */
static bool lead_options(struct lead *lead, int argc, char **argv, int *code)
{
    static const struct option options[] = {
        {"data", required_argument, NULL, 'D'},
        {"restart", no_argument, NULL, 'R'},
        {"quiet", no_argument, NULL, 'q'},
        {"verbose", no_argument, NULL, 'v'},
        {"ttl", required_argument, NULL, 't'},
        {"max", required_argument, NULL, 'm'},
        {"grace", required_argument, NULL, 'g'},
        {"note", required_argument, NULL, 'N'},
        {"client", required_argument, NULL, 'C'},
        {"command", required_argument, NULL, 'c'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *code = CODE_FAILED;
    while ((option = getopt_long(argc, argv, "+qvt:c:a:h", options, NULL)) != -1) {
        if (option == 'h') {
            lead_help();
            *code = CODE_OK;
            return false;
        }
        if (option == '?' || option == ':') {
            (void)usage("lead", "%s: not an option, or its value is missing", argv[optind - 1]);
            return false;
        }
        if (!lead_option(lead, option, optarg))
            return false;
    }
    return true;
}

int cmd_lead(int argc, char **argv)
{
    struct lead lead = {.run = RUN_BEGIN, .pause_ms = PAUSE_MS, .away_ms = PAUSE_MS};
    struct run *run = &lead.run;
    int code;

    if (!lead_options(&lead, argc, argv, &code))
        return code;
    if (optind >= argc)
        return usage("lead", "the lock's NAME is needed, and a COMMAND");
    run->take.name = argv[optind++];
    if (!lead_options(&lead, argc, argv, &code))
        return code;
    if (optind < argc && run->shell[0])
        return usage("lead", "%s: -c has the whole command, so nothing may follow", argv[optind]);
    if (optind >= argc && !run->shell[0])
        return usage("lead", "a COMMAND is needed behind the NAME: redlock lead %s -- COMMAND",
                     run->take.name);
    if (strchr(run->take.name, ','))
        return usage("lead", "%s: one NAME is needed, not several", run->take.name);
    run->argv = run->shell[0] ? run->shell : argv + optind;
    if (!run->take.options.data)
        run->take.options.data = arg_client(run->argv[0], lead.data);
    return lead_on(&lead);
}
