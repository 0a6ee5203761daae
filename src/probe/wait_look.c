/* probe/wait_look.c - walks a stack of another process that nobody holds.
 *
 * A thread that waits is in the program's code, in a hooked system call, or at
 * a system call that was moved to a trampoline. Of a hooked call the frame has
 * all registers; of all else only rsp and rip are known.
 *
 * Memory is read in pieces that are kept for the time of one look. */
#include "probe/wait_look.h"

#include "native/trampoline.h"
#include "outside/proc.h"
#include "probe/above.h"
#include "probe/stack_tables.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	DEEP = 1 << 20,	 /* frames, at most */
	PIECE = 4096,	 /* never across a page that may not be there */
	PIECES = 16,	 /* kept at once */
	FOUND = 1024,	 /* answers of above_find() that are kept */
	AHEAD = 1 << 13, /* bytes of code behind an address that are read */
	ROWS = 4096,	 /* looked at for a prologue */
};

/* Code of a process. */
struct code {
	pid_t pid;
	struct collect_frames *list; /* owned */
	size_t n;
};

struct piece {
	uint64_t at; /* 0: empty */
	bool is_there;
	uint8_t bytes[PIECE];
};

/* rbp minus rsp at an address of a table. */
struct found {
	uint64_t table, addr; /* 0: empty */
	int32_t above;
	bool is_known;
};

struct wait_look {
	struct stack_tables *tables; /* owned */
	uint8_t *store;		     /* owned: what offsets count from */
	size_t len, room;
	struct code *codes; /* owned */
	size_t n_codes;
	struct unwind_frame *frames; /* owned */
	size_t frames_room;
	struct found found[FOUND];
	/* Of one look: */
	pid_t pid;
	const struct code *code;
	struct piece pieces[PIECES];
	unsigned next_piece;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

/* -- Rules -- */

static void *take_room(void *ctx, size_t len, uint64_t *offset,
		       struct hark_err *err)
{
	struct wait_look *l = ctx;
	size_t at = (l->len + 7) & ~(size_t)7;

	if (at + len > l->room) {
		size_t room = at + len + l->room / 2;
		uint8_t *more = realloc(l->store, room);

		if (more == NULL) {
			no_memory(err);
			return NULL;
		}
		l->store = more;
		l->room = room;
	}
	l->len = at + len;
	*offset = at;
	return l->store + at;
}

int wait_look_new(struct wait_look **out, struct hark_err *err)
{
	struct wait_look *l = calloc(1, sizeof *l);
	struct stack_store store = {take_room, l};

	if (l == NULL)
		return no_memory(err);
	l->len = 8; /* no offset is 0 */
	if (stack_tables_new(&store, &l->tables, err) < 0) {
		free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void wait_look_free(struct wait_look *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n_codes; i++)
		free(l->codes[i].list);
	stack_tables_free(l->tables);
	free(l->codes);
	free(l->frames);
	free(l->store);
	free(l);
}

static struct code *find_code(const struct wait_look *l, pid_t pid)
{
	for (size_t i = 0; i < l->n_codes; i++)
		if (l->codes[i].pid == pid)
			return &l->codes[i];
	return NULL;
}

static int set_code(struct wait_look *l, pid_t pid,
		    const struct collect_frames *list, size_t n,
		    struct hark_err *err)
{
	struct collect_frames *copy = calloc(n + 1, sizeof *copy);
	struct code *c = find_code(l, pid);

	if (copy == NULL)
		return no_memory(err);
	if (n > 0)
		memcpy(copy, list, n * sizeof *copy);
	if (c == NULL) {
		c = reallocarray(l->codes, l->n_codes + 1, sizeof *c);
		if (c == NULL) {
			free(copy);
			return no_memory(err);
		}
		l->codes = c;
		c += l->n_codes++;
		*c = (struct code){.pid = pid};
	}
	free(c->list);
	c->list = copy;
	c->n = n;
	return 0;
}

int wait_look_maps(struct wait_look *l, pid_t pid, struct modules *modules,
		   struct hark_err *err)
{
	const struct collect_frames *list;
	size_t n;

	if (stack_tables_list(l->tables, modules, &list, &n, err) < 0)
		return -1;
	return set_code(l, pid, list, n, err);
}

int wait_look_like(struct wait_look *l, pid_t pid, pid_t other,
		   struct hark_err *err)
{
	const struct code *c = find_code(l, other);

	return c == NULL ? 0 : set_code(l, pid, c->list, c->n, err);
}

/* -- Memory -- */

static bool read_all(const struct wait_look *l, uint64_t at, void *out,
		     size_t len)
{
	struct iovec to = {out, len}, from = {(void *)(uintptr_t)at, len};

	return process_vm_readv(l->pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

static const struct piece *get_piece(struct wait_look *l, uint64_t at)
{
	struct piece *p;

	for (unsigned k = 0; k < PIECES; k++)
		if (l->pieces[k].at == at)
			return &l->pieces[k];
	p = &l->pieces[l->next_piece++ % PIECES];
	p->at = at;
	p->is_there = read_all(l, at, p->bytes, PIECE);
	return p;
}

static bool get(void *ctx, uint64_t at, void *out, uint32_t len)
{
	struct wait_look *l = ctx;
	uint8_t *to = out;

	while (len > 0) {
		uint32_t in = (uint32_t)(at % PIECE),
			 n = PIECE - in < len ? PIECE - in : len;
		const struct piece *p = get_piece(l, at - in);

		if (p->at == 0 || !p->is_there)
			return false;
		memcpy(to, p->bytes + in, n);
		to += n;
		at += n;
		len -= n;
	}
	return true;
}

/* -- A frame pointer that nobody has saved -- */

static const struct collect_frames *range_of(const struct wait_look *l,
					     uint64_t pc)
{
	for (size_t i = 0; i < l->code->n; i++)
		if (pc - l->code->list[i].start <
		    l->code->list[i].end - l->code->list[i].start)
			return &l->code->list[i];
	return NULL;
}

static uint64_t row_at(const struct frame_table *t, uint32_t k)
{
	const uint32_t *pages = frame_pages(t);
	uint32_t low = 0, high = t->n_pages;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (pages[middle] <= k)
			low = middle;
		else
			high = middle;
	}
	return t->base + (uint64_t)low * FRAME_PAGE + frame_rows(t)[k].low;
}

/* Behind mov %rsp,%rbp the rule begins to count from rbp, and before it did
 * from rsp. The last such place at or before addr: where, and rbp minus rsp. */
static bool find_prologue(const struct frame_table *t, uint64_t addr,
			  uint64_t *out, int32_t *above)
{
	const struct frame_rule *rules = frame_rules(t);
	const struct frame_row *rows = frame_rows(t);
	uint32_t k = frame_rows_until(t, addr);

	for (unsigned i = 0; i < ROWS && k >= 2; i++, k--) {
		const struct frame_rule *here = &rules[rows[k - 1].rule],
					*before = &rules[rows[k - 2].rule];

		if (here->kind == FRAME_NONE)
			return false;
		if (here->kind != FRAME_REG || here->reg != FRAME_RBP ||
		    before->kind != FRAME_REG || before->reg != FRAME_RSP ||
		    before->saved[FRAME_SAVED_RBP] == FRAME_KEPT ||
		    before->cfa < here->cfa)
			continue;
		*out = row_at(t, k - 1);
		*above = before->cfa - here->cfa;
		return true;
	}
	return false;
}

/* mov %rsp,%rbp ends here. */
static bool is_prologue(struct wait_look *l, uint64_t at)
{
	static const uint8_t moves[2][3] = {{0x48, 0x89, 0xe5},
					    {0x48, 0x8b, 0xec}};
	uint8_t code[3];

	return get(l, at - 3, code, 3) && (memcmp(code, moves[0], 3) == 0 ||
					   memcmp(code, moves[1], 3) == 0);
}

static bool read_above(struct wait_look *l, const struct collect_frames *f,
		       uint64_t pc, int32_t *out)
{
	const struct frame_table *t =
	    (const struct frame_table *)(l->store + f->table);
	uint64_t from, len;
	int32_t first, *work;
	bool is_found = false;
	uint8_t *code;

	/* pc is behind a call, which may be the last of its function. */
	if (!find_prologue(t, pc - 1 - f->bias, &from, &first))
		return false;
	from += f->bias;
	len = f->end - from;
	if (from <= f->start || from > pc || pc - from >= ABOVE_MAX ||
	    !is_prologue(l, from))
		return false;
	len = len < pc - from + AHEAD ? len : pc - from + AHEAD;
	len = len < ABOVE_MAX ? len : ABOVE_MAX;
	code = malloc(len);
	work = calloc(len, sizeof *work);
	if (code != NULL && work != NULL && read_all(l, from, code, len))
		is_found = above_find(code, (uint32_t)len, first,
				      (uint32_t)(pc - from), work, out);
	free(code);
	free(work);
	return is_found;
}

static bool find_rbp(void *ctx, uint64_t pc, uint64_t sp, uint64_t *out)
{
	struct wait_look *l = ctx;
	const struct collect_frames *f = range_of(l, pc - 1);
	struct found *k;
	uint64_t addr;

	if (f == NULL || f->table == 0)
		return false;
	addr = pc - f->bias;
	k = &l->found[(addr ^ f->table) % FOUND];
	if (k->table != f->table || k->addr != addr) {
		*k = (struct found){.table = f->table, .addr = addr};
		k->is_known = read_above(l, f, pc, &k->above);
	}
	if (!k->is_known)
		return false;
	*out = sp + (uint64_t)(int64_t)k->above;
	return true;
}

/* -- Where it is -- */

/* Where the thread has entered the kernel. */
static bool read_entry(pid_t pid, pid_t tid, uint64_t *sp, uint64_t *pc)
{
	int fd = proc_open(pid, tid, "syscall", O_RDONLY | O_CLOEXEC);
	char text[256], *at;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0 || text[0] == 'r') /* running */
		return false;
	text[n] = '\0';
	/* The last two words: there may be others before them. */
	at = strrchr(text, ' ');
	if (at == NULL)
		return false;
	*pc = strtoull(at + 1, NULL, 16);
	*at = '\0';
	at = strrchr(text, ' ');
	*sp = at != NULL ? strtoull(at + 1, NULL, 16) : 0;
	return at != NULL;
}

/* ORDER frame_cpu: DWARF's numbers of registers, and hardware's. */
static const uint8_t hardware[16] = {0, 2, 1,  3,  6,  7,  5,  4,
				     8, 9, 10, 11, 12, 13, 14, 15};

/* All registers are in the frame of a hooked call. */
static bool set_hooked(struct wait_look *l, uint64_t at, struct frame_cpu *cpu)
{
	struct probe_frame frame;

	if (at == 0 || !get(l, at, &frame, sizeof frame))
		return false;
	for (unsigned i = 0; i < 16; i++)
		cpu->reg[i] = frame.gpr[hardware[i]];
	cpu->reg[FRAME_RIP] = frame.pc;
	cpu->known = (1u << FRAME_REGS) - 1;
	return true;
}

/* The trampoline that pc is in, if it is. */
static bool find_trampoline(struct wait_look *l, uint64_t plan, uint64_t pc,
			    struct trampoline *out, uint64_t *start)
{
	struct collect_plan head;
	struct collect_index index;
	struct collect_code code;

	if (plan == 0 || !get(l, plan, &head, sizeof head) ||
	    head.magic != COLLECT_MAGIC ||
	    !get(l, plan + head.index, &index, sizeof index))
		return false;
	for (uint64_t i = 0; i < index.codes.n; i++) {
		if (!get(l, plan + index.codes.offset + i * sizeof code, &code,
			 sizeof code))
			return false;
		if (pc - code.start >= code.len)
			continue;
		*start = code.start;
		return get(l, plan + code.trampoline, out, sizeof *out);
	}
	return false;
}

/* A system call that was moved there: whoever waits is right behind it, and
 * only rip differs. */
static void leave_trampoline(struct wait_look *l, uint64_t plan,
			     struct frame_cpu *cpu)
{
	uint64_t pc = cpu->reg[FRAME_RIP], start = 0;
	struct trampoline t;

	if (!find_trampoline(l, plan, pc, &t, &start) || t.n > TRAMPOLINE_INSNS)
		return;
	for (unsigned k = 0; k < t.n; k++)
		if (pc - start - t.moved_at[k] - 1 < t.moved[k].len) {
			cpu->reg[FRAME_RIP] = t.moved[k].next;
			return;
		}
}

static bool find_cpu(struct wait_look *l, pid_t tid,
		     const struct wait_place *place, struct frame_cpu *cpu)
{
	*cpu = (struct frame_cpu){.exact = true};
	if (!read_entry(l->pid, tid, &cpu->reg[FRAME_RSP],
			&cpu->reg[FRAME_RIP]))
		return false;
	cpu->known = 1u << FRAME_RSP | 1u << FRAME_RIP;
	if (range_of(l, cpu->reg[FRAME_RIP]) == NULL ||
	    range_of(l, cpu->reg[FRAME_RIP])->table == 0)
		if (!set_hooked(l, place->frame, cpu))
			leave_trampoline(l, place->plan, cpu);
	return true;
}

/* -- The walk -- */

static bool make_room(void **at, size_t *room, size_t n, size_t size)
{
	void *more;

	if (n <= *room)
		return true;
	more = reallocarray(*at, n, size);
	if (more == NULL)
		return false;
	*at = more;
	*room = n;
	return true;
}

/* As long as it is, in a buffer that grows. */
static bool walk(struct wait_look *l, const struct frame_cpu *cpu, uint32_t *n,
		 enum unwind_end *end)
{
	const struct unwind_space space = {
	    .code = l->code->list,
	    .n_code = l->code->n,
	    .base = l->store,
	    .read = get,
	    .ctx = l,
	    .find_rbp = find_rbp,
	};
	size_t want = 256;

	for (;;) {
		if (!make_room((void **)&l->frames, &l->frames_room, want,
			       sizeof *l->frames))
			return false;
		*n = unwind_walk(&space, cpu, l->frames,
				 (uint32_t)l->frames_room, end);
		if (*end != UNWIND_DEEP || l->frames_room >= DEEP)
			return true;
		want = 8 * l->frames_room;
	}
}

static bool put_frames(const struct wait_look *l, uint32_t n,
		       struct wait_stack *out)
{
	if (!make_room((void **)&out->frames, &out->room, n,
		       sizeof *out->frames))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct unwind_frame *f = &l->frames[n - 1 - i];

		out->frames[i] = (struct session_frame){
		    .pc = f->pc,
		    .how = f->how,
		    .is_return = i + 1 != n && f->how != UNWIND_SIGNAL,
		};
	}
	out->n = n;
	return true;
}

bool wait_look_at(struct wait_look *l, pid_t pid, pid_t tid,
		  const struct wait_place *place, struct wait_stack *out)
{
	enum unwind_end end = UNWIND_LOST;
	struct frame_cpu cpu;
	uint32_t n = 0;

	l->pid = pid;
	l->code = find_code(l, pid);
	for (unsigned k = 0; k < PIECES; k++)
		l->pieces[k].at = 0;
	if (l->code == NULL || !find_cpu(l, tid, place, &cpu))
		return false;
	/* Threads of the kernel's have neither. */
	if (cpu.reg[FRAME_RIP] != 0 && !walk(l, &cpu, &n, &end))
		return false;
	if (!put_frames(l, n, out))
		return false;
	out->end = (uint8_t)end;
	return true;
}
