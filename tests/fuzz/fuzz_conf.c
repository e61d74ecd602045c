/* A configuration: a refusal names its place, one line for each error; an accepted configuration is whole,
 * consistent, and the same again when it is printed and read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf/conf.h"
#include "tests/fuzz/fuzz.h"

static const char name[] = "fuzz.yaml";

/* A warning is "fuzz.yaml:3:5: key: warning: text". */
static bool is_warning(const char *line)
{
    int end = 0;
    (void)sscanf(line, "fuzz.yaml:%*u:%*u: %*[a-z_]: warning:%n", &end);
    return end > 0;
}

static void check_errors(const char *errors, size_t len, int faults)
{
    int seen = 0;
    for (const char *at = errors; at < errors + len;) {
        const char *end = memchr(at, '\n', (size_t)(errors + len - at));
        size_t line = end ? (size_t)(end - at) : 0;
        assert(end && line > sizeof name && memcmp(at, name, sizeof name - 1) == 0);
        for (size_t i = 0; i < line; i++)
            assert((unsigned char)at[i] >= 0x20 && at[i] != 0x7f);
        seen += !is_warning(at);
        at = end + 1;
    }
    assert(seen == faults);
}

static int parse(struct conf *conf, const char *text, size_t len)
{
    char *errors = NULL;
    size_t errors_len = 0;
    FILE *out = open_memstream(&errors, &errors_len);
    assert(out);
    int faults = conf_parse(conf, name, text, len, out);
    fclose(out);
    check_errors(errors, errors_len, faults);
    free(errors);
    return faults;
}

static char *print(const struct conf *conf, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    assert(out);
    conf_print(conf, out);
    fclose(out);
    return text;
}

static void check_whole(const struct conf *conf)
{
    char key[64], value[2048], advice[160];
    assert(conf->masters >= 1 && conf->masters <= MASTERS);
    assert(conf->listeners >= 1 && conf->listeners <= CONF_LISTENERS);
    assert(conf->min_ttl_ms > 0 && conf->min_ttl_ms <= conf->default_ttl_ms);
    assert(conf->default_ttl_ms <= conf->max_ttl_ms && conf->max_ttl_ms >= 2000);
    assert(conf->node_timeout_ms > 0 && conf->min_ttl_ms >= 2 * conf->node_timeout_ms);
    assert(conf->retry_min_ms > 0 && conf->retry_min_ms <= conf->retry_max_ms);
    assert(conf->min_validity_ms > 0 && conf->min_validity_ms < conf->min_ttl_ms);
    assert(memchr(conf->key_prefix, 0, sizeof conf->key_prefix) && !strchr(conf->key_prefix, ','));
    assert(conf->max_clients >= 1 && conf->max_locks >= 1 && conf->max_waiters >= 1);
    for (unsigned i = 0; i < conf->masters; i++)
        assert(conf->nodes[i].vacant || conf->nodes[i].address.path[0] || conf->nodes[i].address.port);
    for (unsigned i = 0; conf_row(conf, i, key, sizeof key, value, sizeof value); i++)
        assert(key[0] && strlen(value) < sizeof value);
    (void)conf_masters_advice(conf->masters, conf->masters, advice, sizeof advice);
}

static void told(void *taken, const struct conf_change *change)
{
    assert(change->key && (!change->with || change->when >= CONF_RESTART));
    *(unsigned *)taken += change->when < CONF_RESTART;
}

/* A daemon with another configuration reads this one: its own stays whole, and a second reading changes
 * nothing. */
static void check_update(const struct conf *fresh)
{
    static const char base[] = "nodes: [redis://a:1, redis://b:2, redis://c:3]\nmin_ttl: 2s\nmax_ttl: 20s\n";
    static struct conf running;
    unsigned taken = 0;
    assert(parse(&running, base, sizeof base - 1) == 0);
    conf_update(&running, fresh, false, told, &taken);
    check_whole(&running);
    assert(running.max_ttl_ms == 20000 && running.masters == 3 && running.listeners == 1);
    taken = 0;
    conf_update(&running, fresh, false, told, &taken);
    assert(taken == 0);
    static struct conf next; /* a step keeps the names that are served, which belong to the set */
    next = *fresh;
    conf_keep_serves(&running, &next, told, &taken);
    conf_update(&running, &next, true, told, &taken);
    check_whole(&running);
    assert(!conf_group_differs(&running, &next));
    conf_clear(&running);
}

/* Each user's numbers lead back to it, and a client is found by any of its ids. */
static void check_users(const struct conf *conf)
{
    const struct users *users = conf->users;
    const struct name job = {.len = 3, .text = "job"};
    for (unsigned i = 0; users && i < users->count; i++) {
        const struct user *user = &users->list[i];
        assert(users->numbered[user->number] == user &&
               users_named(users, user->name, strlen(user->name)) == user);
        (void)user_may_lock(users, user, &job);
        for (unsigned m = user->first; m < user->end; m++) {
            struct user_client client = {.local = true, .uid = users->marks[m].id, .gid = (gid_t)-1};
            if (users->marks[m].kind == MARK_UID)
                assert(users_find(users, &client) == user);
        }
    }
}

int HARNESS(fuzz_conf)(const uint8_t *data, size_t size)
{
    static struct conf conf, again;
    char *exact = malloc(size + 1);
    memcpy(exact + 1, data, size);
    int faults = parse(&conf, exact + 1, size);
    free(exact);
    if (faults > 0) {
        conf_clear(&conf);
        return 0;
    }
    check_whole(&conf);
    check_update(&conf);
    check_users(&conf);
    size_t len = 0, again_len = 0;
    char *text = print(&conf, &len);
    if (parse(&again, text, len) != 0) {
        fwrite(text, 1, len, stderr);
        abort();
    }
    check_whole(&again);
    char *more = print(&again, &again_len);
    assert(len == again_len && memcmp(text, more, len) == 0);
    free(text);
    free(more);
    conf_clear(&conf);
    conf_clear(&again);
    return 0;
}
