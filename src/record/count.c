/* record/count.c - how many instructions a recording holds.
 *
 * One line: `hark-count 1 ID INSTRUCTIONS`, ID being the random number in the
 * header of the recording. */
#include "record/count.h"

#include "base/fmt.h"
#include "wire/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_LEN = 4096, LINE_MAX_LEN = 128 };

/* The first bytes of a file, NUL-terminated; how many, or -1. */
static ssize_t read_head(const char *path, void *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = pread(fd, out, size - 1, 0);
	close(fd);
	if (n >= 0)
		((char *)out)[n] = '\0';
	return n;
}

static int id_of(const char *path, uint64_t *out)
{
	struct wire_file head;
	char bytes[sizeof head + 1];

	if (read_head(path, bytes, sizeof bytes) != sizeof head)
		return -1;
	memcpy(&head, bytes, sizeof head);
	*out = head.id;
	return 0;
}

/* The line that is about this file, up to the number. */
static void begin_line(uint64_t id, char *out, size_t size)
{
	fmt_text(out, size, "hark-count 1 %llx ", (unsigned long long)id);
}

int count_load(const char *path, uint64_t *out)
{
	char name[NAME_MAX_LEN], line[LINE_MAX_LEN], want[LINE_MAX_LEN], *end;
	uint64_t id, n;
	size_t len;

	if (id_of(path, &id) < 0 ||
	    fmt_text(name, sizeof name, "%s.count", path) >= sizeof name ||
	    read_head(name, line, sizeof line) < 0)
		return 0;
	begin_line(id, want, sizeof want);
	len = strlen(want);
	if (strncmp(line, want, len) != 0 || line[len] < '0' || line[len] > '9')
		return 0;
	errno = 0;
	n = strtoull(line + len, &end, 10);
	if (errno != 0 || strcmp(end, "\n") != 0)
		return 0;
	*out = n;
	return 1;
}

/* A new file takes the old one's place only when it is whole. */
static int write_line(const char *name, const char *line)
{
	char fresh[NAME_MAX_LEN];
	ssize_t len = (ssize_t)strlen(line);
	int fd, bad;

	if (fmt_text(fresh, sizeof fresh, "%s.XXXXXX", name) >= sizeof fresh)
		return -1;
	fd = mkostemp(fresh, O_CLOEXEC); /* mode 0600, O_EXCL */
	if (fd < 0)
		return -1;
	bad = write(fd, line, (size_t)len) != len;
	bad |= close(fd) != 0;
	bad = bad || rename(fresh, name) != 0;
	if (bad)
		unlink(fresh);
	return bad ? -1 : 0;
}

int count_store(const char *path, uint64_t instructions, struct hark_err *err)
{
	char name[NAME_MAX_LEN], line[LINE_MAX_LEN];
	uint64_t id;
	size_t len;

	fmt_text(name, sizeof name, "%s.count", path);
	if (id_of(path, &id) < 0)
		return err_set(err, HARK_EINPUT, 0, "%s: it has no header",
			       path);
	begin_line(id, line, sizeof line);
	len = strlen(line);
	fmt_text(line + len, sizeof line - len, "%llu\n",
		 (unsigned long long)instructions);
	if (write_line(name, line) < 0)
		return err_set(err, HARK_EIO, errno,
			       "cannot keep the count in %s: %s", name,
			       strerror(errno));
	return 0;
}
