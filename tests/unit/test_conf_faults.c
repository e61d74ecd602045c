/* The configuration: every error, with its place. */
#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

/* ---- what is wrong: one fault each, at its place ---- */

static const struct {
    const char *text, *fault;
} wrong[] = {
    /* keys */
    {"max_tttl: 1s", "f:2:1: \"max_tttl\": unknown key; did you mean max_ttl?"},
    {"node-user: x", "f:2:1: \"node-user\": unknown key; did you mean node_user?"},
    {"bind: 127.0.0.1", "f:2:1: \"bind\": unknown key; did you mean listen?"},
    {"Port: 1", "\"Port\": unknown key; did you mean listen?"},
    {"password: x", "\"password\": unknown key; did you mean node_password_file?"},
    {"wibble: 1", "f:2:1: \"wibble\": unknown key; the keys are listen, unix_mode, generation, nodes"},
    {"\"a\\nb\\\"\": 1", "f:2:1: \"a\\x0ab\\\"\": unknown key"},
    {"\"max_ttl\\0\": 3s", "unknown key; did you mean max_ttl?"},
    {"listenlistenlistenlistenlistenlistenlistenlistenlistenlistenlistenlisten: 3",
     "unknown key; the keys are"},
    {"? [a]\n: 3", "f:2:3: ?: a key is one word"},
    {"max_ttl: 30s\nmax_ttl: 30s", "f:3:1: max_ttl: this key stands in line 2 already"},
    /* types */
    {"max_ttl: [30s]", "f:2:10: max_ttl: wrong type: a list where one value belongs"},
    {"max_ttl: {a: b}", "f:2:10: max_ttl: wrong type: a mapping"},
    {"max_ttl:", "f:2:1: max_ttl: there is no value"},
    {"max_ttl: ~", "f:2:1: max_ttl: there is no value"},
    {"node_user: null", "f:2:1: node_user: there is no value"},
    {"key_prefix: \"a\\0b\"", "f:2:13: key_prefix: there is a NUL byte"},
    {"listen: {address: '127.0.0.1:1'}", "f:2:9: listen: wrong type: not a list; write one address a line"},
    {"listen: 127.0.0.1", "f:2:9: listen: \"127.0.0.1\": "},
    {"listen:", "f:2:1: listen: the list is empty"},
    {"listen: []", "f:2:9: listen: the list is empty"},
    {"listen:", "f:2:1: listen: the list is empty"},
    {"listen: [[a]]", "f:2:10: listen: wrong type: a list where one value belongs; write one address a "
                      "line, as in \"- 127.0.0.1:7335\""},
    /* numbers */
    {"max_ttl: 1.5s", "f:2:10: max_ttl: \"1.5s\" is not a duration"},
    {"max_ttl: -3s", "is not a duration"},
    {"max_ttl: 3 s", "is not a duration"},
    {"max_ttl: 3S", "is not a duration"},
    {"max_ttl: s", "is not a duration"},
    {"max_ttl: \"\"", "is not a duration"},
    {"max_ttl: 12345678901s", "is not a duration"},
    {"max_ttl: 9999999999h", "is out of range; allowed is 2s to 24h"},
    {"max_ttl: 1999ms", "1999ms is out of range; allowed is 2s to 24h"},
    {"max_ttl: 25h", "allowed is 2s to 24h"},
    {"default_ttl: 9ms", "allowed is 10ms to 24h"},
    {"min_ttl: 2h", "allowed is 10ms to 1h"},
    {"max_ttl: 60", "60 is out of range; allowed is 2s to 24h; a number without a unit is ms"},
    {"node_timeout: 0", "allowed is 1ms to 10s"},
    {"min_validity: 0ms", "allowed is 1ms to 10s"},
    {"client_keepalive: 999ms", "allowed is 1s to 2h"},
    {"retry_min: 0", "allowed is 1ms to 10s"},
    {"retry_max: 2m", "allowed is 1ms to 1m"},
    {"fanout: three", "\"three\" is not all or quorum"},
    {"drain_timeout: 61m", "allowed is 0ms to 1h"},
    {"idle_line_timeout: 99", "allowed is 100ms to 1h"},
    {"node_backlog: 1g", "f:2:15: node_backlog: \"1g\" is not a size"},
    {"node_backlog: 65m", "allowed is 64k to 64m"},
    {"node_backlog: 63k", "allowed is 64k to 64m"},
    {"max_output: 100", "allowed is 4k to 16m"},
    {"max_clients: 0", "f:2:14: max_clients: 0 is out of range; allowed is 1 to 100000"},
    {"max_clients: 1k", "\"1k\" is not a whole number"},
    {"max_clients: 100001", "allowed is 1 to 100000"},
    {"max_locks: 500001", "allowed is 1 to 500000"},
    {"max_waiters: 250001", "allowed is 1 to 250000"},
    {"max_locks_per_client: 500001", "allowed is 1 to 500000"},
    {"max_waits_per_client: 250001", "allowed is 1 to 250000"},
    {"max_clients: 8\nmax_clients_per_peer: 9", "f:3:1: max_clients_per_peer: 9 is more than max_clients, "
                                                "which is 8; allowed is 1 to 8, or 0 for a quarter"},
    {"max_locks_per_peer: 100001",
     "f:2:1: max_locks_per_peer: 100001 is more than max_locks, which is 100000"},
    {"max_waits_per_peer: 65537",
     "f:2:1: max_waits_per_peer: 65537 is more than max_waiters, which is 65536"},
    {"max_clients_per_peer: 100001", "allowed is 0 to 100000"},
    /* words */
    {"restart_guard: maybe", "f:2:16: restart_guard: \"maybe\" is not on or off"},
    {"log_level: loud", "\"loud\" is not error, warn, info or debug"},
    {"unix_mode: 0888", "\"0888\" is not a file mode in octal"},
    {"unix_mode: \"1777\"", "is not a file mode"},
    {"unix_mode: \"0460\"", "is not a file mode"},
    {"unix_mode: 66", "is not a file mode"},
    {"key_prefix: a,b", "is not a key prefix"},
    {"key_prefix: a b", "is not a key prefix"},
    {"key_prefix: \"\\xe9\"", "is not a key prefix"},
    {"key_prefix: 12345678901234567890123456789012345678901234567890123456789012345", "at most 64"},
    {"node_user: a b", "is not a Redis user"},
    {"node_user: a", "f:2:1: node_user: it needs node_password_file"},
    {"node_password_file: rel", "node_password_file: it takes an absolute path"},
    {"node_password_file: \"/a\\nb\"", "node_password_file: it takes an absolute path"},
    {"node_password_file: /nonexistent/x", "/nonexistent/x: No such file"},
    {"node_password_file: /tmp", "/tmp: not a file"},
    /* listeners */
    {"listen: [127.0.0.1]", "f:2:10: listen: \"127.0.0.1\": the port is missing"},
    {"listen: ['127.0.0.1:65536']", "the port is not a number"},
    {"listen: ['127.0.0.1:']", "the port is not a number"},
    {"listen: ['127.0.0.1:1x']", "the port is not a number"},
    {"listen: ['127.0.0.300:1']", "the host is not an IPv4 address"},
    {"listen: ['10.1:1']", "the host is not an IPv4 address"},
    {"listen: [':1']", "for every interface write 0.0.0.0"},
    {"listen: ['*:1']", "for every interface write 0.0.0.0"},
    {"listen: ['::1:1']", "for every interface"},
    {"listen: ['fe80::1:1']", "stands in brackets"},
    {"listen: ['[::g]:1']", "not an IPv6 address"},
    {"listen: ['[::1:1']", "the ']' after"},
    {"listen: ['[::1]']", "the port is missing"},
    {"listen: ['[]:1']", "the host before the port is missing"},
    {"listen: ['a b:1']", "a host name has only"},
    {"listen: [/run/x.sock]", "f:2:10: listen: \"/run/x.sock\": did you mean unix:/run/x.sock?"},
    {"listen: ['unix:x']", "absolute path"},
    {"listen: ['unix:']", "absolute path"},
    {"listen: ['unix://x']", "absolute path"},
    {"listen: ['unix:/a b']", "only visible ASCII"},
    {"listen: ['127.0.0.1:1', '127.0.0.1:1']",
     "f:2:25: listen: \"127.0.0.1:1\": this address stands here twice"},
    {"listen: ['unix:/a', 'unix:///a']", "stands here twice"},
    {"http: [{serve: [page]}]",
     "f:2:8: http: the address is missing; write {address: 127.0.0.1:7337, serve: [probes, metrics]}"},
    {"http: [{address: '127.0.0.1:1', serve: [probes, pages]}]",
     "f:2:49: http: serve: \"pages\" is not probes, metrics or page, as in serve: [probes, metrics]"},
    {"http: [{address: '127.0.0.1:1', tls: {cert: /c}}]", "f:2:8: http: tls needs cert and key"},
    {"http: [{address: '127.0.0.1:1', tls: {ca: /c}}]",
     "http: \"ca\" is no key of TLS here; its keys are cert, key, client_ca and client_cert"},
    {"http: [{address: '127.0.0.1:1', tls: {cert: /none/c, key: /none/k}}]",
     "f:2:8: http: /none/c: No such file"},
    {"http: [{address: 'unix:/x', tls: {cert: /c, key: /k}}]",
     "f:2:8: http: a Unix socket needs no TLS: leave tls out"},
    {"http: [{address: '127.0.0.1:1', serve: []}]",
     "f:2:40: http: serve: the list is empty; write probes, metrics or page"},
    {"http: [{address: '127.0.0.1:1', fin: break}]",
     "f:2:33: http: \"fin\" is no key of an address to listen on; its keys are address, serve and tls"},
    {"http: {address: '127.0.0.1:1'}", "f:2:7: http: wrong type: not a list; write one address a line"},
    {"http:", "f:2:1: http: the list is empty; write one address a line"},
    {"http: ['127.0.0.1:7335']", "f:2:8: http: 127.0.0.1:7335 stands in listen already"},
    {"http: [127.0.0.1:1, 127.0.0.1:1]", "f:2:21: http: \"127.0.0.1:1\": this address stands here twice"},
    {"serves: ['!jobs/*']", "f:2:1: serves: every name is an exception: write \"*\" first, for all others"},
    {"serves: ['a,b']", "f:2:10: serves: \"a,b\" has a comma, which no name has; write one pattern an item"},
    {"serves: ['!a*b']", "f:2:10: serves: \"!a*b\": a * stands only at the end of a pattern, for any rest"},
    {"http_hosts: ['a b']", "f:2:14: http_hosts: \"a b\" is not the name of a host"},
    {"listen: [{fin: break}]",
     "f:2:10: listen: the address is missing; write {address: 127.0.0.1:7335, fin: break}"},
    {"listen: [{address: '127.0.0.1:1', fin: maybe}]",
     "f:2:40: listen: fin: \"maybe\" is not release or break"},
    {"listen: [{address: '127.0.0.1:1', fni: break}]",
     "f:2:35: listen: \"fni\" is no key of an address to listen on; its keys are address, fin and tls"},
    {"listen: [{address: '127.0.0.1:1', fin: break, fin: release}]",
     "f:2:47: listen: fin: this key stands in line 2 already; keep one of the two"},
    {"listen: [{address: '127.0.0.1:1', address: '127.0.0.1:2'}]",
     "f:2:35: listen: address: this key stands in line 2 already; keep one of the two"},
    {"listen: [{address: '127.0.0.1:1', fin: [break]}]",
     "f:2:40: listen: fin: wrong type: a list where one value belongs"},
    {"listen: [{address: [a]}]", "f:2:20: listen: wrong type: a list where one value belongs"},
    {"listen:\n  - host: a",
     "f:3:5: listen: the address is missing; write {address: 127.0.0.1:7335, fin: break}"},
    {"listen: [{address: 'x'}]", "f:2:20: listen: \"x\": the port is missing"},
    {"listen: [{address: '127.0.0.1:1', fin: }]", "f:2:35: listen: fin: there is no value\n"},
    {"nodes: [{address: 'redis://a:1'}]", "stands in line 1 already"},
    /* TLS */
    {"listen: [{address: '127.0.0.1:1', tls: {}}]", "f:2:10: listen: tls needs cert and key"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: /x}}]", "f:2:10: listen: tls needs cert and key"},
    {"listen: [{address: '127.0.0.1:1', tls: yes}]",
     "f:2:40: listen: tls: wrong type: it has keys of its own, as in {cert: /etc/redlockd/cert.pem}"},
    {"listen: [{address: '127.0.0.1:1', tls: {ca: /x}}]",
     "f:2:41: listen: \"ca\" is no key of TLS here; its keys are cert, key, client_ca and client_cert"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: x, key: /y}}]",
     "f:2:47: listen: cert: it takes the absolute path of a file"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: [/x]}}]",
     "f:2:47: listen: cert: wrong type: a list where one value belongs"},
    {"listen: [{address: '127.0.0.1:1', tls: {client_cert: maybe}}]",
     "f:2:54: listen: client_cert: \"maybe\" is not required or optional"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: /c, key: /k, client_cert: required}}]",
     "f:2:10: listen: client_cert needs client_ca"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: /none/c, key: /none/k}}]",
     "f:2:10: listen: /none/c: No such file or directory"},
    {"listen: [{address: '127.0.0.1:1', tls: {cert: /etc/passwd, key: /etc/passwd}}]",
     "f:2:10: listen: /etc/passwd: everybody can read this key: chmod o-r it"},
    {"listen: [{address: 'unix:/x', tls: {cert: /c, key: /k}}]",
     "f:2:10: listen: a Unix socket needs no TLS: leave tls out"},
    {"node_tls: full", "f:2:11: node_tls: wrong type: it has keys of its own, as in {ca: "},
    {"node_tls: {client_ca: /x}", "its keys are cert, key, ca, server_name and verify"},
    {"node_tls: {verify: none}",
     "f:2:20: node_tls: verify: \"none\" is not full (the CA and the name), ca (not the name)"},
    {"node_tls: {verify: ca}", "f:2:1: node_tls: verify: ca needs ca: with the system's CAs"},
    {"node_tls: {cert: /x}", "f:2:1: node_tls: cert and key stand together, or neither"},
    {"node_tls: {ca: /none/ca.pem}", "f:2:1: node_tls: /none/ca.pem: No such file or directory"},
    {"node_tls: {ca: /etc/passwd}", "f:2:1: node_tls: /etc/passwd: no certificates in PEM that can be used"},
    {"node_tls: {ca: /etc}", "f:2:1: node_tls: /etc: not a file"},
    {"node_tls: {server_name: ''}", "f:2:25: node_tls: server_name: it takes the name in the certificate"},
    /* between keys */
    {"retry_min: 300ms", "f:2:1: retry_min: 300ms is more than retry_max, which is 200ms"},
    {"retry_max: 10ms", "f:2:1: retry_min: 20ms is more than retry_max, which is 10ms"},
    {"min_ttl: 11s",
     "f:2:1: min_ttl: 11s is more than default_ttl, which is 10s; allowed is min_ttl <= default_ttl "
     "<= max_ttl (max_ttl is also how long a restarted master is kept out)"},
    {"default_ttl: 2m", "f:2:1: default_ttl: 2m is more than max_ttl, which is 1m"},
    {"max_ttl: 9s", "f:2:1: default_ttl: 10s is more than max_ttl, which is 9s"},
    {"min_ttl: 99ms",
     "f:2:1: min_ttl: 99ms is less than two round trips to a master; allowed is 2 x node_timeout = 100ms"},
    {"node_timeout: 51ms", "2 x node_timeout = 102ms"},
    {"min_validity: 97ms",
     "f:2:1: min_validity: a lock of min_ttl (100ms) could never be granted; allowed is at most 96ms"},
    /* YAML */
    {"max_ttl: [1", "f:3:1: YAML: did not find expected"},
    {"key_prefix: \"a\nmax_ttl: 5s", "f:2:13: YAML: the quote that begins here is never closed"},
    {"key_prefix: 'a\nmax_ttl: 5s", "f:2:13: YAML: the quote that begins here is never closed"},
    {"max_ttl: 5s\n\tlog_level: info", "f:3:1: YAML: found a tab character"},
    {"max_ttl: 5s\n\tlog_level: info", "(a tab? indent with spaces)"},
    {"listen:\n\t- 127.0.0.1:1", "(a tab? indent with spaces)"},
    {"--- {a: b}", "f:2:5: YAML: a second document begins here"},
};

T_EACH(wrong_values, sizeof wrong / sizeof wrong[0])
{
    parse_more(wrong[_i].text);
    assert_fault(wrong[_i].fault);
}

static const struct {
    const char *url, *fault;
} wrong_urls[] = {
    {"10.0.0.1:6379", "not an address of a Redis master; did you mean redis://10.0.0.1:6379?"},
    {"master-1:6379", "did you mean redis://master-1:6379?"},
    {"/run/redis.sock", "did you mean unix:/run/redis.sock?"},
    {"u:SECRET@a:1", "not an address of a Redis master; write redis://"},
    {"10.0.0.1", "not an address of a Redis master; write redis://"},
    {"http://a:1", "not an address of a Redis master"},
    {"REDISS://a:1", "(rediss:// with TLS)"},
    {"rediss://u:SECRET@a", "the port is missing; write redis://[user[:password]@]host:port[/db]"},
    {"redis://a", "the port is missing; write redis://[user[:password]@]host:port[/db]"},
    {"redis://u:SECRET", "the port is not a number"},
    {"redis://u:SECRET@a", "the port is missing"},
    {"redis://u:SE/CRET@a:1", "'/' in a user or password as %2F"},
    {"redis://u:SECRET%@a:1", "begins a byte in hex"},
    {"redis://u:SECRET%4@a:1", "begins a byte in hex"},
    {"redis://u:SECRET%zz@a:1", "begins a byte in hex"},
    {"redis://u:SECRET%00@a:1", "%00 is refused"},
    {"redis://@a:1", "no user and no password before the '@'"},
    {"redis://:@a:1", "no user and no password before the '@'"},
    {"redis://u@a:1", "a user without a password"},
    {"redis://a:0", "a master's port is 1 to 65535"},
    {"redis://a:99999", "the port is not a number"},
    {"redis://:1", "the host before the port is missing"},
    {"redis://a:1/x", "the database is not a number"},
    {"redis://a:1/65536", "the database is not a number"},
    {"redis://a:1/1/2", "the database is not a number"},
    {"redis://a:1?db=1", "nothing may follow the database"},
    {"redis://[::1]:1#x", "nothing may follow the database"},
    {"redis://::1:1", "stands in brackets"},
    {"unix:a.sock", "absolute path"},
    {"unix:/a?x=1", "only db=<number>"},
    {"unix:/a?db=x", "the database is not a number"},
};

/* Whatever is wrong with a URL, no message repeats its password. */
T_EACH(wrong_url, sizeof wrong_urls / sizeof wrong_urls[0])
{
    char text[512];
    snprintf(text, sizeof text, "nodes:\n  - redis://x:1\n  - redis://y:1\n\n  - \"%s\"\n",
             wrong_urls[_i].url);
    parse(text);
    ck_assert_int_eq(faults, 1);
    assert_said(wrong_urls[_i].fault);
    assert_said("f:5:5: nodes: ");
    ck_assert_ptr_null(strstr(said, "SECRET"));
    ck_assert_ptr_null(strstr(said, "CRET"));
}

T(a_password_in_the_wrong_place_is_not_repeated)
{
    static const char *const texts[] = {
        "node_password_file: hunter2\n",          "node_password_file: \"/hunter2\\n\"\n",
        "listen: ['redis://u:hunter2@h:6379']\n", "node_user: 'redis://u: hunter2@h:6379'\n",
        "redis://u:hunter2@h:6379: x\n",          "max_ttl: redis://u:hunter2@h:6379\n",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parse_more(texts[i]);
        ck_assert_int_ge(faults, 1);
        assert_said("f:2:");
        ck_assert_msg(!strstr(said, "hunter2"), "%s", said);
    }
}

T(nodes_missing)
{
    static const char *const texts[] = {"", "# nothing\n", "max_ttl: 30s\n", "---\n"};
    for (unsigned i = 0; i < 4; i++) {
        parse(texts[i]);
        assert_fault("f:1:1: nodes: missing; list your independent Redis masters");
        assert_said("nodes: [redis://10.0.0.1:6379,");
    }
    parse("nodes:\n");
    assert_fault(
        "f:1:1: nodes: the list is empty; write one address a line, as in \"- redis://10.0.0.1:6379\"");
}

T(nodes_equal)
{
    parse("nodes: ['redis://A:1', 'redis://b:1', 'redis://u:SECRET@a:1/2']\n");
    assert_fault("f:1:39: nodes: a:1 stands here twice");
    parse("nodes: ['unix:/a', 'unix:/b', 'unix:/a?db=2']\n");
    assert_fault("unix:/a stands here twice");
}

T(too_many)
{
    char text[2048] = "nodes:\n";
    for (int i = 1; i <= 16; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - redis://n:%d\n", i);
    parse(text);
    assert_fault("f:17:5: nodes: too many: at most 15 masters");
    memcpy(text, "nodes: [redis://a:1, redis://b:1, redis://c:1]\nlisten:\n", 56);
    text[55] = 0;
    for (int i = 1; i <= 17; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - 127.0.0.1:%d\n", i);
    parse(text);
    assert_fault("f:19:5: listen: too many: at most 16 addresses");
}

T(all_errors_are_told)
{
    parse("max_tl: 3s\nmin_ttl: x\nlog_level: y\nnodes: [redis://a, redis://b:1]\nretry_min: 5s\n");
    ck_assert_int_eq(faults, 5);
    ck_assert_ptr_null(strstr(said, "a tab?"));
    assert_said("f:1:1: \"max_tl\": unknown key");
    assert_said("f:2:10: min_ttl: \"x\" is not");
    assert_said("f:3:12: log_level: \"y\" is not");
    assert_said("f:4:9: nodes: the port is missing");
    assert_said("f:5:1: retry_min: 5s is more than retry_max");
}

T(all_keys_are_listed_once)
{
    parse_more("wibble: 1\nwobble: 2\n");
    ck_assert_int_eq(faults, 2);
    assert_said("f:2:1: \"wibble\": unknown key; the keys are listen");
    assert_said("f:3:1: \"wobble\": unknown key\n");
}

/* A refused value says nothing about the others. */
T(no_error_of_an_error)
{
    parse_more("max_ttl: 9x\ndefault_ttl: 5m\n");
    assert_fault("f:2:10: max_ttl: \"9x\" is not a duration");
    parse_more("min_ttl: 9x\nnode_timeout: 5s\nmin_validity: 9s\n");
    assert_fault("f:2:10: min_ttl: \"9x\" is not a duration");
    parse_more("node_user: u\nnode_password_file: x\n");
    assert_fault("f:3:21: node_password_file: it takes");
}

T(a_master_as_a_mapping)
{
    parse("nodes:\n  - host: 10.0.0.1\n");
    assert_fault("f:2:5: nodes: the url is missing; write {url: rediss://10.0.0.1:6379, tls: {ca: "
                 "/etc/redlockd/ca.pem}}");
}

static const char *const master_keys[][2] = {
    {"{url: 'redis://a:1', tls: {verify: off}}", "f:1:35: nodes: tls belongs to an address with rediss://"},
    {"{url: 'rediss://a:1', tsl: {verify: off}}", "f:1:57: nodes: \"tsl\" is no key of a master"},
    {"{url: 'rediss://a:1', pool: 5}",
     "f:1:57: nodes: \"pool\" is no key of a master; its keys are url, name, no_kill and tls\n"},
    {"{url: 'redis://a:1', name: 'two words'}", "f:1:62: nodes: name: \"two words\": a master's name has "
                                                "only letters, digits and . - _ : / [ ] ! ? =\n"},
    {"{url: 'redis://a:1', name: ''}",
     "f:1:62: nodes: name: \"\": a master's name has 1 to 255 characters\n"},
    {"{url: 'redis://a:1', no_kill: maybe}", "f:1:65: nodes: no_kill: \"maybe\" is not yes or no\n"},
    {"{url: 'redis://a:1', no_kill: [yes]}",
     "f:1:65: nodes: no_kill: wrong type: a list where one value belongs\n"},
    {"{url: 'redis://a:1', no_kill: yes, no_kill: no}",
     "f:1:70: nodes: no_kill: this key stands in line 1 already; keep one of the two"},
    {"{url: 'rediss://a:1', tls: {cert: /none/c, key: /none/k}}", "f:1:35: nodes: /none/c: No such file"},
};

T_EACH(keys_of_a_master, sizeof master_keys / sizeof master_keys[0])
{
    char text[256];
    snprintf(text, sizeof text, "nodes: [redis://b:1, redis://c:1, %s]\n", master_keys[_i][0]);
    parse(text);
    assert_fault(master_keys[_i][1]);
}

T(no_kill_without_its_quarantine)
{
    parse("restart_guard: off\nnodes: [redis://b:1, redis://c:1, {url: 'redis://a:1', no_kill: yes}]\n");
    ck_assert_int_eq(faults, 1);
    assert_said("f:2:35: nodes: no_kill needs restart_guard: on, since a quarantine takes the place of "
                "CLIENT KILL\n");
}

T(yaml_broken)
{
    parse_len("nodes: \xff", 8);
    assert_fault("f:1:8: YAML: invalid leading UTF-8 octet");
    parse_len("nodes:\n a\x01", 10);
    assert_fault("YAML: control characters are not allowed");
    parse("- a\n");
    assert_fault("f:1:1: YAML: the file is a list of \"key: value\" lines");
    parse("word\n");
    assert_fault("f:1:1: YAML: the file is a list of");
    parse("a: *b\n");
    assert_fault("f:1:4: YAML: found undefined alias");
}

/* The text is refused where its seventeenth level begins: otherwise libyaml alone takes many seconds for the
 * deepest text. */
T_EACH(nested_too_deep, 4)
{
    static const char *const openers[] = {"[", "{a: ", "- ", "? "};
    static const unsigned levels[] = {16, 17, 50000};
    size_t len = strlen(openers[_i]);
    char *text = malloc(levels[2] * len), place[128];
    for (unsigned i = 0; i < levels[2]; i++)
        memcpy(text + i * len, openers[_i], len);
    parse_len(text, levels[0] * len);
    ck_assert_msg(!strstr(said, "too deep"), "%s", said);
    for (unsigned i = 1; i < 3; i++) {
        parse_len(text, levels[i] * len);
        snprintf(place, sizeof place,
                 "f:1:%zu: YAML: lists and mappings are nested too deep here; allowed are 16 levels",
                 16 * len + 1);
        assert_fault(place);
    }
    free(text);
}

T(too_many_anchors)
{
    enum { ANCHORS = 50000, EACH = 10 };
    char *text = malloc(2 + ANCHORS * EACH + 1);
    size_t len = (size_t)sprintf(text, "[ ");
    for (unsigned i = 0; i < ANCHORS; i++)
        len += (size_t)sprintf(text + len, "&%05u x, ", i);
    parse_len(text, 2 + 64 * EACH);
    ck_assert_msg(!strstr(said, "anchors"), "%s", said);
    parse_len(text, len);
    assert_fault("f:1:643: YAML: too many anchors (&name); allowed are 64");
    free(text);
}
