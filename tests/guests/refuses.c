/* tests/guests/refuses.c - a process that cannot be entered, or only just, by
 * its argument.
 *
 *   refuses dumpable | seccomp | stopped | nofile | thread | compat | novdso |
 *           moved | leader
 *
 * It says "ready", waits until its input ends, and says "fine". `stopped` and
 * `leader` stop, or end their first thread, just behind their "ready". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(uint32_t *)
    is_there; /* set by the other thread: what will be 1 */

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

/* The other thread alone has the sandbox. */
static void *in_sandbox(void *arg)
{
	static uint32_t yes = 1;

	sandbox();
	is_there = &yes;
	for (;;)
		pause();
	return arg;
}

/* 32-bit code in a 64-bit process, as Wine runs it: `movl $1, flag; 1: jmp 1b`.
 */
static void *in_compat_mode(void *arg)
{
	enum { CS_32 = 0x23, DS_32 = 0x2b, FLAG = 64 };
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	memcpy(code, "\xc7\x05----\1\0\0\0\xeb\xfe", 12);
	memcpy(code + 2, &(uint32_t){(uint32_t)(uintptr_t)(code + FLAG)}, 4);
	is_there = (uint32_t *)(code + FLAG);
	__asm__ volatile("mov %2, %%ds\n"
			 "push %0\n"
			 "push %1\n"
			 "lretq\n"
			 :
			 : "r"((uint64_t)CS_32), "r"(code), "r"(DS_32)
			 : "memory");
	return arg;
}

/* Whatever is mapped where the vdso was is no vdso. */
static void without_vdso(void)
{
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);

	if (mmap(vdso, 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != vdso)
		exit(2);
}

/* As checkpoint and restore do. */
static void with_moved_vdso(void)
{
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	void *to =
	    mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mremap(vdso, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		exit(2);
}

static int wait_for_end(void)
{
	char c;

	while (read(0, &c, 1) > 0) {
	}
	puts("fine");
	fflush(stdout);
	return 0;
}

static void *instead_of_main(void *arg)
{
	(void)arg;
	exit(wait_for_end());
}

static void start(void *(*run)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, NULL) != 0)
		exit(2);
}

/* Until that thread is what it is to be. */
static void start_and_wait(void *(*run)(void *))
{
	start(run);
	while (is_there == NULL || *(volatile uint32_t *)is_there == 0)
		usleep(100);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "dumpable") == 0)
		forbid_dumps();
	if (strcmp(how, "seccomp") == 0)
		sandbox();
	if (strcmp(how, "thread") == 0)
		start_and_wait(in_sandbox);
	if (strcmp(how, "compat") == 0)
		start_and_wait(in_compat_mode);
	if (strcmp(how, "novdso") == 0)
		without_vdso();
	if (strcmp(how, "moved") == 0)
		with_moved_vdso();
	if (strcmp(how, "nofile") == 0)
		use_all_descriptors();
	puts("ready");
	fflush(stdout);
	if (strcmp(how, "stopped") == 0)
		raise(SIGSTOP);
	if (strcmp(how, "leader") == 0) {
		start(instead_of_main);
		pthread_exit(NULL);
	}
	return wait_for_end();
}
