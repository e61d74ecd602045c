/* A page of the documents, for tests that do what it says. What is not there fails the test, so a page cannot change
 * without its test. */
#ifndef REDLOCKD_TESTS_DOCUMENT_H
#define REDLOCKD_TESTS_DOCUMENT_H

/* The text below a heading, up to the next heading: document_section("conf/OPERATING.md", "### From three to five"). */
const char *document_section(const char *page, const char *heading);
/* An item of a list in a section, up to the next item: by its number, or by the words in back quotes that it begins with. */
const char *document_step(const char *section, unsigned number);
const char *document_bullet(const char *section, const char *quoted);
/* The first block behind that fence, "```text", without the indentation of the fence. */
const char *document_block(const char *section, const char *fence);
/* The first words in back quotes that begin so, whatever lines they are on. */
const char *document_quoted(const char *text, const char *begins);
/* The text has these words, whatever lines they are on. */
void document_says(const char *text, const char *words);

#endif
