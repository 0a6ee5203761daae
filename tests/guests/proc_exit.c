/* tests/guests/proc_exit.c - exit flushes and runs its handlers last to first,
 * quick_exit its own, _exit none; the status is what was given: 200. */
#include "guest.h"
#include <sys/wait.h>

static void a(void)
{
	printf("a");
}

static void b(void)
{
	printf("b");
}

static void with_status(int status, void *arg)
{
	printf("%d%s", status, (char *)arg);
}

static void quick(void)
{
	dprintf(1, "quick\n");
}

int main(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		atexit(a);
		printf("unseen");
		_exit(1);
	}
	waitpid(pid, &status, 0);
	SAME(status, 256);
	pid = fork();
	if (pid == 0) {
		atexit(a);
		at_quick_exit(quick);
		quick_exit(2);
	}
	waitpid(pid, &status, 0);
	SAME(status, 512);
	puts(guest_wrong ? "wrong" : "right");
	on_exit(with_status, "s\nok\n");
	atexit(a);
	atexit(b);
	on_exit(with_status, " ");
	atexit(b);
	exit(guest_wrong ? 1 : 200);
}
