/* The changes that conf/OPERATING.md tells as stories, done as it says: its list of masters, its commands, and what it says
 * that one sees, with the addresses of this test. A lock is held all the while, somebody waits for it, and others come
 * and go. */
#include "tests/integ/command.h"
#include "tests/integ/document.h"
#include "tests/integ/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "conf/OPERATING.md"

TIME_LIMIT_S(300);

enum { FILE_BYTES = 4096 };

static struct client holder, waiter;
static struct grant held;

/* ---- the document's words, as they are in this test ---- */

/* 10.0.0.N:6379 is the Nth server. */
static const char *placed(const char *text)
{
    static const char host[] = "10.0.0.";
    char out[FILE_BYTES];
    size_t len = 0;
    while (*text != '\0') {
        unsigned digit = 0;
        if (sscanf(text, "10.0.0.%1u:6379", &digit) == 1) {
            ck_assert_uint_le(digit, masters.count);
            len +=
                (size_t)snprintf(out + len, sizeof out - len, "127.0.0.1:%u", masters.server[digit - 1].port);
            text += sizeof host + strlen(":6379");
        } else {
            out[len++] = *text++;
        }
        ck_assert_uint_lt(len, sizeof out);
    }
    out[len] = '\0';
    return keep(strdup(out));
}

static void write_files(const char *lists)
{
    char text[FILE_BYTES];
    snprintf(text, sizeof text, STEPS_CONF "max_ttl: 2s\n%s", lists);
    for (unsigned i = 0; i < DAEMONS; i++)
        daemon_configure(&daemons[i], &masters, text);
}

/* Programs are in the PATH, as where they are installed. */
static void use_path(void)
{
    char path[FILE_BYTES];
    char *daemon = realpath(daemon_binary(), NULL), *redlock = realpath(redlock_binary(), NULL);
    ck_assert(daemon && redlock);
    snprintf(path, sizeof path, "%.*s:%.*s:%s", (int)(strrchr(daemon, '/') - daemon), daemon,
             (int)(strrchr(redlock, '/') - redlock), redlock, getenv("PATH"));
    setenv("PATH", path, 1);
    free(daemon);
    free(redlock);
}

/* ---- who is there all the while ---- */

static void begin_story(unsigned count)
{
    use_path();
    steps_begin(count, "012", TCP);
    client_open(&holder, &daemons[0]);
    client_open(&waiter, &daemons[1]);
    held = lock(&holder, "held");
    client_send(&waiter, "LOCK held wait=5m");
}

/* The lock was never lost, and goes to whoever waited for it. */
static void end_story(void)
{
    ck_assert(!daemon_logged(&daemons[0], "event=lock_lost"));
    ask(&holder, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    struct grant next = grant_of(expect(&waiter, "+LOCKED held *"));
    ck_assert_int_gt(next.fence, held.fence);
}

/* ---- the operator ---- */

/* Returns what that command prints on the daemon's host. */
static const char *said_by(unsigned i, const char *shell)
{
    struct command command;
    command_use(&daemons[i]);
    int code = RUN(&command, "sh", "-ec", shell);
    ck_assert_msg(code == 0, "%s: exit code %d\n%s%s", shell, code, output(&command), errors(&command));
    return output(&command);
}

static const char *check_masters(unsigned i, const char *command)
{
    char shell[2 * PATH];
    snprintf(shell, sizeof shell, "%s -c %s", command, daemons[i].config);
    const char *line = row_with(said_by(i, shell), "masters:");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, "(set "));
    return keep(strndup(line, strcspn(line, "\n")));
}

/* The files are right, and are what the daemons would take. */
static void check_files(const char *step)
{
    const char *check = document_quoted(step, "redlockd --check");
    ck_assert_str_eq(check_masters(0, check), check_masters(1, check));
    for (unsigned i = 0; i < DAEMONS; i++)
        ck_assert_str_eq(kv(said_by(i, "redlock show --rows reload"), "change"), "taken");
}

/* That daemon shows what the document says of `begins`, sooner or later, and nobody is refused until then. */
static void sees(unsigned i, const char *text, const char *begins)
{
    const char *words = document_quoted(text, begins);
    steps_grants_until(steps_shows(i, words));
}

static const char *state_of(unsigned i, unsigned master)
{
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%u ", masters.server[master].port);
    return kv(row_with(show(&clients[i], "NODES"), name), "state");
}

static bool are_rid_of(const char *command, unsigned master)
{
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%u", masters.server[master].port);
    return strstr(said_by(0, command), name) == NULL && strstr(said_by(1, command), name) == NULL;
}

/* ---- the stories ---- */

/* The list of the document's generation 0 is what it has as nodes_before. */
static const char *list_before(const char *lists)
{
    const char *before = strstr(lists, "nodes_before:");
    ck_assert_ptr_nonnull(before);
    char text[FILE_BYTES];
    snprintf(text, sizeof text, "nodes:%s", before + strlen("nodes_before:"));
    return keep(strdup(text));
}

T(replace_a_dead_master)
{
    const char *story = document_section(PAGE, "### Replace a dead master");
    begin_story(4);
    const char *lists = placed(document_block(document_step(story, 1), "```text"));
    write_files(list_before(lists));
    ck_assert_str_eq(kv(said_by(0, "redlock show --rows reload"), "change"), "same");
    server_kill(&masters.server[2]);
    write_files(lists);
    check_files(document_step(story, 2));

    const char *reload = document_step(story, 3), *between = document_step(story, 4);
    document_quoted(reload, "systemctl reload redlockd"); /* it sends SIGHUP */
    int64_t began_ms = now_ms();
    steps_hup(0);
    sees(0, reload, "state=waiting");
    document_says(reload, "the new server is in quarantine");
    ck_assert_str_eq(state_of(0, 3), "quarantine");
    sees(0, between, "step=1");
    ck_assert_int_gt(now_ms() - began_ms, STEPS_TTL_S * 1000);
    document_says(between, "both are needed");
    ck_assert(steps_shows(0, "voters=2 needed=2"));
    sees(0, between, "state=joint why=daemon");
    steps_hup(1);

    const char *end = document_step(story, 5);
    const char *steady = document_quoted(end, "step=2"), *nodes = document_quoted(end, "redlock show nodes");
    steps_grants_until(steps_shows(0, steady) && steps_shows(1, steady));
    document_says(end, "The old server is no longer in `redlock show nodes`");
    steps_grants_until(are_rid_of(nodes, 2));
    document_says(end, "`nodes_before` may go");
    write_files(keep(strndup(lists, (size_t)(strstr(lists, "nodes_before:") - lists))));
    for (unsigned i = 0; i < DAEMONS; i++) {
        ck_assert_str_eq(kv(said_by(i, "redlock show --rows reload"), "change"), "same");
        steps_hup(i);
        ck_assert(!daemon_logged(&daemons[i], "event=generation_refused"));
    }
    ck_assert(steps_are_steady(2));
    end_story();
}

/* "2 of 3 (step 1)", "3 of 4 (2)": whatever step is seen needs so many votes as the document says. */
static void needs_what_is_said(const char *text, unsigned step)
{
    unsigned needed, voters, of;
    if (step == 0)
        return;
    for (const char *at = text; (at = strstr(at, " of ")) != NULL; at++) {
        if (sscanf(at - 1, "%u of %u (%*[step ]%u", &needed, &voters, &of) != 3 &&
            sscanf(at - 1, "%u of %u (%u", &needed, &voters, &of) != 3)
            continue;
        if (of != step)
            continue;
        const char *row = steps_row(0);
        if (number(row, "step") == step) {
            ck_assert_int_eq(number(row, "needed"), needed);
            ck_assert_int_eq(number(row, "voters"), voters);
        }
        return;
    }
    ck_abort_msg("the document does not say how many votes step %u needs", step);
}

/* The document's loop for this generation, on every host, while locks are taken and given back. */
static void waits_until_steady(const char *loop, unsigned generation, const char *votes)
{
    struct command command[DAEMONS];
    char shell[512];
    const char *number_at = strstr(loop, "generation=1");
    ck_assert_ptr_nonnull(number_at);
    snprintf(shell, sizeof shell, "%.*sgeneration=%u%s", (int)(number_at - loop), loop, generation,
             number_at + strlen("generation=1"));
    for (unsigned i = 0; i < DAEMONS; i++) {
        command_use(&daemons[i]);
        START(&command[i], "sh", "-ec", shell);
    }
    while (!command_is_over(&command[0]) || !command_is_over(&command[1])) {
        needs_what_is_said(votes, (unsigned)number(steps_row(0), "step"));
        steps_grant();
        nap();
    }
    for (unsigned i = 0; i < DAEMONS; i++)
        ck_assert_int_eq(command_code(&command[i]), 0);
}

T(from_three_to_five)
{
    static const char *const lists[] = {"012", "0123", "01234"};
    const char *story = document_section(PAGE, "### From three to five");
    const char *wait = document_step(story, 2), *votes = document_step(story, 3);
    begin_story(5);
    for (unsigned generation = 1; generation <= 2; generation++) {
        for (unsigned i = 0; i < DAEMONS; i++)
            steps_configure(i, generation, lists[generation], lists[generation - 1], STEPS_TTL_S);
        check_files(document_step(story, 1));
        for (unsigned i = 0; i < DAEMONS; i++)
            steps_hup(i);
        waits_until_steady(document_block(wait, "```sh"), generation, votes);
        char quoted[16];
        snprintf(quoted, sizeof quoted, "step=%u", 2 * generation);
        document_quoted(wait, quoted);
        ck_assert(steps_are_steady(2 * generation));
    }
    needs_what_is_said(votes, 4);
    for (unsigned i = 0; i < DAEMONS; i++)
        ck_assert(!daemon_logged(&daemons[i], "event=node_lost"));
    end_story();
}
