/* engine/freeze.c - the last moments of a process that dies with a core file.
 *
 * The core shows the registers of all threads. So before one of them ends the
 * process, the others are sent back into the program's own code, with their
 * own registers, every signal blocked. There they run natively for the moment
 * that is left, or wait again in the call that they waited in.
 *
 * They are asked by a signal that is never blocked, with a siginfo that nobody
 * else makes. A thread that does not come in time is left as it is.
 *
 * A thread that is sent back in the middle of pthread_create makes one that the
 * engine does not know, with its signals open. So those signals are natively
 * the program's from then on: for the moment that is left its handlers may run
 * natively, too. */
#include "engine/signal_priv.h"

#include "engine/sighand.h"
#include "inside/sys.h"

enum { CODE_QUEUE = -1, NR_NANOSLEEP = 35 };

static uint64_t secret(const struct engine *e)
{
	return (uint64_t)e ^ 0x6b7261682d676f6full;
}

int freeze_is_asked(const struct vcpu *v, const struct sig_info *info)
{
	return info->signo == SIG_TRAP && info->code == CODE_QUEUE &&
	       info->value == secret(v->engine);
}

/* How many are not there yet. Each is asked once, as soon as it has a tid. */
static int ask_others(const struct vcpu *v, uint64_t pid)
{
	struct sig_info info = {
	    .signo = SIG_TRAP, .code = CODE_QUEUE, .value = secret(v->engine)};
	int missing = 0;

	for (struct vcpu *u = v->engine->vcpus; u; u = u->next) {
		if (u == v || !u->slot_state || u->sighand != v->sighand ||
		    __atomic_load_n(&u->frozen, __ATOMIC_ACQUIRE))
			continue;
		missing++;
		if (u->tid == 0 || u->freezing)
			continue;
		u->freezing = 1;
		sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid, u->tid, SIG_TRAP,
			 (uint64_t)&info, 0, 0);
	}
	return missing;
}

void freeze_others(struct vcpu *v)
{
	enum { TRIES = 1000 };
	const uint64_t moment[2] = {0, 200000};
	uint64_t pid = (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);

	if (v->engine->n_threads < 2 || v->is_process)
		return;
	sighand_leave(v->sighand, ~SIG_SYNC);
	for (int i = 0; i < TRIES && ask_others(v, pid) > 0; i++)
		sys_call3(NR_NANOSLEEP, (uint64_t)moment, 0, 0);
}

void freeze_now(struct caught *c)
{
	struct vcpu *v = c->v;

	signal_get_state(v, c->uc->context.gregs);
	c->uc->mask = SIG_ALL;
	c->gs = v->gs_base;
	__atomic_store_n(&v->frozen, 1, __ATOMIC_RELEASE);
}
