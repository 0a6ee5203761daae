/* tests/guests/proc_many_children.c - two hundred children, twenty at a time,
 * some of them grandparents; no status is lost. */
#include "guest.h"
#include <sys/wait.h>

int main(void)
{
	int sum = 0, status, n = 0;

	for (int batch = 0; batch < 10; batch++) {
		pid_t pids[20];

		for (int i = 0; i < 20; i++) {
			pids[i] = fork();
			if (pids[i] == 0) {
				pid_t pid = i % 5 == 0 ? fork() : -1;

				if (pid == 0)
					_exit(1);
				if (pid > 0)
					waitpid(pid, &status, 0);
				_exit(i);
			}
			MUST(pids[i] > 0);
		}
		for (int i = 19; i >= 0; i--) {
			MUST(waitpid(pids[i], &status, 0) == pids[i]);
			SAME(status, i << 8);
			sum += WEXITSTATUS(status);
			n++;
		}
	}
	SAME(n, 200);
	SAME(sum, 1900);
	return guest_end();
}
