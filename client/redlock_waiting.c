/* Says what a LOCK waits for, to people in front of a terminal and with --verbose. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

enum {
    FIRST_MS = 1000, /* a shorter wait needs no words */
    AGAIN_MS = 5000,
};

static const char *are(unsigned count)
{
    return count == 1 ? "is" : "are";
}

/* How long it takes until enough masters have left quarantine. The rows are sorted, the longest quarantine
 * first. */
static int64_t quarantine_left_ms(const struct rows *rows, unsigned quarantined, unsigned needed)
{
    unsigned pass = quarantined > needed ? quarantined - needed : 0;
    char state[16];

    for (const char *row = NULL; (row = rows_next(rows, row));)
        if (strcmp(row_value(row, "state", state, sizeof state), "quarantine") == 0 && pass-- == 0)
            return row_number(row, "left");
    return 0;
}

bool waiting_for_masters(struct rows *rows, char *out, size_t size)
{
    static const char *const states[] = {"slow", "down", "refused"};
    unsigned up = 0, quarantined = 0, others[3] = {0}, all = (unsigned)rows->count;
    char state[16], left[DURATION_TEXT];
    size_t len;

    rows_sort(rows, "left");
    for (const char *row = NULL; (row = rows_next(rows, row));) {
        (void)row_value(row, "state", state, sizeof state);
        up += strcmp(state, "up") == 0;
        quarantined += strcmp(state, "quarantine") == 0;
        for (unsigned i = 0; i < 3; i++)
            others[i] += strcmp(state, states[i]) == 0;
    }
    if (up > all / 2)
        return false;
    (void)snprintf(out, size, "too few masters may vote: ");
    len = strlen(out);
    if (quarantined) {
        (void)duration_text(quarantine_left_ms(rows, quarantined, all / 2 + 1 - up), left);
        (void)snprintf(out + len, size - len, "%u of %u %s in quarantine for %s more", quarantined, all,
                       are(quarantined), left);
    }
    for (unsigned i = 0; i < 3; i++) {
        len = strlen(out);
        if (others[i])
            (void)snprintf(out + len, size - len, "%s%u of %u %s %s", out[len - 1] == ' ' ? "" : ", ",
                           others[i], all, are(others[i]), states[i]);
    }
    return true;
}

void waiting_begin(struct waiting *waiting, const struct take *take)
{
    bool talks = take->verbose || (isatty(STDERR_FILENO) && !take->quiet);

    *waiting = (struct waiting){.name = take->name, .look_ms = INT64_MAX};
    if (talks && take->options.wait_ms != 0)
        waiting->look_ms = boot_ms() + FIRST_MS;
}

int waiting_timeout_ms(const struct waiting *waiting, int timeout_ms)
{
    if (waiting->look_ms == INT64_MAX)
        return timeout_ms;
    int64_t left_ms = waiting->look_ms - boot_ms();
    int own_ms = left_ms > 0 ? (int)left_ms : 0;
    return timeout_ms >= 0 && timeout_ms < own_ms ? timeout_ms : own_ms;
}

void waiting_turn(struct waiting *waiting, struct redlock *redlock)
{
    if (boot_ms() < waiting->look_ms)
        return;
    waiting->look_ms = boot_ms() + AGAIN_MS;
    if (waiting->request)
        return;
    rows_free(&waiting->rows);
    waiting->request = redlock_show_begin(redlock, "nodes");
}

/* Says a reason only when it changes, since it may stay the same for hours. */
static void explain(struct waiting *waiting, enum reason reason, const char *text)
{
    if (waiting->reason == reason)
        return;
    waiting->reason = reason;
    say_line("%s: waiting: %s", waiting->name, text);
}

void waiting_heard(struct waiting *waiting, const struct redlock_event *event)
{
    char text[256], who[1280];

    if (waiting->look_ms == INT64_MAX)
        return;
    if (event->kind == REDLOCK_ON_DOWN)
        explain(waiting, REASON_DOWN, event->text);
    if (!waiting->request || event->request != waiting->request)
        return;
    if (event->kind == REDLOCK_ON_ROW) {
        rows_add(&waiting->rows, event->text);
        return;
    }
    waiting->request = 0;
    if (event->error || waiting->rows.failed || waiting->rows.count == 0)
        return;
    (void)snprintf(who, sizeof who, "another has it; `redlock who %s` says who", waiting->name);
    if (waiting_for_masters(&waiting->rows, text, sizeof text))
        explain(waiting, REASON_MASTERS, text);
    else
        explain(waiting, REASON_HOLDER, who);
}

void waiting_end(struct waiting *waiting)
{
    rows_free(&waiting->rows);
}
