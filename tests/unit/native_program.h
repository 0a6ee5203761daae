/* tests/unit/native_program.h - a program with probes in it, for tests of
 * src/native.
 *
 * Every test is a process of its own that has probes put into it: what a
 * program does is in the section program_text and in the C library; all else
 * of this binary's .text counts as the image. */
#ifndef NATIVE_PROGRAM_H
#define NATIVE_PROGRAM_H

#include "native_stand_ins.h"

#include <signal.h>
#include <stdint.h>

#define PROGRAM                                             \
	__attribute__((section("program_text"), noinline,   \
		       no_sanitize("address", "undefined"), \
		       no_instrument_function))

#define BIT(sig) (1ull << ((sig)-1))

/* -- What it can do -- */

/* done[i]++ for each i below n; the sum of all i. */
uint64_t program_trap(uint64_t n, uint32_t *done);
uint64_t program_jump(uint64_t n, uint32_t *done);
uint64_t program_down(uint64_t n, uint32_t *done, uint64_t *flags);
int64_t program_call(int64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		     uint64_t e);
uint64_t program_load(const uint64_t *from);
void program_int3(void);
void program_int_3(void);
void program_ud2(void);
/* Of n jumps, those with an even number are taken: all are counted. */
uint64_t program_taken(uint64_t n, uint64_t *taken);
/* Where a probe may be put, or where such a function goes on. */
extern const uint8_t program_trap_at[], program_jump_at[], program_call_at[],
    program_load_at[], program_int3_end[], program_int_3_end[],
    program_ud2_at[], program_taken_at[], __start_program_text[],
    __stop_program_text[];

/* As the kernel has it. */
struct program_action {
	void (*handler)(int, siginfo_t *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};
enum { RESTORER = 0x04000000 };
void program_restorer(void);

int64_t program_set_action(int sig, void (*handler)(int, siginfo_t *, void *),
			   uint64_t flags);
struct program_action program_get_action(int sig);
uint64_t program_mask(int how, uint64_t set);
void program_send(int sig); /* to itself */

/* -- Probes in this process -- */

enum { PROGRAM_PROBES = 8 };
extern struct stand_in program_probe[PROGRAM_PROBES];
extern struct collect_table *program_table;

/* What the runner of tests handles is none of the program's business. */
void program_begin(void);
enum {
	AS_TRAP = 1,
	AS_HOOK = 2,
	AS_TAKEN = 4,
	UNPROBED = 8,
	AS_DOWN = 16,
	AS_COUNT = 32, /* it counts by itself: one probe at most */
};
/* The next one, on an instruction of so many bytes. */
void program_put(const uint8_t *pc, unsigned len, unsigned how);
/* Probes 0: trap, 1: jump, 2: a hooked call, which is not probed. */
void program_put_all(void);
/* The image knows of its traps, or of none. */
void program_list(int listed);
/* Where a thread goes on that has hit the trap there; 0: there is none. */
uint64_t program_resume_of(uint64_t trap);
int program_is_in_image(uint64_t pc);

/* -- What handlers see -- */

extern volatile struct seen {
	uint64_t n;
	uint64_t ours; /* registers with addresses that are none of theirs */
	uint64_t rip, flags, addr, mask; /* of the last one */
	int code, sig;
} seen;

/* Handlers. */
void program_see(int sig, siginfo_t *info, void *context);
void program_skip_ud2(int sig, siginfo_t *info, void *context);
void program_skip_load(int sig, siginfo_t *info, void *context);

/* How a child that does it ends. */
int program_end_of(void (*f)(void));

/* -- n executions, each of which is to fire once -- */

struct run {
	uint64_t n;
	uint32_t *done;
	uint8_t *fired;
};
struct run *run_new(uint64_t n, struct stand_in *s);
void run_free(struct run *r);
void expect_sum(uint64_t n, uint64_t got);
void expect_each(const uint32_t *done, const uint8_t *fired, uint64_t n);

#endif
