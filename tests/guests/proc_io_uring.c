/* tests/guests/proc_io_uring.c - io_uring where the kernel gives it: a write
 * and a read through its rings, and a no-op with user data. */
#include "guest.h"
#include <linux/io_uring.h>
#include <sys/syscall.h>

static struct io_uring_params pa;
static char *sq, *cq;
static struct io_uring_sqe *sqes;
static int ring;

static int run(struct io_uring_sqe e)
{
	unsigned *tail = (void *)(sq + pa.sq_off.tail),
		 *mask = (void *)(sq + pa.sq_off.ring_mask),
		 *array = (void *)(sq + pa.sq_off.array),
		 *head = (void *)(cq + pa.cq_off.head),
		 *cmask = (void *)(cq + pa.cq_off.ring_mask),
		 at = *tail & *mask;
	struct io_uring_cqe *c = (void *)(cq + pa.cq_off.cqes);
	int res;

	sqes[at] = e;
	array[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	MUST(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0,
		     0) == 1);
	c += *head & *cmask;
	SAME(c->user_data, e.user_data);
	res = c->res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

int main(void)
{
	int fd = memfd_create("ring", 0);
	char buf[16] = "";

	ring = (int)syscall(SYS_io_uring_setup, 8, &pa);
	if (ring < 0)
		guest_absent("kernel");
	sq = mmap(NULL, pa.sq_off.array + pa.sq_entries * 4,
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, pa.cq_off.cqes + pa.cq_entries * 16,
		  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, pa.sq_entries * 64, PROT_READ | PROT_WRITE,
		    MAP_SHARED, ring, IORING_OFF_SQES);
	MUST(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		SAME(run((struct io_uring_sqe){.opcode = IORING_OP_NOP,
					       .user_data = 77}),
		     0);
		SAME(run((struct io_uring_sqe){.opcode = IORING_OP_WRITE,
					       .fd = fd,
					       .addr = (uint64_t) "through it",
					       .len = 10,
					       .user_data = 1}),
		     10);
		SAME(run((struct io_uring_sqe){.opcode = IORING_OP_READ,
					       .fd = fd,
					       .addr = (uint64_t)buf,
					       .len = 16,
					       .user_data = 2}),
		     10);
		CHECK(strcmp(buf, "through it") == 0);
	}
	return guest_end();
}
