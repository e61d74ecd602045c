/* Names that a program builds from what users have typed. */
#include <string.h>

#include "client/redlock.h"
#include "tests/unit/suite.h"

static const char *name_of(const char *first, const char *second)
{
    static char name[REDLOCK_NAME_BYTES + 1];
    const char *const parts[] = {first, second};

    ck_assert_int_eq(redlock_name_of(name, parts, second ? 2 : 1), REDLOCK_OK);
    return name;
}

T(what_a_name_may_not_have_is_encoded)
{
    ck_assert_str_eq(name_of("order", "17"), "order:17");
    ck_assert_str_eq(name_of("file", "a b:c"), "file:a%20b%3Ac");
    ck_assert_str_eq(name_of("#1", "=\",%"), "%231:%3D%22%2C%25");
    ck_assert_str_eq(name_of("\xc3\xa9\n", NULL), "%C3%A9%0A");
    ck_assert_str_eq(name_of("order", ""), "order:");
}

T(what_is_no_name)
{
    char name[REDLOCK_NAME_BYTES + 1], longest[REDLOCK_NAME_BYTES + 2];
    const char *parts[] = {longest, "x"};

    memset(longest, 'x', sizeof longest);
    longest[REDLOCK_NAME_BYTES] = '\0';
    ck_assert_int_eq(redlock_name_of(name, parts, 1), REDLOCK_OK);
    ck_assert_uint_eq(strlen(name), REDLOCK_NAME_BYTES);
    ck_assert_int_eq(redlock_name_of(name, parts, 2), REDLOCK_ARGUMENT);
    longest[REDLOCK_NAME_BYTES - 1] = ' ';
    ck_assert_int_eq(redlock_name_of(name, parts, 1), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_name_of(name, parts, 0), REDLOCK_ARGUMENT);
    parts[0] = "";
    ck_assert_int_eq(redlock_name_of(name, parts, 2), REDLOCK_ARGUMENT);
}

T(people_see_the_bytes_but_no_control_characters)
{
    char text[REDLOCK_NAME_BYTES + 1];

    redlock_name_shown(text, "file:a%20b%3Ac");
    ck_assert_str_eq(text, "file:a b:c");
    redlock_name_shown(text, "%C3%A9%0A%1B%zz%2");
    ck_assert_str_eq(text, "\xc3\xa9%0A%1B%zz%2");
    redlock_name_shown(text, "%C2%9B31m%9B%C2%A0%E0%9F%BF%E2%82%AC%F0%9F%94%92%C3%C3%A9%7F%E2%82");
    ck_assert_str_eq(text, "%C2%9B31m%9B\xc2\xa0%E0%9F%BF\xe2\x82\xac\xf0\x9f\x94\x92%C3\xc3\xa9%7F%E2%82");
    redlock_name_shown(text, NULL);
    ck_assert_str_eq(text, "");
    redlock_name_shown(NULL, "job");
}
