#include "daemon/coordinator/keep/ended.h"

#include <string.h>

enum { PLACES = 8 /* consecutive places that a token may have */ };

static uint32_t first_place(const struct token *token)
{
    uint32_t random;
    memcpy(&random, token->bytes + TOKEN_RANDOM_AT, sizeof random);
    return random % (ENDED - PLACES + 1);
}

void ended_note(struct ended *ended, const struct token *token, int64_t now_ms, int64_t until_ms)
{
    struct ended_token *places = &ended->list[first_place(token)], *place = places;
    for (unsigned i = 0; i < PLACES && place->until_ms > now_ms; i++)
        if (places[i].until_ms < place->until_ms)
            place = &places[i];
    *place = (struct ended_token){.until_ms = until_ms, .token = *token};
    if (until_ms > ended->last_ms)
        ended->last_ms = until_ms;
}

bool ended_has(const struct ended *ended, const struct token *token, int64_t now_ms)
{
    const struct ended_token *places = &ended->list[first_place(token)];
    if (now_ms >= ended->last_ms)
        return false;
    for (unsigned i = 0; i < PLACES; i++)
        if (places[i].until_ms > now_ms && memcmp(places[i].token.bytes, token->bytes, TOKEN_BYTES) == 0)
            return true;
    return false;
}
