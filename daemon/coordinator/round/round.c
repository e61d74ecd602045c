#include "daemon/coordinator/round/round.h"

#include <assert.h>

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/name/cut.h"

void round_wait(struct coordinator *c, struct round *round)
{
    round->in_flight.timeout_ms = c->now_ms + c->config.node_timeout_ms;
    in_flight_add(&c->rounds_pending, &round->in_flight);
}

struct round *round_begin(struct coordinator *c, enum round_phase phase, const struct name *name,
                          const struct token *token, int64_t ttl_ms)
{
    assert(ttl_ms <= INT32_MAX);
    struct round *round = pool_take(&c->rounds);
    if (round == NULL)
        return NULL;
    c->stats.rounds++;
    round->phase = phase;
    round->t0_ms = c->now_ms;
    round->memories = c->memories;
    /* A lock that waited, or is renewed, gets no longer TTL than new ones do by now. */
    round->ttl_ms = (int32_t)(token_is_mark(token) ? ttl_ms : earlier_ms(ttl_ms, c->ttl_most_ms));
    round->token = *token;
    round->name = intern_name_again(&c->intern, name);
    round_wait(c, round);
    return round;
}

static bool is_legal_move(enum round_phase from, enum round_phase to)
{
    static const unsigned moves[] = {
        [ROUND_QUEUING] = 0,
        [ROUND_LOOKING] = 0,
        [ROUND_ASKING] = 1u << ROUND_REASKING | 1u << ROUND_FENCING | 1u << ROUND_READING |
                         1u << ROUND_TELLING | 1u << ROUND_DECIDED,
        [ROUND_REASKING] = 1u << ROUND_REASKING | 1u << ROUND_FENCING,
        [ROUND_FENCING] = 1u << ROUND_READING | 1u << ROUND_TELLING | 1u << ROUND_DECIDED,
        [ROUND_READING] = 1u << ROUND_RAISING | 1u << ROUND_TELLING | 1u << ROUND_DECIDED,
        [ROUND_RAISING] = 1u << ROUND_TELLING | 1u << ROUND_DECIDED,
        [ROUND_CHECKING] = 1u << ROUND_EXTENDING | 1u << ROUND_DECIDED,
        [ROUND_EXTENDING] = 1u << ROUND_DECIDED,
        [ROUND_MOVING] = 1u << ROUND_RESUMING | 1u << ROUND_EXTENDING | 1u << ROUND_DECIDED,
        [ROUND_RESUMING] = 1u << ROUND_READING | 1u << ROUND_DECIDED,
        [ROUND_RESERVING] = 1u << ROUND_DECIDED,
        [ROUND_TELLING] = 1u << ROUND_DECIDED,
        [ROUND_SEEING] = 1u << ROUND_DECIDED,
        [ROUND_DECIDED] = 0,
    };
    return (moves[from] & (1u << to)) != 0;
}

void round_move(struct coordinator *c, struct round *round, enum round_phase to)
{
    assert(is_legal_move(round->phase, to));
    round->phase = to;
    if (to == ROUND_DECIDED)
        return;
    in_flight_remove(&c->rounds_pending, &round->in_flight);
    round_wait(c, round);
}

void round_free(struct coordinator *c, struct round *round)
{
    assert(round->resource == NULL && round->request == 0 && round->resume == NULL);
    in_flight_remove(&c->rounds_pending, &round->in_flight);
    intern_name_back(&c->intern, round->name);
    pool_give(&c->rounds, round);
}

/* EXTEND and CHECK of a lease that was downgraded find any of its tokens, and leave the reader's. */
static void show_reader(const struct lease *lease, struct command *command)
{
    command->verb = COMMAND_DOWN;
    command->to = lease->hold.token;
    command->has_other = true;
    command->other = lease->secret->was;
}

/* EXTEND and CHECK of a lease that settles find either token, and leave the told one. */
static void show_secret(const struct lease *lease, struct command *command)
{
    command->token = *secret_key(lease);
    if (secret_other(lease) == NULL)
        return;
    command->number += command->verb == COMMAND_CHECK; /* no TTL becomes longer */
    if (lease->secret->down) {
        show_reader(lease, command);
        return;
    }
    command->verb = COMMAND_SETTLE;
    command->to = lease->hold.token;
}

static void show_move(const struct round *round, struct command *command)
{
    command->to = round->token;
    command->has_other = round->resume->has_key;
    command->other = round->resume->key;
}

/* While the lock is being taken, the head knows what is told of it; then the lease does. */
static void show_data(const struct coordinator *c, const struct round *round, struct command *command)
{
    const struct lease *lease = pool_find(&c->leases, round->lease);
    if (lease != NULL) /* perhaps a reader's by now: a master that did not run it is told the same again */
        told_to(command, told_in(c, lease));
    else if (round->resource != NULL)
        told_to(command, told_of_wait(c, round->resource->queue->head));
}

/* Daemons with a smaller max_ttl wait for no longer than that. */
static uint64_t extend_by_ms(const struct coordinator *c, uint64_t ttl_ms)
{
    bool longer = c->differing != 0 && ttl_ms > (uint64_t)c->differ_ttl_ms;
    return longer ? (uint64_t)c->differ_ttl_ms : ttl_ms;
}

void round_send(struct coordinator *c, const struct round *round, enum command_verb verb, masters_t masters,
                uint64_t number)
{
    if (masters == 0)
        return;
    bool asks = verb == COMMAND_EXTEND || verb == COMMAND_CHECK;
    const struct lease *lease = asks ? pool_find(&c->leases, round->lease) : NULL;
    struct command *command = action_command(c, masters, verb, round->name);
    command->ref = round->id;
    command->number = verb == COMMAND_EXTEND ? extend_by_ms(c, number) : number;
    bool moves = command_for_one(verb) == COMMAND_MOVE;
    command->token = moves ? round->resume->old : round->token;
    if (moves)
        show_move(round, command);
    if (lease != NULL)
        show_secret(lease, command);
    if (command_for_one(command->verb) == COMMAND_EXTEND)
        command->most_ms = cut_most_ms(c, &command->token);
    if (verb == COMMAND_SEE)
        command->to = c->config.self;
    if (verb == COMMAND_DATA)
        show_data(c, round, command);
    if (verb != COMMAND_ZADD && verb != COMMAND_ZSCORE)
        return;
    command->bucket =
        round->name->more == 0 ? quorum_bucket(round->name) : quorum_buckets(round->name, command->buckets);
}

masters_t round_without_key(const struct round *round)
{
    return masters_without(round->tally.refused, round->split.getting);
}

masters_t round_silent(const struct round *round)
{
    const struct tally *tally = &round->tally;
    return masters_without(tally->asked, tally->granted | tally->refused | tally->failed);
}

masters_t round_unheard(const struct round *round)
{
    return round_silent(round) | round->fence.pending | round->fence.reading | round->split.getting;
}

void round_decided(struct coordinator *c, struct round *round)
{
    round_move(c, round, ROUND_DECIDED);
    if (round_unheard(round) == 0 && !round->in_flight.stale)
        round_free(c, round);
}

/* A grant of that master is voided even in a round that waits for nothing from it: the fence has to be
 * asked for there, and the master may come back without its memory. */
static void round_loses(struct coordinator *c, struct round *round, masters_t masters)
{
    masters &= round_unheard(round) | round->tally.granted;
    if (masters == 0)
        return;
    round->tally.failed |= round_silent(round) & masters;
    round->voided |= masters;
    round->fence.pending = masters_without(round->fence.pending, masters);
    round->fence.reading = masters_without(round->fence.reading, masters);
    round->split.getting = masters_without(round->split.getting, masters);
    in_flight_make_stale(&c->rounds_pending, &round->in_flight);
}

void rounds_lost(struct coordinator *c, unsigned master)
{
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next)
        round_loses(c, IN_FLIGHT_OWNER(round, in_flight), masters_bit(master));
}

void rounds_lose_grants(struct coordinator *c, masters_t masters)
{
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next) {
        struct round *round = IN_FLIGHT_OWNER(round, in_flight);
        if (round->purpose == ROUND_ACQUIRE || round->purpose == ROUND_RESUME ||
            round->purpose == ROUND_RESERVE || round->purpose == ROUND_KEEP)
            round_loses(c, round, masters);
    }
}

void rounds_look_again(struct coordinator *c)
{
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next)
        if (IN_FLIGHT_OWNER(round, in_flight)->ready)
            in_flight_make_stale(&c->rounds_pending, in_flight);
}

struct round *round_of_request(struct coordinator *c, uint64_t session, uint64_t request)
{
    struct in_flight *in_flight = c->rounds_pending.first;
    while (in_flight != NULL && (IN_FLIGHT_OWNER(round, in_flight)->session != session ||
                                 IN_FLIGHT_OWNER(round, in_flight)->request != request))
        in_flight = in_flight->next;
    return in_flight != NULL ? IN_FLIGHT_OWNER(round, in_flight) : NULL;
}

void rounds_end_extends(struct coordinator *c, struct lease *lease)
{
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL && lease->extending > 0;
         in_flight = in_flight->next) {
        struct round *round = IN_FLIGHT_OWNER(round, in_flight);
        bool is_its = round->lease == lease->id || round->reader == lease->id;
        if (!is_its || round->purpose != ROUND_EXTEND || round->request == 0 || round->over)
            continue;
        struct lease *joined = pool_find(&c->leases, round->reader);
        round->over = true;
        lease->extending--;
        if (joined != NULL && joined != lease)
            joined->extending--;
    }
}
