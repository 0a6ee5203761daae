/* tests/unit/native_collect_record_test.c - what one thread's hits write:
 * records in their rings, faults, speculations. */
#include "native_collect_world.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- Records -- */

START_TEST(records_tell_who_and_what)
{
	open_world("pid1::f0:entry { printf(\"%d %s\", arg0, \"abc\");"
		   "trace(arg0 + 1); } pid1::f1:entry { @ = count(); }"
		   "pid1::f2:entry {}");
	world_hit(&w, 0, 42);
	world_hit(&w, 1, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 2);
	ck_assert_uint_eq(out.at[0].number, 42);
	ck_assert_uint_eq(out.at[0].action, PROBE_PRINTF);
	ck_assert_uint_eq(out.at[0].record.site, 0);
	ck_assert_uint_eq(out.at[0].record.clause, 0);
	ck_assert_uint_eq(out.at[0].record.pid, (unsigned)getpid());
	ck_assert_uint_eq(out.at[0].record.tid, (unsigned)gettid());
	ck_assert_int_eq(out.at[0].record.is_fault, 0);
	ck_assert_str_eq((char *)out.at[0].bytes + 8 + 8 + 4, "abc");
	ck_assert_uint_eq(out.at[1].action, PROBE_DEFAULT);
	ck_assert_uint_eq(out.at[1].record.clause, 2);
	ck_assert_uint_ge(out.at[1].record.time_ns, out.at[0].record.time_ns);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 2);
	close_world();
}
END_TEST

START_TEST(every_action_arrives)
{
	static const uint8_t want[] = {
	    PROBE_PRINTF, PROBE_TRACE,	 PROBE_PRINT,	    PROBE_PRINTA,
	    PROBE_EXIT,	  PROBE_CLEAR,	 PROBE_TRUNC,	    PROBE_NORMALIZE,
	    PROBE_SYSTEM, PROBE_FREOPEN, PROBE_DENORMALIZE, PROBE_TRACE};
	uint64_t word = 0x1122334455667788;

	open_world("pid1::f0:entry { printf(\"x\"); }"
		   "pid1::f0:entry { trace(arg0); }"
		   "pid1::f0:entry { print(arg0); }"
		   "pid1::f0:entry { @ = count(); printa(@); }"
		   "pid1::f0:entry { exit(3); }"
		   "pid1::f0:entry { clear(@); }"
		   "pid1::f0:entry { trunc(@, 5); }"
		   "pid1::f0:entry { normalize(@, 10); }"
		   "pid1::f0:entry { system(\"ls\"); }"
		   "pid1::f0:entry { freopen(\"f\"); }"
		   "pid1::f0:entry { denormalize(@); }"
		   "pid1::f0:entry { tracemem(arg0, 8); }"
		   "pid1::f0:entry { ustack(3); }");
	world_hit(&w, 0, (uint64_t)(uintptr_t)&word);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 13);
	for (size_t i = 0; i < sizeof want; i++)
		ck_assert_uint_eq(out.at[i].action, want[i]);
	ck_assert_uint_eq(out.at[4].number, 3);
	ck_assert_uint_eq(out.at[11].number, word);
	/* The count, then the innermost address. */
	ck_assert_uint_ge(out.at[12].number, 1);
	memcpy(&word, out.at[12].bytes + 16, 8);
	ck_assert_uint_eq(word, w.site[0].pc);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 1);
	close_world();
}
END_TEST

/* Records of many sizes through a small ring, drained now and then: each comes
 * once, in order, or is dropped. */
START_TEST(a_ring_goes_around)
{
	struct collect_geometry g = world_geometry();
	static char text[256];
	uint64_t next = 0, seen;

	g.ring_size = 4096 + 24;
	world_open(&w,
		   "pid1::f0:entry { trace(arg0); trace(copyinstr(arg1)); }",
		   &g, 0);
	for (uint64_t i = 0; i < 5000; i++) {
		struct probe_frame f = {0};

		memset(text, 'a', sizeof text);
		text[i * 7 % 250] = '\0';
		f.gpr[7] = i;
		f.gpr[6] = (uint64_t)(uintptr_t)text;
		world_fire(&w, 0, &f);
		if (i % 5 == 4)
			world_drain(&w, &out, 0);
	}
	world_drain(&w, &out, 1);
	seen = out.n;
	ck_assert_uint_eq(world_account(&w, 0).recorded, seen);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	for (size_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, next++);
	close_world();
}
END_TEST

START_TEST(a_full_ring_drops_until_it_is_emptied)
{
	struct collect_geometry g = world_geometry();
	uint64_t n;

	g.ring_size = 1024;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 100; i++)
		world_hit(&w, 0, i);
	n = world_account(&w, 0).recorded;
	ck_assert_uint_eq(n, 1024 / 48);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 100 - n);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "bufsize"));
	world_drain(&w, &out, 0);
	world_hit(&w, 0, 1000);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, n + 1);
	ck_assert_uint_eq(out.at[n].number, 1000);
	close_world();
}
END_TEST

START_TEST(fill_keeps_the_first)
{
	struct collect_geometry g = world_geometry();

	g.ring_size = 1024;
	g.policy = COLLECT_FILL;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 100; i++) {
		world_hit(&w, 0, i);
		world_drain(&w, &out, 0);
	}
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 1024 / 48);
	for (uint64_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, i);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 100 - out.n);
	close_world();
}
END_TEST

START_TEST(ring_keeps_the_last)
{
	struct collect_geometry g = world_geometry();

	g.ring_size = 1000;
	g.policy = COLLECT_RING;
	world_open(&w, "pid1::f0:entry { trace(arg0); }", &g, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		world_hit(&w, 0, i);
		world_drain(&w, &out, 0);
	}
	ck_assert_uint_eq(out.n, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_ge(out.n, 18);
	for (uint64_t i = 0; i < out.n; i++)
		ck_assert_uint_eq(out.at[i].number, 1000 - out.n + i);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 1000);
	world_hit(&w, 0, 1000);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.at[out.n - 1].number, 1000);
	ck_assert_uint_eq(out.at[out.n - 2].number, 999);
	close_world();
}
END_TEST

/* C3: a child of fork that writes until it is killed. */
START_TEST(records_survive_a_kill)
{
	static const uint32_t policy[] = {COLLECT_FILL, COLLECT_RING};
	struct collect_geometry g = world_geometry();

	for (unsigned k = 0; k < 2; k++) {
		pid_t pid;

		g.policy = policy[k];
		g.ring_size = k == 0 ? 1 << 20 : 8000;
		world_open(&w, "pid1::f0:entry { trace(arg0); }", &g,
			   COLLECT_FOLLOWS);
		pid = fork();
		if (pid == 0)
			for (uint64_t i = 0;; i++)
				world_hit(&w, 0, i);
		while (world_account(&w, 0).executed < 10000)
			usleep(100);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		world_drain(&w, &out, 1);
		ck_assert_uint_gt(out.n, 100);
		for (size_t i = 1; i < out.n; i++)
			ck_assert_uint_eq(out.at[i].number,
					  out.at[i - 1].number + 1);
		ck_assert_uint_eq(out.at[0].record.pid, (unsigned)pid);
		ck_assert_str_eq(k == 0 ? "" : world_reasons(&w), "");
		world_log_free(&out);
		world_close(&w);
	}
}
END_TEST

/* -- Faults -- */

START_TEST(a_fault_voids_the_output)
{
	open_world("pid1::f0:entry { trace(1); trace(*(int *)arg0); }"
		   "pid1::f0:entry { trace(2); }"
		   "pid1::f1:entry { trace(10 / arg0); }");
	world_hit(&w, 0, 16);
	world_hit(&w, 1, 0);
	world_hit(&w, 1, 5);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 4);
	ck_assert_int_eq(out.at[0].record.is_fault, 1);
	ck_assert_uint_eq(out.at[0].record.clause, 0);
	ck_assert_uint_eq(out.at[0].record.fault[0], 1);
	ck_assert_uint_eq(out.at[0].record.fault[1], 0);
	ck_assert_uint_eq(out.at[0].record.fault[2] % 8, 0);
	ck_assert_uint_gt(out.at[0].record.fault[2], 0);
	ck_assert_uint_eq(out.at[0].record.fault[3], MACHINE_BAD_ADDRESS);
	ck_assert_uint_eq(out.at[0].record.fault[4], 16);
	ck_assert_uint_eq(out.at[0].record.len, 0);
	ck_assert_uint_eq(out.at[1].number, 2);
	ck_assert_uint_eq(out.at[2].record.fault[3], MACHINE_DIVISION);
	ck_assert_uint_eq(out.at[2].record.fault[0], 3 * 1 + 2 + 1);
	ck_assert_uint_eq(out.at[3].number, 2);
	ck_assert_uint_eq(world_account(&w, 0).faulted, 1);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 0);
	ck_assert_uint_eq(world_account(&w, 1).faulted, 1);
	ck_assert_uint_eq(world_account(&w, 1).recorded, 1);
	close_world();
}
END_TEST

/* -- Speculation -- */

START_TEST(speculations_wait_for_commit)
{
	open_world("pid1::f0:entry { self->s = speculation(); }"
		   "pid1::f1:entry { speculate(self->s); trace(arg0); }"
		   "pid1::f2:entry { commit(self->s); self->s = 0; }"
		   "pid1::f3:entry { discard(self->s); self->s = 0; }"
		   "pid1::f4:entry { trace(self->s); }");
	world_hit(&w, 1, 99); /* of none: nothing happens */
	world_hit(&w, 0, 0);
	for (uint64_t i = 0; i < 10; i++)
		world_hit(&w, 1, i);
	world_drain(&w, &out, 0);
	ck_assert_uint_eq(out.n, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 0);
	ck_assert_uint_eq(out.n, 10);
	for (uint64_t i = 0; i < 10; i++) {
		ck_assert_uint_eq(out.at[i].number, i);
		ck_assert_uint_eq(out.at[i].record.site, 1);
	}
	world_hit(&w, 0, 0);
	world_hit(&w, 1, 77);
	world_hit(&w, 3, 0);
	world_hit(&w, 0, 0);
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 10);
	/* None is left over; the fifth finds none free. */
	for (int i = 0; i < 5; i++) {
		world_hit(&w, 0, 0);
		world_hit(&w, 4, 0);
	}
	world_drain(&w, &out, 1);
	for (uint64_t i = 0; i < 5; i++)
		ck_assert_uint_eq(out.at[10 + i].number, (i + 1) % 5);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "nspec"));
	close_world();
}
END_TEST

START_TEST(speculations_without_room_are_dropped)
{
	struct collect_geometry g = world_geometry();
	uint64_t n;

	g.speculation_size = 1000;
	g.ring_size = 512;
	world_open(&w,
		   "pid1::f0:entry { self->s = speculation(); }"
		   "pid1::f1:entry { speculate(self->s); trace(arg0); }"
		   "pid1::f2:entry { commit(self->s); }",
		   &g, 0);
	world_hit(&w, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		world_hit(&w, 1, i);
	n = world_account(&w, 1).recorded;
	ck_assert_uint_eq(n, 1000 / 48);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "specsize"));
	world_hit(&w, 2, 0);
	world_drain(&w, &out, 1);
	ck_assert_uint_eq(out.n, 512 / 48);
	/* What was lost on commit is not recorded after all. */
	ck_assert_uint_eq(world_account(&w, 1).recorded, out.n);
	ck_assert_uint_eq(world_account(&w, 1).dropped, 100 - out.n);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "committed"));
	close_world();
}
END_TEST

Suite *native_collect_record_suite(void)
{
	Suite *s = suite_create("native_collect_record");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, records_tell_who_and_what);
	tcase_add_test(t, every_action_arrives);
	tcase_add_test(t, a_ring_goes_around);
	tcase_add_test(t, a_full_ring_drops_until_it_is_emptied);
	tcase_add_test(t, fill_keeps_the_first);
	tcase_add_test(t, ring_keeps_the_last);
	tcase_add_test(t, records_survive_a_kill);
	tcase_add_test(t, a_fault_voids_the_output);
	tcase_add_test(t, speculations_wait_for_commit);
	tcase_add_test(t, speculations_without_room_are_dropped);
	suite_add_tcase(s, t);
	return s;
}
