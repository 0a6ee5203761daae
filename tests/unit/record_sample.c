/* tests/unit/record_sample.c - a small program, recorded by hand. */
#include "record_sample.h"

#include <string.h>

const uint8_t sample_program[SAMPLE_LEN] = {
    0xb9, 0x05, 0x00, 0x00, 0x00, /* 1000 mov $5,%ecx */
    0x48, 0x01, 0xc8,		  /* 1005 add %rcx,%rax */
    0xff, 0xc9,			  /* 1008 dec %ecx */
    0x75, 0xf9,			  /* 100a jnz 1005 */
    0x48, 0x8b, 0x1e,		  /* 100c mov (%rsi),%rbx */
    0x0f, 0x05,			  /* 100f syscall */
    0x0f, 0x31,			  /* 1011 rdtsc */
    0x48, 0xff, 0xc8,		  /* 1013 dec %rax */
    0xeb, 0xe8,			  /* 1016 jmp 1000 */
};

enum {
	FLAGS = 0x246,	      /* before it begins */
	FLAGS_LOOPED = 0x246, /* after dec made 0 */
	FLAGS_AFTER = 0x206,  /* after dec made 999 */
};

const uint8_t *sample_xstate(void)
{
	static const uint8_t initial[RECORD_XSTATE_MIN] = {
	    [8] = 0x7f, [9] = 0x03, [8 + 24] = 0x80, [8 + 25] = 0x1f};

	return initial;
}

static struct record_event key_of(uint64_t count, uint64_t pc)
{
	struct record_event e = {.type = WIRE_REC_KEY,
				 .count = count,
				 .pc = pc,
				 .xstate = sample_xstate(),
				 .xstate_len = RECORD_XSTATE_MIN};

	e.key.count = count;
	e.key.epoch = 1;
	e.key.state.pc = pc;
	e.key.state.rflags = FLAGS;
	return e;
}

static void make_calls(struct record_event e[SAMPLE_EVENTS])
{
	e[EV_CALL] = (struct record_event){
	    .type = WIRE_REC_CALL, .count = 104, .pc = SAMPLE_CALL};
	e[EV_CALL].call.number = 15; /* 5 + 4 + 3 + 2 + 1 */
	e[EV_CALL].call.answer = -2;
	e[EV_RESULT] = (struct record_event){.type = WIRE_REC_RESULT,
					     .info = 2,
					     .count = 104,
					     .pc = SAMPLE_RESULT};
	e[EV_RESULT].result.length = 2;
	e[EV_RESULT].result.set = 1 << RAX | 1 << RDX;
	e[EV_RESULT].result.rflags = FLAGS_LOOPED;
	e[EV_RESULT].result.gpr[RAX] = 1000;
	e[EV_RESULT].result.gpr[RDX] = 7;
}

void sample_events(struct record_event e[SAMPLE_EVENTS])
{
	static const uint8_t data[8] = {0x11, 0x22, 0x33, 0x44,
					0x55, 0x66, 0x77, 0x88};
	struct wire_rec_state *next;

	e[EV_KEY] = key_of(100, SAMPLE_START);
	e[EV_KEY].key.state.gpr[RSI] = SAMPLE_DATA;
	e[EV_BYTES] = (struct record_event){.type = WIRE_REC_BYTES,
					    .count = 104,
					    .pc = SAMPLE_LOAD,
					    .bytes = data,
					    .len = sizeof data};
	e[EV_BYTES].index = SAMPLE_DATA + WIRE_SHADOW_SKEW;
	make_calls(e);
	e[EV_NEXT] = key_of(105, SAMPLE_START);
	next = &e[EV_NEXT].key.state;
	next->gpr[RAX] = 999;
	next->gpr[RCX] = SAMPLE_RESULT;
	next->gpr[RDX] = 7;
	next->gpr[RBX] = 0x8877665544332211;
	next->gpr[RSI] = SAMPLE_DATA;
	next->gpr[R11] = FLAGS_LOOPED;
	next->rflags = FLAGS_AFTER;
}

struct record_event sample_end(void)
{
	struct record_event round[SAMPLE_EVENTS];
	struct record_event e = {.type = WIRE_REC_END,
				 .info = WIRE_END_PROCESS,
				 .count = 109,
				 .pc = SAMPLE_LOAD,
				 .xstate = sample_xstate(),
				 .xstate_len = RECORD_XSTATE_MIN};

	sample_events(round);
	e.state = round[EV_NEXT].key.state;
	e.state.gpr[RAX] = 999 + 15;
	e.state.gpr[RCX] = 0;
	e.state.rflags = FLAGS_LOOPED;
	e.state.pc = SAMPLE_LOAD;
	return e;
}
