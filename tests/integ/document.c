#include "tests/integ/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integ/harness.h"

static const char *piece(const char *begin, const char *end)
{
    return keep(end != NULL ? strndup(begin, (size_t)(end - begin)) : strdup(begin));
}

/* Returns what follows the first occurrence of these words; the test fails if they do not occur. */
static const char *behind(const char *text, const char *words)
{
    const char *found = strstr(text, words);
    ck_assert_msg(found != NULL, "the document does not have \"%s\" in:\n%s", words, text);
    return found + strlen(words);
}

const char *document_section(const char *page, const char *heading)
{
    char line[128];
    snprintf(line, sizeof line, "\n%s\n", heading);
    const char *text = behind(keep(file_read(page)), line);
    return piece(text, strstr(text, "\n##"));
}

const char *document_step(const char *section, unsigned number)
{
    char line[16], next[16];
    snprintf(line, sizeof line, "\n%u. ", number);
    snprintf(next, sizeof next, "\n%u. ", number + 1);
    const char *text = behind(section, line), *end = strstr(text, next);
    return piece(text, end != NULL ? end : strstr(text, "\n\n"));
}

const char *document_bullet(const char *section, const char *quoted)
{
    char line[64];
    snprintf(line, sizeof line, "\n- `%s`", quoted);
    const char *text = behind(section, line), *end = strstr(text, "\n- ");
    const char *blank = strstr(text, "\n\n");
    return piece(text, end == NULL || (blank != NULL && blank < end) ? blank : end);
}

/* Lines that begin with these blanks lose them. */
static const char *unindented(const char *block, int blanks)
{
    char *text = keep(strdup(block)), *to = text;
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " ") >= (size_t)blanks ? blanks : 0;
        size_t len = strcspn(at, "\n");
        len += at[len] == '\n';
        memmove(to, at, len);
        at += len;
        to += len;
    }
    *to = '\0';
    return text;
}

const char *document_block(const char *section, const char *fence)
{
    const char *text = behind(section, fence), *at = text - strlen(fence);
    int blanks = 0;
    while (at > section && *--at == ' ')
        blanks++;
    return unindented(piece(behind(text, "\n"), strstr(text, "```")), blanks);
}

/* With one blank in place of each line's end and what follows it. */
static const char *flat(const char *text)
{
    char *line = keep(strdup(text)), *to = line;
    for (const char *at = line; *at != '\0'; at++) {
        if (*at == ' ' || *at == '\n') {
            at += strspn(at, " \n") - 1;
            *to++ = ' ';
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return line;
}

const char *document_quoted(const char *text, const char *begins)
{
    char quoted[128];
    snprintf(quoted, sizeof quoted, "`%s", begins);
    const char *found = behind(flat(text), quoted) - strlen(begins);
    return piece(found, strchr(found, '`'));
}

void document_says(const char *text, const char *words)
{
    behind(flat(text), words);
}
