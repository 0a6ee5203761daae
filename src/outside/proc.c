/* outside/proc.c - small readers of /proc, each for one question. */
#include "outside/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PATH_SIZE = 96, TEXT_SIZE = 4096 };

static void path_of(char out[PATH_SIZE], pid_t pid, pid_t tid, const char *name)
{
	if (tid != 0)
		snprintf(out, PATH_SIZE, "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(out, PATH_SIZE, "/proc/%d/%s", pid, name);
}

int proc_open(pid_t pid, pid_t tid, const char *name, int flags)
{
	char path[PATH_SIZE];

	path_of(path, pid, tid, name);
	return open(path, flags | O_CLOEXEC);
}

/* The beginning of a small file, as text; its length, or -1. */
static ssize_t read_text(pid_t pid, pid_t tid, const char *name,
			 char out[TEXT_SIZE])
{
	int fd = proc_open(pid, tid, name, O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, out, TEXT_SIZE - 1);
	close(fd);
	if (len >= 0)
		out[len] = '\0';
	return len;
}

static const char *status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return line + len + 1;
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return NULL;
}

int proc_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t *out)
{
	char text[TEXT_SIZE];
	const char *value;

	if (read_text(pid, tid, "status", text) < 0)
		return -1;
	value = status_value(text, key);
	if (value == NULL)
		return -1;
	*out = strtoull(value, NULL, base);
	return 0;
}

int proc_status_text(pid_t pid, const char *key, char *out, size_t size)
{
	char text[TEXT_SIZE];
	const char *value;

	if (read_text(pid, 0, "status", text) < 0)
		return -1;
	value = status_value(text, key);
	if (value == NULL)
		return -1;
	value += strspn(value, " \t");
	snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
	return 0;
}

char proc_state(pid_t pid, pid_t tid)
{
	char text[TEXT_SIZE];
	const char *value;

	if (read_text(pid, tid, "status", text) < 0)
		return 0;
	value = status_value(text, "State");
	if (value == NULL)
		return 0;
	while (isspace((unsigned char)*value))
		value++;
	return *value;
}

static int is_end(char state)
{
	return state == 0 || state == 'Z' || state == 'X';
}

pid_t proc_inner_id(pid_t pid, pid_t tid)
{
	char text[TEXT_SIZE];
	const char *value;
	long id = 0;

	if (read_text(pid, tid, "status", text) < 0)
		return 0;
	value = status_value(text, "NSpid"); /* the outermost first */
	while (value != NULL && *value != '\n' && *value != '\0') {
		char *end;

		id = strtol(value, &end, 10);
		value = end == value ? NULL : end;
	}
	return (pid_t)id;
}

int proc_same_ids(pid_t pid)
{
	struct stat theirs, ours;
	char path[PATH_SIZE];

	path_of(path, pid, 0, "ns/pid");
	return stat(path, &theirs) == 0 &&
	       stat("/proc/self/ns/pid", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* Where in /proc/PID/stat a field begins, as proc(5) counts them; or NULL. */
static const char *field_of(const char *text, int wanted)
{
	enum { NAME = 2 };
	const char *at = strrchr(text, ')'); /* the name may contain anything */

	for (int field = NAME; at != NULL && field < wanted; field++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return at;
}

/* The same, a number; -1: not there. */
static long stat_field(pid_t pid, int wanted)
{
	char text[TEXT_SIZE];
	const char *at;

	if (read_text(pid, 0, "stat", text) < 0)
		return -1;
	at = field_of(text, wanted);
	return at == NULL ? -1 : strtol(at, NULL, 10);
}

int proc_cpu(pid_t pid)
{
	enum { PROCESSOR = 39 };

	return (int)stat_field(pid, PROCESSOR);
}

uint64_t proc_began(pid_t pid)
{
	enum { STATE = 3, BEGAN = 22 };
	char text[TEXT_SIZE];
	const char *state, *at;
	long began;

	if (read_text(pid, 0, "stat", text) < 0)
		return 0;
	state = field_of(text, STATE);
	at = field_of(text, BEGAN);
	if (at == NULL || is_end(*state))
		return 0;
	began = strtol(at, NULL, 10);
	return began > 0 ? (uint64_t)began : 0;
}

uint64_t proc_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

int proc_is_kernel(pid_t pid)
{
	enum { FLAGS = 9, PF_KTHREAD = 0x200000 };
	long flags = stat_field(pid, FLAGS);

	return flags >= 0 && (flags & PF_KTHREAD) != 0;
}

/* Behind the next n words of a line, each with the blanks that follow it. */
static char *after_words(char *at, int n)
{
	while (n-- > 0) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return at;
}

/* One line of maps: range, prot, offset, device, inode, name. */
static int parse_mapping(char *line, struct proc_map *out)
{
	enum { PROT = 1, OFFSET = 2, DEVICE = 3, INODE = 4, NAME = 5 };
	const char *prot = after_words(line, PROT);
	char *dash, *colon;
	struct proc_map m = {.start = strtoull(line, &dash, 16)};
	unsigned major;

	if (*dash != '-' || strlen(prot) < 4)
		return -1;
	m.end = strtoull(dash + 1, NULL, 16);
	m.readable = prot[0] == 'r';
	m.writable = prot[1] == 'w';
	m.executable = prot[2] == 'x';
	m.shared = prot[3] == 's';
	m.offset = strtoull(after_words(line, OFFSET), NULL, 16);
	major = (unsigned)strtoul(after_words(line, DEVICE), &colon, 16);
	m.dev = makedev(major, (unsigned)strtoul(colon + 1, NULL, 16));
	m.ino = strtoull(after_words(line, INODE), NULL, 10);
	m.name = after_words(line, NAME);
	m.stack = strcmp(m.name, "[stack]") == 0;
	*out = m;
	return 0;
}

/* Looked at from its end, because most are not, and there may be thousands. */
static int is_named(char *line, size_t len, const char *name)
{
	enum { NAME = 5 };
	size_t tail = strlen(name);

	return len >= tail && strcmp(line + len - tail, name) == 0 &&
	       strcmp(after_words(line, NAME), name) == 0;
}

int proc_mapping(pid_t pid, pid_t tid, const char *name, uint64_t from,
		 struct proc_map *out)
{
	char path[PATH_SIZE], *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = -1;
	FILE *f;

	path_of(path, pid, tid, "maps");
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (rc < 0 && (len = getline(&line, &size, f)) > 0) {
		struct proc_map m;

		line[--len] = '\0'; /* the newline */
		if (!is_named(line, (size_t)len, name) ||
		    parse_mapping(line, &m) < 0 || m.start < from)
			continue;
		*out = m;
		out->name = ""; /* the line is freed */
		rc = 0;
	}
	free(line);
	fclose(f);
	return rc;
}

int proc_mappings(pid_t pid, pid_t tid,
		  void (*see)(void *ctx, const struct proc_map *m), void *ctx)
{
	char path[PATH_SIZE], *line = NULL;
	size_t size = 0;
	ssize_t len;
	FILE *f;

	path_of(path, pid, tid, "maps");
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while ((len = getline(&line, &size, f)) > 0) {
		struct proc_map m;

		line[--len] = '\0'; /* the newline */
		if (parse_mapping(line, &m) == 0)
			see(ctx, &m);
	}
	free(line);
	fclose(f);
	return 0;
}

struct shared_file {
	uint64_t dev, ino, at;
};

static void see_shared(void *ctx, const struct proc_map *m)
{
	struct shared_file *f = ctx;

	if (f->at == 0 && m->shared && m->dev == f->dev && m->ino == f->ino)
		f->at = m->start;
}

uint64_t proc_shares(pid_t pid, uint64_t dev, uint64_t ino)
{
	struct shared_file f = {.dev = dev, .ino = ino};
	pid_t tid = proc_living(pid); /* the first thread may have ended */

	if (tid == 0 || proc_mappings(pid, tid, see_shared, &f) < 0)
		return 0;
	return f.at;
}

int proc_descriptor(pid_t pid, pid_t tid, const char *name)
{
	char path[PATH_SIZE], link[256];
	struct dirent *e;
	int fd = -1;
	DIR *d;

	path_of(path, pid, tid, "fd");
	d = opendir(path);
	if (d == NULL)
		return -1;
	while (fd < 0 && (e = readdir(d)) != NULL) {
		ssize_t n =
		    readlinkat(dirfd(d), e->d_name, link, sizeof link - 1);

		link[n < 0 ? 0 : n] = '\0';
		if (strcmp(link, name) == 0)
			fd = (int)strtol(e->d_name, NULL, 10);
	}
	closedir(d);
	return fd;
}

int proc_threads(pid_t pid, pid_t *out, int max)
{
	char path[PATH_SIZE];
	struct dirent *e;
	int n = 0;
	DIR *d;

	path_of(path, pid, 0, "task");
	d = opendir(path);
	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (n < max)
			out[n] = (pid_t)strtol(e->d_name, NULL, 10);
		n++;
	}
	closedir(d);
	return n;
}

int proc_each(int (*visit)(void *ctx, pid_t pid), void *ctx)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int rc = 0;

	if (d == NULL)
		return -1;
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			rc = visit(ctx, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(d);
	return rc;
}

int proc_count(pid_t pid)
{
	uint64_t n;

	return proc_status(pid, 0, "Threads", 10, &n) < 0 ? -1 : (int)n;
}

/* The first of those listed that lives, or 0; how many have ended and are still
 * there. */
static pid_t first_living(pid_t pid, int *ended)
{
	enum { SOME = 64 };
	pid_t tids[SOME];
	int n = proc_threads(pid, tids, SOME);

	*ended = n > SOME ? n - SOME : 0;
	for (int i = 0; i < n && i < SOME; i++) {
		char state = proc_state(pid, tids[i]);

		if (!is_end(state))
			return tids[i];
		*ended += state != 0;
	}
	return 0;
}

/* While one executes another program, all others may have ended, and then its
 * own number is gone, too. Looks at such a process one after the other may each
 * meet another execve: several in a row must find that nothing lives. */
pid_t proc_living(pid_t pid)
{
	enum { TRIES = 1000, IN_A_ROW = 4 };
	pid_t found = 0;
	int ended, agreed = 0;

	for (int i = 0; i < TRIES && found == 0 && agreed < IN_A_ROW; i++) {
		found = first_living(pid, &ended);
		if (found == 0 && is_end(proc_state(pid, pid)) &&
		    proc_count(pid) <= ended)
			agreed++;
		else
			agreed = 0;
	}
	return found;
}

long proc_number(const char *path)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, text, sizeof text - 1);
	close(fd);
	if (len <= 0)
		return -1;
	text[len] = '\0';
	return strtol(text, NULL, 10);
}
