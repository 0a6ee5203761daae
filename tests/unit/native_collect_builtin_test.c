/* tests/unit/native_collect_builtin_test.c - what a clause may ask, in the
 * program and in hark. */
#include "inside/sys.h"
#include "native_collect_world.h"
#include "script/aggregate.h"

#include <asm/prctl.h>
#include <check.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* -- What a script may ask -- */

START_TEST(builtins_are_right)
{
	struct timespec now, wall;
	static _Thread_local int mine;

	open_world("pid1::f0:entry { trace(pid); trace(ppid); trace(tid);"
		   "trace(uid); trace(gid); trace(id); trace(epid);"
		   "trace(errno); trace(timestamp); trace(vtimestamp);"
		   "trace(walltimestamp); trace(cpu); trace(ustackdepth); }"
		   "pid1::f1:entry { trace(execname); trace(probefunc);"
		   "trace(probemod); trace(probeprov); trace(probename);"
		   "trace(threadname); }"
		   "pid1::f2:return { trace(retval); trace(arg0); }"
		   "pid1::f3:entry { this->a = timestamp; }"
		   "pid1::f3:entry { trace(timestamp - this->a);"
		   "trace(vtimestamp - vtimestamp); }");
	mine = 95;
	w.plan->errno_offset =
	    (int64_t)((uint64_t)(uintptr_t)&mine - sys_fs_base());
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &wall);
	w.plan->clock.wall_ns = (wall.tv_sec - now.tv_sec) * 1000000000 +
				wall.tv_nsec - now.tv_nsec;
	world_hit(&w, 0, 0);
	world_hit(&w, 1, 0);
	world_fire(&w, 2, &(struct probe_frame){.gpr = {77}});
	world_hit(&w, 3, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), (unsigned)getpid());
	ck_assert_uint_eq(nth(0, 1), (unsigned)getppid());
	ck_assert_uint_eq(nth(0, 2), (unsigned)gettid());
	ck_assert_uint_eq(nth(0, 3), getuid());
	ck_assert_uint_eq(nth(0, 4), getgid());
	ck_assert_uint_eq(nth(0, 5), 1);
	ck_assert_uint_eq(nth(0, 6), 1);
	ck_assert_uint_eq(nth(0, 7), 95);
	ck_assert_uint_ge(nth(0, 8), (uint64_t)now.tv_sec * 1000000000 +
					 (uint64_t)now.tv_nsec);
	ck_assert_uint_lt(nth(0, 8), (uint64_t)(now.tv_sec + 10) * 1000000000);
	ck_assert_uint_gt(nth(0, 9), 0);
	ck_assert_uint_eq(nth(0, 10) - nth(0, 8),
			  (uint64_t)w.plan->clock.wall_ns);
	ck_assert_uint_lt(nth(0, 11), (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	ck_assert_uint_ge(nth(0, 12), 1);
	ck_assert_str_eq((char *)out.at[1].bytes + 12, "guest");
	ck_assert_str_eq((char *)out.at[1].bytes + 24 + 12, "f1");
	ck_assert_uint_eq(nth(2, 0), 77);
	ck_assert_uint_eq(nth(2, 1), 0x10);
	ck_assert_uint_eq(nth(3, 0), 0);
	ck_assert_uint_eq(nth(3, 1), 0);
	close_world();
}
END_TEST

START_TEST(the_clock_is_the_tsc_if_hark_says_so)
{
	uint64_t before;

	open_world("pid1::f0:entry { trace(timestamp); }");
	before = __builtin_ia32_rdtsc();
	w.plan->clock = (struct collect_clock){
	    .base_tsc = before, .base_ns = 5000, .mult = 1ULL << 31};
	world_hit(&w, 0, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_ge(out.at[0].number, 5000);
	ck_assert_uint_le(out.at[0].number,
			  5000 + (__builtin_ia32_rdtsc() - before) / 2);
	close_world();
}
END_TEST

START_TEST(arguments_come_from_registers_and_stack)
{
	uint64_t stack[8] = {0, 106, 107, 108, 109};
	struct probe_frame f = {.gpr = {[7] = 100,
					[6] = 101,
					[2] = 102,
					[1] = 103,
					[8] = 104,
					[9] = 105}};

	open_world("pid1::f0:entry { trace(arg0); trace(arg1); trace(arg2);"
		   "trace(arg3); trace(arg4); trace(arg5); trace(arg6);"
		   "trace(arg7); trace(arg8); trace(arg9); }"
		   "pid1::f1:entry { @ = quantize(arg7); }");
	f.gpr[4] = (uint64_t)(uintptr_t)stack;
	world_fire(&w, 0, &f);
	world_fire(&w, 1, &f);
	world_drain(&w, &out, 1);
	for (uint64_t i = 0; i < 10; i++)
		ck_assert_uint_eq(nth(0, i), 100 + i);
	ck_assert_uint_eq(only_row(0)->cells[aggregate_quantize_of(107)], 1);
	f.gpr[4] = 0x10; /* no memory: 0, and no fault */
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(1, 6), 0);
	close_world();
}
END_TEST

START_TEST(arguments_of_usdt_are_where_the_note_says)
{
	int32_t memory[4] = {1, -2, 3, -4};
	struct probe_frame f = {
	    .gpr = {0x1122334455667788, 3, [12] = (uint64_t)-5}};

	open_world("pid1::f0:x { trace(arg0); trace(arg1); trace(arg2);"
		   "trace(arg3); trace(arg4); trace(arg5); trace(arg6); }");
	w.site[0].kind = COLLECT_USDT;
	w.site[0].args.n = 6;
	f.gpr[3] = (uint64_t)(uintptr_t)memory;
	w.arg[0] = (struct collect_arg){
	    .place = COLLECT_CONST, .size = 4, .value = -9};
	w.arg[1] = (struct collect_arg){
	    .place = COLLECT_REG, .size = 1, .base = 0, .high = 1};
	w.arg[2] = (struct collect_arg){
	    .place = COLLECT_REG, .size = 4, .base = 12, .is_signed = 1};
	w.arg[3] = (struct collect_arg){.place = COLLECT_MEM,
					.size = 4,
					.is_signed = 1,
					.base = 3,
					.index = 1,
					.scale = 2};
	w.arg[4] =
	    (struct collect_arg){.place = COLLECT_MEM,
				 .size = 4,
				 .base = COLLECT_NOREG,
				 .index = COLLECT_NOREG,
				 .value = (int64_t)(uintptr_t)&memory[1]};
	w.arg[5] = (struct collect_arg){.place = COLLECT_NOWHERE};
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_int_eq((int64_t)nth(0, 0), -9);
	ck_assert_uint_eq(nth(0, 1), 0x77);
	ck_assert_int_eq((int64_t)nth(0, 2), -5);
	ck_assert_int_eq((int64_t)nth(0, 3), -4);
	ck_assert_uint_eq(nth(0, 4), (uint32_t)-2);
	ck_assert_uint_eq(nth(0, 5), 0);
	ck_assert_uint_eq(nth(0, 6), 0);
	close_world();
}
END_TEST

/* In a segment: fs is what the thread is known by. */
START_TEST(arguments_of_usdt_may_be_in_a_segment)
{
	static int64_t there[2] = {31, -32};
	struct probe_frame f = {.gpr = {8}};
	uint64_t fs, self;

	__asm__("mov %%fs:0, %0\n" : "=r"(fs));
	self = *(const uint64_t *)(uintptr_t)fs;
	open_world("pid1::f0:x { trace(arg0); trace(arg1); }"
		   "pid1::f0:x { @ = quantize(arg1); }");
	w.site[0].kind = COLLECT_USDT;
	w.site[0].args.n = 2;
	w.arg[0] = (struct collect_arg){.place = COLLECT_MEM,
					.size = 8,
					.base = COLLECT_NOREG,
					.index = COLLECT_NOREG,
					.segment = COLLECT_FS};
	w.arg[1] = (struct collect_arg){.place = COLLECT_MEM,
					.size = 8,
					.base = 0,
					.index = COLLECT_NOREG,
					.segment = COLLECT_GS};
	syscall(SYS_arch_prctl, ARCH_SET_GS, there);
	world_fire(&w, 0, &f);
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), self);
	ck_assert_int_eq((int64_t)nth(0, 1), -32);
	close_world();
}
END_TEST

/* What the way into the collector has cleared is not lost. */
START_TEST(uregs_tell_the_direction)
{
	static const uint64_t how[] = {TRAMPOLINE_STATUS, TRAMPOLINE_ALL,
				       TRAMPOLINE_DOWN};

	open_world("pid1::f0:entry { trace(uregs[R_RFL] & 0x400); }");
	for (unsigned i = 0; i < 3; i++) {
		struct probe_frame f = {.how = how[i]};

		world_fire(&w, 0, &f);
	}
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), 0);
	ck_assert_uint_eq(nth(1, 0), 0);
	ck_assert_uint_eq(nth(2, 0), 0x400);
	close_world();
}
END_TEST

START_TEST(uregs_are_the_programs)
{
	struct probe_frame f = {.how = TRAMPOLINE_STATUS};

	/* lahf: ZF and CF in the second byte; seto: OF in the first */
	f.flags = 0x4300 | 1;
	for (unsigned i = 0; i < 16; i++)
		f.gpr[i] = 1000 + i;
	open_world("pid1::f0:entry { trace(uregs[R_RAX]); trace(uregs[R_RDX]);"
		   "trace(uregs[R_RCX]); trace(uregs[R_RBX]);"
		   "trace(uregs[R_RSI]); trace(uregs[R_RDI]);"
		   "trace(uregs[R_RBP]); trace(uregs[R_RSP]);"
		   "trace(uregs[R_R8]); trace(uregs[R_R15]);"
		   "trace(uregs[R_RIP]); trace(uregs[R_RFL]);"
		   "trace(uregs[R_FSBASE]); }");
	world_fire(&w, 0, &f);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(nth(0, 0), 1000);
	ck_assert_uint_eq(nth(0, 1), 1002);
	ck_assert_uint_eq(nth(0, 2), 1001);
	ck_assert_uint_eq(nth(0, 3), 1003);
	ck_assert_uint_eq(nth(0, 4), 1006);
	ck_assert_uint_eq(nth(0, 5), 1007);
	ck_assert_uint_eq(nth(0, 6), 1005);
	ck_assert_uint_eq(nth(0, 7), 1004);
	ck_assert_uint_eq(nth(0, 8), 1008);
	ck_assert_uint_eq(nth(0, 9), 1015);
	ck_assert_uint_eq(nth(0, 10), w.site[0].pc);
	ck_assert_uint_eq(nth(0, 11), 0x843);
	ck_assert_uint_eq(nth(0, 12), sys_fs_base());
	close_world();
}
END_TEST

/* -- hark's own clauses -- */

static bool read_nothing(void *ctx, uint64_t addr, void *to, uint32_t len)
{
	(void)ctx;
	memset(to, 7, len);
	return addr == 0x1000;
}

START_TEST(hark_runs_clauses_of_its_own)
{
	struct collect_outside o = {.read = read_nothing};

	open_world("int g; BEGIN { g = 5; trace(arg1); trace(pid);"
		   "this->x = 9; }"
		   "BEGIN { trace(this->x); @ = count(); }"
		   "END { trace(*(char *)0x1000); ustack(4); }"
		   "END { trace(*(char *)0x2000); }"
		   "pid1::f0:entry { trace(g); }");
	o.plan = w.plan;
	o.board = w.board;
	o.area = board_area(w.b);
	o.site = &w.site[6];
	o.args[1] = 11;
	o.pid = 1234;
	ck_assert_int_eq(collect_run(&o, 0), MACHINE_DONE);
	o.goes_on = true;
	ck_assert_int_eq(collect_run(&o, 1), MACHINE_DONE);
	world_hit(&w, 0, 0);
	o.goes_on = false;
	o.site = &w.site[7];
	ck_assert_int_eq(collect_run(&o, 2), MACHINE_DONE);
	o.goes_on = true;
	ck_assert_int_eq(collect_run(&o, 3), MACHINE_FAULT);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 5);
	ck_assert_uint_eq(nth(0, 0), 11);
	ck_assert_uint_eq(nth(0, 1), 1234);
	ck_assert_uint_eq(out.at[0].record.area, w.plan->geometry.max_threads);
	ck_assert_uint_eq(nth(1, 0), 9);
	ck_assert_uint_eq(nth(2, 0), 5);
	ck_assert_uint_eq(nth(3, 0), 7);
	ck_assert_int_eq(out.at[4].record.is_fault, 1);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	ck_assert_uint_eq(world_account(&w, 6).executed, 1);
	ck_assert_uint_eq(world_account(&w, 6).recorded, 1);
	ck_assert_uint_eq(world_account(&w, 7).executed, 1);
	ck_assert_uint_eq(world_account(&w, 7).faulted, 1);
	close_world();
}
END_TEST

Suite *native_collect_builtin_suite(void)
{
	Suite *s = suite_create("native_collect_builtin");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, builtins_are_right);
	tcase_add_test(t, the_clock_is_the_tsc_if_hark_says_so);
	tcase_add_test(t, arguments_come_from_registers_and_stack);
	tcase_add_test(t, arguments_of_usdt_are_where_the_note_says);
	tcase_add_test(t, arguments_of_usdt_may_be_in_a_segment);
	tcase_add_test(t, uregs_are_the_programs);
	tcase_add_test(t, uregs_tell_the_direction);
	tcase_add_test(t, hark_runs_clauses_of_its_own);
	suite_add_tcase(s, t);
	return s;
}
