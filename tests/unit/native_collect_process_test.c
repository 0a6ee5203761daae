/* tests/unit/native_collect_process_test.c - whose hits they are: threads,
 * their areas, children; signals. */
#include "inside/sys.h"
#include "native/native.h"
#include "native_collect_world.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(a_token_swallows_one_hit)
{
	struct probe_frame f = {.gpr = {[4] = 0x7000}};
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	world_fire(&w, 0, &f);
	area = collect_area(w.plan, sys_fs_base());
	f.gpr[4] = 0x7008;
	area->token[2].pc = w.site[0].pc;
	area->token[2].state = native_state(f.gpr);
	area->n_tokens = 1;
	f.gpr[4] = 0x7000;
	world_fire(&w, 0, &f);
	ck_assert_uint_eq(area->n_tokens, 1);
	f.gpr[4] = 0x7008;
	world_fire(&w, 0, &f);
	ck_assert_uint_eq(area->n_tokens, 0);
	world_fire(&w, 0, &f);
	ck_assert_int_eq(world_value(&w, 0, NULL), 3);
	close_world();
}
END_TEST

START_TEST(a_hit_within_a_hit_is_recursion)
{
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	area = collect_area(w.plan, sys_fs_base());
	ck_assert_uint_eq(area->busy, 0);
	area->busy = 1;
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(area->busy, 1);
	area->busy = 0;
	ck_assert_uint_eq(world_account(&w, 0).recursed, 1);
	ck_assert_int_eq(world_value(&w, 0, NULL), 1);
	close_world();
}
END_TEST

START_TEST(the_signal_mask_is_as_it_was)
{
	sigset_t set, was;

	open_world("pid1::f0:entry { @ = count(); }");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 2; i++) {
		world_hit(&w, 0, 0);
		sigprocmask(SIG_SETMASK, NULL, &was);
		ck_assert_mem_eq(&was, &set, 8);
	}
	collect_thread_ends(w.plan, sys_fs_base());
	sigprocmask(SIG_SETMASK, NULL, &was);
	ck_assert_mem_eq(&was, &set, 8);
	close_world();
}
END_TEST

static int child_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(a_child_is_followed_or_left_alone)
{
	for (unsigned follow = 0; follow < 2; follow++) {
		pid_t pid;

		world_open(&w,
			   "self int s; pid1::f0:entry { @ = count();"
			   "trace(pid); self->s++; trace(self->s); }",
			   NULL, follow ? COLLECT_FOLLOWS : 0);
		world_hit(&w, 0, 0);
		pid = fork();
		if (pid == 0) {
			for (int i = 0; i < 100; i++)
				world_hit(&w, 0, 0);
			_exit(w.table->pid == (follow ? (uint32_t)getpid()
						      : COLLECT_APART)
				  ? 0
				  : 1);
		}
		ck_assert_int_eq(child_of(pid), 0);
		world_hit(&w, 0, 0);
		ck_assert_int_eq(world_value(&w, 0, NULL), follow ? 102 : 2);
		world_drain(&w, &out, 1);
		ck_assert_uint_eq(out.n, follow ? 102 : 2);
		for (size_t i = 0; i < out.n; i++)
			ck_assert_uint_eq(out.at[i].number,
					  out.at[i].record.pid);
		/* self-> of the child begins anew */
		ck_assert_uint_eq(nth(1, 1), follow ? 1 : 2);
		/* Its area is free once hark has seen it end. */
		if (follow) {
			struct collect_board *b =
			    (struct collect_board *)(void *)w.board;

			ck_assert_uint_eq(b->high, 2);
			board_gone(w.b, (uint32_t)pid);
			ck_assert_uint_eq(b->ended, 1);
		}
		close_world();
	}
}
END_TEST

static volatile int in_child;

START_TEST(a_child_of_vfork_counts_for_its_parent)
{
	pid_t pid;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	pid = vfork();
	if (pid == 0) {
		world_hit(&w, 0, 0);
		collect_thread_ends(w.plan, sys_fs_base());
		in_child++;
		_exit(0);
	}
	ck_assert_int_eq(child_of(pid), 0);
	ck_assert_int_eq(in_child, 1);
	world_hit(&w, 0, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 3);
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	close_world();
}
END_TEST

static void *hit_once(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 10; i++)
		world_hit(&w, 0, 0);
	return NULL;
}

START_TEST(threads_without_an_area_are_counted)
{
	struct collect_geometry g = world_geometry();

	g.max_threads = 2;
	world_open(&w, "pid1::f0:entry { @ = count(); }", &g, 0);
	for (int i = 0; i < 5; i++) {
		static uint8_t fs_of_others[5][64];

		/* Somebody else's entries: areas that are not given back. */
		if (i < 2)
			collect_area(w.plan,
				     (uint64_t)(uintptr_t)fs_of_others[i])
			    ->tid = 0x10000000u + (unsigned)i;
		else
			in_thread(hit_once);
	}
	ck_assert_uint_eq(world_account(&w, 0).executed, 30);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 30);
	ck_assert_int_eq(world_value(&w, 0, NULL), -1);
	ck_assert_ptr_nonnull(strstr(world_reasons(&w), "30 hits of threads"));
	close_world();
}
END_TEST

START_TEST(the_table_may_be_full)
{
	static struct collect_area other;
	struct collect_who *who;

	open_world("pid1::f0:entry { @ = count(); }");
	who = w.table->who;
	for (unsigned i = 0; i < COLLECT_ENTRIES; i++)
		who[i] = (struct collect_who){
		    .fs = 0x10000 + i, .area = (uint64_t)(uintptr_t)&other};
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 1);
	/* One who is gone makes room. */
	who[17].fs = COLLECT_NOBODY;
	world_hit(&w, 0, 0);
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(world_account(&w, 0).recorded, 2);
	ck_assert_uint_eq(who[17].fs, sys_fs_base());
	close_world();
}
END_TEST

START_TEST(a_thread_that_gets_its_fs_later_is_the_same)
{
	struct collect_area *area;

	open_world("pid1::f0:entry { @ = count(); }");
	area = collect_area(w.plan, 0);
	world_hit(&w, 0, 0);
	ck_assert_ptr_eq(collect_area(w.plan, sys_fs_base()), area);
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	close_world();
}
END_TEST

START_TEST(threads_that_share_their_fs_are_told_apart)
{
	struct collect_area *before, *mine;
	struct collect_who *w1;

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	before = collect_area(w.plan, sys_fs_base());
	collect_share(w.plan, sys_fs_base());
	/* It keeps its area, by its id. */
	ck_assert_uint_eq(collect_key(w.plan, sys_fs_base()),
			  collect_tid_key((uint32_t)syscall(SYS_gettid)));
	ck_assert_ptr_eq(collect_area(w.plan, sys_fs_base()), before);
	world_hit(&w, 0, 0);
	/* Another one with the same base. */
	before->tid++;
	w1 = &w.table->who[collect_first(
	    collect_tid_key((uint32_t)syscall(SYS_gettid)))];
	ck_assert_uint_eq(w1->area, (uint64_t)(uintptr_t)before);
	w1->fs = collect_tid_key(before->tid);
	world_hit(&w, 0, 0);
	mine = collect_area(w.plan, sys_fs_base());
	ck_assert_ptr_ne(mine, before);
	/* A hit in a hit is one here, too. */
	mine->busy = 1;
	world_hit(&w, 0, 0);
	mine->busy = 0;
	ck_assert_uint_eq(world_account(&w, 0).executed, 4);
	ck_assert_uint_eq(world_account(&w, 0).recursed, 1);
	/* With a base of its own it takes its area along. */
	ck_assert_ptr_eq(collect_area(w.plan, 0x10000000), mine);
	ck_assert_uint_eq(mine->fs, 0x10000000);
	collect_thread_ends(w.plan, 0x10000000);
	ck_assert_uint_eq(collect_part(mine)->owner & 3, 0);
	close_world();
}
END_TEST

START_TEST(a_thread_with_two_fs_bases_has_one_area)
{
	struct collect_area *area;
	uint32_t owner;

	open_world("pid1::f0:entry { @ = count(); }");
	area = collect_area(w.plan, sys_fs_base());
	owner = area->owner;
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_eq(collect_area(w.plan, 0x10000000), area);
		ck_assert_ptr_eq(collect_area(w.plan, sys_fs_base()), area);
	}
	ck_assert_uint_eq(((struct collect_board *)(void *)w.board)->high, 1);
	/* Its end is the end of all of them. */
	collect_thread_ends(w.plan, sys_fs_base());
	ck_assert_uint_eq(collect_part(area)->owner & 3, 0);
	ck_assert_uint_ne(collect_area(w.plan, 0x10000000)->owner, owner);
	close_world();
}
END_TEST

START_TEST(what_is_lent_is_its_owners_again_when_that_comes_back)
{
	struct collect_area *area;
	uint32_t tid;

	open_world("pid1::f0:entry { @ = count(); }");
	collect_lend(w.plan, sys_fs_base());
	area = collect_area(w.plan, sys_fs_base());
	tid = area->tid;
	area->tid++; /* as if this were the child */
	ck_assert_uint_eq(collect_ids(area).tid, tid);
	ck_assert_uint_eq(collect_state(area)->lent, 1);
	area->tid = tid;
	ck_assert_uint_eq(collect_ids(area).tid, tid);
	ck_assert_uint_eq(collect_state(area)->lent, 0);
	close_world();
}
END_TEST

static void *share_and_hit(void *ctx)
{
	(void)ctx;
	collect_share(w.plan, sys_fs_base());
	world_hit(&w, 0, 0);
	return NULL;
}

START_TEST(those_that_end_unseen_leave_room_for_others)
{
	struct collect_geometry g = world_geometry();

	g.max_threads = 2;
	world_open(&w, "pid1::f0:entry { @ = count(); }", &g, 0);
	for (int i = 0; i < 20; i++)
		in_thread(share_and_hit);
	ck_assert_uint_eq(world_account(&w, 0).dropped, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 20);
	close_world();
}
END_TEST

START_TEST(threads_are_known_by_themselves_if_all_are)
{
	static uint64_t block[8];

	open_world("pid1::f0:entry { @ = count(); }");
	world_hit(&w, 0, 0);
	world_hit(&w, 0, 0);
	ck_assert_uint_eq(w.table->has_self, 1);
	/* None yet: no reason for distrust. */
	collect_area(w.plan, 0);
	ck_assert_uint_eq(w.table->has_self, 1);
	/* One who does not keep to the ABI: nobody is trusted any more. */
	collect_area(w.plan, (uint64_t)(uintptr_t)block);
	ck_assert_uint_eq(w.table->has_self, 0);
	in_thread(hit_once);
	ck_assert_uint_eq(w.table->has_self, 0);
	/* Without memory there: the same. */
	ck_assert_ptr_nonnull(collect_area(w.plan, 0x10000000));
	world_hit(&w, 0, 0);
	ck_assert_int_eq(world_value(&w, 0, NULL), 13);
	close_world();
}
END_TEST

static volatile sig_atomic_t n_signals;

static void on_signal(int sig)
{
	(void)sig;
	n_signals++;
}

START_TEST(raise_and_stop_are_meant_for_the_program)
{
	pid_t pid;
	int status;

	open_world("pid1::f0:entry { raise(10); } pid1::f1:entry { stop(); }");
	signal(SIGUSR1, on_signal);
	world_hit(&w, 0, 0);
	ck_assert_int_eq(n_signals, 1);
	w.plan->flags = COLLECT_FOLLOWS;
	pid = fork();
	if (pid == 0) {
		world_hit(&w, 1, 0);
		_exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	ck_assert_int_eq(child_of(pid), 3);
	close_world();
}
END_TEST

Suite *native_collect_process_suite(void)
{
	Suite *s = suite_create("native_collect_process");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_token_swallows_one_hit);
	tcase_add_test(t, a_hit_within_a_hit_is_recursion);
	tcase_add_test(t, the_signal_mask_is_as_it_was);
	tcase_add_test(t, a_child_is_followed_or_left_alone);
	tcase_add_test(t, a_child_of_vfork_counts_for_its_parent);
	tcase_add_test(t, threads_without_an_area_are_counted);
	tcase_add_test(t, the_table_may_be_full);
	tcase_add_test(t, a_thread_that_gets_its_fs_later_is_the_same);
	tcase_add_test(t, threads_that_share_their_fs_are_told_apart);
	tcase_add_test(t, a_thread_with_two_fs_bases_has_one_area);
	tcase_add_test(t,
		       what_is_lent_is_its_owners_again_when_that_comes_back);
	tcase_add_test(t, those_that_end_unseen_leave_room_for_others);
	tcase_add_test(t, threads_are_known_by_themselves_if_all_are);
	tcase_add_test(t, raise_and_stop_are_meant_for_the_program);
	suite_add_tcase(s, t);
	return s;
}
