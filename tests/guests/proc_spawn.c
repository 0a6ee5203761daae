/* tests/guests/proc_spawn.c - posix_spawn with file actions and attributes, and
 * its failure, which comes back as an error number, not as a status. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	char *args[] = {argv[0], "child", NULL}, *env[] = {"GUEST=yes", NULL},
	     buf[64] = "";
	int p[2], status;
	sigset_t mask;
	pid_t pid;

	if (argc > 1) {
		sigprocmask(SIG_BLOCK, NULL, &mask);
		printf("%s %d\n", getenv("GUEST"), sigismember(&mask, SIGHUP));
		return 9;
	}
	setenv("PATH", "/bin:/usr/bin", 1);
	posix_spawnattr_init(&at);
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	posix_spawnattr_setsigmask(&at, &mask);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK);
	for (int i = 0; i < 10; i++) {
		MUST(pipe(p) == 0);
		posix_spawn_file_actions_init(&fa);
		posix_spawn_file_actions_adddup2(&fa, p[1], 1);
		posix_spawn_file_actions_addclose(&fa, p[0]);
		SAME(posix_spawn(&pid, "/proc/self/exe", &fa, &at, args, env),
		     0);
		close(p[1]);
		MUST(read(p[0], buf, sizeof buf) > 0);
		CHECK(strcmp(buf, "yes 1\n") == 0);
		close(p[0]);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 9 << 8);
		posix_spawn_file_actions_destroy(&fa);
		SAME(posix_spawn(&pid, "/no/such", NULL, NULL, args, env),
		     ENOENT);
		SAME(posix_spawn(&pid, "/", NULL, NULL, args, env), EACCES);
		SAME(posix_spawnp(&pid, "no-such-command", NULL, NULL, args,
				  env),
		     ENOENT);
	}
	SAME(waitpid(-1, &status, WNOHANG), -1);
	SAME(errno, ECHILD);
	SAME(WEXITSTATUS(system("exit 5")), 5);
	return guest_end();
}
