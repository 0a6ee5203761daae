/* record/beside.c - small files that lie beside a recording. */
#include "record/beside.h"

#include "base/fmt.h"
#include "wire/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_LEN = 4096 };

static int name_of(const char *path, const char *suffix, char *out)
{
	if (fmt_text(out, NAME_MAX_LEN, "%s.%s", path, suffix) < NAME_MAX_LEN)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

static int read_all(int fd, uint8_t *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, to + done, len - done, (off_t)done);

		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

int beside_id(const char *path, uint64_t *out)
{
	struct wire_file head;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = read_all(fd, (uint8_t *)&head, sizeof head);
	close(fd);
	if (rc == 0)
		*out = head.id;
	return rc;
}

int beside_open(const char *path, const char *suffix)
{
	char name[NAME_MAX_LEN];

	if (name_of(path, suffix, name) < 0)
		return -1;
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int beside_read(int fd, size_t most, uint8_t **out, size_t *len)
{
	struct stat st;
	uint8_t *bytes;

	bytes = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			(uint64_t)st.st_size <= most
		    ? malloc((size_t)st.st_size + 1)
		    : NULL;
	if (bytes != NULL && read_all(fd, bytes, (size_t)st.st_size) < 0) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes == NULL)
		return -1;
	bytes[st.st_size] = '\0';
	*out = bytes;
	*len = (size_t)st.st_size;
	return 0;
}

int beside_load(const char *path, const char *suffix, size_t most,
		uint8_t **out, size_t *len)
{
	int fd = beside_open(path, suffix), rc;

	if (fd < 0)
		return -1;
	rc = beside_read(fd, most, out, len);
	close(fd);
	return rc;
}

static int write_all(int fd, const uint8_t *from, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n <= 0)
			return -1;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

int beside_store_by(const char *path, const char *suffix, beside_write *f,
		    void *ctx)
{
	char name[NAME_MAX_LEN], fresh[NAME_MAX_LEN];
	int fd, bad;

	if (name_of(path, suffix, name) < 0 ||
	    name_of(name, "XXXXXX", fresh) < 0)
		return -1;
	fd = mkostemp(fresh, O_CLOEXEC); /* mode 0600, O_EXCL */
	if (fd < 0)
		return -1;
	bad = f(ctx, fd) < 0;
	bad |= close(fd) != 0;
	bad = bad || rename(fresh, name) != 0;
	if (bad) {
		int why = errno;

		unlink(fresh);
		errno = why;
	}
	return bad ? -1 : 0;
}

struct bytes {
	const void *bytes;
	size_t len;
};

static int write_bytes(void *ctx, int fd)
{
	const struct bytes *b = ctx;

	return write_all(fd, b->bytes, b->len);
}

int beside_store(const char *path, const char *suffix, const void *bytes,
		 size_t len)
{
	struct bytes b = {bytes, len};

	return beside_store_by(path, suffix, write_bytes, &b);
}

void beside_remove(const char *path, const char *suffix)
{
	char name[NAME_MAX_LEN];

	if (name_of(path, suffix, name) == 0)
		unlink(name);
}
