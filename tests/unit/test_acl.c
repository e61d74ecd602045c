/* The line that gives a user of the masters the rights that the daemon needs. */
#include <stdlib.h>
#include <string.h>

#include "daemon/acl.h"

#include <check.h>

static struct conf conf;
static char line[ACL_BYTES];

static void assert_words(const char *user, const char *prefix, const char *begin)
{
    conf_defaults(&conf);
    snprintf(conf.node_user, sizeof conf.node_user, "%s", user);
    snprintf(conf.key_prefix, sizeof conf.key_prefix, "%s", prefix);
    acl_line(line, &conf);
    ck_assert_msg(strncmp(line, begin, strlen(begin)) == 0, "%s\nnot\n%s", line, begin);
    const char *end = strstr(line, " resetchannels ");
    ck_assert_ptr_eq(end, line + strlen(begin));
    ck_assert_str_eq(end,
                     " resetchannels -@all +select +client|id +client|kill +info +time +script|load +evalsha "
                     "+set +get +getex +exists +pexpire +pttl +del +zadd +zscore");
}

START_TEST(plain)
{
    assert_words("", "redlock:", "ACL SETUSER redlockd on >... resetkeys ~redlock:*");
    assert_words("me", "", "ACL SETUSER me on >... resetkeys ~*");
}
END_TEST

START_TEST(patterns)
{
    assert_words("", "a*?[]\\z", "ACL SETUSER redlockd on >... resetkeys ~a\\*\\?\\[\\]\\\\z*");
}
END_TEST

START_TEST(quotes)
{
    assert_words("a'b", "c\"*", "ACL SETUSER \"a'b\" on >... resetkeys \"~c\\\"\\\\**\"");
    assert_words("a\"\\b", "c'", "ACL SETUSER \"a\\\"\\\\b\" on >... resetkeys \"~c'*\"");
    assert_words("a\\b", "c", "ACL SETUSER a\\b on >... resetkeys ~c*");
}
END_TEST

START_TEST(longest)
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
    assert_words(user, prefix, begin);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("acl");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, plain);
    tcase_add_test(tests, patterns);
    tcase_add_test(tests, quotes);
    tcase_add_test(tests, longest);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
