/* outside/launch.c - start a program under ptrace.
 *
 * Two shapes. As a rule hark is the parent:
 *
 *   hark --fork--> child: waits, is seized, executes
 *
 * With `beside`, for supervisors that count on the pid they started, the
 * process that the shell made becomes the program, and hark goes on as a
 * detached grandchild in a session of its own:
 *
 *   hark --fork--fork--> hark's work
 *     waits, is seized, executes
 *
 * Either way a pipe tells why execve failed, if it did. PTRACE_O_EXITKILL
 * covers the time until the program runs: should hark be killed before that,
 * there is no program yet that could be harmed. */
#include "outside/launch.h"

#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_LIMIT_S = 30 };

/* -- Finding the file -- */

/* 0 and the name, or an errno worth remembering. */
static int try_dir(const char *dir, size_t len, const char *name, char *out,
		   size_t size)
{
	struct stat st;
	int n = len == 0 ? snprintf(out, size, "./%s", name)
			 : snprintf(out, size, "%.*s/%s", (int)len, dir, name);

	if (n < 0 || (size_t)n >= size)
		return ENAMETOOLONG;
	if (stat(out, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode) || access(out, X_OK) < 0)
		return EACCES;
	return 0;
}

int launch_find(const char *name, char *out, size_t size, struct hark_err *err)
{
	const char *path = getenv("PATH"), *at;
	int denied = 0;

	if (strchr(name, '/') != NULL) {
		if ((size_t)snprintf(out, size, "%s", name) < size)
			return 0;
		return err_set(err, HARK_ENOENT, ENAMETOOLONG,
			       "a program's name is too long");
	}
	at = path != NULL ? path : "/bin:/usr/bin";
	while (*name != '\0') {
		size_t len = strcspn(at, ":");
		int e = try_dir(at, len, name, out, size);

		if (e == 0)
			return 0;
		denied |= e == EACCES;
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	if (denied)
		return err_set(err, HARK_ENOEXEC, EACCES,
			       "%s: permission denied", name);
	return err_set(err, HARK_ENOENT, ENOENT, "%s: command not found", name);
}

/* -- The process that becomes the program -- */

struct pipes {
	int go[2];     /* hark -> program: you are seized, execute */
	int failed[2]; /* program -> hark: the errno of execve */
};

static void pipes_close(struct pipes *p)
{
	int *fds[] = {&p->go[0], &p->go[1], &p->failed[0], &p->failed[1]};

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int pipes_open(struct pipes *p, struct hark_err *err)
{
	*p = (struct pipes){{-1, -1}, {-1, -1}};
	if (pipe2(p->go, O_CLOEXEC) == 0 && pipe2(p->failed, O_CLOEXEC) == 0)
		return 0;
	err_set(err, HARK_EIO, errno, "cannot make a pipe: %s",
		strerror(errno));
	pipes_close(p);
	return -1;
}

static void close_end(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* Waits until hark holds it, then becomes the program. */
static _Noreturn void become(const struct launch *plan, const char *path,
			     struct pipes *p)
{
	int e = ECANCELED;
	char c;

	close_end(&p->go[1]);
	close_end(&p->failed[0]);
	if (read(p->go[0], &c, 1) == 1) {
		if (plan->ignore_chld)
			signal(SIGCHLD, SIG_IGN);
		sigprocmask(SIG_SETMASK, plan->mask, NULL);
		execvp(path, plan->argv);
		e = errno;
	}
	if (write(p->failed[1], &e, sizeof e) != sizeof e)
		_exit(126);
	_exit(e == ENOENT ? 127 : 126);
}

/* -- hark's side -- */

static int has_ended(pid_t pid)
{
	char state = proc_state(pid, pid);

	return state == 0 || state == 'Z' || state == 'X';
}

static int seize(pid_t pid, const struct launch *plan, const char *path,
		 struct hark_err *err)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
		       PTRACE_O_EXITKILL | plan->ptrace_options;

	int e;

	if (ptrace(PTRACE_SEIZE, pid, 0, options) == 0)
		return 0;
	e = errno; /* EPERM, too, if it has ended */
	if (has_ended(pid))
		return err_set(err, HARK_EGONE, 0, "%s ended before it began",
			       path);
	return err_set(err, HARK_EDENIED, e,
		       "the kernel refuses ptrace to hark (%s); in a container "
		       "allow it (--cap-add SYS_PTRACE or a newer seccomp "
		       "profile)",
		       strerror(e));
}

static int exec_failed(const char *path, const struct pipes *p,
		       struct hark_err *err)
{
	int e = 0;

	if (read(p->failed[0], &e, sizeof e) != sizeof e)
		return err_set(err, HARK_EGONE, 0, "%s ended before it began",
			       path);
	return err_set(err, e == ENOENT ? HARK_ENOENT : HARK_ENOEXEC, e,
		       "%s: %s", path, strerror(e));
}

/* At the exec event rax is still to be overwritten by execve's result, so go
 * on to the end of the system call. */
static int run_to_exec(pid_t pid, struct hark_err *err)
{
	int64_t limit = tracee_now_ns() + START_LIMIT_S * 1000000000LL;
	int executed = 0;

	for (;;) {
		int status, deliver = 0;

		if (tracee_wait(pid, limit, &status, err) < 0)
			return -1;
		if (!WIFSTOPPED(status))
			return err_set(err, HARK_EGONE, 0, "ended");
		if (executed && tracee_is_syscall_stop(status))
			return 0;
		if (tracee_event(status) == PTRACE_EVENT_EXEC)
			executed = 1;
		else if (tracee_event(status) == 0)
			deliver = WSTOPSIG(status);
		if (ptrace(executed ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0,
			   (long)deliver) < 0)
			return err_set(err, HARK_EGONE, errno, "ended");
	}
}

static int let_execute(pid_t pid, const struct launch *plan, const char *path,
		       struct pipes *p, struct hark_err *err)
{
	struct hark_err why;

	close_end(&p->go[0]);
	close_end(&p->failed[1]);
	if (seize(pid, plan, path, err) < 0)
		return -1;
	if (write(p->go[1], "", 1) != 1)
		return err_set(err, HARK_EGONE, errno,
			       "%s ended before it began", path);
	if (run_to_exec(pid, &why) == 0)
		return 0;
	if (why.code == HARK_EGONE)
		return exec_failed(path, p, err);
	*err = why;
	return -1;
}

static int start_child(const struct launch *plan, const char *path, pid_t *out,
		       struct hark_err *err)
{
	struct pipes p;
	pid_t pid;
	int rc;

	if (pipes_open(&p, err) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(plan, path, &p);
	if (pid < 0) {
		rc = err_set(err, HARK_ENOMEM, errno, "cannot fork: %s",
			     strerror(errno));
	} else {
		rc = let_execute(pid, plan, path, &p, err);
		if (rc < 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, __WALL);
		}
	}
	pipes_close(&p);
	if (rc == 0)
		*out = pid;
	return rc;
}

/* The shell's process: names hark's work as its tracer, then waits for it to
 * be seized. */
static _Noreturn void become_beside(const struct launch *plan, const char *path,
				    int its_name, struct pipes *p)
{
	pid_t tracer = 0;

	if (read(its_name, &tracer, sizeof tracer) == sizeof tracer)
		prctl(PR_SET_PTRACER, tracer, 0, 0, 0); /* EINVAL: no Yama */
	close(its_name);
	become(plan, path, p);
}

/* A grandchild, so that the program has no child it did not make. 0 there, 1
 * in the shell's process, -1 if there is none. */
static int fork_twice(void)
{
	pid_t child = fork(), grandchild;
	int status = 0;

	if (child < 0)
		return -1;
	if (child > 0) {
		waitpid(child, &status, 0); /* it leaves at once */
		errno = WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
		return errno == 0 ? 1 : -1;
	}
	grandchild = fork();
	if (grandchild != 0)
		_exit(grandchild < 0 ? errno : 0);
	return 0;
}

static int start_beside(const struct launch *plan, const char *path, pid_t *out,
			struct hark_err *err)
{
	pid_t program = getpid(), me;
	int name[2] = {-1, -1}, rc, who;
	struct pipes p;

	if (pipes_open(&p, err) < 0)
		return -1;
	if (pipe2(name, O_CLOEXEC) < 0 || (who = fork_twice()) < 0) {
		rc = err_set(err, HARK_ENOMEM, errno, "cannot fork: %s",
			     strerror(errno));
		close(name[0]);
		close(name[1]);
		pipes_close(&p);
		return rc;
	}
	if (who > 0) {
		close(name[1]);
		become_beside(plan, path, name[0], &p);
	}
	setsid(); /* no ^C for us */
	me = getpid();
	close(name[0]);
	rc = write(name[1], &me, sizeof me) == sizeof me ? 0 : -1;
	close(name[1]);
	rc = rc < 0 ? err_set(err, HARK_EGONE, 0, "%s is gone", path)
		    : let_execute(program, plan, path, &p, err);
	pipes_close(&p);
	if (rc == 0)
		*out = program;
	return rc;
}

int launch_start(const struct launch *plan, pid_t *out, struct hark_err *err)
{
	char path[4096];

	if (launch_find(plan->argv[0], path, sizeof path, err) < 0 ||
	    refuse_file(path, err) < 0)
		return -1;
	return plan->beside ? start_beside(plan, path, out, err)
			    : start_child(plan, path, out, err);
}

/* What fails because a thread is being killed may fail before its end can be
 * seen. */
static int is_gone(pid_t pid)
{
	enum { LIMIT_NS = 1000000000 };
	int64_t limit = tracee_now_ns() + LIMIT_NS;

	for (int i = 0; !tracee_is_held(pid); i++) {
		if (has_ended(pid))
			return 1;
		if (tracee_now_ns() > limit)
			break;
		tracee_pause(i);
	}
	return 0;
}

void launch_abandon(const struct launch *plan, pid_t pid, struct hark_err *err)
{
	if (err != NULL && (err->code == HARK_EGONE || is_gone(pid)))
		err_set(err, HARK_EGONE, 0, "%s ended before it began",
			plan->argv[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}
