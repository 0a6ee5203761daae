/* tests/guests/kernel_mdwe.c - a program that forbids itself new code: the
 * calls fail, the code that there is runs on, and more of it can be loaded. */
#include "guest.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#endif

int main(void)
{
	enum { RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
	int status;
	void *p, *m;
	pid_t pid;

	if (prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0)
		guest_absent("kernel");
	SAME(prctl(PR_GET_MDWE, 0, 0, 0, 0), 1);
	SAME(prctl(PR_SET_MDWE, 0, 0, 0, 0), -1);
	SAME(errno, EPERM);
	p = mmap(NULL, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SAME(p, MAP_FAILED);
	SAME(errno, EACCES);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	SAME(mprotect(p, 4096, PROT_READ | PROT_EXEC), -1);
	SAME(errno, EACCES);
	SAME(mprotect(p, 4096, PROT_READ), 0);
	m = dlopen("libm.so.6", RTLD_NOW);
	MUST(m != NULL);
	CHECK(((double (*)(double))dlsym(m, "floor"))(3.5) == 3.0);
	pid = fork();
	if (pid == 0)
		_exit(prctl(PR_GET_MDWE, 0, 0, 0, 0));
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 1 << 8);
	return guest_end();
}
