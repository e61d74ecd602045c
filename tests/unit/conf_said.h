/* Shared by the tests of the configuration: parses a text and keeps the faults that were reported. */
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
/* Puts NODES before the text, which so begins in line 2. */
void parse_more(const char *text);
unsigned lines_said(void);
void assert_said(const char *what);
/* Exactly one fault was reported, this one. */
void assert_fault(const char *what);
void assert_clean(void);

#endif
