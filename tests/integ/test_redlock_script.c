/* redlock lock, unlock, extend, check and show, as scripts use them. */
#include "proto/shown.h"
#include "tests/integ/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a;
static struct command c;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
}

/* The script ends with the first command that fails. `no COMMAND` succeeds if the command fails. */
static int script(const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "no() { if \"$@\"; then exit 50; fi; }\n%s", text);
    int code = RUN(&c, "sh", "-ec", whole);
    ck_assert_msg(code >= 0, "sh ended by signal %d: %s", -code, errors(&c));
    return code;
}

T(a_lease_from_begin_to_end)
{
    begin(PATIENT);
    int code = script("eval \"$($R lock --lease --ttl 20s --note why job)\"\n"
                      "echo $REDLOCK_NAME $REDLOCK_TOKEN $REDLOCK_FENCE $REDLOCK_UNTIL\n"
                      "$R check\n"
                      "old=$REDLOCK_UNTIL; eval \"$($R extend -t 50s)\"; [ $REDLOCK_UNTIL -gt $old ]\n"
                      "$R unlock\n"
                      "$R check || echo code $?\n");
    ck_assert_msg(code == 0, "%s", errors(&c));
    char name[64], token[64];
    long long fence, until_ms, checked_ms;
    ck_assert_int_eq(sscanf(output(&c), "%63s %63s %lld %lld REDLOCK_UNTIL=%lld", name, token, &fence,
                            &until_ms, &checked_ms),
                     5);
    ck_assert_str_eq(name, "job");
    ck_assert_uint_eq(strlen(token), 40);
    ck_assert_int_gt(fence, 0);
    ck_assert_msg(until_ms > now_ms() - WAIT_MS && until_ms < now_ms() + 20000, "until %lld", until_ms);
    ck_assert_ptr_nonnull(strstr(output(&c), "code 124\n"));
    ck_assert(cluster_gave_back(&masters, "job"));
}

T(any_name_is_one_word)
{
    static const char name[] = "a'$(echo>oops)`x`;*&|\\'b";
    begin(PATIENT);
    setenv("NAME", name, 1);
    ck_assert_int_eq(
        script("eval \"$($R lock --lease \"$NAME\")\"; [ \"$REDLOCK_NAME\" = \"$NAME\" ]; $R unlock"), 0);
}

T(two_leases_by_name_and_token)
{
    begin(PATIENT);
    int code = script("eval \"$($R lock --lease one)\"; t1=$REDLOCK_TOKEN; f1=$REDLOCK_FENCE\n"
                      "eval \"$($R lock --lease two)\"; t2=$REDLOCK_TOKEN\n"
                      "$R check -q one $t1; $R check -q two $t2; no $R check -q one $t2\n"
                      "$R unlock one $t1; $R check -q two $t2; no $R check -q one $t1\n"
                      "eval \"$($R lock -n --lease one)\"; [ $REDLOCK_FENCE -gt $f1 ]\n");
    ck_assert_msg(code == 0, "%s", errors(&c));
}

T(lock_has_the_codes_of_run)
{
    begin(PATIENT);
    lock(&a, "job ttl=20s");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-n", "job"), 120);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-w", "50ms", "job"), 121);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-nqE9", "job"), 9);
    ck_assert_str_eq(errors(&c), "");
    ck_assert_int_eq(script("eval \"$($R lock --lease -nq job)\""),
                     120); /* an eval of nothing would succeed */
    ck_assert_int_eq(script("eval \"$($R lock --lease -nq job)\" || echo \"$?,$REDLOCK_TOKEN\""), 0);
    ck_assert_str_eq(output(&c), "120,\n");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "free"), 125); /* a session lock would not last */
    ck_assert_ptr_nonnull(strstr(errors(&c), "redlock run free"));
    ck_assert_ptr_null(row_with(show(&a, "LOCKS"), "name=free"));
    START(&c, redlock_binary(), "lock", "--lease", "job");
    eventually(row_with(show(&a, "WAITERS"), "name=job") != NULL);
    kill(c.pid, SIGINT);
    ck_assert_int_eq(command_code(&c), -SIGINT);
    ck_assert_ptr_nonnull(strstr(output(&c), "(exit 130)"));
    eventually(row_with(show(&a, "WAITERS"), "name=job") == NULL);
    ask(&a, "+UNLOCKED *", "UNLOCK job");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-n", "job"), 0);
}

/* Runs the script of the manual; `before` prepares its shell. */
static int manual_script(const char *before)
{
    char whole[2048], *manual = keep(file_read("client/redlock.1"));
    const char *from = strstr(manual, "lease=$(redlock lock"), *to = from ? strstr(from, ".Ed") : NULL;

    ck_assert_ptr_nonnull(to);
    snprintf(whole, sizeof whole, "step_one() { echo one; }; step_two() { echo two; }\n%s\n%.*s", before,
             (int)(to - from), from);
    return RUN(&c, "sh", "-c", whole);
}

T(without_redlock_the_job_does_not_run)
{
    begin(PATIENT);
    ck_assert_int_eq(manual_script("redlock() { $R \"$@\"; }"), 0);
    ck_assert_str_eq(output(&c), "one\ntwo\n");
    ck_assert_int_eq(manual_script("PATH=/nonexistent"), 127);
    ck_assert_str_eq(output(&c), "");
    ck_assert_int_eq(manual_script("redlock() { sh -c 'kill -9 $$'; }"), 128 + SIGKILL);
    ck_assert_str_eq(output(&c), "");
    lock(&a, "job ttl=20s");
    ck_assert_int_eq(manual_script("redlock() { $R \"$@\" -nq; }"), 120);
    ck_assert_str_eq(output(&c), "");
}

/* No client will ever know this token: the lock must not block the name for its TTL. */
T(what_cannot_be_printed_is_given_back)
{
    begin(PATIENT);
    ck_assert_int_eq(script("$R lock --lease -t 50s job >/dev/full || exit $?"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "cannot write"));
    ck_assert(cluster_gave_back(&masters, "job"));
}

T(through_another_daemon)
{
    begin(PATIENT);
    daemon_start(&other, &masters, PATIENT);
    client_close(&a);
    client_open(&a, &other);
    eventually(masters_up(&a, &masters));
    char address[PATH + 8];
    snprintf(address, sizeof address, "127.0.0.1:%u", other.port);
    setenv("OTHER", address, 1);
    int code =
        script("eval \"$($R lock --lease -t 20s job)\"\n"
               "$R check -a $OTHER; $R extend -q -a $OTHER -t 30s; $R unlock -a $OTHER; no $R check -q\n");
    ck_assert_msg(code == 0, "%s", errors(&c));
    ck_assert_int_eq(script("$R run -a $OTHER job -- sh -c '[ $REDLOCK_ADDRESS = $OTHER ] && $R check -q'"),
                     0);
}

T(no_quorum_and_nobody)
{
    begin(PATIENT);
    ck_assert_int_eq(script("eval \"$($R lock --lease -t 50s job)\"; echo $REDLOCK_TOKEN"), 0);
    char *token = strndup(output(&c), 40);
    server_kill(&masters.server[0]);
    server_kill(&masters.server[1]);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "check", "job", token), 122);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "extend", "job", token), 122);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "lock", "--lease", "-n", "two"), 122);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "check", "job", token), 123);
    ck_assert_ptr_nonnull(strstr(errors(&c), redlockd.path));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "locks"), 123);
    free(token);
}

/* ---- completion ---- */

/* The completions that bash would offer for these words, the last of which is being typed; one a
 * line. */
static const char *completion(const char *words)
{
    char text[1024];
    snprintf(text, sizeof text,
             "source client/redlock.bash; redlock() { $R \"$@\"; }; timeout() { shift; \"$@\"; }\n"
             "COMP_WORDS=(redlock %s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _redlock; printf '%%s\\n' "
             "\"${COMPREPLY[@]}\"",
             words);
    ck_assert_int_eq(RUN(&c, "bash", "-c", text), 0);
    ck_assert_str_eq(errors(&c), "");
    return output(&c);
}

T(bash_completes)
{
    begin(PATIENT);
    ck_assert_str_eq(completion("''"),
                     "run\nlead\nlock\nunlock\nextend\ncheck\nshow\nwho\nwatch\nbreak\nping\ntop\nmkuser"
                     "\n-a\n--address\n--help\n--version\n");
    ck_assert_str_eq(completion("show n"), "nodes\n");
    ck_assert_str_eq(completion("-a lock1.example:7335 show n"), "nodes\n");
    ck_assert_str_eq(completion("run --gr"), "--grace\n");
    ck_assert_str_eq(completion("run -w 3"), "30s\n");
    ck_assert_ptr_nonnull(strstr(completion("run job -- tru"), "true\n"));
    lock(&a, "nightly ttl=20s");
    lock(&a, "night$(touch${IFS}/nonexistent/x>&2)`y` ttl=20s");
    /* A client that may take locks must not be able to execute anything here. */
    const char *names = completion("check nig");
    ck_assert_uint_eq(rows_with(names, "night"), 2);
    ck_assert_ptr_nonnull(strstr(names, "nightly\n"));
    ck_assert_ptr_nonnull(strstr(names, "night\\$\\(touch\\$"));
}

/* What fish offers for this line. */
static const char *fish_completion(const char *line)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "source client/redlock.fish; function redlock; $R $argv; end; function timeout; $argv[2..]; end\n"
        "complete -C '%s'",
        line);
    ck_assert_int_eq(RUN(&c, "fish", "--no-config", "-c", text), 0);
    ck_assert_str_eq(errors(&c), "");
    return output(&c);
}

T(fish_completes)
{
    begin(PATIENT);
    RUN(&c, "sh", "-c", "command -v fish");
    if (output(&c)[0] == '\0')
        return; /* this machine has no fish */
    ck_assert_str_eq(fish_completion("redlock ru"), "run\n");
    ck_assert_str_eq(fish_completion("redlock -a lock1.example:7335 show n"), "nodes\n");
    ck_assert_str_eq(fish_completion("redlock run --gr"), "--grace\n");
    ck_assert_str_eq(fish_completion("redlock run -w 3"), "30s\n");
    ck_assert_ptr_nonnull(strstr(fish_completion("redlock run job -- tru"), "true"));
    lock(&a, "nightly ttl=20s");
    lock(&a, "night(touch${IFS}/nonexistent/x>&2) ttl=20s");
    ck_assert_uint_eq(rows_with(fish_completion("redlock check nig"), "night"), 2);
}

/* ---- the manual ---- */

/* Every option in --help is in the manual and in the completion. */
T(help_manual_and_completion_agree)
{
    static const char *const subcommands[] = {"run",  "lead", "lock",  "unlock", "extend", "check",
                                              "show", "who",  "watch", "break",  "top"};
    char *manual = keep(file_read("client/redlock.1")), *bash = keep(file_read("client/redlock.bash")),
         *zsh = keep(file_read("client/redlock.zsh")), *fish = keep(file_read("client/redlock.fish"));
    begin(PATIENT);
    for (unsigned i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        ck_assert_int_eq(RUN(&c, redlock_binary(), subcommands[i], "--help"), 0);
        for (const char *at = output(&c); (at = strstr(at, "--")); at += 2) {
            int len = (int)strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
            char word[64];
            if (len == 0)
                continue;
            snprintf(word, sizeof word, "\\-%.*s", len, at + 2);
            ck_assert_msg(strstr(manual, word) != NULL, "%s: not in the manual", word);
            snprintf(word, sizeof word, "--%.*s", len, at + 2);
            ck_assert_msg(strstr(bash, word) != NULL, "%s: not completed by bash", word);
            ck_assert_msg(strstr(zsh, word) != NULL, "%s: not completed by zsh", word);
            snprintf(word, sizeof word, " -l %.*s", len, at + 2);
            ck_assert_msg(strstr(fish, word) != NULL, "%s: not completed by fish", word);
        }
    }
}

/* ---- show ---- */

T(rows_in_a_pipe)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "locks"), 0);
    ck_assert_str_eq(output(&c), "");
    lock(&a, "one ttl=20s");
    lock(&a, "two ttl=20s");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "locks"), 0);
    ck_assert_int_eq(strncmp(output(&c), "name=", 5), 0);
    ck_assert_uint_eq(rows_with(output(&c), " hold=session "), 2);
    ck_assert_str_eq(kv(row_with(output(&c), "name=two"), "mode"), "exclusive");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--table", "locks"), 0);
    ck_assert_int_eq(strncmp(output(&c), "NAME", 4), 0);
    static const char *const topics[] = {"waiters", "nodes",  "daemons", "clients",
                                         "stats",   "config", "version"};
    for (unsigned i = 0; i < sizeof topics / sizeof topics[0]; i++)
        ck_assert_int_eq(RUN(&c, redlock_binary(), "show", topics[i]), 0);
    ck_assert_ptr_nonnull(strstr(output(&c), "\nproto=1\n"));
}

/* "-1h00m", where rows say -3635000; and JSON has a number. */
T(times_with_units)
{
    cluster_start_skewed(&masters, 3, UNIX);
    masters.server[1].skew->wall_us = INT64_C(-3635000000); /* some ms are lost on a busy machine */
    daemon_serves(&redlockd, &masters, PATIENT, &a);
    command_use(&redlockd);
    ck_assert_int_lt(number(node_row(&a, &masters.server[1]), "clock"), -3600000);
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--table", "nodes"), 0);
    ck_assert_msg(strstr(output(&c), " -1h00m\n"), "%s", output(&c));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--json", "nodes"), 0);
    ck_assert_msg(strstr(output(&c), "\"clock\":-363"), "%s", output(&c));
}

/* A token need not stand in the arguments, where ps(1) shows it. */
T(a_token_from_standard_input)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "job hold=lease");
    char text[256];
    snprintf(text, sizeof text, "echo %s | $R unlock job - && echo freed", grant.token);
    ck_assert_int_eq(script(text), 0);
    ck_assert_str_eq(output(&c), "freed\n");
    ck_assert_int_eq(script("$R unlock job - </dev/null"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&c), "TOKEN is -, but standard input has no line with one"));
    lock(&a, "job");
}

T(json)
{
    begin(PATIENT);
    struct grant grant = lock(&a, "17 ttl=20s note=it's");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--json", "locks"), 0);
    char pattern[512], shown[TOKEN_SHOWN + 1];
    shown_token(grant.token, shown);
    /* A name is a string, whatever it looks like. */
    snprintf(pattern, sizeof pattern,
             "[{\"name\":\"17\",\"mode\":\"exclusive\",\"hold\":\"session\",\"session\":%d,\"client\":\"\","
             "\"token\":\"%s\",\"fence\":%lld,\"valid\":",
             (int)number(row_with(show(&a, "LOCKS"), "name=17"), "session"), shown, (long long)grant.fence);
    ck_assert_msg(strncmp(output(&c), pattern, strlen(pattern)) == 0, "%s", output(&c));
    ck_assert_ptr_nonnull(strstr(output(&c), "\"note\":\"it's\"}]\n"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--json", "waiters"), 0);
    ck_assert_str_eq(output(&c), "[]\n");
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--json", "stats"), 0);
    ck_assert_ptr_nonnull(strstr(output(&c), "\"grants\":1,"));
    ck_assert_int_eq(RUN(&c, redlock_binary(), "show", "--json", "config"), 0);
    ck_assert_ptr_nonnull(strstr(output(&c), "\"nodes\":[\"unix:"));
    ck_assert_ptr_nonnull(strstr(output(&c), "\"key_prefix\":\"redlock:\""));
}
