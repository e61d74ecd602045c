/* Starts the command. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_run.h"

__attribute__((noreturn)) static void become(char *const argv[])
{
    signals_restore();
    (void)execvp(argv[0], argv);
    int error = errno;
    bool is_line = error == ENOENT && !argv[1] && strchr(argv[0], ' ');
    say_line("%s: %s%s", argv[0], strerror(error),
             is_line ? "; to have a shell run this line, use `-c LINE` or `-- sh -c LINE`" : "");
    _exit(error == ENOENT ? CODE_NOTFOUND : CODE_NOEXEC);
}

pid_t child_start(char *const argv[], const struct terminal *terminal, bool foreground)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid > 0)
        (void)setpgid(pid, pid); /* parent and child both set it, so that neither runs before it is set */
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CODE_FAILED);
    (void)setpgid(0, 0);
    if (foreground)
        terminal_give(terminal, getpid());
    become(argv);
}
