/* outside/refuse.c - refusals, each with its reason. */
#include "outside/refuse.h"

#include "outside/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HEAD = 256, MAX_SCRIPTS = 5 };

/* -- Files -- */

static ssize_t read_head(int fd, char out[HEAD])
{
	ssize_t n = pread(fd, out, HEAD - 1, 0);

	out[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The interpreter of a script, cut out of its first line in place. */
static char *interpreter_of(char *head)
{
	char *at = head + 2;

	if (head[0] != '#' || head[1] != '!')
		return NULL;
	at += strspn(at, " \t");
	at[strcspn(at, " \t\r\n")] = '\0';
	return *at == '\0' ? NULL : at;
}

static int changes_identity(int fd)
{
	const mode_t setgid = S_ISGID | S_IXGRP;
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0)
		return 0;
	return ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid()) ||
	       ((st.st_mode & setgid) == setgid && st.st_gid != getegid()) ||
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* O_RDONLY fails on an execute-only file; its mode tells all the same. */
static int open_program(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 || errno != EACCES
		   ? fd
		   : openat(dirfd, path, O_PATH | O_CLOEXEC);
}

int refuse_privileged(int dirfd, const char *path)
{
	char name[HEAD], head[HEAD];

	if (geteuid() == 0 || strlen(path) >= sizeof name)
		return 0;
	snprintf(name, sizeof name, "%s", path);
	for (int depth = 0; depth < MAX_SCRIPTS; depth++) {
		int fd = open_program(dirfd, name), privileged;
		char *next;

		if (fd < 0)
			return 0;
		read_head(fd, head);
		next = interpreter_of(head);
		privileged = next == NULL && changes_identity(fd);
		close(fd);
		if (next == NULL)
			return privileged;
		snprintf(name, sizeof name, "%s", next);
	}
	return 0;
}

static int is_foreign(const char *path)
{
	const Elf64_Ehdr *e;
	char head[HEAD];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read_head(fd, head);
	close(fd);
	e = (const void *)head;
	return n > (ssize_t)offsetof(Elf64_Ehdr, e_version) &&
	       memcmp(head, ELFMAG, SELFMAG) == 0 &&
	       (head[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64);
}

int refuse_file(const char *path, struct hark_err *err)
{
	if (refuse_privileged(AT_FDCWD, path))
		return err_set(err, HARK_EREFUSE, 0,
			       "%s is not started: it is set-uid, set-gid or "
			       "has file capabilities, and would run without "
			       "them under hark; run hark as root",
			       path);
	if (is_foreign(path))
		return err_set(err, HARK_ENOEXEC, ENOEXEC,
			       "%s is not started: it is not an x86-64 program",
			       path);
	return 0;
}

int refuse_executed(pid_t pid, const struct user_regs_struct *regs,
		    struct hark_err *err)
{
	enum { CS_64 = 0x33 };
	int fd = proc_open(pid, 0, "exe", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, HARK_EREFUSE, errno,
			       "the program may be executed but not read, so "
			       "the kernel forbids looking into it");
	close(fd);
	if (regs->cs != CS_64)
		return err_set(err, HARK_ENOEXEC, ENOEXEC,
			       "it is not an x86-64 program");
	return 0;
}

/* -- Processes -- */

static int traced(pid_t pid)
{
	uint64_t tracer = 0;

	return proc_status(pid, 0, "TracerPid", 10, &tracer) == 0 &&
	       tracer != 0;
}

int refuse_process(pid_t pid, struct hark_err *err)
{
	uint64_t seccomp = 0;
	char state = proc_state(pid, 0);

	if (pid == getpid())
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d is hark itself", pid);
	switch (state) {
	case 0:
		return err_set(err, HARK_EGONE, ESRCH, "there is no process %d",
			       pid);
	case 'Z':
	case 'X':
		return err_set(err, HARK_EGONE, ESRCH, "process %d has ended",
			       pid);
	case 'T':
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d is stopped; let it go on first "
			       "(kill -CONT %d)",
			       pid, pid);
	default:
		break;
	}
	if (traced(pid))
		return refuse_explain(pid, EPERM, err);
	if (proc_status(pid, 0, "Seccomp", 10, &seccomp) == 0 && seccomp != 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has a seccomp sandbox, which may "
			       "kill it for hark's system calls; start it "
			       "with hark instead",
			       pid);
	return 0;
}

/* The reasons for EPERM, most certain first; NULL: none of these. */
static const char *why_denied(pid_t pid)
{
	long scope = proc_number("/proc/sys/kernel/yama/ptrace_scope");
	uint64_t uid = geteuid();
	char path[48];
	struct stat st;

	proc_status(pid, 0, "Uid", 10, &uid);
	if (traced(pid))
		return "another debugger or tracer is attached to it (see "
		       "TracerPid in its status)";
	if (scope == 3)
		return "ptrace is switched off on this machine until reboot "
		       "(kernel.yama.ptrace_scope=3)";
	if (scope == 2 && geteuid() != 0)
		return "only root may trace here "
		       "(kernel.yama.ptrace_scope=2); run hark as root";
	if (geteuid() != 0 && uid != geteuid())
		return uid == 0 ? "it belongs to root; run hark as root"
				: "it belongs to another user; ask that user "
				  "or root";
	/* The kernel gives root the /proc files of a process that has
	 * forbidden to be looked into. */
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	if (geteuid() != 0 && stat(path, &st) == 0 && st.st_uid == 0)
		return "it has forbidden tracing (PR_SET_DUMPABLE, a changed "
		       "user, or an unreadable file)";
	if (scope == 1 && geteuid() != 0)
		return "only a program's parents may trace it "
		       "(kernel.yama.ptrace_scope=1); start it with hark";
	return NULL;
}

int refuse_explain(pid_t pid, int e, struct hark_err *err)
{
	const char *why;

	if (e == ESRCH)
		return err_set(err, HARK_EGONE, e, "process %d has ended", pid);
	if (e != EPERM && e != EACCES)
		return err_set(err, HARK_EDENIED, e,
			       "cannot attach to process %d: %s", pid,
			       strerror(e));
	why = why_denied(pid);
	return err_set(err, HARK_EDENIED, e, "cannot attach to process %d: %s",
		       pid,
		       why != NULL ? why
				   : "the kernel refuses (seccomp or a "
				     "security module); in a container allow "
				     "ptrace (--cap-add SYS_PTRACE)");
}
