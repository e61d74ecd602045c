/* The argument and the options of each verb. Private to line*.c. */
#ifndef REDLOCKD_PROTO_LINE_RULE_H
#define REDLOCKD_PROTO_LINE_RULE_H

#include "proto/line_piece.h"

enum argument {
    ARGUMENT_NONE,
    ARGUMENT_NAME,
    ARGUMENT_NAMES, /* the protocol allows name,name here */
    ARGUMENT_TAG,   /* may be left out */
    ARGUMENT_PROTOCOL,
    ARGUMENT_SHOW,
    ARGUMENT_SECRET, /* a user and a secret, neither of which is ever repeated */
};

enum option {
    OPTION_TTL,
    OPTION_WAIT,
    OPTION_MAX,
    OPTION_HOLD,
    OPTION_NOTE,
    OPTION_TOKEN,
    OPTION_MODE,
    OPTION_SLOTS,
    OPTION_SLOT,
    OPTION_CLIENT,
    OPTION_EVENTS,
    OPTION_LOST,
    OPTION_DATA,
    OPTION_KEEP,
    OPTION_KEPT, /* stands without a value */
    OPTIONS,     /* how many */
};

#define OPTION_BIT(option) (1u << (option))

struct verb_rule {
    const char *word;
    enum verb verb;
    enum argument argument;
    unsigned takes;      /* options, as bits of enum option */
    unsigned needs;      /* options that must be there */
    const char *example; /* for refusals */
    const char *help;
};

const struct verb_rule *rule_verb(struct piece word); /* NULL: there is no such verb */
/* OPTIONS: the verb does not take this option, or there is no such option. */
enum option rule_option(const struct verb_rule *rule, struct piece key);
const char *rule_option_key(enum option option);

#endif
