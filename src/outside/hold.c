/* outside/hold.c - a program, held at its entry point by an int3. */
#include "outside/hold.h"

#include "outside/tracee.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { PATIENCE_S = 30, AUXV_MAX = 64 };

void hold_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

/* Where the program begins, as the kernel told it. */
static int entry_of(pid_t pid, uint64_t *out, struct hark_err *err)
{
	Elf64_auxv_t auxv[AUXV_MAX];
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	if (f != NULL) {
		n = fread(auxv, sizeof *auxv, AUXV_MAX, f);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		if (auxv[i].a_type == AT_ENTRY) {
			*out = auxv[i].a_un.a_val;
			return 0;
		}
	return err_set(err, HARK_EIO, f == NULL ? errno : 0,
		       "%s: no entry point in it", path);
}

/* Runs until the int3 at entry; signals on the way are delivered. */
static int run_to(pid_t pid, uint64_t entry, struct hark_err *err)
{
	int64_t deadline = tracee_now_ns() + PATIENCE_S * 1000000000LL;
	struct user_regs_struct regs;
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, 0, sig) < 0)
			return err_set(err, HARK_EGONE, errno,
				       "process %d: cannot go on", (int)pid);
		if (tracee_wait(pid, deadline, &status, err) < 0)
			return -1;
		if (!WIFSTOPPED(status))
			return err_set(err, HARK_EGONE, 0,
				       "the program ended before it began");
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig != SIGTRAP)
			continue;
		if (tracee_get_regs(pid, &regs, err) < 0)
			return -1;
		if (regs.rip != entry + 1)
			continue;
		regs.rip = entry;
		return tracee_set_regs(pid, &regs, err);
	}
}

static int hold_at_entry(pid_t pid, struct hark_err *err)
{
	uint64_t entry = 0;
	long word;

	if (entry_of(pid, &entry, err) < 0)
		return -1;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
	if ((word == -1 && errno != 0) ||
	    ptrace(PTRACE_POKETEXT, pid, entry, (word & ~0xffL) | 0xcc) < 0)
		return err_set(err, HARK_EIO, errno,
			       "process %d: its entry point is out of reach",
			       (int)pid);
	if (run_to(pid, entry, err) < 0)
		return -1;
	ptrace(PTRACE_POKETEXT, pid, entry, word);
	return 0;
}

int hold_start(const struct launch *plan, pid_t *out, struct hark_err *err)
{
	pid_t pid;

	if (launch_start(plan, &pid, err) < 0)
		return -1;
	if (hold_at_entry(pid, err) < 0) {
		hold_end(pid);
		return -1;
	}
	*out = pid;
	return 0;
}
