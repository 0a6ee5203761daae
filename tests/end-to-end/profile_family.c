/* tests/end-to-end/profile_family.c - CPU time of a parent and its children.
 *
 *	profile_family waits|lives
 *
 * The child computes, the parent reads from /dev/zero. waits: the parent waits
 * for the child; lives: it ends before it. Prints the CPU time in user mode and
 * in the kernel of both together, in microseconds. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_MS = 500, PARENT_MS = 100 };

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long micros(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

static void compute(void)
{
	volatile unsigned long sum = 0;

	while (cpu_ms() < CHILD_MS)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
}

static void read_zeros(void)
{
	static char room[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (fd >= 0 && cpu_ms() < PARENT_MS &&
	       read(fd, room, sizeof room) > 0)
		;
}

int main(int argc, char **argv)
{
	int lives = argc > 1 && strcmp(argv[1], "lives") == 0, ends[2];
	struct rusage own, other;
	pid_t child;

	if (pipe(ends) < 0 || (child = fork()) < 0)
		return 3;
	if (child == 0) {
		compute();
		getrusage(RUSAGE_SELF, &other);
		if (write(ends[1], &other, sizeof other) != sizeof other)
			return 3;
		if (lives)
			pause();
		return 0;
	}
	read_zeros();
	if (read(ends[0], &other, sizeof other) != sizeof other)
		return 3;
	if (!lives)
		waitpid(child, NULL, 0);
	getrusage(RUSAGE_SELF, &own);
	printf("%d %ld %ld\n", (int)child,
	       micros(own.ru_utime) + micros(other.ru_utime),
	       micros(own.ru_stime) + micros(other.ru_stime));
	return 0;
}
