/* Other files write letters here, and ask whether one came. */
#include <string.h>

#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"

static void forget_one(struct coordinator *c, struct resource *resource, int64_t t0_ms)
{
    struct letter *letter = letter_of(c, resource);
    if (!resource->lettered)
        return;
    resource->lettered = letter->doubted_ms >= t0_ms;
    if (resource->lettered)
        *letter = (struct letter){.item = letter->item,
                                  .resource = resource->id,
                                  .first_ms = c->now_ms,
                                  .doubted_ms = letter->doubted_ms,
                                  .news = true};
}

void letter_forget_lettered(struct coordinator *c, struct resource *resource, int64_t t0_ms)
{
    struct list *list = names_list(resource);
    forget_one(c, resource, t0_ms);
    for (unsigned i = 0; list != NULL && i < list->count; i++)
        forget_one(c, list->link[i].resource, t0_ms);
}

bool letter_doubts(const struct coordinator *c, const struct lease *common)
{
    const struct resource *resource = common->resource;
    return resource->lettered && shared_of(c, common)->shown_ms <= letter_of(c, resource)->doubted_ms;
}

void letter_send(struct coordinator *c, const struct name *name, const struct token *token)
{
    if (c->releasers == 0 || memcmp(token->bytes, c->config.self.bytes, TOKEN_ID_BYTES) == 0)
        return;
    struct command command = {.verb = COMMAND_LETTER, .token = *token};
    name_copy(&command.name, name);
    if (name->more != 0) { /* the first one stands for the list */
        const char *comma = memchr(name->text, ',', name->len);
        command.name.len = (unsigned)(comma - name->text) & 0x7ff;
        command.name.more = 0;
    }
    action_send(c, c->releasers, &command);
}
