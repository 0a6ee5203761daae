/* engine/limitcall.c - limits of memory that the program sets itself.
 *
 * RLIMIT_AS and RLIMIT_DATA count the engine's memory, too, which is gigabytes
 * where it records. So the kernel is told more than the program says, and the
 * program is told what it said.
 *
 * U1  The kernel's soft limit is the program's plus all that the engine has
 *     mapped (memory.c). Its hard limit stays as it was.
 * U2  What is executed next gets the program's own limits; the hard one only if
 *     it could be raised again, should the call fail.
 * U3  A child of vfork has limits of its own, but its parent's memory: what it
 *     sets is the kernel's business, as it will execute something soon. */
#include "engine/call_priv.h"

#include "engine/memory.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum { NR_GETRLIMIT = 97, NR_SETRLIMIT = 160, NR_PRLIMIT = 302 };
enum { LIMIT_DATA = 2, LIMIT_AS = 9 };

/* What the call is about: as prlimit has it. */
struct asked {
	uint64_t pid, resource, set, out;
};

static struct asked what_is_asked(const struct call *c)
{
	if (c->nr == NR_PRLIMIT)
		return (struct asked){(uint32_t)c->args[0],
				      (uint32_t)c->args[1], c->args[2],
				      c->args[3]};
	if (c->nr == NR_SETRLIMIT)
		return (struct asked){0, (uint32_t)c->args[0], c->args[1], 0};
	return (struct asked){0, (uint32_t)c->args[0], 0, c->args[1]};
}

/* MEMORY_LIMIT_, or -1: another process's, or another limit. */
static int which_is_asked(const struct vcpu *v, const struct asked *a)
{
	if (a->pid != 0 && a->pid != v->tid &&
	    a->pid != (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0))
		return -1;
	if (a->resource == LIMIT_AS)
		return MEMORY_LIMIT_AS;
	return a->resource == LIMIT_DATA ? MEMORY_LIMIT_DATA : -1;
}

static int may_raise(void)
{
	enum { NR_CAPGET = 125, VERSION_3 = 0x20080522, SYS_RESOURCE = 24 };
	uint32_t head[2] = {VERSION_3, 0};
	uint32_t sets[6] = {0}; /* effective, permitted, inheritable; twice */

	return sys_call3(NR_CAPGET, (uint64_t)head, (uint64_t)sets, 0) == 0 &&
	       sets[0] >> SYS_RESOURCE & 1;
}

/* What the program believes it is. */
static struct rlimit64 limit_now(const struct vcpu *v, int which)
{
	const struct memory_limit *l = &v->engine->memory->limits[which];
	struct rlimit64 now = l->own;

	if (!l->is_set)
		memory_rlimit((unsigned)which, 0, &now);
	return now;
}

static int64_t set_limit(struct vcpu *v, int which, struct rlimit64 wanted)
{
	struct memory *m = v->engine->memory;
	struct memory_limit *l = &m->limits[which];
	struct rlimit64 now = limit_now(v, which), real = {0};

	if (wanted.cur > wanted.max)
		return -ERR_INVAL;
	if (wanted.max > now.max) {
		if (!may_raise())
			return -ERR_PERM;
		if (memory_rlimit((unsigned)which, 0, &real) == 0 &&
		    wanted.max > real.max) {
			real.max = wanted.max;
			memory_rlimit((unsigned)which, &real, 0);
		}
	}
	l->own = wanted;
	__atomic_store_n(&l->is_set, 1, __ATOMIC_RELEASE);
	memory_allow(m, 0);
	return 0;
}

int64_t call_limit(struct vcpu *v, const struct call *c)
{
	struct asked a = what_is_asked(c);
	int which = which_is_asked(v, &a);
	struct rlimit64 now, wanted = {0};
	int64_t answer = 0;

	if (which < 0 || v->own_limits >> which & 1)
		return call_pass(v, c);
	if (v->is_process && a.set != 0) { /* U3 */
		v->own_limits |= 1u << which;
		return call_pass(v, c);
	}
	now = limit_now(v, which);
	if (a.set != 0) {
		if (guest_copy(&wanted, (const void *)a.set, sizeof wanted) !=
		    0)
			return -ERR_FAULT;
		answer = set_limit(v, which, wanted);
	}
	if (answer != 0 || (a.out == 0 && c->nr != NR_GETRLIMIT))
		return answer;
	return guest_copy((void *)a.out, &now, sizeof now) == 0 ? 0
								: -ERR_FAULT;
}

static int is_virtual(const struct vcpu *v, unsigned which)
{
	return v->engine->memory->limits[which].is_set &&
	       !(v->own_limits >> which & 1);
}

/* U2 */
void limits_expose(struct vcpu *v, int for_good)
{
	for (unsigned i = 0; i < MEMORY_LIMITS; i++) {
		struct rlimit64 real = {0},
				own = v->engine->memory->limits[i].own;

		if (!is_virtual(v, i) || memory_rlimit(i, 0, &real) != 0)
			continue;
		if (!for_good && !may_raise())
			own.max = real.max;
		v->hard_limits[i] = real.max;
		memory_rlimit(i, &own, 0);
	}
}

void limits_hide(struct vcpu *v)
{
	for (unsigned i = 0; i < MEMORY_LIMITS; i++) {
		struct rlimit64 own = v->engine->memory->limits[i].own;

		own.max = v->hard_limits[i];
		if (is_virtual(v, i))
			memory_rlimit(i, &own, 0);
	}
	memory_allow(v->engine->memory, 0);
}
