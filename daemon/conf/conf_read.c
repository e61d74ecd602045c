/* YAML -> settings. */
#include <string.h>
#include <strings.h>

#include "daemon/conf/conf_private.h"
#include "daemon/conf/conf_yaml.h"
#include "daemon/wire/wire.h"

enum {
    KEY_BYTES = 64,
    DEPTH = 16, /* levels of lists and mappings; a configuration has two or three */
    ANCHORS = 64,
};

/* Levenshtein's distance: only one row of its table is kept. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[KEY_BYTES + 1];
    unsigned len = (unsigned)strlen(b);
    for (unsigned j = 0; j <= len; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= len; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[len];
}

/* Our key for a word that other daemons use; NULL: unknown. */
static const char *key_elsewhere(const char *key)
{
    static const char *const pairs[][2] = {
        {"bind", "listen"},
        {"port", "listen"},
        {"address", "listen"},
        {"socket", "listen"},
        {"masters", "nodes"},
        {"servers", "nodes"},
        {"user", "node_user"},
        {"username", "node_user"},
        {"password", "node_password_file"},
        {"node_password", "node_password_file"},
        {"prefix", "key_prefix"},
        {"ttl", "default_ttl"},
    };
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcasecmp(key, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

static void key_unknown(struct conf_reader *r, const struct conf_place *place, const char *key)
{
    char shown[KEY_BYTES + 2];
    conf_shown(shown, sizeof shown, key);
    const char *meant = key_elsewhere(key);
    unsigned nearest = 0, distance = meant ? 0 : KEY_BYTES;
    for (unsigned k = 0; !meant && k < CONF_KEYS && strlen(key) <= KEY_BYTES; k++) {
        unsigned d = edit_distance(key, conf_settings[k].key);
        if (d < distance) {
            nearest = k;
            distance = d;
        }
    }
    if (distance <= 2 || distance * 3 <= strlen(key)) {
        conf_fault(r, place, shown, "unknown key; did you mean %s?",
                   meant ? meant : conf_settings[nearest].key);
        return;
    }
    if (r->listed) {
        conf_fault(r, place, shown, "unknown key");
        return;
    }
    r->listed = true;
    char all[CONF_WHY_BYTES];
    size_t len = 0;
    for (unsigned k = 0; k < CONF_KEYS; k++)
        len += (size_t)snprintf(all + len, sizeof all - len, k ? ", %s" : "%s", conf_settings[k].key);
    conf_fault(r, place, shown, "unknown key; the keys are %s", all);
}

/* ---- values ---- */

/* How to write the items of a list, for a message; "": the setting is no list. */
static const char *list_advice(const struct conf_setting *setting)
{
    if (setting->kind == &conf_kind_nodes)
        return "; write one address a line, as in \"- redis://10.0.0.1:6379\"";
    if (setting->kind == &conf_kind_listen)
        return "; write one address a line, as in \"- 127.0.0.1:7335\"";
    if (setting->kind == &conf_kind_http)
        return "; write one address a line, as in \"- 127.0.0.1:7337\"";
    if (setting->kind == &conf_kind_hosts)
        return "; write one name a line, as in \"- locks.example.com\"";
    return "";
}

static bool value_set(struct conf_reader *r, const struct conf_setting *setting, const yaml_node_t *value,
                      struct conf_place place)
{
    char why[CONF_WHY_BYTES];
    if (value->type != YAML_SCALAR_NODE)
        snprintf(why, sizeof why, "wrong type: %s where one value belongs%s",
                 value->type == YAML_SEQUENCE_NODE ? "a list" : "a mapping", list_advice(setting));
    else if (yaml_is_null(value))
        snprintf(why, sizeof why, "there is no value; without the line the default counts");
    else if (strlen(yaml_text(value)) != value->data.scalar.length)
        snprintf(why, sizeof why, "there is a NUL byte in it");
    else if (setting->kind->set(r->conf, setting, yaml_text(value), why))
        return true;
    conf_fault(r, &place, setting->key, "%s", why);
    return false;
}

static const char once[] = "each key stands here once, with one word as its value";

/* Whether a pair of a mapping is a key that stands there once. */
static bool pair_is_single(yaml_document_t *document, const yaml_node_t *mapping, const yaml_node_t *key,
                           const yaml_node_t *value)
{
    return key->type == YAML_SCALAR_NODE && pair_value(document, mapping, yaml_text(key)) == value;
}

/* Reads {ca: /etc/ca.pem, ...}. */
static bool tls_set(struct conf_reader *r, yaml_document_t *document, const struct conf_setting *setting,
                    const yaml_node_t *mapping)
{
    bool server = setting->kind->side == WIRE_SERVER;
    struct wire_settings *tls = setting->kind->tls(r->conf);
    struct conf_place at = place_of(&mapping->start_mark);
    if (mapping->type != YAML_MAPPING_NODE) {
        conf_fault(r, &at, setting->key,
                   "wrong type: TLS has keys of its own, as in {%s: /etc/redlockd/%s.pem}",
                   server ? "cert" : "ca", server ? "cert" : "ca");
        return false;
    }
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    tls->on = setting->kind->list || mapping->data.mapping.pairs.start < end;
    if (tls->on && !wire_has_tls()) {
        conf_fault(r, &at, setting->key, "there is no TLS in this redlockd: it was built with make TLS=no");
        return false;
    }
    bool good = true;
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < end; p++) {
        char why[CONF_WHY_BYTES];
        const yaml_node_t *key = yaml_document_get_node(document, p->key);
        const yaml_node_t *value = yaml_document_get_node(document, p->value);
        bool words = pair_is_single(document, mapping, key, value) && value->type == YAML_SCALAR_NODE &&
                     strlen(yaml_text(value)) == value->data.scalar.length;
        snprintf(why, sizeof why, "%s", once);
        if (words && conf_tls_set(tls, setting->kind->side, yaml_text(key), yaml_text(value), why))
            continue;
        at = place_of(words ? &value->start_mark : &key->start_mark);
        conf_fault(r, &at, setting->key, "%s", why);
        good = false;
    }
    return good;
}

/* Sets a key to one word, or to each word of a list; *at becomes the place of a wrong one. */
static bool listener_words(struct conf_reader *r, yaml_document_t *document,
                           const struct conf_setting *setting, const char *key, const yaml_node_t *value,
                           struct conf_place *at, char why[CONF_WHY_BYTES])
{
    struct conf_listener *listener = conf_last_listener(r->conf, setting);
    if (setting->kind == &conf_kind_http)
        listener->serves = 0; /* the words take the place of "all" */
    if (value->type == YAML_SCALAR_NODE) {
        *at = place_of(&value->start_mark);
        return conf_listener_set(listener, setting, key, yaml_text(value), why);
    }
    if (value->type != YAML_SEQUENCE_NODE || setting->kind != &conf_kind_http ||
        value->data.sequence.items.start == value->data.sequence.items.top)
        return false;
    for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top; i++) {
        const yaml_node_t *word = yaml_document_get_node(document, *i);
        *at = place_of(&word->start_mark);
        if (word->type != YAML_SCALAR_NODE ||
            !conf_listener_set(listener, setting, key, yaml_text(word), why))
            return false;
    }
    return true;
}

/* Sets a key that stands beside the address, or the URL. */
static bool item_key_set(struct conf_reader *r, yaml_document_t *document, const struct conf_setting *setting,
                         const yaml_node_t *item, const yaml_node_pair_t *pair)
{
    char why[CONF_WHY_BYTES];
    const yaml_node_t *key = yaml_document_get_node(document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(document, pair->value);
    const char *word = value->type == YAML_SCALAR_NODE ? yaml_text(value) : "";
    bool single = pair_is_single(document, item, key, value), node = setting->kind == &conf_kind_nodes;
    struct conf_place at = place_of(&key->start_mark);
    snprintf(why, sizeof why, "%s", once);
    if (single && setting->kind->tls && strcmp(yaml_text(key), "tls") == 0)
        return tls_set(r, document, setting, value);
    if (single && node && conf_node_set(r->conf, yaml_text(key), word, why))
        return true;
    if (single && !node && listener_words(r, document, setting, yaml_text(key), value, &at, why))
        return true;
    conf_fault(r, &at, setting->key, "%s", why);
    return false;
}

/* How a mapping in place of a plain address is written. */
static const char *item_advice(const struct conf_setting *setting)
{
    if (setting->kind == &conf_kind_nodes)
        return "{url: rediss://10.0.0.1:6379, tls: {ca: /etc/redlockd/ca.pem}}";
    return setting->kind == &conf_kind_http ? "{address: 127.0.0.1:7337, serve: [probes, metrics]}"
                                            : "{address: 127.0.0.1:7335, fin: break}";
}

/* Reads an item that is a mapping, as in {address: 127.0.0.1:7335, fin: break}. */
static bool item_set(struct conf_reader *r, yaml_document_t *document, const struct conf_setting *setting,
                     const yaml_node_t *item)
{
    const char *head = setting->kind->head;
    struct conf_place at = place_of(&item->start_mark);
    const yaml_node_t *value = pair_value(document, item, head);
    bool good = value != NULL;
    if (!good)
        conf_fault(r, &at, setting->key, "the %s is missing; write %s", head, item_advice(setting));
    if (!good || !value_set(r, setting, value, place_of(&value->start_mark)))
        return false;
    for (yaml_node_pair_t *p = item->data.mapping.pairs.start; p < item->data.mapping.pairs.top; p++)
        if (yaml_document_get_node(document, p->value) != value &&
            !item_key_set(r, document, setting, item, p))
            good = false;
    return good;
}

static bool list_item(struct conf_reader *r, yaml_document_t *document, const struct conf_setting *setting,
                      const yaml_node_t *item)
{
    bool listen = setting->kind == &conf_kind_listen, http = setting->kind == &conf_kind_http;
    unsigned index = conf_items(r->conf, setting);
    bool mapping = item->type == YAML_MAPPING_NODE && setting->kind->head;
    struct conf_place place = place_of(&item->start_mark);
    if (mapping ? !item_set(r, document, setting, item) : !value_set(r, setting, item, place))
        return false;
    if (setting->kind != &conf_kind_hosts)
        (listen ? r->listen_places : http ? r->http_places : r->node_places)[index] = place;
    return true;
}

static bool list_set(struct conf_reader *r, yaml_document_t *document, const struct conf_setting *setting,
                     const yaml_node_t *value, struct conf_place place)
{
    bool http = setting->kind == &conf_kind_http || setting->kind == &conf_kind_hosts;
    bool listen = setting->kind == &conf_kind_listen && !yaml_is_null(value);
    if ((http || listen) && value->type == YAML_SCALAR_NODE) {
        conf_items_clear(r->conf, setting);
        return list_item(r, document, setting, value);
    }
    if (value->type != YAML_SEQUENCE_NODE ||
        (value->data.sequence.items.start == value->data.sequence.items.top && !http)) {
        conf_fault(r, &place, setting->key, "%s%s",
                   value->type == YAML_SEQUENCE_NODE || yaml_is_null(value) ? "the list is empty"
                                                                            : "wrong type: not a list",
                   list_advice(setting));
        return false;
    }
    bool good = true;
    conf_items_clear(r->conf, setting);
    for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top; i++)
        good &= list_item(r, document, setting, yaml_document_get_node(document, *i));
    return good;
}

static void pair_read(struct conf_reader *r, yaml_document_t *document, const yaml_node_t *key,
                      const yaml_node_t *value)
{
    struct conf_place at = place_of(&key->start_mark);
    if (key->type != YAML_SCALAR_NODE) {
        conf_fault(r, &at, "?", "a key is one word, as in \"max_ttl: 60s\"");
        return;
    }
    bool text = strlen(yaml_text(key)) == key->data.scalar.length; /* no NUL in it */
    int k = text ? conf_key_find(yaml_text(key)) : -1;
    if (k < 0) {
        key_unknown(r, &at, yaml_text(key));
        return;
    }
    struct conf_place *place = &r->places[k];
    if (place->line) {
        conf_fault(r, &at, conf_settings[k].key, "this key stands in line %u already; keep one of the two",
                   place->line);
        return;
    }
    *place = at;
    struct conf_place value_at = yaml_is_null(value) ? at : place_of(&value->start_mark);
    const struct conf_setting *setting = &conf_settings[k];
    if (setting->kind == &conf_kind_users)
        place->broken = !conf_users_read(r, document, value, &value_at);
    else if (setting->kind->list)
        place->broken = !list_set(r, document, setting, value, value_at);
    else if (setting->kind->tls)
        place->broken = !tls_set(r, document, setting, value);
    else
        place->broken = !value_set(r, setting, value, value_at);
}

/* ---- YAML ---- */

/* libyaml gives an offset instead of a mark for wrong bytes (no UTF-8, control characters). */
static struct conf_place error_place(const yaml_parser_t *parser, const char *text, size_t len)
{
    if (parser->error != YAML_READER_ERROR)
        return place_of(&parser->problem_mark);
    struct conf_place place = {1, 1, false};
    for (size_t i = 0; i < len && i < parser->problem_offset; i++) {
        place.column++;
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}

/* If a wrong line has a tab, the tab is mostly the reason, and cannot be seen. */
static bool line_has_tab(const char *text, size_t len, unsigned line)
{
    const char *at = text, *end = text + len;
    for (; at && line > 1; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    const char *lf = memchr(at, '\n', (size_t)(end - at));
    return memchr(at, '\t', (size_t)((lf ? lf : end) - at)) != NULL;
}

static bool has_anchor(const yaml_event_t *event)
{
    return (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
           (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor) ||
           (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor);
}

/* libyaml looks at every open bracket and every anchor again for each further one, so that 60,000 of them
 * would hold up a running daemon for seconds. This pass reads events as libyaml finds them, and stops at
 * the first bracket or anchor too many. document_load() reports all other errors. */
static bool cost_check(struct conf_reader *r, yaml_parser_t *parser)
{
    unsigned depth = 0, anchors = 0;
    bool ended = false, good = true;
    while (!ended && good) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return true;
        ended = event.type == YAML_STREAM_END_EVENT;
        depth += event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        anchors += has_anchor(&event);
        good = depth <= DEPTH && anchors <= ANCHORS;
        struct conf_place place = place_of(&event.start_mark);
        if (depth > DEPTH)
            conf_fault(r, &place, "YAML",
                       "lists and mappings are nested too deep here; allowed are %d levels", DEPTH);
        if (anchors > ANCHORS)
            conf_fault(r, &place, "YAML", "too many anchors (&name); allowed are %d", ANCHORS);
        yaml_event_delete(&event);
    }
    return good;
}

/* libyaml notices an unclosed quote only at the end of the file, but remembers where the quote began. */
static bool is_unclosed_quote(const yaml_parser_t *parser)
{
    return parser->problem && parser->context &&
           strcmp(parser->problem, "found unexpected end of stream") == 0 &&
           strcmp(parser->context, "while scanning a quoted scalar") == 0;
}

static bool document_load(struct conf_reader *r, yaml_parser_t *parser, yaml_document_t *document,
                          const char *text, size_t len)
{
    if (yaml_parser_load(parser, document))
        return true;
    if (is_unclosed_quote(parser)) {
        struct conf_place quote = place_of(&parser->context_mark);
        conf_fault(r, &quote, "YAML", "the quote that begins here is never closed");
        return false;
    }
    struct conf_place place = error_place(parser, text, len);
    conf_fault(r, &place, "YAML", "%s%s%s%s", parser->problem ? parser->problem : "out of memory",
               parser->context ? ", " : "", parser->context ? parser->context : "",
               line_has_tab(text, len, place.line) ? " (a tab? indent with spaces)" : "");
    return false;
}

/* false: the text could not be read to its end, so it is not known which keys are missing. */
static bool document_read(struct conf_reader *r, yaml_parser_t *parser, const char *text, size_t len)
{
    yaml_document_t document;
    if (!document_load(r, parser, &document, text, len))
        return false;
    yaml_node_t *root = yaml_document_get_root_node(&document);
    bool whole = true;
    if (root && root->type == YAML_MAPPING_NODE) {
        for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top; p++)
            pair_read(r, &document, yaml_document_get_node(&document, p->key),
                      yaml_document_get_node(&document, p->value));
    } else if (root && !yaml_is_null(root)) {
        struct conf_place place = place_of(&root->start_mark);
        conf_fault(r, &place, "YAML", "the file is a list of \"key: value\" lines");
        whole = false;
    }
    yaml_document_delete(&document);
    if (!root || !document_load(r, parser, &document, text, len))
        return whole && !root;
    yaml_node_t *second = yaml_document_get_root_node(&document);
    if (second) {
        struct conf_place place = place_of(&second->start_mark);
        conf_fault(r, &place, "YAML", "a second document begins here; write all keys into one");
    }
    yaml_document_delete(&document);
    return whole;
}

/* Each of the two passes has a parser of its own. false: no memory, which was reported. */
static bool parser_new(struct conf_reader *r, yaml_parser_t *parser, const char *text, size_t len)
{
    if (!yaml_parser_initialize(parser)) {
        fprintf(r->errors, "%s: out of memory\n", r->name);
        r->faults++;
        return false;
    }
    yaml_parser_set_input_string(parser, (const unsigned char *)text, len);
    return true;
}

int conf_text_read(struct conf_reader *r, const char *text, size_t len)
{
    yaml_parser_t parser;
    conf_defaults(r->conf);
    if (len > CONF_FILE_BYTES) {
        fprintf(r->errors, "%s: larger than 1 MiB; is it a configuration?\n", r->name);
        return ++r->faults;
    }
    if (!parser_new(r, &parser, text, len))
        return r->faults;
    bool cheap = cost_check(r, &parser);
    yaml_parser_delete(&parser);
    if (!cheap || !parser_new(r, &parser, text, len))
        return r->faults;
    if (document_read(r, &parser, text, len))
        conf_check(r);
    yaml_parser_delete(&parser);
    return r->faults;
}
