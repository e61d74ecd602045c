/* Small questions about the nodes of a YAML document. Private to conf_yaml.c and conf_read.c. */
#ifndef REDLOCKD_CONF_YAML_H
#define REDLOCKD_CONF_YAML_H

#include <string.h>
#include <yaml.h>

#include "daemon/conf/conf_private.h"

static inline struct conf_place place_of(const yaml_mark_t *mark)
{
    return (struct conf_place){(unsigned)mark->line + 1, (unsigned)mark->column + 1, false};
}

static inline const char *yaml_text(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static inline bool yaml_is_null(const yaml_node_t *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (unsigned i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        if (strcmp(yaml_text(node), nulls[i]) == 0)
            return true;
    return false;
}

/* The first pair of a mapping with that key; NULL: the key is not there. */
static inline const yaml_node_pair_t *pair_find(yaml_document_t *document, const yaml_node_t *mapping,
                                                const char *key)
{
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *node = yaml_document_get_node(document, p->key);
        if (node->type == YAML_SCALAR_NODE && strcmp(yaml_text(node), key) == 0)
            return p;
    }
    return NULL;
}

/* Reads the settings of a document, whose root is a mapping. */
void conf_document_read(struct conf_reader *r, yaml_document_t *document, const yaml_node_t *root);

#endif
