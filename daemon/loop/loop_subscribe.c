#include "daemon/loop/loop_subscribe.h"

#include <stdio.h>
#include <string.h>

#include "daemon/log.h"
#include "proto/line.h"
#include "proto/line_piece.h"
#include "proto/resp.h"
#include "proto/slot.h"

static void subscribe_log(struct loop_subscribe *subscribe)
{
    unsigned hear = (unsigned)__builtin_popcount(subscribe->listening),
             masters = masters_count(subscribe->places->used);
    bool wakes = hear >= masters / 2 + 1;
    if (wakes == subscribe->wakes)
        return;
    subscribe->wakes = wakes;
    if (wakes)
        log_info("wake", "state=up listening=%u/%u", hear, masters);
    else
        log_warn("wake", "state=down listening=%u/%u what=\"waiting clients poll\"", hear, masters);
}

static void subscribe_on_connected(void *arg, unsigned index, uint32_t connection)
{
    struct loop_subscribe *subscribe = arg;
    (void)connection;
    subscribe->listening |= 1u << index;
    subscribe_log(subscribe);
    subscribe->tell(subscribe->arg, EVENT_MASTER_LISTENS, index, NULL, NULL);
}

static void subscribe_on_lost(void *arg, unsigned index, uint32_t connection)
{
    struct loop_subscribe *subscribe = arg;
    (void)connection;
    subscribe->listening &= ~(1u << index);
    subscribe_log(subscribe);
    subscribe->tell(subscribe->arg, EVENT_MASTER_DEAF, index, NULL, NULL);
}

/* A lock's name, or the own name of a slot: lists are never queued for, and letters name one of their names. */
static bool name_read(struct name *name, const char *text, size_t len, bool slots)
{
    unsigned base_len;
    bool comma = memchr(text, ',', len) != NULL;
    if (len == 0 || len > NAME_BYTES + (comma ? SLOT_BYTES : 0))
        return false;
    name->len = len & 0x7ff;
    name->slot = comma;
    name->more = 0;
    memcpy(name->text, text, len);
    return !comma || (slots && slot_of_name(name, &base_len) >= 0 && base_len <= NAME_BYTES &&
                      memchr(text, ',', base_len) == NULL);
}

/* "<id> <name> <name> ...": the daemon with that id watches these names. */
static void subscribe_watched(struct loop_subscribe *subscribe, unsigned index, const char *text, size_t len)
{
    char hex[TOKEN_HEX];
    const char *at = text, *end = text + len;
    struct piece id = piece_next(&at, end);
    struct token daemon;
    struct name name;
    memset(hex, '0', sizeof hex);
    if (id.len != RESP_ID_HEX)
        return;
    memcpy(hex, id.text, RESP_ID_HEX);
    if (!piece_token((struct piece){hex, sizeof hex}, &daemon))
        return;
    for (struct piece word = piece_next(&at, end); word.len != 0; word = piece_next(&at, end))
        if (name_read(&name, word.text, word.len, false))
            subscribe->tell(subscribe->arg, EVENT_MASTER_WATCHED, index, &name, &daemon);
}

static void subscribe_on_heard(void *arg, unsigned index, char what, const char *text, size_t len)
{
    struct loop_subscribe *subscribe = arg;
    struct name name;
    if (what == 'v') {
        subscribe_watched(subscribe, index, text, len);
        return;
    }
    if (!name_read(&name, text, len, what == 'g'))
        return;
    switch (what) {
    case 'w': subscribe->tell(subscribe->arg, EVENT_MASTER_WOKE, index, &name, NULL); break;
    case 'l': subscribe->tell(subscribe->arg, EVENT_MASTER_WOKE_LATE, index, &name, NULL); break;
    case 't': subscribe->tell(subscribe->arg, EVENT_MASTER_TOLD, index, &name, NULL); break;
    case 'g': subscribe->tell(subscribe->arg, EVENT_MASTER_LETTER, index, &name, NULL); break;
    case 'n': subscribe->tell(subscribe->arg, EVENT_MASTER_NEWS, index, &name, NULL); break;
    default: break;
    }
}

static void subscribe_on_backlog(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index, (void)connection;
}

static void subscribe_on_failed(void *arg, unsigned index)
{
    (void)arg, (void)index;
}

static void subscribe_channel(struct loop_subscribe *subscribe, const struct conf *conf,
                              const struct token *self)
{
    char id[TOKEN_HEX];
    line_token_hex(id, self);
    snprintf(subscribe->channel, sizeof subscribe->channel, "%s,wake:%.*s", conf->key_prefix, RESP_ID_HEX,
             id);
}

void loop_subscribe_rename(struct loop_subscribe *subscribe, const struct conf *conf,
                           const struct token *self)
{
    subscribe_channel(subscribe, conf, self);
    for (unsigned i, left = subscribe->places->used; place_next(&left, &i);)
        node_subscribe_anew(subscribe->nodes[i]);
}

void loop_subscribe_new(struct loop_subscribe *subscribe, const struct conf *conf,
                        const struct places *places, const struct token *self)
{
    subscribe_channel(subscribe, conf, self);
    subscribe->places = places;
    subscribe->handler = (struct node_handler){
        .connected = subscribe_on_connected,
        .lost = subscribe_on_lost,
        .backlog = subscribe_on_backlog,
        .failed = subscribe_on_failed,
        .heard = subscribe_on_heard,
        .arg = subscribe,
    };
}

bool loop_subscribe_open(struct loop_subscribe *subscribe, struct event_base *base, struct evdns_base *dns,
                         const struct conf *conf, unsigned place)
{
    subscribe->nodes[place] = node_new_subscriber(base, dns, conf, &subscribe->places->node[place], place,
                                                  &subscribe->handler, subscribe->channel);
    return subscribe->nodes[place] != NULL;
}

void loop_subscribe_close(struct loop_subscribe *subscribe, unsigned place)
{
    node_free(subscribe->nodes[place]);
    subscribe->nodes[place] = NULL;
    subscribe->listening &= ~(1u << place);
    subscribe_log(subscribe);
}

void loop_subscribe_start(struct loop_subscribe *subscribe)
{
    for (unsigned i, left = subscribe->places->used; place_next(&left, &i);)
        node_start(subscribe->nodes[i]);
}

void loop_subscribe_free(struct loop_subscribe *subscribe)
{
    for (unsigned i = 0; i < MASTERS; i++)
        node_free(subscribe->nodes[i]);
}
