/* outside/recorder_module.c - files of code, and where programs have them.
 *
 * A recording is read on another machine, or next year. So each file that code
 * is mapped of goes into it, once: the same file (device, inode, size, time of
 * change) is known, and so is a copy of it (by its build-id); under another
 * path it is only named. Files are opened
 * as soon as a mapping is seen, through the eyes of the process that has it as
 * long as it lives, and read later, by the press.
 *
 * What a path leads to need not be what was mapped: only the same inode is
 * taken. A module that cannot be had is named without its bytes. */
#include "outside/recorder_priv.h"

#include "image/image.h"
#include "image/reach.h"
#include "outside/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	PIECE = 128 << 10, /* of a file, a chunk: buffers stay in caches */
	LEVEL = -5,	   /* code is long, and seldom read */
	PATH_LEN = 4096,
	VDSO_MAX = 1 << 20,
};

/* -- What is there already -- */

/* Its number in the file; 0: it is new. */
static uint32_t find_module(const struct recorder *r,
			    const struct module_id *id)
{
	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct module_id *m = &r->modules[i];

		if (m->size != id->size)
			continue;
		if ((m->dev == id->dev && m->ino == id->ino && m->ino != 0 &&
		     m->mtime_ns == id->mtime_ns) ||
		    (m->hash == id->hash && m->hash != 0))
			return m->same != 0 ? m->same : i + 1;
	}
	return 0;
}

/* Is it known by this path? */
static int is_named(const struct recorder *r, const struct module_id *id)
{
	for (uint32_t i = 0; i < r->n_modules; i++) {
		const struct module_id *m = &r->modules[i];

		if (m->path == id->path && m->dev == id->dev &&
		    m->ino == id->ino && m->size == id->size &&
		    m->mtime_ns == id->mtime_ns)
			return 1;
	}
	return 0;
}

static uint32_t add_module(struct recorder *r, const struct module_id *id)
{
	if (r->n_modules == r->room_modules) {
		uint32_t room = 2 * r->room_modules + 32;
		struct module_id *more =
		    realloc(r->modules, room * sizeof *more);

		if (more == NULL)
			return 0;
		r->modules = more;
		r->room_modules = room;
	}
	r->modules[r->n_modules++] = *id;
	return r->n_modules;
}

void recorder_free_modules(struct recorder *r)
{
	image_free(r->image);
	free(r->bundled);
	free(r->modules);
	r->image = NULL;
	r->bundled = NULL;
	r->n_bundled = r->room_bundled = 0;
	r->modules = NULL;
	r->n_modules = r->room_modules = 0;
}

/* -- Opening -- */

/* Is it the file that was mapped? */
static int is_same(int fd, uint64_t dev, uint64_t ino, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
	       st->st_ino == ino && st->st_dev == dev;
}

/* Where the process sees it; where hark does; and, if hark may, the mapping
 * itself. */
static int open_mapped(uint32_t pid, const struct wire_rec_map *m,
		       const char *path, struct stat *st)
{
	for (int way = 0; way < 3; way++) {
		char name[PATH_LEN + 64];
		int fd;

		if (way == 0)
			snprintf(name, sizeof name, "/proc/%u/root%s", pid,
				 path);
		else if (way == 1)
			snprintf(name, sizeof name, "%s", path);
		else
			snprintf(name, sizeof name,
				 "/proc/%u/map_files/%lx-%lx", pid,
				 (unsigned long)m->start,
				 (unsigned long)m->end);
		fd = reach_open(NULL, name, NULL);
		if (fd >= 0 && is_same(fd, m->dev, m->ino, st))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* -- Into the recording -- */

struct module {
	const char *path, *kind; /* borrowed */
	const char *dir;	 /* borrowed: of a source; NULL: none */
	uint32_t of;		 /* debug information: of this module */
	struct module_id id;
	const uint8_t *build_id; /* borrowed */
	size_t build_id_len;
};

static void put_words(struct recorder *r, uint32_t number,
		      const struct module *m, int has_bytes)
{
	static const char digits[] = "0123456789abcdef";
	struct file_text t = {0};
	char hex[2 * 64 + 1];
	size_t n = m->build_id_len < 64 ? m->build_id_len : 64;

	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[m->build_id[i] >> 4];
		hex[2 * i + 1] = digits[m->build_id[i] & 15];
	}
	hex[2 * n] = '\0';
	file_text_add(&t, "kind", m->kind);
	file_text_add(&t, "path", m->path);
	if (n > 0)
		file_text_add(&t, "build_id", hex);
	if (m->of != 0)
		file_text_number(&t, "of", m->of);
	if (m->id.same != 0)
		file_text_number(&t, "same", m->id.same);
	if (m->dir != NULL && m->dir[0] != '\0')
		file_text_add(&t, "dir", m->dir);
	file_text_number(&t, "dev", (int64_t)m->id.dev);
	file_text_number(&t, "ino", (int64_t)m->id.ino);
	file_text_number(&t, "mtime_ns", (int64_t)m->id.mtime_ns);
	file_text_number(&t, "size", has_bytes ? (int64_t)m->id.size : 0);
	recorder_put_text(r, WIRE_CHUNK_MODULE, 0, number, &t);
}

static void put_pieces(struct recorder *r, uint32_t number,
		       struct press_source *from, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PIECE) {
		struct press_job *j = press_job(r->press);

		if (j == NULL) {
			recorder_put_note(r, 0, number,
					  "a module is not complete: no "
					  "memory");
			r->lost++;
			return;
		}
		j->type = WIRE_CHUNK_BYTES;
		j->thread = number;
		j->level = LEVEL;
		press_job_read(r->press, j, from, at,
			       size - at < PIECE ? size - at : PIECE);
		press_add(r->press, j);
	}
}

static void put_file(struct recorder *r, uint32_t number, int fd, uint64_t size)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct press_source *from = own < 0 ? NULL : press_source(own);

	if (from == NULL) {
		recorder_put_note(r, 0, number,
				  "a module is not complete: no memory or no "
				  "descriptors");
		r->lost++;
		return;
	}
	put_pieces(r, number, from, size);
	press_source_leave(r->press, from);
}

/* Debug information is looked for beside the file: so by its path, then, and as
 * the process could. */
static struct image_file *open_bundled(struct recorder *r, uint32_t pid, int fd,
				       const char *path)
{
	const struct reach *opens;
	struct image_file *f = NULL;
	int own;

	if (image_reach(r->image, (int)pid, &opens, NULL) < 0)
		return NULL;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return own >= 0 && image_open_mapped(r->image, path, own, opens, &f,
					     NULL) == 0
		   ? f
		   : NULL;
}

static struct image_file *open_image(struct recorder *r, uint32_t pid, int fd,
				     const char *path)
{
	struct image_file *f = NULL;
	char name[64];

	if (r->image == NULL && image_new(&r->image, NULL) < 0)
		return NULL;
	if (r->plan.bundle_debug)
		return open_bundled(r, pid, fd, path);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return image_open(r->image, name, &f, NULL) == 0 ? f : NULL;
}

static struct module_id id_of(const struct stat *st)
{
	return (struct module_id){
	    .dev = st->st_dev,
	    .ino = st->st_ino,
	    .size = (uint64_t)st->st_size,
	    .mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 +
			(uint64_t)st->st_mtim.tv_nsec,
	};
}

/* The bytes are another module's. */
static void put_name(struct recorder *r, struct module *m, uint32_t same)
{
	uint32_t number;

	if (is_named(r, &m->id))
		return;
	m->id.same = same;
	number = add_module(r, &m->id);
	if (number == 0)
		r->lost++;
	else
		put_words(r, number, m, 0);
}

/* An open file, if it is not there yet: its number, or 0. */
static uint32_t put_new(struct recorder *r, int fd, struct module *m)
{
	uint32_t number;

	if (m->build_id_len > 0) /* debug information has its program's */
		m->id.hash =
		    XXH3_64bits_withSeed(m->build_id, m->build_id_len, m->of);
	number = find_module(r, &m->id);
	if (number != 0) {
		put_name(r, m, number);
		return 0;
	}
	number = add_module(r, &m->id);
	if (number == 0) {
		r->lost++;
		return 0;
	}
	put_words(r, number, m, fd >= 0);
	if (fd >= 0)
		put_file(r, number, fd, m->id.size);
	return number;
}

void recorder_put_source(struct recorder *r, int fd, const struct stat *st,
			 const char *path, const char *dir)
{
	const struct module m = {
	    .path = path, .kind = "source", .dir = dir, .id = id_of(st)};
	uint32_t number = add_module(r, &m.id);

	if (number == 0) {
		r->lost++;
		return;
	}
	put_words(r, number, &m, 1);
	put_file(r, number, fd, m.id.size);
}

/* What is known of a program beside it. */
static void put_debug(struct recorder *r, struct image_file *f,
		      const struct module *of, uint32_t number)
{
	const char *path = image_file_debug(f);
	struct module m = {.path = path,
			   .kind = "debug",
			   .of = number,
			   .build_id = of->build_id,
			   .build_id_len = of->build_id_len};
	struct stat st;
	int fd = image_file_debug_fd(f, NULL);

	if (fd >= 0 && fstat(fd, &st) == 0) {
		m.id = id_of(&st);
		put_new(r, fd, &m);
	}
	if (fd >= 0)
		close(fd);
}

static uint64_t hash_of(const char *path)
{
	return XXH3_64bits(path, strlen(path));
}

/* A file that code is mapped of. */
static void put_mapped(struct recorder *r, uint32_t pid,
		       struct wire_rec_map *map, const char *path)
{
	struct module m = {.path = path, .kind = "file"};
	struct image_file *f;
	struct stat st;
	uint32_t number;
	int fd = open_mapped(pid, map, path, &st);

	if (fd < 0) {
		m.id = (struct module_id){.dev = map->dev,
					  .ino = map->ino,
					  .size = map->size,
					  .mtime_ns = map->mtime_ns,
					  .path = hash_of(path)};
		put_new(r, -1, &m);
		return;
	}
	m.id = id_of(&st);
	m.id.path = hash_of(path);
	map->size = m.id.size;
	map->mtime_ns = m.id.mtime_ns;
	number = find_module(r, &m.id);
	if (number != 0) {
		put_name(r, &m, number);
	} else {
		f = open_image(r, pid, fd, path);
		if (f != NULL)
			m.build_id = image_file_id(f, &m.build_id_len);
		number = put_new(r, fd, &m);
		if (r->plan.bundle_debug && f != NULL && number != 0) {
			put_debug(r, f, &m, number);
			recorder_note_debug(r, f);
		}
	}
	close(fd);
}

/* The kernel's own: of no file, but always the same bytes. */
static void put_vdso(struct recorder *r, uint32_t pid,
		     const struct proc_map *map)
{
	size_t len = map->end - map->start;
	uint8_t *bytes = len <= VDSO_MAX ? malloc(len) : NULL;
	struct iovec to = {bytes, len}, from = {(void *)map->start, len};
	struct module m = {
	    .path = "[vdso]", .kind = "vdso", .id = {.size = len}};
	int fd = -1;

	if (bytes != NULL &&
	    process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0) == (ssize_t)len) {
		m.id.hash = XXH3_64bits(bytes, len);
		if (find_module(r, &m.id) == 0)
			fd = memfd_create("vdso", MFD_CLOEXEC);
		if (fd >= 0 && write(fd, bytes, len) == (ssize_t)len)
			put_new(r, fd, &m);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
}

/* -- Mappings -- */

static int is_file(const struct wire_rec_map *m, const char *path)
{
	return (m->prot & PROT_EXEC) != 0 && path[0] == '/' && m->ino != 0;
}

void recorder_see_map(struct recorder *r, uint32_t pid, const uint8_t *record)
{
	struct wire_rec_map m;
	char path[PATH_LEN];
	struct wire_rec rec;
	size_t len;

	memcpy(&rec, record, sizeof rec);
	memcpy(&m, record + sizeof rec, sizeof m);
	len = rec.len - sizeof m;
	if (len == 0 || len >= sizeof path)
		return;
	memcpy(path, record + sizeof rec + sizeof m, len);
	path[len] = '\0';
	if (is_file(&m, path))
		put_mapped(r, pid, &m, path);
}

struct listing {
	struct recorder *recorder;
	struct press_job *job; /* NULL: no memory */
	uint32_t pid;
};

static int is_harks(const char *name)
{
	return strncmp(name, "/memfd:hark-", 12) == 0;
}

static struct wire_rec_map map_of(const struct proc_map *m)
{
	return (struct wire_rec_map){
	    .start = m->start,
	    .end = m->end,
	    .offset = m->offset,
	    .dev = m->dev,
	    .ino = m->ino,
	    .prot = (m->readable ? PROT_READ : 0u) |
		    (m->writable ? PROT_WRITE : 0u) |
		    (m->executable ? PROT_EXEC : 0u),
	    .flags = m->shared ? MAP_SHARED : MAP_PRIVATE,
	};
}

static void see_mapping(void *ctx, const struct proc_map *m)
{
	struct listing *l = ctx;
	struct wire_rec_map map = map_of(m);
	size_t len = strnlen(m->name, PATH_LEN - 1);
	struct wire_rec rec = {.type = WIRE_REC_MAP,
			       .len = (uint16_t)(sizeof map + len)};

	if (is_harks(m->name) || l->job == NULL)
		return;
	if (is_file(&map, m->name))
		put_mapped(l->recorder, l->pid, &map, m->name);
	if (strcmp(m->name, "[vdso]") == 0)
		put_vdso(l->recorder, l->pid, m);
	if (press_job_append(l->job, &rec, sizeof rec) < 0 ||
	    press_job_append(l->job, &map, sizeof map) < 0 ||
	    press_job_append(l->job, m->name, len) < 0) {
		press_job_free(l->recorder->press, l->job);
		l->job = NULL;
	}
}

struct press_job *recorder_read_maps(struct recorder *r, pid_t pid)
{
	struct listing l = {r, press_job(r->press), (uint32_t)pid};

	if (l.job != NULL) {
		l.job->type = WIRE_CHUNK_MAPS;
		proc_mappings(pid, 0, see_mapping, &l);
	}
	return l.job;
}
