/* present/foreign_firefox.c - for profiler.firefox.com, which opens files.
 *
 * Its processed format, version 60: tables of columns that all threads share
 * (strings, libraries, functions, frames, and the tree of stacks), and for each
 * thread its samples. The tree is that of struct stacks without its root, so a
 * file is as long as its nodes and samples are many, however deep they are. */
#include "present/foreign.h"

#include "present/intern.h"
#include "present/json.h"
#include "present/sums.h"

#include <stdlib.h>
#include <string.h>

enum {
	FORMAT_VERSION = 60,
	GECKO_VERSION = 31, /* of the format that it comes from */
	RESOURCE_LIBRARY = 1,
	CATEGORY_CODE = 0,
	CATEGORY_UNKNOWN = 1,
};

struct firefox {
	const struct stacks *s; /* borrowed */
	struct json j;
	struct intern strings;
	struct intern modules;	 /* 0: none */
	struct intern sources;	 /* 0: none */
	struct intern functions; /* name, module, source */
	uint32_t *function_of;	 /* owned; of each frame */
	bool is_lame;		 /* there was no memory */
};

/* -- Tables -----------------------------------------------------------------
 */

static int name_all(struct firefox *x)
{
	const struct stacks_frame *f;
	struct intern_key key = {0};
	uint32_t id;
	size_t i;

	if (intern_text(&x->modules, "", false, &id) < 0 ||
	    intern_text(&x->sources, "", false, &id) < 0)
		return -1;
	for (i = 0; i < x->s->n_frames; i++) {
		f = &x->s->frames[i];
		if (intern_text(&x->strings, stacks_name(f), f->is_guess,
				&key.n[0]) < 0 ||
		    intern_text(&x->modules, f->module, false, &key.n[1]) < 0 ||
		    intern_text(&x->sources, f->file, false, &key.n[2]) < 0 ||
		    intern_key(&x->functions, key, &x->function_of[i]) < 0)
			return -1;
	}
	return 0;
}

static void put_string(struct firefox *x, const char *text)
{
	uint32_t id = 0;

	if (intern_text(&x->strings, text, false, &id) < 0)
		x->is_lame = true;
	json_number(&x->j, NULL, id);
}

/* A column of n equal values: a number, or null below 0. */
static void put_column(struct firefox *x, const char *key, size_t n, int value)
{
	size_t i;

	json_array(&x->j, key);
	for (i = 0; i < n; i++)
		if (value < 0)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, (uint64_t)value);
	json_end(&x->j);
}

static void put_falses(struct firefox *x, const char *key, size_t n)
{
	size_t i;

	json_array(&x->j, key);
	for (i = 0; i < n; i++)
		json_bool(&x->j, NULL, false);
	json_end(&x->j);
}

static int put_strings(struct firefox *x, struct hark_err *err)
{
	const struct intern_text *t;
	char *marked;
	size_t i;

	json_array(&x->j, "stringArray");
	for (i = 0; i < x->strings.n; i++) {
		t = &x->strings.texts[i];
		if (!t->is_guess) {
			json_bytes(&x->j, NULL, t->text, t->len);
			continue;
		}
		if (asprintf(&marked, "%s [guess]", t->text) < 0)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for a name");
		json_text(&x->j, NULL, marked);
		free(marked);
	}
	json_end(&x->j);
	return 0;
}

static void put_sources(struct firefox *x)
{
	size_t i, n = x->sources.n - 1;

	json_object(&x->j, "sources");
	json_number(&x->j, "length", n);
	put_column(x, "uuid", n, -1);
	json_array(&x->j, "filename");
	for (i = 1; i <= n; i++)
		put_string(x, x->sources.texts[i].text);
	json_end(&x->j);
	json_end(&x->j);
}

static void put_resources(struct firefox *x)
{
	size_t i, n = x->modules.n - 1;

	json_object(&x->j, "resourceTable");
	json_number(&x->j, "length", n);
	json_array(&x->j, "lib");
	for (i = 0; i < n; i++)
		json_number(&x->j, NULL, i);
	json_end(&x->j);
	json_array(&x->j, "name");
	for (i = 1; i <= n; i++)
		put_string(x, x->modules.texts[i].text);
	json_end(&x->j);
	put_column(x, "host", n, -1);
	put_column(x, "type", n, RESOURCE_LIBRARY);
	json_end(&x->j);
}

static void put_functions(struct firefox *x)
{
	const struct intern_key *keys = x->functions.keys;
	size_t i, n = x->functions.n;

	json_object(&x->j, "funcTable");
	json_number(&x->j, "length", n);
	json_array(&x->j, "name");
	for (i = 0; i < n; i++)
		json_number(&x->j, NULL, keys[i].n[0]);
	json_end(&x->j);
	put_falses(x, "isJS", n);
	put_falses(x, "relevantForJS", n);
	json_array(&x->j, "resource");
	for (i = 0; i < n; i++)
		json_signed(&x->j, NULL, (int64_t)keys[i].n[1] - 1);
	json_end(&x->j);
	json_array(&x->j, "source");
	for (i = 0; i < n; i++)
		if (keys[i].n[2] == 0)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, keys[i].n[2] - 1);
	json_end(&x->j);
	put_column(x, "lineNumber", n, -1);
	put_column(x, "columnNumber", n, -1);
	json_end(&x->j);
}

static void put_frames(struct firefox *x)
{
	const struct stacks_frame *f = x->s->frames;
	size_t i, n = x->s->n_frames;

	json_object(&x->j, "frameTable");
	json_number(&x->j, "length", n);
	json_array(&x->j, "address"); /* -1: none */
	for (i = 0; i < n; i++)
		json_signed(&x->j, NULL, -1);
	json_end(&x->j);
	json_array(&x->j, "inlineDepth");
	for (i = 0; i < n; i++)
		json_number(&x->j, NULL, f[i].is_inlined);
	json_end(&x->j);
	json_array(&x->j, "category");
	for (i = 0; i < n; i++)
		json_number(&x->j, NULL,
			    f[i].is_unknown ? CATEGORY_UNKNOWN : CATEGORY_CODE);
	json_end(&x->j);
	put_column(x, "subcategory", n, 0);
	json_array(&x->j, "func");
	for (i = 0; i < n; i++)
		json_number(&x->j, NULL, x->function_of[i]);
	json_end(&x->j);
	put_column(x, "nativeSymbol", n, -1);
	put_column(x, "innerWindowID", n, -1);
	json_array(&x->j, "line");
	for (i = 0; i < n; i++)
		if (f[i].line == 0)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, f[i].line);
	json_end(&x->j);
	put_column(x, "column", n, -1);
	json_end(&x->j);
}

/* The root is no frame, and no stack: numbers are one less. */
static void put_stacks(struct firefox *x)
{
	const struct stacks_node *v = x->s->nodes;
	size_t i, n = x->s->n_nodes;

	json_object(&x->j, "stackTable");
	json_number(&x->j, "length", n - 1);
	json_array(&x->j, "frame");
	for (i = 1; i < n; i++)
		json_number(&x->j, NULL, v[i].frame);
	json_end(&x->j);
	json_array(&x->j, "prefix");
	for (i = 1; i < n; i++)
		if (v[i].parent == 0)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, v[i].parent - 1);
	json_end(&x->j);
	json_end(&x->j);
}

static int put_shared(struct firefox *x, struct hark_err *err)
{
	json_object(&x->j, "shared");
	put_sources(x);
	put_resources(x);
	put_functions(x);
	put_frames(x);
	put_stacks(x);
	json_object(&x->j, "nativeSymbols");
	json_number(&x->j, "length", 0);
	put_column(x, "libIndex", 0, 0);
	put_column(x, "address", 0, 0);
	put_column(x, "name", 0, 0);
	put_column(x, "functionSize", 0, 0);
	json_end(&x->j);
	if (x->is_lame)
		return err_set(err, HARK_ENOMEM, 0, "no memory for names");
	if (put_strings(x, err) < 0)
		return -1;
	json_end(&x->j);
	return 0;
}

/* -- What it is -------------------------------------------------------------
 */

static void put_category(struct firefox *x, const char *name, const char *color)
{
	json_object(&x->j, NULL);
	json_text(&x->j, "name", name);
	json_text(&x->j, "color", color);
	json_array(&x->j, "subcategories");
	json_text(&x->j, NULL, "Other");
	json_end(&x->j);
	json_end(&x->j);
}

/* Notes are shown beside the profile's other facts. */
static void put_notes(struct firefox *x)
{
	size_t i;

	json_array(&x->j, "extra");
	json_object(&x->j, NULL);
	json_text(&x->j, "label", "hark");
	json_array(&x->j, "entries");
	for (i = 0; i < x->s->n_notes; i++) {
		json_object(&x->j, NULL);
		json_text(&x->j, "label", "Note");
		json_text(&x->j, "format", "string");
		json_text(&x->j, "value", x->s->notes[i]);
		json_end(&x->j);
	}
	json_end(&x->j);
	json_end(&x->j);
	json_end(&x->j);
}

static void put_meta(struct firefox *x)
{
	struct json *j = &x->j;

	json_object(j, "meta");
	json_number(j, "version", GECKO_VERSION);
	json_number(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_real(j, "interval",
		  x->s->period_ns == 0 ? 1 : (double)x->s->period_ns / 1e6);
	json_number(j, "startTime", 0);
	json_number(j, "processType", 0);
	json_text(j, "product", x->s->title == NULL ? "" : x->s->title);
	json_text(j, "importedFrom", "hark " HARK_VERSION);
	json_number(j, "stackwalk", 1);
	json_bool(j, "symbolicated", true);
	json_bool(j, "symbolicationNotSupported", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_text(j, "platform", "X11");
	json_text(j, "oscpu", "Linux");
	json_array(j, "markerSchema");
	json_end(j);
	json_array(j, "categories");
	put_category(x, "Code", "grey"); /* ORDER CATEGORY */
	put_category(x, "No symbol", "brown");
	json_end(j);
	put_notes(x);
	json_end(j);
}

static void put_libs(struct firefox *x)
{
	const char *path, *slash;
	size_t i;

	json_array(&x->j, "libs");
	for (i = 1; i < x->modules.n; i++) {
		path = x->modules.texts[i].text;
		slash = strrchr(path, '/');
		slash = slash == NULL ? path : slash + 1;
		json_object(&x->j, NULL);
		json_text(&x->j, "arch", "x86_64");
		json_text(&x->j, "name", slash);
		json_text(&x->j, "path", path);
		json_text(&x->j, "debugName", slash);
		json_text(&x->j, "debugPath", path);
		json_text(&x->j, "breakpadId", "");
		json_null(&x->j, "codeId");
		json_end(&x->j);
	}
	json_end(&x->j);
}

/* -- Threads ----------------------------------------------------------------
 */

static void put_samples(struct firefox *x, const size_t *order, size_t n)
{
	const struct stacks_sample *m = x->s->samples;
	bool is_time = x->s->unit == STACKS_NS;
	size_t i;

	json_object(&x->j, "samples");
	json_number(&x->j, "length", n);
	json_array(&x->j, "stack");
	for (i = 0; i < n; i++)
		if (m[order[i]].node == 0)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, m[order[i]].node - 1);
	json_end(&x->j);
	json_array(&x->j, "time");
	for (i = 0; i < n; i++)
		json_real(&x->j, NULL, (double)m[order[i]].time_ns / 1e6);
	json_end(&x->j);
	json_array(&x->j, "weight");
	for (i = 0; i < n; i++)
		if (is_time)
			json_real(&x->j, NULL,
				  (double)m[order[i]].weight / 1e6);
		else
			json_number(&x->j, NULL, m[order[i]].weight);
	json_end(&x->j);
	json_text(&x->j, "weightType", is_time ? "tracing-ms" : "samples");
	json_end(&x->j);
}

static void put_markers(struct firefox *x)
{
	static const char *const columns[] = {"data",	 "name",  "startTime",
					      "endTime", "phase", "category"};
	size_t i;

	json_object(&x->j, "markers");
	json_number(&x->j, "length", 0);
	for (i = 0; i < sizeof columns / sizeof columns[0]; i++)
		put_column(x, columns[i], 0, 0);
	json_end(&x->j);
}

static void put_thread(struct firefox *x, size_t thread,
		       const struct stacks_order *o)
{
	const struct stacks_thread *t = &x->s->threads[thread];
	struct json *j = &x->j;
	char pid[16];

	snprintf(pid, sizeof pid, "%d", t->pid);
	json_object(j, NULL);
	json_text(j, "processType", "default");
	json_text(j, "processName", x->s->title == NULL ? "" : x->s->title);
	json_number(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_number(j, "registerTime", 0);
	json_null(j, "unregisterTime");
	json_array(j, "pausedRanges");
	json_end(j);
	json_text(j, "name", t->name == NULL ? "" : t->name);
	json_bool(j, "isMainThread", t->pid == t->tid);
	json_text(j, "pid", pid);
	json_signed(j, "tid", t->tid);
	put_samples(x, o->order + o->first[thread],
		    o->first[thread + 1] - o->first[thread]);
	put_markers(x);
	json_end(j);
}

int present_firefox(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct firefox x = {.s = s};
	struct stacks_order o = {0};
	int rc = -1;
	size_t i;

	if (stacks_check(s, err) < 0 || stacks_order_init(&o, s, NULL, err) < 0)
		return -1;
	json_init(&x.j, out);
	x.function_of = calloc(s->n_frames + 1, sizeof *x.function_of);
	if (x.function_of == NULL || name_all(&x) < 0) {
		err_set(err, HARK_ENOMEM, 0, "no memory for %zu names",
			s->n_frames);
		goto out;
	}
	json_object(&x.j, NULL);
	put_meta(&x);
	put_libs(&x);
	if (put_shared(&x, err) < 0)
		goto out;
	json_array(&x.j, "threads");
	for (i = 0; i < s->n_threads; i++)
		put_thread(&x, i, &o);
	json_end(&x.j);
	json_end(&x.j);
	rc = stacks_written(out, err);
out:
	free(x.function_of);
	intern_fini(&x.strings);
	intern_fini(&x.modules);
	intern_fini(&x.sources);
	intern_fini(&x.functions);
	stacks_order_fini(&o);
	return rc;
}
