/* profile/names.c - functions, inlined calls and lines of addresses.
 *
 * The same text is kept once, and the same frame once, so that two addresses
 * of one line are one frame. A return address is looked up at the byte before
 * it, which is in the call. */
#include "profile/names_priv.h"

#include "base/fmt.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "profile/grow_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

int names_init(struct names *n, const struct profile *p, struct hark_err *err)
{
	*n = (struct names){.profile = p};
	arena_init(&n->arena, &profile_heap);
	n->modules = calloc(p->n_modules + 1, sizeof *n->modules);
	if (n->modules == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	n->modules[0] = (struct named_module){
	    .name = "", .why = "no module was there", .is_tried = true};
	return image_new(&n->image, err);
}

void names_fini(struct names *n)
{
	for (size_t i = 0; n->modules != NULL && i <= n->profile->n_modules;
	     i++)
		jit_close(n->modules[i].jit);
	modules_free(n->self);
	image_free(n->image);
	free(n->modules);
	free(n->frames);
	free(n->texts);
	keys_fini(&n->by_frame);
	keys_fini(&n->by_text);
	arena_fini(&n->arena);
}

/* -- Each once -- */

static const char *text_once(struct names *n, const char *text)
{
	size_t len = strlen(text);
	uint64_t key = XXH3_64bits(text, len);
	size_t at = n->n_texts == 0 ? 0 : keys_first(&n->by_text, key);
	const char *copy;
	uint32_t i;

	while ((i = keys_next(&n->by_text, key, &at)) != KEYS_NONE)
		if (strcmp(n->texts[i], text) == 0)
			return n->texts[i];
	copy = arena_text(&n->arena, text, len);
	if (copy == NULL || GROW(n->texts, n->room_texts, n->n_texts + 1) < 0 ||
	    keys_add(&n->by_text, key, (uint32_t)n->n_texts) < 0)
		return NULL;
	n->texts[n->n_texts++] = copy;
	return copy;
}

static bool is_same(const struct stacks_frame *a, const struct stacks_frame *b)
{
	return a->name == b->name && a->module == b->module &&
	       a->file == b->file && a->line == b->line &&
	       a->is_inlined == b->is_inlined && a->is_guess == b->is_guess &&
	       a->is_unknown == b->is_unknown;
}

/* Texts of f are kept; KEYS_NONE: no memory. */
static uint32_t frame_once(struct names *n, const struct stacks_frame *f)
{
	const uint64_t words[4] = {(uintptr_t)f->name, (uintptr_t)f->module,
				   (uintptr_t)f->file, f->line};
	uint64_t key = XXH3_64bits(words, sizeof words);
	size_t at = n->n_frames == 0 ? 0 : keys_first(&n->by_frame, key);
	uint32_t i;

	while ((i = keys_next(&n->by_frame, key, &at)) != KEYS_NONE)
		if (is_same(&n->frames[i], f))
			return i;
	i = (uint32_t)n->n_frames;
	if (GROW(n->frames, n->room_frames, n->n_frames + 1) < 0 ||
	    keys_add(&n->by_frame, key, i) < 0)
		return KEYS_NONE;
	n->frames[n->n_frames++] = *f;
	return i;
}

/* -- Modules -- */

/* hark's own process has the kernel's, too. */
static struct image_file *open_vdso(struct names *n)
{
	if (n->self == NULL)
		modules_of_pid(n->image, getpid(), &n->self, NULL);
	for (size_t i = 0; n->self != NULL && i < modules_count(n->self); i++)
		if (modules_get(n->self, i)->kind == MODULE_VDSO)
			return modules_get(n->self, i)->file;
	return NULL;
}

/* Is it the file that ran? NULL: yes; or why it is not believed. */
static const char *differs(const struct profile_module *m,
			   const struct image_file *f)
{
	size_t len;
	const uint8_t *id = image_file_id(f, &len);

	if (m->id_len > 0)
		return len == m->id_len && memcmp(id, m->id, len) == 0
			   ? NULL
			   : "the file has changed here";
	if (len > 0)
		return "the file has changed here";
	if (m->mtime_ns == 0)
		return "nothing says which file it was";
	return image_file_mtime_ns(f) == m->mtime_ns
		   ? NULL
		   : "the file has changed here";
}

/* A program that ran already may have written its names before. */
static int64_t began(const struct profile *p)
{
	return p->facts.command[0] != '\0' ? p->facts.time : 0;
}

static void open_module(struct names *n, const struct profile_module *m,
			struct named_module *out)
{
	const char *slash = strrchr(m->path, '/');
	struct image_file *f = NULL;

	out->is_tried = true;
	out->name = slash == NULL ? m->path : slash + 1;
	if (m->kind == MODULE_ANON) {
		out->why = "no file of code was behind it";
		if (m->pid != 0)
			out->jit = jit_open(m->pid, began(n->profile));
		return;
	}
	if (m->kind == MODULE_VDSO)
		f = open_vdso(n);
	else if (m->path[0] == '/')
		image_open(n->image, m->path, &f, NULL);
	out->why = f == NULL ? "the file is not here" : differs(m, f);
	out->file = out->why == NULL ? f : NULL;
}

static struct named_module *module_of(struct names *n, uint32_t number)
{
	struct named_module *m = &n->modules[number];

	if (!m->is_tried)
		open_module(n, &n->profile->modules[number - 1], m);
	return m;
}

/* -- Frames -- */

const char *names_broken(uint64_t end)
{
	static const char *const why[] = {/* ORDER unwind_end */
					  "[end of stack]",
					  "[callers not found]",
					  "[stack not readable]",
					  "[callers beyond the limit]",
					  [PROFILE_SHORT] = "[short waits]",
					  [PROFILE_READY] = "[no processor]"};

	return why[end < sizeof why / sizeof why[0] ? end : 1];
}

static size_t put_one(struct names *n, const char *text,
		      struct stacks_frame frame, uint32_t *out)
{
	frame.name = text_once(n, text);
	if (frame.name == NULL)
		return 0;
	*out = frame_once(n, &frame);
	return *out == KEYS_NONE ? 0 : 1;
}

/* An address, or where the function begins that has it: those of one function
 * are one. */
static size_t put_unknown(struct names *n, struct named_module *m,
			  uint64_t addr, struct stacks_frame frame,
			  uint32_t *out)
{
	char text[512];

	m->lacks = true;
	frame.is_unknown = true;
	if (m->name[0] == '\0')
		fmt_text(text, sizeof text, "0x%lx", (unsigned long)addr);
	else
		fmt_text(text, sizeof text, "%s+0x%lx", m->name,
			 (unsigned long)addr);
	return put_one(n, text, frame, out);
}

static bool put_line(struct names *n, const struct line_frame *l,
		     const char *function, struct stacks_frame frame,
		     uint32_t *out)
{
	frame.is_inlined = l->inlined;
	frame.line = l->line;
	if (l->file != NULL) {
		frame.file = text_once(n, l->file);
		if (frame.file == NULL)
			return false;
	}
	return put_one(n, function, frame, out) == 1;
}

/* Where debug information knows of it. */
static size_t put_lines(struct names *n, const struct line_frame *lines,
			size_t n_lines, const char *symbol,
			const struct stacks_frame *base,
			uint32_t out[NAMES_CHAIN])
{
	for (size_t i = 0; i < n_lines; i++) {
		const char *function = lines[i].function;

		if (function == NULL)
			function = i == 0 && symbol != NULL ? symbol : "??";
		if (!put_line(n, &lines[i], function, *base, &out[i]))
			return 0;
	}
	return n_lines;
}

size_t names_of(struct names *n, const struct tree_frame *f,
		uint32_t out[NAMES_CHAIN])
{
	struct named_module *m = module_of(n, f->module);
	struct stacks_frame base = {.is_guess = (f->flags & TREE_HOW) >>
						TREE_HOW_SHIFT >= 2};
	uint64_t addr = f->address - ((f->flags & TREE_RETURN) != 0 ? 1 : 0);
	struct line_frame lines[LINES_DEPTH];
	const char *name = NULL;
	struct symbol s;
	size_t n_lines = 0;
	bool has_symbol;

	base.module = text_once(n, m->name);
	if (base.module == NULL)
		return 0;
	if ((f->flags & TREE_BROKEN) != 0)
		return put_one(n, names_broken(f->address), base, out);
	if (m->jit != NULL)
		name = jit_name(m->jit, addr);
	if (m->file == NULL && name != NULL)
		return put_one(n, name, base, out);
	if (m->file == NULL)
		return put_unknown(n, m, f->address, base, out);
	has_symbol = symbols_function(m->file, addr, &s, NULL) == 0;
	if (has_symbol && s.kind != SYMBOL_SUB)
		name = symbols_pretty(m->file, &s);
	if (lines_at(m->file, addr, lines, LINES_DEPTH, &n_lines, NULL) == 0 &&
	    (lines[0].function != NULL || name != NULL))
		return put_lines(n, lines, n_lines, name, &base, out);
	if (name != NULL)
		return put_one(n, name, base, out);
	return put_unknown(n, m, has_symbol ? s.addr : addr, base, out);
}
