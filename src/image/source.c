/* image/source.c - the text of a source line. */
#include "image/source.h"

#include "base/vec.h"
#include "image/heap_priv.h"
#include "image/input_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILES = 16,		  /* kept at a time */
	FILE_LEN_MAX = 64 << 20,  /* of a source file */
	LINE_LEN_MAX = 64 * 1024, /* of one line: the rest is not shown */
	COMPONENTS_MAX = 32,	  /* of a path that are taken off */
	ESCAPED = 6,		  /* bytes of the longest escape, \uNNNN */
};
#define MEMORY_MAX ((uint64_t)1 << 30)

struct text {
	char *asked; /* owned: the path that was asked for */
	char *path;  /* owned: where it was found */
	char *bytes; /* owned */
	size_t len;
	int64_t mtime_ns;
	uint64_t used; /* when it was last asked for */
	struct {
		VEC(uint32_t);
	} lines; /* where each begins */
};

struct sources {
	struct budget budget;
	struct text text[FILES];
	uint64_t clock;
	char *search; /* owned: directories with colons between, or NULL */
	char *shown;  /* owned: the line that was asked for last */
};

int sources_new(struct sources **out, struct hark_err *err)
{
	const char *search = getenv("HARK_SOURCE_PATH");
	struct sources *s = calloc(1, sizeof *s);

	if (s != NULL) {
		budget_init(&s->budget, MEMORY_MAX);
		s->shown = malloc(LINE_LEN_MAX * ESCAPED + 1);
		s->search = search != NULL ? strdup(search) : NULL;
	}
	if (s == NULL || s->shown == NULL ||
	    (search != NULL && s->search == NULL)) {
		sources_free(s);
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	}
	*out = s;
	return 0;
}

static void text_drop(struct sources *s, struct text *t)
{
	free(t->asked);
	free(t->path);
	free(t->bytes);
	vec_free(&t->lines, &s->budget.heap);
	memset(t, 0, sizeof *t);
}

void sources_free(struct sources *s)
{
	if (s == NULL)
		return;
	for (int i = 0; i < FILES; i++)
		text_drop(s, &s->text[i]);
	free(s->search);
	free(s->shown);
	free(s);
}

/* -- Finding the file -- */

/* dir with the last components of path, as many as lead to a file. */
static int open_below(const char *dir, size_t dir_len, const char *path,
		      char *found)
{
	const char *rest = path;

	for (int i = 0; i < COMPONENTS_MAX && rest != NULL; i++) {
		int n, fd;

		rest += strspn(rest, "/");
		n = snprintf(found, PATH_MAX, "%.*s/%s", (int)dir_len, dir,
			     rest);
		fd = n > 0 && n < PATH_MAX ? reach_open(NULL, found, NULL) : -1;
		if (fd >= 0)
			return fd;
		rest = strchr(rest, '/');
	}
	return -1;
}

static int open_source(const struct sources *s, const char *path, char *found,
		       struct hark_err *err)
{
	int fd = reach_open(NULL, path, err);
	const char *dir = s->search != NULL ? s->search : "";

	snprintf(found, PATH_MAX, "%s", path);
	while (fd < 0 && *dir != '\0') {
		size_t len = strcspn(dir, ":");

		if (len > 0 && len < PATH_MAX)
			fd = open_below(dir, len, path, found);
		dir += len + (dir[len] == ':');
	}
	return fd;
}

/* -- Reading it -- */

static int index_lines(struct sources *s, struct text *t, struct hark_err *err)
{
	size_t at = 0;

	while (at < t->len) {
		uint32_t *new = vec_push(&t->lines, &s->budget.heap);
		const char *end = memchr(t->bytes + at, '\n', t->len - at);

		if (new == NULL)
			return err_set(err, HARK_ENOMEM, 0, "%s: no memory",
				       t->path);
		*new = (uint32_t)at;
		at = end != NULL ? (size_t)(end - t->bytes) + 1 : t->len;
	}
	return 0;
}

static int read_bytes(int fd, struct text *t, struct hark_err *err)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st) < 0 || st.st_size > FILE_LEN_MAX)
		return err_set(err, HARK_EINPUT, 0, "%s: too long for a source",
			       t->path);
	t->mtime_ns =
	    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	t->bytes = malloc((size_t)st.st_size + 1);
	if (t->bytes == NULL)
		return err_set(err, HARK_ENOMEM, 0, "%s: no memory", t->path);
	while (n != 0 && t->len < (size_t)st.st_size) {
		n = read(fd, t->bytes + t->len, (size_t)st.st_size - t->len);
		if (n < 0 && errno != EINTR)
			return err_set(err, HARK_EIO, errno, "%s: %s", t->path,
				       strerror(errno));
		t->len += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The place for a new file: that of the one not asked for longest. */
static struct text *oldest(struct sources *s)
{
	struct text *t = &s->text[0];

	for (int i = 1; i < FILES; i++)
		if (s->text[i].used < t->used)
			t = &s->text[i];
	return t;
}

static struct text *text_of(struct sources *s, const char *path,
			    struct hark_err *err)
{
	char found[PATH_MAX];
	struct text *t;
	int fd, rc = -1;

	for (int i = 0; i < FILES; i++)
		if (s->text[i].asked != NULL &&
		    strcmp(s->text[i].asked, path) == 0)
			return &s->text[i];
	fd = open_source(s, path, found, err);
	if (fd < 0)
		return NULL;
	t = oldest(s);
	text_drop(s, t);
	t->asked = strdup(path);
	t->path = strdup(found);
	if (t->asked == NULL || t->path == NULL)
		err_set(err, HARK_ENOMEM, 0, "%s: no memory", path);
	else if (read_bytes(fd, t, err) == 0)
		rc = index_lines(s, t, err);
	close(fd);
	if (rc < 0) {
		text_drop(s, t);
		return NULL;
	}
	return t;
}

/* -- Showing it -- */

/* The length of the UTF-8 character at s, and its number; 0: it is none. */
static size_t utf8(const unsigned char *s, size_t left, uint32_t *out)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = s[0] & (0x7fu >> len);

	if (s[0] < 0xc2 || s[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*out = c;
	return c >= least[len] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff)
		   ? len
		   : 0;
}

/* Characters that act on a terminal or reorder what stands around them. */
static bool is_harmful(uint32_t c)
{
	return (c >= 0x80 && c < 0xa0) || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/* One character to out; returns what it took, *n what it gave. */
static size_t show_one(const unsigned char *s, size_t left, char *out,
		       size_t *n)
{
	uint32_t c = 0;
	size_t len;

	if ((s[0] >= ' ' && s[0] < 0x7f) || s[0] == '\t') {
		out[0] = (char)s[0];
		*n = 1;
		return 1;
	}
	len = s[0] >= 0x80 ? utf8(s, left, &c) : 0;
	if (len == 0) {
		*n = (size_t)snprintf(out, ESCAPED + 1, "\\x%02x", s[0]);
		return 1;
	}
	if (is_harmful(c)) {
		*n = (size_t)snprintf(out, ESCAPED + 1, "\\u%04x", c & 0xffff);
		return len;
	}
	memcpy(out, s, len);
	*n = len;
	return len;
}

static void show(const char *text, size_t len, char *out)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len > 0 && s[len - 1] == '\r')
		len--;
	len = len < LINE_LEN_MAX ? len : LINE_LEN_MAX;
	for (size_t at = 0, n; at < len; out += n)
		at += show_one(s + at, len - at, out, &n);
	*out = '\0';
}

int sources_line(struct sources *s, const char *path, uint32_t line,
		 int64_t built_ns, struct source_line *out,
		 struct hark_err *err)
{
	struct text *t = text_of(s, path, err);
	size_t start, end;

	if (t == NULL)
		return -1;
	t->used = ++s->clock;
	if (line == 0 || line > t->lines.n)
		return err_set(err, HARK_ENOENT, 0, "%s: has no line %u",
			       t->path, line);
	start = t->lines.at[line - 1];
	end = line < t->lines.n ? t->lines.at[line] : t->len;
	if (end > start && t->bytes[end - 1] == '\n')
		end--;
	show(t->bytes + start, end - start, s->shown);
	out->text = s->shown;
	out->path = t->path;
	out->newer = built_ns != 0 && t->mtime_ns > built_ns;
	return 0;
}
