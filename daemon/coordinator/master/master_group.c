/* The group's key: the agreement of all daemons that share the masters, kept on each master
 * (proto/group.h). This file says what the key contains and whether a key is this group's; master_memory.c
 * acts on that. */
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/master/master_private.h"

enum {
    ID_BYTES = 4,     /* bytes of a daemon's token that make its id */
    KEEP_MS = 600000, /* shortest TTL of the group's key, so that the key outlives restarts of all daemons */
};

int64_t master_group_px_ms(const struct coordinator *c)
{
    int64_t twice_ms = 2 * c->longest_ttl_ms;
    return twice_ms > KEEP_MS ? twice_ms : KEEP_MS;
}

static const char why_words[][GROUP_WORD] = {
    [WHY_RESTART] = "restart", [WHY_PROMOTED] = "promoted", [WHY_DEMOTED] = "demoted",
    [WHY_MEMORY] = "memory",   [WHY_CLOCK] = "clock",       [WHY_DOUBTED] = "",
};

static const char *why_word(enum master_why why)
{
    static const char none[GROUP_WORD];
    return why <= WHY_DOUBTED ? why_words[why] : none;
}

enum master_why master_group_why(const char *word, enum master_why otherwise)
{
    for (unsigned i = 0; i < sizeof why_words / sizeof why_words[0]; i++)
        if (word[0] != '\0' && strcmp(word, why_words[i]) == 0)
            return (enum master_why)i;
    return otherwise;
}

struct command master_group_command(const struct coordinator *c, const struct master *m,
                                    enum command_verb verb)
{
    struct command command = {.verb = verb, .waited_ms = (uint64_t)c->full_ms};
    generation_mark(c, m, &command.group);
    command.number = command.group.step == 0 ? (uint64_t)master_group_px_ms(c) : 0;
    command.group.from_ms = m->memory.from_ms;
    if (m->memory.from_ms > m->clock.time_ms) {
        memcpy(command.group.by, m->memory.by, GROUP_WORD);
        memcpy(command.group.why, why_word(m->memory.quarantine_why), GROUP_WORD);
    }
    memcpy(command.group.run_id, m->run_id, RUN_ID_HEX);
    return command;
}

bool master_group_is_strange(const struct coordinator *c, const struct vote *vote)
{
    return vote->kind == VOTE_UNREADABLE ||
           (vote->kind == VOTE_GROUP && generation_told(c, &vote->group) == GENERATION_OTHER);
}

/* If a key were written before all masters were read, it could be the first key of a second group. */
bool master_group_may_write(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((coordinator_places(c) & masters_bit(i)) && !c->masters[i].memory.heard_once &&
            !c->masters[i].handshake.ended_once)
            return false;
    return true;
}

/* A daemon's id for other daemons: the first bytes of its own token, in hex. The token is random and no
 * secret. */
void master_group_id(const struct token *self, char id[GROUP_WORD])
{
    static const char digits[] = "0123456789abcdef";
    memset(id, 0, GROUP_WORD);
    for (unsigned i = 0; i < ID_BYTES; i++) {
        id[2 * i] = digits[self->bytes[i] >> 4];
        id[2 * i + 1] = digits[self->bytes[i] & 15];
    }
}
