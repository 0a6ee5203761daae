/* tests/guests/proc_membarrier.c - membarrier: what is supported, that a
 * private one wants a registration first, and that it then works. */
#include "guest.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>

int main(void)
{
	long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (have == -1)
		guest_absent("kernel");
	CHECK(have & MEMBARRIER_CMD_GLOBAL);
	if (have & MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
		SAME(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED,
			     0, 0),
		     -1);
		SAME(errno, EPERM);
		SAME(syscall(SYS_membarrier,
			     MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0),
		     0);
		for (int i = 0; i < 100; i++)
			SAME(syscall(SYS_membarrier,
				     MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0),
			     0);
	}
	SAME(syscall(SYS_membarrier, 1 << 30, 0, 0), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
