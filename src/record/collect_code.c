/* record/collect_code.c - what a recorded process tells: code and mappings.
 *
 * Code is told when it is first translated, and again when it is found to have
 * changed. A copy of all that was told is kept, so that neither takes any
 * guess: only bytes that are new or different are written.
 *
 * All of it under engine.lock. */
#include "record/collect_priv.h"

#include "engine/memory.h"
#include "engine/shadow.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum {
	PAGE = 4096,
	PIECE = 64,
	SLOTS_FIRST = 1024,
	ERR_NOMEM = 12,
	ERR_ACCES = 13
};

struct code_page {
	uint64_t number;
	uint64_t changed[PAGE / PIECE]; /* serial of what changed it last */
	uint8_t bytes[PAGE];
	uint8_t told[PAGE / 8]; /* a bit each */
};

/* -- What was told --------------------------------------------------------- */

static struct code_page **slot_of(struct code_page **pages, uint32_t n_slots,
				  uint64_t number)
{
	uint64_t i = number * 0x9e3779b97f4a7c15ull >> 32;

	while (pages[i % n_slots] && pages[i % n_slots]->number != number)
		i++;
	return &pages[i % n_slots];
}

static int grow(struct engine *e)
{
	struct tapes *p = e->tapes;
	uint32_t n = p->n_slots == 0 ? SLOTS_FIRST : 2 * p->n_slots;
	struct code_page **more = memory_map(e->memory, n * sizeof(void *));

	if (!more)
		return -1;
	for (uint32_t i = 0; i < p->n_slots; i++)
		if (p->pages[i])
			*slot_of(more, n, p->pages[i]->number) = p->pages[i];
	if (p->pages)
		memory_unmap(e->memory, p->pages, p->n_slots * sizeof(void *));
	p->pages = more;
	p->n_slots = n;
	return 0;
}

static struct code_page *page_for(struct engine *e, uint64_t number)
{
	struct tapes *p = e->tapes;
	struct code_page **slot;

	if (2 * p->n_pages >= p->n_slots && grow(e) < 0)
		return 0;
	slot = slot_of(p->pages, p->n_slots, number);
	if (!*slot) {
		*slot = bytes_take(&p->store, sizeof **slot);
		if (!*slot)
			return 0;
		memset(*slot, 0, sizeof **slot);
		(*slot)->number = number;
		p->n_pages++;
	}
	return *slot;
}

/* -- Telling --------------------------------------------------------------- */

static void put_code(struct engine *e, uint64_t address, const uint8_t *bytes,
		     uint32_t len)
{
	struct tapes *p = e->tapes;
	uint8_t *at =
	    put_begin(e, &p->pen, WIRE_REC_CODE, 0, VARINT_MAX + 8 + len);

	__atomic_store_n(&p->serial, p->serial + 1, __ATOMIC_RELEASE);
	if (!at)
		return;
	at = put_varint(at, p->serial);
	at = put_bytes(at, &address, sizeof address);
	put_end(&p->pen, put_bytes(at, bytes, len));
}

/* Is this byte known? Makes it so. *changed: it was another. */
static int note_byte(struct code_page *page, uint64_t address, uint8_t byte,
		     int *changed)
{
	unsigned i = address % PAGE;
	int told = page->told[i / 8] >> i % 8 & 1;

	if (told && page->bytes[i] == byte)
		return 1;
	*changed |= told;
	page->told[i / 8] |= (uint8_t)(1 << i % 8);
	page->bytes[i] = byte;
	return 0;
}

/* When code around this address changed last; it was told of. */
static uint64_t *change_at(struct tapes *p, uint64_t piece)
{
	struct code_page *page =
	    *slot_of(p->pages, p->n_slots, piece * PIECE / PAGE);

	return &page->changed[piece % (PAGE / PIECE)];
}

/* It changed, up to the serial number told last. */
static void note_change(struct tapes *p, uint64_t start, uint64_t end)
{
	for (uint64_t at = start / PIECE; at <= (end - 1) / PIECE; at++)
		*change_at(p, at) = p->serial;
	__atomic_store_n(&p->changed, p->serial, __ATOMIC_RELEASE);
}

static uint64_t last_change(struct tapes *p, uint64_t start, uint64_t end)
{
	uint64_t last = 0;

	for (uint64_t at = start / PIECE; at <= (end - 1) / PIECE; at++)
		if (*change_at(p, at) > last)
			last = *change_at(p, at);
	return last;
}

uint64_t tape_code(struct engine *e, uint64_t pc, const uint8_t *bytes,
		   unsigned len, int *changed)
{
	unsigned start = 0;

	*changed = 0;
	for (unsigned i = 0; i <= len; i++) {
		struct code_page *page =
		    i < len ? page_for(e, (pc + i) / PAGE) : 0;

		if (i < len && !page)
			engine_die("no memory for what was told of code");
		if (page && !note_byte(page, pc + i, bytes[i], changed))
			continue;
		if (i > start)
			put_code(e, pc + start, bytes + start, i - start);
		start = i + 1;
	}
	if (*changed)
		note_change(e->tapes, pc, pc + len);
	return len != 0 ? last_change(e->tapes, pc, pc + len) : 0;
}

enum { NR_BRK = 12 };

/* -- Mappings -------------------------------------------------------------- */

/* struct stat of the kernel. */
struct file_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev, size, blksize, blocks;
	uint64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
	uint64_t unused[3];
};

uint32_t code_path(uint64_t fd, char *out, uint32_t size)
{
	enum { NR_READLINK = 89 };
	char name[32] = "/proc/self/fd/", digits[20];
	unsigned at = 14, n = 0;
	int64_t len;

	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) != 0);
	while (n > 0)
		name[at++] = digits[--n];
	name[at] = '\0';
	len = sys_call3(NR_READLINK, (uint64_t)name, (uint64_t)out, size);
	return sys_failed(len) ? 0 : (uint32_t)len;
}

void tape_map(struct vcpu *v, uint64_t start, uint64_t len, uint64_t prot,
	      uint64_t flags, uint64_t fd, uint64_t offset)
{
	enum { NR_FSTAT = 5, PATH_SIZE = 4096 };
	struct engine *e = v->engine;
	struct tapes *p = e->tapes;
	struct file_stat st = {0};
	struct wire_rec_map map = {.start = start,
				   .end = start + len,
				   .offset = offset,
				   .prot = (uint32_t)prot,
				   .flags = (uint32_t)flags,
				   .count = vcpu_count(v),
				   .thread = v->tape->thread,
				   .pc = (uint32_t)v->pc};
	char path[PATH_SIZE];
	uint32_t path_len = code_path(fd, path, sizeof path);
	uint8_t *at;

	sys_call3(NR_FSTAT, fd, (uint64_t)&st, 0);
	map.dev = st.dev;
	map.ino = st.ino;
	map.size = st.size;
	map.mtime_ns = st.mtime * 1000000000 + st.mtime_ns;
	engine_lock(&e->lock);
	map.serial = p->serial;
	at = put_begin(e, &p->pen, WIRE_REC_MAP, 0,
		       (uint32_t)sizeof map + path_len);
	if (at) {
		at = put_bytes(at, &map, sizeof map);
		put_end(&p->pen, put_bytes(at, path, path_len));
	}
	engine_unlock(&e->lock);
}

static void put_unmap(struct vcpu *v, uint8_t info, uint64_t start,
		      uint64_t len)
{
	struct engine *e = v->engine;
	struct tapes *p = e->tapes;
	const struct wire_rec_unmap range = {.start = start,
					     .end = start + len,
					     .count = vcpu_count(v),
					     .thread = v->tape->thread,
					     .pc = (uint32_t)v->pc};
	uint8_t *at;

	engine_lock(&e->lock);
	at = put_begin(e, &p->pen, WIRE_REC_UNMAP, info, sizeof range);
	if (at)
		put_end(&p->pen, put_bytes(at, &range, sizeof range));
	engine_unlock(&e->lock);
}

void tape_unmap(struct vcpu *v, uint64_t start, uint64_t len)
{
	put_unmap(v, 0, start, len);
}

static void map_memory(struct vcpu *v, uint64_t start, uint64_t end,
		       uint64_t prot, uint64_t flags)
{
	struct engine *e = v->engine;
	struct tapes *p = e->tapes;
	struct wire_rec_map map = {.start = start,
				   .end = end,
				   .prot = (uint32_t)prot,
				   .flags = (uint32_t)flags,
				   .count = vcpu_count(v),
				   .thread = v->tape->thread,
				   .pc = (uint32_t)v->pc};
	uint8_t *at;

	engine_lock(&e->lock);
	map.serial = p->serial;
	at = put_begin(e, &p->pen, WIRE_REC_MAP, 0, sizeof map);
	if (at)
		put_end(&p->pen, put_bytes(at, &map, sizeof map));
	engine_unlock(&e->lock);
}

/* mprotect, which may have changed a part of the range before it failed. */
static void protect(struct vcpu *v, uint64_t start, uint64_t len, uint64_t prot,
		    int64_t answer)
{
	enum { ACCESS = SYS_PROT_READ | SYS_PROT_WRITE | SYS_PROT_EXEC };
	struct engine *e = v->engine;
	struct tapes *p = e->tapes;
	const struct wire_rec_prot range = {.start = start,
					    .end = start + len,
					    .count = vcpu_count(v),
					    .thread = v->tape->thread,
					    .pc = (uint32_t)v->pc,
					    .prot = prot & ACCESS};
	uint8_t *at;

	if (answer != 0 && answer != -ERR_NOMEM && answer != -ERR_ACCES)
		return;
	if (start + len < start)
		return;
	engine_lock(&e->lock);
	at = put_begin(e, &p->pen, WIRE_REC_PROT,
		       answer != 0 ? WIRE_PROT_PART : 0, sizeof range);
	if (at)
		put_end(&p->pen, put_bytes(at, &range, sizeof range));
	engine_unlock(&e->lock);
}

/* The end of the heap is here now. */
static void move_break(struct vcpu *v, uint64_t to)
{
	struct tapes *p = v->engine->tapes;
	uint64_t from = __atomic_exchange_n(&p->brk, to, __ATOMIC_RELAXED);

	if (to > from)
		map_memory(v, from, to, SYS_PROT_READ | SYS_PROT_WRITE,
			   SYS_MAP_ANONYMOUS);
	if (to < from)
		tape_unmap(v, to, from - to);
}

/* Advice after which memory need not hold what it did. It may have been taken
 * in part, where something in the range is not mapped. */
static void lose(struct vcpu *v, uint64_t start, uint64_t len, uint64_t advice,
		 int64_t answer)
{
	enum { DONTNEED = 4, FREE = 8, REMOVE = 9, DONTNEED_LOCKED = 24 };

	if ((answer == 0 || answer == -ERR_NOMEM) &&
	    (advice == DONTNEED || advice == FREE || advice == REMOVE ||
	     advice == DONTNEED_LOCKED))
		put_unmap(v, WIRE_UNMAP_EMPTY, start, len);
}

/* A segment of System V: how long it is, the kernel knows. */
static void attach_segment(struct vcpu *v, uint64_t start, uint64_t id)
{
	enum { NR_SHMCTL = 31, IPC_STAT = 2 };
	struct {
		uint64_t permissions[6], size, rest[10];
	} about = {0};

	if (!sys_failed(sys_call3(NR_SHMCTL, id, IPC_STAT, (uint64_t)&about)))
		map_memory(v, start, start + about.size,
			   SYS_PROT_READ | SYS_PROT_WRITE, SYS_MAP_SHARED);
}

void code_call(struct vcpu *v, int64_t nr, int64_t answer)
{
	enum {
		NR_MMAP = 9,
		NR_MPROTECT = 10,
		NR_MREMAP = 25,
		NR_MADVISE = 28,
		NR_SHMAT = 30,
		NR_SHMDT = 67,
		NR_REMAP_FILE_PAGES = 216,
		NR_PKEY_MPROTECT = 329
	};
	const uint64_t *g = v->gpr;
	uint64_t start = (uint64_t)answer, len = g[6] + PAGE - 1;

	len &= ~(uint64_t)(PAGE - 1);
	if (nr == NR_MADVISE)
		lose(v, g[7], len, (uint32_t)g[2], answer);
	if (nr == NR_MPROTECT || nr == NR_PKEY_MPROTECT)
		protect(v, g[7], len, g[2], answer);
	if (sys_failed(answer))
		return;
	if (nr == NR_SHMAT)
		attach_segment(v, start, g[7]);
	if (nr == NR_SHMDT)
		put_unmap(v, WIRE_UNMAP_WHOLE, g[7] & ~(uint64_t)(PAGE - 1), 0);
	if (nr == NR_REMAP_FILE_PAGES)
		map_memory(v, g[7], g[7] + len, SYS_PROT_READ | SYS_PROT_WRITE,
			   SYS_MAP_SHARED);
	if (nr == NR_MMAP && g[10] & SYS_MAP_ANONYMOUS)
		map_memory(v, start, start + len, g[2], g[10]);
	if (nr == NR_BRK)
		move_break(v, start);
	if (nr == NR_MREMAP) { /* rdi: old, rsi: its length, rdx: the new one */
		tape_unmap(v, g[7], len);
		map_memory(v, start, start + g[2],
			   SYS_PROT_READ | SYS_PROT_WRITE, 0);
	}
}

/* -- Processes ------------------------------------------------------------- */

/* serial: of the last code that it has from its parent. */
static void put_process(struct engine *e, uint32_t parent, uint64_t serial)
{
	struct tapes *p = e->tapes;
	struct wire_rec_process process = {
	    .parent = parent, .serial = serial, .time_ns = put_now_ns()};
	uint8_t *at;

	p->pid = process.pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	p->process = process.process =
	    __atomic_add_fetch(&p->recording->n_processes, 1, __ATOMIC_SEQ_CST);
	p->n_threads = 0;
	p->pen = put_open(e, process.pid);
	at = put_begin(e, &p->pen, WIRE_REC_PROCESS, 0, sizeof process);
	if (at)
		put_end(&p->pen, put_bytes(at, &process, sizeof process));
}

static void find_xstate(struct tapes *p)
{
	uint32_t lo, hi;
	uint64_t mask;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	mask = (uint64_t)hi << 32 | lo;
	for (uint32_t n = 2; n < 63; n++) {
		uint32_t a = 0xd, b, c = n, d;

		if (!(mask >> n & 1))
			continue;
		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		p->xstate_size[n] = a;
		p->xstate_at[n] = b;
	}
}

int tape_start_process(struct engine *e)
{
	struct tapes *p = memory_map(e->memory, sizeof *p);

	if (!p)
		return ERR_NOMEM;
	p->recording = wire_recording_of(e->channel);
	p->store.memory = e->memory;
	e->tapes = p;
	find_xstate(p);
	if (grow(e) < 0 || order_start_process(e) != 0)
		return ERR_NOMEM;
	p->brk = (uint64_t)sys_call3(NR_BRK, 0, 0, 0);
	put_process(e, 0, p->serial);
	return 0;
}

/* Empty code takes a serial number: of what comes after it, mappings without a
 * number of their own too, readers know that the child has nothing. */
void tape_fork(struct vcpu *v)
{
	put_code(v->engine, 0, NULL, 0);
}

void tape_forked(struct vcpu *v, int was_marked)
{
	struct engine *e = v->engine;
	uint32_t parent = e->tapes->process;
	uint32_t thread = v->tape->thread;

	if (shadow_join(vcpu_gs(v)) < 0)
		engine_die("no memory for a shadow");
	put_process(e, parent, e->tapes->serial - (was_marked ? 1 : 0));
	order_forked(e);
	tape_new_thread(v, 0, WIRE_START_FORK);
	v->tape->parent = thread;
}
