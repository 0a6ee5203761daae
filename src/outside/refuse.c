/* outside/refuse.c - refusals, each with its reason. */
#include "outside/refuse.h"

#include "outside/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HEAD = 256, MAX_SCRIPTS = 5, CS_64 = 0x33 };

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

static int changes_identity(int fd, uid_t uid, gid_t gid)
{
	const mode_t setgid = S_ISGID | S_IXGRP;
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0)
		return 0;
	return ((st.st_mode & S_ISUID) != 0 && st.st_uid != uid) ||
	       ((st.st_mode & setgid) == setgid && st.st_gid != gid) ||
	       (uid != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* O_RDONLY fails on an execute-only file; its mode tells all the same. */
static int open_program(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 || errno != EACCES
		   ? fd
		   : openat(dirfd, path, O_PATH | O_CLOEXEC);
}

int refuse_privileged(int dirfd, const char *path, uid_t uid, gid_t gid)
{
	char head[HEAD];
	int fd = open_program(dirfd, path);

	for (int depth = 0; fd >= 0 && depth < MAX_SCRIPTS; depth++) {
		const char *next;
		int privileged;

		read_head(fd, head);
		next = interpreter_of(head);
		privileged = next == NULL && changes_identity(fd, uid, gid);
		close(fd);
		if (next == NULL)
			return privileged;
		fd = open_program(dirfd, next);
	}
	if (fd >= 0)
		close(fd);
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
	if (refuse_privileged(AT_FDCWD, path, geteuid(), getegid()))
		return err_set(err, HARK_EREFUSE, 0,
			       "%s is not started: it is set-uid, set-gid or "
			       "has file capabilities, and %s",
			       path,
			       geteuid() == 0
				   ? "hark enters no program that changes its "
				     "credentials; run hark as the user that "
				     "it changes to"
				   : "would run without them under hark; run "
				     "hark as root");
	if (is_foreign(path))
		return err_set(err, HARK_ENOEXEC, ENOEXEC,
			       "%s is not started: it is not an x86-64 program",
			       path);
	return 0;
}

int refuse_executed(pid_t pid, const struct user_regs_struct *regs,
		    struct hark_err *err)
{
	int fd = proc_open(pid, 0, "exe", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, HARK_EREFUSE, errno, "%s",
			       errno == EACCES
				   ? "the program may be executed but not "
				     "read, so the kernel forbids looking "
				     "into it"
				   : "cannot find the program in /proc (is it "
				     "mounted here?)");
	close(fd);
	if (regs->cs != CS_64)
		return err_set(err, HARK_ENOEXEC, ENOEXEC,
			       "it is not an x86-64 program");
	return 0;
}

/* -- Processes -- */

/* By somebody else. */
static int traced(pid_t pid, pid_t tid)
{
	uint64_t tracer = 0;

	return proc_status(pid, tid, "TracerPid", 10, &tracer) == 0 &&
	       tracer != 0 && tracer != (uint64_t)gettid();
}

static int refuse_id(pid_t pid, struct hark_err *err)
{
	uint64_t tgid;

	if (pid == getpid())
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d is hark itself", pid);
	if (proc_status(getpid(), 0, "Pid", 10, &tgid) < 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "/proc is not mounted here, and hark needs it");
	if (proc_status(pid, 0, "Tgid", 10, &tgid) < 0)
		return err_set(err, HARK_EGONE, ESRCH, "there is no process %d",
			       pid);
	if (tgid != (uint64_t)pid)
		return err_set(err, HARK_EREFUSE, 0,
			       "%d is a thread of process %d; attach to that "
			       "(-p %d)",
			       pid, (int)tgid, (int)tgid);
	if (proc_is_kernel(pid))
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d belongs to the kernel: there is no "
			       "program in it",
			       pid);
	if (proc_living(pid) == 0)
		return err_set(err, HARK_EGONE, ESRCH, "process %d has ended",
			       pid);
	return 0;
}

int refuse_process(pid_t pid, struct hark_err *err)
{
	pid_t tid;

	if (refuse_id(pid, err) < 0)
		return -1;
	tid = proc_living(pid);
	if (proc_state(pid, tid) == 'T')
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d is stopped; let it go on first "
			       "(kill -CONT %d)",
			       pid, pid);
	if (traced(pid, tid))
		return refuse_explain(pid, tid, EPERM, err);
	return 0;
}

/* Filters are inherited and never taken away: a thread that has as many as
 * hark lives in the same container, and may do what hark may. */
static int sandboxed(pid_t pid, pid_t tid)
{
	enum { STRICT = 1 };
	uint64_t mode = 0, theirs = 1, ours = 0;

	if (proc_status(pid, tid, "Seccomp", 10, &mode) < 0 || mode == 0)
		return 0;
	proc_status(pid, tid, "Seccomp_filters", 10, &theirs);
	proc_status(getpid(), 0, "Seccomp_filters", 10, &ours);
	return mode == STRICT || theirs != ours;
}

/* System calls that the thread has asked to get as signals (as Wine does):
 * hark's would be among them. Kernels before 6.4 cannot be asked. */
static int calls_are_signals(pid_t tid)
{
	enum { GET_SYSCALL_USER_DISPATCH_CONFIG = 0x4211 };
	struct {
		uint64_t mode, selector, offset, len;
	} config = {0};

	return ptrace((enum __ptrace_request)GET_SYSCALL_USER_DISPATCH_CONFIG,
		      tid, sizeof config, &config) == 0 &&
	       config.mode != 0;
}

int refuse_thread(pid_t pid, pid_t tid, const struct user_regs_struct *regs,
		  struct hark_err *err)
{
	if (calls_are_signals(tid))
		return err_set(err, HARK_EREFUSE, 0,
			       "thread %d of process %d gets its system calls "
			       "as signals (syscall user dispatch), and would "
			       "get hark's too; start it with hark instead",
			       tid, pid);
	if (sandboxed(pid, tid))
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has a seccomp sandbox, which may "
			       "kill it for hark's system calls; start it "
			       "with hark instead",
			       pid);
	if (regs->cs != CS_64)
		return err_set(err, HARK_EREFUSE, 0,
			       "thread %d of process %d runs 32-bit code just "
			       "now",
			       tid, pid);
	return 0;
}

int refuse_probed(pid_t pid, pid_t tid, struct hark_err *err)
{
	struct proc_map m;

	if (proc_mapping(pid, tid, REFUSE_IN_MAPS, 0, &m) < 0)
		return 0;
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has probes of hark in it; end 'hark probe' "
		       "first (if it was killed, another 'hark probe -p %d' "
		       "takes them out)",
		       pid, pid);
}

/* The reasons for EPERM, most certain first; NULL: none of these. */
static const char *why_denied(pid_t pid, pid_t tid)
{
	long scope = proc_number("/proc/sys/kernel/yama/ptrace_scope");
	uint64_t uid = geteuid();
	char path[48];
	struct stat st;

	proc_status(pid, 0, "Uid", 10, &uid);
	if (traced(pid, tid))
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

bool refuse_has_reason(pid_t pid, pid_t tid)
{
	return why_denied(pid, tid) != NULL;
}

int refuse_explain(pid_t pid, pid_t tid, int e, struct hark_err *err)
{
	const char *why;

	if (e == ESRCH)
		return err_set(err, HARK_EGONE, e, "process %d has ended", pid);
	if (e != EPERM && e != EACCES)
		return err_set(err, HARK_EDENIED, e,
			       "cannot attach to process %d: %s", pid,
			       strerror(e));
	why = why_denied(pid, tid);
	return err_set(err, HARK_EDENIED, e, "cannot attach to process %d: %s",
		       pid,
		       why != NULL ? why
				   : "the kernel refuses (seccomp or a "
				     "security module); in a container allow "
				     "ptrace (--cap-add SYS_PTRACE)");
}
