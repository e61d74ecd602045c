#include "tests/unit/trace_text.h"

#include <signal.h>
#include <stdarg.h>

static char trace_line[LINES][LINE];
unsigned trace_lines;
char trace_action[LINES][LINE];
unsigned trace_actions;

static struct token tokens[TOKENS]; /* in the order in which they were seen, from 1 */
static unsigned token_count;

/* ---- the trace ---- */

/* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c): a test that aborts shows its trace, and ends. */
static void dump(void)
{
    fflush(stderr);
    printf("\n---- trace ----\n");
    for (unsigned i = 0; i < trace_lines; i++)
        printf("%s\n", trace_line[i]);
    printf("---------------\n");
    fflush(stdout);
}

static void on_abort(int number)
{
    dump();
    signal(number, SIG_DFL);
    raise(number);
}
/* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */

void text_reset(void)
{
    trace_lines = trace_actions = token_count = 0;
    signal(SIGABRT, on_abort);
}

void trace_fail(const char *format, ...)
{
    char message[2 * LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    dump();
    ck_abort_msg("%s", message);
    abort();
}

void log_event(const char *format, ...)
{
    if (trace_lines == LINES)
        trace_fail("the trace is too long");
    char *line = trace_line[trace_lines++];
    int len = snprintf(line, LINE, "%" PRId64 ": ", now);
    va_list args;
    va_start(args, format);
    vsnprintf(line + len, LINE - (size_t)len, format, args);
    va_end(args);
}

void log_action(const char *format, ...)
{
    if (trace_lines == LINES || trace_actions == LINES)
        trace_fail("the trace is too long");
    char *action = trace_action[trace_actions++];
    va_list args;
    va_start(args, format);
    vsnprintf(action, LINE, format, args);
    va_end(args);
    snprintf(trace_line[trace_lines++], LINE, "       -> %.300s", action);
}

/* ---- words ---- */

static const char *const verbs[] = {
#define COMMAND(name, script, vote, words) [COMMAND_##name] = #name,
#define NATIVE(name, form, vote, words)    [COMMAND_##name##_##form] = #name "_" #form,
#include "proto/command.def"
};

const char *verb_word(enum command_verb verb)
{
    return verbs[verb];
}

unsigned token_number(const struct token *token)
{
    for (unsigned i = 1; i <= token_count; i++)
        if (memcmp(&tokens[i], token, sizeof *token) == 0)
            return i;
    if (token_count + 1 == TOKENS)
        trace_fail("too many tokens");
    tokens[++token_count] = *token;
    return token_count;
}

static const struct token *stranger(void)
{
    static struct token token;
    memset(token.bytes, 0xee, sizeof token.bytes);
    return &token;
}

const struct token *token_of(const char *word)
{
    static struct token other;
    memset(other.bytes, 0xed, sizeof other.bytes);
    if (*word == 'T')
        return &tokens[atoi(word + 1)];
    return *word == 'X' ? stranger() : &other;
}

static const char *token_word(const struct token *token, char word[16])
{
    if (memcmp(token, stranger(), sizeof *token) == 0)
        return "X";
    snprintf(word, 16, "T%u", token_number(token));
    return word;
}

const char *masters_word(masters_t set, char word[64])
{
    int len = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        if (!(set & masters_bit(i)))
            continue;
        unsigned last = i;
        while (last + 1 < MASTERS && (set & masters_bit(last + 1)))
            last++;
        len += snprintf(word + len, 64 - (size_t)len, "%s%u", len ? "," : "", i);
        if (last > i)
            len += snprintf(word + len, 64 - (size_t)len, "-%u", last);
        i = last;
    }
    return word;
}

masters_t masters_of(const char *word)
{
    masters_t set = 0;
    while (*word != '\0') {
        unsigned first = (unsigned)strtoul(word, (char **)&word, 10), last = first;
        if (*word == '-')
            last = (unsigned)strtoul(word + 1, (char **)&word, 10);
        for (unsigned i = first; i <= last; i++)
            set |= masters_bit(i);
        if (*word == ',')
            word++;
    }
    return set;
}

static void group_text(char *out, const char *verb, const struct command *command)
{
    const struct group *group = &command->group;
    snprintf(out, LINE, "%s N=%u max_ttl=%" PRId64 " run=%.1s from=%" PRId64, verb, group->masters,
             group->max_ttl_ms, group->run_id, group->from_ms);
    size_t len = strlen(out);
    if (group->set != 0)
        snprintf(out + len, LINE - len, " set=%" PRIx64, group->set);
}

void command_text(char *out, const struct command *command)
{
    static const struct token nobody;
    char word[16], to_word[16], other_word[16];
    const char *verb = verbs[command->verb], *token, *ask, *both, *third;
    int len = command->name.len;
    const char *name = command->name.text;
    switch (command_is_native(command->verb) ? command_for_one(command->verb) : command->verb) {
    case COMMAND_CLIENT_ID:
    case COMMAND_TRY:
    case COMMAND_TRY_DELEX:
    case COMMAND_TRY_DELIFEQ:
    case COMMAND_TRY_IFEQ:
    case COMMAND_TRY_MSETEX:
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE_LASTING:
    case COMMAND_INFO: snprintf(out, LINE, "%s", verb); break;
    case COMMAND_PROBE:
    case COMMAND_KILL: snprintf(out, LINE, "%s %" PRIu64, verb, command->number); break;
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: group_text(out, verb, command); break;
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_EXTEND:
        token = token_word(&command->token, word);
        snprintf(out, LINE, "%s %.*s %s %" PRIu64, verb, len, name, token, command->number);
        if (command->most_ms != (command->verb == COMMAND_EXTEND ? (uint64_t)config.max_ttl_ms : 0))
            snprintf(out + strlen(out), LINE - strlen(out), " most=%" PRIu64, command->most_ms);
        break;
    case COMMAND_ENQUEUE:
        snprintf(out, LINE, "%s %.*s %" PRIu64 "%s", verb, len, name, command->waited_ms,
                 command->shared ? " READER" : "");
        break;
    case COMMAND_LOOK:
        ask = memcmp(&command->to, &nobody, sizeof nobody) != 0 ? " JOIN" : "";
        snprintf(out, LINE, "%s %.*s %u%s", verb, len, name, command->slots, ask);
        break;
    case COMMAND_CUT:
        snprintf(out, LINE, "%s %.*s %" PRIu64, verb, len, name, command->number);
        if (command->slots != 0)
            snprintf(out + strlen(out), LINE - strlen(out), " %u", command->slots);
        break;
    case COMMAND_ZADD: snprintf(out, LINE, "%s %.*s %" PRIu64, verb, len, name, command->number); break;
    case COMMAND_DEQUEUE:
    case COMMAND_PASS:
    case COMMAND_ALONG:
    case COMMAND_GET:
    case COMMAND_ZSCORE: snprintf(out, LINE, "%s %.*s", verb, len, name); break;
    case COMMAND_RELEASE:
        token = token_word(&command->token, word);
        ask = command->stays ? " WAKE STAY" : command->name.more != 0 ? " LETTER" : " WAKE";
        ask = memcmp(&command->to, &nobody, sizeof nobody) != 0 ? ask : "";
        both = command->has_other ? token_word(&command->other, to_word) : "";
        third = command->has_third ? token_word(&command->third, other_word) : "";
        snprintf(out, LINE, "%s %.*s %s%s%s%s%s%s", verb, len, name, token, *both ? "|" : "", both,
                 *third ? "|" : "", third, ask);
        break;
    case COMMAND_LETTER:
    case COMMAND_CHECK:
        snprintf(out, LINE, "%s %.*s %s", verb, len, name, token_word(&command->token, word));
        break;
    case COMMAND_MOVE:
        token = token_word(&command->token, word);
        both = command->has_other ? token_word(&command->other, other_word) : "";
        snprintf(out, LINE, "%s %.*s %s%s%s %s", verb, len, name, token, *both ? "|" : "", both,
                 token_word(&command->to, to_word));
        break;
    case COMMAND_DOWN:
        token = token_word(&command->token, word);
        both = token_word(&command->other, other_word);
        snprintf(out, LINE, "%s %.*s %s|%s %s %" PRIu64, verb, len, name, token, both,
                 token_word(&command->to, to_word), command->number);
        break;
    case COMMAND_DATA:
        token = token_word(&command->token, word);
        snprintf(out, LINE, "%s %.*s %s %" PRIu64 " %.*s", verb, len, name, token, command->number,
                 command->data.len, command->data.text);
        break;
    case COMMAND_NEWS:
    case COMMAND_SEE: snprintf(out, LINE, "%s %.*s", verb, len, name); break;
    case COMMAND_ADOPT:
        token = token_word(&command->token, word);
        snprintf(out, LINE, "%s %.*s %s %" PRIu64 " %s", verb, len, name, token, command->number,
                 token_word(&command->other, other_word));
        break;
    case COMMAND_SETTLE:
        token = token_word(&command->token, word);
        snprintf(out, LINE, "%s %.*s %s %s %" PRIu64, verb, len, name, token,
                 token_word(&command->to, to_word), command->number);
        break;
    default: trace_fail("a command for a list, by its own verb");
    }
}

void shorten(char *out, const char *line, size_t len)
{
    static const char key[] = "token=";
    const char *token = memmem(line, len, key, sizeof key - 1);
    if (token == NULL || token + sizeof key - 1 + TOKEN_HEX > line + len) {
        snprintf(out, LINE, "%.*s", (int)len - 1, line);
        return;
    }
    token += sizeof key - 1;
    struct token value;
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        sscanf(token + 2 * i, "%2hhx", &value.bytes[i]);
    char word[16];
    const char *rest = token + TOKEN_HEX;
    snprintf(out, LINE, "%.*s%s%.*s", (int)(token - line), line, token_word(&value, word),
             (int)(line + len - rest) - 1, rest);
}

/* ---- expectations ---- */

static bool matches(const char *pattern, const char *line)
{
    for (; *pattern != '*'; pattern++, line++) {
        if (*pattern != *line)
            return false;
        if (*pattern == '\0')
            return true;
    }
    do {
        if (matches(pattern + 1, line))
            return true;
    } while (*line++ != '\0');
    return false;
}

void trace_expect(const char *file, int line, const char *const *expected)
{
    unsigned i = 0;
    for (; expected[i] != NULL; i++) {
        if (i == trace_actions)
            trace_fail("%s:%d: missing: \"%s\"", file, line, expected[i]);
        if (!matches(expected[i], trace_action[i]))
            trace_fail("%s:%d:\n    expected \"%s\",\n    it did  \"%s\"", file, line, expected[i],
                       trace_action[i]);
    }
    if (i < trace_actions)
        trace_fail("%s:%d: unexpected: \"%s\"", file, line, trace_action[i]);
    forget();
}

void forget(void)
{
    trace_actions = 0;
}

void trace_expect_last(const char *file, int line, const char *action)
{
    if (trace_actions == 0 || !matches(action, trace_action[trace_actions - 1]))
        trace_fail("%s:%d: missing at the end: \"%s\"", file, line, action);
    forget();
}

void trace_expect_master(const char *file, int line, unsigned master, const char *expected)
{
    static const char *const states[] = {"down",    "handshake",  "refused", "killing",
                                         "undoing", "quarantine", "up",      "slow"};
    static const char *const whys[] = {
        [WHY_NONE] = "",
        [WHY_REPLICA] = " replica",
        [WHY_CLUSTER] = " cluster",
        [WHY_VERSION] = " version",
        [WHY_DUPLICATE] = " twin",
        [WHY_NOPERM] = " noperm",
        [WHY_NOSCRIPT] = " noscript",
        [WHY_FENCE] = " fence",
        [WHY_LOADING] = " loading",
        [WHY_GROUP] = " group",
        [WHY_UNREADABLE] = " unreadable",
        [WHY_BUSY] = " busy",
        [WHY_MISCONF] = " misconf",
        [WHY_NOREPLICAS] = " noreplicas",
        [WHY_RESTART] = " restart",
        [WHY_PROMOTED] = " promoted",
        [WHY_DEMOTED] = " demoted",
        [WHY_MEMORY] = " memory",
        [WHY_CLOCK] = " clock",
        [WHY_OOM] = " oom",
        [WHY_DOUBTED] = " doubted",
        [WHY_RECONNECT] = " reconnect",
        [WHY_SILENT] = " silent",
        [WHY_BACKLOG] = " backlog",
        [WHY_TIMEOUT] = " timeout",
    };
    struct master_row row;
    char is[LINE];
    uint32_t undo[MASTERS];
    coordinator_undo(core, undo);
    coordinator_master_row(core, now, master, &row);
    int len = snprintf(is, sizeof is, "%s%s", states[row.state], whys[row.why]);
    if (row.left_ms != 0)
        len += snprintf(is + len, sizeof is - (size_t)len, " left=%" PRId64, row.left_ms);
    if (undo[master] != 0)
        snprintf(is + len, sizeof is - (size_t)len, " undo=%u", undo[master]);
    if (strcmp(is, expected) != 0)
        trace_fail("%s:%d: master %u is \"%s\", not \"%s\"", file, line, master, is, expected);
}

void trace_expect_deadline(const char *file, int line, int64_t ms)
{
    if (coordinator_deadline(core) != ms)
        trace_fail("%s:%d: the next deadline is %" PRId64 ", not %" PRId64, file, line,
                   coordinator_deadline(core), ms);
}
