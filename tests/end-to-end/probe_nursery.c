/* tests/end-to-end/probe_nursery.c - libraries that children load.
 *
 *	probe_nursery MODE
 *
 *	crowd	 six children, some with children of their own, each of which
 *		 loads the plugin several times; so does their parent
 *	threads	 a child whose threads load and unload their own copies
 *	turns	 parent and child each load what the other has loaded already,
 *		 where the other has it, and unload what they had before
 *	kill	 children are killed, most of them while they load
 *	serve	 for each byte of its input a child that loads the plugin, calls
 *		 it, says so, and calls it again when the input has ended
 *
 * Says how often all of them together have called which function. */
#include "guest.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { CALLS = 10 };

static uint64_t *calls; /* shared */

static void call(void *lib)
{
	uint64_t (*work)(uint64_t);

	MUST(lib != NULL);
	*(void **)&work = dlsym(lib, "plugin_work");
	MUST(work != NULL);
	for (uint64_t k = 0; k < CALLS; k++) {
		__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
		SAME(work(k), 2 * k + 1);
	}
}

static void *load(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	call(lib);
	return lib;
}

static void *load_often(void *name)
{
	for (int i = 0; i < 5; i++)
		MUST(dlclose(load(name)) == 0);
	return NULL;
}

static void wait_for_all(void)
{
	int status;

	while (wait(&status) > 0)
		CHECK(status == 0);
}

/* In a child, which ends. */
static void end_child(void)
{
	wait_for_all();
	_exit(guest_wrong);
}

static void crowd(void)
{
	static char name[] = "./plugin.so";

	for (int k = 0; k < 6; k++)
		if (fork() == 0) {
			load_often(name);
			if (k % 2 == 0 && fork() == 0)
				load_often(name);
			end_child();
		}
	load_often(name);
	wait_for_all();
}

static void threads(void)
{
	static char one[] = "./plugin1.so", two[] = "./plugin2.so";
	pthread_t t[2];

	if (fork() == 0) {
		MUST(pthread_create(&t[0], NULL, load_often, one) == 0);
		MUST(pthread_create(&t[1], NULL, load_often, two) == 0);
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
		end_child();
	}
	wait_for_all();
}

/* -- One after the other -- */

static int to_child[2], to_parent[2];

static void say(int fd)
{
	MUST(write(fd, "x", 1) == 1);
}

static void hear(int fd)
{
	char c;

	MUST(read(fd, &c, 1) == 1);
}

static void turns_of_child(void *lib)
{
	void *more;

	hear(to_child[0]);
	call(lib);
	more = load("./plugin1.so");
	call(lib);
	MUST(dlclose(lib) == 0);
	lib = load("./plugin.so");
	load("./plugin2.so");
	say(to_parent[1]);
	hear(to_child[0]);
	call(lib);
	call(more);
	end_child();
}

static void turns(void)
{
	void *lib = load("./plugin.so"), *one, *two;

	MUST(pipe(to_child) == 0 && pipe(to_parent) == 0);
	if (fork() == 0)
		turns_of_child(lib);
	MUST(dlclose(lib) == 0);
	one = load("./plugin2.so");
	two = load("./plugin1.so");
	lib = load("./plugin.so");
	say(to_child[1]);
	hear(to_parent[0]);
	call(one);
	call(two);
	call(lib);
	MUST(dlclose(two) == 0);
	say(to_child[1]);
	wait_for_all();
}

/* -- Killed -- */

static void kill_some(void)
{
	for (int k = 0; k < 30; k++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			usleep(200 * (unsigned)k);
			for (;;)
				dlclose(dlopen("./plugin.so", RTLD_NOW));
		}
		usleep(2000);
		kill(pid, SIGKILL);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	load("./plugin.so");
}

/* -- Until told otherwise -- */

static void serve(void)
{
	int end[2];
	char c;

	MUST(pipe(end) == 0);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		if (fork() == 0) {
			void *lib = load("./plugin.so");

			close(end[1]);
			printf("loaded %d\n", getpid());
			fflush(stdout);
			while (read(end[0], &c, 1) == 1)
				;
			call(lib);
			end_child();
		}
	close(end[1]);
	wait_for_all();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"crowd", crowd},
		     {"threads", threads},
		     {"turns", turns},
		     {"kill", kill_some},
		     {"serve", serve}};

	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(calls != MAP_FAILED);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(mode, modes[i].name) == 0)
			modes[i].run();
	printf("hit plugin_work %lu\n", *calls);
	return guest_end();
}
