// build: -fexceptions -O1
/* tests/guests/code_unwind.c - the unwinder at work in C: a forced unwind runs
 * every clean-up on its way out of fifty frames, a thousand times. */
#include "guest.h"
#include <setjmp.h>
#include <unwind.h>

static int cleaned;
static jmp_buf out;
static struct _Unwind_Exception token;

static void clean(int *p)
{
	cleaned += *p;
}

static _Unwind_Reason_Code until_end(int version, _Unwind_Action actions,
				     _Unwind_Exception_Class class,
				     struct _Unwind_Exception *e,
				     struct _Unwind_Context *c, void *end)
{
	(void)version;
	(void)class;
	(void)e;
	if ((actions & _UA_END_OF_STACK) || _Unwind_GetCFA(c) > (uint64_t)end)
		longjmp(out, 1);
	return _URC_NO_REASON;
}

__attribute__((noinline)) static int deep(int n, void *end)
{
	int one __attribute__((cleanup(clean))) = 1;

	if (n == 0)
		_Unwind_ForcedUnwind(&token, until_end, end);
	return n < 0 ? 0 : deep(n - 1, end) + one;
}

int main(void)
{
	for (volatile int i = 1; i <= 1000; i++) {
		if (setjmp(out) == 0)
			deep(49, __builtin_frame_address(0));
		SAME(cleaned, 50 * i);
	}
	return guest_end();
}
