/* outside/faults.c - HARK_FAIL=k: the k-th allocation, open or map fails.
 *
 * The link step wraps these functions for hark's own objects alone (see
 * WRAPPED in the Makefile), so that a test can walk k = 1, 2, 3, ... and every
 * error path is taken once. HARK_FAIL=0 fails none and says at the end how
 * many there were: how far to walk. Without HARK_FAIL the price is one test
 * of a static. */
#include "outside/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NEVER = 0, NOT_ASKED = -1 };

static long fail_at = NOT_ASKED; /* the call that fails, or NEVER */
static long made;		 /* calls so far */
static pid_t counting;		 /* the process that says how many */

void faults_set(long k)
{
	made = 0;
	fail_at = k;
}

int faults_happened(void)
{
	return fail_at > 0 && made >= fail_at;
}

static __attribute__((destructor)) void say_count(void)
{
	if (counting != 0 && counting == getpid())
		dprintf(STDERR_FILENO, "hark: %ld calls could fail\n", made);
}

static void ask_environment(void)
{
	const char *text = getenv("HARK_FAIL");

	fail_at = text == NULL ? NEVER : strtol(text, NULL, 10);
	if (text != NULL && fail_at == NEVER)
		counting = getpid();
}

static int must_fail(int error)
{
	if (fail_at == NOT_ASKED)
		ask_environment();
	if (fail_at == NEVER && counting == 0)
		return 0;
	if (__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) != fail_at)
		return 0;
	errno = error;
	return 1;
}

/* clang-format off */
#define WRAP(type, name, parameters, arguments, failed, error) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return must_fail(error) ? (failed) : __real_##name arguments; \
	}
WRAP(void *, malloc, (size_t n), (n), NULL, ENOMEM)
WRAP(void *, calloc, (size_t n, size_t m), (n, m), NULL, ENOMEM)
WRAP(void *, realloc, (void *p, size_t n), (p, n), NULL, ENOMEM)
WRAP(void *, reallocarray, (void *p, size_t n, size_t m), (p, n, m), NULL, ENOMEM)
WRAP(char *, strdup, (const char *s), (s), NULL, ENOMEM)
WRAP(char *, strndup, (const char *s, size_t n), (s, n), NULL, ENOMEM)
WRAP(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o), MAP_FAILED, ENOMEM)
WRAP(int, memfd_create, (const char *s, unsigned f), (s, f), -1, EMFILE)
WRAP(FILE *, fopen, (const char *s, const char *m), (s, m), NULL, EMFILE)
WRAP(FILE *, fdopen, (int fd, const char *m), (fd, m), NULL, ENOMEM)
#undef WRAP
/* clang-format on */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list args;

	va_start(args, flags);
	mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	return must_fail(EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list args;

	va_start(args, flags);
	mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	return must_fail(EMFILE) ? -1 : __real_openat(dir, path, flags, mode);
}
