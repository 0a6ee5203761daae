/* tests/guests/code_io_uring.c - io_uring brings code into a page whose old
 * code is being run. */
#include "guest.h"
#include <linux/io_uring.h>
#include <sys/syscall.h>

static struct io_uring_params pa;

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	int ring = (int)syscall(SYS_io_uring_setup, 8, &pa), fd[2];
	char *sq, *cq;
	struct io_uring_sqe *sqes;

	if (ring < 0)
		guest_absent("kernel");
	sq = mmap(NULL, pa.sq_off.array + pa.sq_entries * 4,
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, pa.cq_off.cqes + pa.cq_entries * 16,
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, pa.sq_entries * 64, PROT_READ | PROT_WRITE,
		    MAP_SHARED, ring, IORING_OFF_SQES);
	MUST(p != MAP_FAILED && sq != MAP_FAILED && cq != MAP_FAILED &&
	     sqes != MAP_FAILED && pipe(fd) == 0);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	for (uint32_t i = 1; i <= 30; i++) {
		unsigned *tail = (void *)(sq + pa.sq_off.tail),
			 *mask = (void *)(sq + pa.sq_off.ring_mask),
			 *array = (void *)(sq + pa.sq_off.array),
			 *head = (void *)(cq + pa.cq_off.head),
			 *cmask = (void *)(cq + pa.cq_off.ring_mask);
		struct io_uring_cqe *c = (void *)(cq + pa.cq_off.cqes);
		unsigned at = *tail & *mask;

		sqes[at] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
						 .fd = fd[0],
						 .off = -1ull,
						 .addr = (uint64_t)(p + 1),
						 .len = 4};
		array[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		/* asked for before there is anything, run, then written */
		MUST(syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) == 1);
		SAME(f(), i - 1);
		MUST(write(fd[1], &i, 4) == 4);
		MUST(syscall(SYS_io_uring_enter, ring, 0, 1,
			     IORING_ENTER_GETEVENTS, 0, 0) == 0);
		c += *head & *cmask;
		SAME(c->res, 4);
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
		SAME(f(), i);
	}
	return guest_end();
}
