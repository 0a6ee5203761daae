/* image/input.c - where the bytes of an ELF file come from. */
#include "image/input_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beyond any real program with debug info; sparse files may claim more. */
#define INPUT_MAX ((uint64_t)64 << 30)

static int pread_all(int fd, uint64_t offset, void *out, size_t len)
{
	char *to = out;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : 0;
			return -1;
		}
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* -- Files -- */

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void pool_enter(struct input *in)
{
	struct input_pool *pool = in->pool;
	struct input *old = pool->open[pool->next];

	if (old != NULL) {
		close(old->fd);
		old->fd = -1;
	}
	pool->open[pool->next] = in;
	pool->next = (pool->next + 1) % INPUT_POOL;
}

static int reopen(struct input *in, struct hark_err *err)
{
	int fd = reach_open(in->reach, in->path, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || st.st_dev != in->dev ||
	    st.st_ino != in->ino || mtime_of(&st) != in->mtime_ns ||
	    (uint64_t)st.st_size != in->src.len) {
		close(fd);
		return err_set(err, HARK_EIO, 0,
			       "%s: has changed since it was first read",
			       in->path);
	}
	in->fd = fd;
	pool_enter(in);
	return 0;
}

static int read_file(void *ctx, uint64_t offset, void *out, size_t len,
		     struct hark_err *err)
{
	struct input *in = ctx;

	if (in->fd < 0 && reopen(in, err) < 0)
		return -1;
	if (pread_all(in->fd, offset, out, len) < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", in->path,
			       errno != 0 ? strerror(errno)
					  : "is shorter than it was");
	return 0;
}

int input_open(struct input *in, struct input_pool *pool,
	       const struct reach *reach, const char *path, int fd,
	       struct hark_err *err)
{
	bool pinned = fd >= 0;
	struct stat st;
	char *copy = NULL;
	int rc = -1;

	if (fd < 0)
		fd = reach_open(reach, path, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(err, HARK_EINPUT, 0, "%s: not a regular file", path);
		goto out;
	}
	if ((uint64_t)st.st_size > INPUT_MAX) {
		err_set(err, HARK_EINPUT, 0, "%s: too long (%lu bytes)", path,
			(unsigned long)st.st_size);
		goto out;
	}
	copy = strdup(path);
	if (copy == NULL) {
		err_set(err, HARK_ENOMEM, errno, "%s: no memory", path);
		goto out;
	}
	*in =
	    (struct input){.src = {read_file, in, NULL, (uint64_t)st.st_size},
			   .path = copy,
			   .pool = pinned ? NULL : pool,
			   .reach = reach,
			   .fd = fd,
			   .dev = st.st_dev,
			   .ino = st.st_ino,
			   .mtime_ns = mtime_of(&st),
			   .ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 +
				       st.st_ctim.tv_nsec};
	if (!pinned)
		pool_enter(in);
	rc = 0;
out:
	if (rc < 0)
		close(fd);
	return rc;
}

void input_close(struct input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
	for (unsigned i = 0; in->pool != NULL && i < INPUT_POOL; i++)
		if (in->pool->open[i] == in)
			in->pool->open[i] = NULL;
	free(in->path);
	in->path = NULL;
}

int input_descriptor(struct input *in, struct hark_err *err)
{
	int fd;

	if (in->path == NULL)
		return err_set(err, HARK_ENOENT, 0, "it is not a file");
	if (in->fd < 0 && reopen(in, err) < 0)
		return -1;
	fd = fcntl(in->fd, F_DUPFD_CLOEXEC, 0);
	return fd >= 0 ? fd
		       : err_set(err, HARK_EIO, errno, "%s: %s", in->path,
				 strerror(errno));
}

/* -- Memory -- */

void input_of_memory(struct input *in, const void *bytes, size_t len)
{
	*in = (struct input){.src = {NULL, in, bytes, len}, .fd = -1};
}

/* -- Another process -- */

/* What the file has at offset is in memory where its segment was put. */
static int read_process(void *ctx, uint64_t offset, void *out, size_t len,
			struct hark_err *err)
{
	struct input *in = ctx;
	uint64_t end = offset + len;
	char *to = out;

	memset(out, 0, len); /* what no segment holds */
	for (unsigned i = 0; i < in->n_loads; i++) {
		const Elf64_Phdr *p = &in->load[i];
		uint64_t from = offset > p->p_offset ? offset : p->p_offset;
		uint64_t till = p->p_offset + p->p_filesz;

		till = till < end ? till : end;
		if (from >= till)
			continue;
		if (pread_all(in->fd,
			      in->bias + p->p_vaddr + from - p->p_offset,
			      to + (from - offset), (size_t)(till - from)) < 0)
			return err_set(err, HARK_EGONE, errno,
				       "memory of the process cannot be read");
	}
	return 0;
}

static bool is_elf(const Elf64_Ehdr *eh)
{
	return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_phnum > 0 &&
	       eh->e_phnum <= 256 && eh->e_phoff < 4096;
}

/* Fills in the loads from the headers at base; false if they are odd. */
static bool find_loads(struct input *in, uint64_t base)
{
	Elf64_Phdr ph[256] = {{0}};
	Elf64_Ehdr eh = {.e_phnum = 0};
	bool based = false;

	if (pread_all(in->fd, base, &eh, sizeof eh) < 0 || !is_elf(&eh) ||
	    pread_all(in->fd, base + eh.e_phoff, ph,
		      eh.e_phnum * sizeof ph[0]) < 0)
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		const Elf64_Phdr *p = &ph[i];
		uint64_t end = p->p_offset + p->p_filesz;

		if (p->p_type != PT_LOAD)
			continue;
		if (end < p->p_offset || end > INPUT_MAX ||
		    in->n_loads == INPUT_LOADS)
			return false;
		if (p->p_offset == 0 && !based) {
			in->bias = base - p->p_vaddr;
			based = true;
		}
		in->load[in->n_loads++] = *p;
		in->src.len = end > in->src.len ? end : in->src.len;
	}
	return based;
}

int input_of_process(struct input *in, int mem, uint64_t base,
		     struct hark_err *err)
{
	*in = (struct input){.src = {read_process, in, NULL, 0}, .fd = mem};
	if (!find_loads(in, base)) {
		close(mem);
		in->fd = -1;
		return err_set(err, HARK_EINPUT, 0,
			       "no ELF header in memory at 0x%lx",
			       (unsigned long)base);
	}
	return 0;
}
