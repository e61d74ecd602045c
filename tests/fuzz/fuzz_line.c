/* Every line is parsed. A refusal must fit in one good line; an accepted line must keep its limits and must
 * not break out of the commands for masters that are made from it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line.h"
#include "proto/resp.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *out, size_t len)
{
    assert(len >= 1 && len <= SERVER_LINE_BYTES && out[len - 1] == '\n');
    for (size_t i = 0; i + 1 < len; i++)
        assert(out[i] >= 0x20 && out[i] <= 0x7e);
}

/* A list has the bytes of its names, and a comma between two. */
static void check_length(const struct name *name)
{
    assert(name->len <= (name->more ? LIST_BYTES : NAME_BYTES) && name->more < LIST_NAMES);
}

static void check_refusal(const struct refusal *refusal)
{
    char out[SERVER_LINE_BYTES];
    assert(refusal->code >= REPLY_BUSY && refusal->tag.len <= TAG_BYTES);
    check_length(&refusal->name);
    assert(memchr(refusal->words, 0, sizeof refusal->words) &&
           memchr(refusal->text, 0, sizeof refusal->text));
    size_t len = line_format_refusal(out, refusal);
    check_text(out, len);
    assert(out[0] == (refusal->tag.len ? '#' : '-'));
}

/* A name that ended an argument would become the client's own command on every master. */
static void check_command(const struct request *request, enum command_verb verb, long long words)
{
    static struct resp_format *format;
    struct command command = {.verb = verb, .name = request->name, .token = request->token, .number = 10000};
    const struct resp_reply *reply;
    const char *why;
    char bytes[RESP_COMMAND_BYTES];
    if (!format)
        format = resp_format_new("redlock:");
    size_t len = resp_command(bytes, format, &command);
    struct resp_reader *reader = resp_reader_new();
    assert(reader && resp_reader_feed(reader, bytes, len) == 0);
    assert(resp_reader_next(reader, &reply, &why) == 1);
    assert(reply->type == RESP_ARRAY && reply->integer == words);
    assert(resp_reader_next(reader, &reply, &why) == 0);
    resp_reader_free(reader);
}

static void check_time(int64_t ms)
{
    assert(ms >= -1 && ms <= DURATION_MAX_MS);
}

static void check_request(const struct request *request)
{
    bool lock = request->verb <= VERB_CHECK;
    assert(request->verb <= VERB_UNWATCH && request->data.len <= DATA_BYTES &&
           request->tag.len <= TAG_BYTES && request->target.len <= TAG_BYTES);
    check_length(&request->name);
    assert(!lock || request->name.len >= 1);
    assert(request->note.len <= WORD_BYTES && request->client.len <= WORD_BYTES);
    unsigned commas = 0;
    for (unsigned i = 0; lock && i < request->name.len; i++) {
        commas += request->name.text[i] == ',';
        assert(request->name.text[i] > 0x20 && request->name.text[i] < 0x7f &&
               !strchr("\"=", request->name.text[i]));
    }
    assert(!lock || commas == request->name.more);
    assert(!lock || !strchr("#:", request->name.text[0]));
    check_time(request->ttl_ms);
    check_time(request->wait_ms);
    check_time(request->max_ms);
    assert(request->wait_ms >= 0);
    unsigned names = request->name.more + 1u;
    if (lock && names > 1) {
        check_command(request, COMMAND_SET_ALL, 3 + names + 3);
        check_command(request, COMMAND_RELEASE_ALL, 3 + names + 1);
    } else if (lock) {
        check_command(request, COMMAND_SET, 6);
        check_command(request, COMMAND_RELEASE, 5);
    }
}

static void run_line(const char *line, size_t len)
{
    struct request request;
    struct refusal refusal;
    enum line_result result = line_parse(line, len, &request, &refusal);
    if (result == LINE_REFUSED)
        check_refusal(&refusal);
    else if (result == LINE_REQUEST)
        check_request(&request);
    int64_t ms = line_duration_ms(line, len);
    check_time(ms);
    if (len > 0 && result == LINE_REQUEST) /* its first bytes decide, not its length */
        (void)line_is_foreign(line, len);
}

int HARNESS(fuzz_line)(const uint8_t *data, size_t size)
{
    size_t start = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size && data[i] != '\n')
            continue;
        /* The line lies in memory of exactly its size, so that reading one byte too many is seen. */
        size_t len = i - start;
        char *line = malloc(len + 1);
        char *exact = line + 1;
        memcpy(exact, data + start, len);
        run_line(exact, len);
        (void)line_is_foreign(exact, len);
        free(line);
        start = i + 1;
    }
    return 0;
}
