/* The configuration: every key, files, warnings, and printing. */
#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/conf/conf_serves.h"
#include "daemon/conf/conf_set.h"
#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

static void parse_file(const char *path)
{
    size_t said_len;
    free(said);
    FILE *errors = open_memstream(&said, &said_len);
    ck_assert_ptr_nonnull(errors);
    memset(&conf, 0xa5, sizeof conf);
    faults = conf_read(&conf, path, errors);
    fclose(errors);
}

static void file_write(char path[32], const void *text, size_t len, mode_t mode)
{
    memcpy(path, "/tmp/redlockd-test-XXXXXX", sizeof "/tmp/redlockd-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

/* ---- what is right ---- */

T(defaults)
{
    parse(NODES);
    assert_clean();
    ck_assert_uint_eq(conf.listeners, 1);
    ck_assert_str_eq(conf.listen[0].address.shown, "127.0.0.1:7335");
    ck_assert_uint_eq(conf.masters, 3);
    ck_assert_str_eq(conf.key_prefix, "redlock:");
    ck_assert_int_eq(conf.default_ttl_ms, 10000);
    ck_assert_int_eq(conf.min_ttl_ms, 100);
    ck_assert_int_eq(conf.max_ttl_ms, 60000);
    ck_assert_int_eq(conf.node_timeout_ms, 50);
    ck_assert_int_eq(conf.min_validity_ms, 1);
    ck_assert_int_eq(conf.node_backlog_bytes, 1 << 20);
    ck_assert_int_eq(conf.max_output_bytes, 65536);
    ck_assert_int_eq(conf.max_locks, 100000);
    ck_assert(!conf.fanout_quorum);
    ck_assert(conf.restart_guard);
    ck_assert(!conf.allow_break);
    ck_assert_int_eq(conf.log_level, LOG_LEVEL_INFO);
    ck_assert_uint_eq(conf.unix_mode, 0660);
}

T(every_key)
{
    char secret[32], text[2048];
    file_write(secret, "s3cret\n", 7, 0600);
    snprintf(text, sizeof text,
             "listen: [\"[::1]:7000\", \"unix:///run/x.sock\", localhost:0]\n"
             "unix_mode: 0600\n"
             "nodes:\n  - redis://10.0.0.1:6379\n  - redis://me:p%%40%%2fs@[::2]:6380/7\n"
             "  - unix:/run/r.sock?db=3\n"
             "node_user: all\nnode_password_file: %s\nkey_prefix: \"\"\n"
             "default_ttl: 5s\nmin_ttl: 500\nmax_ttl: 1m\nnode_timeout: 250ms\nmin_validity: 2ms\n"
             "client_keepalive: 1m\nnode_backlog: 2m\nretry_min: 1ms\nretry_max: 1s\nfanout: quorum\n"
             "restart_guard: No\n"
             "drain_timeout: 0\nmax_clients: 1\nmax_locks: 500000\nmax_waiters: 2\n"
             "max_locks_per_client: 3\nmax_waits_per_client: 4\nmax_output: 8192\nidle_line_timeout: 1h\n"
             "allow_break: yes\nlog_level: debug\n",
             secret);
    parse(text);
    ck_assert_int_eq(faults, 0);
    ck_assert_uint_eq(lines_said(), 2);
    assert_said(
        "f:20:1: restart_guard: warning: off: after a restart of masters two clients may hold one lock");
    assert_said(
        "f:29:1: allow_break: warning: on: without users, whoever reaches redlockd may take any lock away");
    ck_assert_uint_eq(conf.listeners, 3);
    ck_assert_str_eq(conf.listen[0].address.host, "::1");
    ck_assert_str_eq(conf.listen[0].address.shown, "[::1]:7000");
    ck_assert_str_eq(conf.listen[1].address.path, "/run/x.sock");
    ck_assert_str_eq(conf.listen[1].address.shown, "unix:/run/x.sock");
    ck_assert_uint_eq(conf.listen[2].address.port, 0);
    ck_assert_uint_eq(conf.unix_mode, 0600);
    ck_assert_str_eq(conf.nodes[0].user, "all");
    ck_assert_str_eq(conf.nodes[0].password, "s3cret");
    ck_assert_int_eq(conf.nodes[0].db, 0);
    ck_assert_str_eq(conf.nodes[1].user, "me");
    ck_assert_str_eq(conf.nodes[1].password, "p@/s");
    ck_assert_str_eq(conf.nodes[1].address.shown, "[::2]:6380");
    ck_assert_uint_eq(conf.nodes[1].address.port, 6380);
    ck_assert_int_eq(conf.nodes[1].db, 7);
    ck_assert_str_eq(conf.nodes[2].address.path, "/run/r.sock");
    ck_assert_str_eq(conf.nodes[2].password, "s3cret");
    ck_assert_int_eq(conf.nodes[2].db, 3);
    ck_assert_str_eq(conf.key_prefix, "");
    ck_assert_int_eq(conf.default_ttl_ms, 5000);
    ck_assert_int_eq(conf.min_ttl_ms, 500);
    ck_assert_int_eq(conf.max_ttl_ms, 60000);
    ck_assert_int_eq(conf.node_timeout_ms, 250);
    ck_assert_int_eq(conf.min_validity_ms, 2);
    ck_assert_int_eq(conf.client_keepalive_ms, 60000);
    ck_assert_int_eq(conf.node_backlog_bytes, 2 << 20);
    ck_assert_int_eq(conf.retry_min_ms, 1);
    ck_assert_int_eq(conf.retry_max_ms, 1000);
    ck_assert(conf.fanout_quorum);
    ck_assert(!conf.restart_guard);
    ck_assert(conf.allow_break);
    ck_assert_int_eq(conf.drain_timeout_ms, 0);
    ck_assert_int_eq(conf.max_clients, 1);
    ck_assert_int_eq(conf.max_locks, 500000);
    ck_assert_int_eq(conf.max_waiters, 2);
    ck_assert_int_eq(conf.max_locks_per_client, 3);
    ck_assert_int_eq(conf.max_waits_per_client, 4);
    ck_assert_int_eq(conf.max_output_bytes, 8192);
    ck_assert_int_eq(conf.idle_line_timeout_ms, 3600000);
    ck_assert_int_eq(conf.log_level, LOG_LEVEL_DEBUG);
    unlink(secret);
}

T(switch_words)
{
    static const char *const on[] = {"on", "true", "yes", "ON", "True"}, *const off[] = {"off", "false", "no",
                                                                                         "OFF"};
    char text[64];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "restart_guard: %s\n", on[i]);
        parse_more(text);
        ck_assert(faults == 0 && conf.restart_guard);
    }
    for (unsigned i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "restart_guard: %s\n", off[i]);
        parse_more(text);
        ck_assert(faults == 0 && !conf.restart_guard);
    }
}

T(urls_that_are_right)
{
    parse("nodes: ['redis://:pw@h:1', 'redis://u%3A:p%3a@H.x-y_z:65535/', unix:/a.sock]\n");
    assert_clean();
    ck_assert_str_eq(conf.nodes[0].user, "");
    ck_assert_str_eq(conf.nodes[0].password, "pw");
    ck_assert_str_eq(conf.nodes[1].user, "u:");
    ck_assert_str_eq(conf.nodes[1].password, "p:");
    ck_assert_uint_eq(conf.nodes[1].address.port, 65535);
    ck_assert_str_eq(conf.nodes[2].address.shown, "unix:/a.sock");
}

/* A mapping in braces, both kinds of quotes, and an anchor with its alias are YAML, too. */
T(yaml_forms)
{
    parse("# comment\n{nodes: [\"redis://a:1\", 'redis://b:1', redis://c:1],\n max_ttl: &t \"30s\", "
          "default_ttl: *t}\n");
    assert_clean();
    ck_assert_int_eq(conf.default_ttl_ms, 30000);
}

/* ---- files ---- */

T(files)
{
    char path[32];
    parse_file("/nonexistent/redlockd.yaml");
    ck_assert_int_eq(faults, 1);
    assert_said("/nonexistent/redlockd.yaml: cannot be read: No such file or directory");
    parse_file("/tmp");
    ck_assert_int_eq(faults, 1);
    assert_said("/tmp: cannot be read: Is a directory");

    size_t big = (1 << 20) + 1;
    char *text = malloc(big);
    ck_assert_ptr_nonnull(text);
    memset(text, '\n', big);
    memcpy(text, NODES, strlen(NODES));
    file_write(path, text, big, 0600);
    parse_file(path);
    ck_assert_int_eq(faults, 1);
    assert_said("larger than 1 MiB");
    ck_assert_int_eq(truncate(path, (off_t)big - 1), 0);
    parse_file(path);
    assert_clean();
    ck_assert_uint_eq(conf.masters, 3);
    unlink(path);
    free(text);
}

static void secret_parse(const char *bytes, size_t len, mode_t mode)
{
    char path[32], text[128];
    file_write(path, bytes, len, mode);
    snprintf(text, sizeof text, "node_password_file: %s\n", path);
    parse_more(text);
    unlink(path);
}

T(secrets)
{
    char text[9000];
    secret_parse("", 0, 0600);
    assert_fault("it is empty; write the password into it");
    secret_parse("\n", 1, 0600);
    assert_fault("it is empty");
    secret_parse("a\nb\n", 4, 0600);
    assert_fault("more than one line");
    secret_parse("a\0b", 3, 0600);
    assert_fault("more than one line");
    memset(text, 'x', sizeof text);
    secret_parse(text, 8193, 0600);
    assert_fault("at most 8192 bytes");
    secret_parse(text, sizeof text, 0600);
    assert_fault("at most 8192 bytes");
    text[8192] = '\n';
    secret_parse(text, 8193, 0600);
    assert_clean();
    ck_assert_uint_eq(strlen(conf.nodes[2].password), 8192);
    secret_parse("pw\r\n", 4, 0600);
    assert_clean();
    ck_assert_str_eq(conf.nodes[0].password, "pw");
    ck_assert_str_eq(conf.nodes[0].user, "");
    secret_parse("pw", 2, 0604);
    ck_assert_int_eq(faults, 0);
    assert_said("node_password_file: warning: everybody can read /tmp/redlockd-test-");
}

/* ---- warnings ---- */

T(warn_password_in_file)
{
    static const char text[] = "nodes: ['redis://a:1', 'redis://:pw@b:1', 'redis://c:1']\n";
    char path[32], expected[128];
    file_write(path, text, strlen(text), 0644);
    parse_file(path);
    ck_assert_int_eq(faults, 0);
    ck_assert_uint_eq(lines_said(), 1);
    snprintf(expected, sizeof expected,
             "%s:1:24: nodes: warning: a password in a file that everybody can read", path);
    assert_said(expected);
    ck_assert_int_eq(chmod(path, 0640), 0);
    parse_file(path);
    assert_clean();
    unlink(path);
}

T(warn_listeners)
{
    parse_more("listen: ['127.0.0.2:1', '[::1]:1', 'localhost:1', 'unix:/a']\n");
    assert_clean();
    parse_more("listen:\n  - 127.0.0.1:1\n  - 0.0.0.0:1\n  - '[::]:1'\n  - example.org:1\n");
    ck_assert_int_eq(faults, 0);
    ck_assert_uint_eq(lines_said(), 3);
    assert_said("f:4:5: listen: warning: 0.0.0.0:1 can be reached from other machines");
    assert_said("f:5:5: listen: warning: [::]:1 can");
    assert_said("f:6:5: listen: warning: example.org:1 can");
}

T(warn_masters)
{
    static const char *const said_of[] = {
        "",
        "1 master survives the failure of 0",
        "2 masters survive the failure of 0",
        "",
        "4 masters survive the failure of 1, as three do",
        "",
        "6 masters survive the failure of 2, as one fewer would",
    };
    for (int n = 1; n <= 6; n++) {
        char text[256] = "nodes:\n";
        for (int i = 1; i <= n; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "  - redis://n:%d\n", i);
        parse(text);
        ck_assert_int_eq(faults, 0);
        ck_assert_uint_eq(lines_said(), said_of[n][0] ? 1 : 0);
        assert_said(said_of[n]);
    }
}

/* ---- printing ---- */

static char *print(void)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(out);
    conf_print(&conf, out);
    fclose(out);
    return text;
}

T(round_trip)
{
    parse("nodes: ['redis://me:SECRET@a:1/2', 'redis://:SECRET@[::1]:1', 'unix:/x?db=1', "
          "'redis://u%3a%25:SECRET@b:1']\n"
          "listen: ['unix:/a\"\\b', '[::1]:7']\nkey_prefix: 'a\\\"b'\nnode_backlog: 65537\nmax_ttl: 90s\n"
          "default_ttl: 1500\nunix_mode: 0777\nrestart_guard: off\nlog_level: error\n");
    ck_assert_int_eq(faults, 0);
    char *first = print();
    ck_assert_ptr_null(strstr(first, "SECRET"));
    ck_assert_ptr_nonnull(strstr(first, "redis://me:***@a:1/2"));
    parse(first);
    ck_assert_msg(faults == 0, "%s", said);
    char *second = print();
    ck_assert_str_eq(first, second);
    ck_assert_str_eq(conf.key_prefix, "a\\\"b");
    ck_assert_str_eq(conf.nodes[3].user, "u:%");
    ck_assert_int_eq(conf.node_backlog_bytes, 65537);
    ck_assert_int_eq(conf.max_ttl_ms, 90000);
    ck_assert_uint_eq(conf.unix_mode, 0777);
    free(first);
    free(second);
}

/* A listener is an address alone or a mapping, and is printed so that it is read again as the same. */
T(listeners_with_fin)
{
    char key[64], value[2048];
    parse_more(
        "listen: ['127.0.0.1:1', {address: '127.0.0.1:2', fin: break}, {fin: release, address: 'unix:/x'},"
        " {address: 'unix:/y', fin: break}]\n");
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_msg(faults == 0, "%s", said);
        ck_assert_uint_eq(conf.listeners, 4);
        ck_assert_str_eq(conf.listen[1].address.shown, "127.0.0.1:2");
        ck_assert(!conf.listen[0].fin_breaks && conf.listen[1].fin_breaks);
        ck_assert(!conf.listen[2].fin_breaks && conf.listen[3].fin_breaks);
        ck_assert(conf_row(&conf, 1, key, sizeof key, value, sizeof value));
        ck_assert_str_eq(value, "127.0.0.1:2,fin=break");
        char *text = print();
        ck_assert_ptr_nonnull(
            strstr(text, "\n  - {address: \"127.0.0.1:2\", fin: break}\n  - \"unix:/x\"\n"));
        parse(text);
        free(text);
    }
}

T(http_entries)
{
    parse_more("http: 127.0.0.1:7337\n");
    ck_assert_int_eq(faults, 0);
    ck_assert_uint_eq(conf.http_listeners, 1);
    ck_assert_uint_eq(conf.http[0].serves, CONF_SERVES_ALL);
    parse_more(
        "http:\n  - unix:/x\n  - {serve: [metrics, probes], address: 127.0.0.1:2}\n"
        "  - {address: 127.0.0.1:3, serve: page}\n"
        "  - {address: 127.0.0.1:4, serve: [page, metrics, probes, page]}\nhttp_hosts: locks.example\n");
    ck_assert_msg(faults == 0, "%s", said);
    ck_assert_uint_eq(conf.http[1].serves, CONF_METRICS | CONF_PROBES);
    ck_assert_uint_eq(conf.http[2].serves, CONF_PAGE);
    ck_assert_uint_eq(conf.http[3].serves, CONF_SERVES_ALL);
    ck_assert_str_eq(conf.http_hosts[0], "locks.example");
    char *text = print();
    ck_assert(
        strstr(text, "\nhttp:\n  - \"unix:/x\"\n  - {address: \"127.0.0.1:2\", serve: [probes, metrics]}\n"));
    parse(text);
    ck_assert_int_eq(faults, 0);
    ck_assert_uint_eq(conf.http_listeners, 4);
    free(text);
    parse_more("http: 0.0.0.0:7337\n");
    ck_assert_ptr_nonnull(strstr(said, ": http: warning: 0.0.0.0:7337 can be reached from other machines"));
    parse_more("http: [{address: 0.0.0.0:7337, serve: [probes]}]\n");
    ck_assert_str_eq(said, "");
}

static uint64_t set_of(const char *nodes)
{
    char text[400];
    snprintf(text, sizeof text, "nodes: [%s]\n", nodes);
    parse(text);
    ck_assert_msg(faults == 0, "%s", said);
    return conf_set_hash(&conf, conf.nodes, conf.masters);
}

/* What is served is a part of the set, in any order; without serves: the set is that of its masters. */
T(names_that_are_served)
{
    char shown[CONF_SET_BYTES];
    uint64_t all = set_of("redis://a:1");
    parse("nodes: [redis://a:1]\nserves: ['!jobs/*', '*']\n");
    ck_assert_msg(faults == 0, "%s", said);
    uint64_t others = conf_set_hash(&conf, conf.nodes, conf.masters);
    struct name job = {.len = 6, .text = "jobs/a"}, other = {.len = 6, .text = "jobsab"},
                list = {.len = 13, .text = "jobsab,jobs/a", .more = 1};
    ck_assert(!conf_serves_name(&conf, &job) && conf_serves_name(&conf, &other) &&
              !conf_serves_name(&conf, &list));
    conf_set_names(&conf, conf.nodes, conf.masters, ' ', shown);
    ck_assert_str_eq(shown, "a:1/0 serves(!jobs/*) serves(*)");
    parse("nodes: [redis://a:1]\nserves: ['*', '!jobs/*']\n");
    ck_assert(conf_set_hash(&conf, conf.nodes, conf.masters) == others && others != all);
    parse("nodes: [redis://a:1]\nserves: jobs/*\n");
    ck_assert(conf_serves_name(&conf, &job) && !conf_serves_name(&conf, &other));
    ck_assert(conf_set_hash(&conf, conf.nodes, conf.masters) != others);
}

static void names_are(const char *nodes, const char *names)
{
    char host[256] = "", expected[600], shown[CONF_SET_BYTES];
    ck_assert_int_eq(gethostname(host, sizeof host - 1), 0);
    for (char *at = host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    const char *here = strstr(names, "HERE");
    snprintf(expected, sizeof expected, "%.*s%s%s", here ? (int)(here - names) : 400, names, here ? host : "",
             here ? here + 4 : "");
    set_of(nodes);
    conf_set_names(&conf, conf.nodes, conf.masters, ' ', shown);
    ck_assert_str_eq(shown, expected);
}

/* The order, the scheme, credentials, capitals and what is left out do not count. */
T(names_of_masters)
{
    names_are("redis://B:2, redis://u:p@a:1/3, redis://10.0.0.1:6379", "10.0.0.1:6379/0 a:1/3 b:2/0");
    names_are("'redis://[2001:DB8:0::1]:5', redis://b:1, redis://c:1", "[2001:db8::1]:5/0 b:1/0 c:1/0");
    names_are("redis://localhost:1, redis://b:1, redis://c:1", "b:1/0 c:1/0 HERE!localhost:1/0");
    names_are("redis://127.0.0.1:1, redis://b:1, redis://c:1", "b:1/0 c:1/0 HERE!127.0.0.1:1/0");
    names_are("'redis://[0:0::1]:1', redis://b:1, redis://c:1", "b:1/0 c:1/0 HERE![::1]:1/0");
    names_are("'unix:/Run/x.sock?db=2', redis://b:1, redis://c:1", "b:1/0 c:1/0 HERE!/run/x.sock?db=2");
    names_are("{url: 'redis://127.0.0.1:1', name: 'A:1/3'}, redis://b:2, redis://10.0.0.1:6379",
              "10.0.0.1:6379/0 a:1/3 b:2/0");
}

T(hash_of_the_set)
{
    uint64_t set = set_of("redis://a:1, redis://b:2, redis://c:3");
    ck_assert(set == UINT64_C(0xc4a14752da174428));
    ck_assert(set == set_of("redis://c:3/0, 'redis://A:1', {url: 'redis://10.0.0.2:7', name: 'b:2/0'}"));
    ck_assert(set != set_of("redis://a:1, redis://b:2, redis://d:3"));
    ck_assert(set != set_of("redis://a:1, redis://b:2, redis://c:3/1"));
    ck_assert(set != set_of("redis://a:1, redis://b:2, redis://c:3, redis://d:4, redis://e:5"));
}

/* A vacant place counts in N, and so in the hash. */
T(vacant_places)
{
    char names[CONF_SET_BYTES];
    uint64_t three = set_of("redis://a:1, redis://b:2, redis://c:3");
    uint64_t four = set_of("redis://a:1, vacant, redis://b:2, redis://c:3");
    ck_assert(three != four);
    ck_assert(four == set_of("redis://c:3, redis://a:1, redis://b:2, vacant"));
    ck_assert_uint_eq(conf.masters, 4);
    ck_assert_uint_eq(conf_set_voters(conf.nodes, conf.masters), 3);
    conf_set_names(&conf, conf.nodes, conf.masters, ' ', names);
    ck_assert_str_eq(names, "a:1/0 b:2/0 c:3/0");
    assert_said("nodes: warning: 1 of 4 places are vacant: the other masters survive the failure of 0\n");
    char *text = print();
    ck_assert_ptr_nonnull(strstr(text, "\n  - \"vacant\"\n"));
    parse(text);
    free(text);
    ck_assert(four == conf_set_hash(&conf, conf.nodes, conf.masters));

    parse("nodes: [redis://a:1, vacant, vacant]\n");
    assert_fault("nodes: 2 of 3 places are vacant, so no lock could be granted: that takes 2 masters\n");
    parse("nodes: [redis://a:1, redis://b:2, {url: vacant, name: x}]\n");
    assert_fault("nodes: a vacant place has no keys besides: write vacant alone\n");
    parse("nodes: [redis://a:1, redis://b:2, {url: 'redis://c:3', name: Vacant}]\n");
    assert_fault(
        "nodes: name: \"Vacant\": a master's name is none: vacant alone is a place without a master\n");
}

static const char five[] = "redis://a:1, redis://b:1, redis://c:1, redis://d:1, redis://e:1";

static void parse_step(const char *before, const char *after)
{
    char text[1024];
    snprintf(text, sizeof text, "generation: 8\nnodes: [%s]\nnodes_before: [%s]\n", after, before);
    parse(text);
}

static void step_is(const char *before, const char *after, unsigned needed, unsigned voters)
{
    parse_step(before, after);
    ck_assert_msg(faults == 0, "%s", said);
    struct conf_between step =
        conf_set_between(conf.nodes_before, conf.masters_before, conf.nodes, conf.masters);
    ck_assert_uint_eq(step.needed, needed);
    ck_assert_uint_eq(step.voters, voters);
}

T(step_between_two_lists)
{
    step_is(five, "redis://a:1, redis://b:1, redis://f:1, redis://d:1, redis://e:1", 3, 4);
    step_is(five, "redis://a:1, redis://b:1, redis://f:1, redis://g:1, redis://e:1", 3, 3);
    step_is(five, "redis://a:1, redis://b:1, redis://c:1, redis://d:1", 3, 4);
    step_is(five, five, 3, 5);
    step_is(five, "redis://a:1, redis://b:1, redis://c:1, vacant, redis://e:1", 3, 4);
    parse_step(five, "redis://a:1, redis://f:1, redis://g:1, redis://h:1, redis://e:1");
    assert_fault("f:2:1: nodes: too big a change for one generation: nodes has 2 of the masters of "
                 "nodes_before, and the step between needs 3 votes of these; keep at least 3 of a:1/0 b:1/0 "
                 "c:1/0 d:1/0 e:1/0\n");
    parse_step(five, "redis://f:1, redis://g:1, redis://h:1");
    assert_fault("nodes has 0 of the masters of nodes_before, and the step between needs 3 votes of these; "
                 "keep at least 3 of a:1/0 b:1/0 c:1/0 d:1/0 e:1/0\n");
}

T(list_before)
{
    parse_step(five, "redis://a:1, redis://b:1, {url: 'redis://x:9', name: 'c:1/0'}, redis://d:1");
    assert_said("f:3:42: nodes_before: c:1/0 has another address, or no_kill, in nodes; write it here "
                "as it is there\n");
    parse_step("redis://a:1, redis://b:1, redis://a:1", five);
    assert_said("nodes_before: a:1 stands here twice; each master is a server of its own\n");
    parse("nodes: [redis://a:1, redis://b:1, redis://c:1]\nnodes_before: [redis://a:1, redis://b:1]\n");
    assert_fault("f:2:1: nodes_before: there is no generation before 0; write \"generation: 1\" if the "
                 "masters have changed, or leave nodes_before out\n");
    parse("nodes: [redis://a:1, redis://b:1, redis://c:1]\nmax_ttl_before: 5s\n");
    assert_fault("f:2:1: max_ttl_before: it needs nodes_before\n");
    parse("nodes: [redis://a:1, redis://b:1, redis://c:1]\ngeneration: 500000000\n");
    assert_fault("generation: 500000000 is out of range; allowed is 0 to 400000000\n");
    parse_step("'redis://me:SECRET@a:1', redis://b:1, {url: 'rediss://c:1', tls: {verify: off}}", five);
    ck_assert_msg(faults == 0, "%s", said);
    ck_assert_str_eq(conf.nodes_before[0].password, "SECRET");
    ck_assert(conf.nodes_before[2].tls.on && conf.nodes_before[2].tls.verify == WIRE_VERIFY_OFF);
    char *first = print();
    ck_assert_ptr_nonnull(strstr(first, "\ngeneration: 8\n") ?: strstr(first, "generation: 8\n"));
    ck_assert_ptr_nonnull(strstr(first, "\nnodes_before:\n  - \"redis://me:***@a:1/0\"\n"));
    parse(first);
    char *second = print();
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}

/* Together they are more than there are places. */
T(too_many_servers)
{
    char before[600] = "", after[600] = "";
    for (unsigned i = 0; i < 9; i++) {
        snprintf(before + strlen(before), sizeof before - strlen(before), "%sredis://a%u:1", i ? ", " : "",
                 i);
        snprintf(after + strlen(after), sizeof after - strlen(after), "%sredis://a%u:1", i ? ", " : "",
                 i + 7);
    }
    parse_step(before, after);
    assert_fault("nodes_before: it and nodes have 16 servers together; at most 15 are possible\n");
}

T(two_masters_of_one_name)
{
    parse("nodes: [redis://a:1, {url: 'redis://b:1', name: A:1/0}, redis://c:1]\n");
    ck_assert_ptr_nonnull(
        strstr(said, "nodes: two masters have the name a:1/0; each is a server of its own\n"));
}

T(no_kill)
{
    char key[64], value[2048];
    parse("nodes:\n  - redis://a:1\n  - {url: 'redis://b:1', no_kill: yes}\n"
          "  - {url: 'rediss://c:1', no_kill: on, tls: {verify: off}}\n"
          "  - {url: 'redis://d:1', no_kill: no}\n");
    for (unsigned round = 0; round < 2; round++) {
        ck_assert_msg(faults == 0, "%s", said);
        ck_assert(!conf.nodes[0].no_kill && conf.nodes[1].no_kill && conf.nodes[2].no_kill &&
                  !conf.nodes[3].no_kill);
        ck_assert(conf_row(&conf, 4, key, sizeof key, value, sizeof value));
        ck_assert_str_eq(value, "redis://b:1/0,no_kill=yes");
        ck_assert(conf_row(&conf, 5, key, sizeof key, value, sizeof value));
        ck_assert_str_eq(value, "rediss://c:1/0,no_kill=yes,verify=off");
        char *text = print();
        ck_assert_ptr_nonnull(strstr(text, "\n  - {url: \"redis://b:1/0\", no_kill: yes}\n"));
        ck_assert_ptr_nonnull(
            strstr(text, "\n  - {url: \"rediss://c:1/0\", no_kill: yes, tls: {verify: off}}\n"));
        parse(text);
        free(text);
    }
}

/* The printed text can be read again, and each master has what it leaves out from node_tls. */
T(tls)
{
    char key[64], value[2048];
    parse("node_tls: {server_name: redis, verify: off}\n"
          "nodes:\n  - rediss://me:SECRET@a:1\n  - redis://b:1\n"
          "  - {url: 'rediss://c:1/3', tls: {server_name: c.example}}\n");
    for (unsigned round = 0; round < 2; round++) {
        ck_assert_msg(faults == 0, "%s", said);
        ck_assert(conf.nodes[0].tls.on && !conf.nodes[1].tls.on && conf.nodes[2].tls.on);
        ck_assert_str_eq(conf.nodes[0].tls.server_name, "redis");
        ck_assert_str_eq(conf.nodes[2].tls.server_name, "c.example");
        ck_assert_int_eq(conf.nodes[2].tls.verify, WIRE_VERIFY_OFF);
        ck_assert_int_eq(conf.nodes[2].db, 3);
        ck_assert(conf_row(&conf, 5, key, sizeof key, value, sizeof value));
        ck_assert_str_eq(value, "rediss://c:1/3,server_name=c.example");
        ck_assert(conf_row(&conf, 9, key, sizeof key, value, sizeof value));
        ck_assert_str_eq(key, "node_tls");
        ck_assert_str_eq(value, "server_name=redis,verify=off");
        char *text = print();
        ck_assert_ptr_nonnull(
            strstr(text, "\n  - {url: \"rediss://c:1/3\", tls: {server_name: \"c.example\"}}\n"));
        ck_assert_ptr_nonnull(strstr(text, "\nnode_tls: {server_name: \"redis\", verify: off}\n"));
        char *secret = strstr(text, "me:***@");
        ck_assert_ptr_nonnull(secret);
        memcpy(secret, "me:abc@", 7);
        parse(text);
        free(text);
    }
}

T(show_rows)
{
    char key[64], value[2048];
    unsigned rows = 0, nodes = 0;
    parse("nodes: ['redis://me:SECRET@a:1/2', 'redis://b:1', 'unix:/x?db=1']\n");
    for (; conf_row(&conf, rows, key, sizeof key, value, sizeof value); rows++) {
        ck_assert_ptr_null(strstr(value, "SECRET"));
        ck_assert_ptr_null(strchr(value, '@'));
        nodes += strcmp(key, "nodes") == 0;
    }
    ck_assert_uint_eq(nodes, 3);
    /* One listener, two more masters; neither users nor http nor http_hosts nor nodes_before nor serves. */
    ck_assert_uint_eq(rows, CONF_KEYS - 3);
    ck_assert(conf_row(&conf, 0, key, sizeof key, value, sizeof value));
    ck_assert_str_eq(key, "listen");
    ck_assert_str_eq(value, "127.0.0.1:7335");
    ck_assert(conf_row(&conf, 3, key, sizeof key, value, sizeof value));
    ck_assert_str_eq(value, "redis://a:1/2");
    ck_assert(conf_row(&conf, rows - 1, key, sizeof key, value, sizeof value));
    ck_assert_str_eq(key, "log_level");
    ck_assert_str_eq(value, "info");
}

/* The example that is installed: right as it is, and its comments say the true defaults. */
T(example)
{
    char *text = NULL, line[512];
    size_t len;
    parse_file("conf/redlockd.yaml");
    ck_assert_msg(faults == 0, "%s", said);
    FILE *in = fopen("conf/redlockd.yaml", "r"), *out = open_memstream(&text, &len);
    ck_assert(in && out);
    while (fgets(line, sizeof line, in)) { /* "#key: value" and "#  - item" are defaults, "# text" is not */
        bool is_default = line[0] == '#' && (line[1] != ' ' || strncmp(line, "#  - ", 5) == 0);
        fputs(line + is_default, out);
    }
    fclose(in);
    fclose(out);
    char *expected = print();
    parse(text);
    ck_assert_msg(faults == 0, "%s", said);
    char *got = print();
    ck_assert_str_eq(got, expected);
    for (unsigned k = 0; k < CONF_KEYS; k++) {
        bool is_default = strcmp(conf_settings[k].key, "users") != 0;
        snprintf(line, sizeof line, is_default ? "\n%s:" : "\n#   %s:\n", conf_settings[k].key);
        ck_assert_msg(strstr(text, line) != NULL, "%s is not in the example", conf_settings[k].key);
    }
    free(text);
    free(expected);
    free(got);
}
