#include "daemon/dev.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_address.h"
#include "daemon/passed.h"

enum { DEV_PORT = 7335, START_MS = 30000, POLL_MS = 20, REAP_MS = 1000 };
enum { FOLDER_BYTES = CONF_PATH_BYTES - 20 }; /* leaves room for the name of a socket */

struct dev {
    int pipe; /* our end of the socket pair: closing it ends the watcher */
    pid_t watcher;
    char folder[FOLDER_BYTES];
    unsigned masters;
    pid_t pids[MASTERS];
    bool other_port;
};

/* The watcher sends this to the daemon in one write. */
struct dev_report {
    int error; /* errno of what failed; 0: each master has a process */
    char folder[FOLDER_BYTES];
    pid_t pids[MASTERS];
};

/* ---- the watcher ---- */

static void folder_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(folder);
}

static void master_exec(const char *folder, unsigned number, pid_t parent)
{
    char socket_path[CONF_PATH_BYTES], log_path[CONF_PATH_BYTES];
    snprintf(socket_path, sizeof socket_path, "%s/%u.sock", folder, number);
    snprintf(log_path, sizeof log_path, "%s/%u.log", folder, number);
    /* The kernel kills the master when the watcher dies, but the watcher may have died before this call. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--unixsocketperm",
           "700", "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", folder, "--logfile",
           log_path, "--loglevel", "warning", (char *)NULL);
    _exit(1);
}

static void masters_start(struct dev_report *report, const char *template, unsigned masters)
{
    pid_t self = getpid();
    memcpy(report->folder, template, sizeof report->folder);
    if (!mkdtemp(report->folder)) {
        report->error = errno;
        return;
    }
    for (unsigned i = 0; i < masters; i++) {
        pid_t pid = fork();
        if (pid == 0)
            master_exec(report->folder, i + 1, self);
        if (pid < 0) {
            report->error = errno;
            return;
        }
        report->pids[i] = pid;
    }
}

/* Forgets the pids of masters that have ended. A pid is killed only while it is an unreaped child, so that
 * it cannot belong to a stranger. */
static void masters_reap(struct dev_report *report, unsigned masters, int options)
{
    for (unsigned i = 0; i < masters; i++)
        if (report->pids[i] > 0 && waitpid(report->pids[i], NULL, options) == report->pids[i])
            report->pids[i] = 0;
}

/* The watcher must keep none of the daemon's descriptors open, since a program that reads the daemon's
 * output waits until all copies are closed. */
static int descriptors_detach(int line)
{
    if (line != 3)
        dup3(line, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
    if (null > 3)
        close(null);
    return 3;
}

static _Noreturn void watcher_run(int line, const char *template, unsigned masters)
{
    struct dev_report report = {0};
    setsid();
    prctl(PR_SET_NAME, "redlockd-watch");
    /* Only the end of the daemon ends the watcher: `killall redlockd` must not kill the masters first. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (chdir("/") < 0)
        _exit(1);
    line = descriptors_detach(line);
    masters_start(&report, template, masters);
    ssize_t told = write(line, &report, sizeof report);
    struct pollfd end = {.fd = line, .events = POLLIN};
    while (told == (ssize_t)sizeof report && poll(&end, 1, REAP_MS) <= 0)
        masters_reap(&report, masters, WNOHANG);
    for (unsigned i = 0; i < masters; i++)
        if (report.pids[i] > 0)
            kill(report.pids[i], SIGKILL);
    masters_reap(&report, masters, 0);
    folder_remove(report.folder);
    _exit(0);
}

/* ---- the daemon's side ---- */

static bool server_installed(void)
{
    char path[4096], *rest = path;
    const char *from = getenv("PATH");
    snprintf(path, sizeof path, "%s", from ? from : "/usr/local/bin:/usr/bin:/bin");
    for (char *folder; (folder = strsep(&rest, ":"));) {
        char file[4096 + 16];
        snprintf(file, sizeof file, "%s/redis-server", *folder ? folder : ".");
        if (access(file, X_OK) == 0)
            return true;
    }
    fputs("redlockd: --dev needs redis-server, which is not in PATH; on Debian and Ubuntu: "
          "apt-get install redis-server\n",
          stderr);
    return false;
}

/* The folder is below $TMPDIR. It is below /tmp if TMPDIR is not set, or if a socket there would have a path
 * that the configuration refuses. */
static void folder_template(char out[FOLDER_BYTES])
{
    static const char name[] = "redlockd-dev-XXXXXX";
    const char *parent = getenv("TMPDIR");
    struct conf_address address;
    char text[CONF_PATH_BYTES];
    if (!parent || strlen(parent) + sizeof name >= FOLDER_BYTES ||
        snprintf(text, sizeof text, "unix:%s", parent) < 0 || conf_address_listen(&address, text))
        parent = "/tmp";
    snprintf(out, FOLDER_BYTES, "%s/%s", parent, name);
}

static bool watcher_start(struct dev *dev)
{
    int line[2];
    char template[FOLDER_BYTES];
    struct dev_report report;
    folder_template(template);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0) {
        fprintf(stderr, "redlockd: --dev: socketpair: %s\n", strerror(errno));
        return false;
    }
    dev->watcher = fork();
    if (dev->watcher == 0)
        watcher_run(line[1], template, dev->masters);
    close(line[1]);
    dev->pipe = line[0];
    ssize_t n = -1;
    if (dev->watcher > 0)
        while ((n = read(dev->pipe, &report, sizeof report)) < 0 && errno == EINTR)
            ;
    if (n != (ssize_t)sizeof report || report.error) {
        fprintf(stderr, "redlockd: --dev: the masters could not be started below %s: %s\n", template,
                strerror(n == (ssize_t)sizeof report ? report.error : errno));
        return false;
    }
    memcpy(dev->folder, report.folder, sizeof dev->folder);
    memcpy(dev->pids, report.pids, sizeof dev->pids);
    return true;
}

/* Connects and sends one PING, and waits for the reply for left_ms at most. */
static bool master_answers(const char *path, int left_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char reply[8];
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6;
    if (good) {
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        good = poll(&answer, 1, left_ms) == 1 && recv(fd, reply, 5, 0) == 5 && memcmp(reply, "+PONG", 5) == 0;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

static void master_complain(const struct dev *dev, unsigned number)
{
    char path[CONF_PATH_BYTES], line[512], last[512] = "it wrote no log\n";
    snprintf(path, sizeof path, "%s/%u.log", dev->folder, number);
    FILE *log = fopen(path, "re");
    while (log && fgets(line, sizeof line, log))
        memcpy(last, line, sizeof last);
    if (log)
        fclose(log);
    last[strcspn(last, "\n")] = 0;
    fprintf(stderr, "redlockd: --dev: redis-server %u did not answer within %d s; its last words: %s\n",
            number, START_MS / 1000, last);
}

static bool masters_wait(const struct dev *dev, const struct conf *conf)
{
    int64_t end_ms = clock_boot_ms() + START_MS;
    for (unsigned i = 0; i < dev->masters; i++) {
        for (;;) {
            int64_t left_ms = end_ms - clock_boot_ms();
            if (left_ms <= 0) {
                master_complain(dev, i + 1);
                return false;
            }
            if (master_answers(conf->nodes[i].address.path, (int)left_ms))
                break;
            poll(NULL, 0, POLL_MS);
        }
    }
    return true;
}

/* Listens on the port at once, and leaves the socket to the listeners of the daemon: a port that was only looked at
 * could be taken by another daemon while the masters start. False: it is in use. */
static bool port_take(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, SOMAXCONN) == 0 &&
        passed_add(fd))
        return true;
    close(fd);
    return false;
}

static void conf_fill(struct dev *dev, struct conf *conf)
{
    conf_defaults(conf);
    conf->restart_guard = false;
    conf->masters = dev->masters;
    char text[CONF_PATH_BYTES + 8];
    for (unsigned i = 0; i < dev->masters; i++) {
        snprintf(text, sizeof text, "unix:%s/%u.sock", dev->folder, i + 1);
        conf_address_node(&conf->nodes[i], text);
    }
    if (!port_take(DEV_PORT)) {
        dev->other_port = true;
        conf->listen[0].address.port = 0;
    }
    snprintf(text, sizeof text, "unix:%s/redlockd.sock", dev->folder);
    conf_address_listen(&conf->listen[1].address, text);
    conf->listeners = 2;
    conf_address_listen(&conf->http[0].address, "127.0.0.1:0");
    conf->http[0].serves = CONF_SERVES_ALL;
    conf->http_listeners = 1;
    conf->unix_mode = 0600;
}

struct dev *dev_start(struct conf *conf, unsigned masters)
{
    if (!server_installed())
        return NULL;
    struct dev *dev = calloc(1, sizeof *dev);
    if (!dev) {
        fputs("redlockd: --dev: out of memory\n", stderr);
        return NULL;
    }
    dev->pipe = -1;
    dev->watcher = -1;
    dev->masters = masters;
    if (!watcher_start(dev)) {
        dev_stop(dev);
        return NULL;
    }
    conf_fill(dev, conf);
    if (!masters_wait(dev, conf)) {
        dev_stop(dev);
        return NULL;
    }
    return dev;
}

void dev_print(const struct dev *dev, uint16_t port, uint16_t http_port, FILE *out)
{
    char advice[160];
    for (unsigned i = 0; i < dev->masters; i++)
        fprintf(out, "master %u pid=%d unix:%s/%u.sock\n", i + 1, (int)dev->pids[i], dev->folder, i + 1);
    if (conf_masters_advice(dev->masters, dev->masters, advice, sizeof advice))
        fprintf(out, "note: %s\n", advice);
    if (dev->other_port)
        fprintf(out, "note: port %d is in use, so a free one was taken\n", DEV_PORT);
    fprintf(out, "listening on 127.0.0.1:%u\n", port);
    fprintf(out, "listening on unix:%s/redlockd.sock\n", dev->folder);
    fprintf(out, "status page http://127.0.0.1:%u/\n", http_port);
    fprintf(out, "try: nc 127.0.0.1 %u   and type HELP, or LOCK a; ^C here ends all of it\n", port);
    fflush(out);
}

void dev_stop(struct dev *dev)
{
    if (dev->pipe >= 0)
        close(dev->pipe);
    while (dev->watcher > 0 && waitpid(dev->watcher, NULL, 0) < 0 && errno == EINTR)
        ;
    free(dev);
}
