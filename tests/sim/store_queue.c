#include "tests/sim/store_queue.h"

#include <string.h>

#include "tests/sim/mutant.h"
#include "tests/sim/store_readers.h"

static void queue_out(struct store_queue *queue, unsigned at)
{
    queue->count--;
    for (unsigned i = at; i < queue->count; i++) {
        queue->id[i] = queue->id[i + 1];
        queue->score_ms[i] = queue->score_ms[i + 1];
    }
}

/* Returns whether it was there. */
static bool queue_leave(struct store_queue *queue, uint32_t id)
{
    for (unsigned i = 0; i < queue->count; i++) {
        if (queue->id[i] != id)
            continue;
        queue_out(queue, i);
        return true;
    }
    return false;
}

static bool queue_has(const struct store_queue *queue, uint32_t id)
{
    for (unsigned i = 0; i < queue->count; i++)
        if (queue->id[i] == id)
            return true;
    return false;
}

static void queue_join(struct store_queue *queue, uint32_t id, int64_t score_ms)
{
    if (queue->count == STORE_QUEUE)
        queue->count--;
    unsigned at = queue->count++;
    for (; at > 0 && (queue->score_ms[at - 1] > score_ms ||
                      (queue->score_ms[at - 1] == score_ms && queue->id[at - 1] > id));
         at--) {
        queue->id[at] = queue->id[at - 1];
        queue->score_ms[at] = queue->score_ms[at - 1];
    }
    queue->id[at] = id;
    queue->score_ms[at] = score_ms;
}

unsigned queue_say(const struct publisher *to, uint32_t id, char what, const struct store_command *command)
{
    unsigned slot = what == 'g' ? command->slot : 0;
    return to->publish != NULL ? to->publish(to->arg, id, what, first_name(command->name), slot) : 0;
}

bool queue_is_kept(const struct store_key *key)
{
    return store_marks != NULL && key->readers == 0 && key->list == 0 && store_marks(key->tok);
}

/* The daemon that set the key is told that somebody waits; returns how many heard it. */
static unsigned queue_tell(const struct publisher *to, const struct store_key *key,
                           const struct store_command *command)
{
    return queue_is_kept(key) ? 0 : queue_say(to, key->maker, 't', command);
}

void queue_letter(const struct store_command *command, const struct publisher *to, uint32_t maker)
{
    if (command->self != 0 && maker != command->self && !mutant(MUTANT_NO_LETTER))
        queue_say(to, maker, 'g', command);
}

/* As the scripts do it. */
static void queue_walk(struct store *s, int64_t now_ms, const struct store_command *command,
                       const struct publisher *to, struct vote *vote)
{
    struct store_queue *queue = &s->queue[command->name];
    vote->kind = VOTE_YES;
    for (;;) {
        unsigned first = queue->count > 0 && queue->id[0] == command->self;
        if (first >= queue->count)
            return;
        uint32_t id = queue->id[first];
        int64_t waited_ms = now_ms - queue->score_ms[first];
        queue_out(queue, first);
        bool late = vote->kind == VOTE_UNHEARD;
        vote->kind = VOTE_UNHEARD;
        if (queue_say(to, id, late ? 'l' : 'w', command) == 0)
            continue;
        if (late)
            return;
        vote->kind = VOTE_HEARD;
        vote->number = waited_ms > 0 ? (uint64_t)waited_ms : 0;
        return;
    }
}

/* The daemon that waits has a place in the queue. */
static void queue_stands(struct store *s, int64_t now_ms, const struct store_command *command)
{
    struct store_queue *queue = &s->queue[command->name];
    if (!queue_has(queue, command->self))
        queue_join(queue, command->self, now_ms - (int64_t)command->waited_ms);
    queue->expires_ms = now_ms + (int64_t)command->number;
}

/* Readers have the name, or a reader asks for a free one. */
static void enqueue_marks(struct store *s, int64_t now_ms, const struct store_command *command,
                          const struct publisher *to, struct vote *vote)
{
    struct store_mark *mark = &s->mark[command->name];
    bool barred = readers_barred(s, now_ms, command);
    if (command->shared && !barred)
        return;
    if (command->shared && !store_there(&s->key[command->name], now_ms)) {
        queue_leave(&s->queue[command->name], mark->id);
        if (queue_say(to, mark->id, 'w', command) == 0) {
            mark->id = 0;
            return;
        }
    }
    vote->kind = VOTE_HEARD;
    vote->number =
        (uint64_t)((command->shared ? mark->expires_ms : s->key[command->name].expires_ms) - now_ms);
    if (barred)
        return;
    *mark = (struct store_mark){
        .id = command->self, .came_ms = now_ms - (int64_t)command->waited_ms, .expires_ms = now_ms + 2000};
    vote->marked = true;
}

void queue_enqueue(struct store *s, int64_t now_ms, const struct store_command *command,
                   const struct publisher *to, struct vote *vote)
{
    const struct store_key *key = &s->key[command->name];
    queue_stands(s, now_ms, command);
    if (readers_have(key, now_ms) || (command->shared && !store_there(key, now_ms))) {
        enqueue_marks(s, now_ms, command, to, vote);
        return;
    }
    if (!store_there(key, now_ms))
        return;
    bool silent = mutant(MUTANT_ENQUEUE_SILENT);
    vote->kept = queue_is_kept(key);
    vote->kind = silent || vote->kept || queue_tell(to, key, command) > 0 ? VOTE_HEARD : VOTE_UNHEARD;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

void queue_along(struct store *s, int64_t now_ms, const struct store_command *command,
                 const struct publisher *to, struct vote *vote)
{
    const struct store_key *key = &s->key[command->name];
    if (s->mark[command->name].id == command->self)
        s->mark[command->name].id = 0;
    if (!store_there(key, now_ms) || key->readers > 0)
        queue_walk(s, now_ms, command, to, vote);
    else if (key->maker != command->self)
        queue_tell(to, key, command);
}

/* How many slots the name has by <prefix>,slots:<name>; 0: the key is not there. */
static unsigned slots_said(const struct store *s, int64_t now_ms, unsigned name)
{
    return now_ms <= s->slots[name].expires_ms ? s->slots[name].n : 0;
}

static void look_agrees(struct store *s, int64_t now_ms, const struct store_command *command)
{
    if (slots_said(s, now_ms, command->name) == 0)
        s->slots[command->name].n = command->slots;
    int64_t ends_ms = now_ms + (int64_t)command->number;
    if (s->slots[command->name].n == command->slots || s->slots[command->name].expires_ms > ends_ms)
        s->slots[command->name].expires_ms = ends_ms;
}

/* The daemons of all slots hear that somebody waits, each once; nobody does where another number is said. */
static void look_tells(struct store *s, const struct store_command *command, const struct publisher *to,
                       struct slots_seen *seen)
{
    for (unsigned slot = 1; slot <= command->slots; slot++) {
        const struct store_key *key = store_key(s, command->name, slot);
        bool told = key->maker == command->self;
        for (unsigned before = 1; before < slot; before++)
            told |= store_key(s, command->name, before)->maker == key->maker;
        if (!told && !mutant(MUTANT_ENQUEUE_SILENT) && queue_say(to, key->maker, 't', command) == 0)
            seen->heard = false;
    }
}

void queue_look(struct store *s, int64_t now_ms, const struct store_command *command,
                const struct publisher *to, struct vote *vote)
{
    unsigned taken = 0;
    int64_t ends_ms = INT64_MAX, last_ms = 0;
    vote->kind = VOTE_LOOKED;
    memset(vote->seen.taken, 0xff, sizeof(vote->seen.taken)); /* beyond the last slot, too */
    memset(vote->seen.taken, 0, (command->slots + 7u) / 8);
    look_agrees(s, now_ms, command);
    vote->seen.slots = s->slots[command->name].n;
    vote->seen.heard = vote->seen.slots == command->slots;
    if (command->self != 0)
        queue_stands(s, now_ms, command);
    for (unsigned i = 0; i < s->slot_keys; i++) {
        const struct store_key *key = &s->slot[i].key;
        unsigned slot = s->slot[i].slot - 1;
        if (s->slot[i].name != command->name || slot >= command->slots || !store_there(key, now_ms))
            continue;
        vote->seen.taken[slot / 8] |= (uint8_t)(1u << slot % 8);
        taken++;
        ends_ms = key->expires_ms < ends_ms ? key->expires_ms : ends_ms;
        last_ms = key->expires_ms > last_ms ? key->expires_ms : last_ms;
    }
    if (command->self == 0 || taken < command->slots)
        return;
    vote->number = (uint64_t)(ends_ms - now_ms);
    vote->seen.longest_ms = (uint64_t)(last_ms - now_ms);
    if (vote->seen.heard)
        look_tells(s, command, to, &vote->seen);
}

/* Whether there is no key: of a name with slots, not of each slot. */
static bool pass_walks(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    unsigned slots = slots_said(s, now_ms, command->name), taken = 0;
    for (unsigned i = 0; i < s->slot_keys; i++)
        taken += s->slot[i].name == command->name && s->slot[i].slot <= slots &&
                 store_there(&s->slot[i].key, now_ms);
    return slots != 0 ? taken < slots : !store_there(&s->key[command->name], now_ms);
}

void queue_pass(struct store *s, int64_t now_ms, const struct store_command *command,
                const struct publisher *to, struct vote *vote)
{
    const struct store_key *key = &s->key[command->name];
    if (pass_walks(s, now_ms, command) || mutant(MUTANT_PASS_BLIND))
        queue_walk(s, now_ms, command, to, vote);
    else if (slots_said(s, now_ms, command->name) == 0 && key->readers == 0 && key->maker != command->self)
        queue_tell(to, key, command);
}

void queue_released(struct store *s, int64_t now_ms, const struct store_command *command,
                    const struct publisher *to, struct vote *vote)
{
    struct store_queue *queue = &s->queue[command->name];
    queue_walk(s, now_ms, command, to, vote);
    queue_leave(queue, command->self);
    if (!command->stays)
        return;
    queue_join(queue, command->self, now_ms);
    queue->expires_ms = now_ms + (int64_t)command->number;
}

void queue_dequeue(struct store *s, const struct store_command *command, struct vote *vote)
{
    struct store_queue *queue = &s->queue[command->name];
    vote->kind = queue_leave(queue, command->self) ? VOTE_YES : VOTE_NO;
}

bool queue_writes(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    const struct store_queue *queue = &s->queue[command->name];
    unsigned others = queue->count - queue_has(queue, command->self);
    const struct store_key *key = &s->key[command->name];
    if (command->verb == COMMAND_ALONG && s->mark[command->name].id == command->self &&
        now_ms <= s->mark[command->name].expires_ms)
        return true;
    bool walks = command->verb == COMMAND_ALONG ? !store_there(key, now_ms) || key->readers > 0
                                                : pass_walks(s, now_ms, command);
    return walks && now_ms <= queue->expires_ms && others > 0;
}
