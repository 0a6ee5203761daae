/* outside/proc.c - small readers of /proc, each for one question. */
#include "outside/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int proc_cpu(pid_t pid)
{
	enum { PROCESSOR = 39, AFTER_NAME = 3 };
	char text[TEXT_SIZE];
	char *at;

	if (read_text(pid, 0, "stat", text) < 0)
		return -1;
	at = strrchr(text, ')'); /* the name may contain anything */
	for (int field = AFTER_NAME - 1; at != NULL && field < PROCESSOR;
	     field++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return at == NULL ? -1 : (int)strtol(at, NULL, 10);
}

uint64_t proc_auxv(pid_t pid, uint64_t type)
{
	Elf64_auxv_t v[64];
	int fd = proc_open(pid, 0, "auxv", O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return 0;
	len = read(fd, v, sizeof v);
	close(fd);
	for (ssize_t i = 0; i < len / (ssize_t)sizeof v[0]; i++)
		if (v[i].a_type == type)
			return v[i].a_un.a_val;
	return 0;
}

int proc_mapping(pid_t pid, uint64_t address, uint64_t *start, uint64_t *end)
{
	char path[PATH_SIZE], line[512];
	int rc = -1;
	FILE *f;

	path_of(path, pid, 0, "maps");
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (rc < 0 && fgets(line, sizeof line, f) != NULL) {
		char *dash;
		uint64_t from = strtoull(line, &dash, 16), to;

		if (*dash != '-')
			continue;
		to = strtoull(dash + 1, NULL, 16);
		if (address < from || address >= to)
			continue;
		*start = from;
		*end = to;
		rc = 0;
	}
	fclose(f);
	return rc;
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
