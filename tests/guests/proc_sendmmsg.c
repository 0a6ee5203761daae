/* tests/guests/proc_sendmmsg.c - calls that take and give arrays of structures:
 * sendmmsg, recvmmsg, preadv2, pwritev2, getdents64, statx. */
#include "guest.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

int main(void)
{
	struct mmsghdr out[4], in[4];
	struct iovec ov[4], iv[4];
	char data[4][8] = {"one", "two", "three", "four"}, got[4][8], buf[4096];
	struct statx sx;
	int s[2], fd = memfd_create("v", 0), found = 0;
	long n;

	MUST(fd >= 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
	memset(out, 0, sizeof out);
	memset(in, 0, sizeof in);
	memset(got, 0, sizeof got);
	for (int i = 0; i < 4; i++) {
		ov[i] = (struct iovec){data[i], strlen(data[i])};
		iv[i] = (struct iovec){got[i], 8};
		out[i].msg_hdr.msg_iov = &ov[i];
		in[i].msg_hdr.msg_iov = &iv[i];
		out[i].msg_hdr.msg_iovlen = in[i].msg_hdr.msg_iovlen = 1;
	}
	SAME(sendmmsg(s[0], out, 4, 0), 4);
	SAME(recvmmsg(s[1], in, 4, 0, NULL), 4);
	for (int i = 0; i < 4; i++) {
		SAME(in[i].msg_len, strlen(data[i]));
		CHECK(strcmp(got[i], data[i]) == 0);
	}
	SAME(pwritev2(fd, ov, 4, 0, 0), 15);
	memset(got, 0, sizeof got);
	iv[0].iov_len = 6;
	SAME(preadv2(fd, iv, 2, 0, 0), 14);
	CHECK(memcmp(got[0], "onetwo", 6) == 0);
	MUST(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &sx) == 0);
	SAME(sx.stx_size, 15);
	fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *e = (void *)(buf + at);

			found += strcmp(e->d_name, "maps") == 0;
			at += e->d_reclen;
		}
	SAME(found, 1);
	return guest_end();
}
