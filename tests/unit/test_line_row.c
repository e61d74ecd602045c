/* Rows, byte for byte. */
#include <limits.h>

#include "tests/unit/line_said.h"
#include "tests/unit/suite.h"

static const struct tag untagged;
static const struct tag seven = {1, "7"};

T(a_row)
{
    char out[SERVER_LINE_BYTES];
    struct row row;

    line_row_begin(&row, out, &seven);
    line_row_string(&row, "node", "127.0.0.1:6379");
    line_row_text(&row, "run_id", "1a2b3c4dXXXX", 8);
    line_row_signed(&row, "rtt_us", -1);
    line_row_unsigned(&row, "pending", UINT64_MAX);
    line_row_string(&row, "why", "");
    ck_assert_str_eq(as_text(out, line_row_end(&row)), "#7 * node=127.0.0.1:6379 run_id=1a2b3c4d rtt_us=-1 "
                                                       "pending=18446744073709551615 why=");
}

T(hostile_values_stay_one_word)
{
    char out[SERVER_LINE_BYTES];
    struct row row;

    line_row_begin(&row, out, &untagged);
    line_row_text(&row, "note", "a b\n+LOCKED x\0y\r\x7f\xc3\xa9", 19);
    line_row_string(&row, "k", "~!=,\"");
    ck_assert_str_eq(as_text(out, line_row_end(&row)), "* note=a?b?+LOCKED?x?y???? k=~!=,\"");
}

T(a_value_that_does_not_fit_is_cut)
{
    char out[SERVER_LINE_BYTES + 8];
    char value[2 * SERVER_LINE_BYTES];
    struct row row;

    memset(out, 0x55, sizeof out);
    memset(value, 'v', sizeof value);
    line_row_begin(&row, out, &seven);
    line_row_text(&row, "a", value, sizeof value);
    line_row_string(&row, "more", "lost");
    line_row_unsigned(&row, "n", 1);
    ck_assert_uint_eq(line_row_end(&row), SERVER_LINE_BYTES);
    ck_assert_int_eq(out[SERVER_LINE_BYTES - 2], 'v');
    ck_assert_int_eq(out[SERVER_LINE_BYTES - 1], '\n');
    for (size_t i = SERVER_LINE_BYTES; i < sizeof out; i++)
        ck_assert_int_eq(out[i], 0x55);
}

/* At every place near the end: numbers whole or not at all, a line never over its end. */
T(a_number_that_does_not_fit_is_left_out)
{
    char out[SERVER_LINE_BYTES + 8];
    char value[SERVER_LINE_BYTES];

    memset(value, 'v', sizeof value);
    for (size_t left = 0; left < 40; left++) {
        size_t filled = SERVER_LINE_BYTES - 1 - left;
        struct row row;
        memset(out, 0x55, sizeof out);
        line_row_begin(&row, out, &untagged);
        line_row_text(&row, "a", value, filled - strlen("* a="));
        ck_assert_uint_eq(row.len, filled);
        line_row_signed(&row, "left", INT64_MIN);
        size_t len = line_row_end(&row);
        bool fits = left >= strlen(" left=-9223372036854775808");
        ck_assert_uint_eq(len, filled + (fits ? strlen(" left=-9223372036854775808") : 0) + 1);
        ck_assert_int_eq(out[len - 1], '\n');
        ck_assert_int_eq(out[SERVER_LINE_BYTES], 0x55);
    }
}

T(help_has_a_row_for_each_verb)
{
    static const char *const verbs[] = {"LOCK",  "UNLOCK", "EXTEND", "CHECK", "RESUME", "CANCEL",
                                        "HELLO", "AUTH",   "PING",   "HELP",  "QUIT",   "SHOW",
                                        "WHO",   "BREAK",  "DATA",   "WATCH", "UNWATCH"};
    enum { VERBS = sizeof verbs / sizeof verbs[0] };
    char out[SERVER_LINE_BYTES];
    char expected[SERVER_LINE_BYTES];

    for (unsigned i = 0; i < VERBS; i++) {
        ck_assert_ptr_nonnull(line_help(i));
        ck_assert_msg(strncmp(line_help(i), verbs[i], strlen(verbs[i])) == 0, "row %u: %s", i, line_help(i));
        ck_assert_ptr_nonnull(strstr(line_help(i), " : "));
        (void)snprintf(expected, sizeof expected, "#7 * %s", line_help(i));
        ck_assert_str_eq(as_text(out, line_format_help(out, &seven, i)), expected);
    }
    ck_assert_ptr_null(line_help(VERBS));
    ck_assert_ptr_null(line_help(UINT_MAX));
    ck_assert_uint_eq(line_format_help(out, &untagged, VERBS), 0);
}
