/* engine/memcall.c - calls that change what is mapped.
 *
 * What becomes executable is told to space.c after the call, what may stop
 * being what it was before it. The engine's own memory is not the program's
 * to change: there the call behaves as if something unmovable were mapped
 * (MAP_FIXED fails), or nothing at all (munmap passes by).
 *
 * A program may forbid itself memory that is both written and executed, or
 * that becomes code later (MDWE). The engine's own would be forbidden with it,
 * so it is the engine that refuses. Not as native: code that was code already
 * cannot be protected as such again, and exec forgets all of it.
 *
 * Memory can be written through a file, too (/proc/PID/mem), whatever its
 * protection. Descriptors that were opened as such are remembered; one that
 * has become something else meanwhile costs only time.
 *
 * M1  Between space_forget and the end of the call another thread may run
 *     code in the range; it finds none that it may translate and steps; that
 *     teaches space.c. So it is forgotten again behind the call. */
#include "engine/call_priv.h"

#include "engine/memory.h"
#include "engine/tape.h"
#include "inside/lockall.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum { PAGE = 4096 };
enum {
	NR_MMAP = 9,
	NR_MPROTECT = 10,
	NR_MUNMAP = 11,
	NR_MREMAP = 25,
	NR_BRK = 12,
	NR_MADVISE = 28,
	NR_PERSONALITY = 135,
	NR_MLOCKALL = 151,
	NR_MUNLOCKALL = 152,
	NR_REMAP_FILE_PAGES = 216,
	NR_PKEY_MPROTECT = 329,
};

static int is_own(const struct engine *e, uint64_t start, uint64_t len)
{
	struct span s = {start, start + len}, own;

	return s.end > s.start && memory_meets(e->memory, s, &own);
}

/* -- Locking in memory ----------------------------------------------------- */

static int meets_own(const void *ctx, uint64_t start, uint64_t end,
		     uint64_t out[2])
{
	struct span asked = {start, end}, own;

	if (start >= end || !memory_meets(ctx, asked, &own))
		return 0;
	out[0] = own.start > start ? own.start : start;
	out[1] = own.end;
	return 1;
}

static int64_t lock_range(uint64_t start, uint64_t len, uint64_t how)
{
	enum { NR_MLOCK2 = 325 };

	return sys_call3(NR_MLOCK2, start, len, how);
}

/* Shadows and rings of gigabytes, of which little is used, must neither be
 * locked nor counted: what is locked cannot be given back.
 *
 * What is mapped later would be locked with the engine's own memory, which the
 * program's limit has no room for. So with a limit the engine locks what the
 * program maps. */
static int64_t do_mlockall(struct vcpu *v, const struct call *c)
{
	struct engine *e = v->engine;
	const struct memory *m = e->memory;
	const struct lockall l = {
	    .meets = meets_own,
	    .ctx = m,
	    .own_bytes = m->total[MEMORY_LIMIT_AS],
	};
	uint64_t flags = c->args[0] & 0xffffffff, later = 0;
	int64_t answer;

	if (lockall_is_limited() && flags & LOCKALL_FUTURE && flags <= 7) {
		later = flags;
		flags &= ~(uint64_t)LOCKALL_FUTURE;
	}
	if (lockall_is_current(flags))
		answer = lockall(&l, flags);
	else if (later != 0)
		answer = lock_range(0, 0, 0); /* may it lock at all? */
	else
		answer = call_pass(v, c);
	if (answer == 0)
		e->lock_later = (uint32_t)later;
	return answer;
}

/* -1: the limit forbids it. What has no access cannot be brought into memory,
 * but is locked. */
static int lock_later(const struct engine *e, uint64_t start, uint64_t end)
{
	enum { ONFAULT = 1 };

	if (e->lock_later == 0 || start >= end)
		return 0;
	if (lock_range(start, end - start, ONFAULT) != 0)
		return -1;
	if (!(e->lock_later & LOCKALL_ONFAULT))
		lock_range(start, end - start, 0);
	return 0;
}

static int64_t do_munlockall(struct vcpu *v, const struct call *c)
{
	int64_t answer = call_pass(v, c);

	if (answer == 0)
		v->engine->lock_later = 0;
	return answer;
}

static int64_t do_brk(struct vcpu *v, const struct call *c)
{
	uint64_t before = (uint64_t)sys_call3(NR_BRK, 0, 0, 0);
	int64_t answer = call_pass(v, c);

	if (!sys_failed(answer) && answer != ENGINE_ABORTED)
		lock_later(v->engine, (before + PAGE - 1) & -(uint64_t)PAGE,
			   ((uint64_t)answer + PAGE - 1) & -(uint64_t)PAGE);
	return answer;
}

/* -- The calls ------------------------------------------------------------- */

static int64_t do_mmap(struct vcpu *v, const struct call *c)
{
	struct engine *e = v->engine;
	uint64_t at = c->args[0], len = c->args[1], flags = c->args[3];
	unsigned prot = (unsigned)c->args[2];
	int64_t answer;

	if (e->no_new_code && (prot & SYS_PROT_WRITE) && (prot & SYS_PROT_EXEC))
		return -ERR_ACCES;
	if (flags & SYS_MAP_FIXED) {
		if (is_own(e, at, len))
			return -ERR_NOMEM;
		space_forget(e, at, at + len);
	}
	answer = call_pass(v, c);
	if (sys_failed(answer) || answer == ENGINE_ABORTED)
		return answer;
	if (lock_later(e, (uint64_t)answer, (uint64_t)answer + len) < 0 &&
	    !(flags & SYS_MAP_FIXED)) {
		sys_unmap((uint64_t)answer, len);
		return -ERR_AGAIN;
	}
	space_forget(e, (uint64_t)answer, (uint64_t)answer + len);
	if (flags & SYS_MAP_SHARED)
		space_share(e, (uint64_t)answer, (uint64_t)answer + len);
	if (prot & SYS_PROT_EXEC || (e->read_is_exec && (prot & SYS_PROT_READ)))
		space_add(e, (uint64_t)answer, (uint64_t)answer + len,
			  (prot & SYS_PROT_WRITE ? SPACE_WRITE : 0) |
			      (flags & SYS_MAP_SHARED ? SPACE_SHARED : 0));
	if (v->tape && !(flags & SYS_MAP_ANONYMOUS))
		tape_map(v, (uint64_t)answer, len, prot, flags, c->args[4],
			 c->args[5]);
	return answer;
}

static int64_t do_mprotect(struct vcpu *v, const struct call *c)
{
	struct engine *e = v->engine;
	uint64_t at = c->args[0], end = at + c->args[1];
	unsigned prot = (unsigned)c->args[2];
	int64_t answer;

	if (e->no_new_code && (prot & SYS_PROT_EXEC))
		return -ERR_ACCES;
	if (is_own(e, at, c->args[1]))
		return -ERR_NOMEM;
	space_forget(e, at, end);
	answer = call_pass(v, c);
	space_forget(e, at, end);
	if (answer != 0 || !(prot & SYS_PROT_EXEC))
		return answer;
	space_add(e, at, end,
		  (prot & SYS_PROT_WRITE ? SPACE_WRITE : 0) |
		      (space_is_shared(e, at, end) ? SPACE_SHARED : 0));
	return answer;
}

/* Around whatever of the range is the engine's. */
static int64_t unmap_parts(struct vcpu *v, const struct call *c, struct span s)
{
	const struct engine *e = v->engine;
	struct call part = *c;
	struct span own;
	int64_t answer;

	while (memory_meets(e->memory, s, &own)) {
		part.args[0] = s.start;
		part.args[1] = own.start - s.start;
		answer = own.start > s.start ? call_pass(v, &part) : 0;
		if (answer != 0 || own.end >= s.end)
			return answer;
		s.start = own.end;
	}
	part.args[0] = s.start;
	part.args[1] = s.end - s.start;
	return call_pass(v, &part);
}

static int64_t do_munmap(struct vcpu *v, const struct call *c)
{
	struct span s = {c->args[0], c->args[0] + c->args[1]};
	int64_t answer;

	if (s.end <= s.start || (s.start & (PAGE - 1)))
		return call_pass(v, c);
	space_forget(v->engine, s.start, s.end);
	answer = unmap_parts(v, c, s);
	space_forget(v->engine, s.start, s.end);
	if (v->tape && answer == 0)
		tape_unmap(v, s.start, s.end - s.start);
	return answer;
}

static int64_t do_mremap(struct vcpu *v, const struct call *c)
{
	enum { FIXED = 2 };
	struct engine *e = v->engine;
	int64_t answer;

	if (is_own(e, c->args[0], c->args[1]))
		return -ERR_FAULT;
	if (c->args[3] & FIXED) {
		if (is_own(e, c->args[4], c->args[2]))
			return -ERR_NOMEM;
		space_forget(e, c->args[4], c->args[4] + c->args[2]);
	}
	space_forget(e, c->args[0], c->args[0] + c->args[1]);
	answer = call_pass(v, c);
	space_forget(e, c->args[0], c->args[0] + c->args[1]);
	return answer;
}

static int64_t do_madvise(struct vcpu *v, const struct call *c)
{
	enum { DONTNEED = 4, FREE = 8, REMOVE = 9, DONTNEED_LOCKED = 24 };
	uint64_t how = (uint32_t)c->args[2];

	if (how != DONTNEED && how != FREE && how != REMOVE &&
	    how != DONTNEED_LOCKED)
		return call_pass(v, c);
	if (is_own(v->engine, c->args[0], c->args[1]))
		return -ERR_NOMEM;
	space_forget(v->engine, c->args[0], c->args[0] + c->args[1]);
	return call_pass(v, c);
}

static int64_t do_personality(struct vcpu *v, const struct call *c)
{
	enum { READ_IMPLIES_EXEC = 0x400000 };
	uint32_t wanted = (uint32_t)c->args[0];
	int64_t answer = call_pass(v, c);

	if (answer >= 0 && wanted != 0xffffffffu)
		v->engine->read_is_exec = (wanted & READ_IMPLIES_EXEC) != 0;
	return answer;
}

int64_t call_memory(struct vcpu *v, const struct call *c)
{
	switch (c->nr) {
	case NR_MMAP:
		return do_mmap(v, c);
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		return do_mprotect(v, c);
	case NR_MUNMAP:
		return do_munmap(v, c);
	case NR_MREMAP:
		return do_mremap(v, c);
	case NR_MADVISE:
		return do_madvise(v, c);
	case NR_BRK:
		return v->engine->lock_later ? do_brk(v, c) : call_pass(v, c);
	case NR_MLOCKALL:
		return do_mlockall(v, c);
	case NR_MUNLOCKALL:
		return do_munlockall(v, c);
	case NR_PERSONALITY:
		return do_personality(v, c);
	case NR_REMAP_FILE_PAGES:
		space_forget(v->engine, c->args[0], c->args[0] + c->args[1]);
		return call_pass(v, c);
	default:
		return call_pass(v, c);
	}
}

int64_t call_mdwe(struct vcpu *v, const struct call *c)
{
	enum { GET = 66, REFUSE = 1, NO_INHERIT = 2 };
	struct engine *e = v->engine;
	uint64_t wanted = c->args[1];

	if (c->args[2] || c->args[3] || c->args[4])
		return -ERR_INVAL;
	if (c->args[0] == GET)
		return wanted ? -ERR_INVAL : (int64_t)e->no_new_code;
	if (wanted & ~(uint64_t)(REFUSE | NO_INHERIT) || wanted == NO_INHERIT)
		return -ERR_INVAL;
	if (e->no_new_code && e->no_new_code != wanted)
		return -ERR_PERM;
	e->no_new_code = (uint32_t)wanted;
	return 0;
}

/* -- Memory as a file ------------------------------------------------------ */

enum {
	NR_WRITE = 1,
	NR_OPEN = 2,
	NR_LSEEK = 8,
	NR_PWRITE = 18,
	NR_WRITEV = 20,
	NR_PWRITEV = 296,
	NR_PWRITEV2 = 328,
};

/* Does the path look like /proc/.../mem? */
static int is_mem(uint64_t path)
{
	static const char head[6] = "/proc/", tail[4] = "/mem";
	char text[64] = "";
	unsigned len = 0;

	guest_copy(text, (const void *)path, sizeof text - 1);
	while (text[len])
		len++;
	return len > sizeof head + sizeof tail &&
	       memcmp(text, head, sizeof head) == 0 &&
	       memcmp(text + len - sizeof tail, tail, sizeof tail) == 0;
}

int64_t call_open(struct vcpu *v, const struct call *c)
{
	uint64_t path = c->args[c->nr == NR_OPEN ? 0 : 1];
	int64_t answer = call_pass(v, c);

	if (answer >= 0 && answer < ENGINE_MEM_FDS && is_mem(path))
		v->engine->mem_fds[answer / 64] |= 1ull << answer % 64;
	return answer;
}

int call_writes_memory(const struct vcpu *v, const struct call *c)
{
	uint64_t fd = (uint32_t)c->args[0];

	return fd < ENGINE_MEM_FDS &&
	       (v->engine->mem_fds[fd / 64] >> fd % 64 & 1);
}

int64_t call_write(struct vcpu *v, const struct call *c)
{
	enum { FROM_HERE = 1 };
	int64_t answer = call_pass(v, c), at = (int64_t)c->args[3];

	if (answer <= 0)
		return answer;
	if (c->nr == NR_WRITE || c->nr == NR_WRITEV)
		at = sys_call3(NR_LSEEK, c->args[0], 0, FROM_HERE) - answer;
	space_forget(v->engine, (uint64_t)at, (uint64_t)(at + answer));
	return answer;
}
