/* site/names.c - from descriptions to instructions.
 *
 * Modules and functions are matched by image/. Where the loader chooses the
 * function (an ifunc), the symbol is the code that chooses: that is never
 * probed, what it may choose (site/choice.h) is. Code in the vdso is the
 * kernel's, and never probed. */
#include "site/names.h"

#include "base/fmt.h"
#include "image/lines.h"
#include "site/barred.h"
#include "site/choice.h"

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
	const char *chosen;   /* its own name, if the loader chooses it */
	struct hark_err *err; /* borrowed */
	size_t found, functions;
	const char *refusal; /* why the last was passed over */
	char text[384];	     /* of .refusal, if it is not constant */
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
			  .chosen = t->chosen,
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
	const char *a = t->chosen ? t->chosen : t->function.name, *b;
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

static struct body body_of(struct tour *t)
{
	return (struct body){.survey = t->survey,
			     .start = t->function.addr,
			     .end = t->function.addr + t->function.size,
			     .is_own = is_part,
			     .ctx = t};
}

static int visit_entry(struct tour *t)
{
	struct body b = body_of(t);

	return wants(t->d, "entry")
		   ? visit(t, body_entry(&b), SITE_ENTRY, "entry")
		   : 0;
}

static int visit_ends(struct tour *t)
{
	struct body b = body_of(t);

	return wants(t->d, "return") ? body_ends(&b, visit_end, t) : 0;
}

/* -- Where the loader chooses -- */

static bool function_at(void *ctx, uint64_t addr, struct symbol *out)
{
	const struct tour *t = ctx;

	return symbols_function(t->module->file, addr, out, NULL) == 0 &&
	       out->addr == addr;
}

static uint64_t slot_at(void *ctx, uint64_t addr)
{
	const struct tour *t = ctx;
	uint64_t bias = t->module->bias, value;

	if (t->t->word == NULL || !t->t->word(t->t->ctx, addr + bias, &value) ||
	    value < bias)
		return 0;
	return value - bias;
}

static void refuse_offset(struct tour *t, const struct choice *c)
{
	size_t n = fmt_text(t->text, sizeof t->text,
			    "an offset needs one function, and the loader "
			    "chooses from %s",
			    c->of[0].name);

	for (unsigned i = 1; i < c->n && n < sizeof t->text; i++) {
		bool fits = n + strlen(c->of[i].name) + 8 < sizeof t->text;

		n += fmt_text(t->text + n, sizeof t->text - n, ", %s",
			      fits ? c->of[i].name : "...");
		if (!fits)
			break;
	}
	t->refusal = t->text;
}

/* Has the kernel a function of that name, as it has time()? Then that is what
 * libc chooses. */
static bool is_kernels(const struct tour *t, const char *name)
{
	const struct modules *all = t->t->modules;
	char text[64];
	struct symbol y;

	fmt_text(text, sizeof text, "__vdso_%s", name + strspn(name, "_"));
	for (size_t i = 0; i < modules_count(all); i++) {
		const struct module *m = modules_get(all, i);

		if (m->kind == MODULE_VDSO && m->file != NULL &&
		    symbols_named(m->file, text, &y, NULL) == 0)
			return true;
	}
	return false;
}

/* All entries come before all returns, so that each is one account. */
static int visit_choice(struct tour *t, const struct symbol *y)
{
	struct choice_ask ask = {.survey = t->survey,
				 .is_fixed = t->module->kind == MODULE_EXEC,
				 .function = function_at,
				 .slot = slot_at,
				 .ctx = t};
	struct choice c;
	uint64_t offset;
	int rc = 0;

	if (*t->d->function == '\0')
		return 0; /* each by its own name */
	t->functions++;
	choice_of(&ask, y, &c);
	if (c.may_ask && is_kernels(t, y->name)) {
		t->refusal = "the kernel's own function is chosen, which is "
			     "never probed; plt$target has calls of it";
		return 0;
	}
	if (c.n == 0)
		t->refusal = "the loader chooses it, from what is not known";
	else if (is_offset(t->d->name, &offset))
		refuse_offset(t, &c);
	for (unsigned i = 0; i < 2 * c.n && rc == 0; i++) {
		const struct symbol *it = &c.of[i % c.n];

		if (symbols_match(t->module->file, it->addr, t->d->function))
			continue;
		t->function = *it;
		t->function.name = y->name;
		t->chosen = it->name;
		rc = i < c.n ? visit_entry(t) : visit_ends(t);
	}
	return rc;
}

/* A label that may be data: its entry is named, to be refused. */
static int visit_label(struct tour *t, const struct symbol *y)
{
	t->refusal = barred_why(t->survey, y->addr, 1);
	if (t->refusal == NULL)
		return 0;
	t->function = *y;
	t->chosen = NULL;
	t->functions++;
	return visit_entry(t);
}

static int visit_function(void *ctx, const struct symbol *y)
{
	struct tour *t = ctx;
	bool plt = t->d->provider == PROVIDER_PLT;
	uint64_t offset;
	int rc;

	if (plt != (y->kind == SYMBOL_PLT))
		return 0;
	if (!(survey_at(t->survey, y->addr) & SURVEY_ENTRY))
		return y->kind == SYMBOL_LABEL ? visit_label(t, y) : 0;
	if (y->kind == SYMBOL_IFUNC)
		return visit_choice(t, y);
	t->function = *y;
	t->chosen = NULL;
	t->functions++;
	rc = visit_entry(t);
	if (rc == 0 && !plt)
		rc = visit_ends(t);
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
	t->chosen = NULL;
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
	       (t->t->wanted == NULL || t->t->wanted(t->t->ctx, m)) &&
	       (*t->d->module == '\0' || t->d->provider == PROVIDER_USDT ||
		module_matches(m, t->d->module));
}

/* -- What was meant, perhaps -- */

enum { SIMILAR = 3, WORD_MAX = 64 };

struct similar {
	const char *word; /* borrowed */
	bool plt;	  /* entries of the linkage table are meant */
	struct {
		const char *name; /* borrowed */
		size_t len;	  /* without its @plt */
		unsigned distance;
	} of[SIMILAR];
	unsigned n;
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

/* The nearest come first. */
static void keep(struct similar *s, const char *name, size_t len, unsigned d)
{
	unsigned i = s->n;

	for (; i > 0 && s->of[i - 1].distance > d; i--)
		if (i < SIMILAR)
			s->of[i] = s->of[i - 1];
	if (i == SIMILAR)
		return;
	s->of[i].name = name;
	s->of[i].len = len;
	s->of[i].distance = d;
	s->n += s->n < SIMILAR;
}

/* An old version (name@V) is near if the name is. What matches has been
 * refused: it is no help to name it again. */
static int consider(void *ctx, const struct symbol *y)
{
	struct similar *s = ctx;
	char name[WORD_MAX + 1];
	size_t cut = strcspn(y->name, "@"), len = strlen(y->name);
	unsigned d;

	if (s->plt != (y->kind == SYMBOL_PLT) || y->kind == SYMBOL_SUB ||
	    cut > WORD_MAX)
		return 0;
	memcpy(name, y->name, cut);
	name[cut] = '\0';
	if (s->plt)
		len = cut;
	d = distance(s->word, name);
	if (d > 1 + strlen(s->word) / 4 ||
	    fnmatch(s->word, s->plt ? name : y->name, 0) == 0)
		return 0;
	for (unsigned i = 0; i < s->n; i++)
		if (s->of[i].len == len &&
		    memcmp(s->of[i].name, y->name, len) == 0)
			return 0;
	keep(s, y->name, len, d);
	return 0;
}

static void list_similar(const struct similar *s, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < s->n && at < size; i++)
		at += fmt_text(out + at, size - at, "%s%.*s",
			       i == 0 ? "; there is " : ", ", (int)s->of[i].len,
			       s->of[i].name);
}

static int none_found(const struct tour *t, size_t modules)
{
	struct similar s = {.word = t->d->function,
			    .plt = t->d->provider == PROVIDER_PLT};
	const struct names_tour *n = t->t;
	char list[256];

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
	list_similar(&s, list, sizeof list);
	return err_set(t->err, HARK_ENOENT, 0, "no %s matches '%s'%s",
		       s.plt ? "call out of it" : "function", t->d->function,
		       list);
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
