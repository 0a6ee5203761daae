/* probe/draft.c - one step after the other. */
#include "probe/draft.h"

#include "image/loader.h"
#include "native/native.h"
#include "outside/refuse.h"
#include "probe/arguments.h"
#include "site/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void draft_fini(struct draft *d)
{
	match_free(d->match);
	listing_free(d->listing);
	unbound_free(d->unbound);
	script_free(d->script);
	types_free(d->types);
	naming_free(d->naming);
	modules_free(d->modules);
	free(d->missing);
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

/* -- Libraries that come later -- */

static bool forgives(void *ctx, const struct description *what,
		     const struct hark_err *why)
{
	struct draft *d = ctx;
	char *more;

	if (!watch_forgives(what, d->modules))
		return false;
	if (d->missing != NULL && strstr(d->missing, why->text) != NULL)
		return true; /* it has been said */
	if (asprintf(&more, "%s%s yet\n", d->missing ? d->missing : "",
		     why->text) < 0)
		return false;
	free(d->missing);
	d->missing = more;
	return true;
}

/* Another program may have it. */
static bool forgives_all(void *ctx, const struct description *what,
			 const struct hark_err *why)
{
	const struct draft *d = ctx;

	if (d->watches)
		forgives(ctx, what, why);
	return true;
}

static bool has(const struct draft *d, bool (*is)(const struct probe_insn *i))
{
	const struct probe_insn *code = probe_code(d->program);

	for (uint32_t i = 0; i < d->program->code.n; i++)
		if (is(&code[i]))
			return true;
	return false;
}

static bool is_stack(const struct probe_insn *i)
{
	return i->op == PROBE_KEY_STACK || i->op == PROBE_OUT_STACK ||
	       (i->op == PROBE_BUILTIN &&
		(i->imm == PROBE_BUILTIN_UCALLER ||
		 i->imm == PROBE_BUILTIN_USTACKDEPTH));
}

/* A thread that a clock interrupts may be in any library, and stacks need its
 * rules. */
static bool looks_around(const struct draft *d)
{
	return unbound_shortest(d->unbound) != 0 && has(d, is_stack);
}

/* Is the loader to be watched, and can it be? */
static bool can_watch(struct draft *d, int pid)
{
	struct loader l;

	if ((!d->samples && !looks_around(d) &&
	     !watch_wanted(d->program, pid, d->modules)) ||
	    !loader_find(d->modules, &l) || l.state == 0)
		return false;
	d->loader_state = l.state;
	return true;
}

static int match_script(struct draft *d, int pid, enum draft_use use,
			struct hark_err *err)
{
	if (use == DRAFT_LISTED)
		return match_new(d->program, pid, d->listing, &d->match, err);
	d->watches = can_watch(d, pid);
	if (match_some(d->program, pid, d->listing,
		       use == DRAFT_FOLLOWED ? forgives_all
		       : d->watches	     ? forgives
					     : NULL,
		       d, &d->match, err) < 0 ||
	    listing_add_hooks(d->listing, native_hooks, err) < 0)
		return -1;
	return d->watches ? listing_add_loader(d->listing, &d->loader, err) : 0;
}

/* After it is made. What is there can be probed, all the same. */
static int check_loader(struct draft *d, struct hark_err *err)
{
	struct probe p;

	if (!d->watches)
		return 0;
	listing_get(d->listing, d->loader, &p);
	if (p.patch != NULL)
		return 0;
	d->watches = false;
	return d->missing == NULL
		   ? 0
		   : err_set(err, HARK_EREFUSE, 0,
			     "libraries cannot be awaited: %s", p.refusal);
}

int draft_init(struct draft *d, struct image *im, int pid, int target,
	       const struct compile *script, const struct options *options,
	       enum draft_use use, struct hark_err *err)
{
	*d = (struct draft){.samples = options->samples};
	if (find_modules(d, im, pid, err) == 0 &&
	    naming_new(im, pid, &d->naming, err) == 0 &&
	    compile_script(d, target, script, options, err) == 0 &&
	    unbound_new(d->program, &d->unbound, err) == 0 &&
	    listing_new(d->modules, pid, &d->listing, err) == 0 &&
	    match_script(d, target, use, err) == 0 &&
	    listing_make(d->listing, err) == 0 && check_loader(d, err) == 0 &&
	    (use == DRAFT_LISTED ||
	     arguments_check(d->program, d->match, d->listing, err) == 0))
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

bool draft_reads(const struct draft *d)
{
	return d->samples || has(d, reads);
}

bool draft_wants_errno(const struct draft *d)
{
	return has(d, is_errno);
}
