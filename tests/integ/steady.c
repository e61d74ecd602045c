#include "tests/integ/steady.h"

void renew_often(struct client *client, const char *name, const char *token, int ttl_ms)
{
    ask_again(client, "+EXTENDED *", "EXTEND %s token=%s ttl=%d", name, token, ttl_ms);
    client->renew_ttl_ms = ttl_ms;
}

struct grant lock_steady(struct client *client, const char *name, const char *ttl, int ttl_ms)
{
    struct grant grant = grant_of(ask(client, "+LOCKED *", "LOCK %s ttl=%s wait=14s", name, ttl));
    renew_often(client, name, grant.token, ttl_ms);
    return grant;
}

void is_renewed(struct client *client)
{
    enum { RENEWALS = 10 }; /* a machine that stands still may delay some of them */
    int64_t distance_ms = INT64_MAX;
    const char *line;
    ck_assert_int_gt(client->renew_ttl_ms, 0);
    client_send(client, "HELLO 1 events=renewed");
    do {
        line = next_line(client);
        ck_assert_msg(line && (line[0] == '+' || strncmp(line, "!RENEWED ", 9) == 0), "%s", line);
    } while (line[0] != '+');
    line = expect(client, "!RENEWED *"); /* this renewal may have begun before */
    int64_t last_ms = number(line, "until") - number(line, "valid");
    for (unsigned i = 1; i < RENEWALS && distance_ms > client->renew_ttl_ms; i++) {
        line = expect(client, "!RENEWED *");
        distance_ms = number(line, "until") - number(line, "valid") - last_ms;
        last_ms += distance_ms;
    }
    ck_assert_msg(distance_ms <= client->renew_ttl_ms, "%lld ms after the one before: %s",
                  (long long)distance_ms, line);
}

void is_held(struct client *client, const char *name, const char *token)
{
    is_renewed(client);
    client_send(client, "CHECK %s token=%s", name, token);
    const char *line = await(client, "[-+]*");
    ck_assert_msg(strncmp(line, "+HELD ", 6) == 0, "%s", line);
}

int uptime_s(const struct server *server)
{
    const char *uptime = strstr(redis(server, "INFO server"), "uptime_in_seconds:");
    return uptime ? atoi(uptime + strlen("uptime_in_seconds:")) : -1;
}
