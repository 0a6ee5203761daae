/* tests/end-to-end/probe_steps.c - which instructions does a program execute,
 * how often? Found step by step, so that probes can be held against it.
 *
 *	probe_steps PATTERN PROG ARGS...
 *
 * Prints "OFFSET COUNT" for each instruction executed in the mapped file whose
 * path ends in PATTERN, by offset in the file (hexadecimal), from the
 * program's entry on, and then how the program ended. A repeated string
 *instruction is one, however often it repeats; one that faults or is
 *interrupted is none. The program's threads are followed, its children are not.
 *Its output goes to standard error. */
#define _GNU_SOURCE
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Loading it takes long: on to its first own instruction, where the loader has
 * mapped all that it was linked with. */
static void start_at_entry(pid_t pid)
{
	unsigned long auxv[2], entry = 0, code;
	struct user_regs_struct r;
	char name[64];
	int status;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/auxv", pid);
	f = fopen(name, "re");
	while (f != NULL && fread(auxv, sizeof auxv, 1, f) == 1)
		if (auxv[0] == AT_ENTRY)
			entry = auxv[1];
	if (f == NULL || entry == 0)
		errx(1, "%s: no entry", name);
	fclose(f);
	code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
	ptrace(PTRACE_POKETEXT, pid, entry, (code & ~0xfful) | 0xcc);
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, pid, 0, &r) < 0 || r.rip != entry + 1)
		errx(1, "the program does not come to its entry");
	r.rip = entry;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	ptrace(PTRACE_POKETEXT, pid, entry, code);
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

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 3)
		errx(1, "probe_steps PATTERN PROG ARGS...");
	counts = calloc(CODE_MAX, sizeof *counts);
	if (counts == NULL)
		err(1, "calloc");
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		dup2(2, 1);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		errx(1, "%s did not start", argv[2]);
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	start_at_entry(pid);
	find(pid, argv[1]);
	*last_of(pid) = 0;
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	status = follow(pid);
	for (uint64_t i = 0; i < end - start; i++)
		if (counts[i] != 0)
			printf("%lx %u\n", i + file_offset, counts[i]);
	printf("status %d\n", status);
	return 0;
}
