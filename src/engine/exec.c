/* engine/exec.c - another program takes this one's place.
 *
 * The kernel carries mask, ignored and pending signals over into it: natively
 * they must be the program's own by then. And hark must be there to receive
 * the new program, so the thread asks first (wire/run.h).
 *
 * X1  Whatever is prepared is undone if execve fails.
 * X2  If a signal is held after hark has come, hark is sent away again by a
 *     call that cannot succeed, and everything starts over. */
#include "engine/call_priv.h"

#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "inside/sys.h"

enum {
	NR_EXECVE = 59,
	SLICE_NS = 20000000,
	LATER_NS = 1000000,
	LATEST_NS = 64000000
};

/* -- Asking ---------------------------------------------------------------- */

#define OWNER_DIED 0x40000000u
#define TID_MASK   0x3fffffffu

static int hark_lives(const struct wire_run *run)
{
	uint32_t word = __atomic_load_n(&run->hark_lock, __ATOMIC_ACQUIRE);

	return (word & TID_MASK) != 0 && !(word & OWNER_DIED);
}

static void wait_word(uint32_t *word, uint32_t value, uint64_t at_most_ns)
{
	const uint64_t slice[2] = {0, at_most_ns};

	sys_call(SYS_NR_FUTEX, (uint64_t)word, SYS_FUTEX_WAIT, value,
		 (uint64_t)slice, 0, 0);
}

static void wake_word(uint32_t *word)
{
	sys_call(SYS_NR_FUTEX, (uint64_t)word, SYS_FUTEX_WAKE, 0x7fffffff, 0, 0,
		 0);
}

/* NULL: hark is dead. A thread that runs reads its answer soon, so no answer is
 * replaced before there was time for that. */
static uint64_t *make_request(struct wire_run *run, uint64_t request)
{
	enum { PATIENCE = 100 };
	uint32_t nobody_wakes = 0;
	uint64_t *at = 0;

	for (unsigned i = 0; hark_lives(run); i++) {
		at = wire_ask_take(run->asks, run->ask_serial, request,
				   i > PATIENCE);
		if (at)
			break;
		wait_word(&nobody_wakes, 0, LATER_NS);
	}
	return at;
}

/* What hark says; ALONE if it is dead, LATER if another thread has taken the
 * word before the answer was read. */
static uint32_t ask_once(struct vcpu *v, struct wire_run *run)
{
	uint32_t serial =
	    __atomic_add_fetch(&run->ask_serial, 1, __ATOMIC_RELAXED);
	uint32_t pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	uint64_t request = wire_ask_of(pid, v->tid, serial), is;
	uint64_t *at = make_request(run, request);

	if (!at)
		return WIRE_ASK_ALONE;
	__atomic_fetch_add(&v->engine->channel->doorbell, 1, __ATOMIC_RELEASE);
	wake_word(&v->engine->channel->doorbell);
	while ((is = __atomic_load_n(at, __ATOMIC_ACQUIRE)) == request) {
		if (!hark_lives(run))
			return WIRE_ASK_ALONE;
		wait_word((uint32_t *)at, (uint32_t)request, SLICE_NS);
	}
	if (!wire_ask_same(is, request))
		return WIRE_ASK_LATER;
	request = is;
	__atomic_compare_exchange_n(at, &is, 0, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return wire_ask_state(request);
}

/* 1: hark is attached to this thread. Where another thread is on its way into
 * the next program, this one waits, as it would in the kernel: for its end, for
 * the other's failure, or for a signal. */
static int ask(struct vcpu *v)
{
	struct wire_run *run = v->engine->run;
	uint32_t state = WIRE_ASK_ALONE;
	uint64_t nap_ns = LATER_NS;

	while (run && !v->held) {
		uint32_t nobody_wakes = 0;

		state = ask_once(v, run);
		if (state != WIRE_ASK_LATER)
			break;
		wait_word(&nobody_wakes, 0, nap_ns);
		nap_ns = nap_ns < LATEST_NS ? 2 * nap_ns : nap_ns;
	}
	return state == WIRE_ASK_COMING;
}

/* -- Signals over exec ----------------------------------------------------- */

static void native_sync(uint64_t how, uint64_t set)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, how, (uint64_t)&set, 0, SET_SIZE, 0, 0);
}

static void give_back_sent(struct vcpu *v)
{
	struct sig_info info;

	while (sent_take(v, v->mask, &info) != 0)
		signal_give_back(v, &info);
}

static void expose(struct vcpu *v)
{
	native_sync(MASK_BLOCK, v->mask & SIG_SYNC);
	sighand_expose(v->sighand, 1);
	give_back_sent(v);
}

static void hide(struct vcpu *v)
{
	sighand_expose(v->sighand, 0);
	native_sync(MASK_UNBLOCK, SIG_SYNC);
}

/* Filters cannot be taken back: not for a file that is not there. */
static int is_hopeless(const struct call *c)
{
	enum { NR_FACCESSAT = 269, HERE = -100, EXECUTE = 1 };

	return c->nr == NR_EXECVE && sys_call3(NR_FACCESSAT, (uint64_t)HERE,
					       c->args[0], EXECUTE) != 0;
}

int64_t call_exec(struct vcpu *v, const struct call *c)
{
	int64_t answer;
	int came;

	if (v->held)
		return ENGINE_ABORTED;
	thread_count(v);
	expose(v);
	came = ask(v);
	if (v->filters && !v->held && !is_hopeless(c))
		filter_install(v);
	limits_expose(v, 0);
	answer = engine_guest_call(v, c->nr, c->args);
	limits_hide(v);
	if (answer == ENGINE_ABORTED && came) /* X2 */
		sys_call3(NR_EXECVE, 0, 0, 0);
	hide(v);
	return answer;
}
