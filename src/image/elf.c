/* image/elf.c - one ELF file: headers, segments, notes, sections. */
#include "image/elf_priv.h"

#include "image/cursor_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one file may cost: see heap_priv.h. Line rows take some 20 bytes a
 * byte of line program, everything else takes less. */
enum { BUDGET_TIMES = 48 };
#define BUDGET_FIXED ((uint64_t)384 << 20)

enum { NOTES_MAX = 64 * 1024 };

const char *elf_name(const struct elf *e)
{
	return e->in.path != NULL ? e->in.path : "module in memory";
}

int elf_read(struct elf *e, uint64_t offset, void *out, size_t len,
	     struct hark_err *err)
{
	struct bytes_source *src = &e->in.src;

	if (offset > src->len || len > src->len - offset)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: damaged: headers reach beyond its end",
			       elf_name(e));
	if (src->memory == NULL)
		return src->read(src->ctx, offset, out, len, err);
	memcpy(out, src->memory + offset, len);
	return 0;
}

/* -- Headers -- */

static int check_header(const struct elf *e, bool relocatable,
			struct hark_err *err)
{
	const Elf64_Ehdr *eh = &e->eh;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, HARK_EINPUT, 0, "%s: not an ELF file",
			       elf_name(e));
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_machine != EM_X86_64)
		return err_set(err, HARK_EINPUT, 0, "%s: not for x86-64",
			       elf_name(e));
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN &&
	    !(relocatable && eh->e_type == ET_REL))
		return err_set(err, HARK_EINPUT, 0,
			       "%s: neither a program nor a library",
			       elf_name(e));
	if (eh->e_phnum > 0 && eh->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(err, HARK_EINPUT, 0,
			       "%s: damaged: program headers of %d bytes",
			       elf_name(e), eh->e_phentsize);
	if (eh->e_phnum > ELF_SEGMENTS_MAX)
		return err_set(err, HARK_EINPUT, 0, "%s: %d segments",
			       elf_name(e), eh->e_phnum);
	return 0;
}

static int read_segments(struct elf *e, struct hark_err *err)
{
	size_t len = e->eh.e_phnum * sizeof *e->ph;

	if (len == 0)
		return 0;
	e->ph = heap_take(&e->budget.heap, len);
	if (e->ph == NULL)
		return err_set(err, HARK_ENOMEM, 0, "%s: no memory",
			       elf_name(e));
	e->n_ph = e->eh.e_phnum;
	return elf_read(e, e->eh.e_phoff, e->ph, len, err);
}

const Elf64_Phdr *elf_segment(const struct elf *e, const Elf64_Phdr *after,
			      uint32_t type)
{
	for (size_t i = after != NULL ? (size_t)(after - e->ph) + 1 : 0;
	     i < e->n_ph; i++)
		if (e->ph[i].p_type == type)
			return &e->ph[i];
	return NULL;
}

static bool in_memory(const Elf64_Phdr *p, uint64_t addr)
{
	return addr >= p->p_vaddr && addr - p->p_vaddr < p->p_memsz;
}

bool elf_is_code(const struct elf *e, uint64_t addr)
{
	const Elf64_Phdr *p = NULL;

	while ((p = elf_segment(e, p, PT_LOAD)) != NULL)
		if ((p->p_flags & PF_X) != 0 && in_memory(p, addr))
			return true;
	return false;
}

bool elf_code_span(const struct elf *e, uint64_t *low, uint64_t *high)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	const Elf64_Phdr *p = NULL;

	while ((p = elf_segment(e, p, PT_LOAD)) != NULL) {
		if ((p->p_flags & PF_X) == 0 || p->p_memsz == 0 ||
		    p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		lo = p->p_vaddr < lo ? p->p_vaddr : lo;
		hi =
		    p->p_vaddr + p->p_memsz > hi ? p->p_vaddr + p->p_memsz : hi;
	}
	if (lo >= hi)
		return false;
	*low = lo;
	*high = hi;
	return true;
}

/* -- The build-id -- */

/* Looks through one block of notes; padding is to align, 4 or 8. */
static bool id_in_notes(struct elf *e, struct cursor c, uint64_t align)
{
	uint64_t mask = align == 8 ? 7 : 3;

	while (cursor_left(&c) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_len = cursor_u32(&c), len = cursor_u32(&c);
		uint32_t type = cursor_u32(&c);
		const uint8_t *name = c.at;

		cursor_skip(&c, (name_len + mask) & ~mask);
		if (c.bad || len > cursor_left(&c))
			return false;
		if (type == NT_GNU_BUILD_ID && name_len == 4 &&
		    memcmp(name, "GNU", 4) == 0 && len > 0 &&
		    len <= ELF_ID_MAX) {
			memcpy(e->id, c.at, len);
			e->id_len = len;
			return true;
		}
		cursor_skip(&c, (len + mask) & ~mask);
	}
	return false;
}

static bool id_at(struct elf *e, uint64_t offset, uint64_t len, uint64_t align)
{
	uint8_t notes[2048], *big = NULL;
	bool found = false;

	if (len > NOTES_MAX)
		return false;
	if (len > sizeof notes)
		big = heap_take(&e->budget.heap, (size_t)len);
	if (len <= sizeof notes || big != NULL) {
		uint8_t *at = big != NULL ? big : notes;

		found = elf_read(e, offset, at, (size_t)len, NULL) == 0 &&
			id_in_notes(e, cursor_of(at, (size_t)len), align);
	}
	heap_give(&e->budget.heap, big, (size_t)len);
	return found;
}

/* Segments first: they are read already. A debug file may have only the
 * section. */
static void find_id(struct elf *e)
{
	const Elf64_Phdr *p = NULL;

	while ((p = elf_segment(e, p, PT_NOTE)) != NULL)
		if (id_at(e, p->p_offset, p->p_filesz, p->p_align))
			return;
	if (elf_sections(e, NULL) < 0)
		return;
	for (size_t i = 0; i < e->n_sec; i++)
		if (e->sec[i].h.sh_type == SHT_NOTE &&
		    id_at(e, e->sec[i].h.sh_offset, e->sec[i].h.sh_size,
			  e->sec[i].h.sh_addralign))
			return;
}

/* -- Opening -- */

static int open_input(struct elf *e, const struct elf_origin *o,
		      struct hark_err *err)
{
	if (o->path != NULL)
		return input_open(&e->in, o->pool, o->reach, o->path, o->fd,
				  err);
	if (o->mem >= 0)
		return input_of_process(&e->in, o->mem, o->base, err);
	input_of_memory(&e->in, o->bytes, o->len);
	return 0;
}

int elf_open(const struct elf_origin *o, struct elf **out, struct hark_err *err)
{
	struct elf *e = calloc(1, sizeof *e);
	int rc = -1;

	if (e == NULL) {
		if (o->path != NULL && o->fd >= 0)
			close(o->fd);
		if (o->path == NULL && o->mem >= 0)
			close(o->mem);
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	}
	e->in.fd = -1;
	e->opens = o->opens;
	if (open_input(e, o, err) < 0)
		goto out;
	budget_init(&e->budget, BUDGET_FIXED + BUDGET_TIMES * e->in.src.len);
	budget_join(&e->budget, o->all, BUDGET_TIMES * e->in.src.len);
	if (e->in.src.len < sizeof e->eh) {
		err_set(err, HARK_EINPUT, 0, "%s: not an ELF file",
			elf_name(e));
		goto out;
	}
	if (elf_read(e, 0, &e->eh, sizeof e->eh, err) < 0 ||
	    check_header(e, o->relocatable, err) < 0 ||
	    read_segments(e, err) < 0)
		goto out;
	find_id(e);
	*out = e;
	e = NULL; /* handed over */
	rc = 0;
out:
	elf_close(e);
	return rc;
}

void elf_close(struct elf *e)
{
	if (e == NULL)
		return;
	elf_drop_sections(e);
	if (e->ph != NULL)
		heap_give(&e->budget.heap, e->ph, e->n_ph * sizeof *e->ph);
	budget_leave(&e->budget);
	input_close(&e->in);
	free(e);
}
