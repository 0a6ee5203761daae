/* bench/uprobe.c - the kernel's own probe, and a counter: the cheapest there
 *is.
 *
 *	uprobe FILE OFFSET entry|return COMMAND...
 *
 * Counts how often the instruction at OFFSET of FILE is executed (or the
 * function that begins there returns) while COMMAND runs, by perf_event_open.
 * The count goes to standard output; COMMAND's exit status is passed on, with
 * 124 for our own failure. One event a processor, for all processes: one that
 * is inherited makes pthread_create fail in the command. Needs root. */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 124, MOST = 1024 };

extern char **environ;

static int say(const char *what)
{
	fprintf(stderr, "uprobe: %s: %s\n", what, strerror(errno));
	return FAILED;
}

/* The number of the kernel's "uprobe" source of events, or 0. */
static uint32_t kind(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	char text[32] = "";

	if (f == NULL)
		return 0;
	if (fgets(text, sizeof text, f) == NULL)
		text[0] = '\0';
	fclose(f);
	return (uint32_t)strtoul(text, NULL, 10);
}

static int open_on(int cpu, const char *path, uint64_t offset, int at_return)
{
	struct perf_event_attr attr = {
	    .type = kind(),
	    .size = sizeof attr,
	    .config = at_return ? 1 : 0,
	    .uprobe_path = (uint64_t)(uintptr_t)path,
	    .probe_offset = offset,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	static int fds[MOST];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t sum = 0, one;
	int status;
	pid_t pid;

	if (argc < 5 || cpus < 1 || cpus > MOST) {
		fprintf(stderr, "usage: uprobe FILE OFFSET entry|return "
				"COMMAND...\n");
		return FAILED;
	}
	for (int i = 0; i < cpus; i++) {
		fds[i] = open_on(i, argv[1], strtoull(argv[2], NULL, 0),
				 strcmp(argv[3], "return") == 0);
		if (fds[i] < 0)
			return say("perf_event_open");
	}
	errno = posix_spawnp(&pid, argv[4], NULL, NULL, argv + 4, environ);
	if (errno != 0)
		return say(argv[4]);
	if (waitpid(pid, &status, 0) < 0)
		return say("waitpid");
	for (int i = 0; i < cpus; i++) {
		if (read(fds[i], &one, sizeof one) != sizeof one)
			return say("read");
		sum += one;
	}
	printf("%" PRIu64 "\n", sum);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
