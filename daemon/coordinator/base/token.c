#include "daemon/coordinator/base/token.h"

#include <string.h>

enum { CHECKED = TOKEN_BYTES - 4, SLOT_AT = TOKEN_ID_BYTES + 1 };

static uint32_t fnv1a(const uint8_t *bytes, unsigned count)
{
    uint32_t hash = UINT32_C(2166136261);
    for (unsigned i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT32_C(16777619);
    return hash;
}

static void token_sum(const struct token *token, uint8_t out[4])
{
    uint32_t sum = fnv1a(token->bytes, CHECKED);
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(sum >> (24 - 8 * i));
}

void token_make(struct token *token, const struct token *self, enum token_kind kind, unsigned slot,
                const uint8_t random[TOKEN_RANDOM_BYTES])
{
    memset(token, 0, sizeof *token);
    memcpy(token->bytes, self->bytes, TOKEN_ID_BYTES);
    token->bytes[TOKEN_ID_BYTES] = (uint8_t)kind;
    token->bytes[SLOT_AT] = (uint8_t)(slot >> 8);
    token->bytes[SLOT_AT + 1] = (uint8_t)slot;
    memcpy(token->bytes + TOKEN_RANDOM_AT, random, TOKEN_RANDOM_BYTES);
    token_sum(token, token->bytes + CHECKED);
}

bool token_is_made(const struct token *token)
{
    uint8_t sum[4];
    token_sum(token, sum);
    return memcmp(token->bytes + CHECKED, sum, sizeof sum) == 0;
}

bool token_is_of(const struct token *token, const struct token *self, enum token_kind kind)
{
    return memcmp(token->bytes, self->bytes, TOKEN_ID_BYTES) == 0 && token->bytes[TOKEN_ID_BYTES] == kind;
}

bool token_is_shared(const struct token *token)
{
    return token->bytes[TOKEN_ID_BYTES] == TOKEN_SHARED && token_is_made(token);
}

bool token_is_mark(const struct token *token)
{
    return token->bytes[TOKEN_ID_BYTES] == TOKEN_MARK && token_is_made(token);
}

bool token_tells(const struct token *token)
{
    bool says = token->bytes[SLOT_AT] == 0 && token->bytes[SLOT_AT + 1] == TOKEN_TELLS;
    return says && token->bytes[TOKEN_ID_BYTES] == TOKEN_EXCLUSIVE && token_is_made(token);
}

int token_slot(const struct token *token)
{
    if (token->bytes[TOKEN_ID_BYTES] != TOKEN_SLOT || !token_is_made(token))
        return -1;
    int slot = token->bytes[SLOT_AT] << 8 | token->bytes[SLOT_AT + 1];
    return slot < SLOTS_MAX ? slot : -1;
}
