/* The table of verbs. */
#include "proto/line_rule.h"

#include <assert.h>

#include "proto/line.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const option_keys[OPTIONS] = {
    [OPTION_TTL] = "ttl",   [OPTION_WAIT] = "wait",     [OPTION_MAX] = "max",       [OPTION_HOLD] = "hold",
    [OPTION_NOTE] = "note", [OPTION_TOKEN] = "token",   [OPTION_MODE] = "mode",     [OPTION_SLOTS] = "slots",
    [OPTION_SLOT] = "slot", [OPTION_CLIENT] = "client", [OPTION_EVENTS] = "events", [OPTION_LOST] = "lost",
    [OPTION_DATA] = "data", [OPTION_KEEP] = "keep",     [OPTION_KEPT] = "kept",
};

#define TTL    OPTION_BIT(OPTION_TTL)
#define WAIT   OPTION_BIT(OPTION_WAIT)
#define MAX    OPTION_BIT(OPTION_MAX)
#define HOLD   OPTION_BIT(OPTION_HOLD)
#define NOTE   OPTION_BIT(OPTION_NOTE)
#define TOKEN  OPTION_BIT(OPTION_TOKEN)
#define MODE   OPTION_BIT(OPTION_MODE)
#define SLOTS  OPTION_BIT(OPTION_SLOTS)
#define SLOT   OPTION_BIT(OPTION_SLOT)
#define CLIENT OPTION_BIT(OPTION_CLIENT)
#define EVENTS OPTION_BIT(OPTION_EVENTS)
#define LOST   OPTION_BIT(OPTION_LOST)
#define DATA   OPTION_BIT(OPTION_DATA)
#define KEEP   OPTION_BIT(OPTION_KEEP)
#define KEPT   OPTION_BIT(OPTION_KEPT)

static const struct verb_rule verbs[] = {
    [VERB_LOCK] =
        {
            .verb = VERB_LOCK,
            .word = "LOCK",
            .argument = ARGUMENT_NAMES,
            .takes = TTL | WAIT | MAX | HOLD | NOTE | TOKEN | MODE | SLOTS | DATA,
            .example = "LOCK job ttl=10s wait=30s",
            .help =
                "LOCK <name> [ttl=10s] [wait=30s] [hold=session|lease] [max=5m] [note=<word>] "
                "[mode=shared] [slots=<n>] [data=<text>] : takes a lock, with mode=shared one that others "
                "may share, with slots=<n> one of so many, with data= one whose holder tells WHO something; "
                "LOCK <name>,<name> : all of them or none; LOCK <name> "
                "token=<token> : once more, where this connection has it, with mode=shared as a "
                "reader from now on",
        },
    [VERB_UNLOCK] =
        {
            .verb = VERB_UNLOCK,
            .word = "UNLOCK",
            .argument = ARGUMENT_NAMES,
            .takes = TOKEN | LOST | KEEP | KEPT,
            .example = "UNLOCK job",
            .help = "UNLOCK <name> [token=<token>] [lost=expired|clock|gone] [keep=1h] : gives it back; "
                    "lost= says "
                    "that it was lost to you, and why; with keep=1h nobody gets the name for an hour; UNLOCK "
                    "<name> kept : ends that",
        },
    [VERB_EXTEND] =
        {
            .verb = VERB_EXTEND,
            .word = "EXTEND",
            .argument = ARGUMENT_NAMES,
            .takes = TOKEN | TTL,
            .needs = TOKEN,
            .example = "EXTEND job token=<40 hex> ttl=30s",
            .help = "EXTEND <name> token=<token> [ttl=10s] : makes it last longer",
        },
    [VERB_CHECK] =
        {
            .verb = VERB_CHECK,
            .word = "CHECK",
            .argument = ARGUMENT_NAMES,
            .takes = TOKEN,
            .needs = TOKEN,
            .example = "CHECK job token=<40 hex>",
            .help = "CHECK <name> token=<token> : is it still held, and until when?",
        },
    [VERB_RESUME] =
        {
            .verb = VERB_RESUME,
            .word = "RESUME",
            .argument = ARGUMENT_NAMES,
            .takes = TOKEN | TTL | WAIT | MAX | NOTE,
            .needs = TOKEN,
            .example = "RESUME job token=<40 hex>",
            .help = "RESUME <name> token=<token> [ttl=10s] [wait=5s] [max=5m] [note=<word>] : takes its "
                    "lock over, bound to this connection, with a new token; tries for as long as wait=",
        },
    [VERB_CANCEL] =
        {
            .verb = VERB_CANCEL,
            .word = "CANCEL",
            .argument = ARGUMENT_TAG,
            .example = "CANCEL, or CANCEL 7 for the LOCK with the tag #7",
            .help = "CANCEL [<tag>] : ends the waiting LOCK that has this tag, or the one without a tag",
        },
    [VERB_HELLO] =
        {
            .verb = VERB_HELLO,
            .word = "HELLO",
            .argument = ARGUMENT_PROTOCOL,
            .takes = CLIENT | EVENTS,
            .example = "HELLO 1 client=worker-3",
            .help = "HELLO 1 [client=<word>] [events=renewed] : says who you are; tells this session's "
                    "number and the time",
        },
    [VERB_AUTH] =
        {
            .verb = VERB_AUTH,
            .word = "AUTH",
            .argument = ARGUMENT_SECRET,
            .example = "AUTH <user> <secret>",
            .help = "AUTH <user> <secret> : proves who you are, where the server has users",
        },
    [VERB_PING] =
        {
            .verb = VERB_PING,
            .word = "PING",
            .argument = ARGUMENT_NONE,
            .example = "PING",
            .help = "PING : answers +PONG ready=1, or ready=0 while no lock can be granted",
        },
    [VERB_HELP] =
        {
            .verb = VERB_HELP,
            .word = "HELP",
            .argument = ARGUMENT_NONE,
            .example = "HELP",
            .help = "HELP : these rows",
        },
    [VERB_QUIT] =
        {
            .verb = VERB_QUIT,
            .word = "QUIT",
            .argument = ARGUMENT_NONE,
            .example = "QUIT",
            .help = "QUIT : gives back every session lock and closes the connection",
        },
    [VERB_SHOW] =
        {
            .verb = VERB_SHOW,
            .word = "SHOW",
            .argument = ARGUMENT_SHOW,
            .example = "SHOW LOCKS",
            .help = "SHOW LOCKS|WAITERS|CLIENTS|NODES|DAEMONS|GROUP|STATS|CONFIG|RELOAD|VERSION : what the "
                    "server knows",
        },
    [VERB_WHO] =
        {
            .verb = VERB_WHO,
            .word = "WHO",
            .argument = ARGUMENT_NAME,
            .example = "WHO job",
            .help = "WHO <name> : through which redlockds it is held and waited for, by what the masters say",
        },
    [VERB_BREAK] =
        {
            .verb = VERB_BREAK,
            .word = "BREAK",
            .argument = ARGUMENT_NAME,
            .takes = SLOT,
            .example = "BREAK job, or BREAK job slot=3",
            .help = "BREAK <name> [slot=3] : takes it away from its holder, where the configuration has "
                    "allow_break: yes",
        },
    [VERB_DATA] =
        {
            .verb = VERB_DATA,
            .word = "DATA",
            .argument = ARGUMENT_NAME,
            .takes = DATA,
            .needs = DATA,
            .example = "DATA leader data=10.0.0.5:8080",
            .help = "DATA <name> data=<text> : changes what WHO tells of a lock that this connection took "
                    "with data=",
        },
    [VERB_WATCH] =
        {
            .verb = VERB_WATCH,
            .word = "WATCH",
            .argument = ARGUMENT_NAME,
            .example = "WATCH leader",
            .help = "WATCH <name> : who has it, and !NOW whenever that changes",
        },
    [VERB_UNWATCH] =
        {
            .verb = VERB_UNWATCH,
            .word = "UNWATCH",
            .argument = ARGUMENT_NAME,
            .example = "UNWATCH leader",
            .help = "UNWATCH <name> : no more of that",
        },
};

const struct verb_rule *rule_verb(struct piece word)
{
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (piece_is_ignoring_case(word, verbs[i].word))
            return &verbs[i];
    return NULL;
}

enum option rule_option(const struct verb_rule *rule, struct piece key)
{
    unsigned i = 0;

    while (i < OPTIONS && !(rule->takes & OPTION_BIT(i) && piece_is_ignoring_case(key, option_keys[i])))
        i++;
    return (enum option)i;
}

const char *rule_option_key(enum option option)
{
    assert(option < OPTIONS);
    return option_keys[option];
}

const char *line_verb_word(enum verb verb)
{
    assert((size_t)verb < COUNT(verbs));
    return verbs[verb].word;
}

const char *line_help(unsigned i)
{
    return i < COUNT(verbs) ? verbs[i].help : NULL;
}
