/* tests/unit/outside_told_test.c - which processes are of a session? */
#include "outside/told.h"

#include "outside/proc.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16 };

static int fd;
static struct told told;

/* The board, at that address; NULL: anywhere. */
static void *map_board(void *at)
{
	void *p =
	    mmap(at, SIZE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | (at != NULL ? MAP_FIXED_NOREPLACE : 0), fd, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* A process that has done what it was made for, and lives until it is killed;
 * prepare may return another one that it has made, and then ends itself. */
static pid_t begin(pid_t (*prepare)(void *arg), void *arg)
{
	int ready[2];
	pid_t pid, said = 0;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pid_t other = prepare != NULL ? prepare(arg) : 0;

		said = other != 0 ? other : getpid();
		if (write(ready[1], &said, sizeof said) < 0)
			_exit(1);
		if (other != 0)
			_exit(0);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &said, sizeof said), sizeof said);
	close(ready[0]);
	close(ready[1]);
	if (said != pid)
		waitpid(pid, NULL, 0);
	return said;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t map_it(void *at)
{
	map_board(at);
	return 0;
}

/* Not there. */
static pid_t map_elsewhere(void *at)
{
	ck_assert_ptr_eq(mmap(at, SIZE, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			      -1, 0),
			 at);
	map_board(NULL);
	return 0;
}

static pid_t map_another(void *at)
{
	fd = memfd_create("other", 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	map_board(at);
	return 0;
}

/* A session whose first process has the board at *at. */
static pid_t open_session(void **at)
{
	pid_t first;

	fd = memfd_create("board", 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	*at = map_board(NULL);
	munmap(*at, SIZE);
	first = begin(map_it, *at);
	told_init(&told, first);
	ck_assert_int_eq(told_set_board(&told, fd), 0);
	return first;
}

START_TEST(the_first_process_is_proved)
{
	void *at;
	pid_t first = open_session(&at);

	ck_assert(told_is_proved(&told, first));
	ck_assert_int_eq(told_process(&told, first), first);
	ck_assert(told_has_creds(&told, first));
	end(first);
	ck_assert(!told_is_proved(&told, first));
	told_fini(&told);
}
END_TEST

/* As if it had been sent the file. */
START_TEST(a_stranger_is_not_proved_by_the_file)
{
	void *at;
	pid_t first = open_session(&at), stranger = begin(map_elsewhere, at);

	ck_assert(!told_is_proved(&told, stranger));
	ck_assert_int_eq(told_process(&told, stranger), 0);
	end(stranger);
	end(first);
	told_fini(&told);
}
END_TEST

START_TEST(a_stranger_is_not_proved_by_the_address)
{
	void *at;
	pid_t first = open_session(&at), stranger = begin(map_another, at);

	ck_assert(!told_is_proved(&told, stranger));
	end(stranger);
	end(first);
	told_fini(&told);
}
END_TEST

/* Its number came later than this process's, which is not of the session. */
START_TEST(a_child_is_proved_if_it_has_the_board)
{
	void *at = NULL;
	pid_t child;

	fd = memfd_create("board", 0);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	at = map_board(NULL);
	told_init(&told, getpid());
	ck_assert_int_eq(told_set_board(&told, fd), 0);
	child = begin(NULL, NULL);
	ck_assert(told_is_proved(&told, child));
	end(child);
	munmap(at, SIZE);
	child = begin(NULL, NULL);
	ck_assert(!told_is_proved(&told, child));
	end(child);
	told_fini(&told);
}
END_TEST

static pid_t make_orphan(void *at)
{
	(void)at;
	return begin(NULL, NULL);
}

/* The parent of the orphan has ended: this process is its parent now. */
static pid_t make_family(void *at)
{
	map_board(at);
	return begin(make_orphan, NULL);
}

START_TEST(an_orphan_is_proved_by_where_it_has_the_board)
{
	void *at;
	pid_t first = open_session(&at), orphan;
	uint64_t parent = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	orphan = begin(make_family, at);
	ck_assert_int_eq(proc_status(orphan, 0, "PPid", 10, &parent), 0);
	ck_assert_int_eq((pid_t)parent, getpid());
	ck_assert(told_is_proved(&told, orphan));
	end(orphan);
	end(first);
	told_fini(&told);
}
END_TEST

START_TEST(a_thread_of_another_process_is_not_meant)
{
	pid_t other = begin(NULL, NULL);

	ck_assert_int_eq(told_thread(getpid(), other), 0);
	ck_assert_int_eq(told_thread(other, other), other);
	end(other);
}
END_TEST

Suite *outside_told_suite(void)
{
	Suite *s = suite_create("outside_told");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, the_first_process_is_proved);
	tcase_add_test(t, a_stranger_is_not_proved_by_the_file);
	tcase_add_test(t, a_stranger_is_not_proved_by_the_address);
	tcase_add_test(t, a_child_is_proved_if_it_has_the_board);
	tcase_add_test(t, an_orphan_is_proved_by_where_it_has_the_board);
	tcase_add_test(t, a_thread_of_another_process_is_not_meant);
	suite_add_tcase(s, t);
	return s;
}
