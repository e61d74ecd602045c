#include "daemon/loop/loop_show_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_set.h"
#include "daemon/loop/loop_group.h"

static void row_hash(struct row *row, const char *key, uint64_t hash)
{
    char text[CONF_SET_HEX + 1];
    if (hash == 0)
        return;
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    line_row_string(row, key, text);
}

bool show_group(const struct loop_view *view, uint64_t state[8], struct row *row)
{
    struct group_row group;
    if (state[0]++ != 0)
        return false;
    coordinator_group_row(view->coordinator, &group);
    line_row_unsigned(row, "step", group.step);
    line_row_unsigned(row, "generation", group.generation);
    line_row_string(row, "state", group_state_name(group.state));
    row_hash(row, "set", group.set);
    line_row_unsigned(row, "voters", masters_count(group.voters));
    line_row_unsigned(row, "needed", group.needed);
    line_row_unsigned(row, "masters", group.masters);
    line_row_signed(row, "max_ttl", group.max_ttl_ms);
    if (group.why != GROUP_WHY_NONE)
        line_row_string(row, "why", group_why_name(group.why));
    if (group.why == GROUP_WHY_DAEMON && group.host[0] != '\0')
        line_row_string(row, "host", group.host);
    if (group.their_step > group.step)
        line_row_unsigned(row, "their_step", group.their_step);
    if (group.left_ms > 0)
        line_row_signed(row, "left", group.left_ms);
    return true;
}

/* SIGHUP would log it. */
static void kept(void *arg, const struct conf_change *change)
{
    (void)arg, (void)change;
}

/* The daemon reads its file itself, as SIGHUP makes it do: so a second reader of it, which could err, is needed nowhere,
 * and no client can name another file. */
static int read_file(const struct loop_view *view, struct conf *fresh)
{
    char *said = NULL;
    size_t len = 0;
    FILE *errors = open_memstream(&said, &len);
    if (errors == NULL)
        return 1;
    int faults = conf_read_again(fresh, view->file, errors);
    (void)fclose(errors);
    free(said);
    if (faults == 0)
        conf_keep_serves(view->conf, fresh, kept, NULL);
    return faults + conf_loses_users(view->conf, fresh);
}

static void row_change(const struct loop_view *view, const struct conf *fresh, struct row *row)
{
    char text[GROUP_TEXT_BYTES];
    unsigned keep;
    int64_t left_ms;
    const char *change = group_try(view, fresh, text, &keep, &left_ms);
    line_row_string(row, "change", change);
    line_row_signed(row, "generation", fresh->generation);
    line_row_signed(row, "runs", view->conf->generation);
    row_hash(row, "set", conf_set_hash(fresh, fresh->nodes, fresh->masters));
    line_row_unsigned(row, "masters", fresh->masters);
    line_row_signed(row, "max_ttl", fresh->max_ttl_ms);
    if (keep > 0)
        line_row_unsigned(row, "keep", keep);
    if (left_ms > 0)
        line_row_signed(row, "left", left_ms);
    if (strcmp(change, "same") == 0)
        return;
    struct conf_between step =
        conf_set_between(view->conf->nodes, view->conf->masters, fresh->nodes, fresh->masters);
    line_row_unsigned(row, "voters_between", step.voters);
    line_row_unsigned(row, "needed_between", step.needed);
}

bool show_reload(const struct loop_view *view, uint64_t state[8], struct row *row)
{
    static struct conf fresh; /* too large for the stack */
    if (state[0]++ != 0 || view->file == NULL)
        return false;
    int errors = read_file(view, &fresh);
    line_row_string(row, "file", view->file);
    line_row_signed(row, "errors", errors);
    if (errors == 0)
        row_change(view, &fresh, row);
    conf_clear(&fresh);
    return true;
}
