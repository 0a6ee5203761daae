/* tests/guests/proc_exec_script.c - a script with an interpreter line runs
 * that, with its one argument and its own path; a program found in PATH runs.
 */
#include "guest.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int run(char *const *args, char *out, size_t len)
{
	int p[2], status;
	pid_t pid;
	ssize_t n, at = 0;

	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		close(p[0]);
		close(p[1]);
		execvp(args[0], args);
		_exit(127);
	}
	close(p[1]);
	while ((n = read(p[0], out + at, len - 1 - (size_t)at)) > 0)
		at += n;
	out[at] = 0;
	close(p[0]);
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	char name[] = "/tmp/guest.XXXXXX", out[256], want[256];
	int fd = mkstemp(name);

	MUST(fd >= 0 &&
	     dprintf(fd, "#!/bin/sh -u\necho \"$0 $# $1\"\nexit 3\n") > 0);
	MUST(fchmod(fd, 0700) == 0);
	close(fd);
	SAME(run((char *[]){name, "one two", "three", NULL}, out, sizeof out),
	     3 << 8);
	snprintf(want, sizeof want, "%s 2 one two\n", name);
	CHECK(strcmp(out, want) == 0);
	SAME(run((char *[]){"sh", "-c", "echo $((6*7)); kill -9 $$", NULL}, out,
		 sizeof out),
	     9);
	CHECK(strcmp(out, "42\n") == 0);
	SAME(run((char *[]){"no-such-program-at-all", NULL}, out, sizeof out),
	     127 << 8);
	unlink(name);
	return guest_end();
}
