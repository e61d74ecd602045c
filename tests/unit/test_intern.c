/* Names and notes that are kept: each has its bytes for as long as it is there. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/coordinator/base/intern.h"
#include "tests/unit/suite.h"

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

T(names_of_all_lengths_come_and_go)
{
    struct intern intern;
    const struct name *kept[KEPT] = {NULL};
    struct name names[KEPT];
    unsigned used = 0;
    ck_assert(intern_init(&intern, KEPT, KEPT, NOTES));
    for (unsigned run = 0; run < RUNS; run++) {
        unsigned i = chance(KEPT);
        if (kept[i] != NULL) {
            is_name(kept[i], &names[i]);
            intern_name_back(&intern, kept[i]);
            kept[i] = NULL;
            used--;
        } else {
            names[i] = name_of(1 + chance(run % 4 ? 40 : NAME_BYTES), run);
            kept[i] = intern_name(&intern, &names[i]);
            used++;
        }
        ck_assert_uint_eq(intern.used, used);
    }
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i] != NULL)
            is_name(kept[i], &names[i]);
    intern_free(&intern);
}

T(as_many_of_one_length_as_were_asked_for)
{
    static const uint8_t lens[] = {1, 13, 14, 21, 22, 29, 30, 45, 46, 61, 62, NAME_BYTES};
    const struct name *kept[KEPT];
    struct name names[KEPT];
    struct intern intern;
    ck_assert(intern_init(&intern, KEPT - NOTES, 0, NOTES));
    for (unsigned k = 0; k < sizeof lens; k++) {
        for (unsigned i = 0; i < KEPT; i++) {
            names[i] = name_of(lens[k], i);
            kept[i] = intern_name(&intern, &names[i]);
        }
        for (unsigned i = 0; i < KEPT; i++) {
            is_name(kept[i], &names[i]);
            intern_name_back(&intern, kept[i]);
        }
    }
    ck_assert_uint_eq(intern.used, 0);
    intern_free(&intern);
}

T(a_shared_name_stays_until_all_gave_it_back)
{
    struct intern intern;
    struct name name = name_of(20, 1), other = name_of(20, 2);
    ck_assert(intern_init(&intern, 2, 0, 0));
    const struct name *kept = intern_name(&intern, &name);
    ck_assert_ptr_eq(intern_name_again(&intern, kept), kept);
    ck_assert_uint_eq(intern.used, 2);
    intern_name_back(&intern, kept);
    const struct name *beside = intern_name(&intern, &other);
    is_name(kept, &name);
    intern_name_back(&intern, kept);
    ck_assert_ptr_eq(intern_name(&intern, &name), kept); /* the slot is free now */
    is_name(beside, &other);
    intern_free(&intern);
}

/* A name is used more often than its count can hold: the further uses get a copy. */
T(a_name_is_shared_by_any_number)
{
    enum { MANY = UINT16_MAX + 3 };
    static const struct name *kept[MANY];
    struct intern intern;
    struct name name = name_of(30, 3);
    ck_assert(intern_init(&intern, MANY, 0, 0));
    kept[0] = intern_name(&intern, &name);
    for (unsigned i = 1; i < MANY; i++)
        kept[i] = intern_name_again(&intern, kept[0]);
    ck_assert_uint_eq(intern.used, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        is_name(kept[i], &name);
        intern_name_back(&intern, kept[i]);
    }
    ck_assert_uint_eq(intern.used, 0);
    intern_free(&intern);
}

T(notes_are_kept_where_there_are_any)
{
    struct intern intern;
    struct word none = {.len = 0}, note = {.len = WORD_BYTES};
    memset(note.text, 'n', WORD_BYTES);
    ck_assert(intern_init(&intern, 0, 0, 1));
    ck_assert_ptr_null(intern_note(&intern, &none));
    intern_note_back(&intern, NULL);
    const struct word *kept = intern_note(&intern, &note);
    ck_assert_uint_eq(kept->len, WORD_BYTES);
    ck_assert_mem_eq(kept->text, note.text, WORD_BYTES);
    intern_note_back(&intern, kept);
    ck_assert_uint_eq(intern.used, 0);
    intern_free(&intern);
}
