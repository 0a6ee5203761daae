/* tests/unit/outside_peer_test.c - the page that hark shares with a program.
 *
 * A child process plays the program: it maps the same file. */
#include "outside/peer.h"

#include "outside/asker.h"
#include "outside/bells.h"
#include "outside/tracee.h"
#include "wire/channel.h"

#include <check.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 4 * WIRE_PAGE };

static int make_file(void)
{
	int fd = memfd_create("peer-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(0, ftruncate(fd, SIZE));
	return fd;
}

static uint8_t *map_file(int fd)
{
	uint8_t *at =
	    mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(MAP_FAILED, at);
	return at;
}

static struct peer *open_peer(int fd, int deaf)
{
	struct peer_place place = {getpid(), 0x1000, 0x2000};
	struct hark_err err;
	struct peer *p = NULL;

	if (peer_open(fd, &place, deaf, &p, &err) < 0)
		ck_abort_msg("%s", err.text);
	return p;
}

/* Any process can map something at the channel's address. */
START_TEST(an_ask_is_believed_of_a_process_that_has_the_channel)
{
	int fd = make_file(), other = make_file();
	uint8_t *page = map_file(fd);
	struct peer_place place = {getpid(), (uint64_t)(uintptr_t)page,
				   (uint64_t)(uintptr_t)page + SIZE};
	const struct peer_ask ask = {
	    wire_ask_of((uint32_t)getpid(), (uint32_t)gettid(), 1), 0};
	struct asker who;
	struct hark_err err;
	struct peer *p;

	ck_assert_int_eq(0, peer_open(dup(fd), &place, 1, &p, &err));
	ck_assert_int_eq(0, asker_find(p, &ask, &who));
	ck_assert_int_eq(who.pid, getpid());
	ck_assert_ptr_eq(page, mmap(page, SIZE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_FIXED, other, 0));
	ck_assert_int_eq(-1, asker_find(p, &ask, &who));
	munmap(page, SIZE);
	peer_close(p);
	close(fd);
	close(other);
}
END_TEST

START_TEST(a_program_sees_whether_hark_listens)
{
	int fd = make_file();
	uint8_t *page = map_file(fd);
	const uint32_t *word = &wire_run_of(page)->hark_lock;
	struct peer *p = open_peer(dup(fd), 0), *q;

	ck_assert_uint_eq((uint32_t)gettid(), *word);
	peer_close(p);
	ck_assert_uint_eq(0, *word);
	q = open_peer(fd, 1);
	ck_assert_uint_eq(0, *word);
	peer_close(q);
}
END_TEST

/* All of them, not only the newest. */
START_TEST(killed_hark_leaves_owner_died_in_every_word)
{
	enum { N = 5 };
	uint8_t *pages[N];
	int fds[N], ready[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(0, pipe(ready));
	for (int i = 0; i < N; i++) {
		fds[i] = make_file();
		pages[i] = map_file(fds[i]);
	}
	pid = fork();
	if (pid == 0) {
		struct peer *p[N];

		for (int i = 0; i < N; i++)
			p[i] = open_peer(fds[i], 0);
		peer_close(p[2]);
		peer_deserted(p[3]); /* we map it: it stays */
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(1, read(ready[0], &c, 1));
	ck_assert_uint_eq((uint32_t)pid, wire_run_of(pages[3])->hark_lock);
	kill(pid, SIGKILL);
	ck_assert_int_eq(pid, waitpid(pid, NULL, 0));
	for (int i = 0; i < N; i++)
		ck_assert_uint_eq(i == 2 ? 0 : FUTEX_OWNER_DIED,
				  wire_run_of(pages[i])->hark_lock);
}
END_TEST

START_TEST(a_peer_is_deserted_when_the_last_mapping_goes)
{
	int fd = make_file();
	uint8_t *page = map_file(fd);
	struct peer *p = open_peer(dup(fd), 0);
	struct wire_stats sum = {.blocks = 1};

	close(fd);
	wire_run_of(page)->stats.blocks = 41;
	wire_run_of(page)->stats.ran_syscalls = 7;
	ck_assert_int_eq(0, peer_deserted(p));
	ck_assert_int_eq(0, peer_deserted(p));
	ck_assert_uint_eq((uint32_t)gettid(), peer_run(p)->hark_lock);
	munmap(page, SIZE);
	ck_assert_int_eq(1, peer_deserted(p));
	peer_count(p, &sum);
	ck_assert_uint_eq(42, sum.blocks);
	ck_assert_uint_eq(7, sum.ran_syscalls);
	peer_close(p);
}
END_TEST

START_TEST(the_program_cannot_take_the_page_away)
{
	int fd = make_file();
	struct peer *p = open_peer(dup(fd), 0);

	ck_assert_int_eq(-1, ftruncate(fd, 0));
	peer_close(p);
	close(fd);
}
END_TEST

START_TEST(a_request_has_room_for_the_largest_process_ids)
{
	const uint32_t most = (1u << 22) - 1;
	uint64_t ask = wire_ask_of(most, most - 1, ~0u);

	ck_assert_uint_eq(most, wire_ask_pid(ask));
	ck_assert_uint_eq(most - 1, wire_ask_tid(ask));
	ck_assert_int_eq(WIRE_ASK_ASKED, wire_ask_state(ask));
	ck_assert_int_eq(WIRE_ASK_LATER,
			 wire_ask_state(wire_ask_answer(ask, WIRE_ASK_LATER)));
	ck_assert(wire_ask_same(wire_ask_answer(ask, WIRE_ASK_LATER), ask));
	ck_assert(!wire_ask_same(wire_ask_of(most, most - 1, 1), ask));
	ck_assert(!wire_ask_same(0, ask));
}
END_TEST

START_TEST(each_request_gets_its_own_answer)
{
	struct peer *p = open_peer(make_file(), 0);
	uint64_t *asks = peer_run(p)->asks;
	struct peer_ask first = {0}, second;

	asks[3] = wire_ask_of(5, 5, 1);
	asks[4] = wire_ask_answer(wire_ask_of(6, 6, 2), WIRE_ASK_COMING);
	asks[WIRE_ASKS - 1] = wire_ask_of(7, 8, 3);
	ck_assert_int_eq(1, peer_next_ask(p, &first));
	second = first;
	ck_assert_int_eq(1, peer_next_ask(p, &second));
	ck_assert_uint_eq(8, wire_ask_tid(second.word));
	ck_assert_uint_eq(WIRE_ASKS - 1, second.at);
	peer_answer(p, &second, WIRE_ASK_ALONE);
	ck_assert_int_eq(WIRE_ASK_ALONE, wire_ask_state(asks[WIRE_ASKS - 1]));
	ck_assert_int_eq(WIRE_ASK_ASKED, wire_ask_state(asks[3]));
	ck_assert_int_eq(0, peer_next_ask(p, &second));
	peer_close(p);
}
END_TEST

START_TEST(a_request_that_was_replaced_is_left_alone)
{
	struct peer *p = open_peer(make_file(), 0);
	uint64_t *asks = peer_run(p)->asks;
	struct peer_ask ask = {0};

	asks[0] = wire_ask_of(5, 5, 1);
	ck_assert_int_eq(1, peer_next_ask(p, &ask));
	asks[0] = wire_ask_of(5, 5, 2);
	peer_answer(p, &ask, WIRE_ASK_COMING);
	ck_assert_int_eq(WIRE_ASK_ASKED, wire_ask_state(asks[0]));
	peer_free_ask(p, &ask);
	ck_assert_int_eq(WIRE_ASK_ASKED, wire_ask_state(asks[0]));
	ask.word = asks[0];
	peer_answer(p, &ask, WIRE_ASK_COMING);
	peer_free_ask(p, &ask); /* it died before it read that */
	ck_assert_uint_eq(0, asks[0]);
	peer_close(p);
}
END_TEST

START_TEST(requests_are_answered_when_a_peer_is_closed)
{
	int fd = make_file();
	uint8_t *page = map_file(fd);
	struct peer *p = open_peer(fd, 0);

	for (unsigned i = 0; i < WIRE_ASKS; i++)
		wire_run_of(page)->asks[i] = wire_ask_of(5, 5 + i, i);
	peer_close(p);
	for (unsigned i = 0; i < WIRE_ASKS; i++)
		ck_assert_int_eq(WIRE_ASK_ALONE,
				 wire_ask_state(wire_run_of(page)->asks[i]));
	munmap(page, SIZE);
}
END_TEST

/* -- Bells -- */

enum { ROOM = 700 };

static void await_ring(struct bells *b)
{
	const struct timespec limit = {5, 0};
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	ck_assert_int_eq(SIGCHLD, sigtimedwait(&chld, NULL, &limit));
	ck_assert(bells_rang(b));
}

/* n bells in one shared page; each is rung once. */
static void ring_each(unsigned n)
{
	uint32_t *words = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bell *list = calloc(n, sizeof *list);
	struct bells *b = NULL;
	struct hark_err err;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	for (unsigned i = 0; i < n; i++)
		list[i].at = &words[i];
	ck_assert_int_eq(0, bells_new(&b, &err));
	ck_assert_int_eq(0, bells_room(b, ROOM, &err));
	for (unsigned i = 0; i < n; i += n / 5 + 1) {
		bells_listen(b, list, n);
		ck_assert(!bells_rang(b));
		__atomic_add_fetch(&words[i], 1, __ATOMIC_RELEASE);
		syscall(202, &words[i], FUTEX_WAKE, 1, NULL, NULL, 0);
		await_ring(b);
		list[i].heard = words[i];
	}
	/* Rung before anybody listened: heard all the same. */
	words[0]++;
	bells_listen(b, list, n);
	await_ring(b);
	bells_free(b);
	free(list);
	munmap(words, WIRE_PAGE);
}

START_TEST(every_bell_is_heard)
{
	ring_each(1);
	ring_each(127);
}
END_TEST

START_TEST(more_bells_than_the_kernel_waits_for_are_heard)
{
	ring_each(128);
	ring_each(700);
}
END_TEST

START_TEST(a_bell_that_is_gone_is_a_false_ring)
{
	uint32_t *word = mmap(NULL, WIRE_PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bell one = {word, 0};
	struct bells *b = NULL;
	struct hark_err err;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	ck_assert_int_eq(0, mprotect(word, WIRE_PAGE, PROT_NONE));
	ck_assert_int_eq(0, bells_new(&b, &err));
	ck_assert_int_eq(0, bells_room(b, ROOM, &err));
	bells_listen(b, &one, 1);
	await_ring(b);
	bells_free(b);
}
END_TEST

Suite *outside_peer_suite(void)
{
	Suite *s = suite_create("outside_peer");
	TCase *t = tcase_create("peer");

	tcase_add_test(t, an_ask_is_believed_of_a_process_that_has_the_channel);
	tcase_add_test(t, a_program_sees_whether_hark_listens);
	tcase_add_test(t, killed_hark_leaves_owner_died_in_every_word);
	tcase_add_test(t, a_peer_is_deserted_when_the_last_mapping_goes);
	tcase_add_test(t, the_program_cannot_take_the_page_away);
	tcase_add_test(t, a_request_has_room_for_the_largest_process_ids);
	tcase_add_test(t, each_request_gets_its_own_answer);
	tcase_add_test(t, a_request_that_was_replaced_is_left_alone);
	tcase_add_test(t, requests_are_answered_when_a_peer_is_closed);
	tcase_add_test(t, every_bell_is_heard);
	tcase_add_test(t, more_bells_than_the_kernel_waits_for_are_heard);
	tcase_add_test(t, a_bell_that_is_gone_is_a_false_ring);
	suite_add_tcase(s, t);
	return s;
}
