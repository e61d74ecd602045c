#include "daemon/coordinator/keep/data.h"

#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/watch/witness.h"

/* ---- what is told ---- */

void data_asked(const struct coordinator *c, struct wait *wait, const struct data *data)
{
    if (data->len == 0)
        return;
    wait->mode = c->modes[MODE_LEADER];
    data_copy(&told_of_wait(c, wait)->data, data);
}

bool data_begins(struct coordinator *c, struct round *round)
{
    int64_t wall_ms = c->event->wall_us / 1000;
    if (!round->mode->tells || round->phase == ROUND_TELLING)
        return false;
    told_of_wait(c, round->resource->queue->head)->since_ms = wall_ms > 0 ? (uint64_t)wall_ms : 0;
    fence_tell(c, round);
    return true;
}

void data_none(const struct coordinator *c, const struct lease *lease)
{
    struct told *told = told_of_lease(c, lease);
    if (told == NULL)
        return;
    told->data.len = told->votes = 0;
    told->settled = false;
}

void data_taken(const struct coordinator *c, const struct lease *lease, const struct wait *head)
{
    const struct told *from = told_of_wait(c, head);
    struct told *to = told_of_lease(c, lease);
    if (to == NULL)
        return;
    to->since_ms = from->since_ms;
    to->settled = true;
    data_copy(&to->data, &from->data);
}

/* ---- it follows the key ---- */

/* No answer is waited for: the next renewal sends it again. */
void data_again(struct coordinator *c, const struct lease *lease, masters_t masters)
{
    const struct told *told = told_of_lease(c, lease);
    if (told == NULL || told->data.len == 0 || masters == 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_DATA, lease->resource->name);
    command->token = lease->hold.token;
    command->number = lease->hold.fence;
    told_to(command, told);
}

static void adopt_send(struct coordinator *c, const struct lease *lease, const struct token *old,
                       masters_t masters)
{
    if (masters == 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_ADOPT, lease->resource->name);
    command->ref = lease->id;
    command->token = lease->hold.token;
    command->number = lease->hold.fence;
    command->has_other = true;
    command->other = *old;
}

void data_adopt(struct coordinator *c, const struct lease *lease, const struct token *old)
{
    if (told_of_lease(c, lease) != NULL)
        adopt_send(c, lease, old, lease->copies.may & c->releasers);
}

/* Masters differ where a DATA just before the RESUME reached fewer than all; the next renewal makes them the same. What most
 * of them tell wins: an answer that says something else takes a vote away, and one that finds none left stands from then on
 * (Boyer and Moore's majority vote). */
static bool is_adopted(struct told *told, const struct data *data)
{
    bool same = told->data.len == data->len && memcmp(told->data.text, data->text, data->len) == 0;
    if (told->data.len == 0 || told->votes == 0) {
        told->votes = 1;
        return true;
    }
    told->votes = (uint8_t)(same ? told->votes + 1 : told->votes - 1);
    return false;
}

void data_adopted(struct coordinator *c, const struct coordinator_event *event)
{
    struct lease *lease = pool_find(&c->leases, event->ref);
    struct told *told = lease != NULL ? told_of_lease(c, lease) : NULL;
    if (told == NULL)
        return;
    if (event->vote.kind == VOTE_NOT_RUN && lease->resume != NULL)
        adopt_send(c, lease, &lease->resume->old, masters_bit(event->master));
    if (event->vote.kind != VOTE_DATA || told->settled || !is_adopted(told, &event->vote.data))
        return;
    told->since_ms = event->vote.number;
    data_copy(&told->data, &event->vote.data);
    witness_touch(c, lease->resource->name);
}

/* ---- DATA ---- */

static struct reply *data_refuse(struct coordinator *c, const struct coordinator_event *event,
                                 enum reply_code code, enum text text)
{
    struct reply *reply = action_reply(c, event->session, event->request, code, &event->what.name);
    reply->text = text;
    return reply;
}

/* A lock that was resumed a moment ago may have adopted nothing yet; since when it is held is not known then. */
static void data_change(struct coordinator *c, const struct lease *lease, const struct data *data)
{
    struct told *told = told_of_lease(c, lease);
    if (told->data.len == 0)
        told->since_ms = c->event->wall_us > 0 ? (uint64_t)c->event->wall_us / 1000 : 0;
    told->settled = true;
    data_copy(&told->data, data);
}

static void data_ask(struct coordinator *c, const struct coordinator_event *event, const struct lease *lease)
{
    struct round *round =
        round_begin(c, ROUND_TELLING, lease->resource->name, &lease->hold.token, lease->ttl_ms);
    if (round == NULL) {
        c->stats.refused_limit++;
        data_refuse(c, event, REPLY_LIMIT, TEXT_NONE)->limit = LIMIT_MAX_ROUNDS;
        return;
    }
    data_change(c, lease, &event->what.data);
    round->purpose = ROUND_TELL;
    round->lease = lease->id;
    round->proposal = lease->hold.fence;
    round->session = event->session;
    round->request = event->request;
    round->peer = event->peer.number;
    round->tally.asked = round->tally.granted = c->extenders;
    c->asking++;
    admission_begins(c, round->peer);
    fence_ask(c, round, c->extenders);
}

void data_request(struct coordinator *c, const struct coordinator_event *event, struct lease *lease)
{
    if (lease == NULL || lease->hold.session == NULL || lease->hold.session->key != event->session) {
        data_refuse(c, event, REPLY_NOTHELD, TEXT_NOT_YOURS);
    } else if (c->now_ms >= lease->until_ms) {
        data_refuse(c, event, REPLY_NOTHELD, TEXT_EXPIRED);
    } else if (told_of_lease(c, lease) == NULL) {
        data_refuse(c, event, REPLY_MODE, TEXT_NO_DATA);
    } else if (!quorum_has(&c->quorum, c->extenders)) {
        c->stats.refused_noquorum++;
        action_noquorum(c, data_refuse(c, event, REPLY_NOQUORUM, TEXT_NONE), NULL);
    } else {
        data_ask(c, event, lease);
    }
}

static struct reply *data_answer(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct reply *reply = action_reply(c, round->session, round->request, code, round->name);
    round->request = 0;
    c->asking--;
    admission_ends(c, round->peer);
    return reply;
}

/* Masters that do not have the key have not been told: where so many lack it that no quorum can have it, it is lost, as
 * its next renewal will find out. */
void data_look(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t told = masters_without(fence->accepted, round->voided);
    masters_t gone = masters_without(fence->answered, fence->accepted | round->voided);
    masters_t coming = masters_without(fence->pending, round->voided);
    if (quorum_has(&c->quorum, told)) {
        struct reply *reply = data_answer(c, round, REPLY_DATA);
        reply->confirmed = (uint8_t)quorum_count(&c->quorum, told);
        reply->masters = (uint8_t)masters_count(c->quorum.of);
        witness_touch(c, round->name);
    } else if (generation_denies(c, gone)) {
        data_answer(c, round, REPLY_NOTHELD);
    } else if (late || !quorum_has(&c->quorum, told | coming)) {
        struct tally tally = {
            .asked = round->tally.asked, .granted = told, .refused = gone, .failed = round->voided};
        c->stats.refused_noquorum++;
        action_noquorum(c, data_answer(c, round, REPLY_NOQUORUM), &tally);
    } else {
        return;
    }
    round_decided(c, round);
}
