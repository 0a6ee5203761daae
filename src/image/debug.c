/* image/debug.c - find debug information that is not in the file itself.
 *
 * D1  What is found is used only if it proves to belong: same build-id, or
 *     the check sum that the debug link asks for.
 * D2  A name from a file is never more than a name: of a debug link only the
 *     last component counts, and it is opened for reading only, as the process
 *     could that has the file (reach.h). Directories of debug files are
 *     hark's own choice, and so is what files from there name.
 * D3  The network is asked only when DEBUGINFOD_URLS is set. */
#include "image/cursor_priv.h"
#include "image/image_priv.h"
#include "image/network_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define SYSTEM_DIR  "/usr/lib/debug"
#define CRC_LEN_MAX ((uint64_t)4 << 30) /* some seconds */

/* Opens path if it is an ELF file that accept says belongs here; it was named
 * by something of that reach. */
static struct elf *try_path(struct image *im, const struct reach *reach,
			    const char *path, int fd,
			    bool (*accept)(struct elf *, const void *),
			    const void *ctx)
{
	struct elf_origin o = {.path = path,
			       .fd = fd,
			       .mem = -1,
			       .pool = &im->pool,
			       .all = &im->budget,
			       .reach = reach,
			       .opens = reach};
	struct elf *e = NULL;

	if (elf_open(&o, &e, NULL) < 0)
		return NULL;
	if (!accept(e, ctx)) {
		elf_close(e);
		return NULL;
	}
	return e;
}

/* Calls try for each directory of the debug path, then the system's, until
 * it finds something. */
static struct elf *
each_dir(struct image *im,
	 struct elf *(*attempt)(struct image *, const char *dir, const void *),
	 const void *ctx)
{
	const char *at = im->debug_path != NULL ? im->debug_path : "";
	struct elf *found = NULL;
	char dir[PATH_MAX];

	while (*at != '\0' && found == NULL) {
		size_t len = strcspn(at, ":");

		if (len > 0 && len < sizeof dir) {
			memcpy(dir, at, len);
			dir[len] = '\0';
			found = attempt(im, dir, ctx);
		}
		at += len + (at[len] == ':');
	}
	return found != NULL ? found : attempt(im, SYSTEM_DIR, ctx);
}

/* -- By build-id -- */

struct id {
	const uint8_t *at;
	size_t len;
};

static bool has_id(struct elf *e, const void *ctx)
{
	const struct id *id = ctx;

	return e->id_len == id->len && memcmp(e->id, id->at, id->len) == 0;
}

static struct elf *by_id_in(struct image *im, const char *dir, const void *ctx)
{
	const struct id *id = ctx;
	char path[PATH_MAX], hex[ELF_ID_MAX * 2 + 1];
	int n;

	for (size_t i = 0; i < id->len; i++)
		snprintf(hex + i * 2, 3, "%02x", id->at[i]);
	n = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", dir, hex,
		     hex + 2);
	if (n < 0 || (size_t)n >= sizeof path)
		return NULL;
	return try_path(im, NULL, path, -1, has_id, id);
}

static struct elf *by_id(struct image *im, const struct id *id)
{
	return id->len >= 2 ? each_dir(im, by_id_in, id) : NULL;
}

/* -- By debug link -- */

struct link {
	struct elf *from;   /* who has the link */
	const char *name;   /* the last component */
	uint32_t crc;	    /* of the whole debug file */
	char dir[PATH_MAX]; /* where from is */
};

static bool read_link(struct elf *e, const char *path, struct link *out)
{
	struct bytes *b = elf_find(e, ".gnu_debuglink", NULL);
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	struct cursor c = cursor_of(at, at != NULL ? b->len : 0);
	const char *name = cursor_text(&c), *slash = strrchr(path, '/');
	size_t used = at != NULL ? (size_t)(c.at - at) : 0;
	size_t dir_len = slash != NULL ? (size_t)(slash - path) : 0;

	cursor_skip(&c, (4 - used % 4) % 4);
	out->crc = cursor_u32(&c);
	if (c.bad || dir_len >= sizeof out->dir)
		return false;
	out->name = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
	out->from = e;
	memcpy(out->dir, path, dir_len);
	out->dir[dir_len] = '\0';
	if (slash == NULL)
		memcpy(out->dir, ".", 2);
	return out->name[0] != '\0';
}

static bool has_crc(struct elf *e, uint32_t crc)
{
	uint8_t buffer[64 * 1024];
	uint64_t at = 0, len = e->in.src.len;
	uLong sum = crc32(0, NULL, 0);

	if (len > CRC_LEN_MAX)
		return false;
	while (at < len) {
		size_t n = len - at < sizeof buffer ? (size_t)(len - at)
						    : sizeof buffer;

		if (elf_read(e, at, buffer, n, NULL) < 0)
			return false;
		sum = crc32(sum, buffer, (uInt)n);
		at += n;
	}
	return sum == crc;
}

/* A build-id on both sides decides alone: it is as good as the sum, and the
 * debug file need not be read from end to end. */
static bool is_linked(struct elf *e, const void *ctx)
{
	const struct link *l = ctx;
	const struct id id = {l->from->id, l->from->id_len};

	if (e->in.dev == l->from->in.dev && e->in.ino == l->from->in.ino)
		return false; /* a link to itself */
	if (e->id_len > 0 && id.len > 0)
		return has_id(e, &id);
	return has_crc(e, l->crc);
}

static struct elf *try_link(struct image *im, const struct link *l,
			    const struct reach *reach, const char *before,
			    const char *after)
{
	char path[PATH_MAX * 2];
	int n = snprintf(path, sizeof path, "%s%s%s/%s", before, l->dir, after,
			 l->name);

	if (n < 0 || n >= PATH_MAX)
		return NULL;
	return try_path(im, reach, path, -1, is_linked, l);
}

/* The kernel's paths do not, but those of a recording may. */
static bool climbs(const char *dir)
{
	const char *at = dir;

	while ((at = strstr(at, "/..")) != NULL) {
		at += 3;
		if (*at == '/' || *at == '\0')
			return true;
	}
	return false;
}

static struct elf *by_link_in(struct image *im, const char *dir,
			      const void *ctx)
{
	const struct link *l = ctx;
	struct elf *found = NULL;
	char path[PATH_MAX];
	int n;

	if (l->dir[0] == '/' && !climbs(l->dir))
		found = try_link(im, l, NULL, dir, "");
	if (found != NULL)
		return found;
	n = snprintf(path, sizeof path, "%s/%s", dir, l->name);
	return n < 0 || (size_t)n >= sizeof path
		   ? NULL
		   : try_path(im, NULL, path, -1, is_linked, l);
}

static struct elf *by_link(struct image *im, struct elf *e, const char *path)
{
	struct elf *found;
	struct link l;

	if (!read_link(e, path, &l))
		return NULL;
	found = try_link(im, &l, e->opens, "", "");
	if (found == NULL)
		found = try_link(im, &l, e->opens, "", "/.debug");
	if (found == NULL)
		found = each_dir(im, by_link_in, &l);
	return found;
}

/* -- By debuginfod -- */

/* Half a file has the build-id, too, but not the list of sections at its end.
 */
static bool is_whole(struct elf *e, const void *ctx)
{
	return has_id(e, ctx) && (elf_section(e, ".debug_info") != NULL ||
				  elf_section(e, ".symtab") != NULL);
}

static struct elf *by_network(struct image *im, const struct id *id,
			      const char *name)
{
	struct elf *found = NULL;
	char *path = NULL;
	int fd;

	if (id->len == 0)
		return NULL;
	fd = network_find(im->network, id->at, id->len, name, &path);
	if (fd >= 0) {
		found = try_path(im, NULL, path != NULL ? path : "debuginfod",
				 fd, is_whole, id);
		if (found == NULL)
			network_refuse(im->network, name, path);
	}
	free(path);
	return found;
}

/* -- All ways -- */

struct elf *debug_find(struct image *im, struct elf *e, const char *path)
{
	const struct id id = {e->id, e->id_len};
	struct elf *found = by_id(im, &id);

	if (found == NULL)
		found = by_link(im, e, path);
	if (found == NULL)
		found = by_network(im, &id, path);
	return found;
}

struct elf *debug_find_shared(struct image *im, struct elf *e)
{
	struct bytes *b = elf_find(e, ".gnu_debugaltlink", NULL);
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	struct cursor c = cursor_of(at, at != NULL ? b->len : 0);
	const char *name = cursor_text(&c);
	const struct id id = {c.at, cursor_left(&c)};
	struct elf *found = NULL;
	char path[PATH_MAX];
	const char *slash;
	int n;

	if (c.bad || id.len == 0 || id.len > ELF_ID_MAX)
		return NULL;
	slash = strrchr(elf_name(e), '/');
	if (name[0] == '/')
		found = try_path(im, e->opens, name, -1, has_id, &id);
	else if (slash != NULL) {
		n = snprintf(path, sizeof path, "%.*s/%s",
			     (int)(slash - elf_name(e)), elf_name(e), name);
		if (n > 0 && (size_t)n < sizeof path)
			found = try_path(im, e->opens, path, -1, has_id, &id);
	}
	if (found == NULL)
		found = by_id(im, &id);
	return found != NULL ? found : by_network(im, &id, name);
}
