/* outside/recorder_bundle.c - source files, for whoever has none.
 *
 * Debug information names the files that a program was made of. Those that are
 * there go into the recording when it ends, each once, by the path that a
 * debugger will look for. A program may name any file, so each is opened as the
 * process could that has the program. There are limits, for a program may be
 * made of a whole world: what is left out is told in a note. */
#include "outside/recorder_priv.h"

#include "image/image.h"
#include "image/lines.h"
#include "image/reach.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	FILES_MAX = 10000,
	FILE_MAX = 4 << 20,
	BYTES_MAX = 64 << 20, /* of all */
	SEEN_MAX = 1 << 16,   /* a power of 2: that were looked at */
	PATH_LEN = 4096,
};

/* -- Whose -- */

/* What the system brings with it is read by those who make it. */
static bool is_systems(struct image_file *f)
{
	static const char dir[] = "/usr/lib/debug/";
	const char *debug = image_file_debug(f);

	return debug == NULL || strncmp(debug, dir, sizeof dir - 1) == 0;
}

void recorder_note_debug(struct recorder *r, struct image_file *f)
{
	if (is_systems(f))
		return;
	if (r->n_bundled == r->room_bundled) {
		uint32_t room = 2 * r->room_bundled + 16;
		struct image_file **more =
		    reallocarray(r->bundled, room, sizeof(void *));

		if (more == NULL)
			return;
		r->bundled = more;
		r->room_bundled = room;
	}
	r->bundled[r->n_bundled++] = f;
}

/* -- Which -- */

struct bundle {
	struct recorder *r;
	const struct reach *opens; /* borrowed: with which files are opened */
	uint64_t *seen;		   /* owned: hashes of paths; 0: free */
	uint32_t n_seen, n, left_out;
	uint64_t bytes;
};

/* Without "." and "..", "//". false: it is not whole, or too long. */
static bool plain_path(const char *path, char out[PATH_LEN])
{
	size_t n = 0;

	if (path[0] != '/')
		return false;
	while (*path != '\0') {
		size_t len = strcspn(path + 1, "/");
		bool is_up = len == 2 && memcmp(path + 1, "..", 2) == 0;

		if (is_up)
			while (n > 0 && out[--n] != '/')
				;
		else if (len > 0 && !(len == 1 && path[1] == '.')) {
			if (n + len + 2 > PATH_LEN)
				return false;
			memcpy(out + n, path, len + 1);
			n += len + 1;
		}
		path += len + 1;
	}
	out[n] = '\0';
	return n > 0;
}

/* Is it new? Two paths that meet are told apart by chance alone. */
static bool is_new(struct bundle *b, const char *path)
{
	uint64_t hash = XXH3_64bits(path, strlen(path)) | 1;
	uint32_t i = (uint32_t)(hash >> 32) % SEEN_MAX;

	while (b->seen[i] != 0 && b->seen[i] != hash)
		i = (i + 1) % SEEN_MAX;
	if (b->seen[i] == hash || b->n_seen == SEEN_MAX / 2)
		return false;
	b->seen[i] = hash;
	b->n_seen++;
	return true;
}

static int see_file(void *ctx, const char *path, const char *dir)
{
	char plain[PATH_LEN], plain_dir[PATH_LEN];
	struct bundle *b = ctx;
	struct stat st;
	int fd;

	if (!plain_path(path, plain) || !is_new(b, plain))
		return 0;
	fd = reach_open(b->opens, path, NULL);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		if (b->n >= FILES_MAX || st.st_size > FILE_MAX ||
		    b->bytes + (uint64_t)st.st_size > BYTES_MAX) {
			b->left_out++;
		} else {
			if (dir == NULL || !plain_path(dir, plain_dir))
				plain_dir[0] = '\0';
			recorder_put_source(b->r, fd, &st, plain, plain_dir);
			b->n++;
			b->bytes += (uint64_t)st.st_size;
		}
	}
	close(fd);
	return 0;
}

void recorder_put_sources(struct recorder *r)
{
	struct bundle b = {.r = r, .seen = calloc(SEEN_MAX, sizeof *b.seen)};
	char text[128];

	for (uint32_t i = 0; b.seen != NULL && i < r->n_bundled; i++) {
		b.opens = image_file_opens(r->bundled[i]);
		lines_files(r->bundled[i], see_file, &b, NULL);
	}
	free(b.seen);
	if (b.left_out == 0)
		return;
	snprintf(text, sizeof text,
		 "%u source files are not in the recording: they are too many, "
		 "or too long",
		 b.left_out);
	recorder_put_note(r, 0, 0, text);
}
