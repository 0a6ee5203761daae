/* profile/jit.c - names of code that a program has made itself.
 *
 * Virtual machines write /tmp/perf-PID.map if they are asked to: a line a
 * function, `START SIZE NAME`, both numbers hexadecimal. Or jit-PID.dump, where
 * they are, in /tmp or below .debug/jit: records, which have the code, too. A
 * place may be used again: of two functions that begin at the same address the
 * later one is right. Everybody may write to /tmp: only files of this user or
 * of root are read, not through a link, and not those that a process with the
 * same number left before the profile began. Nothing in them is believed: a
 * record that is not whole is the end. */
#include "profile/jit_priv.h"

#include "image/reach.h"
#include "profile/grow_priv.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20 };

struct function {
	uint64_t start, size;
	const char *name; /* borrowed from .text or .dump */
	uint32_t line;
};

struct jit {
	char *text;		    /* owned */
	char *dump;		    /* owned */
	struct function *functions; /* owned; ascending */
	size_t n, room;
};

void jit_close(struct jit *j)
{
	if (j == NULL)
		return;
	free(j->text);
	free(j->dump);
	free(j->functions);
	free(j);
}

/* All of it, with a NUL behind it; NULL: it is not to be used. */
static char *load(const char *path, int64_t began, size_t *out)
{
	int fd = reach_open_unlinked(path);
	char *text = NULL;
	struct stat st;
	ssize_t n = 0;
	size_t len = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
	    st.st_mtim.tv_sec >= began && st.st_size <= FILE_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text != NULL && len < (size_t)st.st_size &&
	       (n = read(fd, text + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	if (text != NULL)
		text[len] = '\0';
	close(fd);
	*out = len;
	return text;
}

static int add(struct jit *j, const struct function *f)
{
	if (GROW(j->functions, j->room, j->n + 1) < 0)
		return -1;
	j->functions[j->n++] = *f;
	return 0;
}

static int add_line(struct jit *j, char *line, uint32_t number)
{
	struct function f = {.line = number};
	char *at;

	f.start = strtoull(line, &at, 16);
	if (at == line || *at != ' ')
		return 0;
	f.size = strtoull(at, &at, 16);
	if (f.size == 0 || *at != ' ' || at[1] == '\0')
		return 0;
	f.name = at + 1;
	return add(j, &f);
}

static int parse_map(struct jit *j)
{
	char *next = j->text;

	for (uint32_t number = 0; next != NULL; number++) {
		char *line = strsep(&next, "\n");

		if (add_line(j, line, number) < 0)
			return -1;
	}
	return 0;
}

/* -- Dumps -- */

enum {
	DUMP_MAGIC = 0x4a695444,
	DUMP_LOAD = 0,
	DUMP_MOVE = 1,
};

struct dump_head {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct dump_record {
	uint32_t kind, size; /* with this head */
	uint64_t time;
};

/* Of DUMP_LOAD; a name and the code follow. Of DUMP_MOVE the new address stands
 * behind the old one. */
struct dump_code {
	struct dump_record r;
	uint32_t pid, tid;
	uint64_t place, address, len, index;
};
struct dump_move {
	struct dump_record r;
	uint32_t pid, tid;
	uint64_t place, old, address, len, index;
};

static int add_code(struct jit *j, const char *at, size_t len, uint32_t number)
{
	struct dump_code c;

	if (len <= sizeof c ||
	    memchr(at + sizeof c, '\0', len - sizeof c) == NULL)
		return 0;
	memcpy(&c, at, sizeof c);
	return c.len == 0 || at[sizeof c] == '\0'
		   ? 0
		   : add(j, &(struct function){.start = c.address,
					       .size = c.len,
					       .name = at + sizeof c,
					       .line = number});
}

/* The newest that began there is somewhere else, too. */
static int move_code(struct jit *j, const char *at, size_t len, uint32_t number)
{
	struct dump_move m;
	size_t i = j->n;

	if (len < sizeof m)
		return 0;
	memcpy(&m, at, sizeof m);
	while (i > 0 && j->functions[i - 1].start != m.old)
		i--;
	return i == 0 || m.len == 0
		   ? 0
		   : add(j, &(struct function){.start = m.address,
					       .size = m.len,
					       .name = j->functions[i - 1].name,
					       .line = number});
}

static int parse_dump(struct jit *j, size_t len)
{
	enum { MOVES_MAX = 1 << 12 }; /* each looks at all before it */
	struct dump_head h;
	struct dump_record r;
	unsigned moves = 0;
	int rc = 0;

	if (len < sizeof h)
		return 0;
	memcpy(&h, j->dump, sizeof h);
	if (h.magic != DUMP_MAGIC || h.size < sizeof h)
		return 0;
	for (size_t at = h.size; rc == 0 && at < len && len - at >= sizeof r;
	     at += r.size) {
		memcpy(&r, j->dump + at, sizeof r);
		if (r.size < sizeof r || r.size > len - at)
			break;
		if (r.kind == DUMP_LOAD)
			rc = add_code(j, j->dump + at, r.size, (uint32_t)j->n);
		else if (r.kind == DUMP_MOVE && moves++ < MOVES_MAX)
			rc = move_code(j, j->dump + at, r.size, (uint32_t)j->n);
	}
	return rc;
}

/* Where virtual machines leave them. */
static char *find_dump(int pid, int64_t began, size_t *len)
{
	const char *base = getenv("JITDUMPDIR");
	char path[PATH_MAX], *found = NULL;
	glob_t all = {0};

	snprintf(path, sizeof path, "jit-%d.dump", pid);
	found = load(path, began, len);
	snprintf(path, sizeof path, "/tmp/jit-%d.dump", pid);
	if (found == NULL)
		found = load(path, began, len);
	if (base == NULL)
		base = getenv("HOME");
	snprintf(path, sizeof path, "%s/.debug/jit/*/jit-%d.dump",
		 base != NULL ? base : ".", pid);
	if (found == NULL && glob(path, 0, NULL, &all) == 0)
		for (size_t i = 0; i < all.gl_pathc && found == NULL; i++)
			found = load(all.gl_pathv[i], began, len);
	globfree(&all);
	return found;
}

/* -- Both -- */

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

struct jit *jit_open(int pid, int64_t began)
{
	struct jit *j = calloc(1, sizeof *j);
	size_t len = 0, dump_len = 0;
	char path[64];

	if (j == NULL)
		return NULL;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
	j->text = load(path, began, &len);
	j->dump = find_dump(pid, began, &dump_len);
	if ((j->text == NULL && j->dump == NULL) ||
	    (j->dump != NULL && parse_dump(j, dump_len) < 0) ||
	    (j->text != NULL && parse_map(j) < 0)) {
		jit_close(j);
		return NULL;
	}
	if (j->n > 0)
		qsort(j->functions, j->n, sizeof j->functions[0], by_start);
	return j;
}

const char *jit_name(const struct jit *j, uint64_t addr)
{
	size_t lo = 0, hi = j->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (j->functions[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 ||
	    addr - j->functions[lo - 1].start >= j->functions[lo - 1].size)
		return NULL;
	return j->functions[lo - 1].name;
}
