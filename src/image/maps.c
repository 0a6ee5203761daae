/* image/maps.c - read /proc/PID/maps. */
#include "image/maps_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TEXT_MAX = 256 << 20 };

/* The kernel writes a newline in a path as \012, and nothing else so. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0';) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool number(char **at, int base, char end, uint64_t *out)
{
	char *after;

	errno = 0;
	*out = strtoull(*at, &after, base);
	if (errno != 0 || after == *at || *after != end)
		return false;
	*at = after + 1;
	return true;
}

/* start-end perms offset major:minor inode   path */
static bool parse_line(char *line, struct map *m, char **path)
{
	uint64_t major, minor, ino;
	char *at = line;

	if (!number(&at, 16, '-', &m->start) ||
	    !number(&at, 16, ' ', &m->end) || strlen(at) < 5 || at[4] != ' ')
		return false;
	m->exec = at[2] == 'x';
	at += 5;
	if (!number(&at, 16, ' ', &m->offset) ||
	    !number(&at, 16, ':', &major) || !number(&at, 16, ' ', &minor))
		return false;
	ino = strtoull(at, path, 10);
	if (*path == at || m->start >= m->end)
		return false;
	m->dev = makedev((unsigned)major, (unsigned)minor);
	m->ino = (ino_t)ino;
	*path += strspn(*path, " ");
	return true;
}

int maps_parse(char *text, struct arena *arena, struct maps *out,
	       struct hark_err *err)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		struct map m, *new;
		char *path;

		if (!parse_line(line, &m, &path))
			continue;
		unescape(path);
		new = vec_push(out, arena->heap);
		m.path = arena_text(arena, path, strlen(path));
		if (new == NULL || m.path == NULL)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for a list of mappings");
		*new = m;
	}
	return 0;
}

/* The whole file, with a NUL behind it; NULL with err. */
static char *slurp(int fd, const char *path, struct hark_err *err)
{
	size_t len = 0, room = 16384;
	char *text = malloc(room), *grown;
	ssize_t n = 1;

	while (text != NULL && n != 0) {
		if (room - len < 4096) {
			grown =
			    room < TEXT_MAX ? realloc(text, room * 2) : NULL;
			if (grown == NULL)
				break;
			text = grown;
			room *= 2;
		}
		n = read(fd, text + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_set(err, errno == ESRCH ? HARK_EGONE : HARK_EIO,
				errno, "%s: %s", path, strerror(errno));
			free(text);
			return NULL;
		}
		len += (size_t)n;
	}
	if (text == NULL || n != 0) {
		free(text);
		err_set(err, HARK_ENOMEM, 0, "%s: no memory", path);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

int maps_read(int pid, struct arena *arena, struct maps *out,
	      struct hark_err *err)
{
	char path[64], *text;
	int fd, rc = -1;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err,
			       errno == ENOENT	 ? HARK_EGONE
			       : errno == EACCES ? HARK_EDENIED
						 : HARK_EIO,
			       errno, "%s: %s", path, strerror(errno));
	text = slurp(fd, path, err);
	if (text != NULL)
		rc = maps_parse(text, arena, out, err);
	free(text);
	close(fd);
	return rc;
}
