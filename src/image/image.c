/* image/image.c - the files of an image, each known once. */
#include "image/image_priv.h"

#include "image/dw_priv.h"
#include "image/frames_priv.h"
#include "image/keep.h"
#include "image/network_priv.h"
#include "image/symbols_priv.h"
#include "image/unpack_priv.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* Beside what the files add by their length: a process has few that are small
 * and unpack to much. */
#define BUDGET_ALL ((uint64_t)1 << 30)

int image_new(struct image **out, struct hark_err *err)
{
	const char *path = getenv("HARK_DEBUG_PATH");
	struct image *im = calloc(1, sizeof *im);

	if (im != NULL)
		budget_init(&im->budget, BUDGET_ALL);
	if (im != NULL && path != NULL)
		im->debug_path = strdup(path);
	if (im != NULL)
		im->network = network_new();
	if (im == NULL || im->network == NULL ||
	    (path != NULL && im->debug_path == NULL)) {
		image_free(im);
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	}
	*out = im;
	return 0;
}

static void file_free(struct image_file *f)
{
	symbols_free(f->symbols);
	symbols_free(f->own_symbols);
	dw_free(f->dwarf);
	elf_close(f->mini);
	elf_close(f->debug);
	if (f->elf != NULL) {
		const struct heap *heap = &f->elf->budget.heap;

		heap_give(heap, f->mini_bytes, f->mini_len);
		if (f->frames != NULL)
			heap_give(heap, f->frames, f->frames->len);
	}
	elf_close(f->elf);
	free(f->bytes);
	free(f->name);
	free(f);
}

void image_free(struct image *im)
{
	if (im == NULL)
		return;
	while (im->files != NULL) {
		struct image_file *f = im->files;

		im->files = f->next;
		file_free(f);
	}
	while (im->reaches != NULL) {
		struct image_reach *r = im->reaches;

		im->reaches = r->next;
		reach_free(r->reach);
		free(r);
	}
	keep_free(im->keep);
	network_free(im->network);
	free(im->debug_path);
	free(im);
}

void image_use_cache(struct image *im)
{
	if (im->keep == NULL)
		im->keep = keep_new();
}

const char *image_trouble(const struct image *im)
{
	return network_trouble(im->network);
}

/* -- What processes reach -- */

/* Takes r over: the same that is there already, or r; NULL: no memory. */
static const struct reach *keep_reach(struct image *im, struct reach *r)
{
	struct image_reach *at = im->reaches;

	while (r != NULL && at != NULL && !reach_is_same(at->reach, r))
		at = at->next;
	if (r != NULL && at == NULL) {
		at = calloc(1, sizeof *at);
		if (at != NULL) {
			*at = (struct image_reach){im->reaches, r};
			im->reaches = at;
			return r;
		}
	}
	reach_free(r);
	return at != NULL ? at->reach : NULL;
}

static struct image_process *find_process(struct image *im, int pid)
{
	for (unsigned i = 0; i < IMAGE_PROCESSES; i++)
		if (im->processes[i].pid == pid)
			return &im->processes[i];
	return NULL;
}

/* A process that has ended since, or whose number is another's now, could open
 * what it could when it was last looked at. One that was never looked at had
 * hark's own rights, if hark is not root: no other can be recorded. */
int image_reach(struct image *im, int pid, const struct reach **out,
		struct hark_err *err)
{
	struct image_process *p = find_process(im, pid);
	const struct reach *kept = NULL;
	struct reach *r = NULL;
	uint64_t began = 0;

	if (reach_new(pid, &r, &began, NULL) < 0 ||
	    (p != NULL && p->began != began)) {
		reach_free(r);
		if (p != NULL || geteuid() != 0) {
			*out = p != NULL ? p->reach : NULL;
			return 0;
		}
		r = reach_nothing();
		began = 0;
	}
	kept = keep_reach(im, r);
	if (kept == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	if (p == NULL && began != 0)
		p = &im->processes[im->next_process++ % IMAGE_PROCESSES];
	if (p != NULL)
		*p = (struct image_process){pid, began, kept};
	*out = kept;
	return 0;
}

/* -- Opening -- */

/* A build-id alone can be forged or shared with a stripped copy: headers and
 * length must agree too. */
static bool is_same(const struct elf *a, const struct elf *b)
{
	if (a->in.src.len != b->in.src.len ||
	    memcmp(&a->eh, &b->eh, sizeof a->eh) != 0 || a->n_ph != b->n_ph ||
	    (a->n_ph > 0 && memcmp(a->ph, b->ph, a->n_ph * sizeof *a->ph) != 0))
		return false;
	if (a->id_len > 0)
		return a->id_len == b->id_len &&
		       memcmp(a->id, b->id, a->id_len) == 0;
	return a->in.path != NULL && b->in.path != NULL &&
	       a->in.dev == b->in.dev && a->in.ino == b->in.ino &&
	       a->in.mtime_ns == b->in.mtime_ns;
}

static struct image_file *find_same(const struct image *im, const struct elf *e)
{
	struct image_file *f = im->files;

	while (f != NULL && !is_same(f->elf, e))
		f = f->next;
	return f;
}

int image_add(struct image *im, const struct elf_origin *o, const char *name,
	      struct image_file **out, struct hark_err *err)
{
	struct elf_origin mine = *o;
	struct image_file *f = NULL;
	struct elf *e = NULL;
	int rc = -1;

	mine.all = &im->budget;
	if (elf_open(&mine, &e, err) < 0)
		return -1;
	if (name == NULL)
		name = o->path != NULL ? o->path : "";
	f = find_same(im, e);
	if (f != NULL) {
		*out = f;
		f = NULL;
		rc = 0;
		goto out;
	}
	f = calloc(1, sizeof *f);
	if (f != NULL)
		f->name = strdup(name);
	if (f == NULL || f->name == NULL) {
		err_set(err, HARK_ENOMEM, 0, "no memory");
		goto out;
	}
	f->image = im;
	f->elf = e;
	f->next = im->files;
	im->files = f;
	*out = f;
	f = NULL; /* handed over */
	e = NULL;
	rc = 0;
out:
	if (f != NULL)
		file_free(f);
	elf_close(e);
	return rc;
}

int image_open(struct image *im, const char *path, struct image_file **out,
	       struct hark_err *err)
{
	struct elf_origin o = {
	    .path = path, .fd = -1, .mem = -1, .pool = &im->pool};

	return image_add(im, &o, NULL, out, err);
}

int image_open_mapped(struct image *im, const char *path, int fd,
		      const struct reach *opens, struct image_file **out,
		      struct hark_err *err)
{
	struct elf_origin o = {.path = path,
			       .fd = fd,
			       .mem = -1,
			       .pool = &im->pool,
			       .opens = opens};

	return image_add(im, &o, NULL, out, err);
}

int image_open_memory(struct image *im, const char *name, const void *bytes,
		      size_t len, struct image_file **out, struct hark_err *err)
{
	struct elf_origin o = {.bytes = bytes, .len = len, .fd = -1, .mem = -1};

	return image_add(im, &o, name, out, err);
}

int image_add_owned(struct image *im, const char *name, uint8_t *bytes,
		    size_t len, struct image_file **out, struct hark_err *err)
{
	struct elf_origin o = {.bytes = bytes, .len = len, .fd = -1, .mem = -1};
	struct image_file *f;

	if (image_add(im, &o, name, &f, err) < 0) {
		free(bytes);
		return -1;
	}
	if (f->elf->in.src.memory == bytes)
		f->bytes = bytes;
	else
		free(bytes); /* it was here already */
	*out = f;
	return 0;
}

/* -- Parts -- */

static bool has_contents(struct elf *e, const char *name)
{
	struct elf_section *s = e != NULL ? elf_section(e, name) : NULL;

	return s != NULL && s->h.sh_type != SHT_NOBITS && s->h.sh_size > 0;
}

struct elf *image_file_separate(struct image_file *f)
{
	if (!f->debug_sought) {
		f->debug_sought = true;
		if (!has_contents(f->elf, ".debug_info") ||
		    !has_contents(f->elf, ".symtab"))
			f->debug = debug_find(f->image, f->elf, f->name);
	}
	return f->debug;
}

struct elf *image_file_dwarf(struct image_file *f)
{
	if (has_contents(f->elf, ".debug_info"))
		return f->elf;
	image_file_separate(f);
	return has_contents(f->debug, ".debug_info") ? f->debug : NULL;
}

struct elf *image_file_mini(struct image_file *f)
{
	struct bytes *b;
	const uint8_t *at;
	struct elf_origin o = {.fd = -1, .mem = -1, .all = &f->image->budget};

	if (f->mini_sought)
		return f->mini;
	f->mini_sought = true;
	b = elf_find(f->elf, ".gnu_debugdata", NULL);
	at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	if (at == NULL || unpack_xz(at, b->len, &f->elf->budget.heap,
				    &f->mini_bytes, &f->mini_len, NULL) < 0)
		return NULL;
	o.bytes = f->mini_bytes;
	o.len = f->mini_len;
	elf_open(&o, &f->mini, NULL);
	return f->mini;
}

/* -- Call-frame rules -- */

/* Smaller tables are made as soon as they are read. */
enum { FRAMES_KEEP_MIN = 64 << 10 };
#define FRAMES_KIND "frames1" /* ORDER FRAME_VERSION */
_Static_assert(FRAME_VERSION == 1, "FRAMES_KIND");

static struct keep_key key_for(const struct image_file *f, const char *kind,
			       uint64_t source)
{
	return (struct keep_key){.id = f->elf->id,
				 .id_len = f->elf->id_len,
				 .kind = kind,
				 .source = source};
}

/* What the table of a file is kept under; false: it is not kept. */
static bool key_of(const struct image_file *f, struct keep_key *out)
{
	const struct elf_section *s = elf_section(f->elf, ".eh_frame");

	if (f->image->keep == NULL || s == NULL ||
	    s->h.sh_size < FRAMES_KEEP_MIN)
		return false;
	*out = key_for(f, FRAMES_KIND, 0);
	return out->id_len > 0 && frames_source(f->elf, &out->source) == 0;
}

/* A table from the disk is input like any other. */
static bool is_table_of(const struct frame_table *t, size_t len,
			const struct elf *e)
{
	return frame_table_check(t, len, false, NULL) == 0 && t->id_len > 0 &&
	       t->id_len <= e->id_len && memcmp(t->id, e->id, t->id_len) == 0;
}

static struct frame_table *load_frames(const struct image_file *f,
				       const struct keep_key *key)
{
	const struct heap *heap = &f->elf->budget.heap;
	size_t len;
	struct frame_table *t = keep_load(f->image->keep, key, heap, &len);

	if (t != NULL && !is_table_of(t, len, f->elf)) {
		heap_give(heap, t, len);
		t = NULL;
	}
	return t;
}

static int make_frames(struct image_file *f, struct hark_err *err)
{
	struct elf *debug =
	    has_contents(f->elf, ".eh_frame") ? NULL : image_file_separate(f);
	struct frames_input in;

	if (frames_find(f->elf, debug, &in, err) < 0)
		return -1;
	return frames_build(&in, f->elf->id, f->elf->id_len, &f->frames,
			    &f->frames_stats, err);
}

int frames_of(struct image_file *f, const struct frame_table **out,
	      struct hark_err *err)
{
	struct keep_key key;

	if (f->frames == NULL) {
		bool is_kept = key_of(f, &key);

		if (is_kept)
			f->frames = load_frames(f, &key);
		if (f->frames == NULL) {
			if (make_frames(f, err) < 0)
				return -1;
			if (is_kept)
				keep_save(f->image->keep, &key, f->frames,
					  f->frames->len);
		}
	}
	*out = f->frames;
	return 0;
}

struct frames_stats frames_stats(const struct image_file *f)
{
	return f->frames_stats;
}

/* -- Facts -- */

const char *image_file_path(const struct image_file *f)
{
	return f->name;
}

int64_t image_file_mtime_ns(const struct image_file *f)
{
	return f->elf->in.mtime_ns;
}

const uint8_t *image_file_id(const struct image_file *f, size_t *len)
{
	*len = f->elf->id_len;
	return f->elf->id;
}

const char *image_file_debug(struct image_file *f)
{
	struct elf *e = image_file_dwarf(f);

	if (e == NULL)
		return NULL;
	return e == f->elf ? f->name : elf_name(e);
}

const struct reach *image_file_opens(struct image_file *f)
{
	struct elf *e = image_file_dwarf(f);

	return e != NULL ? e->opens : f->elf->opens;
}

int image_file_debug_fd(struct image_file *f, struct hark_err *err)
{
	struct elf *e = image_file_dwarf(f);

	if (e == NULL || e == f->elf)
		return err_set(err, HARK_ENOENT, 0,
			       "%s: no separate debug information", f->name);
	return input_descriptor(&e->in, err);
}

int image_file_give_debug(struct image_file *f, const void *bytes, size_t len,
			  struct hark_err *err)
{
	struct elf_origin o = {.bytes = bytes,
			       .len = len,
			       .fd = -1,
			       .mem = -1,
			       .all = &f->image->budget};
	struct elf *e;

	if (f->debug_sought)
		return err_set(err, HARK_EREFUSE, 0,
			       "%s: its debug information is in use", f->name);
	if (elf_open(&o, &e, err) < 0)
		return -1;
	if (e->id_len != f->elf->id_len ||
	    memcmp(e->id, f->elf->id, e->id_len) != 0) {
		elf_close(e);
		return err_set(err, HARK_EINPUT, 0,
			       "%s: debug information of another file",
			       f->name);
	}
	f->debug = e;
	f->debug_sought = true;
	return 0;
}

/* -- Places -- */

enum { PAGE = 4096 };

bool image_file_bias(const struct image_file *f, uint64_t start,
		     uint64_t offset, uint64_t *bias)
{
	const Elf64_Phdr *ph = NULL;

	while ((ph = elf_segment(f->elf, ph, PT_LOAD)) != NULL) {
		uint64_t skew = ph->p_offset % PAGE;
		uint64_t from = ph->p_offset - skew;

		if ((ph->p_flags & PF_X) == 0 || offset < from ||
		    offset - from >= ph->p_filesz + skew)
			continue;
		*bias = start - (ph->p_vaddr - skew) - (offset - from);
		return true;
	}
	return false;
}

uint64_t image_file_entry(const struct image_file *f)
{
	return f->elf->eh.e_entry;
}

bool image_file_span(const struct image_file *f, uint64_t *low, uint64_t *high)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	const Elf64_Phdr *ph = NULL;

	while ((ph = elf_segment(f->elf, ph, PT_LOAD)) != NULL) {
		uint64_t end = ph->p_vaddr + ph->p_memsz;

		if (end <= ph->p_vaddr)
			continue;
		lo = ph->p_vaddr < lo ? ph->p_vaddr : lo;
		hi = end > hi ? end : hi;
	}
	if (lo >= hi)
		return false;
	*low = lo;
	*high = hi;
	return true;
}

bool image_file_code_span(const struct image_file *f, uint64_t *low,
			  uint64_t *high)
{
	return elf_code_span(f->elf, low, high);
}

/* One of several pieces; empty if it is none. */
struct span {
	uint64_t low, high;
};

static struct span code_of_section(const struct elf *e, size_t i)
{
	const uint64_t both = SHF_ALLOC | SHF_EXECINSTR;
	const Elf64_Shdr *h = &e->sec[i].h;

	if ((h->sh_flags & both) != both || h->sh_type == SHT_NOBITS)
		return (struct span){0};
	return (struct span){h->sh_addr, h->sh_addr + h->sh_size};
}

static struct span code_of_segment(const struct elf *e, size_t i)
{
	const Elf64_Phdr *h = &e->ph[i];

	if (h->p_type != PT_LOAD || (h->p_flags & PF_X) == 0)
		return (struct span){0};
	return (struct span){h->p_vaddr, h->p_vaddr + h->p_filesz};
}

/* Nobody has more code sections than that who does not want to tire hark. */
enum { CODE_SECTIONS_MAX = 64 };

static bool has_code_sections(struct elf *e)
{
	size_t n = 0;

	if (elf_sections(e, NULL) < 0 || e->made_sections)
		return false;
	for (size_t i = 0; i < e->n_sec; i++) {
		struct span s = code_of_section(e, i);

		n += s.low < s.high;
	}
	return n > 0 && n <= CODE_SECTIONS_MAX;
}

bool image_file_next_code(const struct image_file *f, uint64_t addr,
			  uint64_t *low, uint64_t *high)
{
	bool by_section = has_code_sections(f->elf);
	size_t n = by_section ? f->elf->n_sec : f->elf->n_ph;
	struct span found = {0};

	for (size_t i = 0; i < n; i++) {
		struct span s = by_section ? code_of_section(f->elf, i)
					   : code_of_segment(f->elf, i);

		if (s.low < s.high && s.high > addr &&
		    (found.high == 0 || s.low < found.low))
			found = s;
	}
	if (found.high == 0)
		return false;
	*low = found.low > addr ? found.low : addr;
	*high = found.high;
	return true;
}

int image_file_read(struct image_file *f, uint64_t addr, void *out, size_t len,
		    size_t *got, struct hark_err *err)
{
	const Elf64_Phdr *ph = NULL;

	while ((ph = elf_segment(f->elf, ph, PT_LOAD)) != NULL) {
		uint64_t at = addr - ph->p_vaddr, left;

		if (addr < ph->p_vaddr || at >= ph->p_filesz)
			continue;
		left = ph->p_filesz - at;
		len = left < len ? (size_t)left : len;
		if (elf_read(f->elf, ph->p_offset + at, out, len, err) < 0)
			return -1;
		*got = len;
		return 0;
	}
	*got = 0;
	return 0;
}

bool image_file_tls(const struct image_file *f, uint64_t *addr, uint64_t *len,
		    uint64_t *align)
{
	const Elf64_Phdr *ph = elf_segment(f->elf, NULL, PT_TLS);

	if (ph == NULL)
		return false;
	*addr = ph->p_vaddr;
	*len = ph->p_memsz;
	*align = ph->p_align;
	return true;
}

/* -- Kept -- */

bool image_file_stamp(const struct image_file *f, uint64_t *out)
{
	enum { MOMENT_S = 3 };
	const struct input *in = &f->elf->in;
	const int64_t second = 1000000000;
	uint64_t facts[] = {in->dev, in->ino, in->src.len,
			    (uint64_t)in->mtime_ns, (uint64_t)in->ctime_ns};

	if (in->path == NULL || in->ctime_ns / second + MOMENT_S > time(NULL))
		return false;
	*out = XXH3_64bits(facts, sizeof facts);
	return true;
}

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	(void)ctx;
	(void)old_len;
	if (len > 0)
		return realloc(old, len);
	free(old);
	return NULL;
}

void *image_file_kept(struct image_file *f, const char *kind, uint64_t source,
		      size_t *len)
{
	const struct heap heap = {resize, NULL};
	struct keep_key key = key_for(f, kind, source);

	return keep_load(f->image->keep, &key, &heap, len);
}

void image_file_keep(struct image_file *f, const char *kind, uint64_t source,
		     const void *bytes, size_t len)
{
	struct keep_key key = key_for(f, kind, source);

	keep_save(f->image->keep, &key, bytes, len);
}

uint64_t image_file_memory(const struct image_file *f)
{
	uint64_t n = f->elf->budget.used;

	n += f->debug != NULL ? f->debug->budget.used : 0;
	return n + (f->mini != NULL ? f->mini->budget.used : 0);
}
