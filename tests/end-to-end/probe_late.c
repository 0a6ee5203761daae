/* tests/end-to-end/probe_late.c - libraries that come late.
 *
 *	probe_late MODE
 *
 *	threads	 two threads load and unload their own copies of the plugin
 *	first	 a library whose initialiser loads the plugin, and calls it
 *	spaces	 the plugin in name spaces of its own (dlmopen)
 *	signals	 likewise, while a timer's signals arrive
 *	same	 loads and unloads one, which comes to the same place each time
 *	ask	 loads, uses and unloads it once for each byte of its input, and
 *		 says how long that has taken at most
 *
 * Says how often it has called which function. */
#include "guest.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { TIMES = 60, CALLS = 20 };

static uint64_t calls;

static void use(void *lib)
{
	uint64_t (*work)(uint64_t), (*slow)(uint64_t);

	MUST(lib != NULL);
	*(void **)&work = dlsym(lib, "plugin_work");
	*(void **)&slow = dlsym(lib, "plugin_trapped");
	MUST(work != NULL && slow != NULL);
	for (uint64_t k = 0; k < CALLS; k++) {
		SAME(work(k), 2 * k + 1);
		SAME(slow(k), 2 * k + 1);
	}
	__atomic_fetch_add(&calls, CALLS, __ATOMIC_RELAXED);
}

static void *load_often(void *name)
{
	for (int i = 0; i < TIMES; i++) {
		void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

		use(lib);
		dlclose(lib);
	}
	return NULL;
}

static void threads(void)
{
	static char one[] = "./plugin1.so", two[] = "./plugin2.so";
	pthread_t t[2];

	MUST(pthread_create(&t[0], NULL, load_often, one) == 0);
	MUST(pthread_create(&t[1], NULL, load_often, two) == 0);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

static void first(void)
{
	void *lib = dlopen("./first.so", RTLD_NOW);
	uint64_t (*done)(void);

	MUST(lib != NULL);
	*(void **)&done = dlsym(lib, "first_calls");
	calls += done();
	dlclose(lib);
}

static void spaces(void)
{
	for (int i = 0; i < 4; i++) {
		void *lib = dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_NOW);

		use(lib);
		dlclose(lib);
	}
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void signals(void)
{
	const struct itimerval often = {{0, 700}, {0, 700}}, never = {0};
	static char name[] = "./plugin.so";

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	load_often(name);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(alarms > 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_demand(void)
{
	double longest = 0;
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		double before = now();
		void *lib = dlopen("./plugin.so", RTLD_NOW);

		use(lib);
		dlclose(lib);
		longest = now() - before > longest ? now() - before : longest;
		printf("used %lu longest %.3f\n", calls, longest);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static char name[] = "./plugin.so";
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "threads") == 0)
		threads();
	else if (strcmp(mode, "first") == 0)
		first();
	else if (strcmp(mode, "spaces") == 0)
		spaces();
	else if (strcmp(mode, "signals") == 0)
		signals();
	else if (strcmp(mode, "same") == 0)
		load_often(name);
	else
		on_demand();
	printf("hit plugin_work %lu\nhit plugin_trapped %lu\n", calls, calls);
	return guest_end();
}
