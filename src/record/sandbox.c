/* record/sandbox.c - a process that only computes from here on. */
#include "record/sandbox.h"

#include "record/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers map terabytes, and cannot be limited; and they report what they
 * find to standard error. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { DAY = 24 * 60 * 60 };

static void limit(int what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0 || l.rlim_max <= most)
		return;
	l.rlim_max = most;
	l.rlim_cur = l.rlim_cur < most ? l.rlim_cur : most;
	setrlimit(what, &l);
}

/* clang-format off */
#define ALLOWED(A) \
	A(read) A(pread64) A(readv) A(preadv) A(lseek) A(fstat) A(newfstatat) \
	A(write) A(writev) A(close) \
	A(mmap) A(munmap) A(mprotect) A(madvise) A(mincore) A(mremap) A(brk) \
	A(futex) A(sched_yield) A(clock_gettime) A(getrandom) \
	A(getpid) A(gettid) A(getppid) A(sysinfo) /* qsort */ \
	A(rt_sigaction) A(rt_sigprocmask) A(rt_sigreturn) A(sigaltstack) \
	A(arch_prctl) A(getrlimit) A(nanosleep) A(restart_syscall) \
	A(exit) A(exit_group)
/* clang-format on */

static void filter_calls(void)
{
#define A(name)                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, arch)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    /* No memory is to be both written and executed. */
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 5),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, args[2])),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    ALLOWED(A) /**/
	    /* malloc() would like to read a setting, and does without. */
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	    /* abort() makes one more: a signal to a thread of its own. */
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
#undef A
	struct sock_fprog program = {.len = sizeof filter / sizeof filter[0],
				     .filter = filter};

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Bytes of address space that are taken already. */
static rlim_t used(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? strtoull(text, NULL, 10) * (rlim_t)getpagesize() : 0;
}

void sandbox_enter(unsigned gigabytes)
{
	touched_begin();
	limit(RLIMIT_CORE, 0);
	if (!SANITIZED) {
		limit(RLIMIT_AS, used() + ((rlim_t)gigabytes << 30));
		limit(RLIMIT_FSIZE, 0); /* what is open is for reading */
	}
	limit(RLIMIT_NOFILE, 0); /* what is open stays open */
	limit(RLIMIT_CPU, DAY);	 /* should nobody be left to end it */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		filter_calls();
}

static void close_from_to(unsigned from, unsigned to)
{
	enum { MANY = 1 << 16 };

	if (from > to || syscall(SYS_close_range, from, to, 0) == 0)
		return;
	for (unsigned fd = from; fd <= to && fd < MANY; fd++)
		close((int)fd);
}

void sandbox_close_files(const int *keep, unsigned n)
{
	unsigned from = 0;

	for (unsigned i = 0; i < n; i++) {
		if (keep[i] < 0)
			continue;
		if (keep[i] > 0)
			close_from_to(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	if (SANITIZED && from <= STDERR_FILENO)
		from = STDERR_FILENO + 1;
	close_from_to(from, UINT32_MAX);
}

static int is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
	       signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
}

void sandbox_deafen(void)
{
	sigset_t others;

	sigfillset(&others);
	for (int i = 1; i < NSIG; i++) {
		if (!SANITIZED || !is_fault(i))
			signal(i, SIG_DFL);
		if (is_fault(i))
			sigdelset(&others, i);
	}
	sigprocmask(SIG_SETMASK, &others, NULL);
}
