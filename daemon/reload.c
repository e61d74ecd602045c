#include "daemon/reload.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/loop/loop.h"

enum { SHOWN_BYTES = 600 };

struct tally {
    unsigned taken, left;
    char generation[64]; /* what to do about what changes with the generation */
};

/* Logs the lines of conf_read_again(): "file:line:column: key: text", "file:line:column: key: warning: text",
 * or "file: text" about the file as a whole. */
static void log_said(char *said)
{
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        char shown[2 * SHOWN_BYTES];
        log_escape(shown, sizeof shown, line, strlen(line));
        if (strstr(line, ": warning: "))
            log_warn("conf", "why=%s", shown);
        else
            log_error("conf", "why=%s", shown);
    }
}

static const char *to_do(enum conf_when when, const struct tally *tally)
{
    switch (when) {
    case CONF_AT_ONCE: return "";
    case CONF_NEW_CLIENTS: return " for=\"clients that connect from now on\"";
    case CONF_NEXT_LOGIN: return " for=\"the next login to each master\"";
    case CONF_RESTART: return " why=\"cannot change while it runs\" hint=\"restart this daemon\"";
    case CONF_STEPS: return " for=\"the steps to the new generation\"";
    case CONF_GENERATION: return tally->generation;
    case CONF_ALL_RESTART: break;
    }
    return " why=\"must be the same in every daemon on these masters\""
           " hint=\"stop them all first, see CHANGES in redlockd.yaml(5)\"";
}

static void hint_generation(struct tally *tally, const struct conf *conf, const struct conf *fresh)
{
    if (conf->generation == fresh->generation)
        snprintf(tally->generation, sizeof tally->generation, " hint=\"raise generation to %lld\"",
                 (long long)conf->generation + 1);
    else
        snprintf(tally->generation, sizeof tally->generation, " hint=\"see event=generation_refused\"");
}

static void log_change(void *arg, const struct conf_change *change)
{
    struct tally *tally = arg;
    bool left = change->when >= CONF_RESTART;
    void (*log)(const char *, const char *, ...) = left ? log_warn : log_info;
    char values[2 * SHOWN_BYTES + 32] = "", from[SHOWN_BYTES], to[SHOWN_BYTES], with[64] = "";
    *(left ? &tally->left : &tally->taken) += 1;
    if (change->from)
        snprintf(values, sizeof values, left ? " is=%s file=%s" : " was=%s is=%s",
                 log_escape(from, sizeof from, change->from, strlen(change->from)),
                 log_escape(to, sizeof to, change->to, strlen(change->to)));
    if (change->with)
        snprintf(with, sizeof with, " why=\"held back together with %s\"", change->with);
    log(left ? "conf_left" : "conf_changed", "key=%s%s%s", change->key, values,
        change->with ? with : to_do(change->when, tally));
}

static int read_again(struct conf *fresh, const char *path)
{
    char *said = NULL;
    size_t len = 0;
    FILE *errors = open_memstream(&said, &len);
    if (!errors) {
        log_error("no_memory", "what=reload");
        return 1;
    }
    int faults = conf_read_again(fresh, path, errors);
    if (fclose(errors) == 0)
        log_said(said);
    free(said);
    return faults;
}

bool reload(struct conf *conf, const char *path, int64_t read_max_clients, struct loop *loop)
{
    static struct conf fresh;
    char shown[SHOWN_BYTES];
    struct tally tally = {0};
    log_escape(shown, sizeof shown, path, strlen(path));
    int faults = read_again(&fresh, path);
    bool restricted = conf->users != NULL;
    if (faults == 0 && conf_loses_users(conf, &fresh)) {
        log_error("conf",
                  "file=%s why=\"users: missing, so everybody could do everything; was the file cut off?\" "
                  "hint=\"write users: off if that is meant\"",
                  shown);
        faults++;
    }
    if (faults > 0) {
        log_error("reload",
                  "file=%s errors=%d why=\"nothing was changed\" hint=\"correct the file (redlockd "
                  "--check lists the errors), then send SIGHUP again\"",
                  shown, faults);
    } else {
        if (fresh.max_clients == read_max_clients)
            fresh.max_clients = conf->max_clients;
        conf_keep_serves(conf, &fresh, log_change, &tally);
        hint_generation(&tally, conf, &fresh);
        bool group = conf_group_differs(conf, &fresh) && loop_change_group(loop, &fresh);
        conf_update(conf, &fresh, group, log_change, &tally);
        log_set_level(conf->log_level);
        if (restricted && !conf->users)
            log_warn("conf", "why=\"users: off: whoever reaches this daemon may do everything from now on\"");
        log_info("reload", "file=%s changed=%u left=%u", shown, tally.taken, tally.left);
    }
    conf_clear(&fresh);
    return faults == 0;
}
