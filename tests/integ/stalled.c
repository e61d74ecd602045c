#include "tests/integ/stalled.h"

/* Half a minute is longer than any test here takes, so that no lock ends by itself. */
static const char stalled_settings[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 30s\n" STEADY;

struct host hosts[HOSTS];

void host_start(unsigned i)
{
    struct host *host = &hosts[i];
    daemon_start_skewed(&host->daemon, &masters, stalled_settings);
    client_open(&host->holder, &host->daemon);
    snprintf(host->name, sizeof host->name, "held%u", i);
    eventually(masters_up(&host->holder, &masters));
    host->held = lock_steady(&host->holder, host->name, "30s", RENEW_TTL_MS);
    ask(&host->holder, "+HELLO *", "HELLO 1 events=renewed");
}

void cluster_of_five(void)
{
    cluster_start_skewed(&masters, 5, UNIX);
    cluster_trust(&masters, 30000);
}

struct client *viewer(const struct host *host)
{
    static struct client client;
    if (client.fd > 0)
        client_close(&client);
    client_open(&client, &host->daemon);
    return &client;
}

int64_t behind_ms(const struct host *host)
{
    struct client *client = viewer(host);
    client_send(client, "HELLO 1");
    int64_t ms = number(await(client, "+HELLO *"), "behind"); /* the client may have just been told */
    ck_assert_int_ge(ms, 0);
    return ms;
}

int64_t figure(const struct host *host, const char *key)
{
    struct client *client = viewer(host);
    const char *row = row_with(show(client, "STATS"), key);
    ck_assert_ptr_nonnull(row);
    return number(row, key);
}

/* ---- a host stands still ---- */

static bool is_quick(const struct host *host)
{
    struct client *client = viewer(host);
    for (const char *row = show(client, "NODES"); *row; row += strcspn(row, "\n") + 1)
        if (number(row, "rtt_us") > QUICK_US)
            return false;
    return true;
}

void answers_are_quick(const struct host *host)
{
    for (int64_t end_ms = now_ms() + WAIT_MS / 3; !is_quick(host) && now_ms() < end_ms;)
        nap();
}

void still_at_once(struct host *host)
{
    daemon_signal(&host->daemon, SIGSTOP);
    host->stopped_ms = now_ms();
}

void still_begin(struct host *host)
{
    answers_are_quick(host);
    still_at_once(host);
}

void still_end(struct host *host, int64_t ms)
{
    while (now_ms() < host->stopped_ms + ms)
        nap();
    host->daemon.skew->lost_us += ms * 1000;
    host->lost_ms += ms;
    daemon_signal(&host->daemon, SIGCONT);
}

/* The daemon has put no master in quarantine for its clock, not even because another daemon says so. */
static void blames_none(const struct host *host)
{
    ck_assert_msg(!daemon_logged(&host->daemon, "why=clock"), "%s", file_read(host->daemon.log));
}

bool has_noticed(struct host *host)
{
    for (int64_t end_ms = now_ms() + WAIT_MS / 3; now_ms() < end_ms; nap()) {
        int64_t ms = behind_ms(host);
        ck_assert_msg(ms <= host->lost_ms + READING_MS, "behind=%lld, but it lost only %lld ms",
                      (long long)ms, (long long)host->lost_ms);
        blames_none(host);
        if (ms >= host->behind_ms && ms - host->behind_ms >= (host->lost_ms - host->behind_ms) / 2) {
            host->behind_ms = ms;
            return true;
        }
    }
    return false;
}

void is_told(struct host *host)
{
    char text[64];
    snprintf(text, sizeof text, "!CLOCK behind=%lld", (long long)host->behind_ms);
    await(&host->holder, text);
    ck_assert_int_ge(figure(host, "behind_ms"), host->behind_ms);
    snprintf(text, sizeof text, " total=%lld ", (long long)host->behind_ms);
    eventually(daemon_logged(&host->daemon, text));
    ck_assert(daemon_logged(&host->daemon, "event=clock_behind ms="));
}

/* ---- what it may not cost ---- */

void none_is_blamed(unsigned voting)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        eventually(figure(&hosts[i], "masters_voting") == voting);
        blames_none(&hosts[i]);
        struct client *client = viewer(&hosts[i]);
        ck_assert_ptr_null(row_with(show(client, "NODES"), "why=clock"));
    }
    for (unsigned i = 0; i < masters.count; i++)
        ck_assert_ptr_null(strstr(redis(&masters.server[i], "GET redlock:,group"), "why=clock"));
}

void is_kept(const struct host *host)
{
    struct client *client = viewer(host);
    ask_again(client, "+HELD *", "CHECK %s token=%s", host->name, host->held.token);
    ck_assert_msg(!daemon_logged(&host->daemon, "event=lock_lost"), "%s", file_read(host->daemon.log));
}

void grants(const struct host *host)
{
    struct client *client = viewer(host);
    struct grant grant = grant_of(ask_again(client, "+LOCKED *", "LOCK passing ttl=4s wait=14s"));
    ck_assert_int_le(grant.until_ms, now_ms() - host->lost_ms + 4000);
    ask_again(client, "+UNLOCKED *", "UNLOCK passing");
}

void goes_on(struct host *host, int64_t since_ms)
{
    for (int64_t renewed_ms = 0; renewed_ms < since_ms;) {
        const char *line = expect(&host->holder, "!RENEWED *");
        renewed_ms = number(line, "until") - number(line, "valid");
    }
    is_kept(host);
    ck_assert_int_eq(behind_ms(host), 0);
    grants(host);
}
