#include "daemon/coordinator/name/wake.h"

#include "daemon/coordinator/name/cut.h"
#include "daemon/coordinator/round/round.h"

enum {
    SLEEP_MIN_MS = 500,
    SLEEP_MAX_MS = WAKE_SLEEP_MS,
    FEW_MS = 20, /* a wake by fewer than a quorum may be all that comes */
};

bool wake_may_come(const struct coordinator *c)
{
    return quorum_has(&c->quorum, c->listening & c->voters);
}

void wake_contended(const struct coordinator *c, struct resource *resource)
{
    (void)c;
    resource->contended = resource->sought = true;
}

bool wake_is_contended(const struct coordinator *c, const struct resource *resource)
{
    (void)c;
    return resource->contended;
}

static struct command command_of(const struct coordinator *c, enum command_verb verb, const struct name *name)
{
    struct command command = {.verb = verb, .to = c->config.self, .number = 2 * (uint64_t)c->longest_ttl_ms};
    name_copy(&command.name, name);
    return command;
}

bool wake_joins(const struct coordinator *c, const struct resource *resource)
{
    const struct queue *queue = resource->queue;
    const struct wait *head = queue->head;
    if (resource->giving_back != NULL && resource->giving_back->hands_over)
        return false; /* the attempt follows a release of this daemon, in a young turn */
    if (queue->wake.woken != 0 || queue->attempt.release_seen || queue->attempt.looked != LOOKED_NOT)
        return false; /* the name is probably free */
    return head->patient && wake_may_come(c) && (head->tried || resource->sought);
}

void wake_join(struct coordinator *c, struct resource *resource, uint64_t round)
{
    struct queue *queue = resource->queue;
    struct command command = command_of(c, COMMAND_ENQUEUE, resource->name);
    command.ref = round;
    command.waited_ms = (uint64_t)(c->now_ms - queue->head->asked_ms);
    command.shared = queue->head->mode->shares;
    queue->wake.queued |= c->voters;
    action_send(c, c->voters, &command);
}

void wake_joined(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round_silent(round) & bit))
        return;
    round->resource->queue->wake.marked |= vote->marked;
    if (vote->kind == VOTE_NO)
        round->tally.granted |= bit;
    else if (vote->kind == VOTE_HEARD || vote->kind == VOTE_UNHEARD)
        round->tally.refused |= bit;
    else
        round->tally.failed |= bit;
    if (!(round->tally.refused & bit))
        return;
    if (vote->kind == VOTE_HEARD)
        round->resource->queue->wake.heard |= bit;
    if (vote->kept)
        round->resource->queue->wake.kept |= bit;
    else
        cut_if_long(c, round->resource, master, vote->number);
    if (vote->number == 0 || vote->number > (uint64_t)(vote->kept ? DURATION_MAX_MS : INT32_MAX))
        return;
    round->resource->queue->attempt.ends |= bit;
    round->resource->queue->attempt.ends_ms[master] = (uint64_t)(c->now_ms + (int64_t)vote->number + 1);
}

/* When the key is over on a quorum, as far as the masters told. */
static int64_t over_ms(const struct coordinator *c, const struct queue *queue)
{
    masters_t known = queue->attempt.ends & c->quorum.of;
    if (!quorum_has(&c->quorum, known))
        return INT64_MAX;
    unsigned rank = masters_count(known) - c->quorum.needed + 1;
    return (int64_t)quorum_nth_largest(queue->attempt.ends_ms, known, rank);
}

/* Whoever releases a lock wakes the next, and a sleep is short all the same, since the wake may be lost. A name that is
 * kept has an end that is known: until then only a BREAK frees it. But a place in the queue lasts for 2 max_ttl. */
static int64_t sleep_ms(struct coordinator *c, const struct queue *queue)
{
    if (quorum_has(&c->quorum, queue->wake.kept))
        return c->longest_ttl_ms;
    return random_between(c, SLEEP_MIN_MS, SLEEP_MAX_MS);
}

static int64_t soon_ms(struct coordinator *c)
{
    return c->now_ms + random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
}

static int64_t woken_ms(const struct coordinator *c, const struct queue *queue)
{
    masters_t prompt = masters_without(queue->wake.woken, queue->wake.late);
    int64_t at_ms = queue->wake.woken_ms + (prompt != 0 ? FEW_MS : c->config.retry_max_ms);
    return quorum_has(&c->quorum, prompt) || at_ms < c->now_ms ? c->now_ms : at_ms;
}

/* Where this daemon was granted some of the votes, the first master decides between those who ask, and
 * another attempt at once would disturb the one that wins. */
int64_t wake_next_ms(struct coordinator *c, struct resource *resource, const struct verdict *verdict)
{
    struct queue *queue = resource->queue;
    bool refused = verdict->code == REPLY_BUSY && verdict->tally.refused != 0;
    if (queue->head == NULL)
        return 0;
    /* A SET does not tell how long the key lives that refused it, and a dead holder's may be all that keeps a quorum
     * away. */
    if (queue->head->patient && verdict->tally.refused != 0 && !verdict->joined)
        cut_while_polling(c, resource);
    if (queue->attempt.release_seen)
        return c->now_ms;
    bool unserved = verdict->code == REPLY_BUSY || verdict->code == REPLY_NOQUORUM;
    if (unserved && queue->head->patient && queue->slots != NULL)
        cut_while_polling(c, resource); /* masters with a free slot do not tell how long others live */
    if (!refused || !queue->head->patient)
        return soon_ms(c);
    if (!wake_may_come(c) || !resource->mode->wakes)
        return soon_ms(c);
    if (queue->wake.woken != 0)
        return woken_ms(c, queue);
    if (!verdict->joined && verdict->tally.granted == 0)
        return c->now_ms;
    if (!quorum_has(&c->quorum, verdict->heard))
        return soon_ms(c);
    c->stats.slept++;
    return earlier_ms(c->now_ms + sleep_ms(c, queue), over_ms(c, queue));
}

int64_t wake_woken(struct coordinator *c, struct queue *queue, unsigned master, bool late)
{
    if (queue->wake.woken == 0) {
        queue->wake.woken_ms = c->now_ms;
        c->stats.woken++;
    }
    queue->wake.woken |= masters_bit(master);
    if (late)
        queue->wake.late |= masters_bit(master);
    queue->wake.queued = masters_without(queue->wake.queued, masters_bit(master));
    return woken_ms(c, queue);
}

void wake_send(struct coordinator *c, enum command_verb verb, const struct name *name, masters_t masters)
{
    masters &= c->releasers;
    if (masters == 0)
        return;
    struct command command = command_of(c, verb, name);
    action_send(c, masters, &command);
}

void wake_leave(struct coordinator *c, struct resource *resource)
{
    if (resource->lease != NULL && !resource->lease->mode->shares && resource->contended)
        return; /* its release takes this daemon out */
    masters_t passes = resource->queue->wake.hushed ? c->releasers : resource->queue->wake.woken;
    if ((resource->queue->wake.queued | passes) == 0)
        return; /* mostly nobody else waits */
    wake_send(c, COMMAND_DEQUEUE, resource->name, resource->queue->wake.queued);
    wake_pass(c, resource->name, passes);
}

void wake_granted(const struct coordinator *c, struct resource *resource)
{
    resource->queue->wake.hushed = false;
    if (resource->queue->wake.queued != 0)
        wake_contended(c, resource);
}

void wake_pass(struct coordinator *c, const struct name *name, masters_t masters)
{
    wake_send(c, COMMAND_PASS, name, masters);
}
