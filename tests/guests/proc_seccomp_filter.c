/* tests/guests/proc_seccomp_filter.c - filters on numbers and arguments, two of
 * them stacked, inherited by children and over exec, for new threads, and one
 * that kills. */
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void filter(uint32_t nr, uint32_t arg0, uint32_t action)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arg0, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, action),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof code[0], code};

	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
}

static void see(void)
{
	SAME(syscall(SYS_getpgid, 0), getpgrp());
	errno = 0;
	SAME(syscall(SYS_getpgid, 1), -1);
	SAME(errno, EXDEV);
	SAME(syscall(SYS_getsid, 1), -1);
	SAME(errno, EDOM);
	SAME(syscall(SYS_umask, 022) >= 0, 1);
}

static void *thread(void *arg)
{
	see();
	return arg;
}

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};
	int status;
	pthread_t t;
	pid_t pid;

	if (argc > 1) {
		see();
		return guest_wrong;
	}
	setrlimit(RLIMIT_CORE, &none);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	filter(SYS_getpgid, 1, SECCOMP_RET_ERRNO | EXDEV);
	filter(SYS_getsid, 1, SECCOMP_RET_ERRNO | EDOM);
	see();
	MUST(pthread_create(&t, NULL, thread, NULL) == 0);
	pthread_join(t, NULL);
	pid = fork();
	if (pid == 0) {
		see();
		execl("/proc/self/exe", argv[0], "again", NULL);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	pid = fork();
	if (pid == 0) {
		filter(SYS_umask, 0, SECCOMP_RET_KILL_PROCESS);
		syscall(SYS_umask, 1);
		syscall(SYS_umask, 0);
		_exit(1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status & 0x7f, SIGSYS);
	return guest_end();
}
