/* gdb/doc.h - a text of any length that is being written.
 *
 * Without memory it stays as it is, and is_short says so. Hosted. */
#ifndef GDB_DOC_H
#define GDB_DOC_H

#include <stddef.h>
#include <stdint.h>

struct doc {
	uint8_t *at; /* owned */
	size_t n, room;
	int is_short; /* something is missing */
};

void doc_clear(struct doc *d); /* keeps its memory */
void doc_free(struct doc *d);
void doc_add(struct doc *d, const void *bytes, size_t len);
void doc_text(struct doc *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A text as a terminal may show it: other bytes as \\xNN. */
void doc_plain(struct doc *d, const char *text);
/* Likewise, within a value of XML. */
void doc_quoted(struct doc *d, const char *text);

#endif
