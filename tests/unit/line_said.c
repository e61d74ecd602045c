#include "tests/unit/line_said.h"

enum line_result parse_line(const char *line, struct request *request, struct refusal *refusal)
{
    return line_parse(line, strlen(line), request, refusal);
}

struct request accepted(const char *line)
{
    struct request request;
    struct refusal refusal;

    memset(&request, 0xaa, sizeof request);
    enum line_result result = parse_line(line, &request, &refusal);
    ck_assert_msg(result == LINE_REQUEST, "refused: %s: %s", line,
                  result == LINE_REFUSED ? refusal.text : "it is empty");
    return request;
}

const char *as_text(char *out, size_t len)
{
    ck_assert_uint_ge(len, 1);
    ck_assert_uint_le(len, SERVER_LINE_BYTES);
    ck_assert_int_eq(out[len - 1], '\n');
    for (size_t i = 0; i + 1 < len; i++)
        ck_assert_msg(out[i] >= 0x20 && out[i] <= 0x7e, "byte %zu is 0x%02x", i, out[i] & 0xff);
    out[len - 1] = '\0';
    return out;
}

const char *answer_bytes(const char *line, size_t len)
{
    static char outs[2][SERVER_LINE_BYTES + 1];
    static unsigned turn;
    char *out = outs[turn++ % 2];
    struct request request;
    struct refusal refusal;

    memset(&refusal, 0xaa, sizeof refusal);
    out[0] = '\0';
    if (line_parse(line, len, &request, &refusal) != LINE_REFUSED)
        return out;
    ck_assert_ptr_nonnull(memchr(refusal.text, '\0', sizeof refusal.text));
    ck_assert_msg(strlen(refusal.text) < sizeof refusal.text - 1, "cut: %s", refusal.text);
    size_t n = line_format_refusal(out, &refusal);
    return as_text(out, n);
}

const char *line_answer(const char *line)
{
    return answer_bytes(line, strlen(line));
}

void ck_begins(const char *line, const char *expected)
{
    ck_assert_msg(strncmp(line_answer(line), expected, strlen(expected)) == 0, "%s: expected %s..., got %s",
                  line, expected, line_answer(line));
}
