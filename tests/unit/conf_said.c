#include "tests/unit/conf_said.h"

struct conf conf;
char *said;
int faults;

void parse_len(const char *text, size_t len)
{
    size_t said_len;
    free(said);
    FILE *errors = open_memstream(&said, &said_len);
    ck_assert_ptr_nonnull(errors);
    memset(&conf, 0xa5, sizeof conf);
    faults = conf_parse(&conf, "f", text, len, errors);
    fclose(errors);
}

void parse(const char *text)
{
    parse_len(text, strlen(text));
}

void parse_more(const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof whole, NODES "%s", text);
    parse(whole);
}

unsigned lines_said(void)
{
    unsigned lines = 0;
    for (const char *p = said; *p; p++)
        lines += *p == '\n';
    return lines;
}

void assert_said(const char *what)
{
    ck_assert_msg(strstr(said, what) != NULL, "expected \"%s\" in:\n%s", what, said);
}

void assert_fault(const char *what)
{
    ck_assert_msg(faults == 1 && lines_said() == 1, "expected one fault \"%s\", got %d:\n%s", what, faults,
                  said);
    assert_said(what);
    ck_assert_int_eq(strncmp(said, "f:", 2), 0);
}

void assert_clean(void)
{
    ck_assert_msg(faults == 0 && said[0] == 0, "%d faults: %s", faults, said);
}
