/* tests/guests/code_kernel_stores_2.c - the rarer results of system calls, each
 * into a page whose code has just run: through vectors, offsets, lengths,
 * ioctls and whatever else the kernel writes. */
#include "guest.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static uint8_t *p;
static uint32_t n;

#define CALL(expression)                           \
	do {                                       \
		n++;                               \
		memcpy(p + 1, &n, 4);              \
		SAME(((uint32_t(*)(void))p)(), n); \
		CHECK(expression);                 \
		SAME(((uint32_t(*)(void))p)(), n); \
	} while (0)

static void sockets(char *at)
{
	struct iovec v = {at, 64};
	struct msghdr *m = (void *)(at + 128);
	socklen_t *len = (void *)(at + 256);
	int s[2];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
	for (int i = 0; i < 4; i++)
		MUST(write(s[1], "data", 4) == 4);
	*m = (struct msghdr){.msg_iov = &v, .msg_iovlen = 1};
	CALL(recvmsg(s[0], m, 0) == 4);
	CALL(memcmp(at, "data", 4) == 0);
	*len = 64;
	CALL(recvfrom(s[0], at, 64, 0, (void *)(at + 512), len) == 4);
	CALL(readv(s[0], &v, 1) == 4);
	CALL(ioctl(s[0], FIONREAD, at) == 0);
	SAME(*(int *)at, 4);
	*len = 4;
	CALL(getsockopt(s[0], SOL_SOCKET, SO_TYPE, at, len) == 0);
	SAME(*(int *)at, SOCK_DGRAM);
	*len = 64;
	CALL(getsockname(s[0], (void *)at, len) == 0);
	close(s[0]);
	close(s[1]);
}

static void files(char *at)
{
	int a = memfd_create("a", 0), b = memfd_create("b", 0);
	off_t *off = (void *)at;
	struct iovec local = {at, 8}, remote = {"vm data", 8};

	MUST(write(a, "0123456789", 10) == 10);
	*off = 2;
	CALL(sendfile(b, a, off, 4) == 4);
	SAME(*off, 6);
	*off = 1;
	CALL(syscall(SYS_copy_file_range, a, off, b, NULL, 3, 0) == 3);
	SAME(*off, 4);
	CALL(preadv(a, &local, 1, 3) == 7);
	CALL(memcmp(at, "3456789", 7) == 0);
	CALL(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 8);
	CALL(memcmp(at, "vm data", 8) == 0);
	CALL(fstat(a, (void *)at) == 0);
	CALL(statx(a, "", AT_EMPTY_PATH, STATX_SIZE, (void *)at) == 0);
	close(b);
	b = open("/", O_RDONLY | O_DIRECTORY);
	CALL(syscall(SYS_getdents64, b, at, 1024) > 0);
	*(struct flock *)at = (struct flock){.l_type = F_WRLCK};
	CALL(fcntl(a, F_GETLK, at) == 0);
	SAME(((struct flock *)at)->l_type, F_UNLCK);
	close(a);
	close(b);
}

static void processes(char *at)
{
	pid_t pid = fork();
	struct timespec zero = {0, 0};
	int tm = timerfd_create(CLOCK_MONOTONIC, 0);
	int msg = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
	long one[3] = {1, 42, 43};

	if (pid == 0)
		_exit(3);
	CALL(waitid(P_PID, (id_t)pid, (void *)at, WEXITED | WNOWAIT) == 0);
	CALL(wait4(pid, (int *)at, 0, (void *)(at + 64)) == pid);
	SAME(*(int *)at, 3 << 8);
	CALL(prctl(PR_GET_NAME, at) == 0);
	CALL(sched_getaffinity(0, 128, (void *)at) == 0);
	CALL(syscall(SYS_getresuid, at, at + 4, at + 8) == 0);
	SAME(*(uid_t *)(at + 8), getuid());
	CALL(sysinfo((void *)at) == 0);
	CALL(times((void *)at) != (clock_t)-1);
	CALL(timerfd_gettime(tm, (void *)at) == 0);
	CALL(clock_getres(CLOCK_MONOTONIC, (void *)at) == 0);
	CALL(syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, at) == 0);
	FD_ZERO((fd_set *)at);
	FD_SET(tm, (fd_set *)at);
	*(struct timeval *)(at + 256) = (struct timeval){0, 1};
	CALL(select(tm + 1, (fd_set *)at, NULL, NULL,
		    (struct timeval *)(at + 256)) == 0);
	SAME(FD_ISSET(tm, (fd_set *)at), 0);
	if (msg >= 0) {
		MUST(msgsnd(msg, one, 16, 0) == 0);
		CALL(msgrcv(msg, at, 16, 0, 0) == 16);
		SAME(((long *)at)[2], 43);
		CALL(msgctl(msg, IPC_STAT, (void *)at) == 0);
		msgctl(msg, IPC_RMID, NULL);
	}
	*(uint32_t *)at = 0;
	CALL(syscall(SYS_futex, &n, FUTEX_WAKE_OP, 1, &zero, at,
		     FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_EQ, 0)) == 0);
	SAME(*(uint32_t *)at, 9);
	CALL(syscall(SYS_arch_prctl, 0x1003, at) == 0); /* ARCH_GET_FS */
	CALL(syscall(SYS_sigaltstack, NULL, at) == 0);
	CALL(pipe((int *)at) == 0);
	close(((int *)at)[0]);
	close(((int *)at)[1]);
	close(tm);
}

int main(void)
{
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	for (int i = 0; i < 3; i++) {
		sockets((char *)p + 1024);
		files((char *)p + 1024);
		processes((char *)p + 1024);
	}
	return guest_end();
}
