/* Users in the configuration: every error, with its place; who a client is; what a user may do. */
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/wire/wire.h"
#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

/* ---- what is wrong ---- */

static const struct {
    const char *text, *fault;
} wrong[] = {
    {"users:", "f:2:1: users: the list is empty; write one user an item"},
    {"users: []", "f:2:8: users: the list is empty"},
    {"users: [x]", "f:2:9: users: a user is written as {name: billing, uid: 1001"},
    {"users: [{uid: 1}]", "f:2:9: users: the name is missing"},
    {"users: [{name: [a], uid: 1}]", "f:2:16: users: wrong type: a list where one value belongs"},
    {"users: [{name: , uid: 1}]", "users: there is no value"},
    {"users: [{name: \"a\\0b\", uid: 1}]", "there is a NUL byte in it"},
    {"users: [{name: a b, uid: 1}]", "f:2:16: users: \"a b\" is no name of a user"},
    {"users: [{name: a*, uid: 1}]", "is no name of a user"},
    {"users: [{name: a, uid: 1}, {name: a, uid: 2}]", "f:2:35: users: the user a stands here twice"},
    {"users: [{name: a, uid: 1, uids: 2}]", "f:2:27: users: \"uids\" is no key of a user; its keys are name"},
    {"users: [{name: a, uid: 1, uid: 2}]",
     "f:2:27: users: uid of a: this key stands in line 2 already; keep one of the two"},
    {"users: [{name: a, [uid]: 1, uid: 2}]", "f:2:19: users: a key is one word"},
    {"users: [{name: a}]", "f:2:9: users: nothing identifies a"},
    {"users: [{name: a, lock: x}]", "nothing identifies a: give it uid, gid, cert or secret_file"},
    {"users: [{name: a, uid: no-such-user}]",
     "f:2:24: users: uid of a: \"no-such-user\" is no user of this host"},
    {"users: [{name: a, gid: no-such-group}]", "gid of a: \"no-such-group\" is no group of this host"},
    {"users: [{name: a, uid: -1}]", "is no user of this host"},
    {"users: [{name: a, uid: 4294967295}]", "is no user of this host"},
    {"users: [{name: a, uid: 65534}]", "65534 stands for every id that this system does not know"},
    {"users: [{name: a, uid: nobody}]", "it proves nothing"},
    {"users: [{name: a, uid: [1, 1]}]", "f:2:28: users: uid of a: it is a's already"},
    {"users: [{name: a, uid: 1}, {name: b, uid: 1}]", "uid of b: it is a's already, who comes first"},
    {"users: [{name: a, cert: x.y}, {name: b, cert: x.y}]", "cert of b: it is a's already"},
    {"users: [{name: a, cert: x.y}, {name: b, cert: X.Y}]", "cert of b: it is a's already"},
    {"users: [{name: a, cert: \"*.y\"}]", "is no name of a certificate"},
    {"users: [{name: a, cert: \"x y\"}]", "is no name of a certificate"},
    {"users: [{name: anyone, uid: 1}]", "f:2:29: users: uid of anyone: this user is whoever is none"},
    {"users: [{name: anyone, secret_file: /x}]", "nothing identifies it"},
    {"users: [{name: a, uid: 1, lock: \"a,b\"}]", "f:2:33: users: lock of a: \"a,b\" has a comma"},
    {"users: [{name: a, uid: 1, lock: [x, \"a*b\"]}]", "lock of a: \"a*b\": a * stands only at the end"},
    {"users: [{name: a, uid: 1, lock: \"a b\"}]", "\"a b\" can match no name"},
    {"users: [{name: a, uid: 1, lock: \"#a*\"}]", "\"#a*\" can match no name"},
    {"users: [{name: a, uid: 1, lock: \"\"}]", "can match no name"},
    {"users: [{name: a, uid: 1, show: \"a=\"}]", "show of a: \"a=\" can match no name"},
    {"users: [{name: a, uid: 1, lock: {x: y}}]", "lock of a: wrong type: a mapping where one value belongs"},
    {"users: [{name: a, uid: 1, admin: perhaps}]", "admin of a: \"perhaps\" is not yes or no"},
    {"users: [{name: a, uid: 1, max_locks: 0}]", "max_locks of a: 0 is out of range; allowed is 1 to 500000"},
    {"users: [{name: a, uid: 1, max_waits: 250001}]",
     "max_waits of a: 250001 is out of range; allowed is 1 to 250000"},
    {"users: [{name: a, uid: 1, max_clients: many}]", "max_clients of a: \"many\" is not a whole number"},
    {"users: [{name: a, secret_file: x}]", "secret_file of a: it takes the absolute path of a file"},
    {"users: [{name: a, secret_file: \"/x\\ty\"}]",
     "secret_file of a: it takes the absolute path of a file, without control"},
    {"users: [{name: a, secret_file: /nowhere}]", "secret_file of a: /nowhere: No such file"},
};

T_EACH(wrong_users, sizeof wrong / sizeof wrong[0])
{
    parse_more(wrong[_i].text);
    assert_fault(wrong[_i].fault);
    conf_clear(&conf);
}

/* A partner's CA must not make a certificate with the name of a user that another CA vouches for. */
#define CAS(one, two, users)                                                 \
    "listen:\n  - {address: 127.0.0.1:1, tls: {cert: /c, key: /k" one "}}\n" \
    "  - {address: 127.0.0.1:2, tls: {cert: /c, key: /k, client_ca: /a}}\n"  \
    "http:\n  - {address: 127.0.0.1:3, tls: {cert: /c, key: /k" two "}}\n" users

#define BY_CERT "users: [{name: a, cert: x.y}]\n"
#define CA      ", client_ca: /a"
#define OTHER   ", client_ca: /b"

static const struct {
    const char *text, *fault; /* NULL: none of this kind */
} several[] = {
    {CAS("", "", BY_CERT), NULL},
    {CAS(CA, CA, BY_CERT), NULL},
    {CAS(OTHER, "", "users: [{name: a, uid: 1}]\n"), NULL},
    {CAS(OTHER, "", ""), NULL},
    {CAS(OTHER, "", BY_CERT),
     "f:4:5: listen: client_ca of 127.0.0.1:2 is another than that of 127.0.0.1:1, so"},
    {CAS("", OTHER, BY_CERT),
     "f:6:5: http: client_ca of 127.0.0.1:3 is another than that of 127.0.0.1:2, so"},
};

T_EACH(one_ca_vouches_for_users, sizeof several / sizeof several[0])
{
    if (!wire_has_tls())
        return;
    parse_more(several[_i].text);
    if (several[_i].fault)
        assert_said(several[_i].fault);
    else
        ck_assert_msg(!strstr(said, "is another than that"), "%s", said);
    conf_clear(&conf);
}

T(off)
{
    parse_more("users: off\n");
    assert_clean();
    ck_assert(!conf.users && conf.users_off);
    conf_clear(&conf);
    parse_more("users: on\n");
    assert_fault("f:2:8: users: wrong type: not a list; write one user an item");
    ck_assert(!conf.users_off);
    conf_clear(&conf);
}

T(all_errors_are_told)
{
    parse_more("users:\n  - {name: a, uid: 65534, lock: \"a,b\"}\n  - {name: b, uid: 1, wibble: 2}\n");
    ck_assert_int_eq(faults, 3);
    assert_said("f:3:20: users: uid of a: 65534");
    assert_said("f:3:33: users: lock of a: ");
    assert_said("f:4:23: users: \"wibble\" is no key");
    conf_clear(&conf);
}

T(too_many_users)
{
    size_t size = 64 * 300, len = (size_t)snprintf(NULL, 0, NODES "users:\n");
    char *text = malloc(size);
    snprintf(text, size, NODES "users:\n");
    for (int i = 1; i <= 257; i++)
        len += (size_t)snprintf(text + len, size - len, "  - {name: u%d, uid: %d}\n", i, i);
    parse(text);
    assert_fault("f:259:5: users: too many: at most 256 users");
    conf_clear(&conf);
    free(text);
}

/* ---- secrets ---- */

static char file[64];

static void write_secret(const char *text, mode_t mode)
{
    snprintf(file, sizeof file, "/tmp/test_conf_users.%d", (int)getpid());
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
    ck_assert_int_eq(chmod(file, mode), 0);
}

static void parse_secret(const char *text, mode_t mode)
{
    char more[256];
    write_secret(text, mode);
    snprintf(more, sizeof more, "users: [{name: ops, secret_file: %s, admin: yes}]\n", file);
    parse_more(more);
    unlink(file);
}

#define HEX "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" /* SHA-256 of "test" */

T(a_secret)
{
    uint8_t hash[SECRET_HASH_BYTES];
    parse_secret(HEX "\n", 0600);
    assert_clean();
    ck_assert(secret_hash("test", 4, hash));
    ck_assert(secret_equal(hash, conf.users->list[0].secret));
    ck_assert(secret_hash("tess", 4, hash));
    ck_assert(!secret_equal(hash, conf.users->list[0].secret));
    conf_clear(&conf);
    parse_secret(HEX "  -\n", 0640); /* as sha256sum writes it */
    assert_clean();
    conf_clear(&conf);
}

T(bad_secret_files)
{
    parse_secret(HEX "\n", 0604);
    assert_said("everybody can read /tmp/test_conf_users.");
    ck_assert_int_eq(faults, 1);
    conf_clear(&conf);
    static const char *const texts[] = {"", "short\n", HEX "0\n", HEX "\n" HEX "\n"};
    for (unsigned i = 0; i < 4; i++) {
        parse_secret(texts[i], 0600);
        ck_assert_int_eq(faults, 1);
        ck_assert_ptr_null(strstr(said, "9f86d081"));
        conf_clear(&conf);
    }
    parse_secret("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeX\n", 0600);
    assert_said("the 64 hex digits of a SHA-256; `redlock mkuser ops` makes");
    conf_clear(&conf);
}

/* ---- who ---- */

static const char *who(struct user_client client)
{
    const struct user *user = users_find(conf.users, &client);
    return user ? user->name : "-";
}

T(the_order_of_marks)
{
    parse_more("users:\n"
               "  - {name: staff, gid: 50}\n"
               "  - {name: web, uid: [33, 34], gid: 7}\n"
               "  - {name: report, cert: [Report.Example, 'spiffe://x/Report']}\n");
    ck_assert_int_eq(faults, 0);
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 33, .gid = 50}), "web");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 34, .gid = 1}), "web");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 99, .gid = 7}), "web");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 99, .gid = 50}), "staff");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 50, .gid = 33}), "-");
    ck_assert_str_eq(who((struct user_client){.uid = 33, .gid = 50}), "-");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 33, .certificate = "report.EXAMPLE\n"}),
                     "report");
    ck_assert_str_eq(who((struct user_client){.certificate = "a\nspiffe://x/Report\n"}), "report");
    ck_assert_str_eq(who((struct user_client){.certificate = "spiffe://x/report\n"}), "-");
    ck_assert_str_eq(who((struct user_client){.certificate = "report.example.org\n"}), "-");
    ck_assert_str_eq(who((struct user_client){.certificate = "report.exampl\n"}), "-");
    conf_clear(&conf);
}

#define ON_A_SOCKET "listen: ['unix:/a']\n"

T(anyone_comes_last)
{
    parse_more("users:\n  - {name: anyone, lock: 'public/*'}\n  - {name: root, uid: root}\n" ON_A_SOCKET);
    assert_clean();
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 0}), "root");
    ck_assert_str_eq(who((struct user_client){.local = true, .uid = 1}), "anyone");
    ck_assert_str_eq(who((struct user_client){.uid = 0}), "anyone");
    conf_clear(&conf);
}

/* ---- what ---- */

static bool may(const char *text)
{
    struct name name = {.len = (uint8_t)strlen(text)};
    memcpy(name.text, text, name.len);
    return user_may_lock(conf.users, &conf.users->list[0], &name);
}

T(patterns)
{
    parse_more("users: [{name: a, uid: 1, lock: [nightly, 'billing/*']}, {name: b, uid: 2, lock: "
               "'*'}]\n" ON_A_SOCKET);
    assert_clean();
    ck_assert(may("nightly") && may("billing/") && may("billing/x"));
    ck_assert(!may("nightlyx") && !may("nightl") && !may("billing") && !may("billinG/x") && !may("x"));
    ck_assert(!user_shows(conf.users, &conf.users->list[0]));
    conf_clear(&conf);
}

/* ---- changes ---- */

static unsigned changes;

static void told(void *arg, const struct conf_change *change)
{
    (void)arg;
    ck_assert_str_eq(change->key, "users");
    ck_assert_int_eq(change->when, CONF_AT_ONCE);
    changes++;
}

static const struct user *user_of(const struct conf *of, const char *name)
{
    const struct user *user = users_named(of->users, name, strlen(name));
    ck_assert_ptr_nonnull(user);
    ck_assert_ptr_eq(of->users->numbered[user->number], user);
    return user;
}

T(a_user_keeps_its_number)
{
    struct conf running;
    parse_more("users: [{name: a, uid: 1}, {name: b, uid: 2}, {name: c, uid: 3}]\n");
    running = conf;
    uint16_t a = user_of(&running, "a")->number, b = user_of(&running, "b")->number;
    uint16_t c = user_of(&running, "c")->number;
    parse_more("users: [{name: d, uid: 1}, {name: c, uid: 2}, {name: b, uid: 4}]\n");
    conf_update(&running, &conf, false, told, NULL);
    conf_clear(&conf);
    ck_assert_uint_eq(changes, 1);
    ck_assert_uint_eq(user_of(&running, "b")->number, b);
    ck_assert_uint_eq(user_of(&running, "c")->number, c);
    ck_assert_uint_ne(user_of(&running, "d")->number, a); /* locks of a may still be counted under it */
    parse_more("users: [{name: d, uid: 1}, {name: c, uid: 2}, {name: b, uid: 4}]\n");
    conf_update(&running, &conf, false, told, NULL);
    conf_clear(&conf);
    ck_assert_uint_eq(changes, 1);
    parse_more("");
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_uint_eq(changes, 2);
    ck_assert_ptr_null(running.users);
    conf_clear(&running);
}

T(a_new_secret_is_a_change)
{
    struct conf running;
    parse_secret(HEX "\n", 0600);
    running = conf;
    parse_secret("0f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n", 0600);
    conf_update(&running, &conf, false, told, NULL);
    ck_assert_uint_eq(changes, 1);
    conf_clear(&conf);
    conf_clear(&running);
}

/* ---- printing ---- */

T(printed_and_read_again)
{
    char *text = NULL, *again = NULL;
    size_t len;
    parse_more(
        "users:\n  - {name: \"a'\", uid: [1, 2], cert: [\"it's\"], lock: [\"x'\\\\*\", y], admin: yes, "
        "max_locks: 3}\n"
        "  - {name: anyone, show: '*'}\n");
    ck_assert_int_eq(faults, 0);
    FILE *out = open_memstream(&text, &len);
    conf_print(&conf, out);
    fclose(out);
    conf_clear(&conf);
    parse(text);
    ck_assert_msg(faults == 0, "%s%s", said, text);
    out = open_memstream(&again, &len);
    conf_print(&conf, out);
    fclose(out);
    ck_assert_str_eq(text, again);
    conf_clear(&conf);
    free(text);
    free(again);
}

T(rows_without_secrets)
{
    static const char *const rows[] = {
        "ops,admin=yes,max_locks=0,max_waits=0,max_clients=0,secret_file=/tmp/",
    };
    char key[64], value[1200];
    unsigned i = 0, users = 0;
    parse_secret(HEX "\n", 0600);
    for (; conf_row(&conf, i, key, sizeof key, value, sizeof value); i++) {
        ck_assert_ptr_null(strstr(value, "9f86"));
        if (strcmp(key, "users") != 0)
            continue;
        ck_assert_int_eq(strncmp(value, rows[users], strlen(rows[users])), 0);
        users++;
    }
    ck_assert_uint_eq(users, 1);
    conf_clear(&conf);
}

T(warn_of_users_that_nobody_can_be)
{
    parse_more("users: [{name: a, uid: 1}]\nlisten: ['127.0.0.1:1', 'unix:/a']\n");
    assert_clean();
    conf_clear(&conf);
    parse_more("users: [{name: a, uid: 1}]\n");
    ck_assert_int_eq(faults, 0);
    assert_said("f:2:1: users: warning: uid, gid: no address in listen is a Unix socket");
    conf_clear(&conf);
    parse_more("users: [{name: a, cert: a.example}]\n");
    ck_assert_int_eq(faults, 0);
    assert_said("f:2:1: users: warning: cert: no address in listen or http has tls with client_ca");
    conf_clear(&conf);
}

/* ---- user namespaces ---- */

static bool mapped(const char *text)
{
    FILE *map = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    bool all = conf_users_mapped(map);
    fclose(map);
    return all;
}

T(maps_of_ids)
{
    ck_assert(mapped("         0          0 4294967295\n"));
    ck_assert(mapped("0 100000 65536\n"));
    ck_assert(mapped("0 1000 1\n1 100000 65535\n"));
    ck_assert(mapped("1 100000 65535\n0 1000 1\n"));
    ck_assert(!mapped("0 0 1\n"));
    ck_assert(!mapped("0 0 1\n997 997 1\n")); /* PrivateUsers=yes */
    ck_assert(!mapped("0 100000 65535\n"));
    ck_assert(!mapped("1 1 4294967294\n"));
}
