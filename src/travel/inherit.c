/* travel/inherit.c - what a forked process has from its parent.
 *
 * Memory that no thread of it has touched is as it was in the parent when that
 * called fork: the parent's own timeline is asked, at that moment, and so its
 * parent's in turn. That is true of what was mapped when the process began, and
 * is private to it; what else is mapped is new, or others may have written it
 * since. */
#include "travel/timeline.h"

#include "x86/decode.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

/* -- The fork -- */

enum { CALL_CLONE = 56, CALL_FORK = 57, CALL_VFORK = 58, CALL_CLONE3 = 435 };

struct fork {
	int64_t pid; /* that it answers */
	unsigned n;  /* how many were found */
	uint64_t number, count, pc;
};

static int see_call(void *ctx, const struct record_event *e,
		    struct hark_err *err)
{
	struct fork *f = ctx;

	(void)err;
	if (e->type != WIRE_REC_CALL || e->call.answer != f->pid ||
	    (e->call.number != CALL_CLONE && e->call.number != CALL_FORK &&
	     e->call.number != CALL_VFORK && e->call.number != CALL_CLONE3))
		return 0;
	f->n++;
	f->number = e->call.number;
	f->count = e->count;
	f->pc = e->pc;
	return 0;
}

/* In which system call of the parent's thread was it made? */
static int find_fork(struct recording *r, uint32_t process, uint32_t thread,
		     struct fork *f, struct hark_err *err)
{
	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *s = recording_segment(r, i);
		struct recording_stream *in;

		if (s->process != process || s->thread != thread)
			continue;
		if (recording_read_segment(r, i, &in, err) < 0 ||
		    recording_each(in, RECORD_OF_THREAD, see_call, f, err) < 0)
			return -1;
	}
	return 0;
}

/* Do both go on in the same memory, at the same time? */
static int is_shared(struct timeline *parent, const struct walker *w,
		     const struct fork *f, struct hark_err *err)
{
	uint64_t flags = walker_state(w)->gpr[X86_RDI];
	uint8_t bytes[8], known[8];

	if (f->number == CALL_FORK || f->number == CALL_VFORK)
		return 0;
	if (f->number == CALL_CLONE3) {
		if (travel_read(parent, flags, 8, bytes, known, err) < 8)
			return 1;
		memcpy(&flags, bytes, sizeof flags);
	}
	return (flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM;
}

/* To the call. 0: it is there, and was a fork. */
static int go_to_fork(struct timeline *parent, uint32_t thread,
		      const struct fork *f, struct hark_err *err)
{
	struct lane *l = travel_lane(parent, thread);
	struct walker *w = l != NULL ? travel_walker(parent, l, err) : NULL;
	struct walker_place at;

	if (w == NULL || walker_goto_pc(w, f->count, f->pc, err) < 0 ||
	    walker_place(w, &at, err) < 0 ||
	    travel_set(parent, l, at.count, at.step, err) < 0)
		return -1;
	return is_shared(parent, w, f, err) ? -1 : 0;
}

/* At its fork; NULL: it has none that is known of. */
static struct timeline *open_parent(struct timeline *t, struct hark_err *err)
{
	const struct recording_process *p = travel_process(t);
	uint32_t thread = t->lanes[0].about.parent;
	struct timeline *parent = NULL;
	struct hark_error ignored;
	struct fork f = {0};

	if (p == NULL || p->parent == 0 || thread == 0)
		return NULL;
	f.pid = p->pid;
	if (find_fork(t->rec->r, p->parent, thread, &f, err) < 0 || f.n != 1 ||
	    timeline_open(t->rec, p->parent, &parent, &ignored) < 0)
		return NULL;
	timeline_on_progress(parent, t->progress, t->progress_ctx);
	if (go_to_fork(parent, thread, &f, err) < 0) {
		timeline_close(parent);
		return NULL;
	}
	return parent;
}

/* Nothing is wrong if there is no parent to ask; but somebody may have had
 * enough. */
struct timeline *travel_parent(struct timeline *t, struct hark_err *err)
{
	struct hark_err why = {0};

	if (t->parent == NULL && !t->has_asked_parent) {
		t->parent = open_parent(t, &why);
		t->has_asked_parent = why.code != HARK_ETIME;
		if (why.code == HARK_ETIME)
			*err = why;
	}
	return t->parent;
}

/* -- Memory -- */

/* A stack grows downwards by itself. */
static int is_inherited(const struct timeline *t, uint64_t address)
{
	unsigned i = travel_mapping_from(t, address);
	const struct map *m = &t->maps_now[i];

	return i < t->n_mappings && m->is_first && !(m->flags & MAP_SHARED) &&
	       (m->start <= address || strcmp(m->path, "[stack]") == 0);
}

struct timeline *travel_inherited_from(struct timeline *t, uint64_t address,
				       uint64_t len, struct hark_err *err)
{
	const struct recording_process *p = travel_process(t);

	if (p == NULL || p->parent == 0 || travel_find_mappings(t, err) < 0 ||
	    !is_inherited(t, address) ||
	    !is_inherited(t, address + (len > 0 ? len - 1 : 0)))
		return NULL;
	return travel_parent(t, err);
}

int travel_inherit(struct timeline *t, uint64_t address, size_t len,
		   uint8_t *out, uint8_t *known, struct hark_err *err)
{
	const struct recording_process *p = travel_process(t);
	size_t n;

	if (p == NULL || p->parent == 0)
		return 0;
	for (size_t i = 0; i < len; i += n + 1) {
		struct timeline *parent;

		for (n = 0; i + n < len && known[i + n] == TRAVEL_UNTOUCHED &&
			    is_inherited(t, address + i + n);
		     n++)
			;
		if (n == 0)
			continue;
		parent = travel_parent(t, err);
		if (parent == NULL)
			return err->code == HARK_OK ? 0 : -1;
		travel_read(parent, address + i, n, out + i, known + i, err);
		if (err->code != HARK_OK)
			return -1;
	}
	return 0;
}
