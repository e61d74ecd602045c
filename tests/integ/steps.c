#include "tests/integ/steps.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct daemon daemons[DAEMONS];
struct client clients[DAEMONS];
unsigned steps_granted;

static size_t put_master(char *out, size_t size, char digit)
{
    if (digit == '-')
        return (size_t)snprintf(out, size, "vacant");
    const struct server *server = &masters.server[digit - '0'];
    if (server->port != 0)
        return (size_t)snprintf(out, size, "redis://127.0.0.1:%u", server->port);
    return (size_t)snprintf(out, size, "unix:%s", server->path);
}

const char *steps_list(const char *key, const char *digits)
{
    char text[1024];
    size_t len = (size_t)snprintf(text, sizeof text, "%s: [", key);
    for (const char *at = digits; *at; at++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", at > digits ? ", " : "");
        len += put_master(text + len, sizeof text - len, *at);
    }
    snprintf(text + len, sizeof text - len, "]\n");
    return keep(strdup(text));
}

void steps_configure(unsigned i, unsigned generation, const char *digits, const char *before,
                     unsigned max_ttl_s)
{
    char text[4096];
    snprintf(text, sizeof text, STEPS_CONF "generation: %u\nmax_ttl: %us\n%s%s%s", generation, max_ttl_s,
             steps_list("nodes", digits), before ? steps_list("nodes_before", before) : "",
             before ? "max_ttl_before: 2s\n" : "");
    daemon_configure(&daemons[i], &masters, text);
}

/* ---- the daemons ---- */

static unsigned reloads(unsigned i)
{
    return rows_with(keep(file_read(daemons[i].log)), " event=reload ");
}

void steps_hup(unsigned i)
{
    unsigned before = reloads(i);
    daemon_signal(&daemons[i], SIGHUP);
    eventually(reloads(i) > before);
}

void steps_run_with(unsigned i, const char *option)
{
    daemon_run(&daemons[i], (const char *const[]){"-c", daemons[i].config, option, NULL});
    daemon_listens(&daemons[i]);
    client_open(&clients[i], &daemons[i]);
}

void steps_run(unsigned i)
{
    steps_run_with(i, NULL);
}

void steps_stop(unsigned i)
{
    daemon_signal(&daemons[i], SIGTERM);
    ck_assert_int_eq(daemon_exit(&daemons[i]), 0);
    client_close(&clients[i]);
}

void steps_kill(unsigned i)
{
    daemon_signal(&daemons[i], SIGKILL);
    ck_assert_int_eq(daemon_exit(&daemons[i]), -SIGKILL);
    client_close(&clients[i]);
}

void steps_begin(unsigned count, const char *digits, enum transport transport)
{
    cluster_start(&masters, count, transport);
    struct cluster first = masters;
    first.count = (unsigned)strlen(digits);
    cluster_trust(&first, STEPS_TTL_S * 1000);
    for (unsigned i = 0; i < DAEMONS; i++) {
        steps_configure(i, 0, digits, NULL, STEPS_TTL_S);
        steps_run(i);
    }
    for (unsigned i = 0; i < DAEMONS; i++)
        eventually(rows_with(show(&clients[i], "NODES"), " state=up ") == strlen(digits));
}

void steps_begin_at_one(unsigned count, const char *digits)
{
    cluster_start(&masters, count, UNIX);
    for (unsigned i = 0; i < DAEMONS; i++) {
        steps_configure(i, 1, digits, NULL, STEPS_TTL_S);
        if (i == 0)
            steps_run_with(i, "--begin-at-generation");
        else
            steps_run(i);
    }
    for (unsigned i = 0; i < DAEMONS; i++)
        eventually(rows_with(show(&clients[i], "NODES"), " state=up ") == strlen(digits));
}

void steps_reload(unsigned i, unsigned generation, const char *digits, const char *before)
{
    steps_configure(i, generation, digits, before, STEPS_TTL_S);
    steps_hup(i);
}

void steps_reload_all(unsigned generation, const char *digits, const char *before, unsigned max_ttl_s)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_configure(i, generation, digits, before, max_ttl_s);
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_hup(i);
}

void steps_restart(unsigned i, unsigned generation, const char *digits, const char *before)
{
    steps_stop(i);
    steps_configure(i, generation, digits, before, STEPS_TTL_S);
    steps_run(i);
}

/* ---- what they show ---- */

const char *steps_row(unsigned i)
{
    return show(&clients[i], "GROUP");
}

bool steps_shows(unsigned i, const char *words)
{
    char copy[256], *rest;
    const char *row = steps_row(i);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        ck_assert_msg(value != NULL, "\"%s\" is no key=value", word);
        *value++ = '\0';
        const char *is = kv(row, word);
        if (strcmp(value, "...") == 0 ? *is == '\0' : strcmp(is, value) != 0)
            return false;
    }
    return true;
}

bool steps_are_steady(unsigned step)
{
    char words[64];
    snprintf(words, sizeof words, "step=%u state=steady", step);
    return steps_shows(0, words) && steps_shows(1, words);
}

bool steps_have_master(unsigned i, unsigned master)
{
    const struct server *server = &masters.server[master];
    char name[PATH] = "";
    if (server->port != 0)
        snprintf(name, sizeof name, "127.0.0.1:%u ", server->port);
    return row_with(show(&clients[i], "NODES"), name[0] ? name : server->path) != NULL;
}

void steps_logged(unsigned i, const char *text)
{
    ck_assert_msg(daemon_logged(&daemons[i], text), "no %s in\n%s", text, keep(file_read(daemons[i].log)));
}

void steps_grant(void)
{
    for (unsigned i = 0; i < DAEMONS; i++) {
        client_send(&clients[i], "LOCK work wait=2s");
        const char *line = next_line(&clients[i]);
        ck_assert_msg(strncmp(line, "+LOCKED ", 8) == 0, "%s\n%s", line, steps_row(i));
        ask(&clients[i], "+UNLOCKED work *", "UNLOCK work");
    }
    steps_granted++;
}
