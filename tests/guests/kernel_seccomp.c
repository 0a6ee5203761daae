/* tests/guests/kernel_seccomp.c - filters: errno, a trap with the call's own
 * address, other threads, death, strict mode, what is refused, and that they
 * forbid nothing but the program's own calls. */
#include "guest.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

static siginfo_t seen;
static greg_t seen_rip, seen_rax;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	seen = *info;
	seen_rip = uc->uc_mcontext.gregs[REG_RIP];
	seen_rax = uc->uc_mcontext.gregs[REG_RAX];
	uc->uc_mcontext.gregs[REG_RAX] = 77;
}

static long install(long nr, unsigned verdict, unsigned flags)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, verdict),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static volatile int go;

static void *other(void *arg)
{
	(void)arg;
	while (!go)
		usleep(1000);
	errno = 0;
	syscall(SYS_getpgid, 0);
	return (void *)(intptr_t)errno;
}

/* The status of a child that does what. */
static int child(void (*what)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSYS, SIG_DFL);
		what();
		syscall(SYS_exit, 9);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status & ~0x80; /* core file or not */
}

static void is_killed(void)
{
	install(SYS_getppid, SECCOMP_RET_KILL_PROCESS, 0);
	getppid();
}

static void is_killed_alone(void)
{
	install(SYS_getppid, SECCOMP_RET_KILL_THREAD, 0);
	getppid();
}

/* Nothing that the program does not call itself may matter to it. */
static void forbids_much(void)
{
	static const long calls[] = {SYS_mmap,		 SYS_munmap,
				     SYS_mprotect,	 SYS_futex,
				     SYS_rt_sigprocmask, SYS_rt_tgsigqueueinfo,
				     SYS_getpid,	 SYS_sigaltstack};
	volatile double x = 1;

	for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
		install(calls[i], SECCOMP_RET_KILL_PROCESS, 0);
	for (int i = 0; i < 100; i++)
		x = x * 1.5 + (double)(x > 1e9);
	install(SYS_gettid, SECCOMP_RET_TRAP, 0);
	syscall(SYS_exit, 11);
}

static void is_strict(void)
{
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	MUST(syscall(SYS_write, 1, "", 0) == 0);
	syscall(SYS_exit, 7);
}

static void is_too_strict(void)
{
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	getppid();
}

static void refusals(void)
{
	struct sock_filter bad = {0};
	struct sock_fprog program = {1, &bad};

	SAME(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), -1);
	SAME(errno, EINVAL);
	program.filter = (void *)8;
	SAME(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), -1);
	SAME(errno, EFAULT);
	SAME(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 20, &program),
	     -1);
	SAME(errno, EINVAL);
	SAME(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), -1);
	SAME(errno, EINVAL);
}

static void trap(void)
{
	long answer;
	void *behind;

	MUST(install(SYS_getpriority, SECCOMP_RET_TRAP | 5, 0) == 0);
	asm volatile("lea 1f(%%rip), %1\n\tsyscall\n1:"
		     : "=a"(answer), "=&r"(behind)
		     : "a"(SYS_getpriority), "D"(0), "S"(0)
		     : "rcx", "r11", "memory");
	SAME(answer, 77);
	SAME(seen.si_signo, SIGSYS);
	SAME(seen.si_code, 1); /* SYS_SECCOMP */
	SAME(seen.si_errno, 5);
	SAME(seen.si_syscall, SYS_getpriority);
	SAME(seen.si_arch, 0xc000003e);
	SAME(seen.si_call_addr, behind);
	SAME(seen_rip, behind);
	SAME(seen_rax, SYS_getpriority);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
	pthread_t t;
	void *theirs;

	MUST(sigaction(SIGSYS, &act, NULL) == 0);
	SAME(child(is_strict), 7 << 8);
	SAME(child(is_too_strict), SIGKILL);
	SAME(prctl(PR_GET_SECCOMP), 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(install(SYS_getsid, SECCOMP_RET_ERRNO | 42, 0) == 0);
	SAME(prctl(PR_GET_SECCOMP), 2);
	SAME(syscall(SYS_getsid, 0), -1);
	SAME(errno, 42);
	trap();
	MUST(pthread_create(&t, NULL, other, NULL) == 0);
	SAME(install(SYS_getpgid, SECCOMP_RET_ERRNO | 33,
		     SECCOMP_FILTER_FLAG_TSYNC),
	     0);
	go = 1;
	MUST(pthread_join(t, &theirs) == 0);
	SAME(theirs, 33);
	SAME(child(is_killed), SIGSYS);
	SAME(child(is_killed_alone), SIGSYS);
	SAME(child(forbids_much), 11 << 8);
	refusals();
	return guest_end();
}
