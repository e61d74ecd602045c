/* A text, or that of a file -> a YAML document, and what is wrong with it as YAML. */
#include "daemon/conf/conf_yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 16, /* levels of lists and mappings; a configuration has two or three */
    ANCHORS = 64,
};

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
        conf_document_read(r, &document, root);
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

static int text_read(struct conf_reader *r, const char *text, size_t len)
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

int conf_parse(struct conf *conf, const char *name, const char *text, size_t len, FILE *errors)
{
    struct conf_reader r = {.conf = conf, .name = name, .errors = errors};
    return text_read(&r, text, len);
}

static int path_parse(struct conf *conf, const char *path, bool regular, const char *hint, FILE *errors)
{
    struct conf_reader r = {.conf = conf, .name = path, .errors = errors};
    char *text = malloc(CONF_FILE_BYTES + 1);
    ssize_t len = text ? conf_file_read(path, regular, text, CONF_FILE_BYTES + 1, &r.mode) : -1;
    if (len >= 0) {
        text_read(&r, text, (size_t)len);
    } else {
        conf_defaults(conf);
        fprintf(errors, "%s: cannot be read: %s%s\n", path,
                errno != 0 ? strerror(errno) : "it is no regular file", hint);
        r.faults = 1;
    }
    free(text);
    return r.faults;
}

int conf_read(struct conf *conf, const char *path, FILE *errors)
{
    return path_parse(conf, path, false, "; name another file with -c, or try redlockd --dev without any",
                      errors);
}

int conf_read_again(struct conf *conf, const char *path, FILE *errors)
{
    return path_parse(conf, path, true, "", errors);
}
