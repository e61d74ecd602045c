/* The commands of a release: what goes to the masters, and when it goes there again. */
#include <string.h>

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/keep/release_private.h"
#include "daemon/coordinator/master/native.h"

static void send_by(struct coordinator *c, const struct release *release, masters_t masters,
                    enum command_verb verb)
{
    if (masters == 0)
        return;
    struct command *command = action_command(c, masters, verb, release->name);
    command->ref = release->id;
    command->token = release->token;
    bool letter = release->name->more != 0 && !release->sets_back &&
                  memcmp(release->token.bytes, c->config.self.bytes, TOKEN_ID_BYTES) != 0;
    command->to = release->wakes || letter ? c->config.self : release->to;
    command->has_other = release->has_other;
    if (release->has_other)
        command->other = release->other;
    command->has_third = release->has_third;
    if (release->has_third)
        command->third = release->third;
    if (release->wakes) {
        command->number = 2 * (uint64_t)c->longest_ttl_ms;
        command->stays = release->stays;
    }
}

void release_send(struct coordinator *c, const struct release *release, masters_t masters)
{
    send_by(c, release, masters, release->sets_back ? COMMAND_MOVE : COMMAND_RELEASE);
}

/* Whether the key is to be deleted if it has the one token, and nothing else is to be done: there is nobody to wake, and
 * nobody to write to, since the token is this daemon's own. Readers have no such key. */
static bool is_plain(const struct coordinator *c, const struct release *release)
{
    return !release->wakes && !release->sets_back && !release->one_of_many && !release->has_other &&
           release->name->more == 0 && token_is_of(&release->token, &c->config.self, TOKEN_EXCLUSIVE);
}

/* The first time: later, and after an error, the script is asked. */
void release_send_first(struct coordinator *c, const struct release *release)
{
    static const enum command_verb natives[] = {COMMAND_RELEASE_DELEX, COMMAND_RELEASE_DELIFEQ};
    masters_t by_script = release->asked;
    unsigned count = is_plain(c, release) ? sizeof natives / sizeof natives[0] : 0;
    for (unsigned i = 0; i < count; i++) {
        masters_t masters = native_of(c, natives[i], by_script);
        send_by(c, release, masters, natives[i]);
        by_script = masters_without(by_script, masters);
    }
    release_send(c, release, by_script);
}

void release_caught_up(struct release *release, masters_t bit, int64_t now_ms)
{
    if (release->caught_up & bit)
        return; /* since then, only releases of the token were sent there */
    release->caught_up |= bit;
    if (now_ms + release->ttl_ms > release->until_ms)
        release->until_ms = now_ms + release->ttl_ms;
}

/* Once a release is only owed, and every master that owes it has caught up, the key is gone everywhere by
 * until_ms. */
void release_rearm(struct coordinator *c, struct release *release)
{
    bool caught_up = masters_without(release->owed, release->caught_up) == 0;
    heap_set(&c->deadlines, &release->item, caught_up && release->only_owed ? release->until_ms : INT64_MAX);
}

bool release_again(struct coordinator *c, struct release *release, unsigned master)
{
    masters_t bit = masters_bit(master);
    if (!(release->owed & bit) || (release->unanswered & bit))
        return false;
    release_caught_up(release, bit, c->masters[master].old_connection_gone_ms);
    release->asked |= bit;
    release->unanswered |= bit;
    release->repeated = masters_without(release->repeated, bit);
    release->scripted = masters_without(release->scripted, bit);
    release_send(c, release, bit);
    release_rearm(c, release);
    return true;
}

static void lose_each(struct in_flight_list *list, masters_t bit)
{
    for (struct in_flight *in_flight = list->first; in_flight != NULL; in_flight = in_flight->next) {
        struct release *release = IN_FLIGHT_OWNER(release, in_flight);
        release->repeated = masters_without(release->repeated, bit);
        release->scripted = masters_without(release->scripted, bit);
        if (!(release->unanswered & bit))
            continue;
        release->unanswered = masters_without(release->unanswered, bit);
        in_flight_make_stale(list, in_flight);
    }
}

void releases_lost(struct coordinator *c, unsigned master)
{
    lose_each(&c->releases_pending, masters_bit(master));
    lose_each(&c->releases_owed, masters_bit(master));
}

static void leave_each(struct in_flight_list *list, masters_t masters)
{
    for (struct in_flight *in_flight = list->first; in_flight != NULL; in_flight = in_flight->next) {
        struct release *release = IN_FLIGHT_OWNER(release, in_flight);
        if (!(release->owed & masters))
            continue;
        release->owed = masters_without(release->owed, masters);
        in_flight_make_stale(list, in_flight);
    }
}

void releases_leave(struct coordinator *c, masters_t masters)
{
    leave_each(&c->releases_pending, masters);
    leave_each(&c->releases_owed, masters);
}
