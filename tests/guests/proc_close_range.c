/* tests/guests/proc_close_range.c - closing every descriptor from 3 up, as
 * daemons do, by close_range, by a loop, over exec by a flag: the program goes
 * on, and new ones have the lowest numbers. */
#include "guest.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

int main(void)
{
	int fd;

	for (int i = 0; i < 20; i++)
		MUST(open("/dev/null", O_RDONLY) >= 0);
	if (syscall(SYS_close_range, 3, ~0u, 0) == -1)
		guest_absent("kernel");
	for (int i = 3; i < 100; i++) {
		SAME(fcntl(i, F_GETFD), -1);
		SAME(errno, EBADF);
	}
	fd = open("/dev/null", O_RDONLY);
	SAME(fd, 3);
	SAME(dup(fd), 4);
	SAME(syscall(SYS_close_range, 3, 4, CLOSE_RANGE_CLOEXEC), 0);
	SAME(fcntl(4, F_GETFD), FD_CLOEXEC);
	for (int i = 3; i < 70000; i++) /* the old way */
		close(i);
	SAME(open("/dev/null", O_RDONLY), 3);
	SAME(dup2(3, 500), 500);
	SAME(dup3(3, 501, O_CLOEXEC), 501);
	SAME(fcntl(501, F_GETFD), FD_CLOEXEC);
	SAME(dup3(3, 3, 0), -1);
	SAME(errno, EINVAL);
	SAME(fcntl(3, F_DUPFD, 600), 600);
	SAME(syscall(SYS_close_range, 10, 5, 0), -1);
	SAME(errno, EINVAL);
	closefrom(3);
	SAME(fcntl(600, F_GETFD), -1);
	return guest_end();
}
