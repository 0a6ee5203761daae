/* profile/jit.c - names of code that a program has made itself.
 *
 * Virtual machines write /tmp/perf-PID.map if they are asked to: a line a
 * function, `START SIZE NAME`, both numbers hexadecimal. A place may be used
 * again: of two lines that begin at the same address the later one is right.
 * Everybody may write to /tmp: only files of this user or of root are read, not
 * through a link, and not those that a process with the same number left before
 * the profile began. */
#include "profile/jit_priv.h"

#include "profile/grow_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20 };

struct function {
	uint64_t start, size;
	const char *name; /* borrowed from .text */
	uint32_t line;
};

struct jit {
	char *text;		    /* owned */
	struct function *functions; /* owned; ascending */
	size_t n, room;
};

void jit_close(struct jit *j)
{
	if (j == NULL)
		return;
	free(j->text);
	free(j->functions);
	free(j);
}

/* All of it, with a NUL behind it; NULL: it is not to be used. */
static char *load(const char *path, int64_t began)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n = 0;
	size_t len = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_uid == geteuid() || st.st_uid == 0) &&
	    st.st_mtim.tv_sec >= began && st.st_size <= FILE_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text != NULL && len < (size_t)st.st_size &&
	       (n = read(fd, text + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	if (text != NULL)
		text[len] = '\0';
	close(fd);
	return text;
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
	if (GROW(j->functions, j->room, j->n + 1) < 0)
		return -1;
	j->functions[j->n++] = f;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int parse(struct jit *j)
{
	char *next = j->text;

	for (uint32_t number = 0; next != NULL; number++) {
		char *line = strsep(&next, "\n");

		if (add_line(j, line, number) < 0)
			return -1;
	}
	if (j->n > 0)
		qsort(j->functions, j->n, sizeof j->functions[0], by_start);
	return 0;
}

struct jit *jit_open(int pid, int64_t began)
{
	struct jit *j = calloc(1, sizeof *j);
	char path[64];

	snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
	if (j != NULL && (j->text = load(path, began)) != NULL && parse(j) == 0)
		return j;
	jit_close(j);
	return NULL;
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
