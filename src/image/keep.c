/* image/keep.c - files by build-id, each with a head that says what it is.
 *
 *	head | payload
 *
 * docs/format.md has the bytes. */
#include "image/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	VERSION = 1,
	ID_MIN = 8, /* shorter ones are no ids, longer ones are cut */
	ID_MAX = 32,
	NAME_SIZE = 128,
	DAY_S = 24 * 3600,
	STALE_S = 3600, /* nobody writes a file for that long */
};

#define MAGIC "HARKKEEP"
#define NEW   ".new-" /* of a file that is being written */

struct head {
	char magic[8];
	uint32_t version, id_len;
	uint8_t id[ID_MAX];
	uint64_t source;
	uint64_t len; /* of the payload */
	uint64_t sum; /* of all before it, and the payload */
};
_Static_assert(sizeof(struct head) == 72, "on disk");

struct keep {
	char *path; /* owned */
	int dir;    /* owned; -1: not open */
};

/* -- The directory -- */

static char *join(const char *a, const char *b)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

static char *find_place(void)
{
	const char *own = getenv("HARK_CACHE");
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (own != NULL && *own != '\0')
		return strcmp(own, "off") == 0 ? NULL : strdup(own);
	if (cache != NULL && *cache == '/')
		return join(cache, "hark");
	return home != NULL && *home == '/' ? join(home, ".cache/hark") : NULL;
}

struct keep *keep_new(void)
{
	struct keep *k = calloc(1, sizeof *k);

	if (k == NULL)
		return NULL;
	k->dir = -1;
	k->path = find_place();
	if (k->path == NULL) {
		free(k);
		return NULL;
	}
	return k;
}

void keep_free(struct keep *k)
{
	if (k == NULL)
		return;
	if (k->dir >= 0)
		close(k->dir);
	free(k->path);
	free(k);
}

/* K1 */
static bool is_ours(int fd, mode_t type, struct stat *st)
{
	return fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == type &&
	       st->st_uid == geteuid() &&
	       (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool open_place(struct keep *k)
{
	struct stat st;

	if (k->dir >= 0)
		return true;
	k->dir = open(k->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->dir < 0)
		return false;
	if (is_ours(k->dir, S_IFDIR, &st))
		return true;
	close(k->dir);
	k->dir = -1;
	return false;
}

/* It, and the one that it is in. */
static void make_place(const struct keep *k)
{
	char *slash = strrchr(k->path, '/');

	if (slash != NULL && slash != k->path) {
		*slash = '\0';
		mkdir(k->path, S_IRWXU);
		*slash = '/';
	}
	mkdir(k->path, S_IRWXU);
}

/* -- Names and heads -- */

static size_t used_len(const struct keep_key *key)
{
	return key->id_len < ID_MAX ? key->id_len : ID_MAX;
}

static bool name_of(const struct keep_key *key, char out[NAME_SIZE])
{
	char *at = out;

	if (key->id_len < ID_MIN)
		return false;
	for (size_t i = 0; i < used_len(key); i++)
		at += snprintf(at, 3, "%02x", key->id[i]);
	snprintf(at, NAME_SIZE - (size_t)(at - out), ".%s", key->kind);
	return true;
}

static uint64_t sum_of(const struct head *h, const void *bytes)
{
	uint64_t head = XXH3_64bits(h, offsetof(struct head, sum));

	return XXH3_64bits_withSeed(bytes, h->len, head);
}

static struct head head_of(const struct keep_key *key, size_t len)
{
	struct head h = {.version = VERSION,
			 .id_len = (uint32_t)key->id_len,
			 .source = key->source,
			 .len = len};

	memcpy(h.magic, MAGIC, sizeof h.magic);
	memcpy(h.id, key->id, used_len(key));
	return h;
}

/* -- Reading -- */

static bool read_all(int fd, void *to, size_t len, off_t from)
{
	while (len > 0) {
		ssize_t n = pread(fd, to, len, from);

		if (n <= 0)
			return false;
		to = (char *)to + n;
		from += n;
		len -= (size_t)n;
	}
	return true;
}

/* The payload, if it is what is looked for. */
static void *read_payload(int fd, size_t size, const struct keep_key *key,
			  const struct heap *heap)
{
	size_t len = size - sizeof(struct head);
	struct head h, want = head_of(key, len);
	void *bytes;

	if (!read_all(fd, &h, sizeof h, 0) ||
	    memcmp(&h, &want, offsetof(struct head, sum)) != 0)
		return NULL;
	bytes = heap_take(heap, len);
	if (bytes == NULL)
		return NULL;
	if (read_all(fd, bytes, len, sizeof h) && sum_of(&h, bytes) == h.sum)
		return bytes;
	heap_give(heap, bytes, len);
	return NULL;
}

void *keep_load(struct keep *k, const struct keep_key *key,
		const struct heap *heap, size_t *len)
{
	char name[NAME_SIZE];
	void *bytes = NULL;
	struct stat st;
	int fd;

	if (k == NULL || !name_of(key, name) || !open_place(k))
		return NULL;
	fd = openat(k->dir, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (is_ours(fd, S_IFREG, &st) && st.st_size <= KEEP_MAX &&
	    st.st_size > (off_t)sizeof(struct head))
		bytes = read_payload(fd, (size_t)st.st_size, key, heap);
	if (bytes != NULL) {
		*len = (size_t)st.st_size - sizeof(struct head);
		if (time(NULL) - st.st_mtime > DAY_S)
			futimens(fd, NULL); /* K4: it was used */
	}
	close(fd);
	return bytes;
}

/* -- Bounds -- */

static bool ends_with_kind(const char *name)
{
	size_t hex = strspn(name, "0123456789abcdef");
	const char *kind = name + hex + 1;

	return strlen(name) < NAME_SIZE && hex / 2 >= ID_MIN &&
	       hex / 2 <= ID_MAX && name[hex] == '.' && *kind != '\0' &&
	       strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789") ==
		   strlen(kind);
}

/* How many there are, and how long; which of them was not used for longest. */
struct around {
	off_t sum;
	unsigned n;
	time_t when;
	char oldest[NAME_SIZE];
};

/* Files that a hark which was killed was writing go. */
static void look_around(const struct keep *k, struct around *out)
{
	int fd = openat(k->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	*out = (struct around){0};
	while (d != NULL && (e = readdir(d)) != NULL) {
		bool is_new = strncmp(e->d_name, NEW, strlen(NEW)) == 0;
		struct stat st;

		if ((!is_new && !ends_with_kind(e->d_name)) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (is_new && time(NULL) - st.st_mtime > STALE_S)
			unlinkat(fd, e->d_name, 0);
		if (is_new)
			continue;
		out->sum += st.st_size;
		if (out->n++ == 0 || st.st_mtime < out->when) {
			out->when = st.st_mtime;
			memcpy(out->oldest, e->d_name, strlen(e->d_name) + 1);
		}
	}
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* K4 */
static void make_room(const struct keep *k, size_t len)
{
	struct around a;

	for (;;) {
		look_around(k, &a);
		if ((a.n < KEEP_FILES && a.sum + (off_t)len <= KEEP_MAX) ||
		    a.n == 0 || unlinkat(k->dir, a.oldest, 0) < 0)
			return;
	}
}

/* -- Writing -- */

static bool write_all(int fd, const void *from, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from = (const char *)from + n;
		len -= (size_t)n;
	}
	return true;
}

/* A file of its own for each writer. */
static int open_new(const struct keep *k, char name[NAME_SIZE])
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
		number = (uint64_t)getpid();
	snprintf(name, NAME_SIZE, NEW "%016lx", (unsigned long)number);
	return openat(k->dir, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      S_IRUSR | S_IWUSR);
}

/* K3 */
static void write_file(const struct keep *k, const char *name,
		       const struct head *h, const void *bytes)
{
	char new[NAME_SIZE];
	int fd = open_new(k, new);
	bool done;

	if (fd < 0)
		return;
	done = write_all(fd, h, sizeof *h) && write_all(fd, bytes, h->len);
	done = close(fd) == 0 && done;
	if (!done || renameat(k->dir, new, k->dir, name) < 0)
		unlinkat(k->dir, new, 0);
}

void keep_save(struct keep *k, const struct keep_key *key, const void *bytes,
	       size_t len)
{
	struct head h = head_of(key, len);
	char name[NAME_SIZE];

	if (k == NULL || !name_of(key, name) || len == 0 ||
	    len > KEEP_MAX - sizeof h)
		return;
	if (!open_place(k)) {
		make_place(k);
		if (!open_place(k))
			return;
	}
	h.sum = sum_of(&h, bytes);
	make_room(k, len + sizeof h);
	write_file(k, name, &h, bytes);
}
