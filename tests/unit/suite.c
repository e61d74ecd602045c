#include "tests/unit/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_LIMIT_S = 60 }; /* Check's own 4 s are too few where the machine stands still */

/* The linker puts the entries of all files one after the other, and names the ends. */
extern const struct suite_part *__start_suite[], *__stop_suite[];

static int by_place(const void *a, const void *b)
{
    const struct suite_part *one = *(const struct suite_part *const *)a;
    const struct suite_part *other = *(const struct suite_part *const *)b;
    int order = strcmp(one->file, other->file);
    return order ? order : one->line - other->line;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the part is said in the file of that name: "test_line" is tests/unit/test_line.c. */
static bool is_of(const struct suite_part *part, const char *name)
{
    const char *base = base_of(part->file);
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
    TCase *tests = tcase_create(base_of(path)); /* reports begin with it */
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

    size_t parts = ((uintptr_t)__stop_suite - (uintptr_t)__start_suite) / sizeof(void *);
    qsort(__start_suite, parts, sizeof(void *), by_place);
    for (size_t i = 0; i < parts; i++) {
        const struct suite_part *part = __start_suite[i];
        if ((file && !is_of(part, file)) || (test && part->test.name && strcmp(part->test.name, test) != 0))
            continue;
        if (strcmp(part->file, path) != 0)
            tests = file_new(suite, path = part->file);
        part_add(tests, part);
        count += part->test.name != NULL;
    }
    return count;
}

static int run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int suite_main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : NULL;
    const char *test = argc > 2 ? argv[2] : NULL;
    Suite *suite = suite_create(file ? file : "all");

    if (argc <= 3 && collect(suite, file, test) > 0)
        return run(suite);
    const char *known = __start_suite[0]->file;
    fprintf(stderr, "%s: there is no test%s%s in %s.c\nusage: %s [FILE [TEST]], where FILE is %.*s for %s\n",
            argv[0], test ? " " : "", test ? test : "", file, argv[0], (int)strlen(base_of(known)) - 2,
            base_of(known), known);
    return EXIT_FAILURE;
}
