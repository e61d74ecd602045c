/* Gives the coordinator the events that a test writes as words. */
#include "daemon/coordinator/base/token.h"
#include "tests/unit/suite.h"
#include "tests/unit/trace_steps.h"

struct coordinator_config config;
struct peer trace_peer;
struct coordinator *core;
int64_t now;
int64_t wall_offset_us, trace_rtts_us[MASTERS];
struct master_info info[MASTERS];
struct marker markers[MASTERS];
bool show_probes, show_letters, show_tries;
unsigned trace_natives[MASTERS];

/* ---- masters ---- */

void dial(unsigned master)
{
    struct trace_link *link = &links[master];
    link->connection++;
    link->connected = true;
    link->first = link->count = 0;
    log_event("master %u: connection %u", master, link->connection);
    step_master(EVENT_MASTER_CONNECTED, master);
}

void lose(unsigned master)
{
    log_event("master %u: connection lost", master);
    links[master].connected = false;
    step_master(EVENT_MASTER_LOST, master);
}

void backlog(unsigned master)
{
    log_event("master %u: backlog", master);
    step_master(EVENT_MASTER_BACKLOG, master);
}

void restart(unsigned master, int64_t uptime_s)
{
    lose(master);
    markers[master].there = false;
    info[master].run_id[0]++;
    info[master].uptime_s = uptime_s;
}

/* Unless the test says otherwise, the server has had as many connections as this daemon has made. */
static struct vote info_vote(unsigned master)
{
    struct vote vote = {.kind = VOTE_INFO, .info = info[master]};
    if (vote.info.connections == 0)
        vote.info.connections = links[master].connection;
    return vote;
}

/* A bit for each slot, 1 where it has a key; behind it h if all holders heard, n8 if the name has 8 slots there, l90
 * if the slot whose key ends last lives for 90 ms. */
static struct vote look_vote(const char *word, const struct command *command)
{
    struct vote vote = {.kind = VOTE_LOOKED, .seen.slots = command->slots, .number = 5000};
    memset(vote.seen.taken, 0xff, sizeof vote.seen.taken);
    for (unsigned slot = 0; word[0] == '0' || word[0] == '1'; word++, slot++)
        if (word[0] == '0')
            vote.seen.taken[slot / 8] &= (uint8_t) ~(1u << (slot % 8));
    vote.seen.heard = word[0] == 'h';
    if (word[0] == 'n')
        vote.seen.slots = (uint16_t)strtoul(word + 1, NULL, 10);
    if (word[0] == 'l')
        vote.seen.longest_ms = strtoull(word + 1, NULL, 10);
    return vote;
}

static struct vote data_vote(const char *text)
{
    struct vote vote = {.kind = VOTE_DATA, .number = 1};
    vote.data.len = (uint16_t)strlen(text);
    memcpy(vote.data.text, text, vote.data.len);
    return vote;
}

/* A token that says that its holder tells something. */
static struct token leader_of(const char *letter)
{
    uint8_t random[TOKEN_RANDOM_BYTES];
    struct token token, self = {{0}};
    memset(random, *letter, sizeof random);
    token_make(&token, &self, TOKEN_EXCLUSIVE, TOKEN_TELLS, random);
    return token;
}

/* "nobody", "readers", or a token: T1, X, Y, or of a leader L, M. L+17+text: it tells that, with fence 17. */
static struct vote seen_vote(const char *word)
{
    const char *fence = strchr(word, '+'), *text = fence != NULL ? strchr(fence + 1, '+') : NULL;
    struct vote vote = {.kind = VOTE_SEEN, .who.kind = SEEN_TOKEN, .who.ttl_ms = 5000};
    if (strcmp(word, "nobody") == 0)
        vote.who.kind = SEEN_NOBODY;
    else if (strcmp(word, "readers") == 0)
        vote.who.kind = SEEN_READERS;
    else
        vote.who.token = strchr("LM", *word) != NULL ? leader_of(word) : *token_of(word);
    if (text != NULL) {
        vote.who.fence = strtoull(fence + 1, NULL, 10);
        vote.who.data.len = (uint16_t)strlen(text + 1);
        memcpy(vote.who.data.text, text + 1, vote.who.data.len);
    }
    return vote;
}

static struct vote vote_of(const char *word, unsigned master, const struct command *command)
{
    static const char *const errors[] = {"OTHER",   "OOM",  "READONLY", "MISCONF", "NOREPLICAS",
                                         "LOADING", "BUSY", "NOPERM",   "NOAUTH",  "WRONGTYPE"};
    struct vote value = {.kind = VOTE_ERROR};
    if (strcmp(word, "YES") == 0 && command->verb == COMMAND_ZADD && command->name.more != 0)
        return (struct vote){.kind = VOTE_NUMBER, .number = command->bucket};
    if (command->verb == COMMAND_LOOK && (word[0] == '0' || word[0] == '1'))
        return look_vote(word, command);
    if (command->verb == COMMAND_SEE && strchr("nrTXYLM", word[0]) != NULL)
        return seen_vote(word);
    if (strncmp(word, "told:", 5) == 0)
        return data_vote(word + 5);
    if (strcmp(word, "YES") == 0)
        return (struct vote){.kind = VOTE_YES};
    if (strcmp(word, "NO") == 0 && command->verb == COMMAND_SET_MSETEX)
        return (struct vote){.kind = VOTE_NO, .number = LIST_NAMES};
    if (strcmp(word, "NO") == 0)
        return (struct vote){.kind = VOTE_NO};
    if (strncmp(word, "NO:", 3) == 0) /* SET of a list: the place of a name that is not free */
        return (struct vote){.kind = VOTE_NO, .number = strtoull(word + 3, NULL, 10)};
    if (strncmp(word, "HEARD", 5) == 0) /* HEARD:40, with a number */
        return (struct vote){.kind = VOTE_HEARD,
                             .number = strtoull(word + (word[5] != 0) + 5, NULL, 10),
                             .marked = strstr(word, ":marked") != NULL,
                             .kept = strstr(word, ":kept") != NULL};
    if (strncmp(word, "UNHEARD", 7) == 0)
        return (struct vote){.kind = VOTE_UNHEARD, .number = strtoull(word + (word[7] != 0) + 7, NULL, 10)};
    if (command->verb == COMMAND_GET && strchr("TXY", word[0]) != NULL)
        return (struct vote){.kind = VOTE_TOKEN, .token = *token_of(word)};
    if (strncmp(word, "UNREADABLE", 10) == 0) /* UNREADABLE:2, of a later version */
        return (struct vote){.kind = VOTE_UNREADABLE,
                             .number = strtoull(word + (word[10] != 0) + 10, NULL, 10)};
    if (strcmp(word, "NOT_RUN") == 0)
        return (struct vote){.kind = VOTE_NOT_RUN};
    if (strcmp(word, "OK") == 0 && command->verb == COMMAND_INFO)
        return info_vote(master);
    if (strcmp(word, "OK") == 0 && command->verb != COMMAND_CLIENT_ID)
        return marker_vote(master, command);
    if (strcmp(word, "OK") == 0)
        return (struct vote){.kind = VOTE_NUMBER, .number = 100 * (master + 1) + links[master].connection};
    if (word[0] >= '0' && word[0] <= '9')
        return (struct vote){.kind = VOTE_NUMBER, .number = strtoull(word, NULL, 10)};
    while (strcmp(errors[value.error], word) != 0)
        if (++value.error > ERROR_WRONGTYPE)
            trace_fail("what kind of vote is %s?", word);
    return value;
}

static void vote_one(unsigned master, const char *verb, const char *word)
{
    struct trace_link *link = &links[master];
    char line[LINE];
    if (!link->connected || link->count == 0)
        trace_fail("master %u has nothing to answer", master);
    struct command command = link->pending[link->first];
    command_text(line, &command);
    if (strcmp(verb_word(command.verb), verb) != 0)
        trace_fail("master %u has to answer %s first, not %s", master, line, verb);
    link_take(link);
    log_event("master %u: %.200s: %s", master, line, word);
    struct coordinator_event event = {.kind = EVENT_MASTER_VOTE,
                                      .master = master,
                                      .connection = link->connection,
                                      .verb = command.verb,
                                      .ref = command.ref,
                                      .vote = vote_of(word, master, &command)};
    step(&event);
}

void vote(const char *masters, const char *votes)
{
    masters_t set = masters_of(masters);
    for (unsigned i = 0; i < config.masters; i++) {
        const char *at_word = votes;
        char verb[16], word[24];
        int len;
        if (!(set & masters_bit(i)))
            continue;
        while (sscanf(at_word, " %15s %23[^, ]%n", verb, word, &len) == 2) {
            vote_one(i, verb, word);
            at_word += len;
            at_word += *at_word == ',';
        }
    }
}

static enum event_kind kind_heard(const char *word)
{
    static const char *const words[] = {"listens", "deaf", "woke", "late", "told", "letter"};
    unsigned i = 0;
    while (strcmp(words[i], word) != 0)
        if (++i == sizeof words / sizeof words[0])
            trace_fail("what is %s?", word);
    return (enum event_kind)(EVENT_MASTER_LISTENS + i);
}

void hears(const char *masters, const char *what)
{
    char word[16] = "", name[32] = "";
    masters_t set = masters_of(masters);
    sscanf(what, "%15s %31s", word, name);
    for (unsigned i = 0; i < config.masters; i++) {
        if (!(set & masters_bit(i)))
            continue;
        struct coordinator_event event = {.kind = kind_heard(word), .master = i};
        event.what.name.len = (uint8_t)strlen(name);
        event.what.name.slot = strchr(name, ',') != NULL;
        memcpy(event.what.name.text, name, strlen(name));
        log_event("master %u: %s", i, what);
        step(&event);
    }
}

unsigned unanswered(unsigned master)
{
    return links[master].count;
}

const char *unanswered_verb(unsigned master)
{
    const struct trace_link *link = &links[master];
    return link->count != 0 ? verb_word(link->pending[link->first].verb) : "";
}

void shake(unsigned master)
{
    char word[16];
    snprintf(word, sizeof word, "%u", master);
    vote(word, config.no_kill >> master & 1 ? "INFO OK" : "CLIENT_ID OK, INFO OK");
    if (show_probes)
        vote(word, "TIME OK, GROUP OK");
}

void marker_set(unsigned master, unsigned masters, int64_t max_ttl_ms, int64_t from_ms)
{
    struct marker *marker = &markers[master];
    marker->there = true;
    marker->group = (struct group){.masters = masters, .max_ttl_ms = max_ttl_ms, .from_ms = from_ms};
    memcpy(marker->group.run_id, info[master].run_id, RUN_ID_HEX);
}

void newcomer_writes(unsigned master)
{
    marker_set(master, config.masters, config.max_ttl_ms, markers[master].clock_ms + now);
}

void handshakes_until(int64_t ms)
{
    while (now < ms) {
        at(now + 1000);
        for (unsigned i = 0; i < config.masters; i++)
            if (unanswered(i) != 0)
                vote_one(i, "INFO", "OK");
    }
}

/* ---- clients ---- */

static void lengthen(char *out, const char *line)
{
    const char *token = strstr(line, "token=");
    if (token == NULL) {
        snprintf(out, LINE, "%s", line);
        return;
    }
    token += strlen("token=");
    char hex[TOKEN_HEX];
    line_token_hex(hex, token_of(token));
    snprintf(out, LINE, "%.*s%.*s%s", (int)(token - line), line, TOKEN_HEX, hex, token + strcspn(token, " "));
}

static uint64_t new_request(void)
{
    ck_assert_uint_lt(++last_request, REQUESTS);
    return last_request;
}

uint64_t ask(uint64_t session, const char *line)
{
    char longer[LINE];
    struct refusal refusal;
    struct coordinator_event event = {
        .kind = EVENT_REQUEST, .session = session, .request = new_request(), .peer = trace_peer};
    ck_assert_uint_lt(session, SESSIONS);
    lengthen(longer, line);
    if (line_parse(longer, strlen(longer), &event.what, &refusal) != LINE_REQUEST)
        trace_fail("the test's line \"%s\" is refused: %s", line, refusal.text);
    log_event("session %" PRIu64 " #%" PRIu64 ": %s", session, event.request, line);
    step(&event);
    return event.request;
}

uint64_t cancel(uint64_t session, uint64_t request)
{
    struct coordinator_event event = {
        .kind = EVENT_REQUEST, .session = session, .request = new_request(), .target = request};
    event.what.verb = VERB_CANCEL;
    log_event("session %" PRIu64 " #%" PRIu64 ": CANCEL #%" PRIu64, session, event.request, request);
    step(&event);
    return event.request;
}

void finish(uint64_t session)
{
    log_event("session %" PRIu64 " asks nothing more", session);
    step_session(EVENT_SESSION_FINISH, session, 0);
}

void release(uint64_t session)
{
    log_event("session %" PRIu64 " is over", session);
    step_session(EVENT_SESSION_RELEASE, session, 0);
}

void drop(uint64_t session)
{
    log_event("session %" PRIu64 " broke", session);
    step_session(EVENT_SESSION_DROP, session, 0);
}

void undelivered(uint64_t session, uint64_t request)
{
    log_event("session %" PRIu64 " got nothing of #%" PRIu64, session, request);
    step_session(EVENT_UNDELIVERED, session, request);
}

void deny_lock(uint64_t session, const char *name, const char *token)
{
    struct coordinator_event event = {.kind = EVENT_DENY, .session = session};
    event.what.name.len = (uint8_t)strlen(name);
    memcpy(event.what.name.text, name, event.what.name.len);
    event.what.token = *token_of(token);
    log_event("session %" PRIu64 " may not have %s any more", session, name);
    step(&event);
}

void deny_wait(uint64_t session, uint64_t request)
{
    log_event("session %" PRIu64 " may not wait by #%" PRIu64 " any more", session, request);
    step_session(EVENT_DENY, session, request);
}

void deny_session(uint64_t session)
{
    log_event("session %" PRIu64 " may not be here any more", session);
    step_session(EVENT_SESSION_DENY, session, 0);
}

void drain(void)
{
    struct coordinator_event event = {.kind = EVENT_DRAIN};
    log_event("drain");
    step(&event);
}

/* ---- start and end ---- */

void trace_setup(void)
{
    text_reset();
    steps_reset();
    memset(markers, 0, sizeof markers);
    show_probes = show_letters = show_tries = false;
    memset(trace_natives, 0, sizeof trace_natives);
    now = 1000;
    wall_offset_us = 0;
    memset(trace_rtts_us, 0, sizeof trace_rtts_us);
    config = (struct coordinator_config){
        .default_ttl_ms = 10000,
        .min_ttl_ms = 100,
        .max_ttl_ms = 60000,
        .node_timeout_ms = 50,
        .min_validity_ms = 1,
        .retry_min_ms = 20,
        .retry_max_ms = 200,
        .drain_timeout_ms = 10000,
        .restart_guard = true,
        .max_sessions = 16,
        .max_locks = 16,
        .max_waiters = 16,
        .max_locks_per_client = 8,
        .max_waits_per_client = 8,
        .self = {{0xda}},
    };
    for (unsigned i = 0; i < MASTERS; i++) {
        info[i] = (struct master_info){.version = 0x07000f, .uptime_s = 100000};
        memset(info[i].run_id, (int)('a' + i), sizeof info[i].run_id);
        info[i].run_id[0] = '0';
        markers[i].clock_ms = 1700000000000;
    }
}

void trace_teardown(void)
{
    if (trace_actions != 0)
        trace_fail("the test ends with actions that it did not expect, \"%s\" the first", trace_action[0]);
    coordinator_free(core);
    core = NULL;
}

void start_alone(unsigned masters)
{
    config.masters = masters;
    coordinator_free(core); /* a trace may start again and again */
    core = coordinator_new(&config);
    ck_assert_ptr_nonnull(core);
    coordinator_check(core);
}

void reach_all(void)
{
    for (unsigned i = 0; i < config.masters; i++) {
        dial(i);
        shake(i);
    }
}

void start(unsigned masters)
{
    start_alone(masters);
    reach_all();
    work(); /* no group's key is written before all were read */
    ck_assert_uint_eq(coordinator_voters(core), masters);
    trace_lines = 0;
    forget();
}

void grant(uint64_t session, const char *line)
{
    char all[8];
    snprintf(all, sizeof all, "0-%u", config.masters - 1);
    uint64_t request = ask(session, line);
    vote(all, "SET YES, ZADD YES");
    for (unsigned i = 0; i < trace_actions; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "s%" PRIu64 " #%" PRIu64 " +LOCKED ", session, request);
        if (strncmp(trace_action[i], prefix, strlen(prefix)) == 0) {
            forget();
            return;
        }
    }
    trace_fail("#%" PRIu64 " is not granted", request);
}
