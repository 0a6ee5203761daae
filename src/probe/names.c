/* probe/names.c - from descriptions to instructions.
 *
 * Modules and functions are matched by image/. A function that the loader
 * chooses when it binds (an ifunc) is passed over: its symbol is the code that
 * chooses, not the function; the ones it chooses from have names of their own.
 * Code in the vdso is the kernel's, and never probed. */
#include "probe/names.h"

#include "base/fmt.h"
#include "image/lines.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* -- Descriptions -- */

enum { PATTERN_MAX = 1024 };

/* pid$target is pid and a number by now; pid and pid* are the same. */
static int check_process(const char *number, int pid, struct hark_err *err)
{
	char *end;
	unsigned long n = strtoul(number, &end, 10);

	if (*number == '\0' || strcmp(number, "*") == 0)
		return 0;
	if (n == (unsigned long)pid)
		return 0;
	return err_set(err, HARK_EINPUT, 0,
		       "process %s is not the one that is probed: write "
		       "$target for its number",
		       number);
}

static int set_provider(struct description *d, const char *word, int pid,
			struct hark_err *err)
{
	static const char *const words[] = {
	    [PROVIDER_PID] = "pid",
	    [PROVIDER_PLT] = "plt",
	    [PROVIDER_USDT] = "usdt",
	};
	const char *rest;

	if (*word == '\0')
		return 0; /* any: pid */
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i]);

		rest = word + len;
		if (strncmp(word, words[i], len) != 0 ||
		    (strspn(rest, "0123456789") != strlen(rest) &&
		     strcmp(rest, "*") != 0))
			continue;
		d->provider = (enum provider)i;
		return check_process(rest, pid, err);
	}
	return err_set(err, HARK_EINPUT, 0,
		       "unknown provider '%s': there are pid$target, "
		       "plt$target and usdt$target",
		       word);
}

int description_of(const char *const part[4], int pid, struct description *out,
		   struct hark_err *err)
{
	struct description d = {
	    .module = part[1], .function = part[2], .name = part[3]};

	if (set_provider(&d, part[0], pid, err) < 0)
		return -1;
	*out = d;
	return 0;
}

/* -- One function -- */

struct tour {
	const struct names_tour *t;  /* borrowed */
	const struct description *d; /* borrowed */
	const struct module *module; /* borrowed */
	struct survey *survey;	     /* borrowed */
	struct symbol function;
	struct hark_err *err; /* borrowed */
	size_t found, functions;
	const char *refusal; /* of the last offset that is none */
};

static bool wants(const struct description *d, const char *name)
{
	return *d->name == '\0' || fnmatch(d->name, name, 0) == 0;
}

static int visit(struct tour *t, uint64_t addr, enum site_kind kind,
		 const char *name)
{
	struct named n = {.module = t->module,
			  .function = t->function,
			  .site = {addr, kind},
			  .name = name};

	t->found++;
	return t->t->visit(t->t->ctx, &n);
}

static int visit_end(void *ctx, const struct site *s)
{
	return visit(ctx, s->addr, s->kind, "return");
}

/* Its cold part goes by its name with .cold behind, and the other way round. */
static bool is_part(void *ctx, uint64_t addr)
{
	struct tour *t = ctx;
	struct symbol other;
	const char *a = t->function.name, *b;
	size_t len;

	if (symbols_function(t->module->file, addr, &other, NULL) < 0)
		return false;
	b = other.name;
	len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
	return strncmp(a, b, len) == 0 && (strncmp(a + len, ".cold", 5) == 0 ||
					   strncmp(b + len, ".cold", 5) == 0);
}

static bool is_offset(const char *name, uint64_t *out)
{
	char *end;

	if (!isxdigit((uint8_t)*name))
		return false;
	*out = strtoull(name, &end, 16);
	return *end == '\0';
}

static int visit_offset(struct tour *t, uint64_t offset)
{
	uint64_t addr = t->function.addr + offset;
	char name[32];

	if (offset >= t->function.size) {
		t->refusal = "it is beyond the end of the function";
		return 0;
	}
	if (!(survey_at(t->survey, addr) & SURVEY_START)) {
		t->refusal = "no instruction starts there";
		return 0;
	}
	fmt_text(name, sizeof name, "%lx", (unsigned long)offset);
	return visit(t, addr, SITE_INSIDE, name);
}

static int visit_function(void *ctx, const struct symbol *y)
{
	struct tour *t = ctx;
	bool plt = t->d->provider == PROVIDER_PLT;
	struct body b = {.survey = t->survey,
			 .start = y->addr,
			 .end = y->addr + y->size,
			 .is_own = is_part,
			 .ctx = t};
	uint64_t offset;
	int rc = 0;

	if (plt != (y->kind == SYMBOL_PLT) || y->kind == SYMBOL_IFUNC ||
	    !(survey_at(t->survey, y->addr) & SURVEY_ENTRY))
		return 0;
	t->function = *y;
	t->functions++;
	if (wants(t->d, "entry"))
		rc = visit(t, body_entry(&b), SITE_ENTRY, "entry");
	if (rc == 0 && !plt && wants(t->d, "return"))
		rc = body_ends(&b, visit_end, t);
	if (rc == 0 && is_offset(t->d->name, &offset))
		rc = visit_offset(t, offset);
	return rc;
}

/* -- One module -- */

static int visit_line_site(void *ctx, uint64_t addr)
{
	struct tour *t = ctx;
	char name[32];

	if (symbols_function(t->module->file, addr, &t->function, NULL) < 0 ||
	    !(survey_at(t->survey, addr) & SURVEY_START))
		return 0;
	fmt_text(name, sizeof name, "%lx",
		 (unsigned long)(addr - t->function.addr));
	return visit(t, addr, SITE_INSIDE, name);
}

static int visit_line(struct tour *t)
{
	char *end;
	unsigned long line = strtoul(t->d->name, &end, 10);
	struct hark_err why;
	int rc;

	if (*t->d->name == '\0' || *end != '\0' || line == 0 ||
	    line > UINT32_MAX || strchr(t->d->function, '.') == NULL)
		return 0;
	rc = lines_sites(t->module->file, t->d->function, (uint32_t)line,
			 visit_line_site, t, &why);
	return rc < 0 ? 0 : rc; /* no such line here: elsewhere, perhaps */
}

/* -- What the programmer put there -- */

/* Names as DTrace writes them have a dash for two underlines. */
static bool dashed_match(const char *pattern, const char *name)
{
	char dashed[256];
	size_t n = 0;

	for (; *name != '\0' && n + 1 < sizeof dashed; name++) {
		if (name[0] == '_' && name[1] == '_') {
			dashed[n++] = '-';
			name++;
		} else {
			dashed[n++] = *name;
		}
	}
	dashed[n] = '\0';
	return fnmatch(pattern, dashed, 0) == 0;
}

static bool is_wanted(const struct tour *t, const struct usdt *u)
{
	const struct description *d = t->d;

	if (*d->module != '\0' && fnmatch(d->module, u->provider, 0) != 0 &&
	    !module_matches(t->module, d->module))
		return false;
	if (*d->function != '\0' &&
	    fnmatch(d->function, t->function.name, 0) != 0)
		return false;
	return *d->name == '\0' || fnmatch(d->name, u->name, 0) == 0 ||
	       dashed_match(d->name, u->name);
}

static int visit_usdt(void *ctx, const struct usdt *u)
{
	struct tour *t = ctx;
	struct named n = {.module = t->module,
			  .site = {u->addr, SITE_INSIDE},
			  .name = u->name,
			  .usdt = u};

	if (symbols_function(t->module->file, u->addr, &t->function, NULL) <
		0 ||
	    !is_wanted(t, u))
		return 0;
	t->found++;
	n.function = t->function;
	return t->t->visit(t->t->ctx, &n);
}

static int visit_module(struct tour *t)
{
	char linked[PATTERN_MAX + 8];
	const char *pattern = *t->d->function ? t->d->function : NULL;
	size_t before = t->functions;
	int rc;

	t->survey = t->t->survey(t->t->ctx, t->module, t->err);
	if (t->survey == NULL)
		return -1;
	if (t->d->provider == PROVIDER_USDT)
		return usdt_each(t->module->file, visit_usdt, t, t->err);
	if (t->d->provider == PROVIDER_PLT && pattern != NULL) {
		fmt_text(linked, sizeof linked, "%s@plt", pattern);
		pattern = linked;
	}
	rc = symbols_each(t->module->file, pattern, visit_function, t, t->err);
	if (rc == 0 && t->functions == before && pattern != NULL)
		rc = visit_line(t);
	return rc;
}

static bool is_asked(const struct tour *t, const struct module *m)
{
	return m->file != NULL && m->kind != MODULE_VDSO &&
	       (*t->d->module == '\0' || t->d->provider == PROVIDER_USDT ||
		module_matches(m, t->d->module));
}

/* -- What was meant, perhaps -- */

enum { SIMILAR = 3, WORD_MAX = 64 };

struct similar {
	const char *word; /* borrowed */
	const char *name[SIMILAR];
	unsigned distance[SIMILAR], n;
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters must change to make one of the other; two that have changed
 * their places are one. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1];
	size_t n = strlen(b), m = strlen(a);

	if (n > WORD_MAX || m > WORD_MAX)
		return UINT32_MAX;
	for (unsigned k = 0; k <= n; k++)
		rows[0][k] = k;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3];
		const unsigned *upper = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			row[k] = least(up[k], row[k - 1]) + 1;
			row[k] =
			    least(row[k], up[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				row[k] = least(row[k], upper[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

static int consider(void *ctx, const struct symbol *y)
{
	struct similar *s = ctx;
	unsigned d = distance(s->word, y->name), i;

	if (y->kind == SYMBOL_PLT || y->kind == SYMBOL_SUB ||
	    d > 1 + strlen(s->word) / 4)
		return 0;
	for (i = 0; i < s->n; i++)
		if (strcmp(s->name[i], y->name) == 0)
			return 0;
	for (i = s->n; i > 0 && s->distance[i - 1] > d; i--) {
		if (i == SIMILAR)
			continue;
		s->name[i] = s->name[i - 1];
		s->distance[i] = s->distance[i - 1];
	}
	if (i == SIMILAR)
		return 0;
	s->name[i] = y->name;
	s->distance[i] = d;
	s->n += s->n < SIMILAR;
	return 0;
}

static int none_found(const struct tour *t, size_t modules)
{
	struct similar s = {.word = t->d->function};
	const struct names_tour *n = t->t;

	if (modules == 0)
		return err_set(t->err, HARK_ENOENT, 0, "no module matches '%s'",
			       t->d->module);
	if (t->d->provider == PROVIDER_USDT)
		return err_set(t->err, HARK_ENOENT, 0,
			       "no probe of the program's own matches '%s:%s'",
			       t->d->module, t->d->name);
	if (t->functions > 0)
		return err_set(t->err, HARK_ENOENT, 0, "%s:%s: %s",
			       t->d->function, t->d->name,
			       t->refusal ? t->refusal : "no such probe");
	for (size_t i = 0; i < modules_count(n->modules); i++)
		if (is_asked(t, modules_get(n->modules, i)))
			symbols_each(modules_get(n->modules, i)->file, NULL,
				     consider, &s, NULL);
	if (s.n == 0)
		return err_set(t->err, HARK_ENOENT, 0,
			       "no function matches '%s'", t->d->function);
	return err_set(t->err, HARK_ENOENT, 0,
		       "no function matches '%s'; there is %s%s%s%s%s",
		       t->d->function, s.name[0], s.n > 1 ? ", " : "",
		       s.n > 1 ? s.name[1] : "", s.n > 2 ? ", " : "",
		       s.n > 2 ? s.name[2] : "");
}

int names_each(const struct names_tour *t, const struct description *d,
	       struct hark_err *err)
{
	struct tour tour = {.t = t, .d = d, .err = err};
	size_t modules = 0;
	int rc = 0;

	for (size_t i = 0; i < modules_count(t->modules) && rc == 0; i++) {
		tour.module = modules_get(t->modules, i);
		if (!is_asked(&tour, tour.module))
			continue;
		modules++;
		rc = visit_module(&tour);
	}
	if (rc == 0 && tour.found == 0)
		return none_found(&tour, modules);
	return rc;
}
