#include "daemon/loop/loop_who.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "daemon/loop/loop_who_tell.h"

enum { FIRST_ENTRIES = 16, BREAK_VALUES = 512 };

/* ---- BREAK ---- */

/* The masters that have a value which may be deleted, and the holders of these values. */
static bool query_doomed(struct who_query *query)
{
    struct holder *list = malloc((query->count + 1) * sizeof *list);
    unsigned kept = 0;
    query->had = 0;
    for (unsigned i = 0; i < query->count; i++)
        if (query->entries[i].doomed) {
            query->had |= masters_bit(query->entries[i].master);
            query->entries[kept++] = query->entries[i];
        }
    query->count = kept;
    if (list == NULL)
        return false;
    query->others = holders_list(list, query->entries, kept, query_quorum(query)) - 1;
    query->holder = list[0];
    free(list);
    return true;
}

/* The line is written before anything is deleted, so that no crash can leave a break unlogged. */
static void query_log(const struct who_query *query)
{
    char words[QUERY_WORDS_BYTES], address[ADDRESS_TEXT_BYTES];
    const struct loop_view *view = query->all->view;
    const struct user *user = conns_user(view->conns, query->session);
    conns_address(view->conns, query->session, address);
    if (query->verb == VERB_UNLOCK)
        log_info("unkeep", "name=%.*s %s client=%s%s%s what=\"a client lets this name be locked again\"",
                 query->name.len, query->name.text, query_words(query, words), address, user ? " user=" : "",
                 user ? user->name : "");
    else
        log_warn("break", "name=%.*s %s others=%u client=%s%s%s what=\"a client breaks this lock\"",
                 query->name.len, query->name.text, query_words(query, words), query->others, address,
                 user ? " user=" : "", user ? user->name : "");
}

static char *break_bytes(const struct who_query *query, unsigned master, size_t *len)
{
    const char *values[BREAK_VALUES];
    const struct conf *conf = query->all->view->conf;
    struct who_break what = {.kind = query->holder.kind,
                             .slot = query->slot,
                             .queue_ttl_ms = 2 * (uint64_t)conf->max_ttl_ms,
                             .values = values};
    for (unsigned i = 0; i < query->count && what.count < BREAK_VALUES; i++)
        if (query->entries[i].master == master)
            values[what.count++] = query->entries[i].value;
    return who_break(conf->key_prefix, &query->name, &what, len);
}

static const char *breaking_text(enum breaking result)
{
    switch (result) {
    case BREAKING:
    case BREAKING_WHICH: break;
    case BREAKING_FREE: return "nobody has it";
    case BREAKING_SPLIT:
        return "no holder has it on a majority of masters, so nothing was deleted: what is there ends by "
               "itself; "
               "ask WHO";
    case BREAKING_NO_LOCK:
        return "the key is no lock (it is neither a string nor a sorted set): look at it with redis-cli TYPE";
    }
    return "";
}

static void query_begin(struct who_query *query);

static void query_decide(struct who_query *query)
{
    enum breaking result =
        query->verb == VERB_UNLOCK
            ? holders_unkeep(query->entries, &query->count)
            : holders_break(query->entries, query->count, query_quorum(query), query->slot, query->slots > 0);
    if (result == BREAKING_FREE && query->verb == VERB_UNLOCK) {
        query_refuse(query, REPLY_NOTHELD, "", "it is not kept; who holds it gives it back without kept");
    } else if (result == BREAKING_WHICH) {
        char words[32] = "";
        if (query->slots > 0)
            snprintf(words, sizeof words, "slots=%u", query->slots);
        query_refuse(query, REPLY_MODE, words, "it has slots: say which, as slot=0; WHO tells who has them");
    } else if (result != BREAKING) {
        query_refuse(query, REPLY_NOTHELD, "", breaking_text(result));
    } else if (!query_doomed(query)) {
        query_refuse(query, REPLY_LIMIT, "limit=memory", "this redlockd is out of memory");
    } else {
        query_log(query);
        query->deletes = true;
        query->read = query->answered;
        query_begin(query);
    }
}

/* Masters that had not answered before, or have not deleted it, may still have the lock. */
static void query_conclude(struct who_query *query)
{
    masters_t free_there = query->deleted | masters_without(query->read, query->had);
    struct quorum quorum = loop_quorum(query->all->view);
    if (quorum_count(&quorum, masters_without(quorum.of, free_there)) < quorum.needed)
        (query->verb == VERB_UNLOCK ? query_unkept : query_broken)(query);
    else if (!query->touched && query->answered == query->asked)
        query_refuse(query, REPLY_NOTHELD, "",
                     "it has changed meanwhile, and nothing was deleted; ask WHO again");
    else
        query_noquorum(query, free_there);
}

/* ---- questions to the masters ---- */

static bool query_ask(struct who_query *query, unsigned master)
{
    size_t len = 0;
    const struct loop_view *view = query->all->view;
    unsigned script = query->deletes ? RESP_SCRIPT_BREAK : RESP_SCRIPT_WHO;
    char *bytes = query->deletes ? break_bytes(query, master, &len)
                                 : who_question(view->conf->key_prefix, &query->name, &len);
    return node_ask(view->nodes[master], bytes, len, script, query->ref);
}

static bool is_in_service(const struct who_query *query, unsigned master)
{
    return coordinator_master_state(query->all->view->coordinator, master) >= MASTER_UNDOING;
}

static void query_step(struct who_query *query)
{
    if (query->deletes)
        query_conclude(query);
    else if (query_votes(query, query->answered) < query_quorum(query))
        query_noquorum(query, query->answered);
    else {
        holders_identify(query->entries, query->count);
        if (query->verb == VERB_WHO)
            query_rows(query);
        else
            query_decide(query);
    }
}

static void query_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    query_step(arg);
}

/* Asks each master in service, or for BREAK each that has the lock. Late answers to the questions before have
 * another ref. */
static void query_begin(struct who_query *query)
{
    int64_t timeout_ms = query->all->view->conf->node_timeout_ms;
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    query->ref = ++query->all->last_ref;
    query->asked = query->answered = query->refused = 0;
    for (unsigned i, left = query->all->view->places->used; place_next(&left, &i);) {
        bool wanted = query->deletes ? query->had & masters_bit(i) : is_in_service(query, i);
        if (wanted && query_ask(query, i))
            query->asked |= masters_bit(i);
    }
    bool reaches = query->deletes || query_votes(query, query->asked) >= query_quorum(query);
    if (query->asked == 0 || !reaches || evtimer_add(&query->timer, &timeout) < 0)
        query_step(query);
}

/* ---- their answers ---- */

static bool entry_add(struct who_query *query, const struct who_entry *entry)
{
    if (query->count == query->capacity) {
        unsigned capacity = query->capacity ? 2 * query->capacity : FIRST_ENTRIES;
        struct who_entry *entries = realloc(query->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return false;
        query->entries = entries;
        query->capacity = capacity;
    }
    query->entries[query->count++] = *entry;
    return true;
}

/* false: no script of ours has written it, or there is no memory. */
static bool query_read(struct who_query *query, unsigned master, const struct resp_reply *reply)
{
    struct who_answer answer;
    struct who_entry entry;
    unsigned before = query->count;
    if (reply->whole == NULL || !who_answer_begin(&answer, reply->whole, reply->whole_len))
        return false;
    while (who_answer_next(&answer, &entry)) {
        entry.master = (uint8_t)master;
        if (entry_add(query, &entry))
            continue;
        query->count = before;
        return false;
    }
    if (answer.slots > query->slots)
        query->slots = answer.slots;
    query->cut |= answer.cut;
    query->told[master] = answer.told;
    return true;
}

/* How many values of that master BREAK was told to delete. */
static unsigned query_told(const struct who_query *query, unsigned master)
{
    unsigned told = 0;
    for (unsigned i = 0; i < query->count && told < BREAK_VALUES; i++)
        told += query->entries[i].master == master;
    return told;
}

static bool query_deleted(struct who_query *query, unsigned master, const struct resp_reply *reply)
{
    int64_t deleted = reply->whole ? who_deleted(reply->whole, reply->whole_len) : -1;
    if (deleted >= 0 && deleted == query_told(query, master))
        query->deleted |= masters_bit(master);
    query->touched |= deleted > 0;
    return deleted >= 0;
}

static void query_answered(struct who_query *query, unsigned master, const struct resp_reply *reply)
{
    masters_t bit = masters_bit(master);
    if (resp_is_not_run(reply)) { /* the node loads the script */
        if (query_ask(query, master))
            return;
        query->asked = masters_without(query->asked, bit);
    } else {
        bool good = reply->type == RESP_STRING &&
                    (query->deletes ? query_deleted(query, master, reply) : query_read(query, master, reply));
        if (good)
            query->answered |= bit;
        else
            query->refused |= bit;
    }
    if ((query->answered | query->refused) == query->asked)
        query_step(query);
}

void loop_who_answered(struct loop_who *who, unsigned master, uint64_t ref, const struct resp_reply *reply)
{
    for (unsigned i = 0; i < WHO_QUERIES; i++)
        if (who->queries[i].ref == ref) {
            query_answered(&who->queries[i], master, reply);
            return;
        }
}

/* ---- beginning and end ---- */

static struct who_query *query_place(struct loop_who *who)
{
    for (unsigned i = 0; i < WHO_QUERIES; i++)
        if (who->queries[i].ref == 0)
            return &who->queries[i];
    return NULL;
}

static size_t limit_line(void *arg, unsigned i, const struct tag *tag, char *out)
{
    const struct request *what = arg;
    struct reply reply = {.code = REPLY_LIMIT, .name = what->name, .limit = LIMIT_MAX_ROUNDS, .retry_ms = -1};
    return i == 0 ? line_format_reply(out, tag, &reply) : 0;
}

void loop_who_ask(struct loop_who *who, uint64_t session, uint64_t request, const struct request *what)
{
    struct who_query *query = query_place(who);
    if (query == NULL) {
        struct request copy = *what;
        conns_lines(who->conns, session, request, REPLY_LIMIT, limit_line, &copy);
        return;
    }
    *query = (struct who_query){.all = who,
                                .session = session,
                                .request = request,
                                .verb = what->verb,
                                .name = what->name,
                                .slot = what->verb == VERB_BREAK ? what->slot : WHO_NO_SLOT};
    evtimer_assign(&query->timer, who->base, query_on_timer, query);
    loop_daemons_read(who->view->daemons); /* the holders' hosts */
    if (what->verb == VERB_BREAK && !who->view->conf->allow_break)
        query_refuse(query, REPLY_DENIED, "",
                     "this redlockd breaks no locks: its configuration would need allow_break: yes");
    else
        query_begin(query);
}

void loop_who_start(struct loop_who *who, struct event_base *base, const struct loop_view *view,
                    struct conns *conns)
{
    who->view = view;
    who->conns = conns;
    who->base = base;
}

void loop_who_stop(struct loop_who *who)
{
    for (unsigned i = 0; i < WHO_QUERIES; i++) {
        if (who->queries[i].ref != 0)
            evtimer_del(&who->queries[i].timer);
        free(who->queries[i].entries);
    }
}
