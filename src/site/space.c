/* site/space.c - the gaps between the mappings of a process.
 *
 * A gap loses its first and last megabytes, so that a mapping beside it may
 * grow, and more behind the heap and before a stack. The kernel puts new
 * mappings wherever it likes: whoever takes an address must be ready to find
 * it gone. What hark has put there itself is no neighbour: more may lie right
 * beside it. */
#include "site/space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 1 << 23, GROWTH = 1 << 26 };
static const uint64_t lowest = 1 << 16, highest = 0x7ffffffff000;

static int add_gap(struct room *r, uint64_t lo, uint64_t hi, uint64_t after,
		   uint64_t before, struct hark_err *err)
{
	if (hi <= lo || hi - lo <= after + before)
		return 0;
	return room_add(r, lo + after, hi - before, err);
}

/* Does the mapping of this line grow? */
static bool has_word(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(line + len - n, word, n) == 0;
}

/* START-END at the begin of a line. */
static bool read_range(const char *line, uint64_t *lo, uint64_t *hi)
{
	char *end;

	*lo = strtoull(line, &end, 16);
	if (end == line || *end != '-')
		return false;
	line = end + 1;
	*hi = strtoull(line, &end, 16);
	return end != line && *end == ' ';
}

/* Is all of it hark's own? Ranges ascend; some may touch. */
static bool is_own(const struct space_own *own, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < own->n && lo < hi; i++)
		if (lo - own->range[i].at < own->range[i].len)
			lo = own->range[i].at + own->range[i].len;
	return lo >= hi;
}

int space_of_maps(const char *text, const struct space_own *own, struct room *r,
		  struct hark_err *err)
{
	uint64_t end = lowest, after = 0, lo, hi;
	int rc = 0;

	while (rc == 0 && *text != '\0') {
		size_t len = strcspn(text, "\n");

		if (read_range(text, &lo, &hi) && lo >= end && lo < hi &&
		    lo < highest && !is_own(own, lo, hi)) {
			rc = add_gap(r, end, lo, after,
				     has_word(text, len, "[stack]") ? GROWTH
								    : MARGIN,
				     err);
			end = hi;
			after = has_word(text, len, "[heap]") ? GROWTH : MARGIN;
		}
		text += len + (text[len] == '\n');
	}
	if (rc == 0)
		rc = add_gap(r, end, highest, after, MARGIN, err);
	for (size_t i = 0; i < own->n && rc == 0; i++)
		rc = room_occupy(r, own->range[i].at,
				 own->range[i].at + own->range[i].len, err);
	return rc;
}

static char *read_all(FILE *f)
{
	size_t n = 0, room = 1 << 16, got;
	char *text = malloc(room), *more;

	while (text != NULL) {
		got = fread(text + n, 1, room - n - 1, f);
		n += got;
		text[n] = '\0';
		if (got == 0)
			return text;
		if (n < room - 1)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (more == NULL)
			free(text);
		text = more;
	}
	return NULL;
}

/* The list of mappings, which the caller frees; NULL with err. */
static char *read_maps(int pid, struct hark_err *err)
{
	char path[64], *text;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (f == NULL) {
		err_set(err, HARK_EIO, errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	text = read_all(f);
	fclose(f);
	if (text == NULL)
		err_set(err, HARK_ENOMEM, 0, "out of memory");
	return text;
}

int space_of_pid(int pid, const struct space_own *own, struct room *r,
		 struct hark_err *err)
{
	char *text = read_maps(pid, err);
	int rc;

	if (text == NULL)
		return -1;
	rc = space_of_maps(text, own, r, err);
	free(text);
	return rc;
}

/* -- Code that its program may change -- */

/* START-END rwxp ...: code. Of a library that has gone meanwhile other memory
 * may be in its place, which is nothing to refuse. */
static bool is_writable(const char *line)
{
	const char *rights = strchr(line, ' ');

	return rights != NULL && strlen(rights) > 3 && rights[2] == 'w' &&
	       rights[3] == 'x';
}

static int add_range(struct collect_range **all, size_t *n, uint64_t lo,
		     uint64_t hi)
{
	struct collect_range *more = reallocarray(*all, *n + 1, sizeof *more);

	if (more == NULL)
		return -1;
	more[(*n)++] = (struct collect_range){lo, hi - lo};
	*all = more;
	return 0;
}

int space_writable(int pid, struct collect_range **out, size_t *n,
		   struct hark_err *err)
{
	char *text = read_maps(pid, err);
	struct collect_range *all = NULL;
	uint64_t lo, hi;
	size_t found = 0;
	int rc = 0;

	if (text == NULL)
		return -1;
	for (char *line = text; rc == 0 && *line != '\0';) {
		size_t len = strcspn(line, "\n");

		if (read_range(line, &lo, &hi) && is_writable(line))
			rc = add_range(&all, &found, lo, hi);
		line += len + (line[len] == '\n');
	}
	free(text);
	if (rc < 0) {
		free(all);
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	}
	*out = all;
	*n = found;
	return 0;
}
