/* What the tests of the configuration share: text in, what was said about it out. */
#ifndef REDLOCKD_TESTS_CONF_SAID_H
#define REDLOCKD_TESTS_CONF_SAID_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf/conf.h"
#include "daemon/conf/conf_private.h"

#define NODES "nodes: [redis://a:1, redis://b:2, redis://c:3]\n"

static struct conf conf;
static char *said;
static int faults;

static inline void parse_len(const char *text, size_t len)
{
    size_t said_len;
    free(said);
    FILE *errors = open_memstream(&said, &said_len);
    ck_assert_ptr_nonnull(errors);
    memset(&conf, 0xa5, sizeof conf);
    faults = conf_parse(&conf, "f", text, len, errors);
    fclose(errors);
}

static inline void parse(const char *text)
{
    parse_len(text, strlen(text));
}

/* After NODES in line 1, so that text begins in line 2. */
static inline void parse_more(const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof whole, NODES "%s", text);
    parse(whole);
}

static inline unsigned lines_said(void)
{
    unsigned lines = 0;
    for (const char *p = said; *p; p++)
        lines += *p == '\n';
    return lines;
}

static inline void assert_said(const char *what)
{
    ck_assert_msg(strstr(said, what) != NULL, "expected \"%s\" in:\n%s", what, said);
}

/* Exactly this one fault, and nothing else said. */
static inline void assert_fault(const char *what)
{
    ck_assert_msg(faults == 1 && lines_said() == 1, "expected one fault \"%s\", got %d:\n%s", what, faults,
                  said);
    assert_said(what);
    ck_assert_int_eq(strncmp(said, "f:", 2), 0);
}

static inline void assert_clean(void)
{
    ck_assert_msg(faults == 0 && said[0] == 0, "%d faults: %s", faults, said);
}

#endif
