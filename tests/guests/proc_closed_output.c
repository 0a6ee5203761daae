/* tests/guests/proc_closed_output.c - a program that closes its three standard
 * descriptors goes on, and others take their numbers; what it prints through a
 * saved one arrives. */
#include "guest.h"
#include <fcntl.h>

int main(void)
{
	int saved = fcntl(1, F_DUPFD, 10), p[2];
	char c = 0;

	MUST(saved >= 10);
	close(0);
	close(1);
	close(2);
	MUST(pipe(p) == 0);
	SAME(p[0], 0);
	SAME(p[1], 1);
	MUST(write(1, "z", 1) == 1 && read(0, &c, 1) == 1);
	SAME(c, 'z');
	close(0);
	close(1);
	SAME(write(1, "x", 1), -1);
	SAME(errno, EBADF);
	MUST(dup2(saved, 1) == 1);
	return guest_end();
}
