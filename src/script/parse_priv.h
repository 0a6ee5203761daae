/* script/parse_priv.h - what parsing expressions and clauses share. */
#ifndef SCRIPT_PARSE_PRIV_H
#define SCRIPT_PARSE_PRIV_H

#include "script/script_priv.h"

struct parser {
	struct script *s;
	struct lexer lexer;
	struct token token; /* the one that is looked at */
	unsigned depth;
	unsigned braces; /* open in this clause */
	bool is_lost;	 /* this clause is given up */
};

/* The token that is looked at: what it is; if it is this, to the next one. */
void parse_next(struct parser *p);
bool parse_is_op(const struct parser *p, unsigned op);
bool parse_is_word(const struct parser *p, const char *word);
bool parse_take(struct parser *p, unsigned op);
bool parse_need(struct parser *p, unsigned op, const char *wanted);
/* Something else was wanted: the clause is given up. Always NULL. */
struct node *parse_lost(struct parser *p, const char *wanted);

/* NULL: no memory, or the clause is given up. A node has up to two kids. */
struct node *parse_node_new(struct parser *p, enum node_kind kind,
			    struct place place);
struct node *parse_node_of(struct parser *p, enum node_kind kind, unsigned op,
			   struct place at, struct node *a, struct node *b);

bool parse_begins_type(struct parser *p);
void parse_type(struct parser *p, struct script_type *out);
struct node *parse_assign(struct parser *p);

#endif
