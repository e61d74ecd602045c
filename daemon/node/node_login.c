/* AUTH, SELECT and the scripts, before anything else is sent on a connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/node/node_private.h"

size_t node_text_len(const struct resp_reply *reply)
{
    static const char arguments[] = ", with args";
    const char *cut = memmem(reply->text, reply->text_len, arguments, sizeof arguments - 1);
    return cut ? (size_t)(cut - reply->text) : reply->text_len;
}

const char *node_text(char out[NODE_SHOWN_BYTES], const struct resp_reply *reply)
{
    return log_escape(out, NODE_SHOWN_BYTES, reply->text, node_text_len(reply));
}

bool node_script_loaded(const struct expected *expected, const struct resp_reply *reply)
{
    return reply->type == RESP_STRING && strcmp(reply->text, resp_script_sha1(expected->detail)) == 0;
}

static void node_ready(struct node *n)
{
    event_del(n->timer);
    node_move(n, NODE_READY);
    n->first_told = true;
    n->connection++;
    n->ready_ms = clock_boot_ms();
    n->failures_logged = 0;
    if (n->channel)
        subscribe_ping(n);
    if (n->state != NODE_READY)
        return;
    log_debug("node_connected", "node=%s connection=%u", n->address->address.shown, n->connection);
    n->handler->connected(n->handler->arg, n->index, n->connection);
}

static bool tells_password(const struct node *n, const struct resp_reply *reply)
{
    const char *password = n->password;
    return password && memmem(reply->text, node_text_len(reply), password, strlen(password));
}

static enum node_failure failure_of(const struct resp_reply *reply)
{
    static const char full[] = "ERR max number of clients";
    if (reply->type != RESP_ERROR)
        return FAILURE_LOGIN_REFUSED;
    if (reply->text_len >= sizeof full - 1 && memcmp(reply->text, full, sizeof full - 1) == 0)
        return FAILURE_MAXCLIENTS;
    return resp_error(reply) == ERROR_LOADING ? FAILURE_LOADING : FAILURE_LOGIN_REFUSED;
}

/* What to do about a refused login, for the log. */
static const char *login_hint(const struct expected *expected, const struct resp_reply *reply)
{
    if (reply->type != RESP_ERROR)
        return "";
    if (expected->kind == EXPECTED_AUTH || resp_error(reply) == ERROR_NOAUTH)
        return " hint=\"node_user and node_password_file, or the URL in nodes, say who redlockd is there\"";
    if (resp_error(reply) == ERROR_NOPERM)
        return " hint=\"give the user the rights that redlockd --check prints (acl)\"";
    if (expected->kind == EXPECTED_SELECT)
        return " hint=\"the number at the end of the URL in nodes has to be a database there\"";
    return " hint=\"is this command renamed, or unknown to this server or a proxy before it?\"";
}

static void node_refused(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    static const char *const asked[] = {
        [EXPECTED_TRIAL] = "EVALSHA",      [EXPECTED_AUTH] = "AUTH",           [EXPECTED_SELECT] = "SELECT",
        [EXPECTED_SCRIPT] = "SCRIPT LOAD", [EXPECTED_CLIENT_ID] = "CLIENT ID", [EXPECTED_INFO] = "INFO",
        [EXPECTED_KILL] = "CLIENT KILL",   [EXPECTED_SUBSCRIBE] = "SUBSCRIBE"};
    char text[NODE_SHOWN_BYTES], detail[2 * NODE_SHOWN_BYTES];
    enum node_failure failure = failure_of(reply);
    if (n->channel && reply->type == RESP_ERROR)
        subscribe_refused(n, failure, reply);
    const char *shown = tells_password(n, reply) ? "\"(hidden)\"" : node_text(text, reply);
    const char *hint = failure == FAILURE_LOGIN_REFUSED ? login_hint(expected, reply) : "";
    snprintf(detail, sizeof detail, "%s asked=\"%s\"%s", shown, asked[expected->kind], hint);
    node_down(n, failure, detail);
}

static void login_load(struct node *n)
{
    size_t len = 0;
    for (unsigned script = 0; script < RESP_SCRIPTS; script++) {
        char *bytes = resp_script_load(script, &len);
        node_append_own(n, bytes, len, EXPECTED_SCRIPT, script);
    }
    if (n->broken)
        node_down(n, FAILURE_MEMORY, "");
    else
        node_write(n);
}

/* A node of a cluster may not have the key's slot. INFO will show what it is, and the master is refused as one. */
static bool is_of_cluster(const struct resp_reply *reply)
{
    return strncmp(reply->text, "CLUSTERDOWN ", 12) == 0 || strncmp(reply->text, "MOVED ", 6) == 0;
}

/* A server keeps its scripts until it ends, so they are loaded only where one of them is missing. */
static bool login_tried(struct node *n, const struct resp_reply *reply)
{
    if (reply->type != RESP_ERROR)
        return false;
    if (!resp_is_not_run(reply) && resp_error(reply) != ERROR_NOPERM && !is_of_cluster(reply))
        return false;
    login_load(n);
    return true;
}

void node_login_reply(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    bool script = expected->kind == EXPECTED_SCRIPT, trial = expected->kind == EXPECTED_TRIAL;
    n->handshakes += n->shaking;
    n->shaking = false;
    if (trial && login_tried(n, reply))
        return;
    bool good =
        script ? node_script_loaded(expected, reply) : reply->type == (trial ? RESP_INTEGER : RESP_STATUS);
    if (n->channel)
        good = subscribe_answer(n, expected, reply);
    if (!good)
        node_refused(n, expected, reply);
    else if (!expected_count(&n->expected) && !(n->channel && subscribe_go_on(n)))
        node_ready(n);
}

/* ---- AUTH ---- */

/* Redis from 7.2 on, and Valkey, send no error for a wrong AUTH while a reply to an earlier command is still in their
 * buffer. Each later reply would then be taken for that of the command before its own, and the vote of one lock for
 * another's. So AUTH on a live connection is followed by a PING with this text, which no other reply has: where it
 * comes in the place of AUTH's reply, AUTH was refused; where it does not come at all, the connection ends. */
#define AUTH_MARK "redlockd-auth"

void node_forget_password(struct node *n)
{
    if (n->password)
        explicit_bzero(n->password, strlen(n->password));
    free(n->password);
    n->password = NULL;
}

static void node_auth(struct node *n, const char *password)
{
    size_t len = 0;

    node_forget_password(n);
    if (!password[0])
        return;
    n->password = strdup(password);
    char *bytes = n->password ? resp_auth(n->address->user, password, &len) : NULL;
    node_append_own(n, bytes, len, EXPECTED_AUTH, 0);
}

/* A password of a file is read anew at each login, since it may be a token that lives for minutes. A file that
 * cannot be read now leaves the last one. */
static void node_auth_first(struct node *n)
{
    static char password[CONF_PASSWORD_BYTES];
    bool read = n->address->password_of_file && !conf_password_read(n->conf, password);

    node_auth(n, read ? password : n->address->password);
    explicit_bzero(password, sizeof password);
}

void node_reauthenticate(struct node *n, const char *password)
{
    size_t len = 0;

    if (n->state != NODE_READY || n->channel || !n->address->password_of_file)
        return;
    if (n->password && strcmp(n->password, password) == 0)
        return;
    log_info("node_auth", "node=%s why=\"node_password_file has changed\"", n->address->address.shown);
    node_auth(n, password);
    char *bytes = resp_ping(AUTH_MARK, &len);
    node_append_own(n, bytes, len, EXPECTED_PONG, 0);
}

static bool is_auth_mark(const struct resp_reply *reply)
{
    return reply->type == RESP_STRING && strcmp(reply->text, AUTH_MARK) == 0;
}

void node_auth_reply(struct node *n, const struct resp_reply *reply)
{
    char text[NODE_SHOWN_BYTES];

    if (reply->type == RESP_STATUS && strcmp(reply->text, "OK") == 0)
        return;
    if (is_auth_mark(reply)) {
        expected_pop(&n->expected);
    } else if (reply->type != RESP_ERROR) {
        node_down(n, FAILURE_PROTOCOL, OUT_OF_STEP);
        return;
    }
    n->errors++;
    log_warn("node_auth",
             "node=%s why=refused error=%s hint=\"the connection goes on as before, but the next login will "
             "fail: see node_password_file\"",
             n->address->address.shown, tells_password(n, reply) ? "\"(hidden)\"" : node_text(text, reply));
}

void node_auth_mark(struct node *n, const struct resp_reply *reply)
{
    if (!is_auth_mark(reply))
        node_down(n, FAILURE_PROTOCOL, "\"PING behind AUTH has no answer\" hint=\"its user needs +ping\"");
}

void node_login(struct node *n)
{
    const struct conf_node *address = n->address;
    size_t len = 0;
    n->reader = resp_reader_new();
    node_auth_first(n);
    if (n->channel)
        subscribe_begin(n);
    if (address->db && !n->channel) {
        char *bytes = resp_select(address->db, &len);
        node_append_own(n, bytes, len, EXPECTED_SELECT, 0);
    }
    if (!n->channel) {
        char *bytes = resp_script_trial(n->conf->key_prefix, &len);
        node_append_own(n, bytes, len, EXPECTED_TRIAL, 0);
    }
    node_move(n, NODE_LOGIN);
    if (!n->reader || n->broken) {
        node_down(n, FAILURE_MEMORY, "");
        return;
    }
    event_add(n->readable, NULL);
    node_timer(n, STEP_TIMEOUT_MS);
    node_write(n);
}
