/* A connection that only listens. A server allows little else on it once it has subscribed, so what is to be
 * asked comes before that:
 *
 *     AUTH, CLIENT ID, INFO --> CLIENT KILL of the connection before, in the same run --> SUBSCRIBE --> READY
 *
 * The connection before may be half dead: a master would believe for long that its daemon hears. With no_kill
 * only SUBSCRIBE is sent. Then a half-dead connection stays until the master itself notices, which does no
 * harm as soon as there is a new one: both are told. */
#include <string.h>

#include "daemon/log.h"
#include "daemon/node/node_private.h"

enum { PING_MS = 1000, MESSAGE_BYTES = 1024 /* of the names that another daemon watches */ };

static void subscribe_append(struct node *n)
{
    size_t len = 0;
    char *bytes = resp_subscribe(n->channel, &len);
    node_append_own(n, bytes, len, EXPECTED_SUBSCRIBE, 0);
}

void subscribe_begin(struct node *n)
{
    size_t len = 0;
    if (n->address->no_kill) {
        subscribe_append(n);
        return;
    }
    char *bytes = resp_client_id(&len);
    node_append_own(n, bytes, len, EXPECTED_CLIENT_ID, 0);
    bytes = resp_info(&len);
    node_append_own(n, bytes, len, EXPECTED_INFO, 0);
}

bool subscribe_answer(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    switch ((enum expected_kind)expected->kind) {
    case EXPECTED_CLIENT_ID:
        n->subscribed.new_id = (uint64_t)reply->integer;
        return reply->type == RESP_INTEGER;
    case EXPECTED_INFO:
        if (reply->type != RESP_STRING || !reply->has_info)
            return false;
        n->subscribed.same_run = memcmp(n->subscribed.run_id, reply->info.run_id, RUN_ID_HEX) == 0;
        memcpy(n->subscribed.run_id, reply->info.run_id, RUN_ID_HEX);
        return true;
    case EXPECTED_KILL: return reply->type == RESP_INTEGER;
    case EXPECTED_SUBSCRIBE: return reply->type == RESP_ARRAY && strcmp(reply->first, "subscribe") == 0;
    default: return reply->type == RESP_STATUS;
    }
}

bool subscribe_go_on(struct node *n)
{
    size_t len = 0;
    if (n->subscribed.new_id == 0)
        return false; /* it has subscribed */
    if (n->subscribed.id != 0 && n->subscribed.same_run) {
        char *kill = resp_client_kill(n->subscribed.id, &len);
        node_append_own(n, kill, len, EXPECTED_KILL, 0);
    }
    n->subscribed.id = n->subscribed.new_id;
    n->subscribed.new_id = 0;
    subscribe_append(n);
    if (n->broken)
        node_down(n, FAILURE_MEMORY, "");
    else
        node_write(n);
    return true;
}

bool subscribe_reply(struct node *n, const struct resp_reply *reply)
{
    if (reply->type != RESP_ARRAY)
        return false;
    if (strcmp(reply->first, "pong") == 0 && expected_count(&n->expected) > 0) {
        expected_pop(&n->expected);
        return true;
    }
    if (strcmp(reply->first, "message") != 0)
        return false;
    const char *text = reply->whole ? reply->whole : reply->text;
    if (reply->whole_len > 2 && reply->whole_len <= MESSAGE_BYTES && text[1] == ' ')
        n->handler->heard(n->handler->arg, n->index, text[0], text + 2, reply->whole_len - 2);
    return true; /* a message that no daemon would send tells nothing */
}

void subscribe_ping(struct node *n)
{
    size_t len = 0;
    if (expected_count(&n->expected) > 0) {
        node_down(n, FAILURE_SILENT, "");
        return;
    }
    node_timer(n, PING_MS);
    char *bytes = resp_ping(NULL, &len);
    node_append_own(n, bytes, len, EXPECTED_PONG, 0);
    if (n->broken)
        node_down(n, FAILURE_MEMORY, "");
    else
        node_write(n);
}

void node_subscribe_anew(struct node *n)
{
    if (n->state != NODE_IDLE && n->state != NODE_WAITING)
        node_down(n, FAILURE_CLOSED, "\"another channel\"");
}

/* The other connection tells what the master does; but it may be in while this one is refused. */
void subscribe_refused(struct node *n, enum node_failure failure, const struct resp_reply *reply)
{
    static const char rights[] = "give the user the rights that redlockd --check prints (acl)";
    static const char room[] = "raise maxclients there: each redlockd has two connections";
    bool noperm = resp_error(reply) == ERROR_NOPERM;
    char text[NODE_SHOWN_BYTES];
    if ((!noperm && failure != FAILURE_MAXCLIENTS) || n->failures_logged & 1u << failure)
        return;
    n->failures_logged |= 1u << failure;
    log_warn("wake_refused", "node=%s error=%s hint=\"waiting clients poll: %s\"", n->address->address.shown,
             log_escape(text, sizeof text, reply->text, reply->text_len), noperm ? rights : room);
}
