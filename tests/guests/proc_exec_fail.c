/* tests/guests/proc_exec_fail.c - an exec that fails leaves the program as it
 * was: no such file, no permission, a directory, no format, too long, a bad
 * pointer, a missing interpreter. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/guest.XXXXXX", *args[] = {"x", NULL};
	static char big[200000];
	char *huge[] = {big, NULL};
	char **volatile nowhere = (char **)1;
	int fd = mkstemp(name);

	(void)argc;
	(void)argv;
	signal(SIGUSR1, handler);
	MUST(fd >= 0 && write(fd, "no program", 10) == 10);
	close(fd);
	memset(big, 'x', sizeof big - 1);
	for (int i = 0; i < 10; i++) {
		SAME(execv("/no/such/file", args), -1);
		SAME(errno, ENOENT);
		SAME(execv("/", args), -1);
		SAME(errno, EACCES);
		MUST(chmod(name, 0600) == 0);
		SAME(execv(name, args), -1);
		SAME(errno, EACCES);
		MUST(chmod(name, 0700) == 0);
		SAME(execv(name, args), -1);
		SAME(errno, ENOEXEC);
		SAME(execv((char *)nowhere, args), -1);
		SAME(errno, EFAULT);
		SAME(execv("/proc/self/exe", nowhere), -1);
		SAME(errno, EFAULT);
		SAME(execv("/proc/self/exe", huge), -1);
		SAME(errno, E2BIG);
		raise(SIGUSR1);
		SAME(n, i + 1); /* still the same program */
	}
	fd = open(name, O_WRONLY | O_TRUNC);
	MUST(write(fd, "#!/no/interpreter\n", 18) == 18);
	close(fd);
	SAME(execv(name, args), -1);
	SAME(errno, ENOENT);
	fd = open(name, O_WRONLY);
	SAME(execv(name, args), -1);		    /* open for writing */
	CHECK(errno == ETXTBSY || errno == ENOENT); /* not on every kernel */
	close(fd);
	unlink(name);
	return guest_end();
}
