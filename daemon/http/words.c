/* Durations, clients, masters in words. What comes out is not escaped. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/http/http_private.h"
#include "proto/line_piece.h"

const char *words_duration(int64_t ms, char out[DURATION_BYTES])
{
    int64_t s = ms / 1000, min = s / 60, h = min / 60;
    if (ms < 1000)
        snprintf(out, DURATION_BYTES, "%" PRId64 " ms", ms);
    else if (s < 60)
        snprintf(out, DURATION_BYTES, "%" PRId64 ".%" PRId64 " s", s, ms % 1000 / 100);
    else if (min < 60)
        snprintf(out, DURATION_BYTES, "%" PRId64 " min %" PRId64 " s", min, s % 60);
    else if (h < 24)
        snprintf(out, DURATION_BYTES, "%" PRId64 " h %" PRId64 " min", h, min % 60);
    else
        snprintf(out, DURATION_BYTES, "%" PRId64 " d %" PRId64 " h", h / 24, h % 24);
    return out;
}

const char *words_foreign(const char *text, size_t size, char out[WORD_BYTES + 1])
{
    size_t len = strnlen(text, size);
    if (!piece_is_word((struct piece){text, len}, WORD_BYTES))
        return "?";
    memcpy(out, text, len);
    out[len] = '\0';
    return out;
}

const char *words_version(const struct snapshot_master *master, char out[VERSION_BYTES])
{
    uint32_t version = master->version;
    out[0] = '\0';
    if (version)
        snprintf(out, VERSION_BYTES, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
    return out;
}

const char *words_why(const struct snapshot_master *master, char out[WHY_BYTES])
{
    char by[WORD_BYTES + 1];
    bool known = master->by[0] != '\0';
    snprintf(out, WHY_BYTES, "%s%s%s", master->why, known ? ", by " : "",
             known ? words_foreign(master->by, sizeof master->by, by) : "");
    return out;
}

const char *words_client(const struct word *client, uint64_t session, char out[CLIENT_BYTES])
{
    if (client->len > 0)
        snprintf(out, CLIENT_BYTES, "%.*s", client->len, client->text);
    else if (session != 0)
        snprintf(out, CLIENT_BYTES, "session %" PRIu64, session);
    else
        snprintf(out, CLIENT_BYTES, "whoever has its token");
    return out;
}

const char *words_kind(const struct snapshot_lock *lock, char out[KIND_BYTES])
{
    const char *hold = lock->lease ? "lease" : "session";
    if (lock->slot)
        snprintf(out, KIND_BYTES, "slot %u, %s", lock->slot - 1u, hold);
    else
        snprintf(out, KIND_BYTES, "%s%s", lock->shared ? "shared " : "", hold);
    return out;
}

const char *words_time(int64_t wall_ms, char out[DURATION_BYTES])
{
    time_t seconds = wall_ms / 1000;
    struct tm utc;
    out[0] = '\0';
    if (gmtime_r(&seconds, &utc))
        strftime(out, DURATION_BYTES, "%Y-%m-%d %H:%M:%SZ", &utc);
    return out;
}

const char *words_tone(enum event_tone tone)
{
    static const char *const words[] = {[TONE_GOOD] = "good", [TONE_WARN] = "warn", [TONE_BAD] = "bad"};
    return words[tone];
}
