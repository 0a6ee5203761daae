/* script/check_priv.h - what the checks of expressions and statements share. */
#ifndef SCRIPT_CHECK_PRIV_H
#define SCRIPT_CHECK_PRIV_H

#include "script/script_priv.h"

struct check {
	struct script *s;
	const struct clause *clause;
	/* What the clause did so far; see check_action.c. */
	bool has_output, has_speculate, has_commit;
};

/* Finds out what a node is; its type is SCRIPT_UNKNOWN if it is wrong. */
void check_expr(struct check *c, struct node *n);
bool check_is_number(const struct script_type *t); /* or a pointer */
bool check_is_text(const struct script_type *t);
bool check_const(const struct node *n, int64_t *out);
/* What it becomes as a key or as an argument; PROBE_NOTHING if it cannot. */
struct probe_part check_part(const struct node *n);
unsigned check_count(const struct node *list);

struct aggregation *check_aggregation(struct check *c, struct node *n);
void check_statements(struct check *c, struct node *list);

#endif
