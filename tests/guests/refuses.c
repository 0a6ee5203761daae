/* tests/guests/refuses.c - a process that cannot be entered, by its argument.
 *
 *   refuses dumpable | seccomp | stopped | nofile
 *
 * It says "ready", waits until its input ends, and says "fine". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void forbid_dumps(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* memfd_create kills. */
static void sandbox(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof code[0], code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void use_all_descriptors(void)
{
	struct rlimit limit = {16, 16};

	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0) {
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char c;

	if (strcmp(how, "dumpable") == 0)
		forbid_dumps();
	if (strcmp(how, "seccomp") == 0)
		sandbox();
	puts("ready");
	fflush(stdout);
	if (strcmp(how, "nofile") == 0)
		use_all_descriptors();
	if (strcmp(how, "stopped") == 0)
		raise(SIGSTOP);
	while (read(0, &c, 1) > 0) {
	}
	puts("fine");
	return 0;
}
