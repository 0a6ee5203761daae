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

/* Is one there that may go, and come again? */
static bool may_go(const struct modules *modules, const char *pattern)
{
	bool *stays = calloc(modules_count(modules) + 1, sizeof *stays),
	     may = false;

	if (stays == NULL)
		return true;
	needed_find(modules, stays);
	for (size_t i = 0; i < modules_count(modules); i++)
		may |= !stays[i] &&
		       module_matches(modules_get(modules, i), pattern);
	free(stays);
	return may;
}

static bool is_open(const struct probe_program *p,
		    const struct probe_description *d, int pid,
		    const struct modules *modules)
{
	const char *texts = probe_texts(p);
	const char *const part[4] = {texts + d->provider, texts + d->module,
				     texts + d->function, texts + d->name};
	struct description what;

	return d->when == PROBE_AT_CODE &&
	       description_of(part, pid, &what, NULL) == 0 &&
	       (*what.module == '\0' || watch_forgives(&what, modules) ||
		may_go(modules, what.module));
}

bool watch_wanted(const struct probe_program *p, int pid,
		  const struct modules *modules)
{
	for (uint32_t i = 0; i < p->descriptions.n; i++)
		if (is_open(p, &probe_descriptions(p)[i], pid, modules))
			return true;
	return false;
}
