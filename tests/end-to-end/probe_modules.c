/* tests/end-to-end/probe_modules.c - a library that comes and goes.
 *
 *	probe_modules MODE [TIMES]
 *
 *	again	 loads it, calls it, unloads it, so many times; half of them
 *		 something else stays where it was: it comes elsewhere then
 *	copies	 two copies of it, at most times both at once
 *	threads	 four threads load and unload the same one: who unloads it is
 *		 the last one at that moment
 *	race	 as `again`, until its input ends; then the library's code must
 *		 be that of its file
 *	ask	 as its input says, byte by byte; says "done" after each
 *		   l u	load it, unload it
 *		   c	call it
 *		   p	put pages of int3 where its code and its data were
 *		   f	a child that has all this, too
 *		   k	the child calls the library
 *
 * Says how often it has called which function. */
#include "guest.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

enum { CALLS = 20, PAGE = 4096, THREADS = 4, TRAP = 0xcc };

static char one[] = "./plugin.so", other[] = "./plugin2.so";
static uint64_t calls, begins;
static uint64_t (*work)(uint64_t);
static volatile unsigned short *semaphore;

/* Also probed: what it counts must not depend on what it calls. */
__attribute__((noinline)) void use(void *lib)
{
	uint64_t (*fast)(uint64_t), (*slow)(uint64_t), *begun;

	*(void **)&fast = dlsym(lib, "plugin_work");
	*(void **)&slow = dlsym(lib, "plugin_trapped");
	begun = dlsym(lib, "plugin_begun");
	MUST(fast != NULL && slow != NULL && begun != NULL);
	SAME(*begun, 0x5eed);
	for (uint64_t k = 0; k < CALLS; k++) {
		SAME(fast(k), 2 * k + 1);
		SAME(slow(k), 2 * k + 1);
	}
	__atomic_fetch_add(&calls, CALLS, __ATOMIC_RELAXED);
}

static void *load(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (lib == NULL)
		printf("%s\n", dlerror());
	MUST(lib != NULL);
	*(void **)&work = dlsym(lib, "plugin_work");
	semaphore = dlsym(lib, "plugin_semaphore");
	begins++;
	return lib;
}

/* A page where something of it was; it must be nobody else's. */
static char *put(uintptr_t where, int fill)
{
	char *p = mmap((void *)(where & -PAGE), PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	for (int k = 0; k < PAGE; k++)
		CHECK(p[k] == 0);
	memset(p, fill, PAGE);
	return p;
}

static void check_page(const char *p, int fill)
{
	for (int k = 0; p != NULL && k < PAGE; k++)
		CHECK((unsigned char)p[k] == fill);
}

static void again_once(int i)
{
	void *lib = load(one);
	char *p;

	use(lib);
	dlclose(lib);
	p = put((uintptr_t)work, 0);
	if (i % 2)
		munmap(p, PAGE);
}

static void again(int times)
{
	for (int i = 0; i < times; i++)
		again_once(i);
}

static void copies(int times)
{
	void *a = load(one), *b;

	for (int i = 0; i < times; i++) {
		b = load(other);
		use(a);
		use(b);
		dlclose(a);
		use(b);
		a = load(one);
		use(a);
		dlclose(b);
	}
	dlclose(a);
}

static int turns;

static void *load_same(void *ctx)
{
	for (int i = 0; i < turns; i++) {
		void *lib = dlopen(one, RTLD_NOW | RTLD_LOCAL);

		MUST(lib != NULL);
		use(lib);
		dlclose(lib);
	}
	return ctx;
}

static void threads(int times)
{
	pthread_t t[THREADS];

	turns = times;
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, load_same, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Is the library's code that of its file? */
static void check_text(void)
{
	unsigned char in_file[PAGE];
	void *lib = load(one);
	int fd = open(one, O_RDONLY);
	Dl_info info;

	MUST(fd >= 0 && dladdr((void *)work, &info) != 0);
	MUST(pread(fd, in_file, PAGE,
		   ((uintptr_t)work & -PAGE) - (uintptr_t)info.dli_fbase) > 0);
	CHECK(memcmp(in_file, (void *)((uintptr_t)work & -PAGE), PAGE) == 0);
	close(fd);
	dlclose(lib);
}

static void race(void)
{
	char c;

	fcntl(0, F_SETFL, O_NONBLOCK);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) < 0)
		again_once(1);
	check_text();
}

/* -- As told -- */

static int to_child[2], from_child[2];
static pid_t child;

static void serve(void *lib)
{
	char c;

	close(to_child[1]);
	while (read(to_child[0], &c, 1) == 1) {
		use(lib);
		MUST(write(from_child[1], &c, 1) == 1);
	}
	_exit(guest_wrong);
}

static void make_child(void *lib)
{
	MUST(pipe(to_child) == 0 && pipe(from_child) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0)
		serve(lib);
	close(to_child[0]);
	close(from_child[1]);
}

static void ask_child(void)
{
	char c = 'k';

	MUST(write(to_child[1], &c, 1) == 1);
	CHECK(read(from_child[0], &c, 1) == 1); /* or it has died */
}

static void end_child(void)
{
	int status;

	if (child == 0)
		return;
	close(to_child[1]);
	MUST(waitpid(child, &status, 0) == child);
	SAME(status, 0);
}

static void as_told(void)
{
	void *lib = NULL;
	char c, *code = NULL, *data = NULL;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		if (c == 'l')
			lib = load(one);
		else if (c == 'u')
			dlclose(lib);
		else if (c == 'c')
			use(lib);
		else if (c == 'p') {
			code = put((uintptr_t)work, TRAP);
			data = put((uintptr_t)semaphore, TRAP);
		} else if (c == 'f')
			make_child(lib);
		else if (c == 'k')
			ask_child();
		check_page(code, TRAP);
		check_page(data, TRAP);
		printf("done %c\n", c);
		fflush(stdout);
	}
	check_page(code, TRAP);
	check_page(data, TRAP);
	end_child();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int times = argc > 2 ? atoi(argv[2]) : 1;

	if (strcmp(mode, "again") == 0)
		again(times);
	else if (strcmp(mode, "copies") == 0)
		copies(times);
	else if (strcmp(mode, "threads") == 0)
		threads(times);
	else if (strcmp(mode, "race") == 0)
		race();
	else
		as_told();
	printf("hit plugin_work %lu\nhit plugin_trapped %lu\nhit use %lu\n",
	       calls, calls, calls / CALLS);
	if (begins > 0)
		printf("hit plugin_begin %lu\n", begins);
	return guest_end();
}
