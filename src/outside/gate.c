/* outside/gate.c - remote system calls; see the header. */
#include "outside/gate.h"

#include "outside/proc.h"
#include "outside/tracee.h"

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

static int all_zero(const uint8_t *bytes, size_t len)
{
	while (len > 0 && bytes[len - 1] == 0)
		len--;
	return len == 0;
}

/* One that was killed has no mappings at all. */
static int has_no_vdso(pid_t pid, pid_t tid, struct hark_err *err)
{
	if (!tracee_is_held(tid))
		return err_set(err, HARK_EGONE, ESRCH,
			       "thread %d ended meanwhile", tid);
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has no vdso to enter by (is the kernel "
		       "booted with vdso=0?)",
		       pid);
}

int gate_find(struct gate *g, pid_t pid, pid_t tid, int mem, unsigned number,
	      struct hark_err *err)
{
	struct gate fresh = {.pid = pid, .mem = mem};
	uint8_t there[GATE_MAX];
	struct proc_map vdso;

	_Static_assert(sizeof(struct gate_frame) == 88, "as in blob.S");
	if (gate_len() > GATE_MAX ||
	    frame_offset() + sizeof(struct gate_frame) != code_len())
		return err_set(err, HARK_EBUG, 0, "the gate does not fit");
	if (proc_mapping(pid, tid, "[vdso]", 0, &vdso) < 0 || !vdso.executable)
		return has_no_vdso(pid, tid, err);
	fresh.vdso_end = vdso.end;
	fresh.at = vdso.end - (number + 1ull) * GATE_MAX;
	if (mem_read(&fresh, fresh.at, there, gate_len(), err) < 0)
		return -1;
	fresh.was_there = memcmp(there, gate_start, frame_offset()) == 0;
	if (!fresh.was_there && !all_zero(there, gate_len()))
		return err_set(err, HARK_EREFUSE, 0,
			       "process %d: its vdso has no room to enter by",
			       pid);
	*g = fresh;
	return 0;
}

int gate_open(struct gate *g, pid_t tid, const struct user_regs_struct *home,
	      uint64_t home_mask, struct hark_err *err)
{
	if (write_gate(g, home, home_mask, err) < 0)
		return -1;
	g->tid = tid;
	g->in_place = 1;
	g->regs = *home;
	g->regs.rip = g->at;
	g->regs.orig_rax = ~0ull;
	g->regs.eflags &= ~0x100ull; /* TF */
	return 0;
}

int gate_erase(const struct gate *g, struct hark_err *err)
{
	static const uint8_t zeros[GATE_MAX];

	return mem_write(g, g->at, zeros, gate_len(), err);
}

/* SIGKILL alone takes a thread away here; everything else is reported. */
int gate_close(struct gate *g, uint64_t home_mask,
	       const struct user_regs_struct *registers, struct hark_err *err)
{
	int64_t deadline = tracee_now_ns() + CALL_LIMIT_MS * 1000000LL;
	int rc = 0;

	if (!g->in_place)
		return 0;
	if (g->wire != 0)
		tracee_set_mask(g->tid, ~0ull, NULL); /* G3 */
	if (tracee_settle(g->tid, deadline, err) < 0 ||
	    tracee_set_mask(g->tid, home_mask, err) < 0 ||
	    tracee_set_regs(g->tid, registers, err) < 0)
		rc = -1;
	/* Only now is nobody there any more. */
	if (rc == 0)
		rc = gate_erase(g, err);
	g->in_place = 0;
	return rc;
}

/* -- Calling -- */

/* From the call's first instruction to a stop behind it. */
static int run_call(const struct gate *g, int64_t *answer, struct hark_err *err)
{
	int64_t deadline = tracee_now_ns() + CALL_LIMIT_MS * 1000000LL;
	struct user_regs_struct r;

	if (g->wire != 0) {
		if (tracee_to_mask(g->pid, g->tid, g->wire, deadline, err) <
			0 ||
		    tracee_get_regs(g->tid, &r, err) < 0)
			return -1;
		*answer = (int64_t)r.r9; /* see blob.S */
		return 0;
	}
	for (int entry = 1; entry >= 0; entry--)
		if (tracee_to_call(g->tid, deadline, err) < 0)
			return -1;
	if (tracee_get_regs(g->tid, &r, err) < 0)
		return -1;
	*answer = (int64_t)r.rax;
	return 0;
}

int gate_call(struct gate *g, int64_t *answer, struct hark_err *err, long nr,
	      uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
	      uint64_t f)
{
	struct user_regs_struct r = g->regs;

	r.rax = (unsigned long long)nr;
	r.rdi = a;
	r.rsi = b;
	r.rdx = c;
	r.r10 = d;
	r.r8 = e;
	r.r9 = f;
	if (tracee_set_regs(g->tid, &r, err) < 0 ||
	    tracee_set_mask(g->tid, ~0ull, err) < 0)
		return -1;
	return run_call(g, answer, err);
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
