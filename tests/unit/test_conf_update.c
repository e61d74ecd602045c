/* A file that is read again: which settings are taken over while the daemon runs. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

static struct conf running;
static char changes[4096]; /* "key=when ", with "(other)" behind a key that waits for another */
static const char *const when_names[] = {"once", "clients", "login", "steps", "restart", "generation", "all"};

static void told(void *arg, const struct conf_change *change)
{
    (void)arg;
    size_t len = strlen(changes);
    snprintf(changes + len, sizeof changes - len, "%s%s%s%s=%s ", change->key, change->with ? "(" : "",
             change->with ? change->with : "", change->with ? ")" : "", when_names[change->when]);
}

/* The daemon runs with the first text, and its file then has the second; both follow NODES. */
static void update(const char *before, const char *after)
{
    parse_more(before);
    assert_clean();
    running = conf;
    parse_more(after);
    assert_clean();
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
}

static const char *setting(const char *key)
{
    static char value[2048];
    char name[64];
    for (unsigned i = 0; conf_row(&running, i, name, sizeof name, value, sizeof value); i++)
        if (strcmp(name, key) == 0)
            return value;
    ck_abort_msg("no %s", key);
}

T(the_same_again)
{
    update("max_ttl: 2m\n", "max_ttl: 120s\nlog_level: info\n");
    ck_assert_str_eq(changes, "");
}

/* With other names it would be another set, which only a restart of all daemons changes. */
T(what_is_served_stays)
{
    parse_more("serves: ['jobs/*']\n");
    assert_clean();
    running = conf;
    parse_more("generation: 1\nserves: ['*', '!jobs/*']\n");
    assert_clean();
    changes[0] = 0;
    conf_keep_serves(&running, &conf, told, NULL);
    ck_assert_str_eq(changes, "serves=all ");
    ck_assert(conf.serves_count == 1 && strcmp(conf.serves[0], "jobs/*") == 0);
    conf_keep_serves(&running, &conf, told, NULL);
    ck_assert_str_eq(changes, "serves=all ");
}

/* Every key once, so that a new key must say here when it takes effect. */
static const struct example {
    const char *key, *value, *when;
} examples[] = {
    {"unix_mode", "\"0600\"", "restart"},  {"key_prefix", "app/", "all"},
    {"default_ttl", "5s", "once"},         {"min_ttl", "200ms", "once"},
    {"max_ttl", "2m", "generation"},       {"generation", "7", "generation"},
    {"node_timeout", "20ms", "once"},      {"min_validity", "5ms", "once"},
    {"client_keepalive", "1m", "clients"}, {"node_backlog", "2m", "once"},
    {"retry_min", "10ms", "once"},         {"retry_max", "1s", "once"},
    {"fanout", "quorum", "once"},          {"drain_timeout", "1s", "once"},
    {"max_clients", "7", "restart"},       {"max_locks", "7", "restart"},
    {"max_waiters", "7", "restart"},       {"max_watches", "7", "restart"},
    {"max_marks", "7", "restart"},         {"max_keep", "1h", "once"},
    {"max_locks_per_client", "7", "once"}, {"max_waits_per_client", "7", "once"},
    {"max_clients_per_peer", "7", "once"}, {"max_locks_per_peer", "7", "once"},
    {"max_waits_per_peer", "7", "once"},   {"max_output", "1m", "once"},
    {"idle_line_timeout", "1s", "once"},   {"log_level", "error", "once"},
};

T_EACH(each_key, sizeof examples / sizeof examples[0])
{
    const struct example *example = &examples[_i];
    char text[128], expected[128], before[128];
    update("", "");
    snprintf(before, sizeof before, "%s", setting(example->key));
    snprintf(text, sizeof text, "%s: %s\n", example->key, example->value);
    update("", text);
    snprintf(expected, sizeof expected, "%s=%s ", example->key, example->when);
    ck_assert_str_eq(changes, expected);
    bool taken = strcmp(example->when, "once") == 0 || strcmp(example->when, "clients") == 0;
    const char *now = setting(example->key);
    if (taken)
        ck_assert_msg(strncmp(example->value, now, strlen(now)) == 0, "%s", now);
    else
        ck_assert_str_eq(now, before);
}

T(every_key_is_here)
{
    /* The other keys have tests of their own: listen, nodes, nodes_before, max_ttl_before, node_user, node_password_file,
     * restart_guard, allow_break, http, http_hosts, users, node_tls, serves. */
    ck_assert_uint_eq(sizeof examples / sizeof examples[0] + 13, CONF_KEYS);
}

T(lists)
{
    update("", "listen: [127.0.0.1:7335, 127.0.0.1:7336]\n");
    ck_assert_str_eq(changes, "listen=restart ");
    ck_assert_uint_eq(running.listeners, 1);

    update("", "http: [127.0.0.1:7337]\nhttp_hosts: locks.example\n");
    ck_assert_str_eq(changes, "http=restart http_hosts=restart ");
    ck_assert_uint_eq(running.http_listeners, 0);

    parse("nodes: [redis://a:1, redis://b:2, redis://c:3/1]\n");
    assert_clean();
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "nodes=generation ");
    ck_assert_int_eq(running.nodes[2].db, 0);

    parse("nodes: [redis://a:1, redis://b:2, redis://c:3, redis://d:4, redis://e:5]\n");
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "nodes=generation ");
    ck_assert_uint_eq(running.masters, 3);
}

static void update_nodes(const char *nodes)
{
    char text[512];
    snprintf(text, sizeof text, "nodes: [%s]\nnode_tls: {verify: off}\n", nodes);
    parse(text);
    ck_assert_msg(faults == 0, "%s", said);
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
}

/* How masters are reached is no matter of the group: a reload takes it over. */
T(tls_to_masters)
{
    parse("nodes: [redis://a:1, redis://b:2, redis://c:3]\n");
    running = conf;
    update_nodes("redis://a:1, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "node_tls=login ");
    ck_assert_int_eq(running.nodes[1].tls.verify, WIRE_VERIFY_OFF);
    update_nodes("redis://a:1, rediss://b:2, {url: 'rediss://c:3', tls: {server_name: c}}");
    ck_assert_str_eq(changes, "nodes=login ");
    ck_assert(!running.nodes[0].tls.on && running.nodes[1].tls.on);
    ck_assert_str_eq(running.nodes[2].tls.server_name, "c");
    update_nodes("rediss://a:1, rediss://b:2, rediss://d:3");
    ck_assert_str_eq(changes, "nodes=generation ");
    ck_assert(!running.nodes[0].tls.on);
}

/* Whether a master allows CLIENT KILL is no matter of the group, but the coordinator cannot change it. */
T(no_kill)
{
    parse("nodes: [redis://a:1, redis://b:2, redis://c:3]\nnode_tls: {verify: off}\n");
    running = conf;
    update_nodes("redis://a:1, {url: 'redis://b:2', no_kill: yes}, redis://c:3");
    ck_assert_str_eq(changes, "nodes=restart ");
    ck_assert(!running.nodes[1].no_kill);
}

/* Capitals in the name of a host mean nothing, nor does the order. Another address of the same name matters to this
 * daemon only; another name is another set. */
T(names_of_masters)
{
    parse("nodes: [redis://a:1, redis://b:2, redis://c:3]\nnode_tls: {verify: off}\n");
    running = conf;
    update_nodes("redis://A:1, redis://b:2, 'redis://C:3/0'");
    ck_assert_str_eq(changes, "");
    update_nodes("redis://b:2, redis://a:1, redis://c:3");
    ck_assert_str_eq(changes, "nodes=login ");
    ck_assert_str_eq(running.nodes[0].address.host, "b");
    update_nodes("redis://a:1, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "nodes=login ");
    update_nodes("{url: 'redis://d:1', name: 'a:1/0'}, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "nodes=restart ");
    update_nodes("{url: 'redis://a:1', name: 'a:1/0'}, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "nodes=login ");
    update_nodes("{url: 'redis://a:1', name: 'a:1/0'}, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "");
    update_nodes("{url: 'redis://a:1', name: x}, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "nodes=generation ");
    update_nodes("{url: 'redis://a:1', name: x}, redis://b:2, redis://c:3");
    ck_assert_str_eq(changes, "nodes=generation ");
}

/* ---- the next generation ---- */

/* The same, and the change of the group is taken. */
static void update_group(const char *before, const char *after)
{
    parse(before);
    running = conf;
    parse(after);
    ck_assert_msg(faults == 0, "%s", said);
    changes[0] = 0;
    ck_assert(conf_group_differs(&running, &conf));
    conf_update(&running, &conf, true, told, NULL);
}

T(next_generation)
{
    update_group(NODES, "generation: 1\nnodes: [redis://c:3, redis://d:4, redis://a:1]\nmax_ttl: 2m\n"
                        "default_ttl: 90s\nnode_timeout: 40ms\n");
    ck_assert_str_eq(changes,
                     "generation=steps nodes=steps default_ttl=once max_ttl=steps node_timeout=once ");
    ck_assert_int_eq(running.generation, 1);
    ck_assert_int_eq(running.max_ttl_ms, 120000);
    ck_assert_int_eq(running.default_ttl_ms, 90000);
    ck_assert_str_eq(running.nodes[1].address.host, "d");
    ck_assert(!conf_group_differs(&running, &conf));
}

T(masters_of_the_next_generation)
{
    update_group(NODES, "generation: 1\nnodes: [redis://a:1, vacant, redis://b:2, redis://u:p@c:3]\n");
    ck_assert_str_eq(changes, "generation=steps nodes=steps password=login ");
    ck_assert_uint_eq(running.masters, 4);
    ck_assert(running.nodes[1].vacant);
    ck_assert_str_eq(running.nodes[3].password, "p");
    update_group(NODES, "generation: 1\n" NODES);
    ck_assert_str_eq(changes, "generation=steps ");
}

T(the_list_before_is_for_the_next_start)
{
    update("", "");
    parse("generation: 1\nnodes: [redis://a:1, redis://b:2, redis://d:3]\nnodes_before: [redis://a:1, "
          "redis://b:2, "
          "redis://c:3]\nmax_ttl_before: 5s\n");
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes,
                     "generation=generation nodes=generation nodes_before=once max_ttl_before=once ");
    ck_assert_uint_eq(running.masters_before, 3);
    ck_assert_int_eq(running.max_ttl_before_ms, 5000);
    ck_assert_str_eq(running.nodes[2].address.host, "c");
}

/* A server is one connection in both generations: where it is to be found is not changed with them. */
T(moved_masters)
{
    char name[CONF_NAME_BYTES];
    parse("nodes: [redis://a:1, redis://b:2, redis://c:3]\nnode_tls: {verify: off}\n");
    running = conf;
    parse("nodes: [redis://c:3, redis://d:4, redis://a:1, vacant]\n");
    ck_assert(!conf_master_moved(&running, &conf, name));
    parse("nodes: [redis://c:3, redis://d:4, {url: 'redis://x:1', name: 'a:1/0'}]\n");
    ck_assert(conf_master_moved(&running, &conf, name));
    ck_assert_str_eq(name, "a:1/0");
    parse("nodes: [{url: 'redis://c:3', no_kill: yes}, redis://d:4, redis://a:1]\n");
    ck_assert(conf_master_moved(&running, &conf, name));
    ck_assert_str_eq(name, "c:3/0");
}

T(restart_guard)
{
    parse_more("");
    running = conf;
    parse_more("restart_guard: off\n");
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "restart_guard=restart ");
    ck_assert(running.restart_guard);
    parse_more("allow_break: yes\n");
    assert_said("without users, whoever reaches redlockd may take any lock away");
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "allow_break=once ");
    ck_assert(running.allow_break);
}

/* These values would contradict the max_ttl of the running daemon. */
T(ttls_wait_for_max_ttl)
{
    update("", "max_ttl: 2m\ndefault_ttl: 90s\nmin_ttl: 70s\nmin_validity: 2ms\n");
    ck_assert_str_eq(changes, "default_ttl(max_ttl)=generation min_ttl(max_ttl)=generation "
                              "max_ttl=generation min_validity(max_ttl)=generation ");
    ck_assert_int_eq(running.default_ttl_ms, 10000);
    ck_assert_int_eq(running.min_ttl_ms, 100);
    ck_assert_int_eq(running.min_validity_ms, 1);

    update("", "max_ttl: 2m\ndefault_ttl: 60s\nmin_ttl: 60s\n");
    ck_assert_str_eq(changes, "default_ttl=once min_ttl=once max_ttl=generation ");
    ck_assert_int_eq(running.default_ttl_ms, 60000);
    ck_assert_int_eq(running.max_ttl_ms, 60000);

    /* A smaller max_ttl is no trouble: values that fit below it also fit below the running one. */
    update("", "max_ttl: 5s\ndefault_ttl: 5s\n");
    ck_assert_str_eq(changes, "default_ttl=once max_ttl=generation ");
    ck_assert_int_eq(running.default_ttl_ms, 5000);
}

static char path[64];

static void secret(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    chmod(path, 0600);
}

T(passwords)
{
    char text[256];
    snprintf(path, sizeof path, "/tmp/redlockd-secret-%d", (int)getpid());
    snprintf(text, sizeof text, NODES "node_password_file: %s\n", path);
    secret("first");
    parse(text);
    running = conf;
    ck_assert_str_eq(running.nodes[1].password, "first");
    secret("second");
    parse(text);
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "password=login ");
    ck_assert_str_eq(running.nodes[1].password, "second");

    snprintf(text, sizeof text, NODES "node_user: me\nnode_password_file: %s\n", path);
    parse(text);
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "node_user=login "); /* and no line "password" besides */
    ck_assert_str_eq(running.nodes[2].user, "me");
    ck_assert_str_eq(running.node_user, "me");

    parse("nodes: [redis://a:1, 'redis://u:p@b:2', redis://c:3]\n");
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "node_user=login node_password_file=login ");
    ck_assert_str_eq(running.nodes[1].user, "u");
    ck_assert_str_eq(running.nodes[1].password, "p");
    ck_assert_str_eq(running.nodes[0].password, "");

    /* A file for other masters changes no password. */
    snprintf(text, sizeof text, "nodes: [redis://a:1, redis://x:2, redis://c:3]\nnode_password_file: %s\n",
             path);
    parse(text);
    changes[0] = 0;
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_str_eq(changes, "nodes=generation node_password_file(nodes)=generation ");
    ck_assert_str_eq(running.nodes[1].password, "p");
    ck_assert_str_eq(running.node_password_file, "");
    unlink(path);
}

/* A pipe might never end, and a daemon that waits for it renews no lock. */
T(only_a_regular_file_is_read_again)
{
    char *text;
    size_t len;
    snprintf(path, sizeof path, "/tmp/redlockd-fifo-%d", (int)getpid());
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    const char *const paths[] = {path, "/tmp", "/nowhere/file"};
    for (unsigned i = 0; i < 3; i++) {
        FILE *errors = open_memstream(&text, &len);
        ck_assert_int_eq(conf_read_again(&conf, paths[i], errors), 1);
        fclose(errors);
        ck_assert_msg(strstr(text, paths[i]) == text, "%s", text);
        ck_assert_msg(strstr(text, i < 2 ? "no regular file\n" : "No such file or directory\n") != NULL, "%s",
                      text);
        free(text);
    }
    unlink(path);
}
