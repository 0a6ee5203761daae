/* tests/guests/proc_aio.c - the kernel's asynchronous input and output: what
 * was read is there when the event is, and no call has brought it. */
#include "guest.h"
#include <linux/aio_abi.h>
#include <sys/syscall.h>

static aio_context_t all;

static struct io_event run(struct iocb *one)
{
	struct io_event e = {0};

	MUST(syscall(SYS_io_submit, all, 1, &one) == 1);
	MUST(syscall(SYS_io_getevents, all, 1, 1, &e, NULL) == 1);
	return e;
}

int main(void)
{
	static const char text[] = "asynchronous";
	int fd = memfd_create("aio", 0);
	char buf[sizeof text];
	struct iocb out = {.aio_fildes = (unsigned)fd,
			   .aio_lio_opcode = IOCB_CMD_PWRITE,
			   .aio_buf = (uint64_t)text,
			   .aio_nbytes = sizeof text,
			   .aio_data = 5};
	struct iocb in = {.aio_fildes = (unsigned)fd,
			  .aio_lio_opcode = IOCB_CMD_PREAD,
			  .aio_buf = (uint64_t)buf,
			  .aio_nbytes = sizeof buf,
			  .aio_data = 6};
	struct io_event e;

	if (syscall(SYS_io_setup, 8, &all) != 0)
		guest_absent("kernel");
	for (int i = 0; i < 20; i++) {
		e = run(&out);
		SAME(e.data, 5);
		SAME(e.res, sizeof text);
		memset(buf, i, sizeof buf);
		e = run(&in);
		SAME(e.data, 6);
		SAME(e.res, sizeof buf);
		SAME(memcmp(buf, text, sizeof text), 0);
	}
	SAME(syscall(SYS_io_destroy, all), 0);
	return guest_end();
}
