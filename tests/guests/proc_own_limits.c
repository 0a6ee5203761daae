/* tests/guests/proc_own_limits.c - a program that limits its own memory may use
 * as much as it has said, in all threads and children, and no more; and what it
 * has said is what it is told, and what it executes is given. */
#include "guest.h"
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, THREADS = 6 };
static const rlim_t GIB = 1ul << 30;
extern char **environ;

static const __rlimit_resource_t what[] = {RLIMIT_AS, RLIMIT_DATA};

static void *in_thread(void *arg)
{
	char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	memset(p, 1, 4 * MIB);
	munmap(p, 4 * MIB);
	return arg;
}

static void with_threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, in_thread, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* How many megabytes can be had? */
static int fill(void)
{
	enum { MOST = 2000 };
	static char *p[MOST];
	int n = 0;

	while (n < MOST &&
	       (p[n] = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0)) != MAP_FAILED)
		n++;
	if (n < MOST)
		SAME(errno, ENOMEM);
	for (int i = 0; i < n; i++)
		munmap(p[i], MIB);
	return n;
}

static void is_limit(int k, rlim_t cur, rlim_t max)
{
	struct rlimit r = {7, 7};

	MUST(getrlimit(what[k], &r) == 0);
	SAME(r.rlim_cur, cur);
	SAME(r.rlim_max, max);
	r = (struct rlimit){7, 7};
	MUST(prlimit(getpid(), what[k], NULL, &r) == 0);
	SAME(r.rlim_cur, cur);
	SAME(r.rlim_max, max);
}

static void refusals(int k)
{
	struct rlimit r = {2, 1}, before, after;

	getrlimit(what[k], &before);
	SAME(setrlimit(what[k], &r), -1);
	SAME(errno, EINVAL);
	SAME(syscall(SYS_prlimit64, 0, what[k], (void *)8, NULL), -1);
	SAME(errno, EFAULT);
	SAME(syscall(SYS_getrlimit, what[k], (void *)8), -1);
	SAME(errno, EFAULT);
	SAME(syscall(SYS_prlimit64, 0, what[k], NULL, NULL), 0);
	getrlimit(what[k], &after);
	CHECK(memcmp(&before, &after, sizeof after) == 0);
}

static void ends_with(pid_t pid, int want)
{
	int status;

	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	SAME(status, want << 8);
}

/* Executed: was it given what its parent has set? */
static int executed(int k)
{
	struct rlimit r;

	MUST(getrlimit(what[k], &r) == 0);
	return r.rlim_cur == GIB ? 70 + k : 1;
}

static void children(int k)
{
	char text[8], self[] = "/proc/self/exe";
	char *argv[] = {self, text, NULL};
	struct rlimit less = {GIB / 2, GIB}, gib = {GIB, GIB};
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		is_limit(k, GIB, GIB);
		MUST(setrlimit(what[k], &less) == 0);
		with_threads();
		CHECK(fill() < 512);
		_exit(guest_wrong ? 1 : 50);
	}
	ends_with(pid, 50);
	snprintf(text, sizeof text, "%d", k);
	MUST(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	ends_with(pid, 70 + k);
	pid = fork();
	if (pid == 0) {
		execv("/nowhere", argv);
		is_limit(k, GIB, GIB);
		with_threads();
		execv(self, argv);
		_exit(2);
	}
	ends_with(pid, 70 + k);
	pid = vfork();
	if (pid == 0) {
		if (setrlimit(what[k], &less) != 0 ||
		    setrlimit(what[k], &gib) != 0)
			_exit(3);
		execv(self, argv);
		_exit(2);
	}
	ends_with(pid, 70 + k);
	is_limit(k, GIB, GIB);
}

static void one(int k)
{
	struct rlimit r = {GIB, RLIM_INFINITY}, was, old = {7, 7};
	int n;

	MUST(getrlimit(what[k], &was) == 0);
	if (was.rlim_max < GIB)
		guest_absent("machine: memory is limited already");
	r.rlim_max = was.rlim_max;
	MUST(setrlimit(what[k], &r) == 0);
	is_limit(k, GIB, was.rlim_max);
	refusals(k);
	with_threads();
	n = fill();
	CHECK(n > 600 && n < 1024);
	r.rlim_cur = GIB + GIB / 2;
	MUST(prlimit(0, what[k], &r, &old) == 0);
	SAME(old.rlim_cur, GIB);
	SAME(old.rlim_max, was.rlim_max);
	CHECK(fill() >= n + 512 - 64);
	r = (struct rlimit){GIB, GIB};
	MUST(setrlimit(what[k], &r) == 0);
	with_threads();
	children(k);
	CHECK(fill() > 600);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return executed(atoi(argv[1]));
	for (int k = 0; k < 2; k++) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid == 0) {
			one(k);
			_exit(guest_wrong);
		}
		ends_with(pid, 0);
	}
	return guest_end();
}
