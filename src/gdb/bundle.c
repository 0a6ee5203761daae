/* gdb/bundle.c - source files of a recording, where gdb can open them.
 *
 * B1  Paths of a recording are not trusted: only whole ones without "." and
 *     "..", and without control characters, are taken; each part is made or
 *     opened below the last, and no link is followed. */
#include "gdb/bundle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 256 << 20 }; /* of all */

static int failed(struct hark_err *err, const char *what)
{
	return err_set(err, HARK_EIO, errno, "sources of the recording: %s: %s",
		       what, strerror(errno));
}

/* B1 */
static bool is_plain(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	for (const char *at = path; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			return false;
	while (*path != '\0') {
		size_t len = strcspn(path + 1, "/");

		if (len == 0 || len > 255 ||
		    (path[1] == '.' &&
		     (len == 1 || (len == 2 && path[2] == '.'))))
			return false;
		path += len + 1;
	}
	return true;
}

static int enter(int at, const char *name)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The directory of as many bytes of the path, below root. */
static int make_dirs(int root, const char *path, size_t len)
{
	int at = dup(root);

	for (size_t n; at >= 0 && len > 0; path += n, len -= n) {
		char name[256];
		int next;

		n = 1 + strcspn(path + 1, "/");
		snprintf(name, sizeof name, "%.*s", (int)n - 1, path + 1);
		next = enter(at, name);
		close(at);
		at = next;
	}
	return at;
}

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return -1;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int put_file(int root, const char *path, const uint8_t *bytes,
		    size_t len)
{
	const char *name = strrchr(path, '/');
	int dir = make_dirs(root, path, (size_t)(name - path)), fd, rc;

	if (dir < 0)
		return -1;
	fd = openat(dir, name + 1,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -1 : write_all(fd, bytes, len);
	if (fd >= 0)
		close(fd);
	close(dir);
	return rc;
}

static void put_rule(FILE *rules, const char *path, size_t len)
{
	if (len > 1)
		fprintf(rules, "%.*s\n", (int)len, path);
}

/* Where its unit was compiled must be there, too: paths may go through it. */
static void put_dir(int root, FILE *rules, const char *dir)
{
	int at;

	if (!is_plain(dir))
		return;
	at = make_dirs(root, dir, strlen(dir));
	if (at >= 0)
		close(at);
	put_rule(rules, dir, strlen(dir));
}

/* A path that is there twice is taken once; what cannot be read or written is
 * left out. */
static int put_all(struct hark_recording *r, int root, FILE *rules)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < hark_n_modules(r); i++) {
		const struct hark_module *m = hark_module(r, i);
		uint8_t *bytes;
		size_t len;
		int rc;

		if (!m->is_source || !is_plain(m->path) ||
		    m->len > BYTES_MAX - total ||
		    hark_read_module(r, i, &bytes, &len, NULL) < 0)
			continue;
		total += len;
		rc = put_file(root, m->path, bytes, len);
		free(bytes);
		if (rc < 0 && (errno == ENOSPC || errno == EDQUOT))
			return -1;
		if (rc < 0)
			continue;
		put_rule(rules, m->path,
			 (size_t)(strrchr(m->path, '/') - m->path));
		put_dir(root, rules, m->dir);
	}
	return 0;
}

static bool has_sources(struct hark_recording *r)
{
	for (unsigned i = 0; i < hark_n_modules(r); i++)
		if (hark_module(r, i)->is_source)
			return true;
	return false;
}

static FILE *open_rules(int at)
{
	int fd =
	    openat(at, "rules", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

int bundle_unpack(struct hark_recording *r, const char *dir,
		  struct hark_err *err)
{
	int at, root, rc = -1;
	FILE *rules;

	if (!has_sources(r))
		return 0;
	if (mkdir(dir, 0700) < 0)
		return failed(err, dir);
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	root = at < 0 ? -1 : enter(at, "files");
	rules = root < 0 ? NULL : open_rules(at);
	if (rules != NULL) {
		rc = put_all(r, root, rules);
		rc |= fclose(rules);
	}
	if (rc < 0)
		failed(err, dir);
	if (root >= 0)
		close(root);
	if (at >= 0)
		close(at);
	if (rc < 0)
		bundle_remove(dir);
	return rc < 0 ? -1 : 1;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void bundle_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
