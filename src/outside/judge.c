/* outside/judge.c - an execve before it happens. */
#include "outside/judge.h"

#include "outside/proc.h"
#include "outside/refuse.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A path in the target's memory, as far as it can be read. */
static int read_path(pid_t tid, uint64_t at, char *out, size_t size)
{
	enum { PAGE = 4096 };
	size_t done = 0;

	while (done + 1 < size) {
		size_t piece = PAGE - (at + done) % PAGE;
		struct iovec here, there;

		if (piece > size - 1 - done)
			piece = size - 1 - done;
		here = (struct iovec){out + done, piece};
		there = (struct iovec){(void *)(at + done), piece};
		if (process_vm_readv(tid, &here, 1, &there, 1, 0) !=
		    (ssize_t)piece)
			return -1;
		if (memchr(out + done, '\0', piece) != NULL)
			return 0;
		done += piece;
	}
	return -1;
}

/* The directory that a relative path starts from, in the target's eyes. */
static int base_dir(pid_t tid, const char *path, int dirfd)
{
	char name[40];

	if (path[0] == '/')
		return proc_open(tid, 0, "root", O_PATH | O_DIRECTORY);
	if (dirfd == AT_FDCWD)
		return proc_open(tid, 0, "cwd", O_PATH | O_DIRECTORY);
	snprintf(name, sizeof name, "fd/%d", dirfd);
	return proc_open(tid, 0, name, O_PATH);
}

/* The effective user or group of a thread. */
static uint64_t effective(pid_t tid, const char *key)
{
	char text[64], *end;

	if (proc_status_text(tid, key, text, sizeof text) < 0)
		return UINT64_MAX;
	strtoull(text, &end, 10); /* the real one */
	return strtoull(end, NULL, 10);
}

static int privileged_at(pid_t tid, int dirfd, uint64_t path_at, int flags)
{
	const uid_t uid = (uid_t)effective(tid, "Uid");
	const gid_t gid = (gid_t)effective(tid, "Gid");
	char path[4096], itself[64];
	int base, yes;

	if (read_path(tid, path_at, path, sizeof path) < 0)
		return 0;
	if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
		snprintf(itself, sizeof itself, "/proc/%d/fd/%d", tid, dirfd);
		return refuse_privileged(AT_FDCWD, itself, uid, gid);
	}
	base = base_dir(tid, path, dirfd);
	if (base < 0)
		return 0;
	yes =
	    refuse_privileged(base, path[0] == '/' ? path + 1 : path, uid, gid);
	close(base);
	return yes;
}

enum judge judge_call(pid_t tid)
{
	struct __ptrace_syscall_info info;
	int privileged;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return JUDGE_RETURN;
	if (info.entry.nr == SYS_execve)
		privileged =
		    privileged_at(tid, AT_FDCWD, info.entry.args[0], 0);
	else if (info.entry.nr == SYS_execveat)
		privileged =
		    privileged_at(tid, (int)info.entry.args[0],
				  info.entry.args[1], (int)info.entry.args[4]);
	else
		return JUDGE_OTHER;
	return privileged ? JUDGE_PRIVILEGED : JUDGE_EXEC;
}
