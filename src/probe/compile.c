/* probe/compile.c - options first, then mistakes, then the program. */
#include "probe/compile.h"

#include "base/fmt.h"

#include <stdio.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 1024 };

/* Mistakes that knowing the types of the program cannot mend. */
static bool is_final(enum script_tag tag)
{
	switch (tag) {
	case SCRIPT_CHARACTER:
	case SCRIPT_NUMBER:
	case SCRIPT_STRING:
	case SCRIPT_COMMENT:
	case SCRIPT_PRAGMA:
	case SCRIPT_MACRO:
	case SCRIPT_PROBE:
	case SCRIPT_PERIOD:
	case SCRIPT_EMPTY:
	case SCRIPT_LOOP:
	case SCRIPT_UNSUPPORTED:
	case SCRIPT_FUNC_UNDEF:
	case SCRIPT_FUNC_ARGS:
	case SCRIPT_AGG_FUNC:
	case SCRIPT_PRINTF_FORMAT:
	case SCRIPT_DESTRUCTIVE:
	case SCRIPT_SPECULATE:
	case SCRIPT_COMMIT:
	case SCRIPT_SPEC_AGG:
		return true;
	default:
		return false;
	}
}

/* -- Macros -- */

enum { N_MACROS = 9, NUMBER_MAX = 12 };

struct macros {
	struct script_macro all[N_MACROS];
	char numbers[N_MACROS][NUMBER_MAX];
};

/* What is known of hark itself, as DTrace has it; $0 is the script. */
static void name_macros(const struct compile *c, struct macros *m)
{
	const struct {
		const char *name;
		long value;
	} known[N_MACROS - 1] = {
	    {"pid", getpid()},	{"ppid", getppid()}, {"pgid", getpgrp()},
	    {"sid", getsid(0)}, {"uid", getuid()},   {"euid", geteuid()},
	    {"gid", getgid()},	{"egid", getegid()},
	};
	const char *file = c->n_sources > 0 ? c->sources[0].file : NULL;

	for (size_t i = 0; i < N_MACROS - 1; i++) {
		fmt_text(m->numbers[i], NUMBER_MAX, "%ld", known[i].value);
		m->all[i] = (struct script_macro){known[i].name, m->numbers[i]};
	}
	m->all[N_MACROS - 1] =
	    (struct script_macro){"0", file != NULL ? file : "-n"};
}

static struct script *compile(const struct compile *c, const struct options *o,
			      const char *target,
			      const struct script_types *types,
			      struct hark_err *err)
{
	struct macros macros;
	struct script_settings settings = {
	    .target = target,
	    .args = c->args,
	    .n_args = c->n_args,
	    .has_default_args = o->defaultargs,
	    .macros = macros.all,
	    .n_macros = N_MACROS,
	    .string_size = (uint32_t)o->strsize,
	    .stack_frames = (uint32_t)o->ustackframes,
	    .may_destroy = o->destructive,
	    .types = types,
	};

	name_macros(c, &macros);
	return script_compile_all(c->sources, c->n_sources, &settings, err);
}

/* Says them all, if there is one that nothing can mend, or nothing will. */
static int check(const struct compile *c, const struct script *s, bool is_last,
		 struct hark_err *err)
{
	const struct script_mistake *m;
	char line[LINE_MAX_LEN];
	bool is_wrong = is_last;
	size_t n;

	m = script_mistakes(s, &n);
	for (size_t i = 0; i < n; i++)
		is_wrong |= is_final(m[i].tag);
	if (n == 0 || !is_wrong)
		return 0;
	for (size_t i = 0; i < n; i++) {
		script_say(s, &m[i], line, sizeof line);
		c->say(c->ctx, line);
	}
	return err_set(err, HARK_EINPUT, 0, "%s", "");
}

/* -- Options -- */

static int take_pragmas(const struct compile *c, const struct script *s,
			struct options *o, struct hark_err *err)
{
	const struct script_option *p;
	struct hark_err why;
	const char *file;
	size_t n;

	p = script_options(s, &n);
	for (size_t i = 0; i < n; i++) {
		if (options_set(o, p[i].name, p[i].value, &why) == 0)
			continue;
		file = c->sources[p[i].source].file;
		return err_set(err, HARK_EINPUT, 0, "%s:%u:1: [PRAGMA] %s",
			       file != NULL ? file : "-n", p[i].line, why.text);
	}
	return 0;
}

static int take_settings(const struct compile *c, struct options *o,
			 struct hark_err *err)
{
	for (size_t i = 0; i < c->n_settings; i++)
		if (options_parse(o, c->settings[i], err) < 0)
			return -1;
	return 0;
}

int compile_early(const struct compile *c, struct options *options,
		  struct hark_err *err)
{
	struct options o;
	struct script *s;
	int rc = -1;

	options_init(&o);
	if (take_settings(c, &o, err) < 0)
		return -1;
	s = compile(c, &o, "1", NULL, err);
	if (s == NULL)
		return -1;
	options_init(&o);
	if (take_pragmas(c, s, &o, err) == 0 && take_settings(c, &o, err) == 0)
		rc = 0;
	script_free(s);
	s = rc == 0 ? compile(c, &o, "1", NULL, err) : NULL;
	if (s == NULL)
		return -1;
	rc = check(c, s, false, err);
	script_free(s);
	if (rc == 0)
		*options = o;
	return rc;
}

int compile_for(const struct compile *c, const struct options *options, int pid,
		const struct script_types *types, struct script **out,
		struct hark_err *err)
{
	char target[16];
	struct script *s;

	fmt_text(target, sizeof target, "%d", pid);
	s = compile(c, options, target, types, err);
	if (s == NULL)
		return -1;
	if (check(c, s, true, err) < 0) {
		script_free(s);
		return -1;
	}
	*out = s;
	return 0;
}
