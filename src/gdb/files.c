/* gdb/files.c - vFile packets: files from the recording alone.
 *
 * What the program had mapped is in the recording, so that gdb finds programs
 * and libraries as they were, on any machine. gdb may ask for a library by a
 * name that is a symbolic link: then a module of the same directory-less name
 * is meant, or one that only has more numbers behind it. */
#include "gdb/gdb_priv.h"

#include <string.h>
#include <sys/stat.h>

enum { /* the protocol's own numbers */
       FILE_ENOENT = 2,
       FILE_EBADF = 9,
       FILE_EINVAL = 22,
       FILE_EMFILE = 24,
       FILE_EROFS = 30,
};

enum { FILE_READ_MAX = PACKET_MAX / 2 - 32 }; /* every byte may be escaped */

static void fail(struct gdb *g, unsigned number)
{
	packet_clear(&g->out);
	packet_text(&g->out, "F-1,%x", number);
}

/* -- Modules -- */

const struct gdb_bytes *gdb_module_bytes(struct gdb *g, unsigned i)
{
	struct gdb_bytes *b;

	if (i >= g->n_modules)
		return NULL;
	b = &g->modules[i];
	if (b->bytes == NULL &&
	    (g->api->f_module(g->recording, i)->len == 0 ||
	     g->api->f_read_module(g->recording, i, &b->bytes, &b->len, NULL) <
		 0))
		return NULL;
	return b;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Names go to gdb so, if they have odd bytes in them: gdb prints them. */
static int is_plain_of(const char *plain, const char *path)
{
	struct doc d = {0};
	int is_same;

	if (strchr(plain, '\\') == NULL)
		return 0;
	doc_plain(&d, path);
	is_same = d.n == strlen(plain) && memcmp(d.at, plain, d.n) == 0;
	doc_free(&d);
	return is_same;
}

/* How well a module answers to a path: 0 is not at all. */
static int fits(const struct hark_module *m, const char *path)
{
	const char *name = name_of(path), *has = name_of(m->path);
	size_t len = strlen(name);

	if (strcmp(m->path, path) == 0 || is_plain_of(path, m->path))
		return 3;
	if (m->debug_of[0] != '\0' || m->is_source ||
	    strstr(name, ".so") == NULL)
		return 0;
	if (strcmp(has, name) == 0)
		return 2;
	return strncmp(has, name, len) == 0 && has[len] == '.';
}

static const struct gdb_bytes *find_module(struct gdb *g, const char *path)
{
	unsigned best = 0;
	int fit = 0;

	for (unsigned i = 0; i < g->n_modules; i++) {
		const struct hark_module *m = g->api->f_module(g->recording, i);

		if (m->len > 0 && fits(m, path) > fit) {
			fit = fits(m, path);
			best = i;
		}
	}
	return fit == 0 ? NULL : gdb_module_bytes(g, best);
}

/* -- The operations -- */

static int is_exe(struct gdb *g, const char *path)
{
	struct words w = {path, path + strlen(path)};
	unsigned pid = 0;

	if (!words_skip(&w, "/proc/"))
		return 0;
	while (*w.at >= '0' && *w.at <= '9' && pid < 100000000)
		pid = pid * 10 + (unsigned)(*w.at++ - '0');
	return pid == g->process->pid && strcmp(w.at, "/exe") == 0;
}

static void do_open(struct gdb *g, struct words *w)
{
	const struct gdb_bytes *b;
	struct gdb_file *f;
	char path[4096];
	uint64_t flags;
	unsigned i;

	if (words_hex_text(w, path, sizeof path) < 0 || !words_skip(w, ",") ||
	    !words_number(w, &flags)) {
		fail(g, FILE_EINVAL);
		return;
	}
	if ((flags & 3) != 0) {
		fail(g, FILE_EROFS);
		return;
	}
	for (i = 0; i < GDB_FILES_MAX && g->files[i].is_open; i++)
		;
	if (i == GDB_FILES_MAX) {
		fail(g, FILE_EMFILE);
		return;
	}
	f = &g->files[i];
	doc_clear(&f->doc);
	b = find_module(g, is_exe(g, path) ? gdb_program(g) : path);
	if (b == NULL && gdb_proc_file(g, path, &f->doc) < 0) {
		fail(g, FILE_ENOENT);
		return;
	}
	f->is_open = true;
	f->bytes = b != NULL ? b->bytes : f->doc.at;
	f->len = b != NULL ? b->len : f->doc.n;
	packet_text(&g->out, "F%x", i + 3); /* 0 to 2 mean other things */
}

static struct gdb_file *take_file(struct gdb *g, struct words *w)
{
	uint64_t fd;

	if (!words_number(w, &fd) || fd < 3 || fd >= GDB_FILES_MAX + 3 ||
	    !g->files[fd - 3].is_open) {
		fail(g, FILE_EBADF);
		return NULL;
	}
	return &g->files[fd - 3];
}

static void do_close(struct gdb *g, struct words *w)
{
	struct gdb_file *f = take_file(g, w);

	if (f == NULL)
		return;
	doc_free(&f->doc);
	f->is_open = false;
	packet_text(&g->out, "F0");
}

static void do_pread(struct gdb *g, struct words *w)
{
	struct gdb_file *f = take_file(g, w);
	uint64_t len, offset;
	size_t n;

	if (f == NULL)
		return;
	if (!words_skip(w, ",") || !words_number(w, &len) ||
	    !words_skip(w, ",") || !words_number(w, &offset)) {
		fail(g, FILE_EINVAL);
		return;
	}
	n = offset >= f->len ? 0 : f->len - (size_t)offset;
	n = n < len ? n : (size_t)len;
	n = n < FILE_READ_MAX ? n : FILE_READ_MAX;
	packet_text(&g->out, "F%zx;", n);
	if (n > 0)
		packet_binary(&g->out, f->bytes + offset, n);
}

static void put_big(uint8_t *out, unsigned len, uint64_t value)
{
	while (len > 0) {
		out[--len] = (uint8_t)value;
		value >>= 8;
	}
}

static void do_fstat(struct gdb *g, struct words *w)
{
	struct gdb_file *f = take_file(g, w);
	uint8_t out[64] = {0};

	if (f == NULL)
		return;
	put_big(out + 8, 4, S_IFREG | 0555);
	put_big(out + 12, 4, 1);
	put_big(out + 28, 8, f->len);
	put_big(out + 36, 8, 4096);
	put_big(out + 44, 8, (f->len + 511) / 512);
	packet_text(&g->out, "F%x;", (unsigned)sizeof out);
	packet_binary(&g->out, out, sizeof out);
}

static void do_readlink(struct gdb *g, struct words *w)
{
	struct doc program = {0};
	char path[4096];

	if (words_hex_text(w, path, sizeof path) < 0) {
		fail(g, FILE_EINVAL);
	} else if (!is_exe(g, path)) {
		fail(g, FILE_ENOENT);
	} else {
		doc_plain(&program, gdb_program(g));
		packet_text(&g->out, "F%zx;", program.n);
		packet_binary(&g->out, program.at, program.n);
		doc_free(&program);
	}
}

static void do_setfs(struct gdb *g, struct words *w)
{
	(void)w; /* all files are of the recording */
	packet_text(&g->out, "F0");
}

static void do_refuse(struct gdb *g, struct words *w)
{
	(void)w;
	fail(g, FILE_EROFS);
}

void on_file(struct gdb *g, struct words *w)
{
	static const struct {
		const char *name;
		gdb_handler *f;
	} operations[] = {
	    {"open:", do_open},	    {"close:", do_close},
	    {"pread:", do_pread},   {"fstat:", do_fstat},
	    {"setfs:", do_setfs},   {"readlink:", do_readlink},
	    {"pwrite:", do_refuse}, {"unlink:", do_refuse},
	};

	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
		if (words_skip(w, operations[i].name)) {
			operations[i].f(g, w);
			return;
		}
}

void gdb_files_close(struct gdb *g)
{
	for (unsigned i = 0; i < GDB_FILES_MAX; i++) {
		doc_free(&g->files[i].doc);
		g->files[i].is_open = false;
	}
}
