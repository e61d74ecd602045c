#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/chaos/world.h"

pid_t process_fork(const int *keep, unsigned kept)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);  /* the parent was gone before the call */
    setpgid(0, 0); /* only the parent handles ^C */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    unsigned from = 3;
    for (unsigned i = 0; i < kept; i++) { /* in ascending order */
        if ((unsigned)keep[i] > from)
            close_range(from, (unsigned)keep[i] - 1, 0);
        from = (unsigned)keep[i] + 1;
    }
    close_range(from, ~0U, 0);
    return 0;
}

pid_t process_exec(const char *const argv[], const char *output)
{
    pid_t pid = process_fork(NULL, 0);
    if (pid != 0)
        return pid;
    int log = open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "cannot start %s\n", argv[0]);
    _exit(127);
}

void process_stop(struct process *process, int64_t until_us)
{
    if (process->pid == 0)
        return;
    kill(process->pid, SIGSTOP);
    if (until_us > process->cont_us)
        process->cont_us = until_us;
}

void process_kill(struct process *process, int64_t start_us)
{
    if (process->pid == 0 || process->killed)
        return;
    process->killed = true;
    process->due_us = start_us;
    kill(process->pid, SIGKILL);
}

void process_end(struct process *process)
{
    if (process->pid > 0) {
        kill(process->pid, SIGKILL);
        while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    *process = (struct process){0};
}
