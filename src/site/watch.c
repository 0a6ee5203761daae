/* site/watch.c - patterns, and names that nothing has. */
#include "site/watch.h"

#include "image/needed.h"

#include <stdlib.h>
#include <string.h>

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static bool matches_any(const struct modules *modules, const char *pattern)
{
	for (size_t i = 0; i < modules_count(modules); i++)
		if (module_matches(modules_get(modules, i), pattern))
			return true;
	return false;
}

/* What is called like a library's file is one; any other name that nothing has
 * is more likely a mistake. The vdso is never loaded. */
static bool is_library(const char *module)
{
	return (is_pattern(module) || strstr(module, ".so") != NULL) &&
	       strstr(module, "vdso") == NULL;
}

bool watch_forgives(const struct description *d, const struct modules *modules)
{
	return is_library(d->module) &&
	       (is_pattern(d->module) || !matches_any(modules, d->module));
}

/* Which modules stay, found out for the first description that asks. */
struct staying {
	const struct modules *modules; /* borrowed */
	bool is_known;
	bool *stays; /* owned; NULL: no memory to find out */
};

static void find_staying(struct staying *s)
{
	if (s->is_known)
		return;
	s->is_known = true;
	s->stays = calloc(modules_count(s->modules) + 1, sizeof *s->stays);
	if (s->stays != NULL && needed_find(s->modules, s->stays, NULL) < 0) {
		free(s->stays);
		s->stays = NULL;
	}
}

/* Is one there that may go, and come again? */
static bool may_go(struct staying *s, const char *pattern)
{
	find_staying(s);
	if (s->stays == NULL)
		return true;
	for (size_t i = 0; i < modules_count(s->modules); i++)
		if (!s->stays[i] &&
		    module_matches(modules_get(s->modules, i), pattern))
			return true;
	return false;
}

static bool is_open(const struct probe_program *p,
		    const struct probe_description *d, int pid,
		    struct staying *s)
{
	const char *texts = probe_texts(p);
	const char *const part[4] = {texts + d->provider, texts + d->module,
				     texts + d->function, texts + d->name};
	struct description what;

	return d->when == PROBE_AT_CODE &&
	       description_of(part, pid, &what, NULL) == 0 &&
	       (*what.module == '\0' || watch_forgives(&what, s->modules) ||
		may_go(s, what.module));
}

bool watch_wanted(const struct probe_program *p, int pid,
		  const struct modules *modules)
{
	struct staying s = {.modules = modules};
	bool is_wanted = false;

	for (uint32_t i = 0; i < p->descriptions.n && !is_wanted; i++)
		is_wanted = is_open(p, &probe_descriptions(p)[i], pid, &s);
	free(s.stays);
	return is_wanted;
}
