/* record/sandbox.c - a process that only computes from here on. */
#include "record/sandbox.h"

#include "record/touched.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Beyond what there is: the shadow and its map are 4 GiB each, the code of a
 * process 1 GiB at most. Sanitizers map terabytes, and cannot be limited. */
enum { GIGABYTES = 16 };
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
	A(getpid) A(gettid) \
	A(rt_sigaction) A(rt_sigprocmask) A(rt_sigreturn) A(sigaltstack) \
	A(arch_prctl) A(getrlimit) A(nanosleep) \
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
	    ALLOWED(A) /**/
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

void sandbox_enter(void)
{
	touched_begin();
	limit(RLIMIT_CORE, 0);
	if (!SANITIZED)
		limit(RLIMIT_AS, used() + ((rlim_t)GIGABYTES << 30));
	limit(RLIMIT_NOFILE, 0); /* what is open stays open */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		filter_calls();
}
