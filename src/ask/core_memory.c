/* ask/core_memory.c - which pages of a process are known?
 *
 * Mappings say where to look. The main stack is in none of them, since no
 * system call made it: there the pages around each stack pointer are looked
 * at, up to a gap.
 *
 * K1  Segments ascend, do not overlap, and consist of whole pages, of each of
 *     which at least one byte is known.
 * K2  What no thread ever touched is passed over without being read. Recordings
 *     up to version 2 do not say what mprotect did: what was mapped without
 *     access and was touched, as stacks of threads are, counts as readable and
 *     writable there.
 * K3  In accessible memory longer than 4 GiB places cannot be told apart by
 *     what the recording keeps for quick use. It is left out, and counted. */
#include "ask/core_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 1 << 16, GAP = 1 << 20, STACK_MAX = 64 << 20 };
enum { SEGMENTS_MAX = 1 << 20 };
#define USER_END ((uint64_t)1 << 47)
#define LONGEST	 ((uint64_t)1 << 32)

struct finder {
	struct ask_pair *p;
	struct core_memory *out;
	uint8_t *bytes, *known; /* CHUNK each */
	struct hark_err *err;
};

static int push(struct finder *f, uint64_t start, uint64_t end, uint32_t flags)
{
	struct core_memory *m = f->out;
	struct core_segment *last = m->n > 0 ? &m->at[m->n - 1] : NULL;
	struct core_segment *more;

	if (m->n > 0 && last->end == start && last->flags == flags) {
		last->end = end;
		return 0;
	}
	if (m->n == m->room) {
		size_t room = m->room * 2 + 64;

		more = room <= SEGMENTS_MAX
			   ? reallocarray(m->at, room, sizeof *more)
			   : NULL;
		if (more == NULL)
			return err_set(f->err, HARK_ENOMEM, 0,
				       "no memory for a list of segments");
		m->at = more;
		m->room = room;
	}
	m->at[m->n++] = (struct core_segment){start, end, flags};
	return 0;
}

static size_t count(const uint8_t *known, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += known[i] != 0;
	return n;
}

/* Pages of [start, start + len) of which something is known; K1. */
static int look(struct finder *f, uint64_t start, size_t len, uint32_t flags,
		size_t *pages)
{
	*pages = 0;
	memset(f->known, 0, len);
	if (hark_read(f->p->timeline, start, len, f->bytes, f->known, NULL) ==
	    0)
		return 0;
	for (size_t at = 0; at < len; at += CORE_PAGE) {
		size_t n = count(f->known + at, CORE_PAGE);

		if (n == 0)
			continue;
		if (push(f, start + at, start + at + CORE_PAGE, flags) < 0)
			return -1;
		f->out->known += n;
		f->out->unknown += CORE_PAGE - n;
		++*pages;
	}
	return 0;
}

/* K2 */
static uint32_t flags_of(const struct hark_mapping *m)
{
	uint32_t prot = m->prot != PROT_NONE
			    ? m->prot
			    : m->prot_ever & (PROT_READ | PROT_WRITE);

	return ((prot & PROT_READ) != 0 ? PF_R : 0u) |
	       ((prot & PROT_WRITE) != 0 ? PF_W : 0u) |
	       ((prot & PROT_EXEC) != 0 ? PF_X : 0u);
}

static int look_mapping(struct finder *f, const struct hark_mapping *m)
{
	uint64_t at = m->start & ~(uint64_t)(CORE_PAGE - 1), end = m->end;
	size_t pages;

	end = end < USER_END ? end : USER_END;
	if (at >= end)
		return 0;
	if (end - at > LONGEST) {
		if (m->prot_ever != PROT_NONE)
			f->out->left_out += end - at; /* K3 */
		return 0;
	}
	while (at < end) {
		uint64_t next = hark_next_known(f->p->timeline, at, end);
		uint64_t len;

		if (next == end)
			break;
		at = next & ~(uint64_t)(CORE_PAGE - 1);
		len = end - at < CHUNK ? end - at : CHUNK;
		len = (len + CORE_PAGE - 1) & ~(uint64_t)(CORE_PAGE - 1);
		if (look(f, at, (size_t)len, flags_of(m), &pages) < 0)
			return -1;
		at += len;
	}
	return 0;
}

/* -- What there is -- */

int core_mappings(struct ask_pair *p, struct hark_mapping **out, unsigned *n,
		  struct hark_err *err)
{
	const struct hark_mapping *maps = NULL;
	struct hark_error e = {0};
	struct hark_mapping *copy;
	unsigned count_of = 0;

	if (hark_mappings(p->timeline, &maps, &count_of, &e) < 0)
		return ask_error(&e, err);
	copy = calloc(count_of + 1u, sizeof *copy);
	if (copy == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	for (unsigned i = 0; i < count_of; i++)
		copy[i] = maps[i];
	*out = copy;
	*n = count_of;
	return 0;
}

/* Was the last thing that it did to end itself? */
static bool has_left(struct ask_pair *p, const struct hark_registers *r)
{
	enum { CALL_EXIT = 60 };
	static const uint8_t call[2] = {0x0f, 0x05};
	uint8_t code[4] = {0}, known[4] = {0};

	if (r->gpr[0] != CALL_EXIT)
		return false;
	hark_read(p->timeline, r->rip - 2, sizeof code, code, known, NULL);
	return memcmp(code, call, 2) == 0 || memcmp(code + 2, call, 2) == 0;
}

bool core_has_thread(struct ask_pair *p, const struct hark_thread *t,
		     struct hark_registers *room)
{
	struct hark_position here = hark_where(p->timeline);

	if (hark_registers(p->timeline, t->number, room, NULL) < 0)
		return false;
	if (hark_thread_lives(p->timeline, t->number) == 1)
		return true;
	return hark_position_compare(p->timeline, &t->last, &here) <= 0 &&
	       !has_left(p, room);
}

/* -- Stacks -- */

static bool is_mapped(const struct hark_mapping *maps, unsigned n,
		      uint64_t addr, uint64_t *until)
{
	*until = USER_END;
	for (unsigned i = 0; i < n; i++) {
		if (addr >= maps[i].start && addr < maps[i].end)
			return true;
		if (maps[i].start > addr && maps[i].start < *until)
			*until = maps[i].start;
	}
	return false;
}

/* From some way below the pointer up to a gap, or the next mapping. */
static int look_stack(struct finder *f, uint64_t rsp,
		      const struct hark_mapping *maps, unsigned n)
{
	uint64_t page = rsp & ~(uint64_t)(CORE_PAGE - 1), until, low, gap = 0;
	size_t pages;

	if (rsp >= USER_END || is_mapped(maps, n, rsp, &until))
		return 0;
	for (low = page; low > CORE_PAGE && page - low < GAP;
	     low -= CORE_PAGE) {
		uint64_t next;

		if (is_mapped(maps, n, low - CORE_PAGE, &next))
			break;
	}
	until = until - low < STACK_MAX ? until : low + STACK_MAX;
	for (uint64_t at = low; at < until && gap <= 2 * (uint64_t)GAP;
	     at += CORE_PAGE) {
		if (look(f, at, CORE_PAGE, PF_R | PF_W, &pages) < 0)
			return -1;
		gap = pages > 0 ? 0 : gap + CORE_PAGE;
	}
	return 0;
}

static int look_stacks(struct finder *f, const struct hark_mapping *maps,
		       unsigned n)
{
	struct hark_timeline *t = f->p->timeline;
	struct hark_registers *regs = malloc(sizeof *regs);
	int rc = 0;

	if (regs == NULL)
		return err_set(f->err, HARK_ENOMEM, 0, "no memory");
	for (unsigned i = 0; rc == 0 && i < hark_n_threads(t); i++)
		if (core_has_thread(f->p, hark_thread(t, i), regs))
			rc = look_stack(f, regs->gpr[4], maps, n);
	free(regs);
	return rc;
}

/* -- All -- */

static int by_start(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Two threads may have had pages of one stack; two mappings may overlap if
 * the file says so. */
static void tidy(struct core_memory *m)
{
	uint64_t until = 0;
	size_t n = 0;

	if (m->n > 0)
		qsort(m->at, m->n, sizeof *m->at, by_start);
	for (size_t i = 0; i < m->n; i++) {
		struct core_segment s = m->at[i];

		s.start = s.start > until ? s.start : until;
		if (s.start >= s.end)
			continue;
		until = s.end;
		m->at[n++] = s;
	}
	m->n = n;
}

void core_free_memory(struct core_memory *m)
{
	free(m->at);
	*m = (struct core_memory){0};
}

int core_find_memory(struct ask_pair *p, struct core_memory *out,
		     struct hark_err *err)
{
	struct core_memory m = {0};
	struct finder f = {.p = p, .out = &m, .err = err};
	struct hark_mapping *maps = NULL;
	unsigned n = 0;
	int rc = 0;

	f.bytes = malloc(2 * (size_t)CHUNK);
	if (f.bytes == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	f.known = f.bytes + CHUNK;
	rc = core_mappings(p, &maps, &n, err);
	for (unsigned i = 0; rc == 0 && i < n; i++)
		rc = look_mapping(&f, &maps[i]);
	if (rc == 0)
		rc = look_stacks(&f, maps, n);
	free(f.bytes);
	free(maps);
	if (rc < 0) {
		core_free_memory(&m);
		return -1;
	}
	tidy(&m);
	*out = m;
	return 0;
}
