/* The queue of items and the run itself. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

/* ---- the queue: wheels of 64 slots ---- */

/* No item is pushed before the last one that was popped. Times are numbers of eleven digits to the base 64, with a wheel
 * for each digit: an item lies in that of the highest digit in which it differs from the last one popped, at its own
 * digit. So the first slot of the lowest wheel comes next, and in the lowest wheel a slot is one time. A slot is in
 * order of birth. */
static void queue_append(struct sim_queue *q, uint32_t index)
{
    uint64_t at_us = (uint64_t)q->items[index].at_us, differs = at_us ^ q->last_us;
    unsigned wheel = differs == 0 ? 0 : (63 - (unsigned)__builtin_clzll(differs)) / WHEEL_BITS;
    unsigned slot = at_us >> (wheel * WHEEL_BITS) & (WHEEL_SLOTS - 1);
    if (q->filled[wheel] >> slot & 1)
        q->items[q->last[wheel][slot]].next = index;
    else
        q->first[wheel][slot] = index;
    q->last[wheel][slot] = index;
    q->filled[wheel] |= UINT64_C(1) << slot;
    q->wheels |= 1u << wheel;
}

/* Empties the slot; returns its first item. */
static uint32_t queue_empty(struct sim_queue *q, unsigned wheel, unsigned slot)
{
    q->filled[wheel] &= ~(UINT64_C(1) << slot);
    if (q->filled[wheel] == 0)
        q->wheels &= ~(1u << wheel);
    return q->first[wheel][slot];
}

/* Deals the first slot out to the wheels below. */
static void queue_spread(struct sim_queue *q, unsigned wheel)
{
    unsigned slot = (unsigned)__builtin_ctzll(q->filled[wheel]), shift = wheel * WHEEL_BITS;
    uint32_t index = queue_empty(q, wheel, slot), end = q->last[wheel][slot];
    q->last_us = ((q->last_us >> shift & ~(uint64_t)(WHEEL_SLOTS - 1)) | slot) << shift;
    for (bool more = true; more;) {
        uint32_t next = q->items[index].next;
        more = index != end;
        queue_append(q, index);
        index = next;
    }
}

static uint32_t queue_place(struct sim_queue *q)
{
    if (q->free != 0) {
        uint32_t index = q->free - 1;
        q->free = q->items[index].next;
        return index;
    }
    if (q->count == q->capacity) {
        q->capacity = q->capacity == 0 ? 4096 : 2 * q->capacity;
        q->items = realloc(q->items, q->capacity * sizeof(*q->items));
        assert(q->items != NULL);
    }
    return q->count++;
}

void queue_push(struct sim_world *w, int64_t at_us, enum item_kind kind, unsigned a, uint32_t b, uint32_t c)
{
    struct sim_queue *q = &w->queue;
    uint32_t index = queue_place(q);
    q->items[index] = (struct sim_item){.at_us = at_us < w->now_us ? w->now_us : at_us,
                                        .kind = (uint16_t)kind,
                                        .a = (uint16_t)a,
                                        .b = b,
                                        .c = c};
    queue_append(q, index);
}

bool queue_pop(struct sim_world *w, struct sim_item *item)
{
    struct sim_queue *q = &w->queue;
    if (q->wheels == 0)
        return false;
    while ((q->wheels & 1) == 0)
        queue_spread(q, (unsigned)__builtin_ctz(q->wheels));
    unsigned slot = (unsigned)__builtin_ctzll(q->filled[0]);
    uint32_t index = q->first[0][slot];
    *item = q->items[index];
    q->last_us = (uint64_t)item->at_us;
    if (index == q->last[0][slot])
        queue_empty(q, 0, slot);
    else
        q->first[0][slot] = item->next;
    q->items[index].next = q->free;
    q->free = index + 1;
    return true;
}

static void queue_clear(struct sim_queue *q)
{
    q->count = q->free = 0;
    q->wheels = 0;
    q->last_us = 0;
    memset(q->filled, 0, sizeof(q->filled));
}

/* ---- messages between clients and daemons ---- */

struct sim_message *message_at(const struct sim_world *w, uint32_t index)
{
    return &w->message[index / MESSAGE_BLOCK][index % MESSAGE_BLOCK];
}

static uint32_t message_place(struct sim_world *w)
{
    if (w->message_free != 0) {
        uint32_t index = w->message_free - 1;
        w->message_free = message_at(w, index)->next;
        return index;
    }
    struct sim_message **block = &w->message[w->messages / MESSAGE_BLOCK];
    assert(w->messages < MESSAGE_BLOCK * MESSAGE_BLOCKS);
    if (*block == NULL)
        *block = malloc(MESSAGE_BLOCK * sizeof(**block));
    assert(*block != NULL);
    return w->messages++;
}

uint32_t message_new(struct sim_world *w, unsigned kind, uint32_t session, uint32_t request)
{
    uint32_t index = message_place(w);
    struct sim_message *message = message_at(w, index);
    message->kind = (uint8_t)kind;
    message->session = session;
    message->request = request;
    message->target = 0;
    return index;
}

void message_free(struct sim_world *w, uint32_t index)
{
    message_at(w, index)->next = w->message_free;
    w->message_free = index + 1;
}

void message_send(struct sim_world *w, uint32_t session, int direction, uint32_t index)
{
    struct sim_session *s = &w->oracle.session[session];
    struct sim_message *message = message_at(w, index);
    uint64_t who = 2 * session + (unsigned)direction;
    message->next = 0;
    message->at_us = w->now_us + 20 +
                     chance_below(w->seed, who, (uint64_t)w->now_us, CHANCE_CLIENT, s->remote ? 3000 : 100);
    if (s->last[direction] != 0) {
        message_at(w, s->last[direction] - 1)->next = index + 1;
    } else {
        s->first[direction] = index + 1;
        queue_push(w, message->at_us, direction == UP ? ITEM_LINE : ITEM_TELL, 0, session, 0);
    }
    s->last[direction] = index + 1;
}

/* The reader of this end does not run until then. */
static int64_t message_held_us(const struct sim_world *w, const struct sim_session *s, int direction)
{
    return direction == UP ? w->daemon[s->daemon].paused_until_us : w->client[s->client].paused_until_us;
}

void message_arrive(struct sim_world *w, uint32_t session, int direction)
{
    enum item_kind kind = direction == UP ? ITEM_LINE : ITEM_TELL;
    struct sim_session *s = &w->oracle.session[session];
    uint32_t index = s->first[direction] - 1;
    const struct sim_message *message = message_at(w, index);
    int64_t due_us = message->at_us;
    if (w->now_us <= message_held_us(w, s, direction))
        due_us = message_held_us(w, s, direction) + 1;
    if (due_us <= w->now_us && direction == UP)
        due_us = flood_held_us(w, session, message);
    if (due_us > w->now_us) {
        queue_push(w, due_us, kind, 0, session, 0);
        return;
    }
    /* The item is taken out first, because handling it may push others. */
    s->first[direction] = message->next;
    if (s->first[direction] == 0)
        s->last[direction] = 0;
    else
        queue_push(w, message_at(w, s->first[direction] - 1)->at_us, kind, 0, session, 0);
    if (direction == UP)
        daemon_line(w, index);
    else
        client_tell(w, index);
    message_free(w, index);
}

void violation(struct sim_world *w, int invariant, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->why, sizeof(w->why), format, args);
    va_end(args);
    w->invariant = invariant;
    siglongjmp(w->out, 1);
}

/* ---- a run ---- */

static void world_internal(struct sim_world *w, uint32_t message)
{
    daemon_line(w, message);
    message_free(w, message);
}

static void world_item(struct sim_world *w, const struct sim_item *item)
{
    switch ((enum item_kind)item->kind) {
    case ITEM_UP: link_arrive(w, item->b, UP); break;
    case ITEM_DOWN: link_arrive(w, item->b, DOWN); break;
    case ITEM_DIAL: {
        struct sim_daemon *d = &w->daemon[item->a];
        if (item->b >= w->masters || item->c != d->node[item->b].dials)
            break;
        if (w->now_us <= d->paused_until_us)
            queue_push(w, d->paused_until_us + 1, ITEM_DIAL, item->a, item->b, item->c);
        else
            node_dial(w, d, item->b);
        break;
    }
    case ITEM_EAR: {
        struct sim_daemon *d = &w->daemon[item->a];
        if (item->b >= w->masters || item->c != d->incarnation)
            break;
        if (w->now_us <= d->paused_until_us)
            queue_push(w, d->paused_until_us + 1, ITEM_EAR, item->a, item->b, item->c);
        else
            ear_dial(w, d, item->b);
        break;
    }
    case ITEM_EAR_PING: ear_ping(w, item->b); break;
    case ITEM_DIAL_TIMEOUT: node_dial_timeout(w, item->b); break;
    case ITEM_TIMER: daemon_timer(w, &w->daemon[item->a]); break;
    case ITEM_INTERNAL:
        if (w->now_us <= w->daemon[item->a].paused_until_us)
            queue_push(w, w->daemon[item->a].paused_until_us + 1, ITEM_INTERNAL, item->a, item->b, 0);
        else
            world_internal(w, item->b);
        break;
    case ITEM_LINE: message_arrive(w, item->b, UP); break;
    case ITEM_TELL: message_arrive(w, item->b, DOWN); break;
    case ITEM_CLIENT:
        if (item->c == w->client[item->a].timer)
            client_timer(w, &w->client[item->a]);
        break;
    case ITEM_FAULT:
        if (item->c == 0)
            fault_begin(w, &w->plan->fault[item->b], item->b);
        else
            fault_end(w, &w->plan->fault[item->b]);
        break;
    case ITEM_MASTER_BACK:
        if (item->c == w->master[item->a].epoch && !w->master[item->a].running)
            master_start(w, &w->master[item->a]);
        break;
    case ITEM_DAEMON_BACK:
        if (item->c == w->daemon[item->a].incarnation && !w->daemon[item->a].running)
            daemon_start(w, &w->daemon[item->a]);
        break;
    case ITEM_AGREE: heal_agreed(w); break;
    case ITEM_SNAPSHOT:
        for (unsigned i = 0; i < w->masters; i++)
            master_save(w, &w->master[i]);
        queue_push(w, w->now_us + 1000000, ITEM_SNAPSHOT, 0, 0, 0);
        break;
    case ITEM_TICK: heal_tick(w); break;
    case ITEM_FORGE: forge_letter(w, item->b); break;
    case ITEM_ORPHANS:
        if (w->daemon[item->a].running && w->daemon[item->a].incarnation == item->c)
            oracle_orphans(w, &w->daemon[item->a], item->b);
        break;
    case ITEM_DRIFT_SEEN: oracle_drift_seen(w, &w->master[item->a], item->b); break;
    case ITEM_BESIDE:
        if (w->client[item->a].beside.timer == item->c)
            beside_timer(w, &w->client[item->a]);
        break;
    case ITEM_HELLO: client_hello(w, item->b); break;
    case ITEM_STALL_HELLO: oracle_stall_hello(w, &w->daemon[item->a], item->b); break;
    case ITEM_STALL_OVER: oracle_stall_over(w, &w->daemon[item->a], item->b); break;
    case ITEM_GENERATION: generation_tick(w); break;
    case ITEM_NOTICED: oracle_noticed_loss(w, &w->master[item->a], item->b); break;
    }
}

static void world_clear(struct sim_world *w)
{
    for (unsigned i = 0; i < SIM_DAEMONS; i++) {
        coordinator_free(w->daemon[i].core);
        w->daemon[i].core = NULL;
    }
    for (unsigned i = 0; i < SIM_MASTERS; i++) {
        memset(&w->master[i], 0, offsetof(struct sim_master, store));
        store_clear(&w->master[i].store);
    }
    memset(w->daemon, 0, sizeof(w->daemon));
    memset(w->link, 0, sizeof(w->link));
    memset(w->client, 0, sizeof(w->client));
    queue_clear(&w->queue);
    w->conns = w->msgs = w->msg_free = w->messages = w->message_free = 0;
    w->now_us = 0;
    w->items = 0;
    w->healing = w->odd_over = w->wall_ahead = w->far_fence = false;
    w->others_wrote = 0;
    w->keys_us = w->misled_us = 0;
    w->heal_phase = 0;
    w->invariant = 0;
    w->why[0] = '\0';
}

static void world_clocks(struct sim_world *w)
{
    int64_t ppm = w->plan->param[P_PPM];
    int64_t wall_us = w->plan->param[P_WALL] * 1000;
    for (unsigned i = 0; i < SIM_DAEMONS; i++) {
        struct sim_daemon *d = &w->daemon[i];
        d->index = i;
        d->clock.ppm = chance_below(w->seed, i, 0, CHANCE_CLOCK, 2 * ppm + 1) - ppm;
        d->clock.offset_us = 1000000000 + chance_below(w->seed, i, 1, CHANCE_CLOCK, 1000000000);
        d->wall_us = chance_below(w->seed, i, 2, CHANCE_CLOCK, wall_us + 1) - wall_us / 2;
    }
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        w->client[i].clock.ppm = chance_below(w->seed, 100 + i, 0, CHANCE_CLOCK, 2 * ppm + 1) - ppm;
        w->client[i].clock.offset_us =
            500000000 + chance_below(w->seed, 100 + i, 1, CHANCE_CLOCK, 1000000000);
    }
    for (unsigned i = 0; i < SIM_MASTERS; i++) {
        struct sim_master *m = &w->master[i];
        m->index = i;
        m->clock.ppm = chance_below(w->seed, 200 + i, 0, CHANCE_CLOCK, 2 * ppm + 1) - ppm;
        m->clock.offset_us = WALL_ZERO_US + chance_below(w->seed, 200 + i, 1, CHANCE_CLOCK, 100000);
    }
}

static const struct sim_world *present;

static bool world_marks(uint32_t tok)
{
    return oracle_is_mark(present, tok);
}

static void world_begin(struct sim_world *w)
{
    present = w;
    store_marks = world_marks;
    const int64_t *param = w->plan->param;
    world_clear(w);
    w->seed = w->plan->seed;
    w->daemons = (unsigned)param[P_DAEMONS];
    w->names = (unsigned)param[P_NAMES];
    w->keys = param[P_SLOTS] > 0 ? SIM_KEYS : w->names;
    w->masters = 0;
    w->full_us = w->jump_us = w->keep_us = 0;
    w->rubbish = w->far_clocks = w->old_data = false;
    w->true_clocks = w->only_backs = true;
    w->quick_links = w->plan->param[P_TAIL_PPM] == 0;
    w->early_stall = false;
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_daemon *d = &w->daemon[i];
        d->index = i;
        daemon_configure(w, d);
        w->masters = d->masters > w->masters ? d->masters : w->masters;
        w->full_us = d->full_us > w->full_us ? d->full_us : w->full_us;
    }
    for (unsigned i = 0; i < w->plan->faults; i++) {
        const int64_t *fault = w->plan->fault[i].field;
        w->rubbish |= fault[F_KIND] == FAULT_RUBBISH;
        w->old_data |= fault[F_KIND] == FAULT_CRASH_OLD || fault[F_KIND] == FAULT_PROMOTE;
        w->old_data |= fault[F_KIND] == FAULT_REPLICA && fault[F_ARG] > 1;
        w->quick_links &= fault[F_KIND] != FAULT_SLOW_UP && fault[F_KIND] != FAULT_SLOW_DOWN;
        w->quick_links &= fault[F_KIND] != FAULT_HANG;
        w->true_clocks &= fault[F_KIND] != FAULT_JUMP && fault[F_KIND] != FAULT_DRIFT;
        w->true_clocks &= fault[F_KIND] != FAULT_SET;
        w->far_clocks |= fault[F_KIND] == FAULT_SET;
        bool back = fault[F_KIND] == FAULT_SET && fault[F_ARG] < 0;
        w->only_backs &= back || fault[F_KIND] == FAULT_CRASH_DAEMON || fault[F_KIND] == FAULT_PAUSE_CLIENT;
        if (fault[F_KIND] == FAULT_JUMP && fault[F_ARG] < 0)
            w->jump_us -= fault[F_ARG] * 1000;
    }
    for (unsigned i = 0; i < w->plan->ops; i++)
        if (w->plan->op[i].field[O_KEPT] * 1000 > w->keep_us)
            w->keep_us = w->plan->op[i].field[O_KEPT] * 1000;
    oracle_begin(w);
    w->trace.lines = 0;
    w->trace.hash = w->seed;
    world_clocks(w);
    for (unsigned i = 0; i < w->masters; i++) {
        struct sim_master *m = &w->master[i];
        m->started_us = -param[P_UPTIME] * 1000 - chance_below(w->seed, 200 + i, 2, CHANCE_CLOCK, 1500000);
        m->lost_us = m->forgot_us = m->wrote_us = m->held_us = m->started_us;
        m->jumped_us = m->jumped_before_us = m->rubbish_us = LONG_BEFORE;
        m->lacks_us = NEVER;
        m->running = true;
        m->next_client = 1 + (uint64_t)chance_below(w->seed, 200 + i, 3, CHANCE_CLOCK, 5);
        m->epoch = 1;
    }
    queue_push(w, 0, ITEM_SNAPSHOT, 0, 0, 0);
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_daemon *d = &w->daemon[i];
        bool late = param[P_ODD_LATE] > 0 && i == w->daemons - 1;
        if (late)
            queue_push(w, param[P_ODD_LATE] * 1000, ITEM_DAEMON_BACK, i, 0, d->incarnation);
        else
            daemon_start(w, d);
    }
    for (unsigned i = 0; i < w->plan->faults; i++)
        queue_push(w, w->plan->fault[i].field[F_AT], ITEM_FAULT, 0, i, 0);
    for (unsigned i = 0; i < w->plan->clients; i++) {
        w->client[i].index = i;
        client_start(w, &w->client[i]);
    }
    queue_push(w, param[P_HEAL] * 1000, ITEM_TICK, 0, 0, 0);
    if (generation_class(w))
        queue_push(w, 1000, ITEM_GENERATION, 0, 0, 0);
}

void world_run(struct sim_world *w, const struct sim_plan *plan)
{
    w->plan = plan;
    world_begin(w);
    struct sim_item item;
    while (queue_pop(w, &item)) {
        w->now_us = item.at_us;
        w->items++;
        world_item(w, &item);
        if (w->invariant < 0) /* heal_tick() says that all is done */
            break;
    }
    w->invariant = 0;
}

void world_free(struct sim_world *w)
{
    for (unsigned i = 0; i < SIM_DAEMONS; i++)
        coordinator_free(w->daemon[i].core);
    free(w->queue.items);
    free(w->conn);
    for (unsigned i = 0; i < MSG_BLOCKS; i++)
        free(w->msg[i]);
    for (unsigned i = 0; i < MESSAGE_BLOCKS; i++)
        free(w->message[i]);
    free(w->oracle.tok);
    free(w->oracle.tok_table);
    free(w->oracle.session);
    free(w->oracle.asked);
    free(w->trace.line);
    free(w);
}
