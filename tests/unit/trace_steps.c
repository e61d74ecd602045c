#include "tests/unit/trace_steps.h"

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/data/state.h"
#include "proto/slot.h"
#include "tests/group_model.h"

struct trace_link links[MASTERS];

enum { NAMES = 64, STEPS = 500 /* so many steps in one ms count as work without end */ };

static uint64_t token_set[TOKENS]; /* the attempt that set the token; 0: none */
static uint64_t drawn;             /* tokens so far: each one's random bytes hold this number */
static uint64_t chance_number;     /* the random bytes that decide delays */
static bool fresh_bytes;

uint64_t last_request;
static unsigned answers[REQUESTS];
static bool ended[SESSIONS];
static struct {
    struct name name;
    uint64_t fence, alone; /* the latest grant's; the latest writer's */
} fences[NAMES];

void steps_reset(void)
{
    memset(links, 0, sizeof links);
    memset(token_set, 0, sizeof token_set);
    memset(answers, 0, sizeof answers);
    memset(ended, 0, sizeof ended);
    memset(fences, 0, sizeof fences);
    last_request = drawn = chance_number = 0;
    fresh_bytes = true;
}

/* ---- what every test wants of every action ---- */

static bool is_in_handshake(unsigned master)
{
    enum master_state state = coordinator_master_state(core, master);
    return state == MASTER_HANDSHAKE || state == MASTER_KILLING || state == MASTER_REFUSED;
}

static void check_send(unsigned master, const struct command *command)
{
    enum master_state state = coordinator_master_state(core, master);
    bool handshake = command->verb <= COMMAND_GROUP_NEW;
    bool asks =
        command->verb == COMMAND_SET || command->verb == COMMAND_ZADD || command->verb == COMMAND_ZSCORE;
    if (!links[master].connected)
        trace_fail("sent to master %u, which is not connected", master);
    if (!handshake && is_in_handshake(master))
        trace_fail("a lock command to master %u before it may have one", master);
    if (asks && state != MASTER_UP)
        trace_fail("master %u is asked for its vote, which it has not", master);
    if ((command->verb == COMMAND_ZADD || command->verb == COMMAND_ZSCORE) && command->name.more == 0 &&
        command->bucket != quorum_bucket(&command->name))
        trace_fail("another name's bucket");
}

static bool is_hidden(const struct command *command)
{
    if (command_is_question(command->verb))
        return true;
    if (command->verb == COMMAND_LETTER)
        return !show_letters;
    if (command->verb == COMMAND_TRY)
        return !show_tries;
    if (command->verb == COMMAND_INFO) /* beside a probe */
        return !show_probes && command->number != 0;
    return !show_probes && command->verb >= COMMAND_TIME && command->verb <= COMMAND_GROUP_NEW;
}

static void send_command(masters_t masters, const struct command *sent)
{
    char word[64], line[LINE];
    struct command one = *sent, *command = &one;
    if (!command_is_native(sent->verb))
        one.verb = command_for_one(sent->verb); /* its name tells that it is for a list */
    if (one.verb == COMMAND_INFO)               /* it is sent to one master at a time */
        one.number = !is_in_handshake((unsigned)__builtin_ctz(masters));
    command_text(line, command);
    if (!is_hidden(command))
        log_action("m%s %.250s", masters_word(masters, word), line);
    if (command->verb == COMMAND_SET) {
        unsigned token = token_number(&command->token);
        if (token_set[token] != 0 && token_set[token] != command->ref)
            trace_fail("token T%u is set by a second attempt", token);
        token_set[token] = command->ref;
    }
    for (unsigned i = 0; i < config.masters; i++) {
        if (!(masters & masters_bit(i)))
            continue;
        check_send(i, command);
        struct trace_link *link = &links[i];
        if (link->count == PENDING)
            trace_fail("too many unanswered commands at master %u", i);
        link->pending[(link->first + link->count++) % PENDING] = *command;
    }
}

/* Each slot of a name has fences of its own. Readers may share a fence, which is above the fence of each writer
 * before them. */
static void check_fence(const struct reply *reply)
{
    struct name name = reply->name;
    unsigned i = 0;
    if (reply->slot != 0)
        slot_name(&name, &reply->name, reply->slot - 1u);
    while (i < NAMES - 1 && fences[i].name.len != 0 &&
           (fences[i].name.len != name.len || memcmp(fences[i].name.text, name.text, name.len) != 0))
        i++;
    bool shared = config.join_from != 0 && token_is_shared(&reply->token);
    uint64_t before = shared ? fences[i].alone : fences[i].fence;
    if (reply->depth == 0 && reply->fence <= before)
        trace_fail("fence %" PRIu64 " after %" PRIu64, reply->fence, before);
    fences[i].name = name;
    if (reply->fence > fences[i].fence)
        fences[i].fence = reply->fence;
    if (!shared)
        fences[i].alone = reply->fence;
}

static void say_reply(const struct action *action)
{
    char line[SERVER_LINE_BYTES], shorter[LINE];
    const struct tag untagged = {.len = 0};
    shorten(shorter, line, line_format_reply(line, &untagged, &action->u.reply));
    log_action("s%" PRIu64 " #%" PRIu64 " %.250s", action->session, action->request, shorter);
    if (action->request == 0 || action->request > last_request || answers[action->request]++ != 0)
        trace_fail("request #%" PRIu64 " is answered again, or was never asked", action->request);
    if (action->u.reply.code == REPLY_LOCKED)
        check_fence(&action->u.reply);
}

static void carry_out(const struct action *action)
{
    static const char *const why[] = {"silent", "backlog", "handshake"};
    char line[SERVER_LINE_BYTES], shorter[LINE];
    bool of_session =
        action->kind != ACTION_SEND && action->kind != ACTION_CLOSE_MASTER && action->kind != ACTION_CLOCK;
    if (of_session && ended[action->session])
        trace_fail("session %" PRIu64 " has ended", action->session);
    switch (action->kind) {
    case ACTION_SEND: send_command(action->masters, &action->u.command); break;
    case ACTION_CLOSE_MASTER:
        log_action("close m%u %s", action->master, why[action->why]);
        links[action->master].connected = false;
        break;
    case ACTION_REPLY: say_reply(action); break;
    case ACTION_NOTICE:
        shorten(shorter, line, line_format_notice(line, &action->u.notice));
        log_action("s%" PRIu64 " %.250s", action->session, shorter);
        break;
    case ACTION_CLOCK:
        log_action("behind %" PRId64 " of %" PRId64, action->u.clock.stall_ms, action->u.clock.behind_ms);
        break;
    case ACTION_SESSION_ENDED:
        log_action("s%" PRIu64 " ended", action->session);
        ended[action->session] = true;
        break;
    }
}

/* ---- steps ---- */

static struct actions actions;

struct command link_take(struct trace_link *link)
{
    struct command command = link->pending[link->first];
    link->first = (link->first + 1) % PENDING;
    link->count--;
    return command;
}

struct vote marker_vote(unsigned master, const struct command *command)
{
    struct marker *marker = &markers[master];
    struct group group = command->group;
    bool marks = command->verb == COMMAND_GROUP_SET || command->verb == COMMAND_GROUP_NEW;
    bool writes = marks && group_model_writes(command->verb, marker->there, &marker->group, &group,
                                              (int64_t)command->waited_ms, now + marker->clock_ms);
    struct vote value = {.kind = writes ? VOTE_YES : VOTE_NO};
    if (command_is_question(command->verb))
        value.kind = trace_natives[master] >> (command->verb - COMMAND_TRY - 1) & 1 ? VOTE_NO : VOTE_ERROR;
    if (command_is_question(command->verb))
        return value;
    if (command->verb == COMMAND_TRY)
        return (struct vote){.kind = VOTE_YES};
    if (command->verb == COMMAND_INFO)
        return (struct vote){.kind = VOTE_INFO, .info = info[master]};
    if (command->verb == COMMAND_TIME)
        return (struct vote){.kind = VOTE_NUMBER, .number = (uint64_t)(now + marker->clock_ms)};
    if ((command->verb == COMMAND_GROUP || command_is_probe(command->verb)) && marker->there)
        return (struct vote){.kind = VOTE_GROUP, .group = marker->group};
    if (writes) {
        marker->there = true;
        marker->group = group;
    }
    return value;
}

static void answer_hidden(void)
{
    for (unsigned i = 0; i < config.masters; i++) {
        struct trace_link *link = &links[i];
        while (link->connected && link->count > 0 && is_hidden(&link->pending[link->first])) {
            struct command command = link_take(link);
            struct coordinator_event event = {.kind = EVENT_MASTER_VOTE,
                                              .master = i,
                                              .connection = link->connection,
                                              .verb = command.verb,
                                              .ref = command.ref,
                                              .vote = marker_vote(i, &command),
                                              .rtt_us = trace_rtts_us[i]};
            step(&event);
        }
    }
}

static void step_once(struct coordinator_event *event)
{
    event->now_ms = now;
    event->wall_us = now * 1000 + 7 + wall_offset_us;
    memset(event->random, 0x11, TOKEN_BYTES);
    memcpy(event->random, &drawn, sizeof drawn);
    memcpy(event->random + TOKEN_BYTES, &chance_number, sizeof chance_number);
    coordinator_step(core, event, &actions);
    for (unsigned i = 0; i < actions.count; i++)
        carry_out(&actions.list[i]);
    coordinator_check(core);
}

/* What the event made due belongs to it, and has its random bytes, unless these made a token. */
void step(struct coordinator_event *event)
{
    if (fresh_bytes)
        drawn++;
    step_once(event);
    fresh_bytes = actions.random_used;
    while (core->looks.count != 0 && coordinator_deadline(core) <= now) {
        drawn += core->token_drawn;
        step_once(&(struct coordinator_event){.kind = EVENT_TIMER});
        fresh_bytes |= actions.random_used;
    }
    answer_hidden();
}

void step_master(enum event_kind kind, unsigned master)
{
    struct coordinator_event event = {.kind = kind, .master = master, .connection = links[master].connection};
    step(&event);
}

void step_session(enum event_kind kind, uint64_t session, uint64_t request)
{
    struct coordinator_event event = {.kind = kind, .session = session, .request = request};
    step(&event);
}

void work_once(void)
{
    struct coordinator_event event = {.kind = EVENT_TIMER};
    unsigned before = trace_lines, actions_before = trace_actions;
    log_event("timer");
    step(&event);
    if (trace_actions == actions_before) /* nothing to tell */
        trace_lines = before;
}

void at_without_work(int64_t ms)
{
    ck_assert_int_ge(ms, now);
    now = ms;
}

void at(int64_t ms)
{
    ck_assert_int_ge(ms, now);
    unsigned steps = 0;
    while (coordinator_deadline(core) <= ms) {
        if (coordinator_deadline(core) > now) {
            now = coordinator_deadline(core);
            steps = 0;
        }
        if (++steps == STEPS)
            trace_fail("it does not come to rest");
        work_once();
    }
    now = ms;
}

void work(void)
{
    at(now);
}

void chance(uint64_t number)
{
    chance_number = number;
}
