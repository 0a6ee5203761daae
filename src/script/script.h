/* script/script.h - from the text of a probe script to byte code.
 *
 * The language is D: clauses `probe, probe /predicate/ { statements }`. A
 * script is compiled whole; every mistake that can be found is told, with
 * its place and a tag. Hosted. */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

#include "base/err.h"
#include "wire/probe.h"

#include <stdbool.h>
#include <stddef.h>

enum script_tag {
#define TAG(name, claim) SCRIPT_##name,
#include "script/tags.def"
#undef TAG
	SCRIPT_TAG_MAX
};

struct script_mistake {
	unsigned source;       /* which of the texts, from 0 */
	unsigned line, column; /* from 1; columns are bytes */
	enum script_tag tag;
	const char *text; /* owned by the script */
};

/* -- Types of the program, where there is debug information -- */

enum script_kind {
	SCRIPT_UNKNOWN, /* of something that is wrong already */
	SCRIPT_VOID,
	SCRIPT_INT,
	SCRIPT_TEXT,
	SCRIPT_STRUCT, /* or union: only its members have values */
	SCRIPT_STACK,
	SCRIPT_NAME, /* a number that is shown as a symbol */
};

struct script_type {
	enum script_kind kind;
	bool is_signed;
	uint8_t stars;	  /* a pointer to a pointer has two */
	uint8_t part;	  /* enum probe_kind of a SCRIPT_NAME */
	uint32_t size;	  /* bytes, without the stars */
	uint32_t count;	  /* elements of an array (of the stars); or 0 */
	const void *from; /* whatever the callbacks know it by */
};

struct script_member {
	struct script_type type;
	uint32_t offset;
	uint8_t bit_shift, bit_size; /* of a bit field; size 0: none */
};

/* All return 0, or -1 if there is no such thing. */
struct script_types {
	void *ctx;
	/* "struct node", "size_t". */
	int (*named)(void *ctx, const char *name, struct script_type *out);
	int (*member)(void *ctx, const struct script_type *of, const char *name,
		      struct script_member *out);
	/* An argument of the functions that a description (its four parts)
	 * stands for; by name, or by *index if name is NULL. *index becomes
	 * N of the argN that has it. -2: there is one, but no argN has it. */
	int (*argument)(void *ctx, const char *const parts[4], const char *name,
			unsigned *index, struct script_type *out);
	/* For messages: which debug information is missing; or NULL. */
	const char *lacks;
};

/* -- Compiling -- */

/* One of the texts that a script consists of. */
struct script_source {
	const char *file; /* for messages; NULL: it came with -n */
	const char *text; /* borrowed */
	size_t len;
};

struct script_macro {
	const char *name, *value;
};

struct script_settings {
	const char *file;	 /* for messages; "-n" has none */
	const char *target;	 /* $target, as text; NULL: not known */
	const char *const *args; /* $1 and on */
	size_t n_args;
	bool has_default_args; /* those that were not given are 0 and "" */
	const struct script_macro *macros; /* $name for others */
	size_t n_macros;
	uint32_t string_size;		  /* 0: 256 */
	uint32_t stack_frames;		  /* of ustack(); 0: 20 */
	bool may_destroy;		  /* stop, raise, system */
	const struct script_types *types; /* or NULL */
};

struct script;

/* NULL only when there is no memory; a script with mistakes has no program. */
struct script *script_compile(const char *text, size_t len,
			      const struct script_settings *settings,
			      struct hark_err *err);
/* The same of several texts, in their order; a clause does not go on from one
 * to the next. The file of each is its own; they stay as long as the script. */
struct script *script_compile_all(const struct script_source *sources, size_t n,
				  const struct script_settings *settings,
				  struct hark_err *err);
void script_free(struct script *s);

const struct script_mistake *script_mistakes(const struct script *s, size_t *n);
/* "file:line:column: [TAG] text"; returns what snprintf does. */
int script_say(const struct script *s, const struct script_mistake *m,
	       char *out, size_t size);
const char *script_tag_name(enum script_tag tag);
/* NULL if there are mistakes; owned by the script. */
const struct probe_program *script_program(const struct script *s);

/* #pragma D option name[=value], in their order. */
struct script_option {
	const char *name, *value; /* value is NULL for a flag */
	unsigned source, line;
};
const struct script_option *script_options(const struct script *s, size_t *n);

/* "10hz", "10" (the same), "100ms", "2s", as in tick-N; false: it is none. */
bool script_period(const char *text, uint64_t *out);

#endif
