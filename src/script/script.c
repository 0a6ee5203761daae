/* script/script.c - a script as a whole, and the list of its mistakes. */
#include "script/script_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STRING = 256, DEFAULT_FRAMES = 20 };

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	(void)ctx;
	(void)old_len;
	if (len == 0) {
		free(old);
		return NULL;
	}
	return realloc(old, len);
}

void *script_take(struct script *s, size_t len)
{
	void *block = arena_take(&s->arena, len);

	if (block == NULL) {
		s->no_memory = s->is_over = true;
		return NULL;
	}
	memset(block, 0, len);
	return block;
}

const char *script_text(struct script *s, const char *text, size_t len)
{
	char *copy = arena_text(&s->arena, text, len);

	if (copy == NULL)
		s->no_memory = s->is_over = true;
	return copy;
}

static bool is_told(const struct script *s, struct place at)
{
	for (size_t i = 0; i < s->mistakes.n; i++)
		if (s->mistakes.at[i].source == at.source &&
		    s->mistakes.at[i].line == at.line &&
		    s->mistakes.at[i].column == at.column)
			return true;
	return false;
}

/* One a place: what follows from a mistake is no mistake. */
void mistake(struct script *s, enum script_tag tag, struct place at,
	     const char *format, ...)
{
	struct script_mistake *m;
	char text[400];
	va_list args;

	if (s->is_quiet || s->is_over || is_told(s, at))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	m = vec_push(&s->mistakes, &s->heap);
	if (m == NULL) {
		s->no_memory = s->is_over = true;
		return;
	}
	*m = (struct script_mistake){
	    .source = at.source, .line = at.line, .column = at.column};
	m->tag = tag;
	m->text = script_text(s, text, strlen(text));
	if (s->mistakes.n == MISTAKES_MAX)
		s->is_over = true;
}

const char *script_tag_name(enum script_tag tag)
{
	static const char *const names[] = {
#define TAG(name, claim) #name,
#include "script/tags.def"
#undef TAG
	};

	return names[tag];
}

int script_say(const struct script *s, const struct script_mistake *m,
	       char *out, size_t size)
{
	const char *file = s->sources[m->source].file;

	return snprintf(out, size, "%s:%u:%u: [%s] %s",
			file != NULL ? file : "-n", m->line, m->column,
			script_tag_name(m->tag), m->text);
}

static int by_place(const void *a, const void *b)
{
	const struct script_mistake *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

static void settle(struct script_settings *s)
{
	if (s->string_size == 0)
		s->string_size = DEFAULT_STRING;
	if (s->stack_frames == 0)
		s->stack_frames = DEFAULT_FRAMES;
	s->string_size = (s->string_size + 7) & ~7U;
	if (s->string_size < PROBE_STRING_MIN)
		s->string_size = PROBE_STRING_MIN;
	if (s->string_size > PROBE_STRING_MAX)
		s->string_size = PROBE_STRING_MAX;
}

static struct script *script_new(const struct script_settings *settings)
{
	struct script *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->heap.resize = resize;
	arena_init(&s->arena, &s->heap);
	s->settings = *settings;
	settle(&s->settings);
	return s;
}

/* s may be NULL; it is returned, or freed. */
static struct script *compile(struct script *s, size_t n_sources,
			      struct hark_err *err)
{
	if (s == NULL)
		goto no_memory;
	script_parse(s, n_sources);
	if (!s->is_over)
		script_check(s);
	if (!s->is_over && s->mistakes.n == 0)
		script_generate(s);
	if (s->mistakes.n > 1)
		qsort(s->mistakes.at, s->mistakes.n, sizeof *s->mistakes.at,
		      by_place);
	if (!s->no_memory)
		return s;
no_memory:
	script_free(s);
	err_set(err, HARK_ENOMEM, 0, "a probe script: out of memory");
	return NULL;
}

struct script *script_compile_all(const struct script_source *sources, size_t n,
				  const struct script_settings *settings,
				  struct hark_err *err)
{
	struct script *s = script_new(settings);

	if (s != NULL)
		s->sources = sources;
	return compile(s, n, err);
}

struct script *script_compile(const char *text, size_t len,
			      const struct script_settings *settings,
			      struct hark_err *err)
{
	struct script *s = script_new(settings);

	if (s != NULL) {
		s->only = (struct script_source){settings->file, text, len};
		s->sources = &s->only;
	}
	return compile(s, 1, err);
}

void script_free(struct script *s)
{
	if (s == NULL)
		return;
	vec_free(&s->mistakes, &s->heap);
	vec_free(&s->options, &s->heap);
	vec_free(&s->variables, &s->heap);
	vec_free(&s->aggregations, &s->heap);
	free(s->program);
	arena_fini(&s->arena);
	free(s);
}

const struct script_mistake *script_mistakes(const struct script *s, size_t *n)
{
	*n = s->mistakes.n;
	return s->mistakes.at;
}

const struct probe_program *script_program(const struct script *s)
{
	return s->mistakes.n == 0 ? s->program : NULL;
}

const struct script_option *script_options(const struct script *s, size_t *n)
{
	*n = s->options.n;
	return s->options.at;
}
