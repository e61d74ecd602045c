#include "tests/integ/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

const char *redlock_binary(void)
{
    const char *path = getenv("REDLOCK");
    return path && *path ? path : "./build/redlock";
}

void command_use(const struct daemon *daemon)
{
    char address[PATH + 8];
    char *whole = realpath(redlock_binary(), NULL);
    ck_assert_msg(whole != NULL, "%s: %s", redlock_binary(), strerror(errno));
    snprintf(address, sizeof address, "unix:%s", daemon->path);
    setenv("REDLOCK_ADDRESS", address, 1);
    setenv("R", keep(whole), 1);
}

/* ---- commands ---- */

static void open_onto(const char *path, int flags, int fd)
{
    int opened = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0 || dup2(opened, fd) < 0)
        _exit(126);
}

static void begin_child(pid_t test)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(126);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    signal(SIGPIPE, SIG_DFL);
}

void command_start(struct command *command, const char *const argv[])
{
    const char *folder = folder_new("cmd");
    snprintf(command->out, sizeof command->out, "%s/out", folder);
    snprintf(command->err, sizeof command->err, "%s/err", folder);
    pid_t test = getpid();
    command->pid = fork();
    ck_assert_int_ge(command->pid, 0);
    if (command->pid > 0)
        return;
    begin_child(test);
    setpgid(0, 0);
    open_onto("/dev/null", O_RDONLY, 0);
    open_onto(command->out, O_WRONLY, 1);
    open_onto(command->err, O_WRONLY, 2);
    execvp(argv[0], (char *const *)argv);
    _exit(126);
}

static int wait_code(pid_t pid, const char *what)
{
    int status = 0;
    for (int64_t end_ms = now_ms() + 2 * WAIT_MS; waitpid(pid, &status, WNOHANG) == 0; nap())
        ck_assert_msg(now_ms() < end_ms, "%s does not end", what);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int command_code(struct command *command)
{
    int code = wait_code(command->pid, "the command");
    command->pid = 0;
    return code;
}

bool command_is_over(const struct command *command)
{
    siginfo_t info = {0};
    ck_assert_int_eq(waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == command->pid;
}

int command_run(struct command *command, const char *const argv[])
{
    command_start(command, argv);
    return command_code(command);
}

const char *output(const struct command *command)
{
    return keep(file_read(command->out));
}

const char *errors(const struct command *command)
{
    return keep(file_read(command->err));
}

long number_in(const char *path)
{
    long number = 0;
    for (int64_t end_ms = now_ms() + WAIT_MS;; nap()) {
        char *text = file_read(path);
        bool whole = strchr(text, '\n') != NULL;
        number = atol(text);
        free(text);
        if (whole)
            return number;
        ck_assert_msg(now_ms() < end_ms, "%s: nothing there", path);
    }
}

char process_state(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    char *text = file_read(path);
    const char *behind = strrchr(text, ')');
    char state = behind && behind[1] ? behind[2] : '-';
    free(text);
    return state;
}

bool is_alive(pid_t pid)
{
    char state = process_state(pid);
    return state != '-' && state != 'Z' && state != 'X';
}

/* ---- a pseudo-terminal ---- */

void pty_resize(struct pty *pty, unsigned columns, unsigned lines)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)lines};
    ck_assert_int_eq(ioctl(pty->fd, TIOCSWINSZ, &size), 0);
}

int pty_open(char *name, size_t size)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_msg(
        fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 && ptsname_r(fd, name, size) == 0 &&
            access(name, R_OK | W_OK) == 0,
        "no pseudo-terminal (%s): this test needs /dev/pts; as root: mount -t devpts -o ptmxmode=666 devpts "
        "/dev/pts, and where /dev/ptmx is missing: ln -s pts/ptmx /dev/ptmx",
        strerror(errno));
    return fd;
}

void pty_start(struct pty *pty, const char *const argv[], unsigned columns, unsigned lines)
{
    char name[64];
    *pty = (struct pty){.fd = pty_open(name, sizeof name)};
    pty_resize(pty, columns, lines);
    pid_t test = getpid();
    pty->pid = fork();
    ck_assert_int_ge(pty->pid, 0);
    if (pty->pid > 0)
        return;
    begin_child(test);
    setsid();
    int fd =
        open(name, O_RDWR); /* the first terminal that a session opens becomes its controlling terminal */
    if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(126);
    if (fd > 2)
        close(fd);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    _exit(126);
}

static void take_what_is_there(struct pty *pty)
{
    struct pollfd readable = {.fd = pty->fd, .events = POLLIN};
    while (poll(&readable, 1, 0) > 0 && readable.revents & POLLIN) {
        ck_assert_uint_lt(pty->len, sizeof pty->text - 1);
        ssize_t len = read(pty->fd, pty->text + pty->len, sizeof pty->text - 1 - pty->len);
        if (len <= 0)
            return;
        pty->len += (size_t)len;
        pty->text[pty->len] = '\0';
    }
}

void pty_type(struct pty *pty, const char *text)
{
    ck_assert_int_eq(write(pty->fd, text, strlen(text)), (ssize_t)strlen(text));
}

bool pty_has(struct pty *pty, const char *text)
{
    take_what_is_there(pty);
    return strstr(pty->text + pty->seen, text) != NULL;
}

void pty_await_at(struct pty *pty, const char *text, const char *file, int line)
{
    for (int64_t end_ms = now_ms() + WAIT_MS; !pty_has(pty, text); nap())
        if (now_ms() > end_ms)
            fail_at(file, line, "the terminal does not say \"%s\" but:\n%.4000s", text,
                    pty->text + pty->seen);
    pty->seen = (size_t)(strstr(pty->text + pty->seen, text) - pty->text) + strlen(text);
}

int pty_code(struct pty *pty)
{
    int status = 0;
    for (int64_t end_ms = now_ms() + WAIT_MS; waitpid(pty->pid, &status, WNOHANG) == 0; nap()) {
        take_what_is_there(pty); /* a writer must not have to wait for this process */
        ck_assert_msg(now_ms() < end_ms, "what runs in the terminal does not end:\n%.4000s", pty->text);
    }
    take_what_is_there(pty);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
