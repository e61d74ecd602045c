#include "proto/info.h"

#include <string.h>

enum field {
    FIELD_RUN_ID,
    FIELD_VERSION,
    FIELD_UPTIME,
    FIELD_ROLE,
    FIELD_CLUSTER,
    FIELD_POLICY,
    FIELD_LOADING,
    FIELD_CONNECTIONS, /* the only one that may be missing */
    FIELDS,
};

static const char *const fields[FIELDS] = {
    [FIELD_RUN_ID] = "run_id:",
    [FIELD_VERSION] = "redis_version:",
    [FIELD_UPTIME] = "uptime_in_seconds:",
    [FIELD_ROLE] = "role:",
    [FIELD_CLUSTER] = "cluster_enabled:",
    [FIELD_POLICY] = "maxmemory_policy:",
    [FIELD_LOADING] = "loading:",
    [FIELD_CONNECTIONS] = "total_connections_received:",
};

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

static bool parse_run_id(const char *text, size_t len, char run_id[RUN_ID_HEX])
{
    if (len != RUN_ID_HEX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!memchr("0123456789abcdefABCDEF", text[i], 22))
            return false;
    }
    memcpy(run_id, text, RUN_ID_HEX);
    return true;
}

/* "7.0.15" -> 0x07000f. Missing parts count as 0, so "8" and "8.0-rc1" pass. */
static bool parse_version(const char *text, size_t len, uint32_t *version)
{
    if (!len || text[0] < '0' || text[0] > '9')
        return false;
    uint32_t parts[3] = {0, 0, 0};
    unsigned part = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && part < 2) {
            part++;
            continue;
        }
        if (text[i] < '0' || text[i] > '9')
            break;
        parts[part] = parts[part] * 10 + (uint32_t)(text[i] - '0');
        if (parts[part] > 255)
            parts[part] = 255;
    }
    *version = parts[0] << 16 | parts[1] << 8 | parts[2];
    return true;
}

/* Redis computes the uptime by the wall clock, so it may be negative, which counts as 0. Twelve digits are
 * thirty thousand years, and still fit into 64 bits as milliseconds. */
static bool parse_uptime(const char *text, size_t len, int64_t *uptime_s)
{
    bool negative = len && text[0] == '-';
    size_t i = negative ? 1 : 0;
    if (i == len || len > 12)
        return false;
    int64_t seconds = 0;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        seconds = seconds * 10 + (text[i] - '0');
    }
    *uptime_s = negative ? 0 : seconds;
    return true;
}

/* Eighteen digits fit into 64 bits. */
static bool parse_count(const char *text, size_t len, uint64_t *count)
{
    uint64_t value = 0;
    if (len == 0 || len > 18)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *count = value;
    return true;
}

/* Anything but a plain 0 counts as true, since each of these flags keeps a master from voting. */
static bool parse_flag(const char *text, size_t len, bool *flag)
{
    *flag = !is_word(text, len, "0");
    return len > 0;
}

static bool parse_field(enum field field, const char *text, size_t len, struct master_info *info)
{
    switch (field) {
    case FIELD_RUN_ID: return parse_run_id(text, len, info->run_id);
    case FIELD_VERSION: return parse_version(text, len, &info->version);
    case FIELD_UPTIME: return parse_uptime(text, len, &info->uptime_s);
    case FIELD_ROLE: info->replica = !is_word(text, len, "master"); return len > 0;
    case FIELD_CLUSTER: return parse_flag(text, len, &info->cluster);
    case FIELD_POLICY: info->evicts = !is_word(text, len, "noeviction"); return len > 0;
    case FIELD_LOADING: return parse_flag(text, len, &info->loading);
    case FIELD_CONNECTIONS: return parse_count(text, len, &info->connections);
    case FIELDS: break;
    }
    return false;
}

/* Returns the bit of the field that the line holds; 0: no field, or a bad one. */
static unsigned parse_line(const char *line, size_t len, struct master_info *info)
{
    for (unsigned field = 0; field < FIELDS; field++) {
        size_t key_len = strlen(fields[field]);
        if (len < key_len || memcmp(line, fields[field], key_len) != 0)
            continue;
        bool good = parse_field((enum field)field, line + key_len, len - key_len, info);
        return good ? 1u << field : 0;
    }
    return 0;
}

bool info_parse(const char *text, size_t len, struct master_info *info)
{
    const char *end = text + len;
    unsigned told = 0;
    *info = (struct master_info){0};
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *next = line_end ? line_end + 1 : end;
        size_t line_len = (size_t)((line_end ? line_end : end) - text);
        if (line_len && text[line_len - 1] == '\r')
            line_len--;
        told |= parse_line(text, line_len, info);
        text = next;
    }
    return (told | 1u << FIELD_CONNECTIONS) == (1u << FIELDS) - 1;
}
