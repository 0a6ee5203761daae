/* tests/guests/proc_sockets.c - sockets over loopback: accept, half-close,
 * datagrams, options, errors; an ephemeral port on 127.0.0.1 only. */
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

int main(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int s = socket(AF_INET, SOCK_STREAM, 0), c, u, v, one = 1, status;
	char buf[100000];
	ssize_t n, total = 0;
	pid_t pid;

	if (s < 0 || bind(s, (void *)&at, sizeof at) != 0)
		guest_absent("machine");
	MUST(listen(s, 5) == 0 && getsockname(s, (void *)&at, &len) == 0);
	pid = fork();
	if (pid == 0) {
		c = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(c, (void *)&at, sizeof at) != 0)
			_exit(1);
		memset(buf, 'y', sizeof buf);
		for (ssize_t k = 0; k < (ssize_t)sizeof buf; k += n)
			if ((n = send(c, buf + k, sizeof buf - (size_t)k, 0)) <=
			    0)
				_exit(2);
		shutdown(c, SHUT_WR);
		_exit(recv(c, buf, 3, MSG_WAITALL) == 3 && buf[0] == 'b' ? 0
									 : 3);
	}
	c = accept4(s, NULL, NULL, SOCK_CLOEXEC);
	MUST(c >= 0);
	while ((n = recv(c, buf, sizeof buf, 0)) > 0)
		total += n;
	SAME(total, sizeof buf);
	MUST(setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
	SAME(send(c, "bye", 3, 0), 3);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	u = socket(AF_INET, SOCK_DGRAM, 0);
	v = socket(AF_INET, SOCK_DGRAM, 0);
	at.sin_port = 0;
	MUST(bind(v, (void *)&at, sizeof at) == 0 &&
	     getsockname(v, (void *)&at, &len) == 0);
	SAME(sendto(u, "datagram", 8, 0, (void *)&at, sizeof at), 8);
	SAME(recvfrom(v, buf, sizeof buf, 0, NULL, NULL), 8);
	SAME(recv(v, buf, 1, MSG_DONTWAIT), -1);
	SAME(errno, EAGAIN);
	close(s);
	SAME(send(s, "x", 1, 0), -1);
	SAME(errno, EBADF);
	return guest_end();
}
