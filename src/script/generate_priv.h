/* script/generate_priv.h - what expressions and clauses are generated with. */
#ifndef SCRIPT_GENERATE_PRIV_H
#define SCRIPT_GENERATE_PRIV_H

#include "script/check_priv.h"

struct gen {
	struct script *s;
	struct place place; /* of the node at work, for mistakes */
	struct {
		VEC(struct probe_insn);
	} code;
	struct {
		VEC(uint64_t);
	} constants;
	struct {
		VEC(struct probe_action);
	} actions;
	struct {
		VEC(struct probe_part);
	} parts;
	struct {
		VEC(struct probe_clause);
	} clauses;
	struct {
		VEC(struct probe_description);
	} descriptions;
	struct {
		VEC(struct probe_variable);
	} variables;
	struct {
		VEC(struct probe_aggregation);
	} aggregations;
	struct {
		VEC(char);
	} texts;
	uint32_t n_slots[PROBE_SCOPE_MAX][2];
	uint32_t output; /* of this clause */
};

/* One more in a table. */
#define PUSH(g, vec, ...)                                           \
	do {                                                        \
		__typeof__((g)->vec.at) push_ =                     \
		    vec_push(&(g)->vec, &(g)->s->heap);             \
		if (push_ == NULL)                                  \
			(g)->s->no_memory = (g)->s->is_over = true; \
		else                                                \
			*push_ = (__typeof__(*push_)){__VA_ARGS__}; \
	} while (0)

/* Where it is in its table. */
uint32_t gen_text_of(struct gen *g, const char *text);
uint32_t gen_constant_of(struct gen *g, uint64_t value);
void gen_part_add(struct gen *g, struct probe_part part);

/* An instruction; a jump that is to land, and where it does. */
void gen_put(struct gen *g, enum probe_op op, unsigned d, unsigned a,
	     unsigned b, int32_t imm);
size_t gen_put_jump(struct gen *g, enum probe_op op, unsigned a);
void gen_land(struct gen *g, size_t jump);
void gen_put_number(struct gen *g, unsigned r, uint64_t value);

/* The value of a node, into register r. */
void gen_expr(struct gen *g, const struct node *n, unsigned r);
/* Of a list of keys: how many, from r on; and what they are. */
unsigned gen_keys(struct gen *g, const struct node *list, unsigned r);
void gen_put_tuple(struct gen *g, const struct node *list, unsigned r);

#endif
