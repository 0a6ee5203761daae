/* outside/gate.c - remote system calls; see the header. */
#include "outside/gate.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

extern const uint8_t gate_start[], gate_frame_at[], gate_end[];

/* ORDER gate_frame: as blob.S lays it out. */
struct gate_frame {
	uint64_t mask, rip, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11;
};

enum { TEXT_LEN = 32, CALL_LIMIT_MS = 2000 };

static size_t code_len(void)
{
	return (size_t)(gate_end - gate_start);
}

static size_t frame_offset(void)
{
	return (size_t)(gate_frame_at - gate_start);
}

static size_t gate_len(void)
{
	return code_len() + TEXT_LEN;
}

/* -- Memory -- */

static int mem_read(const struct gate *g, uint64_t at, void *out, size_t len,
		    struct hark_err *err)
{
	if (pread(g->mem, out, len, (off_t)at) == (ssize_t)len)
		return 0;
	return err_set(err, HARK_EIO, errno,
		       "process %d: cannot read %zu bytes at 0x%lx", g->pid,
		       len, (unsigned long)at);
}

static int mem_write(const struct gate *g, uint64_t at, const void *from,
		     size_t len, struct hark_err *err)
{
	if (pwrite(g->mem, from, len, (off_t)at) == (ssize_t)len)
		return 0;
	return err_set(err, HARK_EIO, errno,
		       "process %d: cannot write %zu bytes at 0x%lx", g->pid,
		       len, (unsigned long)at);
}

/* The end of the vdso's last page, if nothing but zeros is there. */
static int find_room(struct gate *g, struct hark_err *err)
{
	uint64_t vdso = proc_auxv(g->pid, AT_SYSINFO_EHDR), start, end;

	if (vdso == 0 || proc_mapping(g->pid, vdso, &start, &end) < 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d has no vdso to enter by (is the "
			       "kernel booted with vdso=0?)",
			       g->pid);
	g->at = (end - gate_len()) & ~15ull;
	if (mem_read(g, g->at, g->before, gate_len(), err) < 0)
		return -1;
	for (size_t i = 0; i < gate_len(); i++)
		if (g->before[i] != 0)
			return err_set(err, HARK_EREFUSE, 0,
				       "process %d: its vdso has no room to "
				       "enter by",
				       g->pid);
	return 0;
}

static int write_gate(const struct gate *g, const struct user_regs_struct *home,
		      uint64_t mask, struct hark_err *err)
{
	struct gate_frame f = {
	    .mask = mask,
	    .rip = home->rip,
	    .rax = home->rax,
	    .rcx = home->rcx,
	    .rdx = home->rdx,
	    .rsi = home->rsi,
	    .rdi = home->rdi,
	    .r8 = home->r8,
	    .r9 = home->r9,
	    .r10 = home->r10,
	    .r11 = home->r11,
	};
	uint8_t bytes[GATE_MAX];

	memcpy(bytes, gate_start, code_len());
	memcpy(bytes + frame_offset(), &f, sizeof f);
	return mem_write(g, g->at, bytes, code_len(), err);
}

/* -- Opening and closing -- */

int gate_open(struct gate *g, pid_t pid, pid_t tid, int mem,
	      const struct user_regs_struct *home, uint64_t home_mask,
	      struct hark_err *err)
{
	_Static_assert(sizeof(struct gate_frame) == 88, "as in blob.S");
	struct gate fresh = {
	    .pid = pid, .tid = tid, .mem = mem, .at = g->at, .regs = *home};

	if (gate_len() > GATE_MAX ||
	    frame_offset() + sizeof(struct gate_frame) != code_len())
		return err_set(err, HARK_EBUG, 0, "the gate does not fit");
	if ((fresh.at == 0 && find_room(&fresh, err) < 0) ||
	    write_gate(&fresh, home, home_mask, err) < 0)
		return -1;
	fresh.in_place = 1;
	fresh.regs.rip = fresh.at;
	fresh.regs.orig_rax = ~0ull;
	fresh.regs.eflags &= ~0x100ull; /* TF */
	*g = fresh;
	return 0;
}

/* SIGKILL alone takes a thread away here; everything else is reported. */
int gate_close(struct gate *g, uint64_t home_mask,
	       const struct user_regs_struct *registers, struct hark_err *err)
{
	int64_t deadline = tracee_now_ns() + CALL_LIMIT_MS * 1000000LL;
	int rc = 0;

	if (!g->in_place)
		return 0;
	if (tracee_settle(g->tid, deadline, err) < 0 ||
	    tracee_set_mask(g->tid, home_mask, err) < 0 ||
	    tracee_set_regs(g->tid, registers, err) < 0)
		rc = -1;
	/* Only now is nobody there any more. */
	if (rc == 0)
		rc = mem_write(g, g->at, g->before, gate_len(), err);
	g->in_place = 0;
	return rc;
}

/* -- Calling -- */

/* Run to the next system call stop. */
static int to_syscall_stop(struct gate *g, int64_t deadline,
			   struct hark_err *err)
{
	int status;

	do {
		if (ptrace(PTRACE_SYSCALL, g->tid, 0, 0) < 0)
			return err_set(err, HARK_EGONE, errno,
				       "thread %d ended meanwhile", g->tid);
		if (tracee_wait(g->tid, deadline, &status, err) < 0)
			return -1;
		if (!WIFSTOPPED(status))
			return err_set(err, HARK_EGONE, 0,
				       "thread %d ended meanwhile", g->tid);
		if (WSTOPSIG(status) == SIGSTOP && tracee_event(status) == 0)
			g->stop_seen = 1;
	} while (!tracee_is_syscall_stop(status));
	return 0;
}

int gate_call(struct gate *g, int64_t *answer, struct hark_err *err, long nr,
	      uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
	      uint64_t f)
{
	int64_t deadline = tracee_now_ns() + CALL_LIMIT_MS * 1000000LL;
	struct user_regs_struct r = g->regs;

	r.rax = (unsigned long long)nr;
	r.rdi = a;
	r.rsi = b;
	r.rdx = c;
	r.r10 = d;
	r.r8 = e;
	r.r9 = f;
	if (tracee_set_regs(g->tid, &r, err) < 0 ||
	    tracee_set_mask(g->tid, ~0ull, err) < 0 ||
	    to_syscall_stop(g, deadline, err) < 0 ||
	    to_syscall_stop(g, deadline, err) < 0 ||
	    tracee_get_regs(g->tid, &r, err) < 0)
		return -1;
	*answer = (int64_t)r.rax;
	return 0;
}

int gate_text(struct gate *g, const char *text, uint64_t *address,
	      struct hark_err *err)
{
	char padded[TEXT_LEN] = {0};
	uint64_t at = g->at + code_len();

	for (size_t i = 0; i + 1 < sizeof padded && text[i] != '\0'; i++)
		padded[i] = text[i];
	if (mem_write(g, at, padded, sizeof padded, err) < 0)
		return -1;
	*address = at;
	return 0;
}
