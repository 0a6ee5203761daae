/* image/elf_sections.c - section headers, and what the sections hold. */
#include "image/elf_priv.h"

#include "image/cursor_priv.h"
#include "image/unpack_priv.h"

#include <string.h>

enum { COMPRESS_ZSTD = 2 };	/* newer than this libc's elf.h */
enum { SECTION_NAME_MAX = 64 }; /* longer ones are none that we look for */

/* -- Headers -- */

static int damaged(const struct elf *e, struct hark_err *err)
{
	return err_set(err, HARK_EINPUT, 0, "%s: damaged section headers",
		       elf_name(e));
}

/* How many there are, and which has the names: both may overflow into the
 * first header. */
static int count(struct elf *e, uint64_t *n, uint64_t *names,
		 struct hark_err *err)
{
	Elf64_Shdr first;

	*n = e->eh.e_shnum;
	*names = e->eh.e_shstrndx;
	if (e->eh.e_shoff == 0 || e->in.n_loads > 0) {
		*n = 0; /* none, or not in memory */
		return 0;
	}
	if (e->eh.e_shentsize != sizeof first)
		return damaged(e, err);
	if (*n == 0 || *names == SHN_XINDEX) {
		if (elf_read(e, e->eh.e_shoff, &first, sizeof first, err) < 0)
			return -1;
		*n = *n == 0 ? first.sh_size : *n;
		*names = *names == SHN_XINDEX ? first.sh_link : *names;
	}
	if (*n > ELF_SECTIONS_MAX || *n > e->in.src.len / sizeof first)
		return damaged(e, err);
	return 0;
}

int elf_take_sections(struct elf *e, size_t n, struct hark_err *err)
{
	e->sec = heap_take(&e->budget.heap, n * sizeof *e->sec);
	if (e->sec == NULL)
		return err_set(err, HARK_ENOMEM, 0, "%s: no memory",
			       elf_name(e));
	memset(e->sec, 0, n * sizeof *e->sec);
	for (size_t i = 0; i < n; i++)
		e->sec[i].name = "";
	e->n_sec = n;
	return 0;
}

static int read_headers(struct elf *e, struct hark_err *err)
{
	size_t len = e->n_sec * sizeof(Elf64_Shdr);
	Elf64_Shdr *all = heap_take(&e->budget.heap, len);
	int rc;

	if (all == NULL)
		return err_set(err, HARK_ENOMEM, 0, "%s: no memory",
			       elf_name(e));
	rc = elf_read(e, e->eh.e_shoff, all, len, err);
	for (size_t i = 0; rc == 0 && i < e->n_sec; i++)
		e->sec[i].h = all[i];
	heap_give(&e->budget.heap, all, len);
	return rc;
}

static int read_names(struct elf *e, uint64_t names, struct hark_err *err)
{
	const Elf64_Shdr *h;

	if (names == SHN_UNDEF || names >= e->n_sec)
		return 0;
	h = &e->sec[names].h;
	if (h->sh_type != SHT_STRTAB ||
	    bytes_init(&e->names, &e->budget.heap, &e->in.src, h->sh_offset,
		       h->sh_size, err) < 0)
		return damaged(e, err);
	for (size_t i = 0; i < e->n_sec; i++) {
		const char *name = bytes_text(&e->names, e->sec[i].h.sh_name,
					      SECTION_NAME_MAX, NULL);

		if (name != NULL)
			e->sec[i].name = name;
	}
	return 0;
}

static int read_sections(struct elf *e, struct hark_err *err)
{
	uint64_t n = 0, names = 0;

	if (count(e, &n, &names, err) < 0)
		return -1;
	if (n == 0)
		return elf_make_sections(e, err);
	if (elf_take_sections(e, (size_t)n, err) < 0 ||
	    read_headers(e, err) < 0)
		return -1;
	return read_names(e, names, err);
}

void elf_drop_sections(struct elf *e)
{
	for (size_t i = 0; i < e->n_sec; i++)
		if (e->sec[i].state == ELF_READY)
			bytes_fini(&e->sec[i].bytes);
	if (e->names.heap != NULL)
		bytes_fini(&e->names);
	if (e->sec != NULL)
		heap_give(&e->budget.heap, e->sec, e->n_sec * sizeof *e->sec);
	e->sec = NULL;
	e->n_sec = 0;
}

int elf_sections(struct elf *e, struct hark_err *err)
{
	if (e->sections_read)
		return 0;
	if (read_sections(e, err) < 0) {
		elf_drop_sections(e);
		return -1;
	}
	e->sections_read = true;
	return 0;
}

/* -- Contents -- */

struct elf_section *elf_section(struct elf *e, const char *name)
{
	bool debug = strncmp(name, ".debug_", 7) == 0;

	if (elf_sections(e, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < e->n_sec; i++) {
		const char *s = e->sec[i].name;

		if (strcmp(s, name) == 0 ||
		    (debug && strncmp(s, ".z", 2) == 0 &&
		     strcmp(s + 2, name + 1) == 0))
			return &e->sec[i];
	}
	return NULL;
}

/* Replaces what is packed in s->bytes. */
static int unpack(struct elf *e, struct elf_section *s, enum unpack_kind kind,
		  size_t header, uint64_t len, struct hark_err *err)
{
	const uint8_t *in = bytes_need(&s->bytes, 0, s->bytes.len, err);
	uint8_t *out;

	if (in == NULL ||
	    unpack_section(kind, in + header, s->bytes.len - header,
			   &e->budget.heap, len, &out, err) < 0)
		return -1;
	bytes_fini(&s->bytes);
	bytes_init_owned(&s->bytes, &e->budget.heap, out, (size_t)len);
	return 0;
}

/* SHF_COMPRESSED, as the standard has it. */
static int unpack_standard(struct elf *e, struct elf_section *s,
			   struct hark_err *err)
{
	const uint8_t *at = bytes_need(&s->bytes, 0, sizeof(Elf64_Chdr), err);
	Elf64_Chdr ch;

	if (at == NULL)
		return -1;
	memcpy(&ch, at, sizeof ch);
	if (ch.ch_type != ELFCOMPRESS_ZLIB && ch.ch_type != COMPRESS_ZSTD)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: a section is compressed in an unknown way "
			       "(%u)",
			       elf_name(e), ch.ch_type);
	return unpack(
	    e, s, ch.ch_type == ELFCOMPRESS_ZLIB ? UNPACK_ZLIB : UNPACK_ZSTD,
	    sizeof ch, ch.ch_size, err);
}

/* .zdebug_x, as it was before: "ZLIB" and the length, big-endian. */
static int unpack_old(struct elf *e, struct elf_section *s,
		      struct hark_err *err)
{
	const uint8_t *at = bytes_need(&s->bytes, 0, 12, err);
	uint64_t len = 0;

	if (at == NULL)
		return -1;
	if (memcmp(at, "ZLIB", 4) != 0)
		return damaged(e, err);
	for (int i = 4; i < 12; i++)
		len = len << 8 | at[i];
	return unpack(e, s, UNPACK_ZLIB, 12, len, err);
}

struct bytes *elf_contents(struct elf *e, struct elf_section *s,
			   struct hark_err *err)
{
	int rc = 0;

	if (s->state == ELF_READY)
		return &s->bytes;
	if (s->h.sh_type == SHT_NOBITS || s->h.sh_size == 0) {
		err_set(err, HARK_ENOENT, 0, "%s: section has no contents",
			elf_name(e));
		return NULL;
	}
	if (bytes_init(&s->bytes, &e->budget.heap, &e->in.src, s->h.sh_offset,
		       s->h.sh_size, err) < 0)
		return NULL;
	if ((s->h.sh_flags & SHF_COMPRESSED) != 0)
		rc = unpack_standard(e, s, err);
	else if (strncmp(s->name, ".zdebug_", 8) == 0)
		rc = unpack_old(e, s, err);
	if (rc < 0) {
		bytes_fini(&s->bytes);
		return NULL;
	}
	s->state = ELF_READY;
	return &s->bytes;
}

struct bytes *elf_find(struct elf *e, const char *name, struct hark_err *err)
{
	struct elf_section *s;

	if (elf_sections(e, err) < 0)
		return NULL;
	s = elf_section(e, name);
	if (s == NULL) {
		err_set(err, HARK_ENOENT, 0, "%s: has no %s", elf_name(e),
			name);
		return NULL;
	}
	return elf_contents(e, s, err);
}

const uint8_t *elf_whole(struct elf *e, const char *name, uint64_t *len)
{
	struct hark_err ignored;
	struct bytes *b = elf_find(e, name, &ignored);

	*len = b != NULL ? b->len : 0;
	return b != NULL ? bytes_need(b, 0, b->len, &ignored) : NULL;
}
