/* tests/guests/proc_pass_fd.c - descriptors and credentials travel through a
 * socket; what arrives is the same open file. */
#include "guest.h"
#include <sys/socket.h>
#include <sys/wait.h>

static int send_fd(int s, int fd)
{
	char c = 'x', room[CMSG_SPACE(sizeof fd)] = "";
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof room};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(h), &fd, sizeof fd);
	return (int)sendmsg(s, &m, 0);
}

static int take_fd(int s, pid_t *sender)
{
	char c, room[256];
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof room};
	int fd = -1;

	MUST(recvmsg(s, &m, MSG_CMSG_CLOEXEC) == 1);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(h), sizeof fd);
		else if (h->cmsg_type == SCM_CREDENTIALS)
			*sender = ((struct ucred *)CMSG_DATA(h))->pid;
	return fd;
}

int main(void)
{
	int s[2], one = 1, status;
	struct ucred peer;
	socklen_t len = sizeof peer;
	pid_t pid, sender = 0;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	MUST(setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0);
	for (int i = 0; i < 10; i++) {
		char buf[16] = "";
		int fd;

		pid = fork();
		if (pid == 0) {
			fd = memfd_create("passed", 0);
			dprintf(fd, "number %d", i);
			_exit(send_fd(s[1], fd) != 1);
		}
		fd = take_fd(s[0], &sender);
		MUST(fd >= 0 && waitpid(pid, &status, 0) == pid);
		SAME(sender, pid);
		MUST(pread(fd, buf, 15, 0) == 8);
		CHECK(memcmp(buf, "number ", 7) == 0 && buf[7] == '0' + i);
		close(fd);
	}
	MUST(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
	SAME(peer.pid, getpid());
	return guest_end();
}
