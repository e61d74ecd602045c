#include "tests/integ/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NAP_US = 2000 };

static char root[] = "/tmp/redlockd-test-XXXXXX";
static volatile pid_t runner;

/* ---- the program ---- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void pass_on(int number)
{
    kill(runner, number);
}

/* The tests run in a child, so that the folder is removed however the child ends. */
int main(int argc, char **argv)
{
    if (!mkdtemp(root)) {
        perror(root);
        return EXIT_FAILURE;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* a test's orphans come to this process */
    pid_t above = getpid();
    runner = fork();
    if (runner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != above)
            _exit(EXIT_FAILURE);
        setpgid(0, 0); /* Check signals its whole group: not make's and the shell's */
        signal(SIGPIPE, SIG_IGN);
        exit(suite_main(argc, argv));
    }
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    int status = 0, end = 0;
    for (pid_t ended = 0; ended != runner; status = end) {
        ended = waitpid(-1, &end, 0);
        if (ended < 0 && errno != EINTR)
            break;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

void fail_at(const char *file, int line, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_abort_msg("%s:%d: %s", file, line, text);
    abort();
}

bool under_sanitizer(void)
{
    return strstr(daemon_binary(), "asan") != NULL;
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nap(void)
{
    usleep(NAP_US);
    look();
}

int64_t looked_ms, still_ms;

void look_begin(void)
{
    looked_ms = now_ms();
    still_ms = 0;
}

void look(void)
{
    int64_t before_ms = looked_ms;
    looked_ms = now_ms();
    if (looked_ms - before_ms > still_ms)
        still_ms = looked_ms - before_ms;
}

/* ---- files and processes ---- */

char *keep(char *text)
{
    static char **kept;
    static size_t count;
    kept = realloc(kept, (count + 1) * sizeof *kept);
    ck_assert(kept && text);
    kept[count++] = text;
    return text;
}

char *folder_new(const char *what)
{
    static unsigned made;
    char *path = keep(malloc(FOLDER));
    snprintf(path, FOLDER, "%s/%d.%s%u", root, (int)getpid(), what, made++);
    ck_assert_msg(mkdir(path, 0700) == 0, "mkdir %s: %s", path, strerror(errno));
    return path;
}

void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

char *file_read(const char *path)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &len, '\0', file) < 0) {
        free(text);
        text = calloc(1, 1);
    }
    if (file)
        fclose(file);
    return text;
}

/* Reserves the port until this process ends. False: it is a port of another test, which may have killed its
 * server to start it there again. */
static bool port_is_ours(uint16_t port)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "redlockd-test-port-%u", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    bool ours = bind(fd, (struct sockaddr *)&address, size) == 0;
    if (!ours)
        close(fd);
    return ours;
}

/* The port is below the range from which the kernel takes ports for outgoing connections: a dial to a dead
 * master's port in that range could meet itself. */
uint16_t port_free(void)
{
    static unsigned next;
    for (unsigned tries = 0; tries < 2000; tries++) {
        uint16_t port = (uint16_t)(20000 + ((unsigned)getpid() * 37 + next++) % 12000);
        struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int one = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        bool is_free = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        if (is_free && port_is_ours(port))
            return port;
    }
    ck_abort_msg("no free port on 127.0.0.1");
}

pid_t program_start(const char *const argv[], const char *output)
{
    pid_t test = getpid();
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(126);
    int out = open(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int in = open("/dev/null", O_RDONLY);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

void process_stop(pid_t pid)
{
    siginfo_t info;
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
}
