/* engine/place.c - what was a thread doing when a signal met it?
 *
 * Its rip says it. The labels are those of cross.S, handler.S and single.S; the
 * windows between them are where a signal must not be overlooked. */
#include "engine/place.h"

#include "engine/cache.h"

#define LABEL(name) \
	extern const uint8_t name[] __attribute__((visibility("hidden")))
LABEL(engine_check_back);
LABEL(engine_check_end);
LABEL(engine_call_check);
LABEL(engine_call_end);
LABEL(engine_call_abort);
LABEL(engine_deliver_insn);
LABEL(engine_enter_begin);
LABEL(engine_enter_end);
LABEL(engine_enter_redo);
LABEL(engine_resume);
LABEL(guest_copy_begin);
LABEL(guest_copy_end);
LABEL(guest_copy_fault);
LABEL(guest_tsc_begin);
LABEL(guest_tsc_end);
LABEL(guest_words_begin);
LABEL(guest_words_end);
LABEL(signal_return_check);
LABEL(signal_return_end);
LABEL(signal_return_abort);
LABEL(step_enter_begin);
LABEL(step_enter_iret);

static int within(uint64_t rip, const uint8_t *start, const uint8_t *end)
{
	return rip >= (uint64_t)start && rip < (uint64_t)end;
}

enum engine_place engine_place(const struct vcpu *v, uint64_t rip)
{
	const struct engine *e = v->engine;

	if (cache_contains(e->cache, rip))
		return AT_CACHE;
	if (rip < e->image_start || rip >= e->image_end)
		return v->step_kind != 0 ? AT_STEP : AT_ENGINE;
	if (within(rip, engine_enter_begin, engine_enter_end) ||
	    within(rip, engine_call_check, engine_call_end) ||
	    within(rip, signal_return_check, signal_return_end) ||
	    within(rip, step_enter_begin, step_enter_iret + 1))
		return AT_WINDOW;
	if (within(rip, guest_copy_begin, guest_copy_end) ||
	    within(rip, guest_words_begin, guest_words_end) ||
	    within(rip, guest_tsc_begin, guest_tsc_end))
		return AT_GUARDED;
	if (rip == (uint64_t)engine_deliver_insn)
		return AT_DELIVER;
	if (within(rip, engine_check_back, engine_check_end))
		return AT_MISS;
	return AT_ENGINE;
}

uint64_t engine_redo(uint64_t rip)
{
	if (within(rip, engine_call_check, engine_call_end))
		return (uint64_t)engine_call_abort;
	if (within(rip, signal_return_check, signal_return_end))
		return (uint64_t)signal_return_abort;
	return (uint64_t)engine_enter_redo;
}

uint64_t engine_guard_exit(void)
{
	return (uint64_t)guest_copy_fault;
}

uint64_t engine_resume_rip(void)
{
	return (uint64_t)engine_resume;
}

uint64_t place_call_end(void)
{
	return (uint64_t)engine_call_end;
}

uint64_t place_call(void)
{
	return (uint64_t)engine_call_check;
}

int place_is_call(uint64_t rip)
{
	return within(rip, engine_call_check, engine_call_end);
}

int place_is_rest(uint64_t rip)
{
	return within(rip, engine_enter_begin, engine_enter_end) ||
	       within(rip, step_enter_begin, step_enter_iret + 1) ||
	       rip == (uint64_t)engine_resume;
}

int place_is_iret(uint64_t rip)
{
	return rip == (uint64_t)step_enter_iret;
}
