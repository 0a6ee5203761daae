/* outside/creds.c - credentials, as /proc/PID/status and auxv have them. */
#include "outside/creds.h"

#include "outside/proc.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool creds_read(pid_t pid, struct creds *out)
{
	struct creds c = {0};
	char path[48];
	struct stat st;

	if (proc_status_text(pid, "Uid", c.uid, sizeof c.uid) < 0 ||
	    proc_status_text(pid, "Gid", c.gid, sizeof c.gid) < 0 ||
	    proc_status_text(pid, "Groups", c.groups, sizeof c.groups) < 0 ||
	    proc_status(pid, 0, "CapPrm", 16, &c.permitted) < 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	if (stat(path, &st) == 0)
		c.space = st.st_ino;
	*out = c;
	return true;
}

bool creds_same(const struct creds *a, const struct creds *b)
{
	return strcmp(a->uid, b->uid) == 0 && strcmp(a->gid, b->gid) == 0 &&
	       strcmp(a->groups, b->groups) == 0 &&
	       (a->space != b->space || a->permitted == b->permitted);
}

/* Programs for 32 bits have words of 4 bytes there. */
union auxv {
	Elf64_auxv_t wide[64];
	Elf32_auxv_t narrow[128];
};

/* Types are small numbers; two narrow words in a row are none. */
static bool is_wide(const union auxv *a, size_t n)
{
	enum { TYPES = 1 << 16 };

	for (size_t i = 0; i < n && a->wide[i].a_type != AT_NULL; i++)
		if (a->wide[i].a_type >= TYPES)
			return false;
	return true;
}

bool creds_changed_by_exec(pid_t pid)
{
	union auxv a;
	int fd = proc_open(pid, 0, "auxv", O_RDONLY);
	ssize_t len = fd >= 0 ? read(fd, &a, sizeof a) : -1;
	size_t n = len > 0 ? (size_t)len / sizeof *a.wide : 0;
	bool wide = is_wide(&a, n);

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < (wide ? n : 2 * n); i++)
		if ((wide ? a.wide[i].a_type : a.narrow[i].a_type) == AT_SECURE)
			return (wide ? a.wide[i].a_un.a_val
				     : a.narrow[i].a_un.a_val) != 0;
	return true;
}
