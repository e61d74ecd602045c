#include "daemon/loop/loop_group.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_set.h"
#include "daemon/log.h"

enum { LOOK_MS = 1000, READ_MS = 2000, NAMES_SHOWN = 300 };

/* ---- words ---- */

const char *group_state_name(enum group_state state)
{
    static const char *const names[] = {
        [GROUP_STEADY] = "steady",
        [GROUP_WAITING] = "waiting",
        [GROUP_JOINT] = "joint",
        [GROUP_OUTDATED] = "outdated",
    };
    return names[state];
}

const char *group_why_name(enum group_why why)
{
    static const char *const names[] = {
        [GROUP_WHY_NONE] = "",
        [GROUP_WHY_OLD_FILE] = "old_file",
        [GROUP_WHY_LOAD_FIRST] = "load_first",
        [GROUP_WHY_NEEDS_BEFORE] = "needs_before",
        [GROUP_WHY_NOT_SETTLED] = "not_settled",
        [GROUP_WHY_NO_MARKER] = "no_marker",
        [GROUP_WHY_DAEMON] = "daemon",
        [GROUP_WHY_SINCE] = "since",
        [GROUP_WHY_KEYS] = "keys",
        [GROUP_WHY_MASTERS] = "masters",
        [GROUP_WHY_OTHER_LIST] = "generation",
    };
    return names[why];
}

void group_why_text(const struct group_row *row, char out[GROUP_TEXT_BYTES])
{
    out[0] = '\0';
    switch (row->why) {
    case GROUP_WHY_NONE: break;
    case GROUP_WHY_OLD_FILE:
        snprintf(out, GROUP_TEXT_BYTES,
                 "the masters are at step %" PRIu32 ", beyond generation %" PRIu32
                 ": this file is old; load the one that the other daemons have",
                 row->their_step, row->generation);
        break;
    case GROUP_WHY_LOAD_FIRST:
        snprintf(out, GROUP_TEXT_BYTES,
                 "the masters are at step %" PRIu32 ", generation %" PRIu32
                 " is too far ahead: load generation %" PRIu32 " first",
                 row->their_step, row->generation, (row->their_step + 1) / 2);
        break;
    case GROUP_WHY_NEEDS_BEFORE:
        snprintf(out, GROUP_TEXT_BYTES,
                 "the masters are at step %" PRIu32 ": add nodes_before: with the list of generation %" PRIu32
                 " (and its max_ttl as max_ttl_before:, if it was another), and restart",
                 row->their_step, row->generation - 1);
        break;
    case GROUP_WHY_NOT_SETTLED:
        snprintf(out, GROUP_TEXT_BYTES,
                 "no daemon votes by the step where this one has to begin; it waits until that may be");
        break;
    case GROUP_WHY_NO_MARKER:
        snprintf(
            out, GROUP_TEXT_BYTES,
            "no master knows the generation: where a daemon still runs, it goes on when all of them answer; "
            "else stop all daemons, wait for max_ttl, and start one with --begin-at-generation");
        break;
    case GROUP_WHY_DAEMON:
        if (row->host[0] == '\0')
            snprintf(out, GROUP_TEXT_BYTES, "the masters' lists of daemons are still being read");
        else
            snprintf(out, GROUP_TEXT_BYTES,
                     "the daemon on %s has not come so far: reload it with generation %" PRIu32
                     ", or upgrade it if it knows none (one that has ended is forgotten after a minute)",
                     row->host, row->generation);
        break;
    case GROUP_WHY_SINCE:
        snprintf(out, GROUP_TEXT_BYTES,
                 "locks of the step before may still be held by whoever does not know this one");
        break;
    case GROUP_WHY_KEYS:
        snprintf(
            out, GROUP_TEXT_BYTES,
            "keys of others are in the way of locks, or of names that are kept, on masters of the next step: "
            "it waits until they are over, a minute or max_ttl at most");
        break;
    case GROUP_WHY_MASTERS:
        snprintf(out, GROUP_TEXT_BYTES,
                 "too few masters show the step: see why= in SHOW NODES; where one is gone, start an empty "
                 "server under its name");
        break;
    case GROUP_WHY_OTHER_LIST:
        snprintf(out, GROUP_TEXT_BYTES,
                 "another daemon has generation %" PRIu32
                 " with other masters, or another max_ttl: write one list into all files "
                 "(see OPERATING.md, When it is stuck)",
                 row->generation);
        break;
    }
}

bool group_is_usual(const struct group_row *row)
{
    bool waits = row->why == GROUP_WHY_DAEMON || row->why == GROUP_WHY_SINCE || row->why == GROUP_WHY_KEYS ||
                 row->why == GROUP_WHY_MASTERS;
    return row->state != GROUP_OUTDATED && (row->why == GROUP_WHY_NONE || waits);
}

/* ---- a change ---- */

bool group_set(const struct places *places, const struct conf *conf, bool before, struct coordinator_set *set)
{
    const struct conf_node *nodes = before ? conf->nodes_before : conf->nodes;
    unsigned count = before ? conf->masters_before : conf->masters, place_of[MASTERS];
    *set = (struct coordinator_set){
        .generation = (uint32_t)conf->generation - before,
        .masters = count,
        .max_ttl_ms = before && conf->max_ttl_before_ms > 0 ? conf->max_ttl_before_ms : conf->max_ttl_ms,
    };
    if (count == 0)
        return true;
    set->hash = conf_set_hash(conf, nodes, count);
    if (!places_plan(places, nodes, count, place_of, &set->of))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!nodes[i].vacant && nodes[i].no_kill)
            set->no_kill |= masters_bit(place_of[i]);
    return true;
}

static const char *reload_name(enum reload_group group)
{
    static const char *const names[] = {
        [RELOAD_SAME] = "same", [RELOAD_TAKEN] = "taken",           [RELOAD_BUSY] = "busy",
        [RELOAD_JUMP] = "jump", [RELOAD_OTHER_LIST] = "other_list", [RELOAD_TOO_BIG] = "too_big",
        [RELOAD_OLD] = "old",   [RELOAD_NO_ROOM] = "no_room",       [RELOAD_OLD_DAEMON] = "old_daemon",
    };
    return names[group];
}

static void reload_text(const struct loop_view *view, const struct reload_answer *answer,
                        char out[GROUP_TEXT_BYTES])
{
    static char names[CONF_SET_BYTES];
    uint32_t runs = answer->generation;
    conf_set_names(view->conf, view->conf->nodes, view->conf->masters, ' ', names);
    out[0] = '\0';
    switch (answer->group) {
    case RELOAD_SAME:
    case RELOAD_TAKEN: break;
    case RELOAD_BUSY:
        snprintf(out, GROUP_TEXT_BYTES,
                 "generation %" PRIu32 " is under way, %" PRId64
                 " s left: reload again when redlock show group says steady",
                 (uint32_t)view->conf->generation, (answer->left_ms + 999) / 1000);
        break;
    case RELOAD_JUMP:
        snprintf(out, GROUP_TEXT_BYTES,
                 "this daemon runs generation %" PRIu32 ", so the next one is %" PRIu32
                 ": load that first, or write its number",
                 runs, runs + 1);
        break;
    case RELOAD_OTHER_LIST:
        snprintf(out, GROUP_TEXT_BYTES,
                 "generation %" PRIu32
                 " has other masters, or another max_ttl, here: raise generation to %" PRIu32,
                 runs, runs + 1);
        break;
    case RELOAD_TOO_BIG:
        snprintf(
            out, GROUP_TEXT_BYTES,
            "too big a change for one generation: keep at least %u of %.*s, and change the rest with the "
            "next one",
            answer->keep, NAMES_SHOWN, names);
        break;
    case RELOAD_OLD:
        snprintf(out, GROUP_TEXT_BYTES,
                 "this daemon runs generation %" PRIu32
                 ": to go back to an earlier list, write it as generation "
                 "%" PRIu32,
                 runs, runs + 1);
        break;
    case RELOAD_NO_ROOM:
        snprintf(out, GROUP_TEXT_BYTES,
                 "both generations have more than %u servers together: change fewer at a time",
                 (unsigned)MASTERS);
        break;
    case RELOAD_OLD_DAEMON:
        snprintf(out, GROUP_TEXT_BYTES,
                 "a redlockd that knows no generations was on these masters in the last minute (redlock show "
                 "daemons): upgrade it, or stop it, first");
        break;
    }
}

/* Asks for good, or without a coordinator only what it would say. */
static const char *ask(const struct loop_view *view, struct coordinator *coordinator,
                       const struct conf *fresh, char text[GROUP_TEXT_BYTES], struct reload_answer *answer)
{
    struct coordinator_set next;
    char name[CONF_NAME_BYTES];
    *answer = (struct reload_answer){.group = RELOAD_NO_ROOM, .generation = (uint32_t)view->conf->generation};
    if (conf_group_differs(view->conf, fresh) && conf_master_moved(view->conf, fresh, name)) {
        snprintf(text, GROUP_TEXT_BYTES,
                 "%.300s also has another address, or no_kill: restart this daemon for that before or after, "
                 "not with a generation",
                 name);
        return "moved";
    }
    if (group_set(view->places, fresh, false, &next))
        *answer = coordinator ? coordinator_reload(coordinator, &next)
                              : coordinator_reload_try(view->coordinator, &next);
    reload_text(view, answer, text);
    return reload_name(answer->group);
}

const char *group_try(const struct loop_view *view, const struct conf *fresh, char text[GROUP_TEXT_BYTES],
                      unsigned *keep, int64_t *left_ms)
{
    struct reload_answer answer;
    const char *word = ask(view, NULL, fresh, text, &answer);
    *keep = answer.group == RELOAD_TOO_BIG ? answer.keep : 0;
    *left_ms = answer.group == RELOAD_BUSY ? answer.left_ms : 0;
    return word;
}

bool group_take(const struct loop_view *view, struct coordinator *coordinator, const struct conf *fresh)
{
    char text[GROUP_TEXT_BYTES];
    struct reload_answer answer;
    const char *word = ask(view, coordinator, fresh, text, &answer);
    if (strcmp(word, "taken") == 0)
        return true;
    log_warn("generation_refused", "why=%s is=%" PRId64 " file=%" PRId64 " hint=\"%s\"", word,
             view->conf->generation, fresh->generation, text);
    return false;
}

/* ---- what is told ---- */

static bool is_new(const struct group_row *a, const struct group_row *b)
{
    return a->step != b->step || a->state != b->state || a->why != b->why || a->generation != b->generation ||
           strcmp(a->host, b->host) != 0;
}

static bool tells_host(const struct group_row *row)
{
    return row->why == GROUP_WHY_DAEMON && row->host[0] != '\0';
}

static void tell(struct events *events, const struct group_row *row)
{
    char text[GROUP_TEXT_BYTES], why[GROUP_TEXT_BYTES + 128] = "", left[32] = "";
    bool good = group_is_usual(row);
    void (*log)(const char *, const char *, ...) = good ? log_info : log_warn;
    group_why_text(row, text);
    if (row->why != GROUP_WHY_NONE)
        snprintf(why, sizeof why, " why=%s%s%s hint=\"%s\"", group_why_name(row->why),
                 tells_host(row) ? " host=" : "", tells_host(row) ? row->host : "", text);
    if (row->left_ms > 0)
        snprintf(left, sizeof left, " left=%" PRId64, row->left_ms);
    log("generation",
        "step=%" PRIu32 " generation=%" PRIu32 " state=%s voters=%u needed=%u set=%016" PRIx64 "%s%s",
        row->step, row->generation, group_state_name(row->state), masters_count(row->voters), row->needed,
        row->set, left, why);
    events_add(events, good ? TONE_GOOD : TONE_WARN, "generation",
               "step %" PRIu32 ", generation %" PRIu32 ": %s%s%s", row->step, row->generation,
               group_state_name(row->state), text[0] ? ": " : "", text);
}

void group_look(struct loop_group *group, const struct loop_view *view, struct events *events)
{
    struct group_row row;
    int64_t now_ms = clock_boot_ms();
    group->look_ms = now_ms + LOOK_MS;
    coordinator_group_row(view->coordinator, &row);
    if (row.state == GROUP_WAITING || row.state == GROUP_JOINT)
        loop_daemons_read_since(view->daemons, READ_MS);
    const struct daemon_step at = {coordinator_step_number(view->coordinator), row.generation, DAEMONS_MARKER,
                                   (uint32_t)view->conf->node_timeout_ms};
    if (memcmp(&at, &view->daemons->self.at, sizeof at) != 0)
        loop_daemons_at(view->daemons, &at);
    bool first =
        !group->told && row.step == 0 && row.state == GROUP_STEADY; /* as it was before there were steps */
    if (!first && (!group->told || is_new(&row, &group->row)))
        tell(events, &row);
    group->row = row;
    group->told = true;
}

void group_daemons(const struct loop_view *view, struct coordinator *coordinator)
{
    struct coordinator_daemons seen;
    struct group_row row;
    coordinator_group_row(view->coordinator, &row);
    if (loop_daemons_steps(view->daemons, &seen) >= row.needed) /* fewer may miss one */
        coordinator_daemons(coordinator, &seen);
}
