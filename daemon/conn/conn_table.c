/* Sessions by their number, and the memory that connections lend each other: an idle
 * client keeps nothing but its struct conn, and a busy one asks malloc for nothing. */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conn/conn_private.h"

/* ---- sessions ---- */

int conn_table_new(struct conns *all)
{
    assert(all->conf->max_clients > 0 && all->conf->max_clients < UINT32_MAX);
    all->capacity = (uint32_t)all->conf->max_clients;
    all->slots = calloc(all->capacity, sizeof *all->slots);
    return all->slots ? 0 : -1;
}

void conn_table_free(struct conns *all)
{
    struct live_chunk *chunk;
    struct listing *listing;

    while ((chunk = all->chunks)) {
        all->chunks = chunk->next;
        free(chunk);
    }
    while ((listing = all->free_listings)) {
        all->free_listings = listing->next;
        free(listing);
    }
    while (all->spares)
        buffer_free(&all->spare[--all->spares]);
    free(all->slots);
}

struct conn *conn_table_add(struct conns *all)
{
    uint32_t index = all->free_slot ? all->free_slot - 1 : all->used;
    if (index >= all->capacity)
        return NULL;
    struct conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    struct slot *slot = &all->slots[index];

    if (all->free_slot)
        all->free_slot = slot->next_free;
    else
        all->used++;
    slot->conn = c;
    c->all = all;
    c->session = slot->serial * all->capacity + index + 1;
    c->grants_tail = &c->grants;
    c->listings_tail = &c->listings;
    all->count++;
    all->peer_clients[0]++; /* until its peer is known */
    return c;
}

void conn_table_remove(struct conn *c)
{
    struct conns *all = c->all;
    uint32_t index = (uint32_t)((c->session - 1) % all->capacity);
    struct slot *slot = &all->slots[index];
    struct listing *listing;
    struct live *live;

    assert(slot->conn == c);
    slot->conn = NULL;
    slot->serial++;
    slot->next_free = all->free_slot;
    all->free_slot = index + 1;
    all->count--;
    all->peer_clients[c->peer_number]--;
    while ((live = c->live)) {
        c->live = live->next;
        live_free(all, live);
    }
    while ((live = c->grants)) {
        c->grants = live->next;
        live_free(all, live);
    }
    while ((listing = c->listings)) {
        c->listings = listing->next;
        listing_free(all, listing);
    }
    buffer_return(all, &c->queue);
    buffer_return(all, &c->rest);
    buffer_return(all, &c->out);
    free(c->client);
    free(c);
}

struct conn *conn_table_find(const struct conns *all, uint64_t session)
{
    if (!session)
        return NULL;
    struct conn *c = all->slots[(session - 1) % all->capacity].conn;
    return c && c->session == session && c->state != CONN_GONE ? c : NULL;
}

struct conn *conn_table_next(const struct conns *all, uint64_t *cursor)
{
    while (*cursor < all->used) {
        struct conn *c = all->slots[(*cursor)++].conn;
        if (c && c->state != CONN_GONE)
            return c;
    }
    return NULL;
}

/* ---- live requests ---- */

struct live *live_new(struct conns *all)
{
    if (!all->free_live) {
        struct live_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = all->chunks;
        all->chunks = chunk;
        for (unsigned i = 0; i < LIVE_CHUNK; i++)
            live_free(all, &chunk->nodes[i]);
    }
    struct live *live = all->free_live;
    all->free_live = live->next;
    memset(live, 0, sizeof *live);
    return live;
}

void live_free(struct conns *all, struct live *live)
{
    live->next = all->free_live;
    all->free_live = live;
}

void live_unlink(struct conn *c, struct live *live)
{
    struct live **at = &c->live;

    while (*at != live) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = live->next;
    live->next = NULL;
    c->lives--;
    if (c->turn == live)
        c->turn = NULL;
    conn_ready(c);
}

struct live *live_find(const struct conn *c, uint64_t id)
{
    struct live *live = c->live;

    while (live && live->id != id)
        live = live->next;
    return live;
}

struct live *live_tagged(const struct conn *c, const struct tag *tag)
{
    struct live *live = c->live;

    while (live && !(live->tag.len == tag->len && memcmp(live->tag.text, tag->text, tag->len) == 0))
        live = live->next;
    return live;
}

struct listing *listing_new(struct conns *all)
{
    struct listing *listing = all->free_listings;

    if (listing)
        all->free_listings = listing->next;
    else
        listing = malloc(sizeof *listing);
    if (listing)
        memset(listing, 0, sizeof *listing);
    return listing;
}

void listing_free(struct conns *all, struct listing *listing)
{
    listing->next = all->free_listings;
    all->free_listings = listing;
}

/* ---- buffers ---- */

void buffer_lend(struct conns *all, struct buffer *b)
{
    if (b->bytes || !all->spares)
        return;
    *b = all->spare[--all->spares];
}

void buffer_return(struct conns *all, struct buffer *b)
{
    if (!b->bytes)
        return;
    if (all->spares == SPARE_BUFFERS || b->capacity > SPARE_BYTES) {
        buffer_free(b);
    } else {
        b->start = b->end = 0;
        all->spare[all->spares++] = *b;
    }
    memset(b, 0, sizeof *b);
}

/* ---- peers ---- */

void conn_address(const struct conn *c, char out[ADDRESS_TEXT_BYTES])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (c->local) {
        snprintf(out, ADDRESS_TEXT_BYTES, "unix:pid=%ld", (long)c->peer.pid);
        return;
    }
    inet_ntop(c->peer_family, &c->peer, text, sizeof text);
    snprintf(out, ADDRESS_TEXT_BYTES, c->peer_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, c->peer_port);
}
