/* tests/end-to-end/launch_killer.c - loaded into hark: kills whom it traces.
 *
 * KILL_AT=k: before the k-th ptrace(2) that hark makes, the thread that it is
 * about gets a SIGKILL. So a death can be had at every moment of a beginning.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

long ptrace(enum __ptrace_request request, ...)
{
	static long calls;
	const char *at = getenv("KILL_AT");
	void *address, *data;
	long word;
	va_list args;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	address = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (at != NULL && ++calls == atol(at))
		kill(pid, SIGKILL);
	if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA &&
	    request != PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, pid, address, data);
	/* The kernel's own call gives the word by its address. */
	return syscall(SYS_ptrace, request, pid, address, &word) < 0 ? -1
								     : word;
}
