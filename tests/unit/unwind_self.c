/* tests/unit/unwind_self.c - see unwind_self.h. */
#include "unwind_self.h"

#include "image/frames.h"
#include "image/modules.h"
#include "probe/stack_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 512 << 20 };

static struct image *im;
static struct modules *modules;
static struct stack_tables *tables;
static uint8_t *room;
static uint64_t used;

static void die(const struct hark_err *err)
{
	fprintf(stderr, "unwind_self: %s\n", err->text);
	exit(125);
}

static void *take_room(void *ctx, size_t len, uint64_t *offset,
		       struct hark_err *err)
{
	(void)ctx;
	if (used + len > ROOM) {
		err_set(err, HARK_ENOMEM, 0, "no room for tables");
		return NULL;
	}
	*offset = used;
	used += (len + 7) & ~7ul;
	return room + *offset;
}

static void open_process(struct unwind_space *s)
{
	struct stack_store store = {take_room, NULL};
	struct hark_err err = {0};

	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	s->cache = calloc(1, unwind_cache_size());
	if (room == MAP_FAILED || s->cache == NULL)
		exit(125);
	used = 8;
	s->base = room;
	if (image_new(&im, &err) < 0 ||
	    modules_of_pid(im, getpid(), &modules, &err) < 0 ||
	    stack_tables_new(&store, &tables, &err) < 0)
		die(&err);
}

void unwind_self_open(struct unwind_space *s)
{
	const struct collect_frames *list;
	struct hark_err err = {0};
	uint64_t at = 0;
	bool changed;
	void *to;
	size_t n;

	if (s->cache == NULL)
		open_process(s);
	else if (modules_refresh(modules, &changed, &err) < 0)
		die(&err);
	if (stack_tables_list(tables, modules, &list, &n, &err) < 0)
		die(&err);
	to = take_room(NULL, n * sizeof *list, &at, &err);
	if (to == NULL)
		die(&err);
	memcpy(to, list, n * sizeof *list);
	s->code = (const struct collect_frames *)(room + at);
	s->n_code = n;
	s->generation++;
}

void unwind_self_close(struct unwind_space *s)
{
	stack_tables_free(tables);
	modules_free(modules);
	image_free(im);
	munmap(room, ROOM);
	free(s->cache);
	s->cache = NULL;
}

struct unwind_maps *unwind_self_maps(uint32_t max_depth)
{
	struct unwind_maps *m = calloc(1, unwind_maps_size(max_depth));

	if (m == NULL)
		exit(125);
	unwind_maps_init(m, max_depth);
	return m;
}

void unwind_self_cpu(const ucontext_t *u, struct frame_cpu *out)
{
	/* The C library's number of each of DWARF's. */
	static const uint8_t greg[FRAME_REGS] = {
	    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
	    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (int i = 0; i < FRAME_REGS; i++)
		out->reg[i] = (uint64_t)u->uc_mcontext.gregs[greg[i]];
	out->known = (1u << FRAME_REGS) - 1;
	out->exact = true;
}

bool unwind_self_same(const struct unwind_maps *m,
		      const struct unwind_sample *got,
		      const struct unwind_frame *want, uint32_t n,
		      enum unwind_end end)
{
	uint8_t worst = 0;

	if (got->depth != n || got->end != end || got->kept > n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct unwind_frame f = unwind_at(m, got->map, n - 1 - i);

		if (f.pc != want[i].pc || f.how != want[i].how)
			return false;
		worst = f.how > worst ? f.how : worst;
	}
	return got->worst == worst;
}

bool unwind_self_kept(struct unwind_last *l, const struct unwind_sample *got,
		      const struct unwind_frame *walked)
{
	struct unwind_frame *was = l->at[got->map];
	uint32_t n = l->n[got->map];
	bool same = got->kept <= n;

	for (uint32_t i = 0; same && i < got->kept; i++)
		same = was[n - 1 - i].pc == walked[got->depth - 1 - i].pc &&
		       was[n - 1 - i].how == walked[got->depth - 1 - i].how;
	memcpy(was, walked, got->depth * sizeof *was);
	l->n[got->map] = got->depth;
	return same;
}
