/* probe/arguments.c - from what a note says to what the collector reads. */
#include "probe/arguments.h"

#include "native/collect_board.h"

#include <stdlib.h>

static bool next(const struct probe *p, const char **text, struct usdt_arg *out)
{
	if (!usdt_parse(text, out))
		return false;
	usdt_resolve(p->module->file, p->module->main, out);
	return true;
}

/* ORDER usdt_segment */
static struct collect_arg argument(const struct usdt_arg *a, uint64_t bias)
{
	static const uint8_t places[] = {[USDT_UNKNOWN] = COLLECT_NOWHERE,
					 [USDT_CONSTANT] = COLLECT_CONST,
					 [USDT_REGISTER] = COLLECT_REG,
					 [USDT_MEMORY] = COLLECT_MEM};

	return (struct collect_arg){
	    .place = places[a->kind],
	    .size = a->size,
	    .is_signed = a->is_signed,
	    .base = a->base,
	    .index = a->index,
	    .scale = a->scale,
	    .high = a->high,
	    .segment = (uint8_t)a->segment,
	    .value = (int64_t)((uint64_t)a->value + (a->is_linked ? bias : 0)),
	};
}

size_t arguments_of(const struct probe *p, struct collect_arg out[USDT_ARGS])
{
	const char *text = p->usdt_args;
	struct usdt_arg a;
	size_t n = 0;

	while (n < USDT_ARGS && next(p, &text, &a))
		out[n++] = argument(&a, p->module->bias);
	return n;
}

/* uses: which of them are asked for, a bit each. */
static int check_probe(const struct probe *p, uint32_t uses,
		       struct hark_err *err)
{
	const char *text = p->usdt_args;
	struct usdt_arg a;

	for (unsigned n = 0; n < USDT_ARGS && next(p, &text, &a); n++)
		if (a.kind == USDT_UNKNOWN && (uses >> n & 1) != 0)
			return err_set(err, HARK_EREFUSE, 0,
				       "%s:%s: arg%u is '%.*s': %s",
				       p->usdt_provider, p->name, n,
				       a.text_len < 100 ? (int)a.text_len : 100,
				       a.text, usdt_why(a.why));
	return 0;
}

int arguments_check(const struct probe_program *program, struct match *match,
		    const struct listing *listing, struct hark_err *err)
{
	size_t max = program->clauses.n, n;
	uint32_t *clauses = calloc(max + 1, sizeof *clauses);
	struct probe p;
	int rc = 0;

	if (clauses == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t i = 0; i < listing_count(listing) && rc == 0; i++) {
		listing_get(listing, i, &p);
		if (p.usdt_args == NULL)
			continue;
		n = match_clauses(match, i, clauses, max);
		rc = check_probe(&p, collect_uses(program, clauses, n), err);
	}
	free(clauses);
	return rc;
}
