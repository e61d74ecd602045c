/* The actions of the present step, and the random numbers from its event. */
#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/mode/names.h"
#include "proto/slot.h"

struct action *action_push(struct coordinator *c, enum action_kind kind)
{
    assert(c->actions->count < ACTIONS);
    struct action *action = &c->actions->list[c->actions->count++];
    action->kind = kind;
    return action;
}

void name_copy(struct name *to, const struct name *from)
{
    memcpy(to, from, offsetof(struct name, text) + from->len);
}

struct command *action_command(struct coordinator *c, masters_t masters, enum command_verb verb,
                               const struct name *name)
{
    assert(masters != 0);
    struct action *action = action_push(c, ACTION_SEND);
    action->masters = masters;
    struct command *command = &action->u.command;
    memset(command, 0, offsetof(struct command, name));
    command->verb = name->more == 0 ? verb : command_for_all(verb);
    name_copy(&command->name, name);
    for (unsigned i = 0; i < c->config.masters; i++)
        if (masters & masters_bit(i))
            c->masters[i].sent++;
    return command;
}

void action_send(struct coordinator *c, masters_t masters, const struct command *command)
{
    if (masters == 0)
        return;
    struct command *copy = action_command(c, masters, command->verb, &command->name);
    enum command_verb verb = copy->verb;
    memcpy(copy, command, offsetof(struct command, name));
    copy->verb = verb;
    if (command->has_other)
        copy->other = command->other;
    if (command->has_third)
        copy->third = command->third;
    if (command->verb >= COMMAND_GROUP_SET && command->verb <= COMMAND_GROUP_NEW)
        copy->group = command->group;
}

/* Clients know a slot by its name and its number. Returns 1 + the number; 0: it is no slot. */
static uint16_t action_name(struct name *to, const struct name *from)
{
    return (uint16_t)(slot_base(to, from) + 1);
}

struct reply *action_reply(struct coordinator *c, uint64_t session, uint64_t request, enum reply_code code,
                           const struct name *name)
{
    struct action *action = action_push(c, ACTION_REPLY);
    action->session = session;
    action->request = request;
    struct reply *reply = &action->u.reply;
    action_refusal(reply, code);
    reply->slot = action_name(&reply->name, name);
    return reply;
}

void action_refusal(struct reply *reply, enum reply_code code)
{
    reply->code = code;
    memset((char *)reply + offsetof(struct reply, token), 0,
           offsetof(struct reply, now) - offsetof(struct reply, token));
    reply->retry_ms = -1;
}

struct notice *action_notice(struct coordinator *c, enum notice_kind kind, const struct lease *lease)
{
    struct action *action = action_push(c, ACTION_NOTICE);
    const struct list *list = names_list(lease->resource);
    action->session = lease->hold.session->key;
    struct notice *notice = &action->u.notice;
    notice->kind = kind;
    notice->reason = LOST_EXPIRED;
    notice->slot = action_name(&notice->name, lease->resource->name);
    notice->token = *lease_told(lease);
    notice->valid_ms = 0;
    notice->until_ms = 0;
    notice->order = list != NULL ? list->order : 0;
    return notice;
}

static char node_sign(const struct coordinator *c, unsigned master, const struct tally *tally)
{
    masters_t bit = masters_bit(master);
    if (tally->granted & bit)
        return '+';
    if (tally->refused & bit)
        return '-';
    if (c->masters[master].state == MASTER_QUARANTINE)
        return '~';
    if ((tally->failed & bit) || !(c->releasers & bit))
        return '!';
    if ((tally->asked & bit) || c->masters[master].state == MASTER_SLOW)
        return '?';
    return tally->asked == 0 && (c->voters & bit) ? '+' : '!';
}

/* retry= is told only if quarantine alone keeps a quorum away, because its end is known. */
void action_noquorum(const struct coordinator *c, struct reply *reply, const struct tally *tally)
{
    static const struct tally nobody_asked;
    if (tally == NULL)
        tally = &nobody_asked;
    reply->masters = (uint8_t)c->config.masters;
    uint64_t left_ms[MASTERS];
    masters_t quarantined = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        reply->nodes[i] = node_sign(c, i, tally);
        reply->votes = (uint8_t)(reply->votes + (reply->nodes[i] == '+' && (c->quorum.of & masters_bit(i))));
        const struct master *master = &c->masters[i];
        if (master->state != MASTER_QUARANTINE)
            continue;
        quarantined |= masters_bit(i);
        left_ms[i] = master->memory.quarantine_until_ms > c->now_ms
                         ? (uint64_t)(master->memory.quarantine_until_ms - c->now_ms)
                         : 0;
    }
    quarantined &= c->quorum.of;
    unsigned voters = masters_count(c->voters), kept_out = masters_count(quarantined);
    if (voters >= c->quorum.needed || voters + kept_out < c->quorum.needed)
        return;
    /* The quorum is complete when as many quarantines have ended as it lacks voters. left_ms of the last of
     * these is the rank-th largest. */
    unsigned rank = kept_out - (c->quorum.needed - voters) + 1;
    reply->quarantined = (uint8_t)kept_out;
    reply->retry_ms = (int64_t)quorum_nth_largest(left_ms, quarantined, rank);
}

void action_locked(const struct coordinator *c, struct reply *reply, const struct lease *lease)
{
    reply->token = lease->hold.token;
    reply->fence = lease->hold.fence;
    reply->until_ms = lease->until_ms;
    reply->valid_ms = lease->until_ms - c->now_ms;
}

void action_handed(struct coordinator *c, uint64_t session, uint64_t request, const struct name *name)
{
    if (request == 0)
        return;
    struct reply *reply = action_reply(c, session, request, REPLY_UNLOCKED, name);
    reply->masters = (uint8_t)masters_count(c->quorum.of);
    reply->handed = true;
}

void action_retry(struct coordinator *c, struct reply *reply)
{
    if (reply->retry_ms < 0)
        reply->retry_ms = random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
}

void random_token(struct coordinator *c, const struct resource *resource, struct token *token,
                  const struct mode *mode)
{
    unsigned len;
    int slot = slot_of_name(resource->name, &len);
    assert(!c->token_drawn && (mode->token == TOKEN_SLOT) == (slot >= 0));
    c->token_drawn = true;
    unsigned number = slot >= 0 ? (unsigned)slot : mode->number;
    token_make(token, &c->config.self, mode->token, number, c->event->random);
    c->actions->random_used = true;
}

void random_mark(struct coordinator *c, struct token *token)
{
    assert(!c->token_drawn);
    c->token_drawn = true;
    token_make(token, &c->config.self, TOKEN_MARK, 0, c->event->random);
    c->actions->random_used = true;
}

int64_t random_between(struct coordinator *c, int64_t low, int64_t high)
{
    uint64_t draw;
    memcpy(&draw, c->event->random + TOKEN_BYTES, sizeof draw);
    c->actions->random_used = true;
    return high <= low ? low : low + (int64_t)(draw % (uint64_t)(high - low + 1));
}
