/* tests/guests/code_interpreter.c - a small interpreter with computed gotos and
 * one with a switch run the same program: primes below three
 * thousand. */
#include "guest.h"

enum op { PUSH, LOAD, STORE, ADD, MUL, MOD, LESS, JUMP, UNLESS, INC, END };

static int code[64], vars[3];

static int by_goto(void)
{
	static const void *const to[] = {&&push,   &&load, &&store, &&add,
					 &&mul,	   &&mod,  &&less,  &&jump,
					 &&unless, &&inc,  &&end};
	int stack[16], *sp = stack;
	const int *pc = code;

#define NEXT goto *to[*pc++]
	NEXT;
push:
	*sp++ = *pc++;
	NEXT;
load:
	*sp++ = vars[*pc++];
	NEXT;
store:
	vars[*pc++] = *--sp;
	NEXT;
add:
	sp--;
	sp[-1] += sp[0];
	NEXT;
mul:
	sp--;
	sp[-1] *= sp[0];
	NEXT;
mod:
	sp--;
	sp[-1] %= sp[0];
	NEXT;
less:
	sp--;
	sp[-1] = sp[-1] < sp[0];
	NEXT;
jump:
	pc = code + *pc;
	NEXT;
unless:
	pc = *--sp ? pc + 1 : code + *pc;
	NEXT;
inc:
	vars[*pc++]++;
	NEXT;
end:
	return vars[2];
}

static int by_switch(void)
{
	int stack[16], *sp = stack;
	const int *pc = code;

	for (;;)
		switch ((enum op) * pc++) {
		case PUSH:
			*sp++ = *pc++;
			break;
		case LOAD:
			*sp++ = vars[*pc++];
			break;
		case STORE:
			vars[*pc++] = *--sp;
			break;
		case ADD:
			sp--;
			sp[-1] += sp[0];
			break;
		case MUL:
			sp--;
			sp[-1] *= sp[0];
			break;
		case MOD:
			sp--;
			sp[-1] %= sp[0];
			break;
		case LESS:
			sp--;
			sp[-1] = sp[-1] < sp[0];
			break;
		case JUMP:
			pc = code + *pc;
			break;
		case UNLESS:
			pc = *--sp ? pc + 1 : code + *pc;
			break;
		case INC:
			vars[*pc++]++;
			break;
		case END:
			return vars[2];
		}
}

/* for (n = 2; n < 3000; n++) { for (d = 2; d * d < n + 1; d++) if (n % d == 0)
 * goto next; count++; next:; } */
static void lay_out(void)
{
	static const int whole[] = {
	    PUSH, 2,	  STORE, 0,					/* 0 */
	    LOAD, 0,	  PUSH,	 3000, LESS, UNLESS, 55,		/* 4 */
	    PUSH, 2,	  STORE, 1,					/* 11 */
	    LOAD, 1,	  LOAD,	 1,    MUL,  LOAD,   0,	 PUSH, 1,  ADD, /* 15 */
	    LESS, UNLESS, 44,						/* 25 */
	    LOAD, 0,	  LOAD,	 1,    MOD,  UNLESS, 46,		/* 28 */
	    LOAD, 1,	  PUSH,	 1,    ADD,  STORE,  1,	 JUMP, 15,	/* 35 */
	    INC,  2,							/* 44 */
	    LOAD, 0,	  PUSH,	 1,    ADD,  STORE,  0,	 JUMP, 4,  END, /* 46 */
	};

	_Static_assert(sizeof whole < sizeof code, "it fits");
	memcpy(code, whole, sizeof whole);
}

int main(void)
{
	lay_out();
	memset(vars, 0, sizeof vars);
	SAME(by_goto(), 430);
	memset(vars, 0, sizeof vars);
	SAME(by_switch(), 430);
	return guest_end();
}
