/* Lists of names: sorted inside, written as the client wrote them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line_names.h"
#include "proto/names.h"
#include "tests/unit/suite.h"

static struct name list;
static uint64_t order;

static enum names_fault read_text(const char *text)
{
    memset(&list, 0, sizeof list);
    order = 0;
    return names_read((struct piece){text, strlen(text)}, &list, &order);
}

static void is_sorted_as(const char *text, const char *sorted)
{
    char out[LIST_BYTES + 1];
    ck_assert_int_eq(read_text(text), NAMES_GOOD);
    ck_assert_uint_eq(list.len, strlen(sorted));
    ck_assert_mem_eq(list.text, sorted, list.len);
    out[names_write(out, &list, order)] = 0;
    ck_assert_str_eq(out, text);
    out[names_write(out, &list, 0)] = 0;
    ck_assert_str_eq(out, sorted);
}

T(a_list_is_sorted_and_written_as_it_was_read)
{
    is_sorted_as("a,b", "a,b");
    is_sorted_as("b,a", "a,b");
    is_sorted_as("job,jo,a", "a,jo,job");
    is_sorted_as("16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1", "1,10,11,12,13,14,15,16,2,3,4,5,6,7,8,9");
    is_sorted_as("c,a,d,b,e", "a,b,c,d,e");
    ck_assert_uint_eq(list.more, 4);
}

T(bad_lists_are_refused)
{
    static const char *const bad[] = {"a", "", ",", "a,", ",a", "a,,b", "a,b c", "a,#b", "a,b\"", "a,b=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(read_text(bad[i]), NAMES_BAD);
    ck_assert_int_eq(read_text("a,b,a"), NAMES_TWICE);
    ck_assert_int_eq(read_text("1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g"), NAMES_GOOD);
    ck_assert_int_eq(read_text("1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h"), NAMES_MANY);
}

/* Random lists: every permutation comes back, and all of them are one list. */
T(any_order_is_the_same_list)
{
    srand(1);
    for (unsigned run = 0; run < 2000; run++) {
        char text[LIST_BYTES] = "", first[LIST_BYTES] = "", out[LIST_BYTES + 1];
        unsigned names[LIST_NAMES], count = 2 + (unsigned)rand() % (LIST_NAMES - 1);
        for (unsigned i = 0; i < count; i++)
            names[i] = i * 7 % 100;
        for (unsigned turn = 0; turn < 2; turn++) {
            size_t len = 0;
            for (unsigned i = count - 1; i > 0 && i < LIST_NAMES; i--) {
                unsigned k = (unsigned)rand() % (i + 1), name = names[i];
                names[i] = names[k];
                names[k] = name;
            }
            for (unsigned i = 0; i < count; i++)
                len += (size_t)snprintf(text + len, sizeof text - len, "%sn%u", i ? "," : "", names[i]);
            ck_assert_int_eq(read_text(text), NAMES_GOOD);
            out[names_write(out, &list, order)] = 0;
            ck_assert_str_eq(out, text);
            out[names_write(out, &list, 0)] = 0;
            if (turn == 1)
                ck_assert_str_eq(out, first);
            strcpy(first, out);
        }
    }
}

/* FNV-1a-32 of "a,b". */
T(a_list_has_a_hash)
{
    ck_assert_int_eq(read_text("b,a"), NAMES_GOOD);
    ck_assert_uint_eq(names_hash(&list), 0x08876b46);
}
