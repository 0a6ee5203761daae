/* travel/api.c - recordings as hark/recording.h has them. */
#include "travel/timeline.h"

#include "base/fmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Errors -- */

int travel_error(struct hark_error *to, enum hark_error_code code,
		 const char *format, ...)
{
	va_list args;

	if (to == NULL)
		return -1;
	to->code = code;
	va_start(args, format);
	vsnprintf(to->text, sizeof to->text, format, args);
	va_end(args);
	return -1;
}

int travel_failed(const struct hark_err *from, struct hark_error *to)
{
	static const enum hark_error_code codes[] = {
	    [HARK_EIO] = HARK_ERROR_FILE,
	    [HARK_ENOMEM] = HARK_ERROR_MEMORY,
	    [HARK_EINPUT] = HARK_ERROR_FILE,
	    [HARK_ETIME] = HARK_ERROR_STOPPED,
	    [HARK_ENOENT] = HARK_ERROR_POSITION,
	    [HARK_EBUG] = HARK_ERROR_DIVERGED,
	    [HARK_ELACKS] = HARK_ERROR_MACHINE,
	};
	enum hark_error_code code = HARK_ERROR_FILE;

	if ((unsigned)from->code < sizeof codes / sizeof codes[0] &&
	    codes[from->code] != HARK_ERROR_NONE)
		code = codes[from->code];
	return travel_error(to, code, "%s", from->text);
}

/* -- Recordings -- */

static int describe(struct hark_recording *r)
{
	unsigned processes = recording_n_processes(r->r);
	unsigned modules = recording_n_modules(r->r);

	r->processes = calloc(processes + 1, sizeof *r->processes);
	r->modules = calloc(modules + 1, sizeof *r->modules);
	r->files = calloc(modules + 1, sizeof *r->files);
	if (r->processes == NULL || r->modules == NULL || r->files == NULL)
		return -1;
	for (unsigned i = 0; i < processes; i++) {
		const struct recording_process *p = recording_process(r->r, i);

		r->processes[i] = (struct hark_process){
		    .number = p->number,
		    .parent = p->parent,
		    .pid = p->pid,
		    .n_threads = p->n_threads,
		    .program = p->exe,
		    .command = p->command,
		    .exit_status = -1,
		};
	}
	for (unsigned i = 0; i < modules; i++) {
		const struct recording_module *m = recording_module(r->r, i);

		r->modules[i] = (struct hark_module){
		    .path = m->path,
		    .build_id = m->build_id,
		    .debug_of = "",
		    .is_source = strcmp(m->kind, "source") == 0,
		    .dir = m->dir,
		    .len = m->size,
		};
		for (unsigned k = 0; m->of != 0 && k < modules; k++)
			if (recording_module(r->r, k)->number == m->of)
				r->modules[i].debug_of =
				    recording_module(r->r, k)->path;
	}
	return 0;
}

/* Of the first process the file says how it ended. */
static void note_exit(struct hark_recording *r)
{
	struct recording_facts facts;

	recording_facts(r->r, &facts);
	if (recording_n_processes(r->r) == 0)
		return;
	r->processes[0].exit_status = facts.exit;
	r->processes[0].exit_signal = facts.signal > 0 ? facts.signal : 0;
}

int hark_open(const char *path, struct hark_recording **out,
	      struct hark_error *err)
{
	struct hark_recording *r = calloc(1, sizeof *r);
	struct hark_err why = {0};
	char missing[256];

	if (r == NULL)
		return travel_error(err, HARK_ERROR_MEMORY, "out of memory");
	if (recording_open(path, &r->r, &why) < 0) {
		free(r);
		return travel_failed(&why, err);
	}
	r->index_fd = r->built_fd = -1;
	r->path = strdup(path);
	if (r->path == NULL || describe(r) < 0) {
		hark_close(r);
		return travel_error(err, HARK_ERROR_MEMORY, "out of memory");
	}
	if (recording_cpu_refuses(r->r, missing, sizeof missing)) {
		hark_close(r);
		return travel_error(err, HARK_ERROR_MACHINE,
				    "%s: it cannot be replayed on this "
				    "processor, which lacks %s",
				    path, missing);
	}
	note_exit(r);
	*out = r;
	return 0;
}

void hark_close(struct hark_recording *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; r->files != NULL && i < recording_n_modules(r->r);
	     i++)
		free(r->files[i].bytes);
	travel_names_free(r->names);
	while (r->texts != NULL) {
		struct travel_text *next = r->texts->next;

		free(r->texts);
		r->texts = next;
	}
	index_free(r->index);
	if (r->index_fd >= 0)
		close(r->index_fd);
	if (r->built_fd >= 0)
		close(r->built_fd);
	free(r->path);
	free(r->files);
	free(r->processes);
	free(r->modules);
	recording_close(r->r);
	free(r);
}

int hark_is_complete(const struct hark_recording *r)
{
	return recording_is_complete(r->r);
}

unsigned hark_n_processes(const struct hark_recording *r)
{
	return recording_n_processes(r->r);
}

const struct hark_process *hark_process(const struct hark_recording *r,
					unsigned i)
{
	return i < recording_n_processes(r->r) ? &r->processes[i] : NULL;
}

unsigned hark_n_modules(const struct hark_recording *r)
{
	return recording_n_modules(r->r);
}

const struct hark_module *hark_module(const struct hark_recording *r,
				      unsigned i)
{
	return i < recording_n_modules(r->r) ? &r->modules[i] : NULL;
}

int hark_read_module(struct hark_recording *r, unsigned i, uint8_t **out,
		     size_t *len, struct hark_error *err)
{
	struct hark_err why = {0};

	if (i >= recording_n_modules(r->r))
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "there is no module %u", i);
	return recording_read_module(r->r, i, out, len, &why) < 0
		   ? travel_failed(&why, err)
		   : 0;
}

struct travel_file *travel_file(struct hark_recording *r, unsigned i,
				struct hark_err *err)
{
	struct travel_file *f = &r->files[i];
	struct hark_err ignored = {0};

	(void)err;
	if (!f->tried) {
		f->tried = 1;
		if (recording_read_module(r->r, i, &f->bytes, &f->len,
					  &ignored) < 0)
			f->bytes = NULL;
	}
	return f->bytes != NULL ? f : NULL;
}

/* -- Positions -- */

void hark_position_text(const struct hark_position *at, char *out, size_t size)
{
	char step[24] = "";

	if (at->step != 0)
		fmt_text(step, sizeof step, "+%llu",
			 (unsigned long long)at->step);
	if (at->process > 1)
		fmt_text(out, size, "%u.%u:%llu%s", at->process, at->thread,
			 (unsigned long long)at->count, step);
	else
		fmt_text(out, size, "%u:%llu%s", at->thread,
			 (unsigned long long)at->count, step);
}

static int is_number(const char **text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return 0;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

/* [P.]T:N[+K]: as hark_position_text writes it, of whatever process. */
static int parse_place(const char *text, struct hark_position *out)
{
	uint64_t number;

	*out = (struct hark_position){.process = 1};
	if (!is_number(&text, &number))
		return -1;
	if (*text == '.') {
		text++;
		out->process = (uint32_t)number;
		if (!is_number(&text, &number))
			return -1;
	}
	out->thread = (uint32_t)number;
	if (*text++ != ':' || !is_number(&text, &out->count))
		return -1;
	if (*text == '+') {
		text++;
		if (!is_number(&text, &out->step))
			return -1;
	}
	return *text == '\0' ? 0 : -1;
}

/* NN% of what is recorded of the first thread. */
static int parse_percent(struct timeline *t, const char *text,
			 struct hark_position *out)
{
	struct lane *l = travel_first_lane(t);
	uint64_t percent, first, len;

	if (!is_number(&text, &percent) || strcmp(text, "%") != 0 ||
	    percent > 100)
		return -1;
	*out = timeline_thread(t, (unsigned)(l - t->lanes))->last;
	if (percent == 100)
		return 0;
	first = travel_first_count(t, l);
	len = out->count - first;
	out->count = first + len / 100 * percent + len % 100 * percent / 100;
	out->step = 0;
	return 0;
}

int timeline_position_parse(struct timeline *t, const char *text,
			    struct hark_position *out, struct hark_error *err)
{
	const struct lane *first = travel_first_lane(t);
	struct hark_position at = {t->process, first->about.number,
				   travel_first_count(t, first), 0};
	struct hark_position here = timeline_where(t);

	if (strcmp(text, "end") == 0) {
		if (timeline_seek_end(t, err) < 0)
			return -1;
		at = timeline_where(t);
		if (timeline_seek(t, &here, err) < 0)
			return -1;
	} else if (strcmp(text, "start") != 0 && parse_place(text, &at) < 0 &&
		   parse_percent(t, text, &at) < 0) {
		return travel_error(err, HARK_ERROR_POSITION,
				    "'%s' is no position (THREAD:N, "
				    "THREAD:N+K, start, end, or NN%%)",
				    text);
	}
	*out = at;
	return 0;
}

int64_t travel_turn_near(const struct timeline *t, const struct lane *l,
			 const struct hark_position *at)
{
	uint32_t low = 0, high = l->n_turns;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct order_turn *turn =
		    order_turn(t->order, l->turns[middle]);

		if (turn->count > at->count ||
		    (turn->count == at->count && at->step == 0 && middle > 0))
			high = middle;
		else
			low = middle + 1;
	}
	return low == 0 ? -1 : (int64_t)l->turns[low - 1];
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int timeline_position_compare(struct timeline *t, const struct hark_position *a,
			      const struct hark_position *b)
{
	const struct lane *x = travel_lane(t, a->thread);
	const struct lane *y = travel_lane(t, b->thread);

	if (a->thread == b->thread || x == NULL || y == NULL)
		return a->count != b->count ? compare(a->count, b->count)
					    : compare(a->step, b->step);
	return travel_turn_near(t, x, a) < travel_turn_near(t, y, b) ? -1 : 1;
}

/* -- Registers -- */

enum { LEGACY = 512, HEADER = 64 }; /* of what xsave stores */

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* A component that is in its initial state may be named by xstate_bv or not:
 * on some processors that depends on what the machine did meanwhile. Here it
 * never is, so that the same moment always looks the same. */
static void name_component(struct hark_registers *out, unsigned component,
			   bool is_initial)
{
	out->xstate_bv &= ~(1ULL << component);
	out->xstate_bv |= (uint64_t)!is_initial << component;
}

static void unpack_legacy(const uint8_t *legacy, struct hark_registers *out)
{
	static const uint8_t initial[5] = {0x7f, 3};  /* fcw, fsw, ftw */
	static const uint8_t mxcsr[4] = {0x80, 0x1f}; /* goes with xmm */
	enum { FOP = 6, MXCSR = 24, ST = 32, XMM = 160, XMM_LEN = 256 };
	uint8_t *to = out->xsave;

	memcpy(to, legacy, LEGACY);
	/* The last x87 instruction was executed elsewhere. */
	memset(to + FOP, 0, MXCSR - FOP);
	if ((out->xstate_bv & 1) == 0) {
		memcpy(to, initial, sizeof initial);
		memset(to + ST, 0, XMM - ST);
	}
	if ((out->xstate_bv & 2) == 0)
		memset(to + XMM, 0, XMM_LEN);
	name_component(out, 0,
		       memcmp(to, initial, sizeof initial) == 0 &&
			   is_zero(to + ST, XMM - ST));
	name_component(out, 1,
		       memcmp(to + MXCSR, mxcsr, sizeof mxcsr) == 0 &&
			   is_zero(to + XMM, XMM_LEN));
}

/* Where xsave puts a component; of size 0 if there is none. */
static struct xsave_place find_component(const struct recording *r,
					 unsigned component)
{
	enum { AREA = sizeof(((struct hark_registers *)0)->xsave) };
	unsigned long offset, size;
	char key[16], *end;
	const char *value;

	fmt_text(key, sizeof key, "xstate_%u", component);
	value = recording_meta(r, key);
	if (value == NULL)
		return (struct xsave_place){0};
	offset = strtoul(value, &end, 10);
	size = *end == ',' ? strtoul(end + 1, NULL, 10) : 0;
	if (offset > AREA || size > AREA - offset)
		return (struct xsave_place){0};
	return (struct xsave_place){(uint32_t)offset, (uint32_t)size};
}

void travel_find_components(struct timeline *t)
{
	for (unsigned i = XSAVE_FIRST; i < XSAVE_COMPONENTS; i++)
		t->xsave[i] = find_component(t->rec->r, i);
}

/* Packed components back to where xsave puts them. */
static void unpack(const uint8_t *packed, uint32_t len,
		   const struct timeline *t, struct hark_registers *out)
{
	const uint8_t *at = packed + 8 + LEGACY;

	memset(out->xsave, 0, sizeof out->xsave);
	memcpy(&out->xstate_bv, packed, sizeof out->xstate_bv);
	unpack_legacy(packed + 8, out);
	out->xsave_len = LEGACY + HEADER;
	for (unsigned i = XSAVE_FIRST; i < XSAVE_COMPONENTS; i++) {
		bool is_there = (out->xstate_bv >> i & 1) != 0;
		size_t offset = t->xsave[i].offset, size = t->xsave[i].size;

		if (size == 0) {
			if (is_there)
				break;
			continue;
		}
		if (offset + size > out->xsave_len)
			out->xsave_len = (uint32_t)(offset + size);
		if (!is_there)
			continue;
		if (size > (size_t)(packed + len - at))
			break;
		memcpy(out->xsave + offset, at, size);
		name_component(out, i, is_zero(at, size));
		at += size;
	}
	memcpy(out->xsave + LEGACY, &out->xstate_bv, sizeof out->xstate_bv);
}

int timeline_registers(struct timeline *t, uint32_t thread,
		       struct hark_registers *out, struct hark_error *err)
{
	struct lane *l = travel_lane(t, thread);
	static uint8_t packed[WIRE_XSTATE_MAX];
	const struct wire_rec_state *s;
	struct hark_err why = {0};
	struct walker *w;
	uint32_t len;
	int rc, in_window;

	if (l == NULL)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "there is no thread %u", thread);
	rc = travel_bring(t, l, &w, &why);
	if (rc < 0)
		return travel_failed(&why, err);
	if (rc == 0)
		return travel_error(err, HARK_ERROR_POSITION,
				    "thread %u does not live at this moment",
				    thread);
	in_window = t->in_window >= 0 && l == &t->lanes[t->selected];
	s = in_window ? &window_place(t->window, (unsigned)t->in_window)->state
		      : walker_state(w);
	memcpy(out->gpr, s->gpr, sizeof out->gpr);
	out->rip = s->pc;
	out->rflags = s->rflags;
	out->fs_base = s->fs_base;
	out->gs_base = s->gs_base;
	len = in_window
		  ? window_xstate(t->window, (unsigned)t->in_window, packed)
		  : walker_xstate(w, packed);
	unpack(packed, len, t, out);
	return 0;
}

int timeline_signal(struct timeline *t, uint32_t thread, int *signo,
		    uint8_t siginfo[128], struct hark_error *err)
{
	struct lane *l = travel_lane(t, thread);
	struct hark_err why = {0};
	struct walker *w;
	int rc;

	if (l == NULL)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "there is no thread %u", thread);
	if (t->in_window >= 0 && l == &t->lanes[t->selected] &&
	    (unsigned)t->in_window + 1 < window_n(t->window)) {
		*signo = 0;
		return 0;
	}
	rc = travel_bring(t, l, &w, &why);
	if (rc < 0)
		return travel_failed(&why, err);
	*signo = rc == 0 ? 0 : walker_signal(w, siginfo);
	return *signo != 0;
}
