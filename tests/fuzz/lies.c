/* False votes: whatever proto/resp could make of a reply to a command. */
#include <string.h>

#include "proto/resp.h"
#include "tests/fuzz/world.h"

static void lie_number(struct world *w, const struct sent *sent)
{
    static const uint64_t limits[] = {0, 1, 5, 1000, FENCE_MAX - 1, FENCE_MAX, INT64_MAX - 1, INT64_MAX};
    struct vote *v = &w->event.vote;
    uint8_t choice = bytes_next(&w->in);
    v->kind = VOTE_NUMBER;
    v->number = choice < 128 ? limits[choice % 8] : bytes_number(&w->in, choice % 9) & INT64_MAX;
    if (command_for_one(sent->verb) == COMMAND_ZSCORE && v->number > FENCE_MAX)
        v->number = FENCE_MAX;
}

static void lie_info(struct world *w)
{
    struct master_info *info = &w->event.vote.info;
    uint8_t flags = bytes_next(&w->in), more = bytes_next(&w->in);
    w->event.vote.kind = VOTE_INFO;
    info->replica = flags & 1;
    info->cluster = flags & 2;
    info->loading = flags & 4;
    info->evicts = flags & 8;
    info->version = flags & 16 ? 0x060005 : 0x080002;
    info->uptime_s = flags & 32 ? INT64_C(999999999999) : more;
    if (flags & 64) /* perhaps the id of another run */
        info->run_id[0] = (char)('a' + more % 8);
}

static void lie_group(struct world *w)
{
    struct vote *v = &w->event.vote;
    uint8_t choice = bytes_next(&w->in);
    struct master_info info;
    master_info(&w->masters[w->event.master % w->config.masters], w->now_ms, &info);
    v->kind = choice & 1 ? VOTE_GROUP : choice & 2 ? VOTE_NO : VOTE_UNREADABLE;
    if (v->kind != VOTE_GROUP)
        return;
    v->group.masters = choice & 4 ? w->config.masters : choice;
    v->group.max_ttl_ms = choice & 8 ? w->config.max_ttl_ms : 1;
    v->group.from_ms = choice & 16 ? 1 + (int64_t)(bytes_number(&w->in, 8) % GROUP_MAX_MS) : 1;
    memcpy(v->group.run_id, info.run_id, RUN_ID_HEX);
    if (choice & 32)
        v->group.run_id[0] = 'z';
}

/* Changes what is seen in some bytes. */
static void lie_look(struct world *w, const struct sent *sent)
{
    static const uint16_t said[] = {0, 1, 2, 3, 4, 65, SLOTS_MAX - 1, SLOTS_MAX};
    struct vote *v = &w->event.vote;
    uint8_t choice = bytes_next(&w->in);
    if (choice & 8)
        lie_number(w, sent);
    if (choice & 16)
        v->seen.slots = said[choice % 8];
    v->seen.heard = choice & 32;
    v->seen.longest_ms = choice & 2 ? bytes_number(&w->in, 8) : 0;
    for (unsigned i = 0; i < choice / 64; i++) {
        uint8_t at = bytes_next(&w->in);
        v->seen.taken[at < 128 ? at % 2 : at - 128] = bytes_next(&w->in);
    }
    v->kind = VOTE_LOOKED;
}

static void lie_data(struct vote *v, uint8_t choice)
{
    v->kind = VOTE_DATA;
    v->number = choice;
    v->data.len = (uint16_t)(1 + choice % 16 * 17);
    memset(v->data.text, '!', v->data.len);
}

void world_lie(struct world *w, const struct sent *sent)
{
    uint8_t choice = bytes_next(&w->in);
    struct vote *v = &w->event.vote;
    bool script = resp_script_of(sent->verb) >= 0;
    w->lied = true;
    v->kind = VOTE_ERROR;
    v->error = (enum vote_error)(choice / 8 % (ERROR_WRONGTYPE + 1));
    if (choice % 8 < 2)
        return;
    switch (sent->verb) {
    case COMMAND_INFO: lie_info(w); break;
    case COMMAND_CLIENT_ID:
    case COMMAND_KILL:
    case COMMAND_ZADD_ALL:
    case COMMAND_ZSCORE_ALL:
    case COMMAND_ZSCORE: lie_number(w, sent); break;
    case COMMAND_SET_ALL:
    case COMMAND_SET_MSETEX:
    case COMMAND_HEAL_ALL:
        v->kind = choice & 8 ? VOTE_YES : VOTE_NO;
        v->number = choice & 8 ? 0 : choice / 16;
        break;
    case COMMAND_SEE:
        v->kind = VOTE_SEEN;
        v->who.kind = (enum seen_kind)(choice / 8 % 4);
        v->who.token = w->tokens[choice % TOKENS];
        v->who.ttl_ms = v->who.fence = choice;
        v->who.data = (struct data){.len = choice / 32, .text = "lie"};
        break;
    case COMMAND_ADOPT:
        v->kind = VOTE_NO;
        if (choice & 8)
            lie_data(v, choice);
        break;
    case COMMAND_DATA:
    case COMMAND_SET:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_ZADD: v->kind = choice & 8 ? VOTE_YES : VOTE_NO; break;
    case COMMAND_LOOK: lie_look(w, sent); break;
    case COMMAND_ENQUEUE:
    case COMMAND_PASS:
    case COMMAND_ALONG:
    case COMMAND_RELEASE:
        v->kind = choice & 8 ? VOTE_YES : choice & 16 ? VOTE_HEARD : choice & 32 ? VOTE_UNHEARD : VOTE_NO;
        if (v->kind == VOTE_YES && sent->verb == COMMAND_ENQUEUE)
            v->kind = VOTE_HEARD;
        v->marked = choice & 64;
        v->number = bytes_number(&w->in, choice % 9) & INT64_MAX;
        break;
    case COMMAND_CUT:
    case COMMAND_EXTEND_ALL:
    case COMMAND_CHECK_ALL:
    case COMMAND_EXTEND:
    case COMMAND_SETTLE:
    case COMMAND_DOWN:
    case COMMAND_CHECK:
        v->kind = VOTE_NO;
        if (choice & 8)
            lie_number(w, sent);
        break;
    case COMMAND_TRY:
        v->kind = choice & 8 ? VOTE_YES : VOTE_NO;
        v->number = bytes_number(&w->in, choice % 9) & INT64_MAX;
        break;
    case COMMAND_TIME:
        lie_number(w, sent);
        v->number = 1000 + v->number % (CLOCK_MAX_MS - 999);
        break;
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_PROBE_LASTING: lie_group(w); break;
    case COMMAND_GET:
        v->kind = choice & 8 ? VOTE_TOKEN : VOTE_NO;
        v->token = choice & 16 ? sent->token : w->tokens[choice % TOKENS];
        break;
    case COMMAND_TRY_DELEX:
    case COMMAND_TRY_DELIFEQ:
    case COMMAND_TRY_IFEQ:
    case COMMAND_TRY_MSETEX:
    case COMMAND_RELEASE_DELEX:
    case COMMAND_RELEASE_DELIFEQ:
    case COMMAND_MOVE_IFEQ:
    case COMMAND_RELEASE_ALL:
    case COMMAND_MOVE_ALL:
    case COMMAND_HEAL:
    case COMMAND_MOVE:
    case COMMAND_GROUP_SET:
    case COMMAND_LETTER:
    case COMMAND_NEWS:
    case COMMAND_DEQUEUE:
    case COMMAND_GROUP_NEW: v->kind = choice & 8 ? VOTE_YES : VOTE_NO; break;
    }
    if (script && choice % 8 == 2)
        v->kind = VOTE_NOT_RUN;
}
