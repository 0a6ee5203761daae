/* outside/faults.c - HARK_FAIL=k: the k-th allocation, open or map fails.
 *
 * The link step wraps these functions for hark's own objects alone (see
 * WRAPPED in the Makefile), so that a test can walk k = 1, 2, 3, ... until
 * nothing fails any more, and every error path has been taken once. Without
 * HARK_FAIL the price is one test of a static. */
#include "outside/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static long countdown = -1; /* -1 not asked yet, 0 never fail */

void faults_set(long k)
{
	__atomic_store_n(&countdown, k, __ATOMIC_RELAXED);
}

long faults_left(void)
{
	return __atomic_load_n(&countdown, __ATOMIC_RELAXED);
}

static long ask_environment(void)
{
	const char *text = getenv("HARK_FAIL");

	return text == NULL ? 0 : strtol(text, NULL, 10);
}

static int must_fail(int error)
{
	long left = faults_left();

	if (left == 0)
		return 0;
	if (left < 0) {
		left = ask_environment();
		faults_set(left > 0 ? left : 0);
		if (left <= 0)
			return 0;
	}
	if (__atomic_sub_fetch(&countdown, 1, __ATOMIC_RELAXED) != 0)
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
		return must_fail(error) ? failed : __real_##name arguments; \
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
