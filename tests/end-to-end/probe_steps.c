/* tests/end-to-end/probe_steps.c - which instructions does a program execute,
 * how often? Found step by step, so that probes can be held against it.
 *
 *	probe_steps PATTERN PROG ARGS...
 *
 * Prints "OFFSET COUNT" for each instruction executed in the mapped file whose
 * path ends in PATTERN, by offset in the file (hexadecimal), from where
 * probes begin on, and then how the program ended. A repeated string
 *instruction is one, however often it repeats; one that faults or is
 *interrupted is none. The program's threads are followed, its children are not.
 *Its output goes to standard error. */
#define _GNU_SOURCE
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE_MAX = 1 << 24, THREADS_MAX = 64 };

static uint64_t start, end, file_offset;
static uint32_t *counts;
static struct {
	pid_t tid;
	uint64_t pc;
} last[THREADS_MAX];

/* The first executable mapping of the file. */
static void find(pid_t pid, const char *pattern)
{
	char name[64], line[4096];
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/maps", pid);
	f = fopen(name, "re");
	while (f != NULL && start == 0 && fgets(line, sizeof line, f)) {
		unsigned long from, to, offset;
		char mode[8];
		size_t len;

		line[strcspn(line, "\n")] = '\0';
		len = strlen(line);
		if (sscanf(line, "%lx-%lx %7s %lx", &from, &to, mode,
			   &offset) == 4 &&
		    mode[2] == 'x' && len > strlen(pattern) &&
		    strcmp(line + len - strlen(pattern), pattern) == 0) {
			start = from;
			end = to;
			file_offset = offset;
		}
	}
	if (f != NULL)
		fclose(f);
	if (start == 0 || end - start > CODE_MAX)
		errx(1, "no code of %s, or too much", pattern);
}

static uint64_t *last_of(pid_t tid)
{
	int i = 0;

	while (last[i].tid != tid && last[i].tid != 0)
		if (++i == THREADS_MAX)
			errx(1, "too many threads");
	last[i].tid = tid;
	return &last[i].pc;
}

static int repeats(pid_t tid, uint64_t pc)
{
	uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, tid, pc, 0);

	for (int i = 0; i < 4; i++, word >>= 8) {
		unsigned b = word & 0xff;

		if (b == 0xf2 || b == 0xf3)
			return 1;
		if (b != 0x66 && b != 0x67)
			break;
	}
	return 0;
}

/* The instruction at *from was executed, and led to pc. */
static void count(pid_t tid, uint64_t *from, uint64_t pc)
{
	if (*from >= start && *from < end && !(*from == pc && repeats(tid, pc)))
		counts[*from - start]++;
	*from = pc;
}

static uint64_t auxiliary(pid_t pid, unsigned long what)
{
	unsigned long auxv[2], found = 0;
	char name[64];
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/auxv", pid);
	f = fopen(name, "re");
	while (f != NULL && fread(auxv, sizeof auxv, 1, f) == 1)
		if (auxv[0] == what)
			found = auxv[1];
	if (f != NULL)
		fclose(f);
	return found;
}

static void run_to(pid_t pid, uint64_t addr)
{
	unsigned long code;
	struct user_regs_struct r;
	int status;

	code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, addr, 0);
	ptrace(PTRACE_POKETEXT, pid, addr, (code & ~0xfful) | 0xcc);
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, pid, 0, &r) < 0 || r.rip != addr + 1)
		errx(1, "the program does not come to 0x%lx", addr);
	r.rip = addr;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	ptrace(PTRACE_POKETEXT, pid, addr, code);
}

/* Loading it takes long: on to where the loader tells debuggers for the second
 * time that something has changed, and all that the program is linked with is
 * there. $LOADER_STOP: how far into the loader that is. */
static void run_to_start(pid_t pid)
{
	const char *stop = getenv("LOADER_STOP");
	uint64_t loader = auxiliary(pid, AT_BASE);
	int status;

	if (loader == 0 || stop == NULL)
		return;
	loader += strtoul(stop, NULL, 16);
	run_to(pid, loader);
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	waitpid(pid, &status, 0);
	run_to(pid, loader);
}

static int follow(pid_t pid)
{
	struct user_regs_struct r;
	int status, result = -1;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		int sig = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == pid)
				result = status;
			continue;
		}
		if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
			continue;
		if (WSTOPSIG(status) == SIGTRAP)
			count(tid, last_of(tid), r.rip);
		else if (WSTOPSIG(status) != SIGSTOP)
			sig = WSTOPSIG(status);
		*last_of(tid) = r.rip;
		ptrace(PTRACE_SINGLESTEP, tid, 0, sig);
	}
	return result;
}

/* A new process of the program, at the end of its execve; addresses are the
 * same each time. */
static pid_t begin(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		dup2(2, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		errx(1, "%s did not start", argv[0]);
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	return pid;
}

int main(int argc, char **argv)
{
	struct user_regs_struct r;
	int status;
	pid_t pid;

	if (argc < 3)
		errx(1, "probe_steps PATTERN PROG ARGS...");
	counts = calloc(CODE_MAX, sizeof *counts);
	if (counts == NULL)
		err(1, "calloc");
	pid = begin(argv + 2); /* to see where the file will be */
	run_to(pid, auxiliary(pid, AT_ENTRY));
	find(pid, argv[1]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
	pid = begin(argv + 2);
	run_to_start(pid);
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	*last_of(pid) = r.rip;
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	status = follow(pid);
	for (uint64_t i = 0; i < end - start; i++)
		if (counts[i] != 0)
			printf("%lx %u\n", i + file_offset, counts[i]);
	printf("status %d\n", status);
	return 0;
}
