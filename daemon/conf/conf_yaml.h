/* Small questions about the nodes of a YAML document. Private to conf_read.c and conf_users.c. */
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

/* The value of a key in a mapping; NULL: the key is not there. */
static inline const yaml_node_t *pair_value(yaml_document_t *document, const yaml_node_t *mapping,
                                            const char *key)
{
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *node = yaml_document_get_node(document, p->key);
        if (node->type == YAML_SCALAR_NODE && strcmp(yaml_text(node), key) == 0)
            return yaml_document_get_node(document, p->value);
    }
    return NULL;
}

/* Reads the list of users; place is that of the value. Returns false after errors. */
bool conf_users_read(struct conf_reader *r, yaml_document_t *document, const yaml_node_t *value,
                     const struct conf_place *place);

#endif
