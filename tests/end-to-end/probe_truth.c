/* Preloaded beside a program, it keeps a second account of what the program
 * asks of libc, in the file that $TRUTH names:
 *
 *	malloc N BYTES		calls and bytes, in all
 *	bin LOW N		those of LOW to 2 * LOW - 1 bytes
 *	sync NS			each fsync or fdatasync, from outside of it
 *
 * Counting begins where the program itself does, as a probe's does: the
 * initialisers of its libraries are over by then. The file is written once, at
 * the end. $TRUTH_OF is the name of the program: whatever started it may be
 * preloaded with this as well. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SYNCS = 1024 };

extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *p, size_t size);

static unsigned long calls, bytes, bins[66]; /* [0]: of 0 bytes */
static unsigned long syncs[SYNCS];
static unsigned n_syncs;
static bool counting;

static void count(size_t size)
{
	if (!counting)
		return;
	calls++;
	bytes += size;
	bins[size == 0 ? 0 : 64 - __builtin_clzl(size)]++;
}

void *malloc(size_t size)
{
	count(size);
	return __libc_malloc(size);
}

/* glibc's own calls its malloc, and not this one, if there is nothing yet. */
void *realloc(void *p, size_t size)
{
	if (p == NULL)
		count(size);
	return __libc_realloc(p, size);
}

static unsigned long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000000000ul +
	       (unsigned long)ts.tv_nsec;
}

static int timed(int (*call)(int), int fd)
{
	unsigned long begin = now();
	int rc = call(fd);

	if (counting && n_syncs < SYNCS)
		syncs[n_syncs++] = now() - begin;
	return rc;
}

int fsync(int fd)
{
	static int (*real)(int);

	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	return timed(real, fd);
}

int fdatasync(int fd)
{
	static int (*real)(int);

	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	return timed(real, fd);
}

static char text[SYNCS * 32];
static size_t text_len;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text_len += (size_t)vsnprintf(text + text_len, sizeof text - text_len,
				      format, ap);
	va_end(ap);
}

/* Into memory of its own first: a stream would ask for some. */
__attribute__((destructor)) static void tell(void)
{
	int fd;

	if (!counting)
		return;
	say("malloc %lu %lu\n", calls, bytes);
	for (unsigned i = 0; i < 66; i++)
		if (bins[i] != 0)
			say("bin %lu %lu\n", i == 0 ? 0 : 1ul << (i - 1),
			    bins[i]);
	for (unsigned i = 0; i < n_syncs; i++)
		say("sync %lu\n", syncs[i]);
	fd = open(getenv("TRUTH"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, text_len) != (ssize_t)text_len)
		abort();
	close(fd);
}

typedef int start_main(int (*main)(int, char **, char **), int argc,
		       char **argv, void (*init)(void), void (*fini)(void),
		       void (*ld_fini)(void), void *stack_end);
start_main __libc_start_main;

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
		      void (*init)(void), void (*fini)(void),
		      void (*ld_fini)(void), void *stack_end)
{
	start_main *real = (start_main *)dlsym(RTLD_NEXT, "__libc_start_main");
	const char *of = getenv("TRUTH_OF");
	const char *name = strrchr(argv[0], '/');

	counting = of != NULL && getenv("TRUTH") != NULL &&
		   strcmp(name != NULL ? name + 1 : argv[0], of) == 0;
	return real(main, argc, argv, init, fini, ld_fini, stack_end);
}
