/* Tests. The linker collects them, so that a file only writes them down:
 *
 *     T(name) { ... }                one test, in a process of its own
 *     T_EACH(name, count) { ... }    one for each _i from 0 to count - 1
 *
 * What else a file may say holds for all of its tests:
 *
 *     SETUP(before, after);          each test runs between these two, in its process; NULL: nothing
 *     SETUP_ONCE(before, after);     before the first test and after the last, in the program's process
 *     TIME_LIMIT_S(120);             of each test, where the usual minute is too short */
#ifndef REDLOCKD_TESTS_SUITE_H
#define REDLOCKD_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>

struct suite_part {
    const char *file; /* the file that is compiled, also where a header says it */
    int line;
    TTest test; /* its name is NULL in what is no test */
    int count;
    void (*before)(void), (*after)(void);
    bool once;
    int limit_s; /* 0: not said here */
};

#define T(name) T_EACH(name, 1)
#define T_EACH(name, count_)                                                                  \
    static void name##_fn(int _i);                                                            \
    SUITE_PART(name, .test = {#name, name##_fn, __FILE__, __LINE__}, .count = (int)(count_)); \
    static void name##_fn(int _i __attribute__((unused)))
#define SETUP(before_, after_) SUITE_SAYS(__COUNTER__, .before = (before_), .after = (after_))
#define SETUP_ONCE(before_, after_) \
    SUITE_SAYS(__COUNTER__, .before = (before_), .after = (after_), .once = true)
#define TIME_LIMIT_S(seconds) SUITE_SAYS(__COUNTER__, .limit_s = (seconds))

/* The section has pointers only, because the sanitizers put gaps between structs. */
#define SUITE_PART(id, ...)                                                                            \
    static const struct suite_part id##_part = {.file = __BASE_FILE__, .line = __LINE__, __VA_ARGS__}; \
    static const struct suite_part *id##_entry __attribute__((section("suite"), used)) = &id##_part
#define SUITE_SAYS(number, ...)  SUITE_SAYS_(number, __VA_ARGS__)
#define SUITE_SAYS_(number, ...) SUITE_PART(says_##number, __VA_ARGS__)

/* Runs what main()'s arguments name, [FILE [TEST]]: test_line is tests/unit/test_line.c. Without arguments it runs
 * all tests. The program's exit status. */
int suite_main(int argc, char **argv);

#endif
