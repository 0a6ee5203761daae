/* tests/guests/proc_identity.c - who and where the program is: uname, ids,
 * groups, sessions, personality, sysinfo, affinity, priority. */
#include "guest.h"
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>

int main(void)
{
	struct utsname u;
	struct sysinfo si;
	cpu_set_t all, one, back;
	int cpu = 0, status;
	pid_t pid;

	MUST(uname(&u) == 0);
	CHECK(strcmp(u.sysname, "Linux") == 0);
	CHECK(strcmp(u.machine, "x86_64") == 0);
	SAME(syscall(SYS_getpid), getpid());
	SAME(syscall(SYS_gettid), getpid());
	SAME(getpgid(0), getpgrp());
	CHECK(getppid() > 0);
	MUST(sysinfo(&si) == 0 && si.totalram > 0);
	printf("personality %x\n", (unsigned)personality(0xffffffff));
	MUST(sched_getaffinity(0, sizeof all, &all) == 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	MUST(sched_setaffinity(0, sizeof one, &one) == 0);
	MUST(sched_getaffinity(0, sizeof back, &back) == 0);
	SAME(CPU_COUNT(&back), 1);
	SAME(sched_getcpu(), cpu);
	MUST(sched_setaffinity(0, sizeof all, &all) == 0);
	pid = fork();
	if (pid == 0) {
		MUST(setpgid(0, 0) == 0);
		MUST(nice(5) != -1 || errno == 0);
		_exit(getpgrp() == getpid() && getpriority(PRIO_PROCESS, 0) >= 5
			  ? 0
			  : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(sched_getscheduler(0), SCHED_OTHER);
	SAME(setpgid(1, 1), -1);
	return guest_end();
}
