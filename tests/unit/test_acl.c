/* The line that gives a user of the masters the rights that the daemon needs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/acl.h"
#include "tests/unit/resp.h"
#include "tests/unit/suite.h"

#include <check.h>

static struct conf conf;
static char line[ACL_BYTES];

static void assert_words(const char *user, const char *prefix, const char *begin, const char *channels)
{
    conf_defaults(&conf);
    snprintf(conf.node_user, sizeof conf.node_user, "%s", user);
    snprintf(conf.key_prefix, sizeof conf.key_prefix, "%s", prefix);
    acl_line(line, &conf);
    ck_assert_msg(strncmp(line, begin, strlen(begin)) == 0, "%s\nnot\n%s", line, begin);
    const char *end = strstr(line, " resetchannels ");
    ck_assert_ptr_eq(end, line + strlen(begin));
    char rest[ACL_BYTES];
    snprintf(rest, sizeof rest, " resetchannels %s%s", channels,
             " -@all +select +client|id +client|kill +info +time +script|load +evalsha "
             "+set +get +getex +pexpire +pexpireat +pttl +del +zadd +zscore +hset +hget +hscan +hdel +hlen "
             "+zrange "
             "+zrem +publish +subscribe +ping");
    ck_assert_str_eq(end, rest);
}

T(plain)
{
    assert_words("", "redlock:", "ACL SETUSER redlockd on >... resetkeys ~redlock:*", "&redlock:,wake:*");
    assert_words("me", "", "ACL SETUSER me on >... resetkeys ~*", "&,wake:*");
}

T(patterns)
{
    assert_words("", "a*?[]\\z", "ACL SETUSER redlockd on >... resetkeys ~a\\*\\?\\[\\]\\\\z*",
                 "&a\\*\\?\\[\\]\\\\z,wake:*");
}

T(quotes)
{
    assert_words("a'b", "c\"*", "ACL SETUSER \"a'b\" on >... resetkeys \"~c\\\"\\\\**\"",
                 "\"&c\\\"\\\\*,wake:*\"");
    assert_words("a\"\\b", "c'", "ACL SETUSER \"a\\\"\\\\b\" on >... resetkeys \"~c'*\"", "\"&c',wake:*\"");
    assert_words("a\\b", "c", "ACL SETUSER a\\b on >... resetkeys ~c*", "&c,wake:*");
}

T(longest)
{
    char user[CONF_SECRET_BYTES], prefix[CONF_PREFIX_BYTES + 1], begin[ACL_BYTES];
    memset(user, '"', sizeof user - 1);
    user[sizeof user - 1] = 0;
    memset(prefix, '\\', sizeof prefix - 1);
    prefix[0] = '\'';
    prefix[sizeof prefix - 1] = 0;
    size_t len = (size_t)sprintf(begin, "ACL SETUSER \"");
    for (unsigned i = 0; i < sizeof user - 1; i++)
        len += (size_t)sprintf(begin + len, "\\\"");
    len += (size_t)sprintf(begin + len, "\" on >... resetkeys \"~'");
    for (unsigned i = 1; i < sizeof prefix - 1; i++)
        len += (size_t)sprintf(begin + len, "\\\\\\\\");
    sprintf(begin + len, "*\"");
    char channels[ACL_BYTES];
    len = (size_t)sprintf(channels, "\"&'");
    for (unsigned i = 1; i < sizeof prefix - 1; i++)
        len += (size_t)sprintf(channels + len, "\\\\\\\\");
    sprintf(channels + len, ",wake:*\"");
    assert_words(user, prefix, begin, channels);
}

/* ---- the line and what the daemon sends ---- */

enum { RIGHTS = 64, RIGHT_BYTES = 32 };

static char rights[RIGHTS][RIGHT_BYTES]; /* the rights that the commands need, as ACL SETUSER names them */
static unsigned rights_count;

static void right_add(const char *word, size_t len, const char *more, size_t more_len)
{
    char right[RIGHT_BYTES];
    snprintf(right, sizeof right, more ? "+%.*s|%.*s" : "+%.*s", (int)len, word, (int)more_len, more);
    for (char *p = right; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (unsigned i = 0; i < rights_count; i++)
        if (strcmp(rights[i], right) == 0)
            return;
    ck_assert_uint_lt(rights_count, RIGHTS);
    memcpy(rights[rights_count++], right, sizeof right);
}

/* The next word of a command's bytes. */
static const char *word_next(const char **at, size_t *len)
{
    const char *word = strchr(*at, '$') + 1;
    *len = strtoul(word, NULL, 10);
    word = strchr(word, '\n') + 1;
    *at = word + *len;
    return word;
}

static void right_of_bytes(const char *bytes)
{
    size_t len, more_len;
    const char *word = word_next(&bytes, &len);
    bool container = (len == 6 && memcmp(word, "CLIENT", 6) == 0) || memcmp(word, "SCRIPT", 6) == 0;
    const char *more = container ? word_next(&bytes, &more_len) : NULL;
    right_add(word, len, more, more ? more_len : 0);
}

/* Commands are the words in capitals that begin a call: pcall('GET', ... */
static void rights_of_script(const char *text)
{
    while ((text = strstr(text, "('"))) {
        text += 2;
        size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (len > 0 && text[len] == '\'')
            right_add(text, len, NULL, 0);
    }
}

static void rights_collect(void)
{
    char bytes[RESP_COMMAND_BYTES + 1];
    size_t len;
    struct resp_format *format = resp_format_new("redlock:");
    for (unsigned verb = 0; verb < COMMAND_VERBS; verb++) {
        struct command command = command_of((enum command_verb)verb, "job", 10);
        if (command_is_native(command.verb) || command_is_question(command.verb))
            continue; /* for these there is a second line, and scripts do the same */
        bytes[resp_command(bytes, format, &command)] = 0;
        right_of_bytes(bytes);
    }
    resp_format_free(format);
    char *own[] = {resp_select(3, &len), resp_subscribe("redlock:,wake:0", &len), resp_ping(NULL, &len)};
    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++) {
        right_of_bytes(own[i]);
        resp_bytes_free(own[i]);
    }
    for (unsigned script = 0; script < RESP_SCRIPTS; script++) {
        char *load = resp_script_load(script, &len);
        right_of_bytes(load);
        resp_bytes_free(load);
        rights_of_script(resp_script_text(script));
    }
}

/* AUTH alone needs no right: a user that may log in may send it. */
T(each_right_is_needed_and_no_other)
{
    bool needed[RIGHTS] = {false};
    conf_defaults(&conf);
    acl_line(line, &conf);
    rights_collect();
    char *words = strstr(line, " -@all ");
    ck_assert_ptr_nonnull(words);
    for (char *word = strtok(words + 7, " "); word; word = strtok(NULL, " ")) {
        unsigned i = 0;
        while (i < rights_count && strcmp(rights[i], word) != 0)
            i++;
        ck_assert_msg(i < rights_count, "%s is asked for, but no such command is sent", word);
        needed[i] = true;
    }
    for (unsigned i = 0; i < rights_count; i++)
        ck_assert_msg(needed[i], "%s is needed, and not asked for", rights[i]);
}
