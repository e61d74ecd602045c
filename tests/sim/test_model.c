/* Tests that the simulated master is true: the same random commands go to it and to a real
 * redis-server, and both must vote alike. */
#include <check.h>
#include <string.h>

#include "tests/sim/model.h"
#include "tests/unit/suite.h"

enum {
    SLOTS = 2,
    SEQUENCES = 40,
    MOST_SEQUENCES = 1000,
    COMMANDS = 80,
    ENOUGH = SEQUENCES * COMMANDS / 2,
    TOKENS = 4
};

static void setup(void)
{
    server_folder(&model.server);
    server_run(&model.server, 0, NULL, NULL);
    store_made = model_made;
    store_marks = model_marks;
}

static void teardown(void)
{
    server_remove(&model.server);
}

static int64_t pick(uint64_t sequence, uint64_t step, uint64_t what, int64_t below)
{
    return chance_below(sequence, 1, 16 * step + what, CHANCE_PLAN, below);
}

static void draw_group(uint64_t sequence, uint64_t step, struct group *group)
{
    /* Two values of each: most commands find a key of the same group. */
    group->masters = pick(sequence, step, 8, 10) == 0 ? 3 : 5;
    group->max_ttl_ms = pick(sequence, step, 9, 10) == 0 ? 1000 : 60000;
    group->set = pick(sequence, step, 11, 5) == 0 ? 0 : UINT64_C(0x0123456789abcdef);
    if (pick(sequence, step, 12, 10) == 0)
        group->set++;
    group->from_ms = 1 + pick(sequence, step, 10, INT64_C(2000000000000));
    memset(group->run_id, pick(sequence, step, 13, 4) == 0 ? 'a' : 'b', sizeof(group->run_id));
    if (pick(sequence, step, 15, 2) == 0)
        memcpy(group->why, "clock", sizeof("clock"));
    group->step =
        (uint32_t)chance_below(sequence, 4, 4 * step, CHANCE_PLAN, 4); /* the first text; steps 1 and 2 */
    group->step = group->step == 3 ? 0 : group->step;
    if (group->step == 0)
        return;
    group->masters = 0;
    group->set += group->set == 0;
    group->before = 1 + (uint64_t)chance_below(sequence, 4, 4 * step + 1, CHANCE_PLAN, 5) / 4;
    group->settled = chance_below(sequence, 4, 4 * step + 2, CHANCE_PLAN, 4) == 0;
    group->since_ms = 1;
}

static void draw_data(uint64_t sequence, uint64_t step, struct data *data)
{
    data->len = (uint16_t)(1 + pick(sequence, step, 13, 3) * (DATA_BYTES - 1) / 2);
    memset(data->text, 'a' + (int)pick(sequence, step, 15, 20), data->len);
}

static bool is_for_slots(enum command_verb verb)
{
    return verb <= COMMAND_SETTLE && verb != COMMAND_ENQUEUE && verb != COMMAND_DEQUEUE &&
           verb != COMMAND_PASS && verb != COMMAND_ZADD && verb != COMMAND_ZSCORE;
}

/* Half of the commands for locks are for slots; LOOK is for the name. Two daemons may not agree how many there
 * are. */
static void draw_slot(uint64_t sequence, uint64_t step, struct store_command *command)
{
    struct draw_slot {
        int64_t half, slot, alone, fewer;
    } drawn = {chance_below(sequence, 2, 4 * step, CHANCE_PLAN, 2),
               chance_below(sequence, 2, 4 * step + 1, CHANCE_PLAN, SLOTS),
               chance_below(sequence, 2, 4 * step + 2, CHANCE_PLAN, 3),
               chance_below(sequence, 2, 4 * step + 3, CHANCE_PLAN, 10)};
    if (command->verb == COMMAND_LOOK) {
        command->slots = drawn.fewer == 0 ? SLOTS - 1 : SLOTS;
        command->self = drawn.alone == 0 ? 0 : command->self;
    } else if (command->verb == COMMAND_CUT) {
        command->slots = drawn.half == 0 ? SLOTS : 0;
    } else if (is_for_slots(command->verb) && command->verb > COMMAND_GROUP_NEW && drawn.half == 0) {
        command->slot = 1 + (unsigned)drawn.slot;
    }
}

static void draw(uint64_t sequence, uint64_t step, struct store_command *command)
{
    static const enum command_verb verbs[] = {
        COMMAND_TIME,      COMMAND_GROUP,   COMMAND_PROBE,     COMMAND_PROBE,        COMMAND_GROUP_SET,
        COMMAND_GROUP_NEW, COMMAND_SET,     COMMAND_SET,       COMMAND_SET,          COMMAND_HEAL,
        COMMAND_HEAL,      COMMAND_GET,     COMMAND_ZADD,      COMMAND_ZADD,         COMMAND_ZSCORE,
        COMMAND_ENQUEUE,   COMMAND_ENQUEUE, COMMAND_ENQUEUE,   COMMAND_ENQUEUE,      COMMAND_PASS,
        COMMAND_PASS,      COMMAND_DEQUEUE, COMMAND_MOVE,      COMMAND_MOVE,         COMMAND_MOVE,
        COMMAND_RELEASE,   COMMAND_RELEASE, COMMAND_RELEASE,   COMMAND_EXTEND,       COMMAND_CHECK,
        COMMAND_SETTLE,    COMMAND_SETTLE,  COMMAND_SHARE,     COMMAND_SHARE,        COMMAND_SHARE,
        COMMAND_SHARE,     COMMAND_SHARE,   COMMAND_SHARE_AT,  COMMAND_ALONG,        COMMAND_ALONG,
        COMMAND_LOOK,      COMMAND_LOOK,    COMMAND_LOOK,      COMMAND_DOWN,         COMMAND_DOWN,
        COMMAND_DOWN,      COMMAND_EXTEND,  COMMAND_EXTEND,    COMMAND_CUT,          COMMAND_CUT,
        COMMAND_CUT,       COMMAND_DATA,    COMMAND_DATA,      COMMAND_ADOPT,        COMMAND_ADOPT,
        COMMAND_SEE,       COMMAND_SEE,     COMMAND_GROUP_SET, COMMAND_PROBE_LASTING};
    int64_t many = sizeof(verbs) / sizeof(verbs[0]);
    *command = (struct store_command){
        .verb = verbs[pick(sequence, step, 0, many)],
        .name = (unsigned)pick(sequence, step, 1, NAMES),
        .tok = 1 + (uint32_t)pick(sequence, step, 2, TOKENS),
        .to = 1 + (uint32_t)pick(sequence, step, 3, TOKENS),
        .bucket = (uint32_t)pick(sequence, step, 4, 3),
        .number = 1 + (uint64_t)pick(sequence, step, 5, 60),
    };
    if (command->verb == COMMAND_ZADD)
        command->number += UINT64_C(1700000000000000) + FENCE_MAX / 2 * (step % 3 == 0);
    else
        command->number += 10;
    model_ids(command);
    if (command->verb == COMMAND_RELEASE && pick(sequence, step, 6, 3) == 0)
        command->self = 0;
    if ((command->verb == COMMAND_RELEASE || command->verb == COMMAND_MOVE) &&
        pick(sequence, step, 15, 2) == 0)
        command->other = 1 + (uint32_t)pick(sequence, step, 10, TOKENS);
    if (command->verb == COMMAND_DOWN || command->verb == COMMAND_ADOPT)
        command->other = 1 + (uint32_t)pick(sequence, step, 10, TOKENS);
    if (command->verb == COMMAND_RELEASE && command->other != 0 && pick(sequence, step, 11, 2) == 0)
        command->third = 1 + (uint32_t)pick(sequence, step, 7, TOKENS);
    if (command->verb == COMMAND_EXTEND && pick(sequence, step, 6, 3) != 0)
        command->most_ms = command->number + 7;
    command->stays = pick(sequence, step, 13, 2) == 0;
    command->shared = command->verb == COMMAND_ENQUEUE && pick(sequence, step, 12, 2) == 0;
    command->waited_ms = (uint64_t)pick(sequence, step, 14, 1000000);
    if (command->verb == COMMAND_ENQUEUE || command->verb == COMMAND_RELEASE || command->verb == COMMAND_LOOK)
        command->number += 200;
    if (command->verb == COMMAND_DATA)
        draw_data(sequence, step, &command->data);
    draw_slot(sequence, step, command);
    if (command->verb >= COMMAND_GROUP_SET && command->verb <= COMMAND_GROUP_NEW)
        draw_group(sequence, step, &command->group);
    if (command->verb >= COMMAND_GROUP_SET && command->verb <= COMMAND_GROUP_NEW && command->group.step != 0)
        command->number = 0;
}

static bool knows[NATIVES];

/* Where the server has a native command for it, two of three are asked so. */
static void draw_native(uint64_t sequence, uint64_t step, struct store_command *command)
{
    for (unsigned i = 0; i < NATIVES; i++) {
        bool list = (command->name & SIM_LIST) != 0;
        if (!knows[i] || model_natives[i].verb != command->verb ||
            list != (model_natives[i].native == COMMAND_SET_MSETEX) ||
            chance_below(sequence, 3, step, CHANCE_PLAN, 3) == 0)
            continue;
        command->native = model_natives[i].native;
        command->other = command->third = command->self = 0;
    }
}

/* Every third command is for several of the names, where there is such a command. */
static void draw_list(uint64_t sequence, uint64_t step, struct store_command *command)
{
    static const unsigned lists[] = {SIM_LIST | 3, SIM_LIST | 6, SIM_LIST | 7};
    bool has = command_for_all(command->verb) != command->verb || command->verb == COMMAND_CUT;
    if (!has || chance_below(sequence, 2, 2 * step, CHANCE_PLAN, 3) != 0)
        return;
    command->name = lists[chance_below(sequence, 2, 2 * step + 1, CHANCE_PLAN, 3)];
    command->other = command->self = 0;
    command->slot = command->slots = 0;
    model_buckets(command);
}

/* An instant of the server's clock: the draw is the distance from now, to either side. */
static void draw_instant(uint64_t sequence, uint64_t step, struct store_command *command)
{
    bool over = pick(sequence, step, 7, 4) == 0;
    if (command->verb == COMMAND_HEAL || command->verb == COMMAND_SHARE_AT)
        command->number = (uint64_t)now_ms() + (over ? -command->number : command->number);
}

static bool is_near(int64_t instant_ms, int64_t at_ms)
{
    int64_t left_ms = instant_ms - at_ms;
    return left_ms >= -NEAR_MS && left_ms <= NEAR_MS;
}

/* Whether a key expires so near to at_ms that the model and Redis may rightly answer differently. */
static bool hangs(const struct store *store, unsigned name, int64_t at_ms)
{
    bool near = is_near(store->group.expires_ms, at_ms);
    FOR_NAMES(n, name)
    {
        near |= is_near(store->key[n].expires_ms, at_ms) || is_near(store->queue[n].expires_ms, at_ms) ||
                is_near(store->mark[n].expires_ms, at_ms) || is_near(store->slots[n].expires_ms, at_ms);
        near |= is_near(store->told[n].expires_ms, at_ms);
        for (unsigned slot = 1; slot <= SLOTS; slot++)
            near |= is_near(store_key(store, n, slot)->expires_ms, at_ms);
        for (unsigned i = 0; i < store->key[n].readers; i++)
            near |= is_near(store->key[n].reader[i].ends_ms, at_ms);
    }
    return near;
}

/* Which of two comes first depends on it. */
static bool is_tie(const struct store_queue *queue)
{
    for (unsigned i = 1; i < queue->count; i++)
        if (is_near(queue->score_ms[i], queue->score_ms[i - 1]))
            return true;
    return false;
}

/* False: the machine was too slow to decide. */
static bool compare(struct resp_format *format, struct store *store, uint64_t sequence, uint64_t step)
{
    char where[64];
    struct store_command command;
    struct vote real, modelled;
    draw(sequence, step, &command);
    draw_list(sequence, step, &command);
    draw_native(sequence, step, &command);
    while (hangs(store, command.name, now_ms()))
        nap();
    draw_instant(sequence, step, &command);
    int64_t begin_ms = now_ms();
    ask(format, &command, &real);
    if (now_ms() - begin_ms > 2 || hangs(store, command.name, begin_ms))
        return false;
    if ((command.verb == COMMAND_HEAL || command.verb == COMMAND_SHARE_AT) &&
        is_near((int64_t)command.number, begin_ms))
        return false;
    store_run(store, begin_ms, &command, model_publish, NULL, &modelled);
    snprintf(where, sizeof(where), "sequence %llu step %llu", (unsigned long long)sequence,
             (unsigned long long)step);
    if (modelled.kind == VOTE_TOKEN && store_key(store, command.name, command.slot)->list != 0)
        modelled.kind = real.kind; /* what stands there is no token */
    else
        must_be_same(&command, &real, &modelled, NEAR_MS, where);
    return (command.name & SIM_LIST) || !is_tie(&store->queue[command.name]);
}

/* Commands that people type into redis-cli. */
static void by_hand(struct store *store, const char *prefix, uint64_t sequence, uint64_t step)
{
    static const char *const rubbish[] = {"rubbish", "3", "2 N=3 max_ttl=1000 run= from=1"};
    switch (pick(sequence, step, 11, 30)) {
    case 0:
        ask_text("SET %s,group \"%s\"", prefix, rubbish[step % 3]);
        store->group = (struct store_group){.kind = STORE_GROUP_RUBBISH, .expires_ms = INT64_MAX};
        break;
    case 1:
        ask_text("DEL %s,group", prefix);
        store->group.kind = STORE_GROUP_NONE;
        break;
    case 2:
        ask_text("FLUSHALL");
        store_clear(store);
        break;
    default: break;
    }
}

/* Keys that no command has touched yet. */
static struct resp_format *begin_anew(struct resp_format *old, struct store *store, char prefix[32])
{
    static unsigned spaces;
    resp_format_free(old);
    snprintf(prefix, 32, "model%u:", spaces++);
    store_clear(store);
    struct resp_format *format = resp_format_new(prefix);
    ck_assert_ptr_nonnull(format);
    return format;
}

static unsigned compare_sequence(uint64_t sequence)
{
    unsigned compared = 0;
    char prefix[32];
    struct store store;
    struct resp_format *format = begin_anew(NULL, &store, prefix);
    for (uint64_t step = 0; step < COMMANDS; step++) {
        if (!compare(format, &store, sequence, step)) {
            format = begin_anew(format, &store, prefix);
            continue;
        }
        compared++;
        by_hand(&store, prefix, sequence, step);
        if (pick(sequence, step, 12, 8) == 0)
            nap();
    }
    resp_format_free(format);
    return compared;
}

SETUP(setup, teardown);
SETUP(model_connect, model_disconnect);

T(model_votes_as_a_real_server)
{
    unsigned compared = 0;
    scripts_load();
    struct resp_format *format = resp_format_new("native:");
    for (unsigned i = 0; i < NATIVES; i++)
        knows[i] = model_knows(format, i);
    resp_format_free(format);
    model_listen();
    for (uint64_t sequence = 0; sequence < MOST_SEQUENCES; sequence++) {
        if (sequence >= SEQUENCES && compared >= ENOUGH)
            break;
        compared += compare_sequence(sequence);
    }
    close(model.ear);
    ck_assert_uint_ge(compared, ENOUGH);
}

T_EACH(a_lost_script_is_not_run, 17)
{
    static const enum command_verb verbs[] = {COMMAND_RELEASE, COMMAND_EXTEND, COMMAND_CHECK,  COMMAND_MOVE,
                                              COMMAND_ENQUEUE, COMMAND_PASS,   COMMAND_SETTLE, COMMAND_LOOK,
                                              COMMAND_DOWN,    COMMAND_CUT};
    static const enum command_verb lists[] = {COMMAND_SET,   COMMAND_HEAL, COMMAND_RELEASE, COMMAND_EXTEND,
                                              COMMAND_CHECK, COMMAND_MOVE, COMMAND_ZSCORE};
    struct store_command command = {.verb = verbs[_i % 10], .slots = 3, .tok = 1, .to = 2, .number = 1000};
    struct vote vote;
    if (_i >= 10) {
        command.verb = lists[_i - 10];
        command.name = SIM_LIST | 7;
    }
    model_ids(&command);
    struct resp_format *format = resp_format_new("fresh:");
    ask(format, &command, &vote);
    ck_assert_int_eq(vote.kind, VOTE_NOT_RUN);
    resp_format_free(format);
}
