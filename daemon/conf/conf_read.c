/* A YAML document -> settings, by the schema. */
#include <stdarg.h>
#include <string.h>

#include "daemon/conf/conf_yaml.h"

/* The result is always false. */
static bool fault(struct conf_reader *r, const yaml_node_t *node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool fault(struct conf_reader *r, const yaml_node_t *node, const char *fmt, ...)
{
    struct conf_place place = place_of(&node->start_mark);
    char why[CONF_WHY_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (!r->key)
        conf_fault(r, &place, r->setting, "%s", why);
    else if (!r->user)
        conf_fault(r, &place, r->setting, "%s: %s", r->key, why);
    else
        conf_fault(r, &place, r->setting, "%s of %s: %s", r->key, r->user, why);
    return false;
}

static bool may_go_on(const struct conf_reader *r)
{
    return r->faults < CONF_FAULTS_MOST;
}

/* ---- scalars ---- */

/* at is the key, or the node itself if it has none; advice follows a wrong type, and may be NULL. */
static bool scalar_read(struct conf_reader *r, const struct conf_value *v, const yaml_node_t *node,
                        const yaml_node_t *at, const char *advice)
{
    char why[CONF_WHY_BYTES];
    if (node->type != YAML_SCALAR_NODE)
        return fault(r, node, "wrong type: %s where one value belongs%s%s",
                     node->type == YAML_SEQUENCE_NODE ? "a list" : "a mapping", advice ? "; " : "",
                     advice ? advice : "");
    if (yaml_is_null(node))
        return fault(r, at, "there is no value%s",
                     at != node && !r->key ? "; without the line the default counts" : "");
    if (strlen(yaml_text(node)) != node->data.scalar.length)
        return fault(r, node, "there is a NUL byte in it");
    return v->row->kind->set(v, yaml_text(node), why) || fault(r, node, "%s", why);
}

/* One value, or a list of values. */
static bool values_read(struct conf_reader *r, const struct conf_value *v, const yaml_node_t *node,
                        const yaml_node_t *at)
{
    bool good = true;
    if (!v->row->kind->many || node->type != YAML_SEQUENCE_NODE)
        return scalar_read(r, v, node, at, NULL);
    const yaml_node_item_t *start = node->data.sequence.items.start, *end = node->data.sequence.items.top;
    if (start == end && v->row->kind->filled)
        return fault(r, node, "the list is empty; write %s", v->row->kind->allowed);
    for (const yaml_node_item_t *i = start; i < end && may_go_on(r); i++) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i);
        good &= scalar_read(r, v, item, item, NULL);
    }
    return good;
}

/* ---- mappings ---- */

static bool value_read(struct conf_reader *r, const struct conf_value *v, const yaml_node_t *node,
                       const yaml_node_t *at);

/* Reads a pair of a mapping that describes the record. The place of a setting is kept, for the rules between
 * settings. */
static bool pair_read(struct conf_reader *r, const struct conf_kind *kind, void *record,
                      const yaml_node_t *mapping, const yaml_node_pair_t *pair)
{
    bool is_setting = kind == &conf_whole;
    const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
    struct conf_place at = place_of(&key->start_mark);
    r->setting = is_setting ? NULL : r->setting;
    r->key = NULL;
    if (key->type != YAML_SCALAR_NODE) {
        conf_fault(r, &at, is_setting ? "?" : r->setting, "a key is one word, as in \"max_ttl: 60s\"");
        return false;
    }
    bool whole = strlen(yaml_text(key)) == key->data.scalar.length; /* no NUL in it */
    const struct conf_row *row = whole ? conf_row_find(kind, yaml_text(key)) : NULL;
    if (!row) {
        conf_key_unknown(r, &at, kind, r->setting, yaml_text(key));
        return false;
    }
    *(is_setting ? &r->setting : &r->key) = row->key;
    const yaml_node_pair_t *first = pair_find(r->document, mapping, row->key);
    if (pair != first)
        return fault(r, key, "this key stands in line %zu already; keep one of the two",
                     yaml_document_get_node(r->document, first->key)->start_mark.line + 1);
    const struct conf_value v = {r->conf, row, record};
    at.broken = !value_read(r, &v, yaml_document_get_node(r->document, pair->value), key);
    if (is_setting)
        r->places[row - conf_settings] = at;
    return !at.broken;
}

/* Reads the keys of a mapping but for the pair that was read before, which may be NULL. */
static bool pairs_read(struct conf_reader *r, const struct conf_kind *kind, void *record,
                       const yaml_node_t *mapping, const yaml_node_pair_t *before)
{
    bool good = true;
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < end && may_go_on(r); p++)
        good &= p == before || pair_read(r, kind, record, mapping, p);
    r->key = NULL;
    return good;
}

static bool mapping_done(struct conf_reader *r, const struct conf_kind *kind, const struct conf_value *v,
                         const yaml_node_t *mapping)
{
    char why[CONF_WHY_BYTES];
    return !kind->done || kind->done(v, why) || fault(r, mapping, "%s", why);
}

static bool mapping_read(struct conf_reader *r, const struct conf_value *v, const yaml_node_t *node)
{
    const struct conf_kind *kind = v->row->kind;
    const struct conf_value inner = {v->conf, v->row, (char *)v->record + v->row->at};
    if (node->type != YAML_MAPPING_NODE)
        return fault(r, node, "wrong type: it has keys of its own, as in %s", kind->example);
    bool good = pairs_read(r, kind, inner.record, node, NULL);
    return mapping_done(r, kind, &inner, node) && good;
}

/* ---- lists ---- */

/* Reads an item: the value of the first key, or a mapping with it. */
static bool item_read(struct conf_reader *r, const struct conf_row *row, const yaml_node_t *node)
{
    const struct conf_kind *list = row->kind;
    const struct conf_row *head = list->rows;
    bool mapping = node->type == YAML_MAPPING_NODE && list->count > 1;
    if (!mapping && list->users)
        return fault(r, node, "%s is written as %s", list->noun, list->example);
    const yaml_node_pair_t *pair = mapping ? pair_find(r->document, node, head->key) : NULL;
    if (mapping && !pair)
        return fault(r, node, "the %s is missing; write %s", head->key, list->example);
    const yaml_node_t *value = pair ? yaml_document_get_node(r->document, pair->value) : node;
    const struct conf_value v = {r->conf, head, conf_item_new(r->conf, row)};
    if (!scalar_read(r, &v, value, value, list->users ? NULL : list->advice))
        return false;
    struct conf_place *places = (void *)((char *)r + list->places);
    if (list->places)
        places[conf_items(r->conf, list)] = place_of(&node->start_mark);
    conf_item_add(r->conf, list);
    if (!mapping)
        return true;
    r->user = list->users ? (const char *)v.record + head->at : NULL;
    bool good = pairs_read(r, list, v.record, node, pair) && mapping_done(r, list, &v, node);
    r->user = NULL;
    return good;
}

static bool items_read(struct conf_reader *r, const struct conf_row *row, const yaml_node_t *sequence)
{
    bool good = true;
    const struct conf_kind *list = row->kind;
    const yaml_node_item_t *end = sequence->data.sequence.items.top;
    for (const yaml_node_item_t *i = sequence->data.sequence.items.start; i < end && may_go_on(r); i++) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i);
        if (conf_items(r->conf, list) == list->most)
            return fault(r, item, "too many: at most %u %s", list->most, list->things);
        good &= item_read(r, row, item);
    }
    return good;
}

/* Whether the value says that there are no users, in contrast to a file that was cut off before them. */
static bool users_off(struct conf *conf, const yaml_node_t *node)
{
    bool on = true;
    conf->users_off = node->type == YAML_SCALAR_NODE && conf_switch(yaml_text(node), &on) && !on;
    return conf->users_off;
}

static bool list_read(struct conf_reader *r, const struct conf_row *row, const yaml_node_t *node,
                      const yaml_node_t *at)
{
    const struct conf_kind *list = row->kind;
    bool null = yaml_is_null(node), sequence = node->type == YAML_SEQUENCE_NODE;
    bool lone = list->lone && node->type == YAML_SCALAR_NODE && !null;
    bool filled = sequence && node->data.sequence.items.start < node->data.sequence.items.top;
    if (list->users && users_off(r->conf, node))
        return true;
    if (!lone && !filled && !(sequence && list->empty))
        return fault(r, null ? at : node, "%s; %s",
                     sequence || null ? "the list is empty" : "wrong type: not a list", list->advice);
    if (!conf_items_clear(r->conf, list))
        return fault(r, node, "out of memory");
    return lone ? item_read(r, row, node) : items_read(r, row, node);
}

/* ---- any value ---- */

static bool value_read(struct conf_reader *r, const struct conf_value *v, const yaml_node_t *node,
                       const yaml_node_t *at)
{
    if (v->row->kind->most)
        return list_read(r, v->row, node, at);
    if (v->row->kind->rows)
        return mapping_read(r, v, node);
    return values_read(r, v, node, at);
}

void conf_document_read(struct conf_reader *r, yaml_document_t *document, const yaml_node_t *root)
{
    r->document = document;
    (void)pairs_read(r, &conf_whole, r->conf, root, NULL);
}
