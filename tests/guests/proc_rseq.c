/* tests/guests/proc_rseq.c - restartable sequences: where the C library has
 * registered, the processor number in its area is kept current, and registering
 * twice is refused. Where it could not, the kernel has none, and says so. */
#include "guest.h"
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

int main(void)
{
	struct rseq *r =
	    (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	cpu_set_t all, one;
	long rc;

	if (__rseq_size == 0) {
		static struct rseq mine __attribute__((aligned(32)));

		rc = syscall(SYS_rseq, &mine, sizeof mine, 0, RSEQ_SIG);
		SAME(rc, -1);
		SAME(errno, ENOSYS);
		return guest_end();
	}
	MUST(sched_getaffinity(0, sizeof all, &all) == 0);
	for (int cpu = 0; cpu < 64; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		MUST(sched_setaffinity(0, sizeof one, &one) == 0);
		SAME(*(volatile uint32_t *)&r->cpu_id, cpu);
		SAME(sched_getcpu(), cpu);
	}
	static struct rseq other __attribute__((aligned(32)));
	SAME(syscall(SYS_rseq, &other, sizeof other, 0, RSEQ_SIG), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
