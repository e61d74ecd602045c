/* Sessions by their number, and the memory that connections lend each other. An idle client keeps nothing
 * but its struct conn and its word of HELLO, and few requests of a busy one need malloc(). */
#include <assert.h>
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
    struct pending_chunk *chunk;
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
    c->user = NO_USER;
    ++*user_counter(c); /* until its peer is known, of peer 0 */
    return c;
}

void conn_table_remove(struct conn *c)
{
    struct conns *all = c->all;
    uint32_t index = (uint32_t)((c->session - 1) % all->capacity);
    struct slot *slot = &all->slots[index];
    struct listing *listing;
    struct pending *pending;

    assert(slot->conn == c);
    slot->conn = NULL;
    slot->serial++;
    slot->next_free = all->free_slot;
    all->free_slot = index + 1;
    all->count--;
    --*user_counter(c);
    user_forget(c);
    newcomer_leave(c);
    while ((pending = c->pending)) {
        c->pending = pending->next;
        pending_free(all, pending);
    }
    while ((pending = c->grants)) {
        c->grants = pending->next;
        pending_free(all, pending);
    }
    while ((listing = c->listings)) {
        c->listings = listing->next;
        listing_free(all, listing);
    }
    buffer_return(all, &c->queue);
    buffer_return(all, &c->rest);
    buffer_return(all, &c->out);
    wire_end(&c->wire);
    free(c->client);
    free(c->certificate);
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

/* ---- unanswered requests ---- */

static struct pending *pending_new(struct conns *all)
{
    if (!all->free_pending) {
        struct pending_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = all->chunks;
        all->chunks = chunk;
        for (unsigned i = 0; i < PENDING_CHUNK; i++)
            pending_free(all, &chunk->nodes[i]);
    }
    struct pending *pending = all->free_pending;
    all->free_pending = pending->next;
    memset(pending, 0, sizeof *pending);
    return pending;
}

struct pending *pending_begin(struct conn *c, const struct request *what)
{
    struct pending *pending = pending_new(c->all);

    if (!pending)
        return NULL;
    pending->id = ++c->all->last_request;
    pending->tag = what->tag;
    pending->order = what->order;
    pending->verb = (uint8_t)what->verb;
    pending->began_us = c->all->now_us;
    pending->next = c->pending;
    c->pending = pending;
    c->pending_count++;
    if (!what->tag.len && what->verb != VERB_CANCEL)
        c->untagged = pending;
    return pending;
}

void pending_free(struct conns *all, struct pending *pending)
{
    pending->next = all->free_pending;
    all->free_pending = pending;
}

void pending_unlink(struct conn *c, struct pending *pending)
{
    struct pending **at = &c->pending;

    while (*at != pending) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = pending->next;
    pending->next = NULL;
    c->pending_count--;
    if (c->untagged == pending)
        c->untagged = NULL;
    conn_ready(c);
}

struct pending *pending_find(const struct conn *c, uint64_t id)
{
    struct pending *pending = c->pending;

    while (pending && pending->id != id)
        pending = pending->next;
    return pending;
}

struct pending *pending_tagged(const struct conn *c, const struct tag *tag)
{
    struct pending *pending = c->pending;

    while (pending && !(pending->tag.len == tag->len && memcmp(pending->tag.text, tag->text, tag->len) == 0))
        pending = pending->next;
    return pending;
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

void listing_end(struct conn *c)
{
    struct listing *listing = c->listings;

    c->listings = listing->next;
    if (!c->listings)
        c->listings_tail = &c->listings;
    c->listing_count--;
    c->awaits_row = false;
    pending_unlink(c, listing->pending);
    pending_free(c->all, listing->pending);
    listing_free(c->all, listing);
}

void listings_abandon(struct conn *c)
{
    while (c->listings)
        listing_end(c);
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
