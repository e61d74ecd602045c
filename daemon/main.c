/* redlockd: options, signals, and the order of start and end. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/acl.h"
#include "daemon/conf/conf.h"
#include "daemon/conf/conf_set.h"
#include "daemon/dev.h"
#include "daemon/http/http.h"
#include "daemon/log.h"
#include "daemon/loop/loop.h"
#include "daemon/notify.h"
#include "daemon/passed.h"
#include "daemon/reload.h"
#include "daemon/version.h"

#define DEFAULT_FILE "/etc/redlockd/redlockd.yaml"

enum { EXIT_USAGE = 2, DEV_MASTERS = 5, SPARE_DESCRIPTORS = 32, SIGNALS = 3, LARGE_BYTES = 64 * 1024 };

static const char usage[] =
    "usage: redlockd [-c FILE] [--check | --print-config | --begin-at-generation]\n"
    "       redlockd --dev[=N]\n"
    "\n"
    "  -c FILE         the configuration (" DEFAULT_FILE ")\n"
    "  --check         report every error of the configuration, start nothing\n"
    "  --print-config  print the configuration with all defaults, start nothing\n"
    "  --begin-at-generation\n"
    "                  no other daemon runs, and the masters have forgotten their generation: begin with\n"
    "                  that of the file\n"
    "  --dev[=N]       try it: N (5) throw-away Redis masters, no configuration; gone at the end\n"
    "  --version       print the version, the commit and the libraries\n"
    "  -h, --help      print this\n"
    "\n"
    "SIGTERM or SIGINT drains and stops; a second one stops at once. See redlockd(8).\n";

struct options {
    const char *file; /* NULL: not given */
    bool check, print, begin_at;
    unsigned dev; /* masters; 0: no --dev */
};

struct daemon {
    struct loop *loop;
    struct conf *conf;
    const char *file;         /* NULL: --dev */
    int64_t read_max_clients; /* as in the file */
    struct dev *dev;          /* NULL: real masters */
    struct event *signals[SIGNALS];
    bool draining, begin_at;
    bool terminal; /* stdin was a terminal at the start */
};

static _Noreturn void usage_error(const char *what)
{
    fprintf(stderr, "%s%sredlockd --help lists the options\n", what, *what ? "; " : "");
    exit(EXIT_USAGE);
}

static unsigned dev_masters(const char *text)
{
    if (!text)
        return DEV_MASTERS;
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > MASTERS)
        usage_error("redlockd: --dev takes 1 to 15 masters, as in --dev=3");
    return (unsigned)n;
}

static struct options options_parse(int argc, char **argv)
{
    enum { OPT_CHECK = 256, OPT_DEV, OPT_PRINT, OPT_BEGIN, OPT_VERSION, OPT_HELP };
    static const struct option known[] = {
        {"check", no_argument, NULL, OPT_CHECK},
        {"dev", optional_argument, NULL, OPT_DEV},
        {"print-config", no_argument, NULL, OPT_PRINT},
        {"version", no_argument, NULL, OPT_VERSION},
        {"help", no_argument, NULL, OPT_HELP},
        {"begin-at-generation", no_argument, NULL, OPT_BEGIN},
        {0},
    };
    struct options o = {0};
    for (int c; (c = getopt_long(argc, argv, "c:h", known, NULL)) != -1;) {
        switch (c) {
        case 'c': o.file = optarg; break;
        case OPT_CHECK: o.check = true; break;
        case OPT_PRINT: o.print = true; break;
        case OPT_BEGIN: o.begin_at = true; break;
        case OPT_DEV: o.dev = dev_masters(optarg); break;
        case OPT_VERSION: version_print(stdout); exit(EXIT_SUCCESS);
        case 'h':
        case OPT_HELP: fputs(usage, stdout); exit(EXIT_SUCCESS);
        default: usage_error(""); /* getopt_long() has printed the reason */
        }
    }
    if (optind < argc && o.dev)
        usage_error("redlockd: takes no words besides options (--dev=3, not --dev 3)");
    if (optind < argc)
        usage_error("redlockd: takes no words besides options; a configuration is named by -c FILE");
    if (o.dev && (o.file || o.check || o.print || o.begin_at))
        usage_error("redlockd: --dev has a configuration of its own and stands alone");
    if (o.check + o.print + o.begin_at > 1)
        usage_error("redlockd: --check, --print-config or --begin-at-generation, one of them");
    return o;
}

/* Each client and each master takes a descriptor. max_clients is lowered to the descriptors that there
 * are, so that further clients are refused with -LIMIT instead of hanging in the backlog. */
static bool descriptors_raise(struct conf *conf)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        log_error("no_limit", "why=\"getrlimit: %s\"", strerror(errno));
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        log_warn("descriptors", "why=\"setrlimit: %s\"", strerror(errno));
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t others = 2 * MASTERS + SPARE_DESCRIPTORS + (conf->http_listeners > 0 ? HTTP_CONNECTIONS : 0);
    if (limit.rlim_cur <= others) {
        log_error("descriptors", "limit=%llu needed=%llu hint=\"raise ulimit -n or LimitNOFILE\"",
                  (unsigned long long)limit.rlim_cur, (unsigned long long)others + 1);
        return false;
    }
    if (limit.rlim_cur - others < (rlim_t)conf->max_clients) {
        log_warn("descriptors",
                 "limit=%llu max_clients=%lld lowered_to=%llu hint=\"raise ulimit -n or LimitNOFILE\"",
                 (unsigned long long)limit.rlim_cur, (long long)conf->max_clients,
                 (unsigned long long)(limit.rlim_cur - others));
        conf->max_clients = (int64_t)(limit.rlim_cur - others);
    }
    return true;
}

static void stop_asked(evutil_socket_t number, short what, void *arg)
{
    struct daemon *d = arg;
    (void)what;
    log_info("signal", "number=%d doing=%s", (int)number, d->draining ? "stop" : "drain");
    if (d->draining)
        loop_stop(d->loop);
    else
        loop_drain(d->loop);
    d->draining = true;
    notify_stopping();
}

static void reload_asked(evutil_socket_t number, short what, void *arg)
{
    struct daemon *d = arg;
    /* The terminal of --dev was closed: nobody is left who could end the daemon. */
    if (d->dev && d->terminal && !isatty(STDIN_FILENO)) {
        stop_asked(number, what, arg);
        return;
    }
    notify_reload_begins();
    if (!d->file)
        log_warn("reload", "why=\"--dev has no configuration that could be read again\"");
    else
        loop_reloaded(d->loop, reload(d->conf, d->file, d->read_max_clients, d->loop));
    notify_reload_ends();
}

static void ready(void *arg)
{
    struct daemon *d = arg;
    if (d->dev)
        dev_print(d->dev, loop_port(d->loop, 0), loop_http_port(d->loop, 0), stdout);
    notify_ready();
}

static void summary(void *arg, char *out, size_t size)
{
    const struct daemon *d = arg;
    loop_summary(d->loop, out, size);
}

static bool signals_watch(struct daemon *d)
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (unsigned i = 0; i < SIGNALS; i++) {
        d->signals[i] =
            evsignal_new(loop_base(d->loop), numbers[i], numbers[i] == SIGHUP ? reload_asked : stop_asked, d);
        if (!d->signals[i] || event_add(d->signals[i], NULL) < 0) {
            log_error("no_memory", "what=signals");
            return false;
        }
    }
    return true;
}

static void acl_log(const struct conf *conf)
{
    char line[ACL_BYTES];
    log_debug("acl",
              "what=\"for redis-cli on each master: the rights that redlockd needs, with a password in place "
              "of ...\" : %s",
              acl_line(line, conf));
}

static int daemon_run(struct daemon *d)
{
    struct conf *conf = d->conf;
    log_set_level(conf->log_level);
    if (d->file)
        acl_log(conf);
    if (!descriptors_raise(conf))
        return EXIT_FAILURE;
    d->loop = loop_new(conf, REDLOCKD_VERSION, d->file, d->begin_at);
    if (!d->loop)
        return EXIT_FAILURE;
    int status = EXIT_FAILURE;
    if (signals_watch(d) && notify_start(loop_base(d->loop), summary, d)) {
        loop_on_ready(d->loop, ready, d);
        status = loop_run(d->loop);
    }
    notify_end();
    for (unsigned i = 0; i < SIGNALS; i++)
        if (d->signals[i])
            event_free(d->signals[i]);
    loop_free(d->loop);
    return status;
}

/* A burst needs a few large pieces of memory, which are to go back to the system when they are freed. By
 * default glibc raises its threshold with each freed piece, up to 32 MiB, and then keeps the pieces. */
static void keep_little(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

/* What all daemons must have alike, and what the change to it takes. */
static void check_print_group(const struct conf *conf)
{
    static char names[CONF_SET_BYTES];
    unsigned voters = conf_set_voters(conf->nodes, conf->masters);
    conf_set_names(conf, conf->nodes, conf->masters, ' ', names);
    printf("masters: %s (set %016" PRIx64 ")\n", names, conf_set_hash(conf, conf->nodes, conf->masters));
    printf("generation %" PRId64 ": %u votes of %u are needed", conf->generation, conf->masters / 2 + 1,
           conf->masters);
    if (voters < conf->masters)
        printf("; vacant: %u", conf->masters - voters);
    printf("\n");
    if (conf->masters_before == 0)
        return;
    struct conf_between step =
        conf_set_between(conf->nodes_before, conf->masters_before, conf->nodes, conf->masters);
    printf("between %" PRId64 " and %" PRId64 ": %u votes of %u are needed, those of the masters of both\n",
           conf->generation - 1, conf->generation, step.needed, step.voters);
}

static void check_print(const struct conf *conf, const char *file)
{
    char acl[ACL_BYTES];
    printf("%s: no errors\n", file);
    check_print_group(conf);
    printf("acl: %s\n", acl_line(acl, conf));
}

int main(int argc, char **argv)
{
    static struct conf conf; /* large, and borrowed by everything; reload() alone changes it in the loop */
    struct options o = options_parse(argc, argv);
    struct daemon d = {.conf = &conf, .begin_at = o.begin_at, .terminal = isatty(STDIN_FILENO)};
    keep_little();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* until the loop handles it */
    notify_take();
    if (!passed_take())
        return EXIT_FAILURE;

    if (o.dev) {
        d.dev = dev_start(&conf, o.dev);
        if (!d.dev)
            return EXIT_FAILURE;
    } else {
        d.file = o.file ? o.file : DEFAULT_FILE;
        if (conf_read(&conf, d.file, stderr) > 0)
            return EXIT_FAILURE;
        d.read_max_clients = conf.max_clients;
    }
    if (o.print)
        conf_print(&conf, stdout);
    if (o.check)
        check_print(&conf, d.file);
    if (o.print || o.check)
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;

    int status = daemon_run(&d);
    if (d.dev)
        dev_stop(d.dev);
    return status;
}
