/* Names and notes that are kept: each has its bytes for as long as it is there. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/coordinator/keep.h"

enum { KEPT = 64, NOTES = 8, RUNS = 20000 };

static uint64_t chance_state = 7;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((chance_state >> 33) % below);
}

static struct name name_of(unsigned len, unsigned number)
{
    struct name name = {.len = (uint8_t)len};
    for (unsigned i = 0; i < len; i++)
        name.text[i] = (char)('a' + (number >> i % 16 & 1) + i % 7);
    return name;
}

static void is_name(const struct name *kept, const struct name *name)
{
    ck_assert_uint_eq(kept->len, name->len);
    ck_assert_mem_eq(kept->text, name->text, name->len);
}

START_TEST(names_of_all_lengths_come_and_go)
{
    struct keep keep;
    const struct name *kept[KEPT] = {NULL};
    struct name names[KEPT];
    unsigned used = 0;
    ck_assert(keep_init(&keep, KEPT, NOTES));
    for (unsigned run = 0; run < RUNS; run++) {
        unsigned i = chance(KEPT);
        if (kept[i] != NULL) {
            is_name(kept[i], &names[i]);
            keep_name_back(&keep, kept[i]);
            kept[i] = NULL;
            used--;
        } else {
            names[i] = name_of(1 + chance(run % 4 ? 40 : NAME_BYTES), run);
            kept[i] = keep_name(&keep, &names[i]);
            used++;
        }
        ck_assert_uint_eq(keep.used, used);
    }
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i] != NULL)
            is_name(kept[i], &names[i]);
    keep_free(&keep);
}
END_TEST

START_TEST(as_many_of_one_length_as_were_asked_for)
{
    static const uint8_t lens[] = {1, 13, 14, 21, 22, 29, 30, 45, 46, 61, 62, NAME_BYTES};
    const struct name *kept[KEPT];
    struct name names[KEPT];
    struct keep keep;
    ck_assert(keep_init(&keep, KEPT - NOTES, NOTES));
    for (unsigned k = 0; k < sizeof lens; k++) {
        for (unsigned i = 0; i < KEPT; i++) {
            names[i] = name_of(lens[k], i);
            kept[i] = keep_name(&keep, &names[i]);
        }
        for (unsigned i = 0; i < KEPT; i++) {
            is_name(kept[i], &names[i]);
            keep_name_back(&keep, kept[i]);
        }
    }
    ck_assert_uint_eq(keep.used, 0);
    keep_free(&keep);
}
END_TEST

START_TEST(a_shared_name_stays_until_all_gave_it_back)
{
    struct keep keep;
    struct name name = name_of(20, 1), other = name_of(20, 2);
    ck_assert(keep_init(&keep, 2, 0));
    const struct name *kept = keep_name(&keep, &name);
    ck_assert_ptr_eq(keep_name_again(&keep, kept), kept);
    ck_assert_uint_eq(keep.used, 2);
    keep_name_back(&keep, kept);
    const struct name *beside = keep_name(&keep, &other);
    is_name(kept, &name);
    keep_name_back(&keep, kept);
    ck_assert_ptr_eq(keep_name(&keep, &name), kept); /* its slot was free now */
    is_name(beside, &other);
    keep_free(&keep);
}
END_TEST

/* More than its count of them can hold: some get a copy. */
START_TEST(a_name_is_shared_by_any_number)
{
    enum { MANY = UINT16_MAX + 3 };
    static const struct name *kept[MANY];
    struct keep keep;
    struct name name = name_of(30, 3);
    ck_assert(keep_init(&keep, MANY, 0));
    kept[0] = keep_name(&keep, &name);
    for (unsigned i = 1; i < MANY; i++)
        kept[i] = keep_name_again(&keep, kept[0]);
    ck_assert_uint_eq(keep.used, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        is_name(kept[i], &name);
        keep_name_back(&keep, kept[i]);
    }
    ck_assert_uint_eq(keep.used, 0);
    keep_free(&keep);
}
END_TEST

START_TEST(notes_are_kept_where_there_are_any)
{
    struct keep keep;
    struct word none = {.len = 0}, note = {.len = WORD_BYTES};
    memset(note.text, 'n', WORD_BYTES);
    ck_assert(keep_init(&keep, 0, 1));
    ck_assert_ptr_null(keep_note(&keep, &none));
    keep_note_back(&keep, NULL);
    const struct word *kept = keep_note(&keep, &note);
    ck_assert_uint_eq(kept->len, WORD_BYTES);
    ck_assert_mem_eq(kept->text, note.text, WORD_BYTES);
    keep_note_back(&keep, kept);
    ck_assert_uint_eq(keep.used, 0);
    keep_free(&keep);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keep");
    TCase *tcase = tcase_create("keep");
    tcase_add_test(tcase, names_of_all_lengths_come_and_go);
    tcase_add_test(tcase, as_many_of_one_length_as_were_asked_for);
    tcase_add_test(tcase, a_shared_name_stays_until_all_gave_it_back);
    tcase_add_test(tcase, a_name_is_shared_by_any_number);
    tcase_add_test(tcase, notes_are_kept_where_there_are_any);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
