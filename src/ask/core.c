/* ask/core.c - an ELF core file of one moment.
 *
 *	ELF header | program headers | notes | pages
 *
 * More than 65534 segments have their number in a section header, as the
 * kernel does it. */
#include "ask/core.h"

#include "ask/core_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

struct layout {
	uint64_t headers; /* how many program headers */
	uint64_t section; /* where the section header is; 0: none */
	uint64_t notes, pages, end;
};

static int write_at(int fd, const void *bytes, size_t len, uint64_t at,
		    struct hark_err *err)
{
	const uint8_t *from = bytes;

	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, HARK_EIO, errno,
				       "the core file cannot be written: %s",
				       strerror(errno));
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static uint64_t up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static struct layout lay_out(const struct core_memory *m,
			     const struct core_notes *n)
{
	struct layout l = {.headers = m->n + 1};
	uint64_t at = sizeof(Elf64_Ehdr) + l.headers * sizeof(Elf64_Phdr);

	if (l.headers >= PN_XNUM) {
		l.section = at;
		at += sizeof(Elf64_Shdr);
	}
	l.notes = up(at, 4);
	l.pages = up(l.notes + n->len, CORE_PAGE);
	l.end = l.pages;
	for (size_t i = 0; i < m->n; i++)
		l.end += m->at[i].end - m->at[i].start;
	return l;
}

static int write_header(int fd, const struct layout *l, struct hark_err *err)
{
	Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				    ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof h,
			.e_ehsize = sizeof h,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = (Elf64_Half)l->headers};
	Elf64_Shdr s = {.sh_info = (Elf64_Word)l->headers, .sh_size = 1};

	if (l->section != 0) {
		h.e_phnum = PN_XNUM;
		h.e_shoff = l->section;
		h.e_shentsize = sizeof s;
		h.e_shnum = 1;
		if (write_at(fd, &s, sizeof s, l->section, err) < 0)
			return -1;
	}
	return write_at(fd, &h, sizeof h, 0, err);
}

static int write_segments(int fd, const struct layout *l,
			  const struct core_memory *m, size_t notes_len,
			  struct hark_err *err)
{
	Elf64_Phdr *all = calloc(m->n + 1, sizeof *all);
	uint64_t at = l->pages;
	int rc;

	if (all == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	all[0] = (Elf64_Phdr){.p_type = PT_NOTE,
			      .p_offset = l->notes,
			      .p_filesz = notes_len,
			      .p_align = 4};
	for (size_t i = 0; i < m->n; i++) {
		uint64_t len = m->at[i].end - m->at[i].start;

		all[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = m->at[i].flags,
					  .p_offset = at,
					  .p_vaddr = m->at[i].start,
					  .p_filesz = len,
					  .p_memsz = len,
					  .p_align = CORE_PAGE};
		at += len;
	}
	rc = write_at(fd, all, (m->n + 1) * sizeof *all, sizeof(Elf64_Ehdr),
		      err);
	free(all);
	return rc;
}

static bool is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, CORE_PAGE - 1) == 0;
}

/* Unknown bytes are zero; pages of zeros become holes. */
static int write_chunk(int fd, uint8_t *bytes, const uint8_t *known, size_t len,
		       uint64_t at, struct hark_err *err)
{
	for (size_t i = 0; i < len; i++)
		if (!known[i])
			bytes[i] = 0;
	for (size_t i = 0; i < len; i += CORE_PAGE)
		if (!is_zero(bytes + i) &&
		    write_at(fd, bytes + i, CORE_PAGE, at + i, err) < 0)
			return -1;
	return 0;
}

static int write_pages(struct ask_pair *p, int fd, uint64_t at,
		       const struct core_memory *m, struct hark_err *err)
{
	uint8_t *bytes = malloc(2 * (size_t)CHUNK), *known;
	int rc = 0;

	if (bytes == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	known = bytes + CHUNK;
	for (size_t i = 0; rc == 0 && i < m->n; i++)
		for (uint64_t a = m->at[i].start; rc == 0 && a < m->at[i].end;
		     a += CHUNK) {
			uint64_t left = m->at[i].end - a;
			size_t len = left < CHUNK ? (size_t)left : CHUNK;

			memset(known, 0, len);
			hark_read(p->timeline, a, len, bytes, known, NULL);
			rc = write_chunk(fd, bytes, known, len, at, err);
			at += len;
		}
	free(bytes);
	return rc;
}

static int write_all(struct ask_pair *p, int fd, const struct core_memory *m,
		     const struct core_notes *n, const struct layout *l,
		     struct hark_err *err)
{
	if (ftruncate(fd, (off_t)l->end) < 0)
		return err_set(err, HARK_EIO, errno,
			       "the core file cannot be made %llu bytes long: "
			       "%s",
			       (unsigned long long)l->end, strerror(errno));
	if (write_header(fd, l, err) < 0 ||
	    write_segments(fd, l, m, n->len, err) < 0 ||
	    write_at(fd, n->at, n->len, l->notes, err) < 0)
		return -1;
	return write_pages(p, fd, l->pages, m, err);
}

int core_write(struct ask_pair *p, int fd, struct core_stats *out,
	       struct hark_err *err)
{
	struct core_memory m = {0};
	struct core_notes n = {0};
	struct layout l;
	unsigned threads = 0;
	int rc = -1;

	if (core_find_memory(p, &m, err) < 0 ||
	    core_make_notes(p, &m, &n, &threads, err) < 0)
		goto out;
	l = lay_out(&m, &n);
	if (write_all(p, fd, &m, &n, &l, err) < 0)
		goto out;
	*out = (struct core_stats){.len = l.end,
				   .known = m.known,
				   .unknown = m.unknown,
				   .left_out = m.left_out,
				   .threads = threads,
				   .segments = (unsigned)m.n};
	rc = 0;
out:
	core_free_memory(&m);
	free(n.at);
	return rc;
}
