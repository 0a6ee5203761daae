/* tests/guests/code_read_into.c - the kernel writes code: read, readv, recv,
 * pread and process_vm_writev into executable pages that have been run. */
#include "guest.h"
#include <sys/socket.h>
#include <sys/uio.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		buf[6] = "\xb8\0\0\0\0";
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	int fd[2], s[2], file = memfd_create("code", 0);

	MUST(p != MAP_FAILED && pipe(fd) == 0 && file >= 0 &&
	     socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	buf[5] = 0xc3;
	for (uint32_t i = 0; i < 200; i++) {
		struct iovec to = {p, 6}, from = {buf, 6};

		memcpy(buf + 1, &i, 4);
		switch (i % 5) {
		case 0:
			MUST(write(fd[1], buf, 6) == 6);
			MUST(read(fd[0], p, 6) == 6);
			break;
		case 1:
			MUST(write(fd[1], buf, 6) == 6);
			MUST(readv(fd[0], &to, 1) == 6);
			break;
		case 2:
			MUST(write(s[1], buf, 6) == 6);
			MUST(recv(s[0], p, 6, 0) == 6);
			break;
		case 3:
			MUST(pwrite(file, buf, 6, 0) == 6);
			MUST(pread(file, p, 6, 0) == 6);
			break;
		default:
			MUST(process_vm_writev(getpid(), &from, 1, &to, 1, 0) ==
			     6);
		}
		SAME(f(), i);
	}
	return guest_end();
}
