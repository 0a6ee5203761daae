/* engine/sighand.c - dispositions: the program's, and what the kernel is told.
 *
 * H1  A signal that the program handles, and every synchronous one, has the
 *     engine's handler natively.
 * H2  A signal that it ignores or leaves to its default has just that
 *     natively, unless H1 says otherwise or the default is a core file.
 *
 * Threads: one lock; handlers take it only where no lock can be held. */
#include "engine/sighand.h"

#include "engine/memory.h"
#include "inside/sys.h"

extern const uint8_t engine_handler[] __attribute__((visibility("hidden")));
extern const uint8_t engine_restorer[] __attribute__((visibility("hidden")));

static int64_t native_action(int sig, const struct sig_action *new,
			     struct sig_action *out)
{
	return sys_call(SYS_NR_RT_SIGACTION, (uint64_t)sig, (uint64_t) new,
			(uint64_t)out, SET_SIZE, 0, 0);
}

static int is_engines(const struct sig_action *a, int sig)
{
	uint64_t bit = SIG_BIT(sig);

	if (a->handler == SIG_IS_DEFAULT)
		return (bit & SIG_CORE) != 0;
	return a->handler != SIG_IS_IGNORED || (bit & SIG_SYNC) != 0;
}

/* SA_NODEFER: a fault in the handler of a fault must be seen; what else may
 * come is in the mask. What the program ignores must not end its calls. */
static void install(const struct sig_action *a, int sig)
{
	struct sig_action native = *a;

	if (is_engines(a, sig)) {
		native.handler = (uint64_t)engine_handler;
		native.restorer = (uint64_t)engine_restorer;
		native.mask = SIG_ALL & ~SIG_SYNC;
		native.flags =
		    ACT_SIGINFO | ACT_ONSTACK | ACT_RESTORER | ACT_NODEFER;
		native.flags |=
		    a->flags & (ACT_RESTART | ACT_NOCLDSTOP | ACT_NOCLDWAIT);
		if (a->handler == SIG_IS_IGNORED)
			native.flags |= ACT_RESTART;
	}
	native_action(sig, &native, 0);
}

struct sighand *sighand_new(struct memory *m)
{
	struct sighand *s = memory_map(m, sizeof *s);

	if (!s)
		return 0;
	s->refs = 1;
	s->memory = m;
	return s;
}

void sighand_take(struct sighand *s)
{
	for (int sig = 1; sig <= SIG_MAX; sig++) {
		native_action(sig, 0, &s->action[sig - 1]);
		if (is_engines(&s->action[sig - 1], sig))
			install(&s->action[sig - 1], sig);
	}
}

struct sighand *sighand_copy(struct sighand *from)
{
	struct sighand *s = sighand_new(from->memory);

	if (!s)
		return 0;
	engine_lock(&from->lock);
	for (int i = 0; i < SIG_MAX; i++)
		s->action[i] = from->action[i];
	engine_unlock(&from->lock);
	return s;
}

struct sighand *sighand_share(struct sighand *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void sighand_drop(struct sighand *s)
{
	if (s && __atomic_fetch_sub(&s->refs, 1, __ATOMIC_ACQ_REL) == 1)
		memory_unmap(s->memory, s, sizeof *s);
}

void sighand_clear(struct sighand *s)
{
	for (int sig = 1; sig <= SIG_MAX; sig++) {
		struct sig_action *a = &s->action[sig - 1];

		if (a->handler != SIG_IS_IGNORED)
			*a = (struct sig_action){0};
		if (is_engines(a, sig))
			install(a, sig);
	}
}

struct sig_action sighand_get(struct sighand *s, int sig)
{
	struct sig_action a;

	engine_lock(&s->lock);
	a = s->action[sig - 1];
	engine_unlock(&s->lock);
	return a;
}

struct sig_action sighand_use(struct sighand *s, int sig)
{
	struct sig_action *at = &s->action[sig - 1];
	struct sig_action a;

	engine_lock(&s->lock);
	a = *at;
	if (a.handler > SIG_IS_IGNORED && (a.flags & ACT_RESETHAND)) {
		at->handler = SIG_IS_DEFAULT;
		install(at, sig);
	}
	engine_unlock(&s->lock);
	return a;
}

void sighand_set(struct sighand *s, int sig, const struct sig_action *new,
		 struct sig_action *out)
{
	struct sig_action *at = &s->action[sig - 1];

	engine_lock(&s->lock);
	*out = *at;
	if (new) {
		*at = *new;
		at->flags &= ACT_KNOWN;
		at->mask &= ~SIG_UNBLOCKABLE;
		install(at, sig);
	}
	engine_unlock(&s->lock);
}

void sighand_default(int sig)
{
	struct sig_action native = {.handler = SIG_IS_DEFAULT};

	native_action(sig, &native, 0);
}

void sighand_leave(struct sighand *s, uint64_t set)
{
	for (int sig = 1; sig <= SIG_MAX; sig++)
		if (set & SIG_BIT(sig) && is_engines(&s->action[sig - 1], sig))
			native_action(sig, &s->action[sig - 1], 0);
}

void sighand_expose(struct sighand *s, int exposed)
{
	for (int sig = 1; sig <= SIG_MAX; sig++) {
		struct sig_action a = sighand_get(s, sig);

		if (a.handler != SIG_IS_IGNORED || !(SIG_BIT(sig) & SIG_SYNC))
			continue;
		if (exposed)
			native_action(sig, &a, 0);
		else
			install(&a, sig);
	}
}
