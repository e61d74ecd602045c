#include "tests/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_LIMIT_S = 60 }; /* Check's own 4 s are too few where the machine stands still */

/* The linker puts the entries of all files one after the other, and names the ends. */
extern const struct suite_part *__start_suite[] __attribute__((weak)), *__stop_suite[] __attribute__((weak));

static int by_place(const void *a, const void *b)
{
    const struct suite_part *one = *(const struct suite_part *const *)a;
    const struct suite_part *other = *(const struct suite_part *const *)b;
    int order = strcmp(one->file, other->file);
    return order ? order : one->line - other->line;
}

/* Whether the part is said in the file of that name: "test_line" is tests/unit/test_line.c. */
static bool is_of(const struct suite_part *part, const char *name)
{
    const char *slash = strrchr(part->file, '/');
    const char *base = slash ? slash + 1 : part->file;
    return strncmp(base, name, strlen(name)) == 0 && strcmp(base + strlen(name), ".c") == 0;
}

static void part_add(TCase *tests, const struct suite_part *part)
{
    if (part->limit_s)
        tcase_set_timeout(tests, part->limit_s);
    if ((part->before || part->after) && part->once)
        tcase_add_unchecked_fixture(tests, part->before, part->after);
    if ((part->before || part->after) && !part->once)
        tcase_add_checked_fixture(tests, part->before, part->after);
    if (part->test.name)
        tcase_add_loop_test(tests, &part->test, 0, part->count);
}

static TCase *file_new(Suite *suite, const char *path)
{
    const char *slash = strrchr(path, '/');
    TCase *tests = tcase_create(slash ? slash + 1 : path); /* reports begin with it */
    tcase_set_timeout(tests, USUAL_LIMIT_S);
    suite_add_tcase(suite, tests);
    return tests;
}

/* The number of tests; a file or a test that is NULL stands for all. */
static unsigned collect(Suite *suite, const char *file, const char *test)
{
    TCase *tests = NULL;
    const char *path = "";
    unsigned count = 0;

    qsort(__start_suite, (size_t)(__stop_suite - __start_suite), sizeof *__start_suite, by_place);
    for (const struct suite_part **at = __start_suite; at < __stop_suite; at++) {
        const struct suite_part *part = *at;
        if ((file && !is_of(part, file)) || (test && part->test.name && strcmp(part->test.name, test) != 0))
            continue;
        if (strcmp(part->file, path) != 0)
            tests = file_new(suite, path = part->file);
        part_add(tests, part);
        count += part->test.name != NULL;
    }
    return count;
}

int suite_main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : NULL;
    const char *test = argc > 2 ? argv[2] : NULL;
    Suite *suite = suite_create(file ? file : "all");

    if (argc <= 3 && collect(suite, file, test) > 0)
        return suite_run(suite);
    fprintf(stderr, "%s: there is no test %s%s%s\nusage: %s [FILE [TEST]], as in: test_line done\n", argv[0],
            test ? test : "", test ? " in " : "", file ? file : "", argv[0]);
    return EXIT_FAILURE;
}

int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
