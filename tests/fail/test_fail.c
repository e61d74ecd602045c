/* Every call that may fail fails once: the daemon runs again and again with failing.so, and in the k-th
 * run the k-th such call fails, from reading the configuration to the exit. Each time the daemon must either
 * say why and exit with 1, or serve: one holder, known to a majority of masters, then a clean exit.
 *
 * make check tries some of the calls; FAIL_ALL=1 (make fail) all of them; FAIL_AT=k the k-th alone, and
 * FAIL_TRACE=1 adds the place in the program. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "tests/fail/failing.h"
#include "tests/unit/server.h"
#include "tests/unit/suite.h"

enum {
    MASTERS = 3,
    SAMPLE = 50,      /* make check tries so many of all calls */
    SERVE_MS = 20000, /* the time within which it must have served a client, or have ended */
    EXIT_MS = 5000,
    ANSWER_MS = 3000,
    TEXT_BYTES = 64 * 1024,
    PATH_BYTES = 256,
    REPORTED = 20, /* failures shown */
};

static struct server masters[MASTERS];
static char folder[64], conf[PATH_BYTES], out[PATH_BYTES], state_path[PATH_BYTES], library[PATH_BYTES + 64];
static int tcp_port;
static struct failing *state;
static unsigned failures;
static pid_t daemon_pid; /* 0: none */
static char text[TEXT_BYTES];

/* ---- the daemon ---- */

static const char *said(void)
{
    int fd = open(out, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool failed(const char *why)
{
    if (failures++ < REPORTED)
        printf("call %llu (%s): %s; it said:\n%s\n", (unsigned long long)state->at,
               state->what[0] ? state->what : "none failed", why, said());
    return false;
}

static void daemon_start(const char *option)
{
    char env_library[PATH_BYTES + 96], env_state[PATH_BYTES + 32];
    const char *program = getenv("REDLOCKD");
    if (!program)
        program = "build/redlockd";
    snprintf(env_library, sizeof env_library, "LD_PRELOAD=%s", library);
    snprintf(env_state, sizeof env_state, "FAIL_STATE=%s", state_path);
    state->calls = 0;
    memset(state->what, 0, sizeof state->what);
    daemon_pid = fork();
    ck_assert_int_ge(daemon_pid, 0);
    if (daemon_pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    close(fd);
    close(0);
    open("/dev/null", O_RDONLY);
    char asan[] = "ASAN_OPTIONS=verify_asan_link_order=0:exitcode=99", lsan[] = "LSAN_OPTIONS=exitcode=98";
    char path[] = "PATH=/usr/bin:/bin", dash_c[] = "-c";
    char trace[] = "FAIL_TRACE=1";
    char *env[] = {env_library, env_state, asan, lsan, path, getenv("FAIL_TRACE") ? trace : NULL, NULL};
    char *args[] = {(char *)(uintptr_t)program, dash_c, conf, (char *)(uintptr_t)option, NULL};
    execve(program, args, env);
    _exit(127);
}

static bool daemon_over(int *status)
{
    if (waitpid(daemon_pid, status, WNOHANG) != daemon_pid)
        return false;
    daemon_pid = 0;
    return true;
}

static void daemon_kill(void)
{
    if (daemon_pid > 0) {
        kill(daemon_pid, SIGKILL);
        waitpid(daemon_pid, NULL, 0);
    }
    daemon_pid = 0;
}

static bool daemon_wait(int *status)
{
    for (long long end = test_now_ms() + EXIT_MS; test_now_ms() < end; poll(NULL, 0, 1))
        if (daemon_over(status))
            return true;
    return false;
}

/* The status is 0, or 1 with the reason (which libevent prints where it ends the process itself), unless
 * writing that very line failed. */
static bool good_exit(int status)
{
    char why[64];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    bool told = strstr(said(), "level=error") || strstr(said(), conf) || strstr(said(), "[err] ") ||
                strcmp(state->what, "write") == 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        return told ? true : failed("exit status 1 without a reason");
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "killed by signal %d", WTERMSIG(status));
    else
        snprintf(why, sizeof why, "exit status %d", WEXITSTATUS(status));
    return failed(why);
}

/* ---- a client ---- */

static int client_unix(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/c", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int client_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)tcp_port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Puts the first line that begins with one of these bytes into answer. 1: there is one, 0: the
 * connection ended, -1: no line in time, which is a failure. */
static int client_ask(int fd, const char *request, const char *begins, char answer[1024])
{
    size_t len = 0;
    (void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
    for (long long end = test_now_ms() + ANSWER_MS; test_now_ms() < end && len < 1023;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 50) <= 0)
            continue;
        if (recv(fd, answer + len, 1, 0) != 1)
            return 0;
        if (answer[len++] != '\n')
            continue;
        answer[len] = '\0';
        if (strchr(begins, answer[0]))
            return 1;
        len = 0;
    }
    return failed("a client waits in vain") - 1;
}

/* ---- a lock session ---- */

static unsigned masters_that_hold(const char *name, const char *token)
{
    char command[128], reply[256];
    unsigned count = 0;
    snprintf(command, sizeof command, "GET redlock:%s", name);
    for (unsigned i = 0; i < MASTERS; i++) {
        server_ask(&masters[i], command, reply, sizeof reply);
        count += strstr(reply, token) != NULL;
    }
    return count;
}

/* While the first client holds the lock, a client that comes by TCP must not get it. */
static bool session_second(const char *name, int first)
{
    char request[128], answer[1024];
    struct pollfd p = {.fd = first, .events = POLLIN};
    int fd = client_tcp();
    if (fd < 0)
        return true;
    snprintf(request, sizeof request, "LOCK %s\n", name);
    int answered = client_ask(fd, request, "+-", answer);
    close(fd);
    if (answered <= 0 || answer[0] == '-')
        return answered >= 0;
    /* Two holders are allowed once the first client has heard that its lock or its connection is over. */
    return poll(&p, 1, 0) > 0 || failed("two holders");
}

/* The answer to a request must begin like this. */
static int session_step(int fd, const char *request, const char *begins, char answer[1024])
{
    int answered = client_ask(fd, request, "+-", answer);
    if (answered <= 0)
        return answered;
    return strncmp(answer, begins, strlen(begins)) == 0;
}

static int session_end(int fd, const char *name, const char *token)
{
    char request[256], answer[1024];
    snprintf(request, sizeof request, "EXTEND %s token=%s ttl=6s\n", name, token);
    int good = session_step(fd, request, "+EXTENDED ", answer);
    if (good > 0)
        good = session_step(fd, "SHOW LOCKS\n", "+END 1", answer);
    snprintf(request, sizeof request, "UNLOCK %s\n", name);
    if (good > 0)
        good = session_step(fd, request, "+UNLOCKED ", answer);
    if (good > 0)
        good = session_step(fd, "QUIT\n", "+BYE", answer);
    return good;
}

/* 1: served, 0: not served this time, -1: wrong. */
static int session_run(int fd, const char *name)
{
    char request[256], answer[1024], token[41] = "";
    snprintf(request, sizeof request, "LOCK %s ttl=5s\n", name);
    int good = session_step(fd, "HELLO 1 client=fail\n", "+HELLO ", answer);
    if (good > 0)
        good = session_step(fd, request, "+LOCKED ", answer);
    if (good <= 0)
        return good;
    const char *at = strstr(answer, " token=");
    if (at)
        snprintf(token, sizeof token, "%s", at + 7);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (masters_that_hold(name, token) < MASTERS / 2 + 1 && poll(&p, 1, 0) == 0)
        return failed("a grant that no majority of masters knows of") - 1;
    if (!session_second(name, fd))
        return -1;
    return session_end(fd, name, token);
}

/* The daemon serves within SERVE_MS, though perhaps not the first client, or ends. */
static bool serve(void)
{
    char name[64];
    int status;
    unsigned tries = 0;
    for (long long end = test_now_ms() + SERVE_MS; test_now_ms() < end; poll(NULL, 0, 2)) {
        if (daemon_over(&status))
            return good_exit(status);
        int fd = client_unix();
        if (fd < 0)
            continue;
        snprintf(name, sizeof name, "k%llu.%lld.%u", (unsigned long long)state->at, test_now_ms(), tries++);
        int served = session_run(fd, name);
        close(fd);
        if (served < 0)
            return false;
        if (served > 0)
            return true;
    }
    return failed("it neither serves nor ends");
}

static void session(void)
{
    int status;
    daemon_start(NULL);
    bool good = serve();
    if (daemon_pid == 0)
        return;
    kill(daemon_pid, SIGTERM);
    bool ended = daemon_wait(&status);
    if (!ended &&
        strcmp(state->what, "write") == 0) { /* libevent tells itself of a signal by a write, which failed */
        kill(daemon_pid, SIGTERM);
        ended = daemon_wait(&status);
    }
    daemon_kill();
    if (!ended)
        failed("it does not end");
    else if (good)
        good_exit(status);
}

static void only_check(void)
{
    int status;
    daemon_start("--check");
    if (daemon_wait(&status))
        good_exit(status);
    else
        failed("it hangs");
    daemon_kill();
}

static void only_print(void)
{
    int status;
    daemon_start("--print-config");
    if (daemon_wait(&status))
        good_exit(status);
    else
        failed("it hangs");
    daemon_kill();
}

/* ---- each call in turn ---- */

static void each_call(void (*scenario)(void), unsigned sample)
{
    const char *one = getenv("FAIL_AT");
    if (one) {
        state->at = strtoull(one, NULL, 10);
        scenario();
        ck_assert_msg(failures == 0, "see above");
        return;
    }
    bool all = getenv("FAIL_ALL") != NULL;
    state->at = 0;
    scenario();
    ck_assert_msg(failures == 0, "no call failed, and still");
    uint64_t calls = state->calls, stride = all || calls < sample ? 1 : calls / sample;
    ck_assert_uint_gt(calls, 10);
    for (uint64_t at = 1, i = 0;; i++) {
        state->at = at;
        scenario();
        if (!state->what[0] && at > calls / 2)
            break; /* the run ends before that call */
        /* The numbers are a little uneven, so that a row of calls of the same kind is not left out as a
         * whole. */
        at += stride > 2 ? stride - 1 + i % 3 : stride;
    }
    printf("%llu calls\n", (unsigned long long)calls);
    ck_assert_msg(failures == 0, "%u calls whose failure it did not survive; see above", failures);
}

T(reading_the_configuration)
{
    each_call(only_check, 60);
    each_call(only_print, 20);
}

T(start_service_and_end)
{
    each_call(session, SAMPLE);
}

/* ---- the world ---- */

/* failing.so lies beside the folder of the program that runs the tests. */
static void find_library(void)
{
    char self[PATH_BYTES];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(len, 0);
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(library, sizeof library, "%.200s/../fail/failing.so", self);
    ck_assert_msg(access(library, R_OK) == 0, "%s is missing: make builds it", library);
}

static void set_up(void)
{
    struct server place;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a test that fails leaves without a flush */
    find_library();
    server_folder(&place);
    memcpy(folder, place.folder, sizeof folder);
    for (unsigned i = 0; i < MASTERS; i++) {
        server_folder(&masters[i]);
        server_run(&masters[i], i < 2 ? server_free_port() : 0, "--loglevel", "warning");
    }
    tcp_port = server_free_port();
    snprintf(conf, sizeof conf, "%s/conf.yaml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(state_path, sizeof state_path, "%s/state", folder);
    FILE *file = fopen(conf, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "listen: [\"unix:%s/c\", \"127.0.0.1:%d\"]\n"
            "nodes: [\"redis://127.0.0.1:%d\", \"redis://localhost:%d/0\", \"unix:%s\"]\n"
            "restart_guard: off\ndefault_ttl: 2s\nnode_timeout: 500ms\nmin_ttl: 1s\ndrain_timeout: 300ms\n"
            "max_clients: 16\nmax_locks: 64\nmax_waiters: 64\nlog_level: warn\n"
            "max_clients_per_peer: 16\nmax_locks_per_peer: 64\nmax_waits_per_peer: 64\n",
            folder, tcp_port, masters[0].port, masters[1].port, masters[2].path);
    fclose(file);
    int fd = open(state_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, sizeof *state), 0);
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(state, MAP_FAILED);
    close(fd);
}

static void tear_down(void)
{
    const char *const files[] = {"conf.yaml", "out", "state", "c"};
    char path[PATH_BYTES];
    daemon_kill();
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    for (unsigned i = 0; i < MASTERS; i++)
        server_remove(&masters[i]);
}

SETUP_ONCE(set_up, tear_down);
TIME_LIMIT_S(3600);
