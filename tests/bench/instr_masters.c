#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/resp.h"
#include "tests/bench/instr.h"

enum {
    READ_BYTES = 256 * 1024,
    WORDS = 8,
    GROUP_BYTES = 256,
    LINKS = 2 /* commands, and what is published */
};

static const char group_key[] = ",group";

static struct master {
    int listener, fd;
    char group[GROUP_BYTES]; /* the daemon's key on this master; "": none yet */
    size_t kept;
    char in[READ_BYTES];
    size_t out_len;
    char out[READ_BYTES];
} all[LINKS * INSTR_MASTERS]; /* the same masters LINKS times: one entry a connection */

struct piece {
    const char *text;
    size_t len;
};

void instr_masters_listen(char paths[INSTR_MASTERS][INSTR_PATH], const char *folder)
{
    for (unsigned i = 0; i < INSTR_MASTERS; i++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        snprintf(paths[i], INSTR_PATH, "%s/m%u", folder, i);
        memcpy(name.sun_path, paths[i], strlen(paths[i]) + 1);
        all[i].listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (bind(all[i].listener, (struct sockaddr *)&name, sizeof name) < 0 ||
            listen(all[i].listener, 4) < 0)
            instr_fail("bind");
        for (unsigned link = 0; link < LINKS; link++) {
            all[link * INSTR_MASTERS + i].fd = -1;
            all[link * INSTR_MASTERS + i].listener = all[i].listener;
        }
    }
}

/* ---- one command ---- */

/* A missing word is empty. */
static bool is_word(struct piece word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

static void say(struct master *m, const char *text)
{
    size_t len = strlen(text);
    if (m->out_len + len > sizeof m->out)
        instr_fail("a master has too much to say");
    memcpy(m->out + m->out_len, text, len);
    m->out_len += len;
}

static void say_bulk(struct master *m, const char *text)
{
    char head[24];
    snprintf(head, sizeof head, "$%zu\r\n", strlen(text));
    say(m, head);
    say(m, text);
    say(m, "\r\n");
}

static void say_script(struct master *m, struct piece text)
{
    for (unsigned i = 0; i < RESP_SCRIPTS; i++)
        if (is_word(text, resp_script_text(i))) {
            char sha1[RESP_SHA1_HEX + 1] = "";
            memcpy(sha1, resp_script_sha1(i), RESP_SHA1_HEX);
            say_bulk(m, sha1);
            return;
        }
    instr_fail("a script that a master does not know");
}

static void say_info(struct master *m)
{
    char text[512];
    snprintf(text, sizeof text,
             "redis_version:7.0.15\r\nrun_id:%040u\r\nuptime_in_seconds:100000\r\nloading:0\r\n"
             "maxmemory_policy:noeviction\r\nrole:master\r\ncluster_enabled:0\r\n",
             (unsigned)(m - all) % INSTR_MASTERS + 1);
    say_bulk(m, text);
}

static bool is_group(struct piece key)
{
    size_t len = sizeof group_key - 1;
    return key.len >= len && memcmp(key.text + key.len - len, group_key, len) == 0;
}

static char *group_of(const struct master *m)
{
    return all[(m - all) % INSTR_MASTERS].group;
}

/* The only daemon writes the group's key as it pleases. */
static void group_run(struct master *m, const struct piece *words)
{
    struct piece text = words[5];
    if (!is_group(words[3]) || text.len >= GROUP_BYTES)
        instr_fail("the group's key is not as expected");
    memcpy(group_of(m), text.text, text.len);
    group_of(m)[text.len] = '\0';
    say(m, ":1\r\n");
}

static void get_run(struct master *m, const struct piece *words)
{
    if (is_group(words[1]) && group_of(m)[0])
        say_bulk(m, group_of(m));
    else
        say(m, "$-1\r\n");
}

static void say_time(struct master *m)
{
    char text[24];
    int64_t now_us = INT64_C(1700000000000000) + instr_clock_us();
    say(m, "*2\r\n");
    snprintf(text, sizeof text, "%lld", (long long)now_us / 1000000);
    say_bulk(m, text);
    snprintf(text, sizeof text, "%lld", (long long)now_us % 1000000);
    say_bulk(m, text);
}

static bool is_script_of(struct piece sha1, enum command_verb verb)
{
    return is_word(sha1, resp_script_sha1((unsigned)resp_script_of(verb)));
}

/* EXTEND's script answers for each of its keys. */
static void say_extended(struct master *m, const struct piece *words)
{
    char head[24];
    long keys = strtol(words[2].text, NULL, 10);
    snprintf(head, sizeof head, "*%ld\r\n", keys);
    say(m, head);
    for (; keys > 0; keys--)
        say(m, ":600000\r\n");
}

static void say_evalsha(struct master *m, const struct piece *words)
{
    if (is_word(words[1], resp_script_sha1(RESP_SCRIPT_DAEMONS)))
        say_bulk(m, "ok 0"); /* the list has no other daemon */
    else if (is_script_of(words[1], COMMAND_TRY))
        say(m, ":0\r\n"); /* every command works */
    else if (is_script_of(words[1], COMMAND_GROUP_SET))
        group_run(m, words);
    else if (is_script_of(words[1], COMMAND_EXTEND))
        say_extended(m, words);
    else
        say(m, ":1\r\n");
}

static void say_subscribed(struct master *m, struct piece channel)
{
    char text[128];
    snprintf(text, sizeof text, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%.*s\r\n:1\r\n", channel.len,
             (int)channel.len, channel.text);
    say(m, text);
}

static void command_run(struct master *m, const struct piece *words)
{
    if (is_word(words[0], "SET"))
        say(m, is_word(words[3], "IFEQ") ? "$-1\r\n" : "+OK\r\n");
    else if (is_word(words[0], "GET") || is_word(words[0], "GETEX"))
        get_run(m, words);
    else if (is_word(words[0], "TIME"))
        say_time(m);
    else if (is_word(words[0], "ZADD"))
        say(m, ":1\r\n");
    else if (is_word(words[0], "EVALSHA"))
        say_evalsha(m, words);
    else if (is_word(words[0], "SCRIPT"))
        say_script(m, words[2]);
    else if (is_word(words[0], "CLIENT"))
        say(m, is_word(words[1], "ID") ? ":7\r\n" : ":0\r\n");
    else if (is_word(words[0], "INFO"))
        say_info(m);
    else if (is_word(words[0], "SUBSCRIBE"))
        say_subscribed(m, words[1]);
    else if (is_word(words[0], "DELEX"))
        say(m,
            is_word(words[3], "x") ? ":0\r\n" : ":1\r\n"); /* the handshake's has a key that is not there */
    else if (is_word(words[0], "MSETEX"))
        say(m, is_word(words[4], "XX") ? ":0\r\n" : ":1\r\n");
    else if (is_word(words[0], "DELIFEQ"))
        say(m, "-ERR unknown command 'DELIFEQ'\r\n");
    else if (is_word(words[0], "PING")) /* a subscribed connection's PING */
        say(m, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    else
        instr_fail("a command that a master does not know");
}

/* ---- reading and serving ---- */

/* The number behind the byte at *at, which then moves past its line; -1: the line is not whole. */
static long number_read(const char **at, const char *end)
{
    const char *lf = memchr(*at, '\n', (size_t)(end - *at));
    if (!lf)
        return -1;
    long number = strtol(*at + 1, NULL, 10);
    *at = lf + 1;
    return number;
}

/* The end of the command; NULL: it is not whole. */
static const char *command_read(const char *at, const char *end, struct piece words[WORDS])
{
    long count = number_read(&at, end);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = (struct piece){"", 0};
    for (long i = 0; i < count; i++) {
        long len = number_read(&at, end);
        if (len < 0 || end - at < len + 2)
            return NULL;
        if (i < WORDS)
            words[i] = (struct piece){at, (size_t)len};
        at += len + 2;
    }
    return count < 0 ? NULL : at;
}

static void master_serve(struct master *m)
{
    if (m->fd < 0)
        m->fd = accept4(m->listener, NULL, NULL, SOCK_NONBLOCK);
    if (m->fd < 0)
        return;
    ssize_t n = recv(m->fd, m->in + m->kept, sizeof m->in - m->kept, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            instr_fail("the daemon closed a connection to a master");
        return;
    }
    const char *at = m->in, *end = m->in + m->kept + n, *next;
    struct piece words[WORDS];
    while (at < end && (next = command_read(at, end, words))) {
        command_run(m, words);
        at = next;
    }
    m->kept = (size_t)(end - at);
    memmove(m->in, at, m->kept);
    if (send(m->fd, m->out, m->out_len, MSG_NOSIGNAL) != (ssize_t)m->out_len)
        instr_fail("the daemon does not read what a master says");
    m->out_len = 0;
}

void instr_masters_serve(void)
{
    for (unsigned i = 0; i < LINKS * INSTR_MASTERS; i++)
        master_serve(&all[i]);
}
