/* outside/mend.c - the handler, there and gone; its code is in blob.S. */
#include "outside/mend.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const uint8_t mend_code[], mend_restorer[], mend_data_at[],
    mend_code_end[];

/* As the kernel has it. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/* ORDER mend_data: as blob.S lays it out. */
struct mend_data {
	struct mend_place places[MEND_PLACES];
	struct kernel_action ours, theirs;
};

enum { PATIENCE_MS = 2000 };

static size_t code_len(void)
{
	return (size_t)(mend_code_end - mend_code);
}

static size_t data_offset(void)
{
	return (size_t)(mend_data_at - mend_code);
}

/* Behind execve a signal is ignored, or it is not. */
static uint64_t disposition_of(pid_t pid)
{
	uint64_t ignored = 0;

	proc_status(pid, pid, "SigIgn", 16, &ignored);
	return ignored >> (SIGTRAP - 1) & 1 ? (uint64_t)SIG_IGN
					    : (uint64_t)SIG_DFL;
}

static void see_protection(void *ctx, const struct proc_map *m)
{
	struct mend_place *p = ctx;

	for (unsigned i = 0; i < MEND_PLACES; i++)
		if (p[i].at >= m->start && p[i].at < m->end)
			p[i].prot = (uint8_t)((m->readable ? PROT_READ : 0) |
					      (m->writable ? PROT_WRITE : 0) |
					      (m->executable ? PROT_EXEC : 0));
}

static int write_it(const struct mend *m,
		    const struct mend_place places[MEND_PLACES])
{
	enum { INFO = 0x4, RESTORER = 0x04000000 };
	struct mend_data d = {
	    .ours = {.handler = m->at,
		     .flags = INFO | RESTORER,
		     .restorer = m->at + (size_t)(mend_restorer - mend_code)},
	    .theirs = {.handler = disposition_of(m->gate.pid)},
	};
	uint8_t bytes[GATE_MAX];

	if (code_len() > GATE_MAX || data_offset() + sizeof d != code_len())
		return -1;
	memcpy(d.places, places, sizeof d.places);
	if (proc_mappings(m->gate.pid, 0, see_protection, d.places) < 0)
		return -1;
	memcpy(bytes, mend_code, code_len());
	memcpy(bytes + data_offset(), &d, sizeof d);
	return pwrite(m->mem, bytes, code_len(), (off_t)m->at) ==
		       (ssize_t)code_len()
		   ? 0
		   : -1;
}

/* rt_sigaction(SIGTRAP, what is at so many bytes behind the code). */
static int set_action(struct mend *m, size_t offset, struct hark_err *err)
{
	pid_t pid = m->gate.pid;
	struct user_regs_struct home;
	uint64_t mask;
	int64_t answer = -1;
	int rc;

	if (tracee_get_regs(pid, &home, err) < 0 ||
	    tracee_get_mask(pid, &mask, err) < 0 ||
	    gate_open(&m->gate, pid, &home, mask, err) < 0)
		return -1;
	rc = gate_call(&m->gate, &answer, err, SYS_rt_sigaction, SIGTRAP,
		       m->at + data_offset() + offset, 0, sizeof mask, 0, 0);
	if (gate_close(&m->gate, mask, &home, err) < 0 || rc < 0)
		return -1;
	return answer == 0 ? 0
			   : err_set(err, HARK_EDENIED, (int)-answer,
				     "process %d: its beginning cannot be "
				     "guarded",
				     (int)pid);
}

/* The uppermost place for gates: the last one to be needed for one. */
static int find_place(struct mend *m, pid_t pid)
{
	struct gate above;

	if (gate_find(&m->gate, pid, pid, m->mem, 0, NULL) < 0 ||
	    gate_find(&above, pid, pid, m->mem, GATE_PLACES - 1, NULL) < 0 ||
	    m->gate.was_there || above.was_there)
		return -1;
	m->at = above.at;
	return 0;
}

void mend_begin(struct mend *m, pid_t pid,
		const struct mend_place places[MEND_PLACES])
{
	int64_t deadline = tracee_now_ns() + PATIENCE_MS * 1000000LL;

	*m = (struct mend){.mem = -1};
	if (tracee_settle(pid, deadline, NULL) < 0)
		return;
	m->mem = proc_open(pid, pid, "mem", O_RDWR | O_CLOEXEC);
	if (m->mem < 0)
		return;
	if (find_place(m, pid) == 0 && write_it(m, places) == 0 &&
	    set_action(m, offsetof(struct mend_data, ours), NULL) == 0)
		return;
	close(m->mem);
	m->mem = -1;
}

int mend_end(struct mend *m, struct hark_err *err)
{
	static const uint8_t zeros[GATE_MAX];
	int rc = 0;

	if (m->mem < 0)
		return 0;
	rc = set_action(m, offsetof(struct mend_data, theirs), err);
	if (rc == 0 && pwrite(m->mem, zeros, code_len(), (off_t)m->at) < 0)
		rc = err_set(err, HARK_EIO, 0,
			     "process %d: cannot write to its vdso",
			     (int)m->gate.pid);
	close(m->mem);
	m->mem = -1;
	return rc;
}
