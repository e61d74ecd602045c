#include "daemon/loop/loop_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conf/conf_set.h"
#include "daemon/log.h"

enum { KEEP_S = 60, KEEP_MS = 600000, TEXT_BYTES = CONF_SET_BYTES + 80 };

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

/* The key lives as long as the group's key does. */
static void px_text(const struct loop_set *set, char out[32])
{
    int64_t twice_ms = 2 * set->conf->max_ttl_ms;
    snprintf(out, 32, "%lld", (long long)(twice_ms > KEEP_MS ? twice_ms : KEEP_MS));
}

void loop_set_connected(struct loop_set *set, unsigned master)
{
    static char text[TEXT_BYTES], names[CONF_SET_BYTES];
    const struct conf *conf = set->conf;
    char key[LOOP_SET_KEY_BYTES], px[32];
    set->theirs[master].set = 0;
    key_of(set, set->set, key);
    px_text(set, px);
    conf_set_names(conf->nodes, conf->masters, ',', names);
    snprintf(text, sizeof text, "q=%u max_ttl=%lld N=%u voters=%s", conf->masters / 2 + 1,
             (long long)conf->max_ttl_ms, conf->masters, names);
    ask(set, master, (const char *[]){"SET", key, text, "NX", "PX", px}, 6, WROTE);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_set *set = arg;
    char key[LOOP_SET_KEY_BYTES], px[32];
    (void)fd, (void)what;
    key_of(set, set->set, key);
    px_text(set, px);
    for (unsigned i, left = set->places->used; place_next(&left, &i);)
        ask(set, i, (const char *[]){"GETEX", key, "PX", px}, 4, KEPT);
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
    conf_set_names(set->conf->nodes, set->conf->masters, ',', names);
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
        loop_set_connected(set, master);
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
    set->set = conf_set_hash(conf->nodes, conf->masters);
    set->timer = event_new(base, -1, EV_PERSIST, on_timer, set);
    return set->timer && event_add(set->timer, &every) == 0;
}

void loop_set_stop(struct loop_set *set)
{
    if (set->timer)
        event_free(set->timer);
}
