/* probe_hostile.c - a target that attacks the hark which probes it.
 *
 *	exec		asks hark to go along with the execve of the victim
 *	load		says that the victim has loaded a library
 *	never		asks for this thread, which then executes nothing
 *	fill		asks all the time, and never says for which process
 *	crowd		asks for a thousand processes at once, all the time
 *	scribble	a child writes over the board while this one is probed
 *	cut		shortens hark's memory, and makes the plan writable
 *	drop PROG	a child changes its user and executes PROG
 *	spawn PROG	a child executes PROG
 *	victim		an innocent one: when the file `go` is there, it
 *executes this program, as `look` look		says whether hark is in it
 *
 * Each says what it has done; those that do not end live until the file `end`
 * is there. The victim, whose number is in the file `victim`, is younger than
 * the target: there was a time when that was all that hark asked for. */
#include "native/collect_board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char ours[] = "/memfd:hark-";

struct found {
	unsigned long start, end;
	char prot[5];
};

/* Mapping number k of hark's. */
static int find(int k, struct found *out)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	int rc = -1;

	while (f != NULL && rc < 0 && fgets(line, sizeof line, f) != NULL)
		if (strstr(line, ours) != NULL && k-- == 0 &&
		    sscanf(line, "%lx-%lx %4s", &out->start, &out->end,
			   out->prot) == 3)
			rc = 0;
	if (f != NULL)
		fclose(f);
	return rc;
}

static void nap(void)
{
	const struct timespec t = {.tv_nsec = 1000000};

	nanosleep(&t, NULL);
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static int find_board(struct found *out)
{
	for (int k = 0; find(k, out) == 0; k++)
		if (strcmp(out->prot, "rw-s") == 0)
			return 1;
	return 0;
}

/* As soon as hark has come. */
static struct collect_board *board(struct found *m)
{
	struct found own;

	m = m != NULL ? m : &own;
	say("ready");
	while (!find_board(m))
		nap();
	return (struct collect_board *)m->start;
}

static void await_end(void)
{
	while (access("end", F_OK) < 0)
		nap();
}

static void ring(struct collect_board *b)
{
	__atomic_fetch_add(&b->bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &b->bell, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
}

/* -- Requests -- */

static void forge(struct collect_board *b, pid_t pid, pid_t tid)
{
	__atomic_store_n(&b->execs[0],
			 wire_ask_of((uint32_t)pid, (uint32_t)tid, 1),
			 __ATOMIC_SEQ_CST);
	ring(b);
}

static pid_t victim(void)
{
	pid_t pid = 0;

	while (pid == 0) {
		FILE *f = fopen("victim", "re");

		if (f == NULL || fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f != NULL)
			fclose(f);
		nap();
	}
	return pid;
}

static void ask_exec(void)
{
	struct collect_board *b = board(NULL);
	pid_t pid = victim();

	forge(b, pid, pid);
	while (wire_ask_state(__atomic_load_n(
		   &b->execs[0], __ATOMIC_SEQ_CST)) == WIRE_ASK_ASKED &&
	       access("end", F_OK) < 0)
		nap();
	say("answered");
	await_end();
}

static void ask_load(void)
{
	struct collect_board *b = board(NULL);
	pid_t pid = victim();
	uint32_t mine = b->loader.asked + 1;

	b->loading[mine % COLLECT_LOADING] = (uint32_t)pid;
	__atomic_store_n(&b->loader.asked, mine, __ATOMIC_SEQ_CST);
	ring(b);
	while (__atomic_load_n(&b->loader.done, __ATOMIC_SEQ_CST) != mine &&
	       access("end", F_OK) < 0)
		nap();
	say("answered");
	await_end();
}

static void ask_never(void)
{
	struct collect_board *b = board(NULL);
	struct found m;

	forge(b, getpid(), getpid());
	say("asked");
	while (find_board(&m))
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
}

/* hark has left, and the board is gone. */
static void is_left(int sig)
{
	(void)sig;
	_exit(0);
}

static void ask_often(int n_names)
{
	struct collect_board *b = board(NULL);

	signal(SIGSEGV, is_left);
	for (int round = 0;; round++) {
		uint32_t done =
		    __atomic_load_n(&b->loader.done, __ATOMIC_SEQ_CST);

		for (uint32_t k = 0; k < COLLECT_LOADING; k++)
			b->loading[k] = n_names != 0 ? 100000 + k : 0;
		__atomic_store_n(&b->loader.asked, done + COLLECT_LOADING,
				 __ATOMIC_SEQ_CST);
		ring(b);
		if (round == 2)
			say("asked");
		nap();
	}
}

/* -- Writing over it -- */

static uint64_t garbage(int round, uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	switch (round % 6) {
	case 0:
		return UINT64_MAX;
	case 1:
		return *state;
	case 2:
		return *state & 0xff;
	case 3:
		return (*state & 0xffff) << 3;
	case 4:
		return *state >> 32;
	default:
		return 0x00007fffdeadbee8ull;
	}
}

/* Pages that are there: there is room for much more. */
static void scribble(const struct found *m, int rounds)
{
	const size_t page = 4096, n = (m->end - m->start) / page;
	unsigned char *is_there = malloc(n);
	uint64_t state = 0x9e3779b97f4a7c15ull;

	for (int round = 0; round < rounds; round++) {
		if (is_there == NULL ||
		    (round % 20 == 0 &&
		     mincore((void *)m->start, m->end - m->start, is_there) <
			 0))
			_exit(3);
		for (size_t k = 0; k < n; k++) {
			uint64_t *at = (uint64_t *)(m->start + k * page);

			for (size_t i = 0; is_there[k] && i < page / 8; i++)
				at[i] = garbage(round + (int)(i % 7), &state);
		}
	}
	_exit(0);
}

#define HOT __attribute__((noinline, noclone))
static volatile uint64_t sink;

HOT uint64_t hot_count(uint64_t n)
{
	return sink = n + 1;
}
HOT uint64_t hot_key(uint64_t n)
{
	return sink = n + 2;
}
HOT uint64_t hot_quantize(uint64_t n)
{
	return sink = n + 3;
}
HOT uint64_t hot_print(uint64_t n)
{
	return sink = n + 4;
}
HOT uint64_t hot_text(const char *s, uint64_t n)
{
	return sink = n + (uint64_t)*s;
}
HOT uint64_t hot_array(uint64_t n)
{
	return sink = n + 5;
}
HOT uint64_t hot_lean(uint64_t n)
{
	return sink = n + 6;
}
HOT uint64_t hot_maybe(uint64_t n)
{
	return sink = n + 7;
}

/* 0: as it should be. */
static int be_hot(uint64_t n)
{
	static const char *const names[] = {"a", "bc", "def", "ghij"};

	return hot_count(n) != n + 1 || hot_key(n % 50) != n % 50 + 2 ||
	       hot_quantize(n) != n + 3 || hot_print(n) != n + 4 ||
	       hot_text(names[n % 4], n) != n + (uint64_t)names[n % 4][0] ||
	       hot_array(n) != n + 5 || hot_lean(n) != n + 6 ||
	       hot_maybe(n) != n + 7;
}

static int be_scribbled(void)
{
	struct found m;
	pid_t child;
	int status;

	board(&m);
	for (uint64_t n = 0; n < 1000; n++)
		be_hot(n);
	child = fork();
	if (child == 0)
		scribble(&m, 200);
	for (uint64_t n = 0; waitpid(child, &status, WNOHANG) == 0; n++)
		if (be_hot(n) != 0)
			return 1;
	for (uint64_t n = 0; n < 1000; n++)
		if (be_hot(n) != 0)
			return 1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return 2;
	say("ok");
	return 0;
}

/* -- Its length, and its protection -- */

static void cut_one(const struct found *m)
{
	char path[96];
	int fd;

	snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", m->start,
		 m->end);
	fd = open(path, O_RDWR);
	printf("%s: length %s\n", m->prot,
	       fd >= 0 && ftruncate(fd, 0) == 0 ? "changed" : "kept");
	if (fd >= 0 && strcmp(m->prot, "r--s") == 0)
		printf("%s: another mapping %s\n", m->prot,
		       mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0) != MAP_FAILED
			   ? "can be written"
			   : "is refused");
	if (strcmp(m->prot, "r--s") == 0)
		printf("%s: this mapping %s\n", m->prot,
		       mprotect((void *)m->start, 4096,
				PROT_READ | PROT_WRITE) == 0
			   ? "can be written"
			   : "stays as it is");
	if (fd >= 0)
		close(fd);
}

static void cut(void)
{
	struct found m;

	board(NULL);
	for (int k = 0; find(k, &m) == 0; k++)
		cut_one(&m);
	say("finished");
	await_end();
}

/* -- Another user -- */

static int spawn(const char *prog, int drops)
{
	pid_t child;
	int status;

	board(NULL);
	child = fork();
	if (child == 0) {
		if (drops && (setgid(65533) < 0 || setuid(65533) < 0))
			_exit(4);
		execl(prog, prog, "look", (char *)NULL);
		_exit(5);
	}
	waitpid(child, &status, 0);
	say("ok");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

/* What an innocent one sees: has hark been here? */
static int look(void)
{
	struct found m;

	say(find(0, &m) == 0 ? "entered" : "untouched");
	return 0;
}

/* One that waits for the file `go`, and then executes itself. */
static int be_victim(const char *self)
{
	say("ready");
	while (access("go", F_OK) < 0)
		nap();
	execl(self, self, "look", (char *)NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "look") == 0)
		return look();
	if (strcmp(mode, "victim") == 0)
		return be_victim(argv[0]);
	if (strcmp(mode, "scribble") == 0)
		return be_scribbled();
	if (argc > 2)
		return spawn(argv[2], strcmp(mode, "drop") == 0);
	if (strcmp(mode, "exec") == 0)
		ask_exec();
	else if (strcmp(mode, "load") == 0)
		ask_load();
	else if (strcmp(mode, "never") == 0)
		ask_never();
	else if (strcmp(mode, "fill") == 0)
		ask_often(0);
	else if (strcmp(mode, "crowd") == 0)
		ask_often(1);
	else if (strcmp(mode, "cut") == 0)
		cut();
	else
		return 64;
	return 0;
}
