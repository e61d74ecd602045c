/* Any bytes from a client: no crash, no read beyond the line, no odd byte in an answer. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line.h"
#include "tests/unit/suite.h"

#define TOKEN "0123456789abcdef0123456789ABCDEF01234567"

static void check_refusal(const struct refusal *refusal)
{
    char out[SERVER_LINE_BYTES];
    size_t len = line_format_refusal(out, refusal);

    bool odd = false;

    for (size_t i = 0; i + 1 < len; i++)
        odd |= out[i] < 0x20 || out[i] > 0x7e;
    /* A single assertion checks everything, because Check writes each assertion to a file, which takes
     * longer than the parsing. */
    bool sound = !odd && len <= SERVER_LINE_BYTES && out[len - 1] == '\n' &&
                 strnlen(refusal->words, sizeof refusal->words) < sizeof refusal->words &&
                 strnlen(refusal->text, sizeof refusal->text) < sizeof refusal->text - 1;
    ck_assert_msg(sound, "%.*s", (int)len, out);
}

static uint64_t chance_state = 0x9e3779b97f4a7c15;

static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 33) % below;
}

static void check_request(const struct request *r)
{
    bool words = (r->verb <= VERB_RESUME) == (r->name.len > 0) && r->name.len <= NAME_BYTES &&
                 r->tag.len <= TAG_BYTES && r->target.len <= TAG_BYTES && r->note.len <= WORD_BYTES &&
                 r->client.len <= WORD_BYTES;
    bool times = r->ttl_ms >= -1 && r->ttl_ms <= DURATION_MAX_MS && r->wait_ms >= 0 &&
                 r->wait_ms <= DURATION_MAX_MS && r->max_ms >= -1 && r->max_ms <= DURATION_MAX_MS;

    ck_assert_msg(words && times, "a request out of its limits: verb %d", (int)r->verb);
}

/* The line lies at the end of its own memory, so that ASan sees a read beyond it. */
static enum line_result try_bytes(const char *bytes, size_t len)
{
    char *line = malloc(len ? len : 1);
    struct request r;
    struct refusal refusal;

    if (!line)
        ck_abort_msg("no memory");
    memcpy(line, bytes, len);
    memset(&r, 0xaa, sizeof r);
    memset(&refusal, 0xaa, sizeof refusal);
    (void)line_is_foreign(line, len);
    enum line_result result = line_parse(line, len, &r, &refusal);
    if (result == LINE_REFUSED)
        check_refusal(&refusal);
    if (result == LINE_REQUEST)
        check_request(&r);
    free(line);
    return result;
}

T(random_bytes_do_no_harm)
{
    char bytes[LINE_BYTES + 64];

    for (unsigned round = 0; round < 20000; round++) {
        size_t len = chance(round % 100 ? 80 : sizeof bytes);
        bool text = chance(2);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)(text ? 0x20 + chance(0x5f) : chance(256));
        (void)try_bytes(bytes, len);
    }
}

T(mutated_lines_do_no_harm)
{
    static const char *const lines[] = {
        "LOCK job ttl=10s wait=30s hold=session max=5m note=nightly mode=exclusive",
        "#7 LOCK job token=" TOKEN,
        "UNLOCK job token=" TOKEN,
        "#a EXTEND job token=" TOKEN " ttl=9999999999",
        "CHECK a,b,c token=" TOKEN,
        "#x CANCEL 7",
        "HELLO 1 client=me events=renewed",
        "RESUME job token=" TOKEN " ttl=1h",
        "SHOW LOCKS",
        "LOCK a-name-of-some-length/with:odd.bytes!",
    };
    static const char odd[] = " =#:,\"0sm\0\r\t\x7f\xff";

    unsigned results[3] = {0};

    for (unsigned round = 0; round < 40000; round++) {
        char bytes[512];
        const char *line = lines[chance(sizeof lines / sizeof lines[0])];
        size_t len = strlen(line);
        memcpy(bytes, line, len);
        for (unsigned change = chance(4); change-- > 0 && len > 1;) {
            size_t at = chance((unsigned)len);
            if (chance(3) == 0)
                len = at; /* cut */
            else if (chance(2))
                bytes[at] = odd[chance(sizeof odd - 1)];
            else
                memmove(bytes + at, bytes + at + 1, --len - at);
        }
        results[try_bytes(bytes, len)]++;
    }
    ck_assert_uint_gt(results[LINE_REQUEST], 5000); /* the mutations leave enough of both */
    ck_assert_uint_gt(results[LINE_REFUSED], 5000);
}
