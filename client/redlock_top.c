/* top: shows locks, waiters, nodes and rates, live. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_rows.h"
#include "client/redlock_screen.h"

enum {
    EVERY_MS = 1000,
    EVERY_LEAST_MS = 100,
    ANSWER_MS = 3000,
    LISTED_MAX =
        5000, /* if there are more locks or waiters, only their number is shown: nobody reads them all */
};

enum topic { TOPIC_STATS, TOPIC_NODES, TOPIC_LOCKS, TOPIC_WAITERS, TOPICS };

static const char *const topic_names[] = {"stats", "nodes", "locks", "waiters"};

static const struct rate {
    const char *shown;
    const char *key;
} rates[] = {
    {"grants", "grants"},     {"releases", "releases"},         {"renewals", "renewals"},
    {"busy", "refused_busy"}, {"timed out", "refused_timeout"}, {"no quorum", "refused_noquorum"},
    {"lost", "lost"},
};
enum { RATES = sizeof rates / sizeof rates[0] };

struct top {
    struct redlock *redlock;
    struct screen screen;
    int64_t every_ms;
    int64_t next_ms; /* when to ask again */
    int signals;
    uint64_t request[TOPICS]; /* the request that is under way; 0: none */
    struct rows coming[TOPICS], rows[TOPICS];
    int64_t counted_ms; /* when the figures were taken */
    int64_t figure[RATES];
    double rate[RATES];
    bool changed;
    bool over;
    int code;
    char trouble[512]; /* "": none */
};

/* ---- asking ---- */

static int64_t figure(const struct rows *stats, const char *key)
{
    for (const char *row = rows_next(stats, NULL); row; row = rows_next(stats, row)) {
        size_t len = strlen(key);
        if (strncmp(row, key, len) == 0 && row[len] == '=')
            return row_number(row, key);
    }
    return 0;
}

static void top_ask(struct top *top, enum topic topic)
{
    rows_free(&top->coming[topic]);
    top->request[topic] = redlock_show_begin(top->redlock, topic_names[topic]);
}

static void ask_list(struct top *top, enum topic topic, const char *key)
{
    if (figure(&top->rows[TOPIC_STATS], key) <= LISTED_MAX)
        top_ask(top, topic);
    else
        rows_free(&top->rows[topic]);
}

static bool is_asking(const struct top *top)
{
    for (unsigned i = 0; i < TOPICS; i++)
        if (top->request[i])
            return true;
    return false;
}

static void count_rates(struct top *top)
{
    int64_t now_ms = boot_ms();

    for (unsigned i = 0; i < RATES; i++) {
        int64_t count = figure(&top->rows[TOPIC_STATS], rates[i].key);
        int64_t span_ms = now_ms - top->counted_ms;
        /* A figure that became smaller is that of a daemon which was restarted. */
        bool known = top->counted_ms > 0 && count >= top->figure[i] && span_ms > 0;
        top->rate[i] = known ? (double)(count - top->figure[i]) * 1000 / (double)span_ms : 0;
        top->figure[i] = count;
    }
    top->counted_ms = now_ms;
}

static void answered(struct top *top, enum topic topic, const struct redlock_event *event)
{
    top->request[topic] = 0;
    top->changed = true;
    if (event->error) {
        (void)snprintf(top->trouble, sizeof top->trouble, "%s", event->text);
        return;
    }
    top->trouble[0] = '\0';
    rows_free(&top->rows[topic]);
    top->rows[topic] = top->coming[topic];
    top->coming[topic] = (struct rows){0};
    if (topic == TOPIC_LOCKS)
        rows_sort(&top->rows[topic], "waiters");
    if (topic == TOPIC_WAITERS)
        rows_sort(&top->rows[topic], "waited");
    if (topic != TOPIC_STATS)
        return;
    count_rates(top);
    ask_list(top, TOPIC_LOCKS, "locks");
    ask_list(top, TOPIC_WAITERS, "waiters");
}

static void top_heard(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct top *top = user;

    (void)redlock;
    if (event->kind == REDLOCK_ON_DOWN) {
        (void)snprintf(top->trouble, sizeof top->trouble, "%s; trying again", event->text);
        top->changed = true;
    }
    for (unsigned i = 0; i < TOPICS && event->request; i++) {
        if (top->request[i] != event->request)
            continue;
        if (event->kind == REDLOCK_ON_ROW)
            rows_add(&top->coming[i], event->text);
        else if (event->kind == REDLOCK_ON_SHOW)
            answered(top, i, event);
        return;
    }
}

/* ---- drawing ---- */

static void draw_head(const struct top *top, FILE *out)
{
    const struct rows *stats = &top->rows[TOPIC_STATS];
    const char *server = redlock_server(top->redlock);
    char up[DURATION_TEXT];

    (void)fprintf(out, "\a%s  %s", server ? server : "redlockd", redlock_address(top->redlock));
    (void)fprintf(out, "  up %s\n", duration_text(figure(stats, "uptime_ms"), up));
    (void)fprintf(out,
                  "%" PRId64 " of %" PRId64 " masters vote, %" PRId64 " clients, %" PRId64 " locks, %" PRId64
                  " waiters\n",
                  figure(stats, "masters_voting"), figure(stats, "masters"), figure(stats, "clients"),
                  figure(stats, "locks"), figure(stats, "waiters"));
    (void)fputs("per second:", out);
    for (unsigned i = 0; i < RATES; i++)
        (void)fprintf(out, "%s %s %.1f", i ? "," : "", rates[i].shown, top->rate[i]);
    (void)fprintf(out, "\n%s%s\n", top->trouble[0] ? "\a" : "", top->trouble);
}

/* Draws a title, the heads of the columns and the rows, on at most `lines` lines. */
static void draw_list(const struct top *top, enum topic topic, size_t lines, FILE *out)
{
    const struct rows *rows = &top->rows[topic];

    if (lines < 3 || rows->count == 0)
        return;
    (void)fprintf(out, "\a%s\n", topic_names[topic]);
    rows_table(rows, LAYOUT_LIST, 0, lines - 2, out);
}

static size_t lines_of(const struct rows *rows)
{
    return rows->count ? rows->count + 2 : 0;
}

static void draw_all(const struct top *top, FILE *out)
{
    size_t left = top->screen.height > 5 ? top->screen.height - 5 : 0; /* the head has 4, the last is empty */
    size_t nodes = lines_of(&top->rows[TOPIC_NODES]), locks = lines_of(&top->rows[TOPIC_LOCKS]);
    size_t waiters = lines_of(&top->rows[TOPIC_WAITERS]);

    draw_head(top, out);
    if (nodes > left)
        nodes = left;
    left -= nodes;
    if (locks + waiters > left) { /* two thirds for the locks, unless the waiters need less */
        size_t share = left * 2 / 3;
        if (left > waiters && left - waiters > share)
            share = left - waiters;
        locks = locks < share ? locks : share;
        waiters = left - locks;
    }
    draw_list(top, TOPIC_NODES, nodes, out);
    draw_list(top, TOPIC_LOCKS, locks, out);
    draw_list(top, TOPIC_WAITERS, waiters, out);
}

static void draw(struct top *top)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    top->changed = false;
    if (!out)
        return;
    draw_all(top, out);
    bool fine = fclose(out) == 0;
    if (fine && !screen_draw(&top->screen, text))
        top->over = true; /* the terminal is gone */
    free(text);
}

/* ---- the loop ---- */

static const int top_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH, 0};

static void top_look_at_signals(struct top *top)
{
    int signal;

    while ((signal = signal_next(top->signals)))
        switch (signal) {
        case SIGWINCH:
            screen_measure(&top->screen);
            top->changed = true;
            break;
        case SIGTSTP:
            screen_close(&top->screen);
            (void)signal_stop(SIGTSTP);
            screen_open(&top->screen);
            top->changed = true;
            break;
        case SIGCONT: top->changed = true; break;
        default:
            screen_close(&top->screen);
            redlock_close(top->redlock);
            signal_die(signal);
        }
}

static void look_at_keys(struct top *top)
{
    char keys[64];

    ssize_t len = read(STDIN_FILENO, keys, sizeof keys);
    if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN)) /* hung up */
        top->over = true;
    for (ssize_t i = 0; i < len; i++)
        if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 4) /* ^D */
            top->over = true;
        else if (keys[i] == ' ' || keys[i] == '\n')
            top->next_ms = 0;
}

static int top_timeout_ms(const struct top *top)
{
    int64_t left_ms = top->next_ms - boot_ms();
    int redlock_ms = redlock_timeout_ms(top->redlock);

    if (left_ms < 0 || is_asking(top))
        left_ms = is_asking(top) ? ANSWER_MS : 0;
    return redlock_ms >= 0 && redlock_ms < left_ms ? redlock_ms : (int)left_ms;
}

static void loop(struct top *top)
{
    while (!top->over) {
        struct pollfd fds[] = {{.fd = redlock_fd(top->redlock), .events = redlock_events(top->redlock)},
                               {.fd = top->signals, .events = POLLIN},
                               {.fd = top->screen.keys ? STDIN_FILENO : -1, .events = POLLIN}};
        (void)poll(fds, 3, top_timeout_ms(top));
        (void)redlock_process(top->redlock);
        top_look_at_signals(top);
        if (fds[2].revents)
            look_at_keys(top);
        if (!is_asking(top) && boot_ms() >= top->next_ms) {
            top_ask(top, TOPIC_STATS);
            top_ask(top, TOPIC_NODES);
            top->next_ms = boot_ms() + top->every_ms;
        }
        if (top->changed && (!is_asking(top) || top->trouble[0]))
            draw(top);
    }
}

static int top_main(struct top *top)
{
    top->signals = signals_open(top_signals);
    if (top->signals < 0)
        return CODE_FAILED;
    redlock_set_timeout(top->redlock, ANSWER_MS);
    if (redlock_connect(top->redlock))
        return say_error(top->redlock, NULL);
    redlock_set_callback(top->redlock, top_heard, top);
    screen_open(&top->screen);
    loop(top);
    screen_close(&top->screen);
    for (unsigned i = 0; i < TOPICS; i++) {
        rows_free(&top->rows[i]);
        rows_free(&top->coming[i]);
    }
    return CODE_OK;
}

static void top_help(void)
{
    (void)puts("usage: redlock top [-d time] [-a address]\n"
               "\n"
               "Locks, waiters, masters and rates, live. q or ^C ends it, the space bar asks at once.\n"
               "\n"
               "  -d, --delay TIME       between two looks; default: 1s\n"
               "  -a, --address ADDRESS  of redlockd: unix:/path, host:port or tls://host:port\n");
}

int cmd_top(int argc, char **argv)
{
    static const struct option options[] = {
        {"delay", required_argument, NULL, 'd'},
        {"address", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct top top = {.every_ms = EVERY_MS};
    const char *address = NULL;
    int option;

    while ((option = getopt_long(argc, argv, "d:a:h", options, NULL)) != -1)
        switch (option) {
        case 'd':
            if (!arg_duration("top", "--delay", optarg, &top.every_ms))
                return CODE_FAILED;
            break;
        case 'a': address = optarg; break;
        case 'h': top_help(); return CODE_OK;
        default: return usage_option("top", argv);
        }
    if (optind < argc)
        return usage("top", "%s: it takes no arguments", argv[optind]);
    if (top.every_ms < EVERY_LEAST_MS)
        return usage("top", "--delay is 100ms at least");
    if (!isatty(STDOUT_FILENO))
        return usage("top", "it needs a terminal; `redlock show` prints into files and pipes");
    top.redlock = arg_open("top", address, NULL);
    if (!top.redlock)
        return CODE_FAILED;
    int code = top_main(&top);
    redlock_close(top.redlock);
    return code;
}
