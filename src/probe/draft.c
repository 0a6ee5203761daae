/* probe/draft.c - one step after the other. */
#include "probe/draft.h"

#include "outside/refuse.h"
#include "probe/native.h"

#include <errno.h>

void draft_fini(struct draft *d)
{
	match_free(d->match);
	listing_free(d->listing);
	unbound_free(d->unbound);
	script_free(d->script);
	types_free(d->types);
	naming_free(d->naming);
	modules_free(d->modules);
	*d = (struct draft){0};
}

/* Without debug information there are no types, and that is fine. */
static int compile_script(struct draft *d, int pid, const struct compile *c,
			  const struct options *options, struct hark_err *err)
{
	const struct script_types *types = NULL;

	if (types_new(d->modules, &d->types, NULL) == 0)
		types = types_for_script(d->types);
	if (compile_for(c, options, pid, types, &d->script, err) < 0)
		return -1;
	d->program = script_program(d->script);
	return 0;
}

/* Whoever may not look at a process is told why not. */
static int find_modules(struct draft *d, struct image *im, int pid,
			struct hark_err *err)
{
	if (modules_of_pid(im, pid, &d->modules, err) == 0)
		return 0;
	if (err->sys == EACCES || err->sys == EPERM)
		refuse_explain(pid, pid, EPERM, err);
	return -1;
}

int draft_init(struct draft *d, struct image *im, int pid, int target,
	       const struct compile *script, const struct options *options,
	       enum draft_use use, struct hark_err *err)
{
	*d = (struct draft){0};
	if (find_modules(d, im, pid, err) == 0 &&
	    naming_new(im, pid, &d->naming, err) == 0 &&
	    compile_script(d, target, script, options, err) == 0 &&
	    unbound_new(d->program, &d->unbound, err) == 0 &&
	    listing_new(d->modules, pid, &d->listing, err) == 0 &&
	    match_some(d->program, target, d->listing, use == DRAFT_FOLLOWED,
		       &d->match, err) == 0 &&
	    (use == DRAFT_LISTED ||
	     listing_add_hooks(d->listing, native_hooks, err) == 0) &&
	    listing_make(d->listing, err) == 0)
		return 0;
	draft_fini(d);
	return -1;
}

static bool reads(const struct probe_insn *i)
{
	switch (i->op) {
	case PROBE_LOAD:
	case PROBE_OUT_BYTES:
	case PROBE_OUT_STACK:
	case PROBE_KEY_STACK:
		return true;
	case PROBE_CALL:
		return i->imm == PROBE_CALL_COPYIN ||
		       i->imm == PROBE_CALL_COPYINSTR;
	case PROBE_ARG: /* on the stack, or where a probe's notes say */
		return true;
	case PROBE_BUILTIN:
		return i->imm == PROBE_BUILTIN_UCALLER ||
		       i->imm == PROBE_BUILTIN_USTACKDEPTH ||
		       i->imm == PROBE_BUILTIN_ERRNO;
	default:
		return false;
	}
}

static bool is_errno(const struct probe_insn *i)
{
	return i->op == PROBE_BUILTIN && i->imm == PROBE_BUILTIN_ERRNO;
}

static bool has(const struct draft *d, bool (*is)(const struct probe_insn *i))
{
	const struct probe_insn *code = probe_code(d->program);

	for (uint32_t i = 0; i < d->program->code.n; i++)
		if (is(&code[i]))
			return true;
	return false;
}

bool draft_reads(const struct draft *d)
{
	return has(d, reads);
}

bool draft_wants_errno(const struct draft *d)
{
	return has(d, is_errno);
}
