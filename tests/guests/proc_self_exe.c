/* tests/guests/proc_self_exe.c - /proc/self/exe, cmdline, environ, comm, stat
 * and auxv speak of the program, not of whoever runs it. */
#include "guest.h"
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static ssize_t slurp(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, at = 0;

	MUST(fd >= 0);
	while ((n = read(fd, buf + at, len - (size_t)at)) > 0)
		at += n;
	close(fd);
	return at;
}

int main(int argc, char **argv)
{
	char link[PATH_MAX] = "", real[PATH_MAX] = "";
	static char buf[1 << 20];
	Elf64_auxv_t *a = (void *)buf;
	struct stat s1, s2;
	ssize_t n;

	if (argc == 1) {
		execle("/proc/self/exe", argv[0], "two", "three", NULL,
		       (char *[]){"ONE=1", "TWO=2", NULL});
		return 1;
	}
	MUST(readlink("/proc/self/exe", link, sizeof link - 1) > 0);
	CHECK(realpath(argv[0], real) != NULL && strcmp(link, real) == 0);
	MUST(stat("/proc/self/exe", &s1) == 0 && stat(real, &s2) == 0);
	SAME(s1.st_ino, s2.st_ino);
	n = slurp("/proc/self/cmdline", buf, sizeof buf);
	SAME(n, strlen(argv[0]) + 1 + 4 + 6);
	CHECK(strcmp(buf, argv[0]) == 0);
	CHECK(memcmp(buf + strlen(buf) + 1, "two\0three\0", 10) == 0);
	n = slurp("/proc/self/environ", buf, sizeof buf);
	SAME(n, 12);
	CHECK(memcmp(buf, "ONE=1\0TWO=2\0", 12) == 0);
	n = slurp("/proc/self/stat", buf, sizeof buf - 1);
	buf[n] = 0;
	SAME(atoi(buf), getpid());
	n = slurp("/proc/self/auxv", buf, sizeof buf);
	for (; (char *)a < buf + n && a->a_type != AT_NULL; a++)
		if (a->a_type == AT_ENTRY || a->a_type == AT_PHDR ||
		    a->a_type == AT_BASE || a->a_type == AT_RANDOM)
			SAME(a->a_un.a_val, getauxval(a->a_type));
	return guest_end();
}
