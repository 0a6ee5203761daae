/* tests/guests/proc_vm.c - process_vm_readv and writev between parent and
 * child, and on oneself, with partial results at holes. */
#include "guest.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

static char text[32] = "in the parent";

int main(void)
{
	char buf[64] = "", *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec local = {buf, sizeof text}, remote = {text, sizeof text};
	int status, go[2];
	char c;
	pid_t pid;

	MUST(p != MAP_FAILED && pipe(go) == 0);
	pid = fork();
	if (pid == 0) {
		strcpy(text, "in the child");
		MUST(write(go[1], "x", 1) == 1);
		while (strcmp(text, "from outside") != 0)
			usleep(200);
		_exit(44);
	}
	MUST(read(go[0], &c, 1) == 1);
	SAME(process_vm_readv(pid, &local, 1, &remote, 1, 0), sizeof text);
	CHECK(strcmp(buf, "in the child") == 0);
	strcpy(buf, "from outside");
	SAME(process_vm_writev(pid, &local, 1, &remote, 1, 0), sizeof text);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 44 << 8);
	CHECK(strcmp(text, "in the parent") == 0);
	/* half of it is there */
	MUST(munmap(p + 4096, 4096) == 0);
	memset(p, 'z', 4096);
	remote = (struct iovec){p + 4096 - 16, 32};
	local.iov_len = 32;
	SAME(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), 16);
	SAME(buf[15], 'z');
	remote.iov_base = (void *)16;
	SAME(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), -1);
	SAME(errno, EFAULT);
	SAME(process_vm_readv(1 << 22, &local, 1, &remote, 1, 0), -1);
	SAME(errno, ESRCH);
	return guest_end();
}
