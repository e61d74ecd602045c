#include "tests/sim/model.h"

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"
#include "proto/slot.h"

struct model model;

int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void nap(void)
{
    poll(NULL, 0, 1);
}

/* ---- asking the server ---- */

void model_connect(void)
{
    model.fd = server_connect(&model.server);
    model.reader = resp_reader_new();
    ck_assert_int_ge(model.fd, 0);
    ck_assert_ptr_nonnull(model.reader);
}

void model_disconnect(void)
{
    close(model.fd);
    resp_reader_free(model.reader);
}

static const struct resp_reply *ask_bytes(const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = write(model.fd, bytes + sent, len - sent);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    const struct resp_reply *reply;
    const char *why = "";
    for (int got; (got = resp_reader_next(model.reader, &reply, &why)) != 1;) {
        char in[4096];
        ck_assert_msg(got == 0, "%s", why);
        ssize_t n = read(model.fd, in, sizeof(in));
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(resp_reader_feed(model.reader, in, (size_t)n), 0);
    }
    return reply;
}

const struct resp_reply *ask_text(const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof(line) - 2, format, arguments);
    va_end(arguments);
    memcpy(line + len, "\r\n", 2);
    return ask_bytes(line, (size_t)len + 2);
}

void scripts_load(void)
{
    for (unsigned script = 0; script < RESP_SCRIPTS; script++) {
        size_t len = 0;
        char *bytes = resp_script_load(script, &len);
        ck_assert_ptr_nonnull(bytes);
        ck_assert_int_eq(ask_bytes(bytes, len)->type, RESP_STRING);
        resp_bytes_free(bytes);
    }
}

/* The third is another library's, and the fourth a mark. */
static void token_fill(struct token *token, uint32_t tok)
{
    memset(token->bytes, (int)tok, sizeof(token->bytes));
    const struct token maker = *token;
    if (tok != 3)
        token_make(token, &maker, tok == 4 ? TOKEN_MARK : TOKEN_EXCLUSIVE, 0, maker.bytes + TOKEN_ID_BYTES);
}

bool model_made(uint32_t tok)
{
    return tok < 3;
}

bool model_marks(uint32_t tok)
{
    return tok == 4;
}

void model_ids(struct store_command *command)
{
    struct token token;
    token_fill(&token, command->tok);
    command->maker = store_id(&token);
    token_fill(&token, command->to);
    command->to_maker = command->self = store_id(&token);
}

unsigned model_publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot)
{
    (void)arg, (void)what, (void)name, (void)slot;
    return id == UINT32_C(0x01010101) || id == UINT32_C(0x02020202);
}

void model_listen(void)
{
    static const char subscribe[] = "PSUBSCRIBE *,wake:01010101 *,wake:02020202\r\n";
    char in[256];
    size_t got = 0;
    model.ear = server_connect(&model.server);
    ck_assert_int_ge(model.ear, 0);
    ck_assert_int_eq(write(model.ear, subscribe, sizeof(subscribe) - 1), sizeof(subscribe) - 1);
    while (got < sizeof(in) - 1 && (got == 0 || strstr(in, ":2\r\n") == NULL)) {
        ssize_t n = read(model.ear, in + got, sizeof(in) - 1 - got);
        ck_assert_int_gt(n, 0);
        got += (size_t)n;
        in[got] = '\0';
    }
}

static void name_write(struct name *name, const struct store_command *what)
{
    char *text = name->text;
    FOR_NAMES(n, what->name)
    {
        if (text != name->text)
            *text++ = ',';
        *text++ = 'n';
        *text++ = (char)('0' + n);
    }
    name->len = (size_t)(text - name->text) & 0x7ff;
    name->more = name->len / 3u & 0xf;
    struct name base = *name;
    if (what->slot != 0)
        slot_name(name, &base, what->slot - 1);
}

void model_buckets(struct store_command *command)
{
    struct name name = {.len = 0};
    name_write(&name, command);
    if (command->name & SIM_LIST)
        command->bucket = quorum_buckets(&name, command->buckets);
}

void ask(struct resp_format *format, const struct store_command *what, struct vote *vote)
{
    bool list = (what->name & SIM_LIST) != 0;
    enum command_verb verb = list ? command_for_all(what->verb) : what->verb;
    struct command command = {.verb = what->native != 0 ? what->native : verb,
                              .bucket = what->bucket,
                              .number = what->number,
                              .ref = 1,
                              .waited_ms = what->waited_ms,
                              .slots = what->slots,
                              .most_ms = what->most_ms,
                              .stays = what->stays,
                              .shared = what->shared};
    if (what->verb == COMMAND_DATA)
        command.data = what->data;
    else
        command.group = what->group;
    memcpy(command.buckets, what->buckets, sizeof command.buckets);
    name_write(&command.name, what);
    token_fill(&command.token, what->tok);
    command.has_other = what->other != 0;
    token_fill(&command.other, what->other);
    command.has_third = what->third != 0;
    token_fill(&command.third, what->third);
    if (what->verb == COMMAND_MOVE || what->verb == COMMAND_SETTLE || what->verb == COMMAND_DOWN ||
        what->self != 0)
        token_fill(&command.to, what->to);
    char bytes[RESP_COMMAND_BYTES];
    resp_vote(command.verb, ask_bytes(bytes, resp_command(bytes, format, &command)), vote);
}

const struct model_native model_natives[NATIVES] = {
#define NATIVE(name, form, vote, words) {COMMAND_##name, COMMAND_TRY_##form, COMMAND_##name##_##form},
#include "proto/command.def"
};

bool model_knows(struct resp_format *format, unsigned native)
{
    struct vote vote;
    ask(format, &(struct store_command){.verb = model_natives[native].question}, &vote);
    if (vote.kind == VOTE_NO)
        return true;
    ck_assert_int_eq(vote.kind, VOTE_ERROR);
    ck_assert_int_eq(vote.error, ERROR_OTHER);
    return false;
}

static bool same_slots(const struct slots_seen *real, const struct slots_seen *modelled, int64_t off_ms)
{
    int64_t apart = (int64_t)real->longest_ms - (int64_t)modelled->longest_ms;
    return apart >= -off_ms && apart <= off_ms && real->slots == modelled->slots &&
           real->heard == modelled->heard && memcmp(real->taken, modelled->taken, sizeof(real->taken)) == 0;
}

static bool is_near_back(int64_t real_ms, int64_t modelled_ms, int64_t off_ms)
{
    int64_t apart_ms = real_ms - modelled_ms;
    return (real_ms != 0) == (modelled_ms != 0) && apart_ms >= -off_ms && apart_ms <= off_ms;
}

static bool same_seen(const struct seen *real, const struct vote *modelled, int64_t off_ms)
{
    const struct seen *who = &modelled->who;
    int64_t apart = (int64_t)real->ttl_ms - (int64_t)who->ttl_ms;
    struct token token;
    token_fill(&token, (uint32_t)modelled->number);
    bool key = real->kind != SEEN_TOKEN ||
               (memcmp(&real->token, &token, sizeof token) == 0 && apart >= -off_ms && apart <= off_ms);
    return real->kind == who->kind && key && real->fence == who->fence && real->data.len == who->data.len &&
           memcmp(real->data.text, who->data.text, who->data.len) == 0;
}

static bool same(enum command_verb verb, const struct vote *real, const struct vote *modelled, int64_t off_ms)
{
    struct token token;
    if (real->kind != modelled->kind)
        return false;
    if (real->kind == VOTE_ERROR)
        return real->error == modelled->error;
    if (real->kind == VOTE_GROUP)
        return real->group.step == modelled->group.step && real->group.masters == modelled->group.masters &&
               real->group.settled == modelled->group.settled &&
               real->group.before == modelled->group.before &&
               is_near_back(real->group.since_ms, modelled->group.since_ms, off_ms) &&
               real->group.max_ttl_ms == modelled->group.max_ttl_ms &&
               real->group.from_ms == modelled->group.from_ms && real->group.set == modelled->group.set &&
               strcmp(real->group.why, modelled->group.why) == 0 &&
               is_near_back(real->group.back_ms, modelled->group.back_ms, off_ms) &&
               memcmp(real->group.run_id, modelled->group.run_id, RUN_ID_HEX) == 0;
    if (real->kind == VOTE_SEEN)
        return same_seen(&real->who, modelled, off_ms);
    if (real->kind == VOTE_DATA)
        return real->number == modelled->number && real->data.len == modelled->data.len &&
               memcmp(real->data.text, modelled->data.text, real->data.len) == 0;
    if (real->kind == VOTE_LOOKED && !same_slots(&real->seen, &modelled->seen, off_ms))
        return false;
    token_fill(&token, (uint32_t)modelled->number);
    if (real->kind == VOTE_TOKEN && modelled->number == 0)
        return true; /* readers: no token, but a hash of the error */
    if (real->marked != modelled->marked || real->kept != modelled->kept)
        return false;
    if (real->kind == VOTE_TOKEN)
        return memcmp(&real->token, &token, sizeof(token)) == 0;
    if (real->kind == VOTE_NO && (verb == COMMAND_SET || verb == COMMAND_HEAL))
        return real->number == modelled->number; /* of a list: which name was not free */
    if (real->kind != VOTE_NUMBER && real->kind != VOTE_HEARD && real->kind != VOTE_LOOKED &&
        (real->kind != VOTE_UNHEARD || verb != COMMAND_ENQUEUE))
        return true;
    int64_t apart = (int64_t)real->number - (int64_t)modelled->number;
    bool time = verb == COMMAND_EXTEND || verb == COMMAND_DOWN || verb == COMMAND_SETTLE ||
                verb == COMMAND_CHECK || verb == COMMAND_TIME || verb == COMMAND_ENQUEUE ||
                verb == COMMAND_LOOK || verb == COMMAND_PASS || verb == COMMAND_ALONG ||
                verb == COMMAND_RELEASE || verb == COMMAND_CUT;
    return time ? apart >= -off_ms && apart <= off_ms : apart == 0;
}

void must_be_same(const struct store_command *command, const struct vote *real, const struct vote *modelled,
                  int64_t off_ms, const char *where)
{
    ck_assert_msg(same(command->verb, real, modelled, off_ms),
                  "%s: verb %d n%u token %u to %u number %llu: the server says %d/%llu (error %d), the model "
                  "%d/%llu (error %d)",
                  where, command->verb, command->name, command->tok, command->to,
                  (unsigned long long)command->number, real->kind, (unsigned long long)real->number,
                  real->error, modelled->kind, (unsigned long long)modelled->number, modelled->error);
}
