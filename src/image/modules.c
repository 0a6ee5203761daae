/* image/modules.c - which code is where in a process?
 *
 * O1  Ranges of all modules, sorted, do not overlap: lookup is one binary
 *     search, and mostly the range that was found last.
 * O2  A file is opened once for all mappings of one inode; two loads of one
 *     file (by dlmopen) have different biases and are two modules.
 * O3  What a path leads to is used only if it is the mapping's inode. */
#include "image/modules.h"

#include "image/cursor_priv.h"
#include "image/image_priv.h"
#include "image/maps_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MEMORY_MAX ((uint64_t)1 << 30)
enum { PAGE = 4096, RANGES_MAX = 1 << 20, VDSO_MAX = 1 << 20 };

struct ranges {
	VEC(struct module_range);
};

/* A module while its ranges are being found. */
struct draft {
	struct module m;
	struct ranges ranges;
	dev_t dev; /* what mappings of it have in common */
	ino_t ino;
};

struct found {
	uint64_t start, end;
	uint32_t module;
};

struct list {
	struct budget budget;
	struct arena arena;
	struct image *im; /* borrowed */
	struct maps maps; /* executable ones, to see changes by */
	struct {
		VEC(struct draft);
	} all;
	struct {
		VEC(struct found);
	} index;
};

struct modules {
	struct list *list; /* owned */
	struct image *im;  /* borrowed */
	int pid;	   /* 0: not of a process */
	size_t last;	   /* of the index: what was found last */
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory for a list of modules");
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* -- Making a list -- */

static struct list *list_new(struct image *im)
{
	struct list *m = calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	budget_init(&m->budget, MEMORY_MAX);
	arena_init(&m->arena, &m->budget.heap);
	m->im = im;
	return m;
}

static void list_free(struct list *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->all.n; i++)
		vec_free(&m->all.at[i].ranges, &m->budget.heap);
	vec_free(&m->all, &m->budget.heap);
	vec_free(&m->index, &m->budget.heap);
	vec_free(&m->maps, &m->budget.heap);
	arena_fini(&m->arena);
	free(m);
}

static struct draft *add_draft(struct list *m, const char *path)
{
	struct draft *d = vec_push(&m->all, &m->budget.heap);
	char *copy;

	if (d == NULL)
		return NULL;
	memset(d, 0, sizeof *d);
	copy = arena_text(&m->arena, path, strlen(path));
	if (copy == NULL)
		return NULL; /* the draft stays, empty: the list is dropped */
	d->m.path = copy;
	d->m.name = last_part(copy);
	return d;
}

static int add_range(struct list *m, struct draft *d, uint64_t start,
		     uint64_t end)
{
	struct module_range *last =
	    d->ranges.n > 0 ? &d->ranges.at[d->ranges.n - 1] : NULL;

	if (start >= end)
		return 0;
	if (last != NULL && last->end == start) {
		last->end = end;
		return 0;
	}
	last = d->ranges.n < RANGES_MAX ? vec_push(&d->ranges, &m->budget.heap)
					: NULL;
	if (last == NULL)
		return -1;
	*last = (struct module_range){start, end};
	return 0;
}

static void set_file(struct draft *d, struct image_file *f)
{
	d->m.file = f;
	if (f != NULL)
		d->m.id = image_file_id(f, &d->m.id_len);
}

static int by_start(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_first(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;
	uint64_t at = x->ranges.n > 0 ? x->ranges.at[0].start : 0;
	uint64_t bt = y->ranges.n > 0 ? y->ranges.at[0].start : 0;

	return at < bt ? -1 : at > bt;
}

static int list_ranges(struct list *m)
{
	for (size_t i = 0; i < m->all.n; i++) {
		struct draft *d = &m->all.at[i];

		d->m.ranges = d->ranges.at;
		d->m.n_ranges = d->ranges.n;
		if (vec_fit(&m->index, d->ranges.n, &m->budget.heap) < 0)
			return -1;
		for (size_t k = 0; k < d->ranges.n; k++)
			m->index.at[m->index.n++] =
			    (struct found){d->ranges.at[k].start,
					   d->ranges.at[k].end, (uint32_t)i};
	}
	return 0;
}

/* Sorts the modules, and their ranges for lookup; O1. */
static int finish(struct list *m)
{
	uint64_t until = 0;
	size_t n = 0;

	if (m->all.n > 0)
		qsort(m->all.at, m->all.n, sizeof *m->all.at, by_first);
	if (list_ranges(m) < 0)
		return -1;
	if (m->index.n > 0)
		qsort(m->index.at, m->index.n, sizeof *m->index.at, by_start);
	for (size_t i = 0; i < m->index.n; i++) {
		struct found f = m->index.at[i];

		f.start = f.start > until ? f.start : until;
		if (f.start >= f.end)
			continue;
		until = f.end;
		m->index.at[n++] = f;
	}
	m->index.n = n;
	return 0;
}

/* -- What kind of file -- */

/* DF_1_PIE, where the linker says it; else a program that asks for a loader
 * and has no name as a library. */
static bool is_pie(struct elf *e)
{
	const Elf64_Phdr *p = elf_segment(e, NULL, PT_DYNAMIC);
	bool named = false;
	Elf64_Dyn dyn;

	for (uint64_t i = 0;
	     p != NULL && i < p->p_filesz / sizeof dyn && i < 4096; i++) {
		if (elf_read(e, p->p_offset + i * sizeof dyn, &dyn, sizeof dyn,
			     NULL) < 0 ||
		    dyn.d_tag == DT_NULL)
			break;
		named = named || dyn.d_tag == DT_SONAME;
		if (dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE) != 0)
			return true;
	}
	return !named && elf_segment(e, NULL, PT_INTERP) != NULL;
}

static enum module_kind kind_of(struct elf *e, bool main)
{
	if (e->eh.e_type == ET_EXEC)
		return MODULE_EXEC;
	return main || is_pie(e) ? MODULE_PIE : MODULE_SO;
}

/* -- A process: opening what is mapped -- */

struct process {
	struct list *m;
	const struct list *old;	   /* what was known before, or NULL */
	const struct maps *maps;   /* all of them */
	const struct reach *opens; /* what its files name, with it */
	int pid;
	struct stat exe; /* st_ino 0: not known */
};

/* O3. Some file systems show another device in maps than in stat: theirs
 * have no major number. */
static bool is_mapped_file(const struct map *map, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_ino == map->ino &&
	       (st->st_dev == map->dev || major(st->st_dev) == 0 ||
		major(map->dev) == 0);
}

/* A descriptor of path if that is the file of the mapping, or -1. */
static int open_same(const char *path, const struct map *map)
{
	int fd = reach_open(NULL, path, NULL);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !is_mapped_file(map, &st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_main(const struct process *p, const struct map *map)
{
	return p->exe.st_ino != 0 && is_mapped_file(map, &p->exe);
}

/* Ways to the very file, other than its path. */
static int open_aside(const struct process *p, const struct map *map)
{
	char path[PATH_MAX + 64];
	int fd, n;

	n = snprintf(path, sizeof path, "/proc/%d/root%s", p->pid, map->path);
	fd = n > 0 && n < PATH_MAX ? open_same(path, map) : -1;
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", p->pid,
		 (unsigned long)map->start, (unsigned long)map->end);
	fd = open_same(path, map);
	if (fd >= 0 || !is_main(p, map))
		return fd;
	snprintf(path, sizeof path, "/proc/%d/exe", p->pid);
	return open_same(path, map);
}

/* Where the ELF header of a mapped file is: at the nearest mapping of it
 * from offset 0, at or before this one. */
static bool find_header(const struct process *p, const struct map *map,
			uint64_t *base)
{
	bool found = false;

	for (size_t i = 0; i < p->maps->n; i++) {
		const struct map *o = &p->maps->at[i];

		if (o->start > map->start)
			break;
		if (o->offset == 0 && o->ino == map->ino &&
		    o->dev == map->dev && strcmp(o->path, map->path) == 0) {
			*base = o->start;
			found = true;
		}
	}
	return found;
}

static int open_memory(const struct process *p, const struct map *map,
		       struct image_file **out, struct hark_err *err)
{
	struct elf_origin o = {.fd = -1, .opens = p->opens};
	char path[64];

	if (!find_header(p, map, &o.base))
		return err_set(err, HARK_EINPUT, 0,
			       "no ELF header is mapped for it");
	snprintf(path, sizeof path, "/proc/%d/mem", p->pid);
	o.mem = open(path, O_RDONLY | O_CLOEXEC);
	if (o.mem < 0)
		return err_set(err, HARK_EDENIED, errno,
			       "memory of the process cannot be read");
	return image_add(p->m->im, &o, map->path, out, err);
}

static int open_mapped(const struct process *p, const struct map *map,
		       bool *deleted, struct image_file **out,
		       struct hark_err *err)
{
	struct elf_origin o = {.path = map->path,
			       .fd = -1,
			       .mem = -1,
			       .pool = &p->m->im->pool,
			       .opens = p->opens};
	int fd = open_same(map->path, map);

	if (fd >= 0) { /* the path will do, also later */
		close(fd);
		*deleted = false;
		return image_add(p->m->im, &o, NULL, out, err);
	}
	*deleted = true;
	o.fd = open_aside(p, map);
	if (o.fd >= 0)
		return image_add(p->m->im, &o, NULL, out, err);
	return open_memory(p, map, out, err);
}

/* -- A process: modules -- */

/* The bias of a file so mapped; false if no segment of it is. */
static bool bias_of(const struct elf *e, const struct map *map, uint64_t *bias)
{
	const Elf64_Phdr *ph = NULL;

	while ((ph = elf_segment(e, ph, PT_LOAD)) != NULL) {
		uint64_t skew = ph->p_offset % PAGE;
		uint64_t offset = ph->p_offset - skew;
		uint64_t len = ph->p_filesz + skew;

		if ((ph->p_flags & PF_X) == 0 || map->offset < offset ||
		    map->offset - offset >= len)
			continue;
		*bias =
		    map->start - (ph->p_vaddr - skew) - (map->offset - offset);
		return true;
	}
	return false;
}

static struct draft *find_draft(struct list *m, const struct map *map,
				uint64_t bias)
{
	for (size_t i = m->all.n; i-- > 0;) {
		struct draft *d = &m->all.at[i];

		if (d->ino == map->ino && d->dev == map->dev &&
		    d->m.bias == bias && d->m.kind != MODULE_ANON)
			return d;
	}
	return NULL;
}

/* A file that was opened for an earlier mapping; O2. */
static const struct draft *find_opened(const struct list *m,
				       const struct map *map)
{
	for (size_t i = m->all.n; i-- > 0;) {
		const struct draft *d = &m->all.at[i];

		if (d->ino == map->ino && d->dev == map->dev)
			return d;
	}
	return NULL;
}

static int add_anon(struct list *m, const struct map *map, const char *why)
{
	struct draft *d =
	    add_draft(m, map->path[0] != '\0' ? map->path : "[anon]");

	if (d == NULL)
		return -1;
	d->m.kind = MODULE_ANON;
	d->m.why = why;
	d->dev = map->dev;
	d->ino = map->ino;
	return add_range(m, d, map->start, map->end);
}

/* Paths of files that are gone end so. */
static void cut_deleted(struct draft *d)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(d->m.path);
	char *path = (char *)d->m.path; /* made by add_draft */

	if (len > sizeof mark - 1 &&
	    strcmp(path + len - (sizeof mark - 1), mark) == 0)
		path[len - (sizeof mark - 1)] = '\0';
}

static int add_module(struct process *p, const struct map *map,
		      struct image_file *f, bool deleted, uint64_t bias)
{
	struct draft *d = add_draft(p->m, map->path);

	if (d == NULL)
		return -1;
	d->dev = map->dev;
	d->ino = map->ino;
	d->m.bias = bias;
	d->m.main = is_main(p, map);
	d->m.deleted = deleted;
	if (deleted)
		cut_deleted(d);
	d->m.name = last_part(d->m.path);
	d->m.kind = kind_of(f->elf, d->m.main);
	set_file(d, f);
	return add_range(p->m, d, map->start, map->end);
}

static int add_mapped(struct process *p, const struct map *map)
{
	const struct draft *opened = find_opened(p->m, map);
	struct image_file *f = NULL;
	bool deleted = false;
	struct hark_err why = {0};
	struct draft *d;
	uint64_t bias;

	if (opened == NULL && p->old != NULL)
		opened = find_opened(p->old, map);
	if (opened != NULL && opened->m.file != NULL) {
		f = opened->m.file;
		deleted = opened->m.deleted;
	} else if (opened == NULL) {
		open_mapped(p, map, &deleted, &f, &why);
	}
	if (f == NULL || !bias_of(f->elf, map, &bias)) {
		const char *text = why.text[0] != '\0'
				       ? why.text
				       : "no segment of the file is there";

		text = arena_text(&p->m->arena, text, strlen(text));
		return text != NULL ? add_anon(p->m, map, text) : -1;
	}
	d = find_draft(p->m, map, bias);
	if (d != NULL)
		return add_range(p->m, d, map->start, map->end);
	return add_module(p, map, f, deleted, bias);
}

/* -- A process: the vdso -- */

static bool read_memory(int pid, uint64_t addr, uint8_t *out, size_t len)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, out, len, (off_t)addr);
	close(fd);
	return n == (ssize_t)len;
}

/* From the process; if that is forbidden, from ourselves: one kernel has one
 * vdso for all 64-bit processes. */
static int add_vdso(struct process *p, const struct map *map)
{
	size_t len = (size_t)(map->end - map->start);
	uint8_t *bytes = len <= VDSO_MAX ? malloc(len) : NULL;
	struct image_file *f = NULL;
	struct draft *d;

	if (bytes == NULL)
		return add_anon(p->m, map, "it cannot be read");
	if (!read_memory(p->pid, map->start, bytes, len) &&
	    !read_memory(getpid(), getauxval(AT_SYSINFO_EHDR), bytes, len)) {
		free(bytes);
		return add_anon(p->m, map, "it cannot be read");
	}
	if (image_add_owned(p->m->im, "[vdso]", bytes, len, &f, NULL) < 0)
		return add_anon(p->m, map, "it is not an ELF file");
	d = add_draft(p->m, "[vdso]");
	if (d == NULL)
		return -1;
	d->m.kind = MODULE_VDSO;
	d->m.bias = map->start;
	if (elf_segment(f->elf, NULL, PT_LOAD) != NULL)
		d->m.bias -= elf_segment(f->elf, NULL, PT_LOAD)->p_vaddr;
	set_file(d, f);
	return add_range(p->m, d, map->start, map->end);
}

/* -- A process: all of it -- */

static int add_map(struct process *p, const struct map *map)
{
	if (strcmp(map->path, "[vdso]") == 0)
		return add_vdso(p, map);
	if (map->ino == 0 || map->path[0] != '/')
		return add_anon(p->m, map, "no file is behind it");
	return add_mapped(p, map);
}

static bool is_same_map(const struct map *a, const struct map *b)
{
	return a->start == b->start && a->end == b->end &&
	       a->offset == b->offset && a->dev == b->dev && a->ino == b->ino &&
	       strcmp(a->path, b->path) == 0;
}

/* Reads the mappings; the executable ones stay in the list. */
static int read_maps(struct list *m, int pid, struct maps *all,
		     struct hark_err *err)
{
	if (maps_read(pid, &m->arena, all, err) < 0)
		return -1;
	for (size_t i = 0; i < all->n; i++) {
		struct map *new;

		if (!all->at[i].exec)
			continue;
		new = vec_push(&m->maps, &m->budget.heap);
		if (new == NULL)
			return no_memory(err);
		*new = all->at[i];
	}
	return 0;
}

static int list_modules(struct process *p, struct hark_err *err)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/exe", p->pid);
	if (stat(path, &p->exe) < 0)
		p->exe.st_ino = 0;
	for (size_t i = 0; i < p->m->maps.n; i++)
		if (add_map(p, &p->m->maps.at[i]) < 0)
			return no_memory(err);
	return finish(p->m) < 0 ? no_memory(err) : 0;
}

static bool is_same_list(const struct list *a, const struct list *b)
{
	if (a->maps.n != b->maps.n)
		return false;
	for (size_t i = 0; i < a->maps.n; i++)
		if (!is_same_map(&a->maps.at[i], &b->maps.at[i]))
			return false;
	return true;
}

/* The list of a process as it is now. If it is as old has it, *out is NULL;
 * files that old knows are not opened again. */
static int read_process(struct image *im, int pid, const struct list *old,
			struct list **out, struct hark_err *err)
{
	struct list *m = list_new(im);
	struct maps all = {0};
	struct process p = {.m = m, .old = old, .maps = &all, .pid = pid};
	int rc;

	if (m == NULL)
		return no_memory(err);
	rc = read_maps(m, pid, &all, err);
	if (rc == 0 && old != NULL && is_same_list(m, old)) {
		*out = NULL;
	} else if (rc == 0) {
		rc = image_reach(im, pid, &p.opens, err);
		if (rc == 0)
			rc = list_modules(&p, err);
		if (rc == 0) {
			vec_free(&all, &m->budget.heap);
			*out = m;
			return 0;
		}
	}
	vec_free(&all, &m->budget.heap);
	list_free(m);
	return rc;
}

/* -- The list that callers have -- */

void modules_free(struct modules *m)
{
	if (m == NULL)
		return;
	list_free(m->list);
	free(m);
}

/* Takes the list over, also on failure. */
static int wrap(struct image *im, int pid, struct list *list,
		struct modules **out, struct hark_err *err)
{
	struct modules *m = calloc(1, sizeof *m);

	if (m == NULL) {
		list_free(list);
		return no_memory(err);
	}
	m->im = im;
	m->pid = pid;
	m->list = list;
	*out = m;
	return 0;
}

int modules_of_pid(struct image *im, int pid, struct modules **out,
		   struct hark_err *err)
{
	struct list *list = NULL;

	if (read_process(im, pid, NULL, &list, err) < 0)
		return -1;
	return wrap(im, pid, list, out, err);
}

int modules_refresh(struct modules *m, bool *changed, struct hark_err *err)
{
	struct list *list = NULL;

	if (m->pid != 0 && read_process(m->im, m->pid, m->list, &list, err) < 0)
		return -1;
	*changed = list != NULL;
	if (list != NULL) {
		list_free(m->list);
		m->list = list;
		m->last = 0;
	}
	return 0;
}

/* -- A file -- */

static int add_file(struct list *m, struct image_file *f, const char *path,
		    uint64_t bias)
{
	struct draft *d = add_draft(m, path);
	const Elf64_Phdr *p = NULL;

	if (d == NULL)
		return -1;
	d->m.bias = bias;
	d->m.kind = kind_of(f->elf, false);
	d->m.main = d->m.kind != MODULE_SO;
	set_file(d, f);
	while ((p = elf_segment(f->elf, p, PT_LOAD)) != NULL)
		if ((p->p_flags & PF_X) != 0 &&
		    add_range(m, d, p->p_vaddr + bias,
			      p->p_vaddr + bias + p->p_memsz) < 0)
			return -1;
	return finish(m);
}

int modules_of_file(struct image *im, const char *path, uint64_t bias,
		    struct modules **out, struct hark_err *err)
{
	struct image_file *f;
	struct list *m;

	if (image_open(im, path, &f, err) < 0)
		return -1;
	m = list_new(im);
	if (m == NULL || add_file(m, f, path, bias) < 0) {
		list_free(m);
		return no_memory(err);
	}
	return wrap(im, 0, m, out, err);
}

/* -- A recording -- */

/* What the specification has, or a file that proves to be the same. */
static void open_spec(struct list *m, struct draft *d,
		      const struct module_spec *s)
{
	struct image_file *f = NULL;
	size_t len = 0;

	if (s->bytes != NULL) {
		if (image_open_memory(m->im, s->path, s->bytes, s->len, &f,
				      NULL) < 0)
			d->m.why = "what was recorded of it is damaged";
	} else if (s->id_len == 0 || s->path[0] != '/' ||
		   image_open(m->im, s->path, &f, NULL) < 0) {
		d->m.why = "it was not recorded, and is not here";
	} else if (memcmp(image_file_id(f, &len), s->id,
			  s->id_len < ELF_ID_MAX ? s->id_len : ELF_ID_MAX) !=
		       0 ||
		   len != s->id_len) {
		f = NULL;
		d->m.why = "it was not recorded, and has changed here";
	}
	set_file(d, f);
}

static int add_spec(struct list *m, const struct module_spec *s)
{
	struct draft *d = add_draft(m, s->path);
	char *id;

	if (d == NULL)
		return -1;
	d->m.bias = s->bias;
	d->m.kind = s->kind;
	d->m.main = s->main;
	if (s->kind != MODULE_ANON)
		open_spec(m, d, s);
	if (d->m.id_len == 0 && s->id_len > 0) {
		id = arena_text(&m->arena, (const char *)s->id, s->id_len);
		if (id == NULL)
			return -1;
		d->m.id = (const uint8_t *)id;
		d->m.id_len = s->id_len;
	}
	for (size_t i = 0; i < s->n_ranges; i++)
		if (add_range(m, d, s->ranges[i].start, s->ranges[i].end) < 0)
			return -1;
	return 0;
}

int modules_of_list(struct image *im, const struct module_spec *specs, size_t n,
		    struct modules **out, struct hark_err *err)
{
	struct list *m = list_new(im);
	int rc = m != NULL ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_spec(m, &specs[i]);
	if (rc < 0 || finish(m) < 0) {
		list_free(m);
		return no_memory(err);
	}
	return wrap(im, 0, m, out, err);
}

/* -- Questions -- */

size_t modules_count(const struct modules *m)
{
	return m->list->all.n;
}

const struct module *modules_get(const struct modules *m, size_t i)
{
	return i < m->list->all.n ? &m->list->all.at[i].m : NULL;
}

const struct module *modules_find(struct modules *m, uint64_t pc)
{
	const struct found *f = m->list->index.at;
	size_t lo = 0, hi = m->list->index.n;

	if (hi == 0)
		return NULL;
	if (m->last < hi &&
	    pc - f[m->last].start < f[m->last].end - f[m->last].start)
		return &m->list->all.at[f[m->last].module].m;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (f[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || pc >= f[lo - 1].end)
		return NULL;
	m->last = lo - 1;
	return &m->list->all.at[f[lo - 1].module].m;
}

bool module_matches(const struct module *m, const char *pattern)
{
	const char *so = strstr(m->name, ".so");
	char stem[NAME_MAX + 1];

	if ((m->main && strcmp(pattern, "a.out") == 0) ||
	    fnmatch(pattern, m->path, 0) == 0 ||
	    fnmatch(pattern, m->name, 0) == 0)
		return true;
	if (so == NULL || (size_t)(so - m->name) >= sizeof stem)
		return false;
	memcpy(stem, m->name, (size_t)(so - m->name));
	stem[so - m->name] = '\0';
	return fnmatch(pattern, stem, 0) == 0;
}
