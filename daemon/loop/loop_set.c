#include "daemon/loop/loop_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"

enum { KEEP_S = 60, KEEP_MS = 600000, TEXT_BYTES = CONF_SET_BYTES + 120 };

/* What a reply answers. The refs of WHO count up from 1. */
static const uint64_t WROTE = UINT64_MAX, KEPT = UINT64_MAX - 1, READ = UINT64_MAX - 2;

static void key_of(const struct loop_set *set, uint64_t of, char key[LOOP_SET_KEY_BYTES])
{
    snprintf(key, LOOP_SET_KEY_BYTES, "%s,set:%016" PRIx64, set->conf->key_prefix, of);
}

static void ask(const struct loop_set *set, unsigned master, const char *const words[], unsigned count,
                uint64_t ref)
{
    size_t len = 0;
    char *bytes = resp_words(words, count, &len);
    node_ask(set->nodes[master], bytes, len, RESP_SCRIPT_GROUP, ref);
}

/* Without generations the key lives as long as the group's key does. */
static void px_text(const struct loop_set *set, char out[32])
{
    int64_t twice_ms = 2 * set->conf->max_ttl_ms;
    snprintf(out, 32, "%lld", (long long)(twice_ms > KEEP_MS ? twice_ms : KEEP_MS));
}

static void describe(struct set_text *out, const struct conf *conf, const struct conf_node nodes[],
                     unsigned count, int64_t max_ttl_ms)
{
    static char names[CONF_SET_BYTES];
    char max_ttl[32] = "";
    conf_set_names(conf, nodes, count, ',', names);
    if (max_ttl_ms > 0)
        snprintf(max_ttl, sizeof max_ttl, " max_ttl=%lld", (long long)max_ttl_ms);
    out->hash = conf_set_hash(conf, nodes, count);
    snprintf(out->text, sizeof out->text, "q=%u%s N=%u voters=%s", count / 2 + 1, max_ttl, count, names);
}

static void write_one(const struct loop_set *set, unsigned master, const struct set_text *of)
{
    char key[LOOP_SET_KEY_BYTES], px[32];
    if (of->hash == 0)
        return;
    key_of(set, of->hash, key);
    px_text(set, px);
    if (!set->lasts) {
        ask(set, master, (const char *[]){"SET", key, of->text, "NX", "PX", px}, 6, WROTE);
        return;
    }
    ask(set, master, (const char *[]){"SET", key, of->text, "NX"}, 4, WROTE);
    ask(set, master, (const char *[]){"GETEX", key, "PERSIST"}, 3, WROTE);
}

static void write_between(const struct loop_set *set, unsigned master)
{
    char key[LOOP_SET_KEY_BYTES], px[32];
    if (set->between == 0)
        return;
    key_of(set, set->between, key);
    px_text(set, px);
    ask(set, master, (const char *[]){"SET", key, set->now.text, "NX", "PX", px}, 6, WROTE);
}

static void write_all(const struct loop_set *set, unsigned master)
{
    write_one(set, master, &set->now);
    if (set->before.hash != set->now.hash)
        write_one(set, master, &set->before);
    write_between(set, master);
}

void loop_set_connected(struct loop_set *set, unsigned master)
{
    set->theirs[master].set = 0;
    write_all(set, master);
}

static void keep_one(const struct loop_set *set, unsigned master, uint64_t hash)
{
    char key[LOOP_SET_KEY_BYTES], px[32];
    if (hash == 0)
        return;
    key_of(set, hash, key);
    px_text(set, px);
    if (set->lasts)
        ask(set, master, (const char *[]){"GETEX", key, "PERSIST"}, 3, KEPT);
    else
        ask(set, master, (const char *[]){"GETEX", key, "PX", px}, 4, KEPT);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_set *set = arg;
    (void)fd, (void)what;
    for (unsigned i, left = set->places->used; place_next(&left, &i);) {
        keep_one(set, i, set->now.hash);
        keep_one(set, i, set->before.hash);
        write_between(set, i); /* a change that waits for long outlives that key */
    }
}

/* ---- the next generation ---- */

/* What was there before is forgotten two generations later. */
void loop_set_change(struct loop_set *set)
{
    const struct conf *conf = set->conf;
    static struct set_text fresh;
    describe(&fresh, conf, conf->nodes, conf->masters, conf->max_ttl_ms);
    bool lasts = conf->generation > 0;
    if (fresh.hash == set->now.hash && lasts == set->lasts)
        return;
    set->lasts = lasts;
    if (fresh.hash != set->now.hash) {
        set->gone = set->before.hash;
        set->before = set->now;
        set->now = fresh;
        set->set = fresh.hash;
    }
    for (unsigned i, left = set->places->used; place_next(&left, &i);)
        write_all(set, i);
}

static void forget_gone(struct loop_set *set)
{
    char key[LOOP_SET_KEY_BYTES];
    key_of(set, set->gone, key);
    bool is_used = set->gone == set->now.hash || set->gone == set->before.hash;
    for (unsigned i, left = is_used ? 0 : set->places->used; place_next(&left, &i);)
        ask(set, i, (const char *[]){"GETEX", key, "PX", "1"}, 4, WROTE);
    set->gone = 0;
}

void loop_set_group(struct loop_set *set, const struct group_row *row)
{
    if (set->gone != 0 && row->state == GROUP_STEADY && row->set == set->now.hash)
        forget_gone(set);
    if (set->between == row->between)
        return;
    set->between = row->between;
    for (unsigned i, left = set->places->used; place_next(&left, &i);)
        write_between(set, i);
}

void loop_set_forget(struct loop_set *set, unsigned master)
{
    set->theirs[master] = (struct set_theirs){0};
}

/* ---- another set ---- */

void loop_set_look(struct loop_set *set, const struct coordinator *coordinator)
{
    for (unsigned i, left = set->places->used; place_next(&left, &i);) {
        struct master_row row;
        struct set_theirs *theirs = &set->theirs[i];
        coordinator_master_row(coordinator, clock_boot_ms(), i, &row);
        uint64_t other = row.their_set != set->set ? row.their_set : 0;
        if (other == theirs->set)
            continue;
        theirs->set = other;
        theirs->names[0] = '\0';
        char key[LOOP_SET_KEY_BYTES];
        key_of(set, other, key);
        if (other != 0)
            ask(set, i, (const char *[]){"GET", key}, 2, READ);
    }
}

static bool has_name(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(names, name); at; at = strstr(at + 1, name))
        if ((at == names || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

void loop_set_names(const struct loop_set *set, char out[LOOP_SET_SHOWN_BYTES])
{
    static char names[CONF_SET_BYTES];
    conf_set_names(set->conf, set->conf->nodes, set->conf->masters, ',', names);
    snprintf(out, LOOP_SET_SHOWN_BYTES, "%.*s", LOOP_SET_SHOWN_BYTES - 1, names);
}

/* The other daemons have this very server among their masters, so if its name here is none of theirs, it has two. */
static void tell(const struct loop_set *set, unsigned master, const char *all)
{
    const struct set_theirs *theirs = &set->theirs[master];
    const struct conf_node *node = &set->places->node[master];
    char names[LOOP_SET_SHOWN_BYTES], name[CONF_NAME_BYTES], hint[CONF_NAME_BYTES + 160] = "";
    loop_set_names(set, names);
    conf_set_name(node, name);
    if (all[0] != '\0' && !has_name(all, name))
        snprintf(
            hint, sizeof hint,
            " hint=\"%s is none of their names, so this server has two names: give name: in nodes, the same "
            "on all hosts\"",
            name);
    log_warn(
        "other_masters",
        "node=%s set=%016" PRIx64 " names=%s their_set=%016" PRIx64
        " their_names=%s%s warn=\"daemons on this master have other masters: two could grant one lock; to "
        "change the masters see CHANGES in redlockd.yaml(5)\"",
        node->address.shown, set->set, names, theirs->set,
        theirs->names[0] ? theirs->names : "\"not written there\"", hint);
}

/* Others wrote the text: it is shown as far as it is visible. */
static void theirs_told(struct loop_set *set, unsigned master, const struct resp_reply *reply)
{
    static char all[TEXT_BYTES];
    static const char before[] = " voters=";
    struct set_theirs *theirs = &set->theirs[master];
    all[0] = '\0';
    const char *at = reply->type == RESP_STRING && reply->whole
                         ? memmem(reply->whole, reply->whole_len, before, sizeof before - 1)
                         : NULL;
    if (theirs->set == 0)
        return;
    if (at) {
        at += sizeof before - 1;
        size_t len = (size_t)(reply->whole + reply->whole_len - at);
        len = len < sizeof all - 1 ? len : sizeof all - 1;
        for (size_t i = 0; i < len; i++)
            all[i] = at[i] >= 0x21 && at[i] <= 0x7e && at[i] != '"' ? at[i] : '?';
        all[len] = '\0';
    }
    snprintf(theirs->names, sizeof theirs->names, "%.*s", LOOP_SET_SHOWN_BYTES - 1, all);
    tell(set, master, all);
}

bool loop_set_answered(struct loop_set *set, unsigned master, uint64_t ref, const struct resp_reply *reply)
{
    if (ref == READ)
        theirs_told(set, master, reply);
    else if (ref == KEPT && reply->type == RESP_NIL)
        write_all(set, master);
    return ref == READ || ref == KEPT || ref == WROTE;
}

/* ---- start and end ---- */

bool loop_set_start(struct loop_set *set, struct event_base *base, const struct conf *conf,
                    const struct places *places, struct node *const *nodes)
{
    static const struct timeval every = {.tv_sec = KEEP_S};
    set->conf = conf;
    set->places = places;
    set->nodes = nodes;
    describe(&set->now, conf, conf->nodes, conf->masters, conf->max_ttl_ms);
    if (conf->masters_before > 0)
        describe(&set->before, conf, conf->nodes_before, conf->masters_before, 0);
    set->set = set->now.hash;
    set->lasts = conf->generation > 0;
    set->timer = event_new(base, -1, EV_PERSIST, on_timer, set);
    return set->timer && event_add(set->timer, &every) == 0;
}

void loop_set_stop(struct loop_set *set)
{
    if (set->timer)
        event_free(set->timer);
}
