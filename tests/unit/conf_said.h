/* What the tests of the configuration share: text in, what was said about it out. */
#ifndef REDLOCKD_TESTS_CONF_SAID_H
#define REDLOCKD_TESTS_CONF_SAID_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf/conf.h"
#include "daemon/conf/conf_private.h"

#define NODES "nodes: [redis://a:1, redis://b:2, redis://c:3]\n"

extern struct conf conf;
extern char *said;
extern int faults;

void parse_len(const char *text, size_t len);
void parse(const char *text);
/* After NODES in line 1, so that text begins in line 2. */
void parse_more(const char *text);
unsigned lines_said(void);
void assert_said(const char *what);
/* Exactly this one fault, and nothing else said. */
void assert_fault(const char *what);
void assert_clean(void);

#endif
